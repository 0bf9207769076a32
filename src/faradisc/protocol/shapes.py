"""The fast walk: one compiled function per operation that checks whether a request fits its shape.

The function is generated source, as in `dataclasses`: straight code over the plan's members, which calls
only the functions that make AttributeValues canonical. It returns

    FITS    everything is right, and every AttributeValue is canonical now
    VALUES  the shape fits, but some AttributeValue is invalid
    SHAPE   something else is invalid, or a member is an explicit null, or unknown

without the reason. `check_request` is the only caller: after anything but FITS the slow walks normalise the
request (`serialization.py`) and report errors (`constraints.py`).

Unknown members are ignored, as in the service: the slow walk removes them, so operations never see one. The
items to be put are measured on the way, because the operation needs their sizes next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from faradisc.model.values.checks import canonical_item_size, canonicalise, has_deep_value
from faradisc.protocol import constraints, search_body, serialization
from faradisc.protocol.overrides import (
    NAME_PATTERN,
    TABLE_ARN_MAXIMUM,
    TABLE_NAME_MAXIMUM,
    TABLE_NAME_MINIMUM,
    compile_pattern,
)
from faradisc.protocol.plan import ATTRIBUTE, LENGTHS, ShapeNode, ShapePlan, plan_of
from faradisc.protocol.service_model import ModelOperation

FITS: Final = 0
VALUES: Final = 1
SHAPE: Final = 2

Sizes = dict[int, int]
"""Bytes of the items to be put, by the identity of their dicts; valid during the request."""

_PUT_ITEM: Final = "PutItemInputAttributeMap"
"""The model's shape of an item to be put."""

type_of_fits = Callable[[dict[str, Any], int, Sizes], int]
"""(request, size of the body in bytes, sizes to be filled) -> FITS, VALUES or SHAPE."""

is_table = lru_cache(
    maxsize=1024
)(  # requests name the same few tables
    compile_pattern(
        f"{NAME_PATTERN[:-1]}{{{TABLE_NAME_MINIMUM},{TABLE_NAME_MAXIMUM}}}"
        f"|(?s:arn:.{{0,{TABLE_ARN_MAXIMUM - 4}}})"
    ).fullmatch
)

_PYTHON_TYPES = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "long": "int",
    "list": "list",
    "map": "dict",
    "structure": "dict",
}


class Checked(NamedTuple):
    """What the check of a request has shown."""

    values_ok: bool
    """Every AttributeValue is canonical."""
    older: bool
    """The older layer of the service reads the request, and words all its errors (errors.md section 11)."""


class CheckedShape:
    """The input shape of one operation, compiled once."""

    __slots__ = ("fits", "operation", "plan")

    def __init__(self, operation: ModelOperation) -> None:
        self.operation = operation
        self.plan = plan_of(operation)
        self.fits = compile_plan(self.plan)
        """The compiled function."""

    def check_request(
        self, request: dict[str, Any], size: int, body: bytes | None = None, sizes: Sizes | None = None
    ) -> Checked:
        """Returns what is known of the values; normalises `request` in place where necessary.

        size: the length of the JSON text; longer values cannot occur and are not checked for. body: that
        text; one operation's errors name positions in it. sizes: gets the items' sizes if all is canonical.

        Raises SerializationException for a wrong JSON type, ValidationException for a constraint.
        """
        if sizes is None:
            sizes = {}
        verdict = self.fits(request, size, sizes)
        if verdict == FITS:
            return Checked(values_ok=True, older=False)
        if body is not None and self.operation.name == "SearchVectors":
            search_body.check(self.plan.root, body)
        older = serialization.normalise(self.plan.root, request)
        if self.plan.rules.newer:
            older = older or has_deep_value(request)
        sizes.clear()  # of dicts that may have been replaced
        verdict = self.fits(request, size, sizes)
        if verdict == SHAPE or older:
            constraints.check(self.plan, request, older=older)
        if verdict != FITS:
            sizes.clear()
        return Checked(values_ok=verdict == FITS, older=older)


def compile_plan(plan: ShapePlan) -> type_of_fits:
    writer = _Writer()
    source = writer.function(plan.root)
    exec(compile(source, f"<shape of {plan.operation}>", "exec"), writer.names)
    fits: type_of_fits = writer.names["fits"]
    return fits


class _Writer:
    """Writes the function's source; `names` are the globals it runs with."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "canonical_item_size": canonical_item_size,
            "canonicalise": canonicalise,
            "is_table": is_table,
        }
        self._lines: list[str] = []
        self._variables = 0

    def function(self, root: ShapeNode) -> str:
        self._lines = ["def fits(request, size, sizes):", "    verdict = 0"]
        self._structure(root, "request", 1)
        self._line(1, "return verdict")
        return "\n".join(self._lines)

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _constant(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def _structure(self, node: ShapeNode, variable: str, depth: int) -> None:
        """Writes code for the members of a variable that is known to be a dict."""
        get = f"get_{variable}"
        if node.members:
            self._line(depth, f"{get} = {variable}.get")
        for name in node.members:
            if name in node.required:
                self._value(node.members[name], self._member(name, get, depth), depth)
        # A request with only the required members is common; it has no members left to check.
        left = f"left_{variable}"
        self._line(depth, f"{left} = len({variable}) - {len(node.required)}")
        self._line(depth, f"if {left}:")
        for name, member in node.members.items():
            if name not in node.required:
                value = self._member(name, get, depth + 1)
                self._line(depth + 1, f"if {value} is not None:")
                self._value(member, value, depth + 2)
                self._line(depth + 2, f"{left} -= 1")
        self._line(depth + 1, f"if {left}: return {SHAPE}  # a null, or an unknown member")

    def _member(self, name: str, get: str, depth: int) -> str:
        """Writes code that reads a member, None if it is absent. Returns its variable."""
        value = self._variable()
        self._line(depth, f"{value} = {get}({name!r})")
        return value

    def _value(self, node: ShapeNode, variable: str, depth: int) -> None:
        if node.kind == ATTRIBUTE:
            # Most values are strings, which are canonical without a call.
            is_string = (
                f"type({variable}) is dict and len({variable}) == 1 and type({variable}.get('S')) is str"
            )
            self._line(depth, f"if not ({is_string}) and not canonicalise({variable}): verdict = {VALUES}")
            return
        self._line(depth, f"if {self._invalid(node, variable)}: return {SHAPE}")
        if node.kind == "structure":
            self._structure(node, variable, depth)
        elif node.kind == "list":
            self._elements(node, f"for {{}} in {variable}:", depth)
        elif node.kind == "map" and node.shape == _PUT_ITEM:
            self._item(variable, depth)
        elif node.kind == "map":
            self._map(node, variable, depth)

    def _item(self, variable: str, depth: int) -> None:
        measured = self._variable()
        self._line(depth, f"{measured} = canonical_item_size({variable})")
        self._line(depth, f"if {measured} < 0: verdict = {VALUES}")
        self._line(depth, f"else: sizes[id({variable})] = {measured}")

    def _elements(self, node: ShapeNode, loop: str, depth: int) -> None:
        assert node.element is not None
        element = self._variable()
        self._line(depth, loop.format(element))
        self._value(node.element, element, depth + 1)

    def _map(self, node: ShapeNode, variable: str, depth: int) -> None:
        broken = "" if node.key is None else self._bounds(node.key, key := self._variable())
        if broken:
            self._line(depth, f"for {key} in {variable}:")
            self._line(depth + 1, f"if {broken}: return {SHAPE}")
        if node.holds_attributes:
            self._line(depth, f"if '' in {variable}: verdict = {VALUES}")
        self._elements(node, f"for {{}} in {variable}.values():", depth)

    def _invalid(self, node: ShapeNode, variable: str) -> str:
        """Returns an expression that is true when the value itself, without its contents, is invalid."""
        if node.kind in ("double", "float", "timestamp"):
            wrong_type = f"type({variable}) is not float and type({variable}) is not int"
        elif node.kind == "blob":
            return f"not {self._constant(serialization.is_base64)}({variable})"
        else:
            wrong_type = f"type({variable}) is not {_PYTHON_TYPES[node.kind]}"
        bounds = self._bounds(node, variable)
        return f"{wrong_type} or {bounds}" if bounds else wrong_type

    def _bounds(self, node: ShapeNode, variable: str) -> str:
        """Returns an expression that is true when a value of the right type breaks a constraint, or ""."""
        if node.is_table:
            # Longer values are not added to is_table's cache.
            wrong = f"len({variable}) > {TABLE_ARN_MAXIMUM} or not is_table({variable})"
            return wrong if node.minimum else f"{variable} and ({wrong})"
        if node.is_checked_later:
            return ""
        if node.enum:
            return f"{variable} not in {self._constant(frozenset(node.enum))}"
        measure = f"len({variable})" if node.kind in LENGTHS else variable
        tests = []
        if node.minimum is not None and not (node.kind in LENGTHS and node.minimum == 0):
            tests.append(f"{measure} < {node.minimum}")
        if node.maximum is not None:
            beyond = f"{measure} > {node.maximum}"
            tests.append(f"size > {node.maximum} and {beyond}" if node.kind in LENGTHS else beyond)
        if node.matcher is not None:
            tests.append(f"not {self._constant(node.matcher.fullmatch)}({variable})")
        return " or ".join(tests)
