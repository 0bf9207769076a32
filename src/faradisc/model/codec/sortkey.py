"""Key attributes as bytes that sort as DynamoDB sorts them.

A component is self-delimiting, so components can be concatenated and no two lists of them share an encoding:

    S   UTF-8 bytes, every 00 written as 00 FF, closed by 00 00
    B   the raw bytes, written likewise
    N   the ordered number (values.number.encode_ordered); a positive number or zero is closed by 00,
        a negative one closes itself with its final 102

Within one key the type is fixed by the schema, so it is not written. docs/formats/keys.md has the
worked examples and the test vectors.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from faradisc.model.values import number
from faradisc.model.values.attribute import AttributeValue

_ESCAPED_ZERO = b"\x00\xff"
_END = b"\x00\x00"


def raw_bytes(value: AttributeValue) -> bytes:
    """Returns the bytes of a key value that are hashed and measured: UTF-8, binary, or the ordered number."""
    for kind, content in value.items():
        if kind == "S":
            return content.encode()  # type: ignore[no-any-return]
        if kind == "N":
            return number.encode_ordered(content)
        return a2b_base64(content)
    raise AssertionError("an attribute value has one entry")


def encode_component(value: AttributeValue) -> bytes:
    """Returns the component of one key attribute, self-delimiting and order-preserving."""
    text = value.get("S")
    if text is not None and "\0" not in text:
        return text.encode() + _END  # type: ignore[no-any-return]
    if "N" in value:
        encoded = number.encode_ordered(value["N"])
        return encoded + b"\x00" if encoded[0] >= 0x80 else encoded
    return encode_bytes(raw_bytes(value))


def encode_bytes(data: bytes) -> bytes:
    """Returns the component of a string's or a binary's bytes."""
    if 0 in data:  # an int is faster: with bytes, Python first raises and catches an exception
        data = data.replace(b"\x00", _ESCAPED_ZERO)
    return data + _END


def decode_component(encoded: bytes, start: int, kind: str) -> tuple[AttributeValue, int]:
    """Returns the key attribute of type `kind` encoded at `start`, and the position after it."""
    if kind == "N":
        positive = encoded[start] >= 0x80
        end = encoded.index(b"\x00" if positive else b"\x66", start + 1)
        text = number.decode_ordered(encoded[start : end if positive else end + 1])
        return {"N": text}, end + 1
    end = encoded.index(b"\x00", start)
    while encoded[end + 1]:  # an escaped zero, not the end
        end = encoded.index(b"\x00", end + 2)
    data = encoded[start:end].replace(_ESCAPED_ZERO, b"\x00")
    if kind == "S":
        return {"S": data.decode()}, end + 2
    return {"B": b2a_base64(data, newline=False).decode()}, end + 2


def encode_prefix(value: AttributeValue) -> bytes:
    """Returns the common prefix of all components whose S or B value begins with this value."""
    return raw_bytes(value).replace(b"\x00", _ESCAPED_ZERO)


def after_prefix(prefix: bytes) -> bytes | None:
    """Returns the smallest byte string above all that start with `prefix`; None if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    if not trimmed:
        return None
    return trimmed[:-1] + bytes([trimmed[-1] + 1])
