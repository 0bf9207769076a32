"""The record that a Kinesis stream gets for one change.

Like a stream record, with the table's name, the time in the precision that was chosen, and no sequence
number: Kinesis gives its own. Binary values are base64 in the JSON, and the JSON is base64 in the request,
which is the double encoding that the service's documentation warns of.

Source: streams.md section 7. Assumed: the order of members, and that the partition key is written as hex.
"""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.clock import Entropy
from faradisc.engine.streams.capture import Captured
from faradisc.model.codec import item_record
from faradisc.model.values.size import item_size

SERVICE_IDENTITY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def document(captured: Captured, *, table: str, region: str, precision: str, entropy: Entropy) -> bytes:
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": (
            captured.at_us if precision == "MICROSECOND" else captured.at_us // 1000
        ),
        "ApproximateCreationDateTimePrecision": precision,
        "Keys": captured.key,
    }
    size_bytes = item_size(captured.key)
    for name, image in (("NewImage", captured.new), ("OldImage", captured.old)):
        if image is not None:
            change[name] = item_record.json_of(image)
            size_bytes += item_record.size_of(image)
    change["SizeBytes"] = size_bytes
    return orjson.dumps(
        {
            "awsRegion": region,
            "eventID": entropy.uuid(),
            "eventName": captured.name,
            "userIdentity": SERVICE_IDENTITY if captured.by_service else None,
            "recordFormat": "application/json",
            "tableName": table,
            "dynamodb": change,
            "eventSource": "aws:dynamodb",
        }
    )


def partition_key(captured: Captured) -> str:
    return captured.hash.hex().upper()
