"""Smithy RPC v2 with CBOR bodies (RFC 8949).

Timestamps (tag 1) and byte strings, which JSON lacks, become their JSON forms. All other tags are rejected:
no member uses them, and with some (shared references) a small body decodes to an endless one.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from typing import Any, Final, NoReturn

import cbor2

from faradisc.errors import ApiError, SerializationException
from faradisc.protocol.http import Headers
from faradisc.protocol.service_model import ModelOperation, Shape

_DEPTH_MAX: Final = 64
_EPOCH_TAG: Final = 1
_BUILT_IN_TAGS: Final = (0, *range(2, 6), 25, *range(28, 31), 35, 36, 37, *range(52, 55), 100, 256, 258, 260)
_BUILT_IN_TAGS_MORE: Final = (261, 1004, 43000, 55799)


def _reject(*_: Any) -> NoReturn:
    raise SerializationException


_DECODERS: Final[dict[int, Any]] = {
    **dict.fromkeys((*_BUILT_IN_TAGS, *_BUILT_IN_TAGS_MORE), _reject),
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
            document = cbor2.loads(body, tag_hook=_reject, semantic_decoders=_DECODERS, max_depth=_DEPTH_MAX)
        except (cbor2.CBORError, UnicodeDecodeError, SerializationException):
            raise SerializationException from None
        if type(document) is not dict:
            raise SerializationException
        plain: dict[str, Any] = _plain(document)
        return plain

    def write(self, operation: ModelOperation, members: dict[str, Any], request_id: str) -> bytes:
        return cbor2.dumps(_typed(operation.output, members))

    def write_error(self, error: ApiError, request_id: str) -> bytes:
        return cbor2.dumps(error.body())


def _plain(value: Any) -> Any:
    """Returns the JSON form of a decoded value. Raises SerializationException."""
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
    """Returns an answer's value with CBOR's own types for timestamps and floating-point numbers."""
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
