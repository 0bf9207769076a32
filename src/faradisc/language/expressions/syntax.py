"""The abstract syntax of the expression language.

    condition   Junction | Negation | Predicate
    update      Action, ...
    projection  Path, ...
    operand     Path | ValueRef | Constant | Call | Arithmetic

Nodes are frozen and independent of requests: names and values are bound later, so one tree serves every
request with the same text. A `Constant` does not come from the text of an expression; legacy parameters and
PartiQL, which have values of their own, build trees of the same nodes.

Junctions and negations nest up to the operator limit, too deep for recursion. `ParsedCondition.program` lists
the nodes of a condition, each after its parts.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from faradisc.model.values.attribute import AttributeValue
from faradisc.model.values.path import Path as ResolvedPath
from faradisc.records import dataclass, field

Verb: TypeAlias = Literal["SET", "REMOVE", "ADD", "DELETE"]


@dataclass(frozen=True, slots=True)
class NameRef:
    """A `#name` as one step of a path."""

    name: str


@dataclass(frozen=True, slots=True)
class Path:
    """A document path as written."""

    steps: tuple[str | int | NameRef, ...]
    fixed: ResolvedPath | None = field(init=False, compare=False)
    """The resolved path when no step needs a name of the request."""

    def __post_init__(self) -> None:
        needs_names = any(isinstance(step, NameRef) for step in self.steps)
        object.__setattr__(self, "fixed", None if needs_names else self.steps)


@dataclass(frozen=True, slots=True)
class ValueRef:
    """A `:value` of the request."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known when the tree is built."""

    value: AttributeValue


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function used as an operand: `size` in conditions, `if_not_exists`, `list_append` in updates.

    In PartiQL any function of conditions: it is a BOOL then.
    """

    name: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: Literal["+", "-"]
    operands: tuple[Operand, Operand]


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition used as an operand, in PartiQL: a BOOL."""

    program: tuple[Condition, ...]
    """All nodes, each after its parts."""


Operand: TypeAlias = Path | ValueRef | Constant | FunctionCall | Arithmetic | Truth


@dataclass(frozen=True, slots=True)
class Predicate:
    """One test of an item: a comparator, BETWEEN, IN or a boolean function, with its operands."""

    operator: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Junction:
    operator: Literal["AND", "OR"]
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    inner: Condition


Condition: TypeAlias = Predicate | Junction | Negation


@dataclass(frozen=True, slots=True)
class Action:
    """One change an update makes. REMOVE has no operand."""

    verb: Verb
    path: Path
    operand: Operand | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What all parsed expressions have."""

    paths: tuple[Path, ...]
    refs: tuple[str, ...]
    """The `#names` and `:values` used, each once."""
    name_refs: tuple[str, ...] = field(init=False, compare=False)
    value_refs: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name_refs", tuple(ref for ref in self.refs if ref[0] == "#"))
        object.__setattr__(self, "value_refs", tuple(ref for ref in self.refs if ref[0] == ":"))


@dataclass(frozen=True, slots=True)
class ParsedCondition(Parsed):
    root: Condition
    program: tuple[Condition, ...]
    """All nodes, each after its parts."""


@dataclass(frozen=True, slots=True)
class ParsedUpdate(Parsed):
    actions: tuple[Action, ...]


def operands_first(root: Condition) -> tuple[Condition, ...]:
    """Returns all nodes of a condition, each after its parts, left to right. Does not recurse."""
    backwards: list[Condition] = []
    waiting: list[Condition] = [root]
    while waiting:
        node = waiting.pop()
        backwards.append(node)
        if type(node) is Junction:
            waiting.extend(node.parts)
        elif type(node) is Negation:
            waiting.append(node.inner)
    backwards.reverse()
    return tuple(backwards)
