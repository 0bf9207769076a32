"""Smithy RPC v2 with CBOR bodies (RFC 8949).

Known to JSON is everything but timestamps (tag 1) and byte strings; both become what JSON would hold. All
other tags are refused: none has a meaning here, and some (shared references) let a small body unfold
without end.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from typing import Any, Final, NoReturn

import cbor2

from faradisc.errors import ApiError, SerializationException
from faradisc.protocol.other_services.wire import Headers
from faradisc.protocol.service_model import Operation, Shape

_DEPTH_MAX: Final = 64
_EPOCH_TAG: Final = 1
_BUILT_IN_TAGS: Final = (0, *range(2, 6), 25, *range(28, 31), 35, 36, 37, *range(52, 55), 100, 256, 258, 260)
_BUILT_IN_TAGS_MORE: Final = (261, 1004, 43000, 55799)


def _refuse(*_: Any) -> NoReturn:
    raise SerializationException


_DECODERS: Final[dict[int, Any]] = {
    **dict.fromkeys((*_BUILT_IN_TAGS, *_BUILT_IN_TAGS_MORE), _refuse),
    _EPOCH_TAG: lambda seconds, _: seconds,
}


class CborWire:
    content_type = b"application/cbor"
    headers: Headers = ((b"smithy-protocol", b"rpc-v2-cbor"),)

    def operation_in(self, body: bytes) -> str:
        return ""

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        if not body:
            return {}
        try:
            document = cbor2.loads(body, tag_hook=_refuse, semantic_decoders=_DECODERS, max_depth=_DEPTH_MAX)
        except (cbor2.CBORError, UnicodeDecodeError, SerializationException):
            raise SerializationException from None
        if type(document) is not dict:
            raise SerializationException
        plain: dict[str, Any] = _plain(document)
        return plain

    def write(self, operation: Operation, members: dict[str, Any], request_id: str) -> bytes:
        return cbor2.dumps(_typed(operation.output, members))

    def refuse(self, error: ApiError, request_id: str) -> bytes:
        return cbor2.dumps(error.body())


def _plain(value: Any) -> Any:
    """A decoded value with nothing in it that JSON does not have. Raises SerializationException."""
    kind = type(value)
    if kind is dict:
        if not all(type(name) is str for name in value):
            raise SerializationException
        return {name: _plain(member) for name, member in value.items()}
    if kind is list:
        return [_plain(element) for element in value]
    if kind is bytes:
        return b2a_base64(value, newline=False).decode()
    if kind is float and not math.isfinite(value):
        raise SerializationException
    if kind is int and value.bit_length() > 63:
        raise SerializationException
    if value is None or kind in (str, bool, int, float):
        return value
    raise SerializationException


def _typed(shape: Shape, value: Any) -> Any:
    """A value of an answer with the types that CBOR tells apart and JSON does not."""
    match shape.type:
        case "structure":
            return {name: _typed(shape.members[name], member) for name, member in value.items()}
        case "list":
            assert shape.element is not None
            return [_typed(shape.element, element) for element in value]
        case "map":
            assert shape.element is not None
            return {key: _typed(shape.element, entry) for key, entry in value.items()}
        case "timestamp":
            return cbor2.CBORTag(_EPOCH_TAG, float(value))
        case "double" | "float":
            return float(value)
    return value
