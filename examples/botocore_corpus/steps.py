"""The units of work: each loads a service, or reads and compares a segment, a service, or an initial of a
type.

A unit takes a client and plain values and returns a `Tally`, so it can run in another process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from examples.botocore_corpus.source import (
    PARTITION_KEY,
    SORT_KEY,
    TYPE,
    Item,
    document_of,
    items_of,
    shape_names,
)
from examples.botocore_corpus.table import INDEX, TABLE
from examples.botocore_corpus.typed import NotStorable, differences, item_size_bytes

BATCH_ITEMS_MAX = 25
BATCH_BYTES_MAX = 12 * 1024 * 1024
"""JSON in one request; the limit of the service is 16 MB."""

Key = tuple[str, str]
"""Service and sort key of one item."""


@dataclass
class Tally:
    """The items that a unit has written or read."""

    size_bytes: int = 0
    requests: int = 0
    retried: int = 0
    keys: set[Key] = field(default_factory=set)
    types: dict[Key, str] = field(default_factory=dict)
    """The hash keys of the written items in the index."""
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.size_bytes += other.size_bytes
        self.requests += other.requests
        self.retried += other.retried
        repeated = self.keys & other.keys
        self.differences += [f"{'/'.join(key)}: read twice" for key in sorted(repeated)]
        self.keys |= other.keys
        self.types |= other.types
        self.differences += other.differences


# --- Loading -------------------------------------------------------------------------------------


def list_service(client: Any, service: str) -> Tally:
    """Returns the items that `load_service` would put, without a request."""
    tally = Tally()
    for _ in _storable_items(service, tally):
        pass
    return tally


def load_service(client: Any, service: str) -> Tally:
    """Puts all items of a service; documents that cannot be stored are listed in `differences`."""
    tally = Tally()
    for batch in _batches(_storable_items(service, tally)):
        tally.requests += 1
        pending = client.batch_write_item(RequestItems={TABLE: _puts(batch)})["UnprocessedItems"]
        while pending:
            tally.requests += 1
            tally.retried += len(pending[TABLE])
            pending = client.batch_write_item(RequestItems=pending)["UnprocessedItems"]
    return tally


def _storable_items(service: str, tally: Tally) -> Iterator[Item]:
    for shape, kind in shape_names(service):
        try:
            items = items_of(service, shape)
        except NotStorable as reason:
            tally.differences.append(f"{service}/{shape}: not stored, {reason}")
            continue
        for item in items:
            tally.size_bytes += item_size_bytes(item)
            tally.keys.add(_key_of(item))
            tally.types[_key_of(item)] = kind
            yield item


def _batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yields lists of at most 25 items and 12 MB."""
    batch: list[Item] = []
    size = 0
    for item in items:
        more = len(json.dumps(item))
        if batch and (len(batch) == BATCH_ITEMS_MAX or size + more > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


def _puts(batch: list[Item]) -> list[dict[str, Any]]:
    return [{"PutRequest": {"Item": item}} for item in batch]


# --- Reading back --------------------------------------------------------------------------------


def scan_segment(client: Any, segment: int, segments: int) -> Tally:
    """Reads one segment of a parallel Scan and compares every item with its source."""
    pages = client.get_paginator("scan").paginate(
        TableName=TABLE, Segment=segment, TotalSegments=segments, ConsistentRead=True
    )
    return _compare(pages)


def query_service(client: Any, service: str) -> Tally:
    """Reads one service by Query; the sort keys must be in order."""
    pages = client.get_paginator("query").paginate(
        TableName=TABLE,
        KeyConditionExpression="#service = :service",
        ExpressionAttributeNames={"#service": PARTITION_KEY},
        ExpressionAttributeValues={":service": {"S": service}},
        ConsistentRead=True,
    )
    return _compare(pages, ordered=True)


def query_type(client: Any, kind: str, initial: str) -> Tally:
    """Reads the shapes of one type with one initial from the index; the sort keys must be in order."""
    pages = client.get_paginator("query").paginate(
        TableName=TABLE,
        IndexName=INDEX,
        KeyConditionExpression="#type = :type AND begins_with(#shape, :initial)",
        ExpressionAttributeNames={"#type": TYPE, "#shape": SORT_KEY},
        ExpressionAttributeValues={":type": {"S": kind}, ":initial": {"S": initial}},
    )
    return _compare(pages, ordered=True)


def _compare(pages: Iterator[dict[str, Any]], *, ordered: bool = False) -> Tally:
    tally = Tally()
    last = b""
    for page in pages:
        tally.requests += 1
        for item in page["Items"]:
            key = _key_of(item)
            if key in tally.keys:
                tally.differences.append(f"{'/'.join(key)}: read twice")
            tally.keys.add(key)
            tally.size_bytes += item_size_bytes(item)
            tally.differences += _differences(key, item)
            sort_key = key[1].encode()
            if ordered and sort_key < last:
                tally.differences.append(f"{'/'.join(key)}: out of order")
            last = sort_key
    return tally


def _differences(key: Key, item: Item) -> Iterator[str]:
    service, sort_key = key
    try:
        sources = items_of(service, document_of(sort_key))
    except (KeyError, FileNotFoundError):
        sources = []
    source = next((source for source in sources if source[SORT_KEY]["S"] == sort_key), None)
    if source is None:
        yield f"{service}/{sort_key}: was never written"
    else:
        yield from differences(source, item, f"{service}/{sort_key}")


def _key_of(item: Item) -> Key:
    return item[PARTITION_KEY]["S"], item[SORT_KEY]["S"]
