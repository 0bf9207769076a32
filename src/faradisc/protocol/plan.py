"""The input of one operation as the service checks it: the model's shapes with the overrides applied.

A plan is a finite tree: the only recursive shape, AttributeValue, is a leaf here, because its rules are in
`model/values/checks.py`. `shapes.py` compiles a plan; `serialization.py` and `constraints.py` walk it to
report errors.

Names of attributes (the keys of maps of AttributeValue) have no constraint here; their length in bytes is one
of the rules of items.
"""

from __future__ import annotations

import re

from faradisc.protocol import overrides
from faradisc.protocol.overrides import ModelFix, Rules
from faradisc.protocol.service_model import ModelOperation, Shape
from faradisc.records import dataclass, field

ATTRIBUTE = "attribute"
"""Kind of a node that holds one AttributeValue."""

LENGTHS = frozenset({"string", "list", "map", "blob"})
"""Kinds whose bounds are of the length; other kinds' are of the value."""


@dataclass(slots=True, eq=False)
class ShapeNode:
    """One position in a request. Bounds are inclusive; `enum` is in the order of messages."""

    shape: str
    """The model's name of the type, which some messages contain."""
    kind: str
    """The model's type, or ATTRIBUTE."""
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    matcher: re.Pattern[str] | None = None
    enum: tuple[str, ...] = ()
    is_checked_later: bool = False
    """The enumeration is one of the operation's own checks, except in the older layer."""
    is_table: bool = False
    """A table's name or ARN; the bounds are of names, see `overrides.TABLE_ARN_MAXIMUM`."""
    members: dict[str, ShapeNode] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    key: ShapeNode | None = None
    element: ShapeNode | None = None

    @property
    def holds_attributes(self) -> bool:
        """Whether the elements of this list or map are AttributeValues."""
        return self.element is not None and self.element.kind == ATTRIBUTE


@dataclass(slots=True, eq=False)
class ShapePlan:
    operation: str
    root: ShapeNode
    rules: Rules


def plan_of(operation: ModelOperation) -> ShapePlan:
    """Returns the plan of an operation. Takes some hundred microseconds; the caller caches it."""
    rules = overrides.RULES.get(operation.name, overrides.DEFAULT_RULES)
    return ShapePlan(operation.name, _node(operation.input, None, rules), rules)


def _node(shape: Shape, change: ModelFix | None, rules: Rules) -> ShapeNode:
    if shape.name == "AttributeValue":
        return ShapeNode(shape.name, ATTRIBUTE)
    node = ShapeNode(shape.name, shape.type, shape.minimum, shape.maximum, pattern=shape.pattern)
    node.enum = _printed_enum(shape)
    node.is_checked_later = rules.newer and shape.name in overrides.CHECKED_LATER
    if shape.name == overrides.TABLE_NAME_SHAPE and not (change and change.plain_name):
        node.is_table = True
        node.minimum = overrides.TABLE_NAME_MINIMUM
        node.maximum = overrides.TABLE_NAME_MAXIMUM
        node.pattern = overrides.NAME_PATTERN
    if change is not None:
        _apply(change, node)
    if node.pattern is not None:
        node.matcher = overrides.compile_pattern(node.pattern)
    node.members = {
        name: _node(shape.members[name], overrides.MEMBERS.get((shape.name, name)), rules)
        for name in _report_order(shape)
    }
    changed = {name: overrides.MEMBERS.get((shape.name, name), ModelFix()) for name in shape.required}
    node.required = frozenset(name for name, each in changed.items() if not each.optional)
    if shape.element is not None:
        node.element = _node(shape.element, overrides.MEMBERS.get((shape.name, "member")), rules)
    if shape.key is not None and not node.holds_attributes:
        node.key = _node(shape.key, None, rules)
    return node


def _report_order(shape: Shape) -> list[str]:
    """Returns members in the order of their errors: the model's, unless a capture shows another."""
    order = overrides.MEMBER_ORDER.get(shape.name, ())
    ordered = iter(order)
    return [next(ordered) if name in order else name for name in shape.members]


def _printed_enum(shape: Shape) -> tuple[str, ...]:
    """Returns the enumeration in the service's order; members without a known position come last."""
    ordered = overrides.ENUM_ORDER.get(shape.name, ())
    return (
        *(name for name in ordered if name in shape.enum),
        *(name for name in shape.enum if name not in ordered),
    )


def _apply(change: ModelFix, node: ShapeNode) -> None:
    if change.minimum is not None:
        node.minimum = change.minimum
    if change.maximum is not None:
        node.maximum = change.maximum
    if change.pattern is not None:
        node.pattern = change.pattern
