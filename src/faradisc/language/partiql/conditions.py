"""Parses WHERE clauses into conjuncts.

    condition = condition OR condition | condition AND condition | NOT condition | "(" condition ")" | test
    test      = operand comparator operand | operand [NOT] BETWEEN operand AND operand
              | operand [NOT] IN list | operand IS [NOT] type | function
    operand   = path | value | size "(" path ")"

NOT binds looser than a test and tighter than AND (expressions/connectives.py). Calls nest at most
`CALL_DEPTH_MAX` deep. The trees are those of the expression language, which checks their operands when a
statement is bound.

Source: expressions.md section 7.
"""

from __future__ import annotations

from typing import Final

from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.connectives import ConnectiveParser
from faradisc.language.expressions.key_condition import MIRRORED, RANGE_OPERATORS
from faradisc.language.expressions.syntax import (
    Call,
    Condition,
    Constant,
    Junction,
    Negation,
    Operand,
    Path,
    Predicate,
    ValueRef,
    operands_first,
)
from faradisc.language.partiql import errors
from faradisc.language.partiql.cursor import Cursor
from faradisc.language.partiql.lexer import Kind, Token
from faradisc.language.partiql.paths import parse_path
from faradisc.language.partiql.syntax import NO_WHERE, Clause, Conjunct, Value, Where
from faradisc.language.partiql.values import ARITHMETIC, at_value, parse_value

CALL_DEPTH_MAX: Final = 16
"""Assumed: `size` of a path is all that makes sense, one level deep."""

_COMPARATORS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TESTS = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
_NUMBERS = "INT INTEGER INT2 INT4 INT8 BIGINT SMALLINT FLOAT REAL DOUBLE DECIMAL DEC NUMERIC NUMBER N"
_TYPES: dict[str, tuple[str, ...]] = {
    "NULL": ("NULL",),
    "BAG": ("SS", "NS", "BS"),
    "SET": ("SS", "NS", "BS"),
    **dict.fromkeys(_NUMBERS.split(), ("N",)),
    **dict.fromkeys(("STRING", "SYMBOL", "VARCHAR", "CHAR", "CHARACTER", "TEXT", "S"), ("S",)),
    **dict.fromkeys(("BLOB", "BINARY", "B"), ("B",)),
    **dict.fromkeys(("BOOL", "BOOLEAN"), ("BOOL",)),
    **dict.fromkeys(("LIST", "ARRAY", "L"), ("L",)),
    **dict.fromkeys(("STRUCT", "TUPLE", "MAP", "M"), ("M",)),
    "SS": ("SS",),
    "NS": ("NS",),
    "BS": ("BS",),
}
"""Names after IS. Assumed: the reference says "type names" without a list; these are PartiQL's, the
service's long ones and its short ones."""


def parse_where(cursor: Cursor) -> Where:
    """Parses a WHERE clause, if there is one. Raises StatementError."""
    if not cursor.skip("WHERE"):
        return NO_WHERE
    return Where(tuple(map(_conjunct, _flattened(_ConditionParser(cursor).condition()))))


# --- Connectives ---------------------------------------------------------------------------------


class _ConditionParser(ConnectiveParser):
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def skip(self, symbol: str) -> bool:
        return self._cursor.skip(symbol)

    def expect(self, symbol: str) -> None:
        self._cursor.expect(symbol)

    def skip_operator(self, keyword: str) -> bool:
        if not self._cursor.skip(keyword):
            return False
        self._cursor.count_operator()
        return True

    def note_redundant_parentheses(self) -> None:
        """PartiQL allows them."""

    def test(self, pending: list[str]) -> tuple[Condition, bool]:
        return _parse_test(self._cursor, pending), False


def _flattened(root: Condition) -> list[Condition]:
    """Returns the conditions that AND joins at the top, in textual order, regardless of parentheses."""
    conjuncts: list[Condition] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if type(node) is Junction and node.operator == "AND":
            waiting.extend(reversed(node.parts))
        else:
            conjuncts.append(node)
    return conjuncts


# --- Tests ---------------------------------------------------------------------------------------


def _parse_test(cursor: Cursor, pending: list[str]) -> Condition:
    token = cursor.token
    operand = _parse_sum(cursor, left=True)
    # `(a) = 1` closes around an operand, `(a = 1)` around a condition.
    if not isinstance(operand, Call) or operand.name == "size":
        while pending and pending[-1] == "(" and cursor.skip(")"):
            pending.pop()
    if cursor.token.upper in _COMPARATORS:
        cursor.count_operator()
        operator = _COMPARATORS[cursor.advance().upper]
        _check_left(cursor, operand, token)
        return Predicate(operator, (operand, _parse_enclosed(cursor)))
    if cursor.at("IS"):
        _check_left(cursor, operand, token)
        return _parse_is(cursor, operand)
    negated = cursor.at("NOT") and cursor.following.upper in ("IN", "BETWEEN", "LIKE")
    if negated:
        cursor.count_operator()
        cursor.advance()
    test = _parse_keyword_test(cursor, operand, token)
    if test is not None:
        return Negation(test) if negated else test
    if isinstance(operand, Call):
        if operand.name == "size":
            cursor.note(expression_errors.MisusedFunction(name="size"))
        elif operand.name not in _TESTS:
            cursor.note_at(errors.UNRECOGNIZED_FUNCTION, token, name=operand.name)
        return Predicate(operand.name, operand.operands)
    raise cursor.term_error()


def _parse_keyword_test(cursor: Cursor, operand: Operand, token: Token) -> Condition | None:
    """Parses BETWEEN, IN and LIKE; None when none of them follows."""
    word = cursor.token.upper
    if word not in ("BETWEEN", "IN", "LIKE"):
        return None
    cursor.count_operator()
    _check_left(cursor, operand, token)
    keyword = cursor.advance()
    if word == "IN":
        return _parse_in(cursor, operand)
    lower = _parse_enclosed(cursor)
    if word == "BETWEEN":
        cursor.expect("AND")
        return Predicate("BETWEEN", (operand, lower, _parse_enclosed(cursor)))
    cursor.note_at(errors.UNSUPPORTED_OPERATOR, keyword, name="LIKE")
    return Predicate("=", (operand, lower))


def _parse_in(cursor: Cursor, operand: Operand) -> Condition:
    if cursor.token.kind is Kind.PARAMETER:
        return Predicate("IN ?", (operand, parse_value(cursor)))
    close = {"(": ")", "[": "]", "<<": ">>"}.get(cursor.token.upper)
    if close is None:
        raise cursor.term_error()
    return Predicate("IN", (operand, *cursor.enclosed(close, lambda _: _parse_enclosed(cursor))))


def _parse_is(cursor: Cursor, operand: Operand) -> Condition:
    cursor.advance()
    cursor.count_operator()
    negated = cursor.skip("NOT")
    token = cursor.token
    if token.kind is not Kind.WORD:
        raise cursor.term_error()
    cursor.advance()
    if token.upper == "MISSING":
        return Predicate("attribute_exists" if negated else "attribute_not_exists", (operand,))
    kinds = _TYPES.get(token.upper)
    if kinds is None:
        cursor.note_at(errors.UNSUPPORTED_TYPE, token)
        kinds = ("NULL",)
    tests = tuple(Predicate("attribute_type", (operand, Constant({"S": kind}))) for kind in kinds)
    test: Condition = tests[0] if len(tests) == 1 else Junction("OR", tests)
    return Negation(test) if negated else test


# --- Operands ------------------------------------------------------------------------------------


def _parse_sum(cursor: Cursor, *, left: bool = False) -> Operand:
    """Parses an operand. Notes and skips arithmetic, which WHERE does not have."""
    operand = _parse_operand(cursor, 0, left=left)
    while cursor.token.upper in ARITHMETIC:
        _note_arithmetic(cursor)
        operand = _parse_enclosed(cursor)
    return operand


def _parse_enclosed(cursor: Cursor) -> Operand:
    """Parses an operand, with or without parentheses around it."""
    opened = cursor.open_parentheses()
    operand = _parse_operand(cursor, 0)
    while True:
        if cursor.token.upper in ARITHMETIC:
            _note_arithmetic(cursor)
            opened += cursor.open_parentheses()
            operand = _parse_operand(cursor, 0)
        elif opened:
            cursor.expect(")")
            opened -= 1
        else:
            return operand


def _note_arithmetic(cursor: Cursor) -> None:
    cursor.note_at(errors.UNSUPPORTED_OPERATOR)
    cursor.advance()


def _parse_operand(cursor: Cursor, depth: int, *, left: bool = False) -> Operand:
    """Parses a path, a value or a call. Only the call of `size` can be compared; the caller checks `left`."""
    if at_value(cursor):
        return parse_value(cursor)
    if not cursor.at_call():
        return Path(parse_path(cursor))
    token = cursor.token
    call = _parse_call(cursor, depth)
    if not left and call.name != "size":
        if call.name in _TESTS:
            cursor.note(expression_errors.MisusedFunction(name=call.name))
        else:
            cursor.note_at(errors.UNSUPPORTED_VALUE, token, root="root")
    return call


def _parse_call(cursor: Cursor, depth: int) -> Call:
    if depth >= CALL_DEPTH_MAX:
        raise errors.malformed(errors.UNEXPECTED_TERM)
    cursor.count_operator()
    # Assumed: names of functions are read in any case, as those of keywords are.
    name = cursor.advance().text.lower()
    return Call(name, tuple(cursor.enclosed(")", lambda _: _parse_operand(cursor, depth + 1))))


def _check_left(cursor: Cursor, operand: Operand, token: Token) -> None:
    """Notes a call other than `size` before a comparator."""
    if isinstance(operand, Call) and operand.name != "size":
        if operand.name in _TESTS:
            cursor.note(expression_errors.MisusedFunction(name=operand.name))
        else:
            cursor.note_at(errors.UNRECOGNIZED_FUNCTION, token, name=operand.name)


# --- Conjuncts -----------------------------------------------------------------------------------


def _conjunct(tree: Condition) -> Conjunct:
    paths: list[Path] = []
    program = operands_first(tree)
    for node in program:
        if isinstance(node, Predicate):
            waiting = list(node.operands)
            while waiting:
                operand = waiting.pop()
                if isinstance(operand, Path):
                    paths.append(operand)
                elif isinstance(operand, Call):
                    waiting.extend(operand.operands)
    return Conjunct(program, tuple(paths), _clause_of(tree))


def _clause_of(tree: Condition) -> Clause | None:
    """Returns the clause on one attribute that could select by key; None for any other conjunct."""
    if isinstance(tree, Junction) and tree.operator == "OR":
        return _either(tree)
    if not isinstance(tree, Predicate) or not tree.operands:
        return None
    first, *others = tree.operands
    operator = tree.operator
    if operator in MIRRORED and isinstance(first, Constant | ValueRef):
        first, others, operator = others[0], [first], MIRRORED[operator]
    elif operator not in RANGE_OPERATORS and operator not in ("IN", "IN ?"):
        return None
    if not isinstance(first, Path) or len(first.steps) != 1:
        return None
    values: list[Value] = [operand for operand in others if isinstance(operand, Constant | ValueRef)]
    if len(values) != len(others) or len(values) != {"BETWEEN": 2, "IN": len(values)}.get(operator, 1):
        return None
    return Clause(str(first.steps[0]), operator, tuple(values))  # type: ignore[arg-type]


def _either(tree: Junction) -> Clause | None:
    """Returns the clause of `name = a OR name = b OR ...`; None for any other junction."""
    clauses = [_clause_of(part) if isinstance(part, Predicate) else None for part in tree.parts]
    found = [clause for clause in clauses if clause is not None and clause.operator == "="]
    if len(found) != len(clauses) or len({clause.name for clause in found}) != 1:
        return None
    return Clause(found[0].name, "EITHER", tuple([clause.values[0] for clause in found]))
