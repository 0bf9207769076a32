"""Parses statements.

    select  = SELECT ("*" | path, ...) FROM source [WHERE condition] [ORDER BY name [ASC | DESC], ...]
    insert  = INSERT INTO source VALUE item
    update  = UPDATE source changes [WHERE condition] [RETURNING (ALL | MODIFIED) (OLD | NEW) "*"]
            | FROM source [WHERE condition] changes [RETURNING ...]
    delete  = DELETE FROM source [WHERE condition] [RETURNING ALL OLD "*"]
    exists  = EXISTS "(" select ")"
    source  = identifier | identifier "." identifier

One semicolon may end a statement. Keywords are read in any case.

Statements are cached per text, long texts in a small cache of their own: a tree is about twenty times the
size of its text.

Source: expressions.md section 7; texts, errors.md section 8.
"""

from __future__ import annotations

from functools import lru_cache

from faradisc.language.partiql import errors
from faradisc.language.partiql.assignments import parse_changes
from faradisc.language.partiql.conditions import parse_where
from faradisc.language.partiql.cursor import Cursor
from faradisc.language.partiql.lexer import Kind, Token
from faradisc.language.partiql.paths import parse_path
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
    Update,
)
from faradisc.language.partiql.values import ARITHMETIC, at_value, parse_item, parse_template
from faradisc.model.values.path import Path

_SHORT_TEXT_MAX = 512
_SHORT_TEXTS_CACHED = 1024
_LONG_TEXTS_CACHED = 64


def parse_statement(text: str) -> Statement:
    """Parses a statement (cached). Raises StatementError, or another ValidationException for a limit.

    A well-formed part that is not supported is no error here; its text is in `Statement.unsupported`.
    """
    return _short(text) if len(text) <= _SHORT_TEXT_MAX else _long(text)


def _parse(text: str) -> Statement:
    cursor = Cursor(text)
    body = _parse_body(cursor)
    cursor.skip(";")
    if not cursor.at_end:
        raise errors.malformed(errors.TRAILING_TOKENS)
    if cursor.bad_number is not None:
        raise cursor.bad_number
    inner = body.select if isinstance(body, Exists) else body
    where = NO_WHERE if isinstance(inner, Insert) else inner.where
    return Statement(
        body, inner.source, where, tuple(cursor.templates), cursor.parameters, cursor.unsupported
    )


_short = lru_cache(_SHORT_TEXTS_CACHED)(_parse)
_long = lru_cache(_LONG_TEXTS_CACHED)(_parse)


def _parse_body(cursor: Cursor) -> Body:
    if cursor.at("SELECT"):
        return _parse_select(cursor)
    if cursor.skip("INSERT"):
        return _parse_insert(cursor)
    if cursor.skip("UPDATE"):
        return _parse_update(cursor)
    if cursor.skip("FROM"):
        return _parse_update_from(cursor)
    if cursor.skip("DELETE"):
        return _parse_delete(cursor)
    if cursor.at_call() and cursor.skip("EXISTS"):
        cursor.expect("(")
        if not cursor.at("SELECT"):
            raise cursor.term_error()
        select = _parse_select(cursor)
        cursor.expect(")")
        return Exists(select)
    raise errors.malformed(errors.NO_STATEMENT)


# --- SELECT --------------------------------------------------------------------------------------

_SET_QUANTIFIERS = frozenset({"DISTINCT", "VALUE", "ALL"})
_OTHER_CLAUSES = frozenset({"GROUP", "HAVING", "LIMIT", "OFFSET", "LET", "UNION", "INTERSECT", "EXCEPT"})
_JOINS = frozenset({",", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"})


def _parse_select(cursor: Cursor) -> Select:
    cursor.advance()
    if cursor.token.upper in _SET_QUANTIFIERS and cursor.following.upper != "FROM":
        token = cursor.advance()
        if token.upper != "ALL":
            cursor.note_at(errors.UNSUPPORTED_CLAUSE, token, name=token.upper)
    paths = None if cursor.skip("*") else tuple(cursor.several(lambda: _parse_column(cursor)))
    cursor.expect("FROM")
    source, _ = _parse_source(cursor)
    _skip_joins(cursor)
    where = parse_where(cursor)
    _skip_other_clauses(cursor)
    order = _parse_order(cursor)
    if order:
        _skip_other_clauses(cursor)
    return Select(source, paths, where, order)


def _parse_column(cursor: Cursor) -> Path:
    """Parses one path of the SELECT list; notes anything else."""
    token = cursor.token
    path = _parse_column_term(cursor)
    while cursor.token.upper in ARITHMETIC:
        cursor.note_at(errors.UNEXPECTED_COMPONENT, token)
        cursor.advance()
        _parse_column_term(cursor)
    _skip_alias(cursor)
    return path


def _parse_column_term(cursor: Cursor) -> Path:
    if cursor.at_call():
        cursor.note_at(errors.UNEXPECTED_COMPONENT)
        cursor.advance()
        cursor.skip_arguments()
        return ()
    if at_value(cursor):
        cursor.note_at(errors.UNEXPECTED_COMPONENT)
        parse_template(cursor, "root")
        return ()
    return parse_path(cursor)


def _skip_alias(cursor: Cursor) -> None:
    """Notes and skips `AS name` or the name alone."""
    if cursor.skip("AS"):
        if not cursor.at_identifier():
            raise cursor.term_error()
    elif not cursor.at_identifier():
        return
    cursor.note(errors.StatementError(errors.ALIASING))
    cursor.advance()


def _parse_source(cursor: Cursor) -> tuple[Source, Token]:
    """Parses a table or index. Returns it with the token of the table's name."""
    table = cursor.token
    if table.kind is Kind.STRING or cursor.at("("):
        cursor.note_at(errors.UNEXPECTED_SOURCE)
        if cursor.at("("):
            cursor.skip_arguments()
        else:
            cursor.advance()
        _skip_alias(cursor)
        return Source(table.text), table
    if not cursor.at_identifier():
        raise cursor.term_error()
    cursor.advance()
    index: Token | None = None
    while cursor.skip("."):
        if not cursor.at_identifier():
            raise errors.malformed(errors.PATH_COMPONENT)
        step = cursor.advance()
        if index is not None:
            cursor.note_at(errors.UNEXPECTED_COMPONENT, step)
        index = index or step
    if cursor.token.upper in ARITHMETIC or cursor.at("["):
        cursor.note_at(errors.UNEXPECTED_SOURCE, table)
        while cursor.token.upper in ARITHMETIC:
            cursor.advance()
            parse_template(cursor, "root")
    _skip_alias(cursor)
    return Source(table.text, index.text if index is not None else None), table


def _skip_joins(cursor: Cursor) -> None:
    if cursor.token.upper not in _JOINS:
        return
    cursor.note_at(errors.UNEXPECTED_SOURCE)
    while not cursor.at_end and cursor.token.upper not in ("WHERE", "ORDER", ")"):
        cursor.advance()


def _skip_other_clauses(cursor: Cursor) -> None:
    """Notes and skips GROUP BY, HAVING, LIMIT, OFFSET and set operators, with the location after each."""
    while cursor.token.upper in _OTHER_CLAUSES:
        clause = cursor.advance().upper
        if cursor.skip("BY"):
            clause += " BY"
        if cursor.at_end:
            raise errors.malformed(errors.UNEXPECTED_TERM)
        cursor.note_at(errors.UNSUPPORTED_CLAUSE, name=clause)
        while not cursor.at_end and cursor.token.upper not in (
            *_OTHER_CLAUSES,
            *("ORDER", ")", ";"),
        ):
            cursor.advance()


def _parse_order(cursor: Cursor) -> tuple[Order, ...]:
    if not cursor.skip("ORDER"):
        return ()
    cursor.expect("BY")
    return tuple(cursor.several(lambda: _parse_order_name(cursor)))


def _parse_order_name(cursor: Cursor) -> Order:
    token = cursor.token
    path = parse_path(cursor)
    if len(path) > 1:
        cursor.note_at(errors.ORDER_BY_OTHER, token)
    descending = cursor.skip("DESC")
    if not descending:
        cursor.skip("ASC")
    return Order(str(path[0]), descending)


# --- Writes --------------------------------------------------------------------------------------


def _parse_insert(cursor: Cursor) -> Insert:
    cursor.expect("INTO")
    source, token = _parse_source(cursor)
    if source.index is not None:
        cursor.note_at(errors.SINGLE_TABLE_ONLY, token)
    cursor.expect("VALUE")
    return Insert(source, parse_item(cursor))


def _parse_update(cursor: Cursor) -> Update:
    source = _parse_written(cursor)
    actions, set_values = parse_changes(cursor)
    return Update(source, actions, set_values, parse_where(cursor), _parse_returning(cursor))


def _parse_update_from(cursor: Cursor) -> Update:
    source = _parse_written(cursor)
    where = parse_where(cursor)
    actions, set_values = parse_changes(cursor)
    return Update(source, actions, set_values, where, _parse_returning(cursor))


def _parse_delete(cursor: Cursor) -> Delete:
    cursor.expect("FROM")
    source = _parse_written(cursor)
    where = parse_where(cursor)
    returning = _parse_returning(cursor)
    if returning is not None and (returning.new or not returning.whole):
        clause = f"{'ALL' if returning.whole else 'MODIFIED'} {'NEW' if returning.new else 'OLD'}"
        cursor.note_at(errors.RETURNING_IN_DELETE, name=clause)
    return Delete(source, where, returning)


def _parse_written(cursor: Cursor) -> Source:
    source, _ = _parse_source(cursor)
    if source.index is not None:
        cursor.note(errors.StatementError(errors.ON_AN_INDEX))
    return source


def _parse_returning(cursor: Cursor) -> Returning | None:
    if not cursor.skip("RETURNING"):
        return None
    whole = cursor.skip("ALL")
    if not whole:
        cursor.expect("MODIFIED")
    new = cursor.skip("NEW")
    if not new:
        cursor.expect("OLD")
    cursor.expect("*")
    return Returning(whole, new)
