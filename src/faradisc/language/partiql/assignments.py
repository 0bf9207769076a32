"""Reads SET and REMOVE of UPDATE statements into actions of the expression language.

    SET path = sum, ... REMOVE path        in any order, as often as wanted
    sum      = operand | operand "+" operand | operand "-" operand
    operand  = path | value | if_not_exists "(" path "," operand ")" | list_append "(" operand "," operand ")"
    SET path = set_add "(" path "," <<...>> ")"           ADD of the expression language
    SET path = set_delete "(" path "," <<...>> ")"        DELETE of the expression language

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from typing import Literal

from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Constant,
    FunctionCall,
    Operand,
    Path,
    ValueRef,
    Verb,
)
from faradisc.language.partiql import errors
from faradisc.language.partiql.conditions import OPERAND_DEPTH_MAX, count_operators
from faradisc.language.partiql.paths import path_of
from faradisc.language.partiql.syntax import Value
from faradisc.language.partiql.tree import TreeNode
from faradisc.language.partiql.values import VALUES, Reading

_FUNCTIONS = frozenset({"if_not_exists", "list_append"})
_SET_FUNCTIONS: dict[str, Verb] = {"set_add": "ADD", "set_delete": "DELETE"}

SetValue = tuple[Value, str, str]
"""Second argument of set_add or set_delete, the function, and the location for an error text."""


class Changes:
    """The SET and REMOVE clauses of a statement."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._operators = 0
        self.actions: list[Action] = []
        self.set_values: list[SetValue] = []

    def add(self, node: TreeNode) -> None:
        """Reads a clause. Raises ValidationException."""
        if node.kind == "remove":
            self.actions.append(Action("REMOVE", Path(path_of(node.parts[0], self._reading))))
        elif node.kind == "set":
            self.actions += map(self._assignment, node.parts)
        else:
            raise errors.StatementError(errors.UNSUPPORTED_OPERATION.format(name="Insert"))  # assumed
        count_operators(self._operators)

    def _assignment(self, node: TreeNode) -> Action:
        target, value = node.parts
        path = Path(path_of(target, self._reading))
        if value.kind == "call" and value.token.text.lower() in _SET_FUNCTIONS:
            return self._set_function(value, path)
        if value.kind != "op":
            return Action("SET", path, self._operand(value))
        self._operators += 1
        operator = value.token.upper
        if operator not in ("+", "-") or len(value.parts) != 2:
            raise self._reading.error(errors.UNSUPPORTED_OPERATOR, value.token)
        sign: Literal["+", "-"] = "+" if operator == "+" else "-"
        left, right = map(self._term, value.parts)
        return Action("SET", path, Arithmetic(sign, (left, right)))

    def _term(self, node: TreeNode) -> Operand:
        if node.kind == "op":
            # Assumed: one operation per assignment, as in update expressions.
            raise self._reading.error(errors.UNSUPPORTED_OPERATOR, node.token)
        return self._operand(node)

    def _operand(self, node: TreeNode, depth: int = 0) -> Operand:
        if node.kind in ("name", "path"):
            return Path(path_of(node, self._reading))
        if node.kind in VALUES:
            return self._reading.value(node)
        if node.kind != "call":
            raise self._reading.unsupported(node)
        if depth >= OPERAND_DEPTH_MAX:
            raise errors.malformed(errors.UNEXPECTED_TERM)
        self._operators += 1
        name = node.token.text.lower()
        if name not in _FUNCTIONS:
            raise self._reading.error(errors.UNRECOGNIZED_FUNCTION, node.token, name=name)
        return FunctionCall(name, tuple([self._operand(part, depth + 1) for part in node.parts]))

    def _set_function(self, node: TreeNode, target: Path) -> Action:
        self._operators += 1
        token = node.token
        name, verb = token.text.upper(), _SET_FUNCTIONS[token.text.lower()]
        if len(node.parts) != 2:
            raise self._reading.error(errors.SET_FUNCTION_ARITY, token, name=name)
        first, second = [self._operand(part) for part in node.parts]
        at = self._reading.at(node.parts[0].token)
        if first != target:
            raise self._reading.error(errors.SET_FUNCTION_FIRST, token, name=name)
        if not isinstance(second, Constant | ValueRef):
            raise errors.StatementError(errors.SET_FUNCTION_SECOND.format(at=at, name=name))
        self.set_values.append((second, name, at))
        return Action(verb, target, second)
