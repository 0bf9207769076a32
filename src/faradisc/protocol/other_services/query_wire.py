"""The query protocol: requests are forms, answers are XML.

    Dimensions.member.1.Name=TableName&Dimensions.member.1.Value=T

Source: botocore's QuerySerializer and QueryParser. Flattened lists and names that differ from the members'
are not supported, because CloudWatch's model has none.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl
from xml.etree import ElementTree as xml

from faradisc.errors import ApiError, SerializationException
from faradisc.protocol.http import Headers
from faradisc.protocol.other_services.wire import query_code, query_error_type
from faradisc.protocol.service_model import ModelOperation, Shape

_FIELDS_MAX: Final = 100_000
_PARTS_MAX: Final = 32
_INDEX_DIGITS_MAX: Final = 6

Fields = dict[str, str]
Tree = dict[str, Any]
"""Fields by the parts of their names; leaves are strings."""


def _fields_of(body: bytes) -> Fields:
    """Returns the form's fields, of a repeated one the last. Raises SerializationException."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise SerializationException from None
    return dict(pairs)


class QueryWire:
    content_type = b"text/xml"
    headers: Headers = ()

    def __init__(self, namespace: str, api_version: str) -> None:
        self._namespace = namespace
        self._api_version = api_version

    def operation_in(self, body: bytes) -> str:
        fields = _fields_of(body)
        return fields.get("Action", "") if fields.get("Version") == self._api_version else ""

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        tree: Tree = {}
        for name, text in _fields_of(body).items():
            if name not in ("Action", "Version"):
                _insert(tree, name, text)
        return _structure(shape, tree)

    def write(self, operation: ModelOperation, members: dict[str, Any], request_id: str) -> bytes:
        root = xml.Element(f"{operation.name}Response", xmlns=self._namespace)
        if operation.has_output:
            _add_members(xml.SubElement(root, f"{operation.name}Result"), operation.output, members)
        metadata = xml.SubElement(root, "ResponseMetadata")
        xml.SubElement(metadata, "RequestId").text = request_id
        return _bytes_of(root)

    def write_error(self, error: ApiError, request_id: str) -> bytes:
        root = xml.Element("ErrorResponse", xmlns=self._namespace)
        detail = xml.SubElement(root, "Error")
        xml.SubElement(detail, "Type").text = query_error_type(error)
        xml.SubElement(detail, "Code").text = query_code(error)
        if error.message is not None:
            xml.SubElement(detail, "Message").text = _printable(error.message)
        xml.SubElement(root, "RequestId").text = request_id
        return _bytes_of(root)


# --- Requests ------------------------------------------------------------------------------------


def _insert(tree: Tree, name: str, text: str) -> None:
    """Adds a field to the tree. Raises SerializationException for a name that contradicts another."""
    *parts, last = name.split(".")
    if len(parts) >= _PARTS_MAX:
        raise SerializationException
    for part in parts:
        # An empty field stands for an empty list; elements of the same name replace it.
        below = tree.get(part)
        if below is None or below == "":
            below = tree[part] = {}
        if type(below) is not dict:
            raise SerializationException
        tree = below
    if type(tree.get(last)) is dict:
        if text:
            raise SerializationException
        return
    tree[last] = text


def _structure(shape: Shape, tree: Any) -> dict[str, Any]:
    if type(tree) is not dict:
        raise SerializationException
    return {name: _value(shape.members[name], tree[name]) for name in shape.members if name in tree}


def _value(shape: Shape, node: Any) -> Any:
    if shape.type == "structure":
        return _structure(shape, node)
    if shape.type == "list":
        return _list(shape, node)
    if shape.type == "map":
        return _map(shape, node)
    if type(node) is not str:
        raise SerializationException
    return _scalar(shape.type, node)


def _list(shape: Shape, node: Any) -> list[Any]:
    assert shape.element is not None
    if node == "":
        return []
    elements = node.get("member") if type(node) is dict else None
    return [_value(shape.element, element) for element in _in_order(elements)]


def _map(shape: Shape, node: Any) -> dict[str, Any]:
    assert shape.element is not None
    if node == "":
        return {}
    found: dict[str, Any] = {}
    for entry in _in_order(node.get("entry") if type(node) is dict else None):
        if type(entry) is not dict or type(entry.get("key")) is not str or "value" not in entry:
            raise SerializationException
        found[entry["key"]] = _value(shape.element, entry["value"])
    return found


def _in_order(numbered: Any) -> list[Any]:
    """Returns elements ordered by their numbers; gaps are allowed."""
    if type(numbered) is not dict:
        raise SerializationException
    for number in numbered:
        if not (number.isascii() and number.isdigit() and len(number) <= _INDEX_DIGITS_MAX):
            raise SerializationException
    return [numbered[number] for number in sorted(numbered, key=int)]


def _scalar(kind: str, text: str) -> Any:
    try:
        match kind:
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
            case "integer" | "long":
                return _whole(text)
            case "double" | "float":
                return _finite(text)
            case "timestamp":
                return _moment(text)
    except (ValueError, KeyError, OverflowError):
        raise SerializationException from None
    return text


def _whole(text: str) -> int:
    if len(text) > 20:
        raise ValueError
    number = int(text)
    if number.bit_length() > 63:
        raise ValueError
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _moment(text: str) -> float:
    """Returns the epoch seconds of an ISO 8601 time (UTC without a zone) or of a number of seconds."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _finite(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# --- Answers -------------------------------------------------------------------------------------


def _bytes_of(root: xml.Element) -> bytes:
    written: bytes = xml.tostring(root, encoding="utf-8", xml_declaration=False)
    return written


def _add_members(element: xml.Element, shape: Shape, members: dict[str, Any]) -> None:
    for name, value in members.items():
        _add(xml.SubElement(element, name), shape.members[name], value)


def _add(element: xml.Element, shape: Shape, value: Any) -> None:
    if shape.type == "structure":
        _add_members(element, shape, value)
    elif shape.type == "list":
        assert shape.element is not None
        for each in value:
            _add(xml.SubElement(element, "member"), shape.element, each)
    elif shape.type == "map":
        assert shape.element is not None
        for key, each in value.items():
            entry = xml.SubElement(element, "entry")
            xml.SubElement(entry, "key").text = _printable(key)
            _add(xml.SubElement(entry, "value"), shape.element, each)
    else:
        element.text = _text(shape.type, value)


def _text(kind: str, value: Any) -> str:
    match kind:
        case "boolean":
            return "true" if value else "false"
        case "double" | "float":
            return repr(float(value))
        case "timestamp":
            return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    return _printable(str(value))


_UNPRINTABLE: Final = {code: "\ufffd" for code in (*range(0x20), 0xFFFE, 0xFFFF) if code not in (9, 10, 13)}


def _printable(text: str) -> str:
    """Replaces what XML 1.0 cannot hold: most control characters, and half a surrogate pair."""
    return text.translate(_UNPRINTABLE).encode("utf-8", "replace").decode()
