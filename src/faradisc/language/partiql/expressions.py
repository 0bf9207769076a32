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
from faradisc.language.partiql.lexer import Kind, Token, tokens_of
from faradisc.language.partiql.tree import Node, Rule

_ATOMS = {
    Kind.QUOTED: "name",
    Kind.STRING: "string",
    Kind.NUMBER: "number",
    Kind.PARAMETER: "parameter",
    Kind.ION: "ion",
}
_CLOSING = {"(": ")", "[": "]", "<<": ">>", "{": "}"}
_BRACKETS = {")": "RIGHT_PAREN", "]": "RIGHT_BRACKET", ">>": "RIGHT_DOUBLE_ANGLE_BRACKET", "}": "RIGHT_CURLY"}


def _atom_kind(token: Token) -> str | None:
    """Returns the kind of the node that a token alone can be; None for keywords and symbols."""
    if token.kind is not Kind.WORD:
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
        self.parameters = sum([token.kind is Kind.PARAMETER for token in self._tokens])

    # --- Tokens ---

    def advance(self) -> Token:
        """Returns the current token and makes the next one current. Requires: not at the end."""
        token = self.token
        self._index += 1
        self.token = self._tokens[self._index]
        return token

    @property
    def following(self) -> Token:
        """Returns the token after the current one; at the end, the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        return self.token.kind is Kind.END

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
        return self.at_end or (self.token.upper == ";" and self.following.kind is Kind.END)

    # --- Expressions ---

    def expression(self, precedence: int = -1) -> Rule[Node]:
        node: Node = self._atom() or (yield self._prefix())
        while True:
            operator = self.token
            rank = PRECEDENCE.get(operator.upper, -1)
            if rank <= precedence:
                return node
            self.advance()
            if operator.upper in ("IS", "IS NOT"):
                node = Node("is", operator, (node, self._type()))
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
                node = Node("op", operator, (node, right, upper))
            else:
                node = Node("op", operator, (node, right))

    def _options(self) -> Rule[Node]:
        """`IN (a)` has a list of one, where `(a)` elsewhere is `a`; but `IN (SELECT ...)` is a SELECT."""
        if self.following.upper == "SELECT":
            node: Node = yield self._prefix()
            return node
        token = self.token
        parts = yield self._several(")")
        return Node("list", token, parts)

    def _atom(self) -> Node | None:
        """Returns the term that is the current token alone; None when it is a longer one."""
        kind, after = _atom_kind(self.token), self.following.upper
        if kind is None or after in (".", "[") or (kind == "name" and after == "("):
            return None
        return Node(kind, self.advance())

    def _prefix(self) -> Rule[Node]:
        token = self.token
        if token.upper == "NOT":
            self.advance()
            return Node("op", token, ((yield self.expression(NOT_PRECEDENCE)),))
        if token.upper not in ("+", "-"):
            path: Node = yield self._path()
            return path
        self.advance()
        node: Node = yield self._prefix()
        if node.kind != "number":
            return Node("op", token, (node,))
        text = node.token.text
        if token.upper == "-":
            text = text[1:] if text[0] == "-" else "-" + text
        return Node("number", node.token._replace(text=text))

    def _simple_path(self) -> Rule[Node]:
        if not self.at_identifier():
            raise errors.malformed("Expected identifier for simple path")
        node: Node = yield self._steps(Node("name", self.advance()), simple=True)
        return node

    def _path(self) -> Rule[Node]:
        term = yield self._term()
        node: Node = yield self._steps(term, simple=False)
        return node

    def _steps(self, root: Node, *, simple: bool) -> Rule[Node]:
        steps = [root]
        while True:
            if self.skip("."):
                if self.token.upper == "*" and simple:
                    raise errors.malformed(errors.PATH_COMPONENT + " for simple path")
                if self.token.upper != "*" and not self.at_identifier():
                    raise errors.malformed(errors.PATH_COMPONENT)
                steps.append(Node("star" if self.token.upper == "*" else "dot", self.advance()))
            elif self.skip("["):
                if self.token.upper == "*":
                    inner = Node("star", self.advance())
                else:
                    inner = yield self.expression()
                self.close("]")
                if simple and inner.kind not in ("string", "number"):
                    raise errors.malformed("Invalid path component for simple path")
                steps.append(inner if inner.kind == "star" else Node("index", inner.token, (inner,)))
            else:
                return root if len(steps) == 1 else Node("path", root.token, tuple(steps))

    def _term(self) -> Rule[Node]:
        token = self.token
        kind = _atom_kind(token)
        if kind is None and token.kind is Kind.WORD:
            statement: Node = yield self._keyword()
            return statement
        if kind is not None:
            self.advance()
            if kind == "name" and self.token.upper == "(":
                call: Node = yield self._call(token)
                return call
            return Node(kind, token)
        if token.upper in _CLOSING:
            bracket: Node = yield self._bracket()
            return bracket
        is_operator = token.upper in PRECEDENCE and token.upper != "*"
        raise errors.malformed(errors.UNEXPECTED_OPERATOR if is_operator else errors.UNEXPECTED_TERM)

    def _bracket(self) -> Rule[Node]:
        token = self.token
        if token.upper == "{":
            return Node("struct", token, (yield self._several("}", self._member)))
        parts: tuple[Node, ...] = yield self._several(_CLOSING[token.upper])
        if token.upper == "(" and len(parts) == 1:
            (node,) = parts
            return node
        return Node("bag" if token.upper == "<<" else "list", token, parts)

    def _several(self, close: str, element: Callable[[], Rule[Node]] | None = None) -> Rule[tuple[Node, ...]]:
        """Reads the elements between the current token, an opening bracket, and its closing one."""
        opening = self.advance()
        parts: list[Node] = []
        if opening.upper == "(" or self.token.upper != close:
            parts.append((yield (element or self.expression)()))
            while self.skip(","):
                parts.append((yield (element or self.expression)()))
        self.close(close)
        return tuple(parts)

    def _member(self) -> Rule[Node]:
        name = yield self.expression()
        self.expect(":", "Expected COLON")
        return Node("member", name.token, (name, (yield self.expression())))

    def _call(self, name: Token) -> Rule[Node]:
        if self.following.upper == "*":
            if name.upper != "COUNT":
                raise errors.malformed(f"{name.text}(*) is not allowed")
            self.advance()
            star = Node("star", self.advance())
            self.close(")")
            return Node("call", name, (star,))
        if self.following.upper == ")":
            self.advance()
            self.advance()
            parts: tuple[Node, ...] = ()
        else:
            if name.upper in AGGREGATES and self.following.upper in ("DISTINCT", "ALL"):
                self.advance()
            parts = yield self._several(")")
        if name.upper in AGGREGATES and len(parts) != 1:
            raise errors.malformed("Aggregate functions are always unary")
        return Node({"LIST": "list", "BAG": "bag"}.get(name.upper, "call"), name, parts)

    def _type(self) -> Node:
        token = self.token
        found = TYPES.get(TYPE_ALIASES.get(token.upper, token.upper))
        if found is None:
            raise errors.malformed("Expected type name")
        self.advance()
        count = 0
        if self.skip("("):
            while True:
                if self.token.kind is not Kind.NUMBER or not self.advance().text.isdigit():
                    raise errors.malformed("Type parameter must be an unsigned integer literal")
                count += 1
                if not self.skip(","):
                    break
            self.close(")")
        if count > found[1]:
            raise errors.malformed(f"CAST for {token.upper.lower()} must have arity of 0..{found[1]}")
        return Node("type", token)

    # --- Keywords ---

    @abstractmethod
    def statement(self) -> Rule[Node] | None:
        """Returns the rule of the statement that the current keyword begins; None when it begins none."""

    def _keyword(self) -> Rule[Node]:
        token = self.token
        word = token.upper
        if word in FUNCTIONS and self.following.upper == "(":
            self.advance()
            call: Node = yield self._call(token)
            return call
        rule = self._case() if word == "CASE" else self._cast() if word == "CAST" else self.statement()
        if rule is not None:
            node: Node = yield rule
            return node
        if word in PRECEDENCE:
            raise errors.malformed(errors.UNEXPECTED_OPERATOR)
        raise errors.malformed(errors.UNEXPECTED_TERM if word in NO_TERMS else errors.UNEXPECTED_KEYWORD)

    def _case(self) -> Rule[Node]:
        token = self.advance()
        parts: list[Node] = []
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
        return Node("case", token, tuple(parts))

    def _cast(self) -> Rule[Node]:
        token = self.advance()
        self.expect("(", "Missing left parenthesis after CAST")
        inner = yield self.expression()
        self.expect("AS", "Expected AS")
        kind = self._type()
        self.close(")")
        return Node("cast", token, (inner, kind))
