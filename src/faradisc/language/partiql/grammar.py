"""Parses any text of PartiQL to a tree of nodes, and finds what is not well formed.

The service reads a whole statement by the grammar of PartiQL first, and looks afterwards at what it supports.
So this parser knows operators, clauses and types that no statement can use; `conditions.py` and its
neighbours refuse them.

    SELECT [DISTINCT | ALL] ("*" | [VALUE] column, ...) FROM source, ... [WHERE expression]
        [ORDER BY expression [ASC | DESC] [NULLS (FIRST | LAST)], ...] [GROUP BY ...] [HAVING ...] [LIMIT ...]
    INSERT INTO path [VALUE] expression
    UPDATE path change ... [WHERE expression] [RETURNING ...]
    FROM source, ... [WHERE expression] change ... [RETURNING ...]
    DELETE FROM path [WHERE expression] [RETURNING ...]
    change = SET path "=" expression, ... | REMOVE path | INSERT INTO ...

Source: the open grammar of PartiQL (sources.md); texts, errors.md section 8.
"""

from __future__ import annotations

from faradisc.language.partiql import errors
from faradisc.language.partiql.expressions import ExpressionParser
from faradisc.language.partiql.keywords import SELECT_PRECEDENCE
from faradisc.language.partiql.lexer import PartiqlKind
from faradisc.language.partiql.tree import Rule, TreeNode, run

_CHANGES = frozenset({"INSERT INTO", "SET", "REMOVE"})
_RESERVED = _CHANGES | {"UPDATE", "DELETE", "SELECT", "FROM", "WHERE"}
_RETURNING = frozenset({"ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"})
_CLAUSES = frozenset({"GROUP", "HAVING", "LIMIT", "OFFSET"})


def parse(text: str) -> tuple[TreeNode, int]:
    """Returns the tree of a text, and the number of its parameters. Raises StatementError."""
    parser = _StatementParser(text)
    return _whole(parser), parser.parameters


def stopping_place(text: str) -> tuple[int, int] | None:
    """Returns where the parser stops in a text that is not well formed: offset and length of a token.

    The length is 0 at the end of the text. None for a well-formed text, and for one that is no sequence of
    tokens.
    """
    try:
        parser = _StatementParser(text)
    except errors.StatementError:
        return None
    try:
        _whole(parser)
    except errors.StatementError:
        return parser.token.start, parser.token.end - parser.token.start
    return None


def _whole(parser: _StatementParser) -> TreeNode:
    node = run(parser.expression())
    if parser.skip(";") and not parser.at_end:
        raise errors.malformed(errors.SECOND_STATEMENT)
    if not parser.at_end:
        raise errors.malformed(errors.TRAILING_TOKENS)
    return node


class _StatementParser(ExpressionParser):
    def statement(self) -> Rule[TreeNode] | None:
        word = self.token.upper
        if word in _CHANGES:
            return self._change()
        rules = {
            "SELECT": self._select,
            "FROM": self._update_from,
            "UPDATE": self._update,
            "DELETE": self._delete,
        }
        return rules[word]() if word in rules else None

    # --- SELECT ---

    def _select(self) -> Rule[TreeNode]:
        token = self.advance()
        parts: list[TreeNode] = []
        if self.token.upper in ("DISTINCT", "ALL"):
            quantifier = self.advance()
            if quantifier.upper == "DISTINCT":
                parts.append(TreeNode("clause", quantifier))
        if self.token.upper == "VALUE":
            parts.append(TreeNode("clause", self.advance()))
            columns = [(yield self.expression())]
        else:
            columns = [(yield self._column())]
            while self.skip(","):
                columns.append((yield self._column()))
            if len(columns) > 1 and any(column.kind == "all" for column in columns):
                raise errors.malformed(errors.STAR_IS_NOT_ALONE)
        parts.append(TreeNode("columns", columns[0].token, tuple(columns)))
        self.expect("FROM", "Expected FROM after SELECT list")
        parts.append((yield self._sources(SELECT_PRECEDENCE)))
        yield self._optional_where(parts, SELECT_PRECEDENCE)
        while self.token.upper in _CLAUSES or self.token.upper == "ORDER":
            parts.append((yield self._order() if self.token.upper == "ORDER" else self._other_clause()))
        return TreeNode("select", token, tuple(parts))

    def _column(self) -> Rule[TreeNode]:
        if self.token.upper == "*":
            return TreeNode("all", self.advance())
        if self.token.kind is PartiqlKind.WORD and self.token.upper in _RESERVED:
            word = self.token.upper.lower().replace(" ", "_")
            raise errors.StatementError(errors.RESERVED_COLUMN.format(word=word))
        return self._alias((yield self.expression()))

    def _alias(self, node: TreeNode) -> TreeNode:
        """Returns a node inside the aliases that follow it."""
        for word in ("AS", "AT", "BY"):
            if self.token.upper == word:
                self.advance()
                if not self.at_identifier():
                    raise errors.malformed(f"Expected identifier for {word}-alias")
                node = TreeNode("alias", self.advance(), (node,))
            elif word == "AS" and self.at_identifier():
                node = TreeNode("alias", self.advance(), (node,))
        return node

    def _sources(self, precedence: int = -1) -> Rule[TreeNode]:
        parts = [(yield self._source(precedence))]
        while True:
            delimiter = self.token
            if delimiter.upper != "," and not delimiter.upper.endswith("JOIN"):
                return TreeNode("from", parts[0].token, tuple(parts))
            self.advance()
            parts.append(TreeNode("join", delimiter, ((yield self._source(precedence)),)))
            if delimiter.upper != "," and "CROSS" not in delimiter.upper:
                self.expect("ON", "Expected 'ON'")
                parts.append((yield self.expression(precedence)))

    def _source(self, precedence: int) -> Rule[TreeNode]:
        return self._alias((yield self.expression(precedence)))

    def _optional_where(self, parts: list[TreeNode], precedence: int = -1) -> Rule[None]:
        token = self.token
        if self.skip("WHERE"):
            parts.append(TreeNode("where", token, ((yield self.expression(precedence)),)))

    def _order(self) -> Rule[TreeNode]:
        token = self.advance()
        self.expect("BY", "Expected BY")
        parts = [(yield self._sort())]
        while self.skip(","):
            parts.append((yield self._sort()))
        return TreeNode("order", token, tuple(parts))

    def _sort(self) -> Rule[TreeNode]:
        """The order of nulls is read and has no effect. Assumed: its error text."""
        node = yield self.expression()
        direction = self.advance() if self.token.upper in ("ASC", "DESC") else node.token
        if self.skip("NULLS") and not (self.skip("FIRST") or self.skip("LAST")):
            raise errors.malformed("Expected FIRST or LAST keyword")
        return TreeNode("sort", direction, (node,))

    def _other_clause(self) -> Rule[TreeNode]:
        """Reads GROUP BY, HAVING, LIMIT or OFFSET; its token is the one after the keywords."""
        word = self.advance().upper
        if word == "GROUP":
            self.skip("PARTIAL")
            self.expect("BY", "Expected BY")
            word = "GROUP BY"
        token = self.token._replace(upper=word)
        yield self.expression(SELECT_PRECEDENCE)
        while word == "GROUP BY" and (self.skip(",") or self.skip("AS")):
            yield self.expression(SELECT_PRECEDENCE)
        return TreeNode("clause", token)

    # --- Writes ---

    def _update(self) -> Rule[TreeNode]:
        token = self.advance()
        parts = [self._alias((yield self._simple_path()))]
        yield self._changes(parts)
        yield self._optional_where(parts)
        self._optional_returning(parts)
        return TreeNode("update", token, tuple(parts))

    def _update_from(self) -> Rule[TreeNode]:
        token = self.advance()
        sources = yield self._sources()
        parts = list(sources.parts)
        yield self._optional_where(parts)
        yield self._changes(parts)
        self._optional_returning(parts)
        return TreeNode("update", token, tuple(parts))

    def _delete(self) -> Rule[TreeNode]:
        token = self.advance()
        self.expect("FROM", "Expected FROM after DELETE")
        parts = [self._alias((yield self._simple_path()))]
        yield self._optional_where(parts)
        self._optional_returning(parts)
        return TreeNode("delete", token, tuple(parts))

    def _changes(self, parts: list[TreeNode]) -> Rule[None]:
        if self.token.upper not in _CHANGES:
            raise errors.malformed(errors.NO_CHANGE)
        while self.token.upper in _CHANGES:
            parts.append((yield self._change()))

    def _change(self) -> Rule[TreeNode]:
        token = self.advance()
        if token.upper == "SET":
            parts = [(yield self._assignment())]
            while self.skip(","):
                parts.append((yield self._assignment()))
            return TreeNode("set", token, tuple(parts))
        target = yield self._simple_path()
        if token.upper == "REMOVE":
            return TreeNode("remove", token, (target,))
        if self.skip("VALUE"):
            return TreeNode("insert", token, (target, (yield self.expression())))
        return TreeNode("insert several", token, (target, (yield self.expression())))

    def _assignment(self) -> Rule[TreeNode]:
        target = yield self._simple_path()
        self.expect("=", "Expected '='")
        return TreeNode("assignment", target.token, (target, (yield self.expression())))

    def _optional_returning(self, parts: list[TreeNode]) -> None:
        """Assumed: nothing but `*` can be returned."""
        if self.skip("RETURNING"):
            if self.token.upper not in _RETURNING:
                raise errors.malformed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
            parts.append(TreeNode("returning", self.advance()))
            self.expect("*", "Expected *")
