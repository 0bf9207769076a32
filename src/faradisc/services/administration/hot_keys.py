"""The keys that make a partition hot, as people read them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from faradisc.capacity.partitions import Partition
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.usage_recording import shown_key
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES, Placement, key_of_row
from faradisc.model.codec.sortkey import after_prefix
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import ReadOnlyStore

HOT_KEYS_SHOWN = 5


async def hot_keys(store: ReadOnlyStore, part: Partition, placement: Placement) -> list[dict[str, Any]]:
    """Returns the heaviest keys of a hot partition; keys of others are not recorded.

    A key that is None has a member `instead`: pages of a Scan, or the hash of a key without a readable row.
    """
    found: list[dict[str, Any]] = []
    for direction, bucket in (("read", part.reads), ("write", part.writes)):
        watch = bucket.watch
        if watch is None or not watch.keys.total:
            continue
        for heavy in watch.keys.top(HOT_KEYS_SHOWN):
            named = await _named(store, heavy.key, placement)
            share = round(heavy.weight * 100 / watch.keys.total, 1)
            found.append({"direction": direction, **named, "percent": share})
    return found


async def _named(store: ReadOnlyStore, place: bytes, placement: Placement) -> dict[str, str | None]:
    """Returns partition and sort key. place: a row key, or where a page of a Query or Scan began."""
    if len(place) <= HASH_BYTES:
        return {"key": None, "sort_key": None, "instead": "a Scan"}
    key = placement.key
    partition = KeySchema(key.hash, (), key.types)
    found: Item = {}
    for schema in (key, partition):  # a Query may begin before the first sort key
        with suppress(ValueError, IndexError):
            found = key_of_row(place, schema, hashed=placement.hashed)
            break
    if placement.hashed:
        found |= await _partition_key(store, place, placement)
    if not found.keys() >= set(key.hash):
        return {"key": None, "sort_key": None, "instead": f"hash {place[:HASH_BYTES].hex()}"}
    partition_key, sort_key = shown_key(found, key if found.keys() >= set(key.names) else partition)
    return {"key": partition_key, "sort_key": sort_key}


async def _partition_key(store: ReadOnlyStore, place: bytes, placement: Placement) -> Item:
    """Returns the values that a hash in a row key stands for, from a row; empty without one."""
    collection = place[: 2 * HASH_BYTES]
    part, end = placement.part_of(collection), after_prefix(collection)
    with suppress(KeyDenied):
        for _, (_, record) in await store.range(part, collection, end, limit=1):
            item = item_record.decode(record)
            return {name: item[name] for name in placement.key.hash}
    return {}
