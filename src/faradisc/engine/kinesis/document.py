"""The record that a Kinesis stream receives for one change.

It is like a stream record, with the table's name and the time in the chosen precision, but without a sequence
number: Kinesis assigns one. Binary values are base64 in the JSON, and the JSON is base64 in the request; the
service's documentation describes this double encoding.

Source: streams.md section 7. Assumed: the order of members, and that the partition key is written as hex.
"""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.clock import Entropy
from faradisc.engine.streams.records import Entry
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import HASH_BYTES
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size

SERVICE_IDENTITY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def document(change: Entry, key: Item, *, table: str, region: str, precision: str, entropy: Entropy) -> bytes:
    """Returns the JSON of one captured change, whose time is in microseconds."""
    data: dict[str, Any] = {
        "ApproximateCreationDateTime": (change.at if precision == "MICROSECOND" else change.at // 1000),
        "ApproximateCreationDateTimePrecision": precision,
        "Keys": key,
    }
    size_bytes = item_size(key)
    for name, image in (("NewImage", change.new), ("OldImage", change.old)):
        if image:
            data[name] = item_record.json_of(image)
            size_bytes += item_record.size_of(image)
    data["SizeBytes"] = size_bytes
    return orjson.dumps(
        {
            "awsRegion": region,
            "eventID": entropy.uuid(),
            "eventName": change.name,
            "userIdentity": SERVICE_IDENTITY if change.by_service else None,
            "recordFormat": "application/json",
            "tableName": table,
            "dynamodb": data,
            "eventSource": "aws:dynamodb",
        }
    )


def partition_key(change: Entry) -> str:
    return change.row_key[:HASH_BYTES].hex().upper()
