"""Compares answers with the service model, in tests.

    check_output("GetItem", body)   -> []            the answer has the model's shape
    check_output("GetItem", body)   -> ["Item.a: ..."] for deviations
    check_error("GetItem", body)    -> []            `__type`, text member and further members are right

`body` is decoded JSON. Types, unknown members, missing required members and enumerations are compared;
lengths and ranges are not, because the service's own answers exceed some (zero capacity units, for one).
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any

from faradisc import errors
from faradisc.protocol.service_model import SERVICES, Operation, Shape, load, operation_named

_NUMBERS = (int, float)
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "structure": dict,
    "map": dict,
    "list": list,
    "string": str,
    "blob": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "double": _NUMBERS,
    "float": _NUMBERS,
    "timestamp": _NUMBERS,
}

_FRONT_END = {
    errors.VALIDATE: frozenset({"ValidationException"}),
    errors.SERVICE: frozenset(
        {
            "SerializationException",
            "UnknownOperationException",
            "IncompleteSignatureException",
            "InvalidSignatureException",
            "MissingAuthenticationTokenException",
            "UnrecognizedClientException",
            "ExpiredTokenException",
            "AccessDeniedException",
            "InternalFailure",
        }
    ),
    errors.AVAILABILITY: frozenset({"ThrottlingException"}),
}
"""Errors without an exception shape, by namespace (errors.md section 1)."""

_TEXTLESS = frozenset({"UnknownOperationException", "SerializationException"})


def check_output(operation: str, body: Any, service: str | None = None) -> list[str]:
    """Returns the deviations of a successful answer from the operation's output shape.

    service: another AWS service, which may have operations of the same name.
    """
    found: list[str] = []
    called = _operation(operation) if service is None else load(service).operations[operation]
    _check(called.output, body, operation, found)
    return found


def check_error(operation: str, body: Any) -> list[str]:
    """Returns the deviations of an error answer from its exception shape, or from the front end's errors."""
    if type(body) is not dict or type(body.get("__type")) is not str:
        return [f"{operation}: an error needs a __type"]
    prefix, _, name = body["__type"].rpartition("#")
    members = {member: content for member, content in body.items() if member != "__type"}
    found: list[str] = []
    if prefix + "#" == errors.MODELLED:
        shape = _exception(_operation(operation), name)
        if shape is None:
            return [f"{operation}: {name} is not an exception of the model"]
        _check(shape, members, name, found)
        if _text_member(shape) not in members:
            found.append(f"{name}: no text")
    elif name in _FRONT_END.get(prefix + "#", ()):
        _check_front_end(name, members, found)
    else:
        found.append(f"{operation}: unknown error {body['__type']}")
    return found


def _operation(name: str) -> Operation:
    operation = operation_named(name)
    if operation is None:
        raise LookupError(f"{name} is not an operation of the model")
    return operation


def _exception(operation: Operation, name: str) -> Shape | None:
    """Returns the exception of the operation's service, or of the other: both have throttling."""
    for service in (operation.service, *SERVICES):
        shape = load(service).exceptions.get(name)
        if shape is not None:
            return shape
    return None


def _text_member(shape: Shape) -> str:
    return "Message" if "Message" in shape.members else "message"


def _check_front_end(name: str, members: dict[str, Any], found: list[str]) -> None:
    texts = [member for member in members if member in ("message", "Message")]
    if not texts and name not in _TEXTLESS:
        found.append(f"{name}: no text")
    if set(members) - set(texts):
        found.append(f"{name}: unknown members {sorted(set(members) - set(texts))}")
    if name == "SerializationException" and texts not in ([], ["Message"]):
        found.append(f"{name}: the text member is Message")
    if any(type(members[text]) is not str for text in texts):
        found.append(f"{name}: the text is not a string")


def _check(shape: Shape, value: Any, path: str, found: list[str]) -> None:
    fits = isinstance(value, _PYTHON_TYPES[shape.type])
    if not fits or (type(value) is bool and shape.type != "boolean"):
        found.append(f"{path}: {type(value).__name__} where the model has {shape.type} {shape.name}")
    elif shape.type == "structure":
        _check_structure(shape, value, path, found)
    elif shape.type == "list" and shape.element is not None:
        for index, element in enumerate(value):
            _check(shape.element, element, f"{path}[{index}]", found)
    elif shape.type == "map" and shape.element is not None:
        for key, element in value.items():
            _check(shape.element, element, f"{path}.{key}", found)
    elif shape.type == "blob":
        _check_base64(value, path, found)
    elif shape.enum and value not in shape.enum:
        found.append(f"{path}: {value!r} is not one of {list(shape.enum)}")


def _check_structure(shape: Shape, value: dict[str, Any], path: str, found: list[str]) -> None:
    for name in shape.required:
        if name not in value:
            found.append(f"{path}: {name} is missing")
    for name, member in value.items():
        if name not in shape.members:
            found.append(f"{path}: {name} is not a member of {shape.name}")
        else:
            _check(shape.members[name], member, f"{path}.{name}", found)
    if shape.name == "AttributeValue" and len(value) != 1:
        found.append(f"{path}: an AttributeValue has exactly one member, not {len(value)}")


def _check_base64(value: str, path: str, found: list[str]) -> None:
    try:
        a2b_base64(value, strict_mode=True) if value else b""
    except (ValueError, Base64Error):
        found.append(f"{path}: not base64")
