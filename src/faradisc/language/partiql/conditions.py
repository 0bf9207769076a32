"""Reads WHERE clauses into conjuncts.

The trees are those of the expression language, which checks their operands when a statement is bound. A
condition may stand where a value does, and is a BOOL there: `attribute_exists(a) = b`. An operand inside an
operand is read at most `OPERAND_DEPTH_MAX` deep.

Values, functions and types are looked at from left to right, before the operands are checked.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from typing import Final

from faradisc.errors import ValidationException
from faradisc.language.expressions import errors as expression_errors
from faradisc.language.expressions.key_condition import MIRRORED, RANGE_OPERATORS
from faradisc.language.expressions.syntax import (
    Condition,
    Constant,
    FunctionCall,
    Junction,
    Negation,
    Operand,
    Path,
    Predicate,
    Truth,
    ValueRef,
    operands_first,
)
from faradisc.language.partiql import errors
from faradisc.language.partiql.keywords import TYPE_ALIASES, TYPES
from faradisc.language.partiql.paths import path_of
from faradisc.language.partiql.syntax import Clause, Conjunct, Value, Where
from faradisc.language.partiql.tree import Rule, TreeNode, run
from faradisc.language.partiql.values import VALUES, Reading
from faradisc.limits import EXPRESSION_OPERATORS_MAX

OPERAND_DEPTH_MAX: Final = 16
"""Assumed: `size` of a path, or a comparison of functions, is all that makes sense."""

_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_TESTS = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
_TYPES = {
    "NULL": "NULL",
    "BOOLEAN": "BOOL",
    "NUMERIC": "N",
    "STRING": "S",
    "BLOB": "B",
    "STRUCT": "M",
    "TUPLE": "M",
    "LIST": "L",
}
"""Types after IS that can be tested. Source: errors.md section 8."""


def where_of(node: TreeNode, reading: Reading) -> Where:
    """Returns the conjuncts of an expression. Raises ValidationException."""
    reader = _WhereReader(reading)
    tree = run(reader.condition(node))
    reader.check()
    if isinstance(tree, Predicate) and tree.operator == "size":
        raise expression_errors.MisusedFunction(name="size")
    return Where(tuple(map(_conjunct, _flattened(tree))))


def count_operators(count: int) -> None:
    """Raises TooManyOperators. Source: errors.md section 8."""
    if count > EXPRESSION_OPERATORS_MAX:
        raise expression_errors.TooManyOperators


class _WhereReader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._operators = 0
        self._misused: ValidationException | None = None
        """The first error of an operator whose operand is a number; found with those of operands."""

    def check(self) -> None:
        """Raises the errors that are found after the whole clause has been read."""
        count_operators(self._operators)
        if self._misused is not None:
            raise self._misused

    # --- Conditions ---

    def condition(self, node: TreeNode, depth: int = 0) -> Rule[Condition]:
        """Reads a condition. Yields the conditions inside, which may be nested up to the operator limit."""
        word = node.token.upper
        if node.kind == "op" and word in ("AND", "OR", "NOT"):
            self._operators += 1
            parts: list[Condition] = []
            for part in node.parts:
                condition = yield self.condition(part, depth)
                if isinstance(condition, Predicate) and condition.operator == "size":
                    self._misused = self._misused or expression_errors.OperandType(operator=word, type="N")
                same = isinstance(condition, Junction) and condition.operator == word
                parts += condition.parts if same else [condition]
            if word == "NOT":
                return Negation(parts[0])
            return Junction("AND" if word == "AND" else "OR", tuple(parts))
        return self._test(node, depth)

    def _test(self, node: TreeNode, depth: int) -> Condition:
        if node.kind == "is":
            return self._type_test(node, depth)
        if node.kind == "call":
            call = self._call(node, depth)
            return Predicate(call.name, call.operands)
        if node.kind != "op" or len(node.parts) == 1:
            self._operand(node, depth)
            raise errors.malformed(errors.UNEXPECTED_TERM)
        operator = node.token.upper.removeprefix("NOT ")
        negated = operator != node.token.upper
        self._operators += 1 + negated
        if operator in _COMPARATORS or operator == "BETWEEN":
            operands = [self._operand(part, depth, left=at == 0) for at, part in enumerate(node.parts)]
            test: Condition = Predicate(operator, tuple(operands))
        elif operator == "IN":
            test = self._in(node, depth)
        else:
            self._operand(node.parts[0], depth, left=True)
            raise errors.StatementError(errors.UNSUPPORTED_IN_CONDITION.format(name=operator))
        return Negation(test) if negated else test

    def _in(self, node: TreeNode, depth: int) -> Condition:
        operand = self._operand(node.parts[0], depth, left=True)
        options = node.parts[1]
        if options.kind == "parameter":
            return Predicate("IN ?", (operand, self._reading.value(options)))
        if options.kind in ("list", "bag"):
            return Predicate("IN", (operand, *[self._operand(part, depth) for part in options.parts]))
        self._operand(options, depth)
        raise errors.malformed(errors.UNEXPECTED_TERM)  # assumed

    def _type_test(self, node: TreeNode, depth: int) -> Condition:
        left, kind = node.parts
        negated = node.token.upper == "IS NOT"
        self._operators += 1 + negated
        is_missing = left.kind == "word" and left.token.upper == "MISSING"
        operand = Constant({"NULL": True}) if is_missing else self._operand(left, depth, left=True)
        name = TYPE_ALIASES.get(kind.token.upper, kind.token.upper)
        if name == "MISSING":
            return Predicate("attribute_exists" if negated else "attribute_not_exists", (operand,))
        if name not in _TYPES:
            raise self._reading.error(errors.UNSUPPORTED_TYPE, left.token, name=TYPES[name][0])
        test = Predicate("attribute_type", (operand, Constant({"S": _TYPES[name]})))
        return Negation(test) if negated else test

    # --- Operands ---

    def _operand(self, node: TreeNode, depth: int, *, left: bool = False) -> Operand:
        """Returns a path, a value, a call, or a condition as a BOOL. Recurses up to `OPERAND_DEPTH_MAX`."""
        kind, token = node.kind, node.token
        if kind in ("name", "path"):
            return Path(path_of(node, self._reading))
        if kind == "word" and token.upper == "MISSING":
            raise errors.StatementError(errors.MISSING_COMPARED)
        if kind in VALUES:
            return self._reading.value(node)
        if depth >= OPERAND_DEPTH_MAX:
            raise errors.malformed(errors.UNEXPECTED_TERM)
        if kind == "call":
            return self._call(node, depth + 1, left=left)
        if kind == "is" or (kind == "op" and (token.upper in _COMPARATORS or token.upper.isalpha())):
            return Truth(operands_first(run(self.condition(node, depth + 1))))
        if kind == "op" and " " in token.upper:
            return Truth(operands_first(run(self.condition(node, depth + 1))))
        if kind == "op":
            for part in node.parts:
                self._operand(part, depth + 1, left=left)
            raise errors.StatementError(errors.UNSUPPORTED_IN_CONDITION.format(name=token.upper))
        raise self._reading.error(errors.UNSUPPORTED_TOKEN, token, name=token.upper)

    def _call(self, node: TreeNode, depth: int, *, left: bool = True) -> FunctionCall:
        self._operators += 1
        # Assumed: names of functions are read in any case, as those of keywords are.
        name = node.token.text.lower()
        if name != "size" and name not in _TESTS:
            if name == "exists":
                self._arguments(node, depth)
            if not left:
                raise self._reading.unsupported(node)
            raise self._reading.error(errors.UNRECOGNIZED_FUNCTION, node.token, name=name)
        return FunctionCall(name, self._arguments(node, depth))

    def _arguments(self, node: TreeNode, depth: int) -> tuple[Operand, ...]:
        return tuple([self._operand(part, depth + 1) for part in node.parts])


def _flattened(root: Condition) -> list[Condition]:
    """Returns the conditions that AND joins at the top, in textual order, regardless of parentheses."""
    return list(root.parts) if isinstance(root, Junction) and root.operator == "AND" else [root]


# --- Conjuncts -----------------------------------------------------------------------------------


def _conjunct(tree: Condition) -> Conjunct:
    program = operands_first(tree)
    paths = [path for node in program if isinstance(node, Predicate) for path in _paths_in(node.operands)]
    return Conjunct(program, tuple(paths), clause_of(tree))


def _paths_in(operands: tuple[Operand, ...]) -> list[Path]:
    paths = []
    for operand in operands:
        if isinstance(operand, Path):
            paths.append(operand)
        elif isinstance(operand, FunctionCall):
            paths += _paths_in(operand.operands)
        elif isinstance(operand, Truth):
            for node in operand.program:
                paths += _paths_in(node.operands) if isinstance(node, Predicate) else ()
    return paths


def clause_of(tree: Condition) -> Clause | None:
    """Returns the clause on one attribute that could select by key; None for any other condition."""
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
    if operator == "IN" and len(values) == 1:
        operator = "="
    return Clause(str(first.steps[0]), operator, tuple(values))  # type: ignore[arg-type]
