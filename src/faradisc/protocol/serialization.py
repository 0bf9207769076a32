"""The slow walk for JSON types: coerces and rejects values as the service does.

Runs only after the fast walk has rejected a request. The request is rewritten in place, and then checked by
the fast walk again. The first wrong token of the document is reported.

Coercions (errors.md section 5, "SerializationException texts"):

1. A null member counts as absent and is removed, in structures and in AttributeValues at every level.
2. A null in the place of an AttributeValue (in an item, a list, a map) becomes the empty AttributeValue,
   which the operation then rejects. Assumed: dropping it would lose data silently.
3. A null in any other list or map stays, and `constraints.py` rejects it; in a set it is rejected here, as
   "Unexpected field type". Assumed.
4. A boolean may be a string in any case: `t true yes y 1`, `f false no n 0` (errors.md section 11).
5. A number loses its fraction where an integer is expected, and is limited to the integer's range.
6. Unknown members of structures and of AttributeValues are removed.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from typing import Any, Final, NoReturn

from faradisc.errors import SerializationException
from faradisc.model.values.attribute import SET_TYPES
from faradisc.protocol.plan import ATTRIBUTE, ShapeNode

_PACKAGE: Final = "com.amazonaws.dynamodb.v20120810."
_STRUCTURE_NOT_EXPECTED: Final = "Start of structure or map found where not expected"
_FIELD_TYPE: Final = "Unexpected field type"
_VALUE_TYPE: Final = "Unexpected value type in payload"

_BOOLEAN_TEXTS: Final = {
    **dict.fromkeys(("t", "true", "yes", "y", "1"), True),
    **dict.fromkeys(("f", "false", "no", "n", "0"), False),
}

_JAVA_TYPES: Final = {
    "string": "java.lang.String",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "float": "java.lang.Float",
    "timestamp": "java.util.Date",
    "blob": "java.nio.ByteBuffer",
}

_INTEGER_BITS: Final = {"integer": 31, "long": 63}


def normalise(root: ShapeNode, request: dict[str, Any]) -> bool:
    """Checks every JSON type of a request; coerces in place. Raises SerializationException.

    Returns whether only the service's older layer reads it: a scalar was coerced, or an AttributeValue has
    several members (errors.md section 11, recorded for BOOL, NULL and numbers of Query and Scan; assumed for
    the other scalars).
    """
    return _Reader().reads_older(root, request)


def is_base64(raw: object) -> bool:
    """Whether a value is canonical base64 in a string, which the service reads as bytes."""
    if type(raw) is not str:
        return False
    try:
        return b2a_base64(a2b_base64(raw, strict_mode=True), newline=False) == raw.encode()
    except (ValueError, Base64Error):
        return not raw


def _reject(text: str) -> NoReturn:
    raise SerializationException(text)


# --- The plan's part -----------------------------------------------------------------------------


class _Reader:
    """Checks one request; `_older` collects what only the older layer reads."""

    def __init__(self) -> None:
        self._older = False

    def reads_older(self, root: ShapeNode, request: dict[str, Any]) -> bool:
        self._members(root, request)
        return self._older

    def _members(self, node: ShapeNode, structure: dict[str, Any]) -> None:
        for name, raw in list(structure.items()):
            member = node.members.get(name)
            if raw is None or member is None:
                del structure[name]
            else:
                structure[name] = self._value(member, raw, in_collection=False)

    def _value(self, node: ShapeNode, raw: Any, *, in_collection: bool) -> Any:
        """Returns the value that replaces `raw`, which is not null."""
        kind = node.kind
        if kind == ATTRIBUTE:
            self._attribute(raw, in_collection=in_collection)
            return raw
        if kind == "structure":
            _expect_structure(node.shape, raw, in_collection=in_collection)
            self._members(node, raw)
            return raw
        if kind == "list":
            _expect_list(raw)
            self._elements(node, raw, range(len(raw)))
            return raw
        if kind == "map":
            _expect_map(node, raw)
            self._elements(node, raw, list(raw))
            return raw
        return self._scalar(raw, kind)

    def _scalar(self, raw: Any, kind: str) -> Any:
        value = _SCALARS[kind](raw, kind)
        self._older |= type(value) is not type(raw) or value != raw
        return value

    def _elements(self, node: ShapeNode, collection: Any, keys: Any) -> None:
        assert node.element is not None
        for key in keys:
            raw = collection[key]
            if raw is not None:
                collection[key] = self._value(node.element, raw, in_collection=True)
            elif node.holds_attributes:
                collection[key] = {}

    def _attribute(self, raw: Any, *, in_collection: bool) -> None:
        """Checks one AttributeValue and all inside it without recursion: it nests as deep as JSON may."""
        pending = [raw]
        while pending:
            value = pending.pop()
            _expect_structure("AttributeValue", value, in_collection=in_collection or value is not raw)
            for kind, content in list(value.items()):
                scalar = _ATTRIBUTE_MEMBERS.get(kind)
                if content is None or scalar is None:
                    del value[kind]
                elif kind in ("M", "L"):
                    value[kind] = _members_of(kind, content, pending)
                elif kind in SET_TYPES:
                    _expect_list(content)
                    if None in content:
                        _reject(_FIELD_TYPE)
                    value[kind] = [_SCALARS[scalar](entry, scalar) for entry in content]
                else:
                    value[kind] = self._scalar(content, scalar)
            self._older |= len(value) > 1


def _expect_structure(shape: str, raw: Any, *, in_collection: bool) -> None:
    if type(raw) is dict:
        return
    if type(raw) is list:
        _reject(f"Unrecognized collection type class {_PACKAGE}{shape}")
    _reject(_VALUE_TYPE if in_collection else _FIELD_TYPE)


def _expect_list(raw: Any) -> None:
    if type(raw) is not list:
        _reject(_STRUCTURE_NOT_EXPECTED if type(raw) is dict else _FIELD_TYPE)


def _expect_map(node: ShapeNode, raw: Any) -> None:
    if type(raw) is dict:
        return
    _reject(f"Unrecognized collection type {_java_type(node)}" if type(raw) is list else _FIELD_TYPE)


def _java_type(node: ShapeNode) -> str:
    if node.kind in _JAVA_TYPES:
        return _JAVA_TYPES[node.kind]
    if node.element is None:
        return _PACKAGE + node.shape
    if node.kind == "list":
        return f"java.util.List<{_java_type(node.element)}>"
    return f"java.util.Map<java.lang.String, {_java_type(node.element)}>"


# --- AttributeValues -----------------------------------------------------------------------------

_ATTRIBUTE_MAP: Final = (
    f"Unrecognized collection type java.util.Map<java.lang.String, {_PACKAGE}AttributeValue>"
)


def _members_of(kind: str, content: Any, pending: list[Any]) -> Any:
    """Returns the members of a list or map, which are added to `pending`, the first one last."""
    if kind == "L":
        _expect_list(content)
        content = [{} if entry is None else entry for entry in content]
        pending.extend(reversed(content))
        return content
    if type(content) is not dict:
        _reject(_ATTRIBUTE_MAP if type(content) is list else _FIELD_TYPE)
    content = {name: {} if entry is None else entry for name, entry in content.items()}
    pending.extend(reversed(content.values()))
    return content


_ATTRIBUTE_MEMBERS: Final = {
    **dict.fromkeys(("S", "N", "SS", "NS"), "string"),
    **dict.fromkeys(("NULL", "BOOL"), "boolean"),
    **dict.fromkeys(("B", "BS"), "blob"),
    **dict.fromkeys(("M", "L"), "value"),
}
"""The members of an AttributeValue, and what they hold."""


# --- Scalars -------------------------------------------------------------------------------------


def _token(raw: Any) -> str:
    """Returns the parser's name for a scalar token."""
    if type(raw) is bool:
        return "TRUE_VALUE" if raw else "FALSE_VALUE"
    if type(raw) is int:
        return "NUMBER_VALUE"
    return "DECIMAL_VALUE" if type(raw) is float else "STRING_VALUE"


def _reject_collection(raw: Any, kind: str) -> None:
    if type(raw) is list:
        _reject(f"Unrecognized collection type class {_JAVA_TYPES[kind]}")
    if type(raw) is dict:
        _reject(_STRUCTURE_NOT_EXPECTED)


def _reject_token(raw: Any, kind: str) -> NoReturn:
    _reject_collection(raw, kind)
    _reject(f"{_token(raw)} cannot be converted to {_JAVA_TYPES[kind].rpartition('.')[2]}")


def _string(raw: Any, kind: str) -> str:
    if type(raw) is str:
        return raw
    _reject_token(raw, kind)


def _boolean(raw: Any, kind: str) -> bool:
    if type(raw) is bool:
        return raw
    if type(raw) is str:
        value = _BOOLEAN_TEXTS.get(raw.lower())
        if value is None:
            _reject("Unexpected token received from parser")
        return value
    _reject_token(raw, kind)


def _integer(raw: Any, kind: str) -> int:
    if type(raw) is int or type(raw) is float:
        bound = 1 << _INTEGER_BITS[kind]
        return min(max(int(raw), -bound), bound - 1)
    _reject_token(raw, kind)


def _double(raw: Any, kind: str) -> float:
    if type(raw) is float or type(raw) is int:
        return raw
    _reject_token(raw, kind)


def _blob(raw: Any, kind: str) -> str:
    if is_base64(raw):
        assert type(raw) is str
        return raw
    _reject_collection(raw, kind)
    if type(raw) is not str:
        _reject("only base-64-encoded strings are convertible to bytes")
    if len(raw) % 4:
        _reject(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(raw)}")
    _reject("Invalid last non-pad Base64 character dectected")


_SCALARS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "long": _integer,
    "double": _double,
    "float": _double,
    "timestamp": _double,
    "blob": _blob,
}
