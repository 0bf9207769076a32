"""Key attributes as bytes that sort as DynamoDB sorts them.

A component is self-delimiting, so that several can stand one after another and no two lists of
components share an encoding:

    S   UTF-8 bytes, every 00 written as 00 FF, closed by 00 00
    B   the raw bytes, written likewise
    N   the ordered number (values.number.encode_ordered); a positive number or zero is closed by 00,
        a negative one closes itself with its final 102

Within one key the type is fixed by the schema, so it is not written. docs/formats/keys.md has the
worked examples and the test vectors.
"""

from __future__ import annotations

from binascii import a2b_base64

from faradisc.values import number
from faradisc.values.attribute import AttributeValue

_ESCAPED_ZERO = b"\x00\xff"
_END = b"\x00\x00"


def raw_bytes(value: AttributeValue) -> bytes:
    """The bytes of a key value that are hashed and measured: UTF-8, binary, or the ordered number."""
    for kind, content in value.items():
        if kind == "S":
            return content.encode()  # type: ignore[no-any-return]
        if kind == "N":
            return number.encode_ordered(content)
        return a2b_base64(content)
    raise AssertionError("an attribute value has one entry")


def encode_component(value: AttributeValue) -> bytes:
    """One key attribute, self-delimiting and order-preserving."""
    if "N" in value:
        encoded = number.encode_ordered(value["N"])
        return encoded + b"\x00" if encoded[0] >= 0x80 else encoded
    data = raw_bytes(value)
    if b"\x00" in data:
        data = data.replace(b"\x00", _ESCAPED_ZERO)
    return data + _END


def encode_prefix(value: AttributeValue) -> bytes:
    """The common beginning of every component whose S or B value begins with this one."""
    return raw_bytes(value).replace(b"\x00", _ESCAPED_ZERO)


def after_prefix(prefix: bytes) -> bytes | None:
    """The smallest byte string above everything that starts with `prefix`; None if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    if not trimmed:
        return None
    return trimmed[:-1] + bytes([trimmed[-1] + 1])
