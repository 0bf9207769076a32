"""WHERE clauses: text to conjuncts.

    condition = condition OR condition | condition AND condition | NOT condition | "(" condition ")" | test
    test      = operand comparator operand | operand [NOT] BETWEEN operand AND operand
              | operand [NOT] IN list | operand IS [NOT] type | function
    operand   = path | value | size "(" path ")"

NOT binds looser than a test and tighter than AND. Parentheses, NOT, AND and OR are kept on an explicit
stack, so however deep they nest they cost no Python frames; calls nest `CALL_DEPTH_MAX` deep.

The trees are those of the expression language; the checks of operands are its own and happen when a
statement is bound.

Source: expressions.md section 7.
"""

from __future__ import annotations

from typing import Final, Literal

from faradisc.language.expressions import faults as expression_faults
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
from faradisc.language.partiql import faults
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
    """A WHERE clause, if there is one. Raises StatementError."""
    if not cursor.skip("WHERE"):
        return NO_WHERE
    return Where(tuple(map(_conjunct, _flattened(_parse_condition(cursor)))))


# --- Connectives ---------------------------------------------------------------------------------


def _parse_condition(cursor: Cursor) -> Condition:
    # `pending` holds what is open: "(", NOT, AND, OR. `done` holds conditions that are complete.
    pending: list[str] = []
    done: list[Condition] = []
    while True:
        if cursor.skip("NOT"):
            cursor.count_operator()
            pending.append("NOT")
        elif cursor.skip("("):
            pending.append("(")
        else:
            done.append(_parse_test(cursor, pending))
            if not _close_groups(cursor, pending, done):
                return done[0]


def _close_groups(cursor: Cursor, pending: list[str], done: list[Condition]) -> bool:
    """After a complete condition: close what it completes. False at the end of the clause."""
    while True:
        while pending and pending[-1] == "NOT":
            pending.pop()
            done[-1] = Negation(done[-1])
        if cursor.skip("AND"):
            cursor.count_operator()
            pending.append("AND")
            return True
        if cursor.skip("OR"):
            cursor.count_operator()
            _join("AND", pending, done)
            pending.append("OR")
            return True
        _join("AND", pending, done)
        _join("OR", pending, done)
        if not pending:
            return False
        cursor.expect(")")
        pending.pop()


def _join(operator: Literal["AND", "OR"], pending: list[str], done: list[Condition]) -> None:
    """Make one junction of all adjacent conditions held together by the operator."""
    count = 0
    while pending and pending[-1] == operator:
        pending.pop()
        count += 1
    if count:
        parts = tuple(done[-count - 1 :])
        del done[-count - 1 :]
        done.append(Junction(operator, parts))


def _flattened(root: Condition) -> list[Condition]:
    """The conditions that AND joins, in textual order, however they are grouped."""
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
    # `(a) = 1` closes around an operand, `(a = 1)` around a condition: which shows only here.
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
            cursor.note(expression_faults.MisusedFunction(name="size"))
        elif operand.name not in _TESTS:
            cursor.note(faults.unrecognized_function(token.text, cursor.location(token)))
        return Predicate(operand.name, operand.operands)
    raise cursor.refuse_term()


def _parse_keyword_test(cursor: Cursor, operand: Operand, token: Token) -> Condition | None:
    """BETWEEN, IN and LIKE; None when none of them follows."""
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
    cursor.note(faults.unsupported_operator("LIKE", cursor.location(keyword)))
    return Predicate("=", (operand, lower))


def _parse_in(cursor: Cursor, operand: Operand) -> Condition:
    if cursor.token.kind is Kind.PARAMETER:
        return Predicate("IN ?", (operand, parse_value(cursor)))
    close = {"(": ")", "[": "]", "<<": ">>"}.get(cursor.token.upper)
    if close is None:
        raise cursor.refuse_term()
    cursor.advance()
    options: list[Operand] = []
    if not cursor.skip(close):
        options.append(_parse_enclosed(cursor))
        while cursor.skip(","):
            options.append(_parse_enclosed(cursor))
        cursor.expect(close)
    return Predicate("IN", (operand, *options))


def _parse_is(cursor: Cursor, operand: Operand) -> Condition:
    cursor.advance()
    cursor.count_operator()
    negated = cursor.skip("NOT")
    token = cursor.token
    if token.kind is not Kind.WORD:
        raise cursor.refuse_term()
    cursor.advance()
    if token.upper == "MISSING":
        return Predicate("attribute_exists" if negated else "attribute_not_exists", (operand,))
    kinds = _TYPES.get(token.upper)
    if kinds is None:
        cursor.note(faults.unsupported_type(token.text, cursor.location(token)))
        kinds = ("NULL",)
    tests = tuple(Predicate("attribute_type", (operand, Constant({"S": kind}))) for kind in kinds)
    test: Condition = tests[0] if len(tests) == 1 else Junction("OR", tests)
    return Negation(test) if negated else test


# --- Operands ------------------------------------------------------------------------------------


def _parse_sum(cursor: Cursor, *, left: bool = False) -> Operand:
    """An operand. Arithmetic, which WHERE does not have, is noted and skipped."""
    operand = _parse_operand(cursor, 0, left=left)
    while cursor.token.upper in ARITHMETIC:
        _note_arithmetic(cursor)
        operand = _parse_enclosed(cursor)
    return operand


def _parse_enclosed(cursor: Cursor) -> Operand:
    """An operand, perhaps in parentheses."""
    opened = _open(cursor)
    operand = _parse_operand(cursor, 0)
    while True:
        if cursor.token.upper in ARITHMETIC:
            _note_arithmetic(cursor)
            opened += _open(cursor)
            operand = _parse_operand(cursor, 0)
        elif opened:
            cursor.expect(")")
            opened -= 1
        else:
            return operand


def _open(cursor: Cursor) -> int:
    opened = 0
    while cursor.skip("("):
        opened += 1
    return opened


def _note_arithmetic(cursor: Cursor) -> None:
    cursor.note(faults.unsupported_operator(cursor.token.text, cursor.location()))
    cursor.advance()


def _parse_operand(cursor: Cursor, depth: int, *, left: bool = False) -> Operand:
    """A path, a value or a call. Of calls only `size` can be compared; `left` leaves that to the caller."""
    if at_value(cursor):
        return parse_value(cursor)
    if not cursor.at_call():
        return Path(parse_path(cursor))
    token = cursor.token
    call = _parse_call(cursor, depth)
    if not left and call.name != "size":
        if call.name in _TESTS:
            cursor.note(expression_faults.MisusedFunction(name=call.name))
        else:
            cursor.note(faults.unsupported_value(token.text, "root", cursor.location(token)))
    return call


def _parse_call(cursor: Cursor, depth: int) -> Call:
    if depth >= CALL_DEPTH_MAX:
        raise faults.malformed(faults.UNEXPECTED_TERM)
    cursor.count_operator()
    # Assumed: names of functions are read in any case, as those of keywords are.
    name = cursor.advance().text.lower()
    cursor.advance()
    operands: list[Operand] = []
    if not cursor.skip(")"):
        operands.append(_parse_operand(cursor, depth + 1))
        while cursor.skip(","):
            operands.append(_parse_operand(cursor, depth + 1))
        cursor.expect(")")
    return Call(name, tuple(operands))


def _check_left(cursor: Cursor, operand: Operand, token: Token) -> None:
    """A call before a comparator can only be `size`."""
    if isinstance(operand, Call) and operand.name != "size":
        if operand.name in _TESTS:
            cursor.note(expression_faults.MisusedFunction(name=operand.name))
        else:
            cursor.note(faults.unrecognized_function(token.text, cursor.location(token)))


# --- What a conjunct is made of ------------------------------------------------------------------

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _conjunct(tree: Condition) -> Conjunct:
    paths: list[Path] = []
    has_refs = False
    for node in operands_first(tree):
        if isinstance(node, Predicate):
            waiting = list(node.operands)
            while waiting:
                operand = waiting.pop()
                if isinstance(operand, Path):
                    paths.append(operand)
                elif isinstance(operand, Call):
                    waiting.extend(operand.operands)
                has_refs = has_refs or isinstance(operand, ValueRef)
    return Conjunct(tree, tuple(paths), _clause_of(tree), has_refs)


def _clause_of(tree: Condition) -> Clause | None:
    """How the conjunct could select by key, if it is of that form."""
    if isinstance(tree, Junction) and tree.operator == "OR":
        return _either(tree)
    if not isinstance(tree, Predicate) or not tree.operands:
        return None
    first, *others = tree.operands
    operator = tree.operator
    if operator in _MIRRORED and isinstance(first, Constant | ValueRef):
        first, others, operator = others[0], [first], _MIRRORED[operator]
    elif operator not in _MIRRORED and operator not in ("BETWEEN", "begins_with", "IN", "IN ?"):
        return None
    if not isinstance(first, Path) or len(first.steps) != 1:
        return None
    values: list[Value] = [operand for operand in others if isinstance(operand, Constant | ValueRef)]
    if len(values) != len(others) or len(values) != {"BETWEEN": 2, "IN": len(values)}.get(operator, 1):
        return None
    return Clause(str(first.steps[0]), operator, tuple(values))  # type: ignore[arg-type]


def _either(tree: Junction) -> Clause | None:
    """`name = a OR name = b OR ...`"""
    clauses = [_clause_of(part) if isinstance(part, Predicate) else None for part in tree.parts]
    found = [clause for clause in clauses if clause is not None and clause.operator == "="]
    if len(found) != len(clauses) or len({clause.name for clause in found}) != 1:
        return None
    return Clause(found[0].name, "EITHER", tuple([clause.values[0] for clause in found]))
