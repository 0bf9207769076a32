"""Makes statements from texts: parses them (grammar.py), and looks at what statements support.

    select  = SELECT ("*" | path, ...) FROM source [WHERE condition] [ORDER BY name [ASC | DESC], ...]
    insert  = INSERT INTO source VALUE item
    update  = UPDATE source changes [WHERE condition] [RETURNING (ALL | MODIFIED) (OLD | NEW) "*"]
            | FROM source [WHERE condition] changes [RETURNING ...]
    delete  = DELETE FROM source [WHERE condition] [RETURNING ALL OLD "*"]
    exists  = EXISTS "(" select ")"
    source  = identifier | identifier "." identifier

A text has three kinds of errors, reported in this order wherever they stand in the text:

1. it is not well formed, or no statement: raised;
2. a number literal cannot be stored: raised;
3. a well-formed part is not supported: kept in the statement, because an error that depends on the index
   comes between (new-features.md section 10). WHERE is read before the changes of an UPDATE.

Statements are cached per text, long texts in a small cache of their own: a tree is about twenty times the
size of its text.

Source: expressions.md section 7; texts, errors.md section 8.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from faradisc.errors import ValidationException
from faradisc.language.expressions.syntax import Constant
from faradisc.language.partiql import errors
from faradisc.language.partiql.assignments import Changes
from faradisc.language.partiql.conditions import where_of
from faradisc.language.partiql.grammar import parse
from faradisc.language.partiql.lexer import PartiqlToken
from faradisc.language.partiql.paths import path_of
from faradisc.language.partiql.syntax import (
    NO_WHERE,
    Body,
    Delete,
    Exists,
    Insert,
    Order,
    Returning,
    Select,
    Source,
    Statement,
    UpdateStatement,
    Where,
)
from faradisc.language.partiql.tree import TreeNode
from faradisc.language.partiql.values import Reading, check_numbers
from faradisc.model.values.path import Path

_SHORT_TEXT_MAX = 512
_SHORT_TEXTS_CACHED = 1024
_LONG_TEXTS_CACHED = 64


def parse_statement(text: str) -> Statement:
    """Parses a statement (cached). Raises StatementError, or another ValidationException for a limit.

    A well-formed part that is not supported is no error here; its text is in `Statement.unsupported`.
    """
    return _short(text) if len(text) <= _SHORT_TEXT_MAX else _long(text)


_LARGE_NUMBER = re.compile(r"[0-9.][eE]|[0-9.]{39}")
"""What a text with a number that cannot be stored contains."""


def _parse(text: str) -> Statement:
    node, parameters = parse(text)
    root = node
    if node.kind == "call" and node.token.upper == "EXISTS" and len(node.parts) == 1:
        root = node.parts[0]
    if root.kind not in _READERS or (root is not node and root.kind != "select"):
        raise _no_statement(node)
    if _LARGE_NUMBER.search(text):
        check_numbers(node)
    reading = Reading(text)
    source_node = root.part("from") if root.kind == "select" else None
    source = _source_named((source_node or root).parts[0])
    unsupported = None
    body: Body
    try:
        body = _READERS[root.kind](root, source, reading)
    except ValidationException as error:
        unsupported = error.message
        body = _UNREAD[root.kind](source)
    where = NO_WHERE if isinstance(body, Insert | Exists) else body.where
    if root is not node:
        assert isinstance(body, Select)
        body = Exists(body)
    return Statement(body, source, where, tuple(reading.templates), parameters, unsupported)


_short = lru_cache(_SHORT_TEXTS_CACHED)(_parse)
_long = lru_cache(_LONG_TEXTS_CACHED)(_parse)


_OPERATIONS = {
    "name": "Id",
    "path": "Path",
    "list": "List",
    "bag": "Bag",
    "struct": "Struct",
    "is": "IsType",
    "parameter": "Parameter",
    "cast": "Cast",
    "case": "Case",
    **dict.fromkeys(("string", "number", "word", "ion"), "Lit"),
}
"""What error texts call an expression that is a whole statement. Assumed: the last three before literals."""


def _no_statement(node: TreeNode) -> errors.StatementError:
    """Returns the error for a well-formed text that is no statement."""
    if node.kind in ("set", "remove"):
        return errors.StatementError(errors.NO_SOURCE)
    if node.kind in _OPERATIONS:
        name = "Missing" if node.token.upper == "MISSING" else _OPERATIONS[node.kind]
        return errors.StatementError(errors.UNSUPPORTED_OPERATION.format(name=name))
    if node.kind == "insert several":
        return errors.StatementError(errors.UNSUPPORTED_OPERATION.format(name="Insert"))  # assumed
    return errors.StatementError(errors.EXISTS_OUTSIDE)


# --- Sources -------------------------------------------------------------------------------------


def _source_named(node: TreeNode) -> Source:
    """Returns the table and index that a source names, whatever else it contains."""
    while node.kind == "alias":
        node = node.parts[0]
    index = node.parts[1].token.text if node.kind == "path" else None
    return Source(node.token.text, index)


def _check_source(nodes: list[TreeNode], reading: Reading, *, reads: bool) -> None:
    """Raises StatementError for sources other than one table or index."""
    for at, node in enumerate(nodes):
        if at:
            raise reading.error(errors.UNEXPECTED_SOURCE, node.token)
        term = node
        while term.kind == "alias":
            term = term.parts[0]
        if term.kind == "path":
            for step, part in enumerate(term.parts):
                if part.kind not in ("name", "dot"):
                    raise reading.error(errors.UNEXPECTED_SOURCE, term.token)
                if step > 1:
                    raise reading.error(errors.UNEXPECTED_COMPONENT, part.token)
            if not reads:
                raise errors.StatementError(errors.ON_AN_INDEX)
        elif term.kind != "name":
            raise reading.error(errors.UNEXPECTED_SOURCE, _first_token(term))
        if node.kind == "alias":
            raise errors.StatementError(errors.ALIASING)


def _first_token(node: TreeNode) -> PartiqlToken:
    """Returns the first of the tokens that the nodes of an expression have."""
    first, waiting = node.token, list(node.parts)
    while waiting:
        inner = waiting.pop()
        first = min(first, inner.token, key=lambda token: token.start)
        waiting += inner.parts
    return first


# --- Statements ----------------------------------------------------------------------------------


def _select(node: TreeNode, source: Source, reading: Reading) -> Select:
    columns, sources = node.part("columns"), node.part("from")
    assert columns is not None and sources is not None
    for part in node.parts[: node.parts.index(columns)]:
        raise reading.error(errors.UNSUPPORTED_CLAUSE, part.token, name=part.token.upper)
    paths = None
    if columns.parts[0].kind != "all":
        paths = tuple([_column(column, reading) for column in columns.parts])
    _check_source(list(sources.parts), reading, reads=True)
    where = _where(node, reading)
    for part in node.parts:
        if part.kind == "clause":
            raise reading.error(errors.UNSUPPORTED_CLAUSE, part.token, name=part.token.upper)
    order = node.part("order")
    return Select(source, paths, where, _order(order, where, reading) if order is not None else ())


def _column(node: TreeNode, reading: Reading) -> Path:
    term = node
    while term.kind == "alias":
        term = term.parts[0]
    if term.kind not in ("name", "path"):
        raise reading.error(errors.UNEXPECTED_COMPONENT, _first_token(term))
    path = path_of(term, reading)
    if node.kind == "alias":
        raise errors.StatementError(errors.ALIASING)
    return path


def _where(node: TreeNode, reading: Reading) -> Where:
    where = node.part("where")
    return where_of(where.parts[0], reading) if where is not None else NO_WHERE


def _order(node: TreeNode, where: Where, reading: Reading) -> tuple[Order, ...]:
    if not where.conjuncts:
        raise errors.StatementError(errors.ORDER_WITHOUT_WHERE)
    order = []
    for sort in node.parts:
        name = sort.parts[0]
        if name.kind != "name":
            shown = name.token.text if name.kind in ("string", "number") else name.kind.upper()
            raise reading.error(errors.ORDER_BY_TYPE, name.token, name=shown)
        order.append(Order(name.token.text, sort.token.upper == "DESC"))
    return tuple(order)


def _insert(node: TreeNode, source: Source, reading: Reading) -> Insert:
    if source.index is not None:
        raise reading.error(errors.SINGLE_TABLE_ONLY, node.parts[0].token)
    return Insert(source, reading.item(node.parts[1]))


def _update(node: TreeNode, source: Source, reading: Reading) -> UpdateStatement:
    sources = [part for part in node.parts if part.kind in ("name", "path", "alias", "join")]
    _check_source(sources, reading, reads=False)
    where = _where(node, reading)
    changes = Changes(reading)
    for part in node.parts[len(sources) :]:
        if part.kind not in ("where", "returning"):
            changes.add(part)
    actions, set_values = tuple(changes.actions), tuple(changes.set_values)
    return UpdateStatement(source, actions, set_values, where, _returning(node))


def _delete(node: TreeNode, source: Source, reading: Reading) -> Delete:
    _check_source([node.parts[0]], reading, reads=False)
    where = _where(node, reading)
    returning = _returning(node)
    if returning is not None and (returning.new or not returning.whole):
        clause = f"{'ALL' if returning.whole else 'MODIFIED'} {'NEW' if returning.new else 'OLD'}"
        raise errors.StatementError(errors.RETURNING_IN_DELETE.format(name=clause))
    return Delete(source, where, returning)


def _returning(node: TreeNode) -> Returning | None:
    returning = node.part("returning")
    if returning is None:
        return None
    return Returning(whole="ALL" in returning.token.upper, new="NEW" in returning.token.upper)


_READERS: dict[str, Callable[[TreeNode, Source, Reading], Select | Insert | UpdateStatement | Delete]] = {
    "select": _select,
    "insert": _insert,
    "update": _update,
    "delete": _delete,
}
_UNREAD: dict[str, Callable[[Source], Select | Insert | UpdateStatement | Delete]] = {
    "select": lambda source: Select(source, None, NO_WHERE, ()),
    "insert": lambda source: Insert(source, Constant({"M": {}})),
    "update": lambda source: UpdateStatement(source, (), (), NO_WHERE, None),
    "delete": lambda source: Delete(source, NO_WHERE, None),
}
"""Bodies of statements of which a part is not supported: only their kind and source count."""
