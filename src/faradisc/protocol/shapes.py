"""The fast walk: one compiled function per operation that says whether a request fits its shape.

The function is generated source, as `dataclasses` makes it: straight code over the members that the plan
knows, no calls but those that make AttributeValues canonical. It answers

    FITS    everything is in order, and every AttributeValue is canonical now
    VALUES  the shape fits, but some AttributeValue deviates
    SHAPE   something else deviates, or a member is an explicit null, or unknown

and never says what. `check_request` is the only caller: after anything but FITS it lets the slow walks
normalise (`serialization.py`) and complain (`constraints.py`).

Unknown members are ignored, as the service does: the slow walk removes them, so no operation meets one.
The items to be put are measured on the way, because whoever puts them asks for that next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from faradisc.model.values.checks import canonical_item_size, canonicalise
from faradisc.protocol import constraints, search_body, serialization
from faradisc.protocol.overrides import NAME_PATTERN, TABLE_ARN_MAXIMUM, TABLE_NAME_MAXIMUM, compile_pattern
from faradisc.protocol.plan import ATTRIBUTE, LENGTHS, Node, Plan, plan_of
from faradisc.protocol.service_model import Operation

FITS: Final = 0
VALUES: Final = 1
SHAPE: Final = 2

Sizes = dict[int, int]
"""Bytes of the items to be put, by the identity of their dicts; good for as long as the request lives."""

_PUT_ITEM: Final = "PutItemInputAttributeMap"
"""The model's shape of an item to be put."""

type_of_fits = Callable[[dict[str, Any], int, Sizes], int]
"""(request, size of the body in bytes, sizes to be filled) -> FITS, VALUES or SHAPE."""

is_table = lru_cache(
    maxsize=1024
)(  # requests name the same few tables, so few are matched
    compile_pattern(
        f"{NAME_PATTERN[:-1]}{{1,{TABLE_NAME_MAXIMUM}}}|(?s:arn:.{{0,{TABLE_ARN_MAXIMUM - 4}}})"
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


class CheckedShape:
    """The input shape of one operation, compiled once."""

    __slots__ = ("_fits", "operation", "plan")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.plan = plan_of(operation)
        self._fits = compile_plan(self.plan)

    def check_request(
        self, request: dict[str, Any], size: int, body: bytes | None = None, sizes: Sizes | None = None
    ) -> bool:
        """Whether every AttributeValue is canonical; `request` is normalised in place where it must be.

        `size` is the length of the JSON text: what it cannot hold need not be measured. `body` is that
        text; the words of one operation speak of places in it. `sizes` gets what was measured, where
        everything is canonical.

        Raises: SerializationException for a wrong JSON type, ValidationException for a constraint.
        """
        if sizes is None:
            sizes = {}
        verdict = self._fits(request, size, sizes)
        if verdict == FITS:
            return True
        if body is not None and self.operation.name == "SearchVectors":
            search_body.check(request, body)
        serialization.normalise(self.plan.root, request)
        sizes.clear()  # of dicts that may have been replaced
        verdict = self._fits(request, size, sizes)
        if verdict == SHAPE:
            constraints.check(self.plan, request)
        if verdict != FITS:
            sizes.clear()
        return verdict == FITS


def compile_plan(plan: Plan) -> type_of_fits:
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

    def function(self, root: Node) -> str:
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

    def _structure(self, node: Node, variable: str, depth: int) -> None:
        """Code for the members of a dict that is known to be one."""
        get = f"get_{variable}"
        if node.members:
            self._line(depth, f"{get} = {variable}.get")
        for name in node.members:
            if name in node.required:
                self._value(node.members[name], self._member(name, get, depth), depth)
        # A request of what is required and nothing else is common, and then all has been looked at.
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
        """The variable that holds a member, None where there is none."""
        value = self._variable()
        self._line(depth, f"{value} = {get}({name!r})")
        return value

    def _value(self, node: Node, variable: str, depth: int) -> None:
        if node.kind == ATTRIBUTE:
            # Most values are strings, which need no call to be found canonical.
            is_string = (
                f"type({variable}) is dict and len({variable}) == 1 and type({variable}.get('S')) is str"
            )
            self._line(depth, f"if not ({is_string}) and not canonicalise({variable}): verdict = {VALUES}")
            return
        self._line(depth, f"if {self._refusal(node, variable)}: return {SHAPE}")
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

    def _elements(self, node: Node, loop: str, depth: int) -> None:
        assert node.element is not None
        element = self._variable()
        self._line(depth, loop.format(element))
        self._value(node.element, element, depth + 1)

    def _map(self, node: Node, variable: str, depth: int) -> None:
        refusal = "" if node.key is None else self._bounds(node.key, key := self._variable())
        if refusal:
            self._line(depth, f"for {key} in {variable}:")
            self._line(depth + 1, f"if {refusal}: return {SHAPE}")
        self._elements(node, f"for {{}} in {variable}.values():", depth)

    def _refusal(self, node: Node, variable: str) -> str:
        """An expression that is true when the value itself, contents aside, must be refused."""
        if node.kind in ("double", "float", "timestamp"):
            wrong_type = f"type({variable}) is not float and type({variable}) is not int"
        elif node.kind == "blob":
            return f"not {self._constant(serialization.is_base64)}({variable})"
        else:
            wrong_type = f"type({variable}) is not {_PYTHON_TYPES[node.kind]}"
        bounds = self._bounds(node, variable)
        return f"{wrong_type} or {bounds}" if bounds else wrong_type

    def _bounds(self, node: Node, variable: str) -> str:
        """An expression that is true when a value of the right type breaks a constraint; "" without any."""
        if node.is_table:
            # Only what may be a name is kept by is_table's cache.
            return f"len({variable}) > {TABLE_ARN_MAXIMUM} or not is_table({variable})"
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
