"""Parses expressions of PartiQL, those too that no statement can use.

    expression  = prefix (infix expression | IS type)*         by precedence (keywords.py)
    prefix      = (NOT | "+" | "-") prefix | path
    path        = term ("." name | "." "*" | "[" expression "]")*
    term        = name | literal | ? | call | list | bag | struct | "(" expression, ... ")" | CASE | CAST
                | a statement (grammar.py)

Source: the open grammar of PartiQL (sources.md); texts, errors.md section 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from faradisc.language.partiql import errors
from faradisc.language.partiql.keywords import (
    AGGREGATES,
    FUNCTIONS,
    KEYWORDS,
    LITERALS,
    NO_TERMS,
    NOT_PRECEDENCE,
    PRECEDENCE,
    TYPE_ALIASES,
    TYPES,
)
from faradisc.language.partiql.lexer import PartiqlKind, PartiqlToken, tokens_of
from faradisc.language.partiql.tree import Rule, TreeNode

_ATOMS = {
    PartiqlKind.QUOTED: "name",
    PartiqlKind.STRING: "string",
    PartiqlKind.NUMBER: "number",
    PartiqlKind.PARAMETER: "parameter",
    PartiqlKind.ION: "ion",
}
_CLOSING = {"(": ")", "[": "]", "<<": ">>", "{": "}"}
_BRACKETS = {")": "RIGHT_PAREN", "]": "RIGHT_BRACKET", ">>": "RIGHT_DOUBLE_ANGLE_BRACKET", "}": "RIGHT_CURLY"}


def _atom_kind(token: PartiqlToken) -> str | None:
    """Returns the kind of the node that a token alone can be; None for keywords and symbols."""
    if token.kind is not PartiqlKind.WORD:
        return _ATOMS.get(token.kind)
    if token.upper in LITERALS:
        return "word"
    return None if token.upper in KEYWORDS or " " in token.upper else "name"


class ExpressionParser(ABC):
    """Reads expressions. A subclass reads the statements that can stand where a term is due."""

    def __init__(self, text: str) -> None:
        """Raises StatementError for a text that is no sequence of tokens."""
        self._tokens = tokens_of(text)
        self._index = 0
        self.token = self._tokens[0]
        self.parameters = sum([token.kind is PartiqlKind.PARAMETER for token in self._tokens])

    # --- Tokens ---

    def advance(self) -> PartiqlToken:
        """Returns the current token and makes the next one current. Requires: not at the end."""
        token = self.token
        self._index += 1
        self.token = self._tokens[self._index]
        return token

    @property
    def following(self) -> PartiqlToken:
        """Returns the token after the current one; at the end, the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        return self.token.kind is PartiqlKind.END

    def skip(self, upper: str) -> bool:
        """Advances past a word or symbol; False when another token is current."""
        if self.token.upper == upper:
            self.advance()
            return True
        return False

    def expect(self, upper: str, text: str) -> None:
        """Advances past a word or symbol. Raises StatementError with a text when another token is current."""
        if not self.skip(upper):
            raise errors.malformed(text)

    def close(self, bracket: str) -> None:
        self.expect(bracket, f"Expected {_BRACKETS[bracket]}")

    def expect_word(self, word: str) -> None:
        self.expect(word, f"Expected {word} keyword")

    def at_identifier(self) -> bool:
        return _atom_kind(self.token) == "name"

    def at_statement_end(self) -> bool:
        return self.at_end or (self.token.upper == ";" and self.following.kind is PartiqlKind.END)

    # --- Expressions ---

    def expression(self, precedence: int = -1) -> Rule[TreeNode]:
        node: TreeNode = self._atom() or (yield self._prefix())
        while True:
            operator = self.token
            rank = PRECEDENCE.get(operator.upper, -1)
            if rank <= precedence:
                return node
            self.advance()
            if operator.upper in ("IS", "IS NOT"):
                node = TreeNode("is", operator, (node, self._type()))
                continue
            if operator.upper in ("IN", "NOT IN") and self.token.upper == "(":
                right = yield self._options()
            else:
                if self.at_statement_end():
                    raise errors.malformed("Missing right-hand side expression of infix operator")
                right = yield self.expression(rank)
            if operator.upper in ("BETWEEN", "NOT BETWEEN"):
                self.expect_word("AND")
                if self.at_statement_end():
                    raise errors.malformed("Expected expression after AND")
                upper = yield self.expression(rank)
                node = TreeNode("op", operator, (node, right, upper))
            else:
                node = TreeNode("op", operator, (node, right))

    def _options(self) -> Rule[TreeNode]:
        """`IN (a)` has a list of one, where `(a)` elsewhere is `a`; but `IN (SELECT ...)` is a SELECT."""
        if self.following.upper == "SELECT":
            node: TreeNode = yield self._prefix()
            return node
        token = self.token
        parts = yield self._several(")")
        return TreeNode("list", token, parts)

    def _atom(self) -> TreeNode | None:
        """Returns the term that is the current token alone; None when it is a longer one."""
        kind, after = _atom_kind(self.token), self.following.upper
        if kind is None or after in (".", "[") or (kind == "name" and after == "("):
            return None
        return TreeNode(kind, self.advance())

    def _prefix(self) -> Rule[TreeNode]:
        token = self.token
        if token.upper == "NOT":
            self.advance()
            return TreeNode("op", token, ((yield self.expression(NOT_PRECEDENCE)),))
        if token.upper not in ("+", "-"):
            path: TreeNode = yield self._path()
            return path
        self.advance()
        node: TreeNode = yield self._prefix()
        if node.kind != "number":
            return TreeNode("op", token, (node,))
        text = node.token.text
        if token.upper == "-":
            text = text[1:] if text[0] == "-" else "-" + text
        return TreeNode("number", node.token._replace(text=text))

    def _simple_path(self) -> Rule[TreeNode]:
        if not self.at_identifier():
            raise errors.malformed("Expected identifier for simple path")
        node: TreeNode = yield self._steps(TreeNode("name", self.advance()), simple=True)
        return node

    def _path(self) -> Rule[TreeNode]:
        term = yield self._term()
        node: TreeNode = yield self._steps(term, simple=False)
        return node

    def _steps(self, root: TreeNode, *, simple: bool) -> Rule[TreeNode]:
        steps = [root]
        while True:
            if self.skip("."):
                if self.token.upper == "*" and simple:
                    raise errors.malformed(errors.PATH_COMPONENT + " for simple path")
                if self.token.upper != "*" and not self.at_identifier():
                    raise errors.malformed(errors.PATH_COMPONENT)
                steps.append(TreeNode("star" if self.token.upper == "*" else "dot", self.advance()))
            elif self.skip("["):
                if self.token.upper == "*":
                    inner = TreeNode("star", self.advance())
                else:
                    inner = yield self.expression()
                self.close("]")
                if simple and inner.kind not in ("string", "number"):
                    raise errors.malformed("Invalid path component for simple path")
                steps.append(inner if inner.kind == "star" else TreeNode("index", inner.token, (inner,)))
            else:
                return root if len(steps) == 1 else TreeNode("path", root.token, tuple(steps))

    def _term(self) -> Rule[TreeNode]:
        token = self.token
        kind = _atom_kind(token)
        if kind is None and token.kind is PartiqlKind.WORD:
            statement: TreeNode = yield self._keyword()
            return statement
        if kind is not None:
            self.advance()
            if kind == "name" and self.token.upper == "(":
                call: TreeNode = yield self._call(token)
                return call
            return TreeNode(kind, token)
        if token.upper in _CLOSING:
            bracket: TreeNode = yield self._bracket()
            return bracket
        is_operator = token.upper in PRECEDENCE and token.upper != "*"
        raise errors.malformed(errors.UNEXPECTED_OPERATOR if is_operator else errors.UNEXPECTED_TERM)

    def _bracket(self) -> Rule[TreeNode]:
        token = self.token
        if token.upper == "{":
            return TreeNode("struct", token, (yield self._several("}", self._member)))
        parts: tuple[TreeNode, ...] = yield self._several(_CLOSING[token.upper])
        if token.upper == "(" and len(parts) == 1:
            (node,) = parts
            return node
        return TreeNode("bag" if token.upper == "<<" else "list", token, parts)

    def _several(
        self, close: str, element: Callable[[], Rule[TreeNode]] | None = None
    ) -> Rule[tuple[TreeNode, ...]]:
        """Reads the elements between the current token, an opening bracket, and its closing one."""
        opening = self.advance()
        parts: list[TreeNode] = []
        if opening.upper == "(" or self.token.upper != close:
            parts.append((yield (element or self.expression)()))
            while self.skip(","):
                parts.append((yield (element or self.expression)()))
        self.close(close)
        return tuple(parts)

    def _member(self) -> Rule[TreeNode]:
        name = yield self.expression()
        self.expect(":", "Expected COLON")
        return TreeNode("member", name.token, (name, (yield self.expression())))

    def _call(self, name: PartiqlToken) -> Rule[TreeNode]:
        if self.following.upper == "*":
            if name.upper != "COUNT":
                raise errors.malformed(f"{name.text}(*) is not allowed")
            self.advance()
            star = TreeNode("star", self.advance())
            self.close(")")
            return TreeNode("call", name, (star,))
        if self.following.upper == ")":
            self.advance()
            self.advance()
            parts: tuple[TreeNode, ...] = ()
        else:
            if name.upper in AGGREGATES and self.following.upper in ("DISTINCT", "ALL"):
                self.advance()
            parts = yield self._several(")")
        if name.upper in AGGREGATES and len(parts) != 1:
            raise errors.malformed("Aggregate functions are always unary")
        return TreeNode({"LIST": "list", "BAG": "bag"}.get(name.upper, "call"), name, parts)

    def _type(self) -> TreeNode:
        token = self.token
        found = TYPES.get(TYPE_ALIASES.get(token.upper, token.upper))
        if found is None:
            raise errors.malformed("Expected type name")
        self.advance()
        count = 0
        if self.skip("("):
            while True:
                if self.token.kind is not PartiqlKind.NUMBER or not self.advance().text.isdigit():
                    raise errors.malformed("Type parameter must be an unsigned integer literal")
                count += 1
                if not self.skip(","):
                    break
            self.close(")")
        if count > found[1]:
            raise errors.malformed(f"CAST for {token.upper.lower()} must have arity of 0..{found[1]}")
        return TreeNode("type", token)

    # --- Keywords ---

    @abstractmethod
    def statement(self) -> Rule[TreeNode] | None:
        """Returns the rule of the statement that the current keyword begins; None when it begins none."""

    def _keyword(self) -> Rule[TreeNode]:
        token = self.token
        word = token.upper
        if word in FUNCTIONS and self.following.upper == "(":
            self.advance()
            call: TreeNode = yield self._call(token)
            return call
        rule = self._case() if word == "CASE" else self._cast() if word == "CAST" else self.statement()
        if rule is not None:
            node: TreeNode = yield rule
            return node
        if word in PRECEDENCE:
            raise errors.malformed(errors.UNEXPECTED_OPERATOR)
        raise errors.malformed(errors.UNEXPECTED_TERM if word in NO_TERMS else errors.UNEXPECTED_KEYWORD)

    def _case(self) -> Rule[TreeNode]:
        token = self.advance()
        parts: list[TreeNode] = []
        if self.token.upper != "WHEN":
            parts.append((yield self.expression()))
        if self.token.upper != "WHEN":
            raise errors.malformed("Expected a WHEN clause in CASE")
        while self.skip("WHEN"):
            parts.append((yield self.expression()))
            self.expect_word("THEN")
            parts.append((yield self.expression()))
        if self.skip("ELSE"):
            parts.append((yield self.expression()))
        self.expect_word("END")
        return TreeNode("case", token, tuple(parts))

    def _cast(self) -> Rule[TreeNode]:
        token = self.advance()
        self.expect("(", "Missing left parenthesis after CAST")
        inner = yield self.expression()
        self.expect("AS", "Expected AS")
        kind = self._type()
        self.close(")")
        return TreeNode("cast", token, (inner, kind))
