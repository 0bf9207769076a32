"""Keys that are too long for an index of PostgreSQL.

An index entry has at most 2,704 bytes, with the part and the generation; a row key can have more than 6,000
(limits.md). A long key is stored as its first HEAD_BYTES, its *head*, and a digest of the rest, which is in
front of the payload. So rows of one head are together but in the order of their digests: a range that meets
them sorts them (reading.py).
"""

from __future__ import annotations

from hashlib import sha256

HEAD_BYTES = 2_300
_LENGTH_BYTES = 4
_ABOVE = b"\xff" * 33
"""Above every digest."""
ABOVE_ALL = b"\xff" * HEAD_BYTES + _ABOVE
"""Above every stored key."""


def is_long(key: bytes) -> bool:
    """Whether a key, or a stored key, has more than a head."""
    return len(key) > HEAD_BYTES


def head(key: bytes) -> bytes:
    return key[:HEAD_BYTES]


def above_head(key: bytes) -> bytes:
    """Returns a bound above every stored key with the head of `key`, and below those of the next head."""
    return key[:HEAD_BYTES] + _ABOVE


def stored_key(key: bytes) -> bytes:
    if len(key) <= HEAD_BYTES:
        return key
    return key[:HEAD_BYTES] + sha256(key[HEAD_BYTES:]).digest()


def stored_payload(key: bytes, payload: bytes) -> bytes:
    if len(key) <= HEAD_BYTES:
        return payload
    rest = key[HEAD_BYTES:]
    return len(rest).to_bytes(_LENGTH_BYTES, "big") + rest + payload


def loaded(key: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """Returns key and payload of a row, from what is stored."""
    if len(key) <= HEAD_BYTES:
        return key, payload
    end = _LENGTH_BYTES + int.from_bytes(payload[:_LENGTH_BYTES], "big")
    return key[:HEAD_BYTES] + payload[_LENGTH_BYTES:end], payload[end:]
