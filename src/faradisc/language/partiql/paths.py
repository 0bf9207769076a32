"""Parses document paths: `name.name[0]."any name"['any name']`.

A step after a dot is an identifier; a keyword there has an error text of its own. Names are compared as
they are written, bare or quoted.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.parser import LIST_INDEX_MAX
from faradisc.language.partiql import errors
from faradisc.language.partiql.cursor import Cursor
from faradisc.language.partiql.lexer import Kind
from faradisc.model.values.path import Path


def parse_path(cursor: Cursor) -> Path:
    """Parses a path. Raises StatementError."""
    if not cursor.at_identifier():
        raise cursor.term_error()
    steps: list[str | int] = [cursor.advance().text]
    while True:
        if cursor.skip("."):
            steps.append(_dot_component(cursor))
        elif cursor.skip("["):
            steps.append(_bracket_component(cursor))
            cursor.expect("]")
        else:
            return tuple(steps)


def _dot_component(cursor: Cursor) -> str:
    if cursor.at("*"):
        cursor.note_at(errors.UNEXPECTED_COMPONENT)
    elif not cursor.at_identifier():
        raise errors.malformed(errors.PATH_COMPONENT)
    return cursor.advance().text


def _bracket_component(cursor: Cursor) -> str | int:
    token = cursor.token
    if token.kind is Kind.STRING:
        return cursor.advance().text
    if token.kind is Kind.NUMBER and token.text.isdigit():
        cursor.advance()
        digits = token.text.lstrip("0")
        if len(digits) > 10 or int(digits or "0") > LIST_INDEX_MAX:
            cursor.note(expression_errors.ListIndexTooLarge(index=token.text))
            return 0
        return int(digits or "0")
    if token.kind is Kind.END or token.kind is Kind.WORD:
        raise cursor.term_error()
    cursor.note_at(errors.UNEXPECTED_COMPONENT)
    cursor.advance()
    return 0
