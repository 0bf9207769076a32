"""Items and keys in words, as far as stored bytes can be read."""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, Placement, key_of_row
from faradisc.model.values.attribute import Item
from faradisc.model.values.checks import canonicalise
from faradisc.model.values.schema import KeySchema

_WORDS_MAX = 300


def read_item(payload: bytes) -> Item | None:
    """Returns the item of a record; None when the bytes are no record."""
    if payload[:1] != b"\x01":
        return None
    try:
        item: Any = orjson.loads(payload[item_record.HEADER_BYTES :])
    except ValueError:
        return None
    return item if isinstance(item, dict) and all(map(canonicalise, item.values())) else None


def key_words(key: KeySchema, row_key: bytes, *, hashed: bool = False) -> str:
    """Returns the key of an item in DynamoDB JSON, decoded from its row key, as far as it is readable."""
    try:
        words = shortened(orjson.dumps(key_of_row(row_key, key, hashed=hashed)).decode())
        return f"hash {row_key[:HASH_BYTES].hex()}, {words}" if hashed else words
    except (ValueError, IndexError, UnicodeDecodeError):
        return f"row key {shortened(row_key.hex())}"


def row_words(placement: Placement, row_key: bytes) -> str:
    """Returns the key that a stored row key has, as far as it is readable there."""
    return key_words(placement.key, row_key, hashed=placement.hashed)


def shortened(text: str) -> str:
    return text if len(text) <= _WORDS_MAX else f"{text[:_WORDS_MAX]}... ({len(text)} characters)"
