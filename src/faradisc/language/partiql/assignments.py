"""Parses SET and REMOVE of UPDATE statements into actions of the expression language.

    SET path = sum, ... REMOVE path, ...        in any order, as often as wanted
    sum      = operand | operand "+" operand | operand "-" operand
    operand  = path | value | if_not_exists "(" path "," operand ")" | list_append "(" operand "," operand ")"
    SET path = set_add "(" path "," <<...>> ")"           ADD of the expression language
    SET path = set_delete "(" path "," <<...>> ")"        DELETE of the expression language

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Call,
    Constant,
    Operand,
    Path,
    ValueRef,
    Verb,
)
from faradisc.language.partiql import errors
from faradisc.language.partiql.conditions import CALL_DEPTH_MAX
from faradisc.language.partiql.cursor import Cursor
from faradisc.language.partiql.lexer import Token
from faradisc.language.partiql.paths import parse_path
from faradisc.language.partiql.syntax import Value
from faradisc.language.partiql.values import ARITHMETIC, at_value, parse_value

_FUNCTIONS = frozenset({"if_not_exists", "list_append"})
_SET_FUNCTIONS: dict[str, Verb] = {"set_add": "ADD", "set_delete": "DELETE"}

SetValue = tuple[Value, str, str]
"""Second argument of set_add or set_delete, the function, and the location for an error text."""


def parse_changes(cursor: Cursor) -> tuple[tuple[Action, ...], tuple[SetValue, ...]]:
    """Parses all SET and REMOVE clauses. Raises StatementError."""
    actions: list[Action] = []
    set_values: list[SetValue] = []
    while True:
        if cursor.skip("SET"):
            actions += cursor.several(lambda: _parse_assignment(cursor, set_values))
        elif cursor.skip("REMOVE"):
            actions += cursor.several(lambda: Action("REMOVE", Path(parse_path(cursor))))
        elif actions:
            return tuple(actions), tuple(set_values)
        else:
            raise errors.malformed(errors.NO_STATEMENT)


def _parse_assignment(cursor: Cursor, set_values: list[SetValue]) -> Action:
    target = Path(parse_path(cursor))
    cursor.expect("=")
    if cursor.at_call() and cursor.token.text.lower() in _SET_FUNCTIONS:
        return _parse_set_function(cursor, target, set_values)
    opened = cursor.open_parentheses()
    value = _parse_operand(cursor, 0)
    while True:
        if cursor.at("+") or cursor.at("-"):
            if isinstance(value, Arithmetic):
                # Assumed: one operation per assignment, as in update expressions.
                cursor.note_at(errors.UNSUPPORTED_OPERATOR)
            cursor.count_operator()
            operator = cursor.advance().upper
            right = _parse_enclosed(cursor)
            value = Arithmetic("+" if operator == "+" else "-", (value, right))
        elif cursor.token.upper in ARITHMETIC:
            cursor.note_at(errors.UNSUPPORTED_OPERATOR)
            cursor.advance()
            _parse_enclosed(cursor)
        elif opened:
            cursor.expect(")")
            opened -= 1
        else:
            return Action("SET", target, value)


def _parse_enclosed(cursor: Cursor) -> Operand:
    opened = cursor.open_parentheses()
    operand = _parse_operand(cursor, 0)
    for _ in range(opened):
        cursor.expect(")")
    return operand


def _parse_operand(cursor: Cursor, depth: int) -> Operand:
    if at_value(cursor):
        return parse_value(cursor)
    if not cursor.at_call():
        return Path(parse_path(cursor))
    if depth >= CALL_DEPTH_MAX:
        raise errors.malformed(errors.UNEXPECTED_TERM)
    cursor.count_operator()
    token = cursor.advance()
    name = token.text.lower()
    if name not in _FUNCTIONS:
        cursor.note_at(errors.UNRECOGNIZED_FUNCTION, token, name=name)
    return Call(name, tuple(operand for operand, _ in _parse_arguments(cursor, depth)))


def _parse_arguments(cursor: Cursor, depth: int) -> list[tuple[Operand, Token]]:
    """Parses the operands of a call. Returns each with its first token."""

    def parse(_: int) -> tuple[Operand, Token]:
        token = cursor.token
        return _parse_operand(cursor, depth + 1), token

    return cursor.enclosed(")", parse)


def _parse_set_function(cursor: Cursor, target: Path, set_values: list[SetValue]) -> Action:
    cursor.count_operator()
    token = cursor.advance()
    name, verb = token.text.upper(), _SET_FUNCTIONS[token.text.lower()]
    arguments = _parse_arguments(cursor, 0)
    if len(arguments) != 2:
        cursor.note_at(errors.SET_FUNCTION_ARITY, token, name=name)
        return Action("REMOVE", target)
    (first, first_token), (second, _) = arguments
    at = cursor.location(first_token)
    if first != target:
        cursor.note_at(errors.SET_FUNCTION_FIRST, token, name=name)
    elif not isinstance(second, Constant | ValueRef):
        cursor.note_at(errors.SET_FUNCTION_SECOND, at=at, name=name)
    else:
        set_values.append((second, name, at))
    return Action(verb, target, second)
