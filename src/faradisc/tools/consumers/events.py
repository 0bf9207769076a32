"""Events, which are stream records in the form that a Lambda function receives, and the answers of handlers.

An SDK decodes a record for its language: bytes, timestamps, names with capital letters. An event is JSON:
binary values in base64, timestamps as numbers, the ARN of the stream in each record. Source: streams.md
sections 5 and 6.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zlib import crc32

from faradisc.records import dataclass

Event = dict[str, Any]
"""`{"Records": [...]}`"""


@dataclass(frozen=True, slots=True)
class Record:
    """A record for the handler, with the properties that the consumer needs."""

    sequence_number: str
    created_ns: int
    """Rounded down to a second by the stream."""
    item_hash: int
    """Equal for all records of one item."""
    size_bytes: int
    event: dict[str, Any]


def record_of(raw: Mapping[str, Any], stream_arn: str) -> Record:
    """Converts a record of an SDK's answer to GetRecords."""
    change = raw["dynamodb"]
    created = change["ApproximateCreationDateTime"]
    created_s = int(created.timestamp() if isinstance(created, datetime) else created)
    keys = _plain_attributes(change["Keys"])
    shown: dict[str, Any] = {**change, "ApproximateCreationDateTime": created_s, "Keys": keys}
    for name in ("NewImage", "OldImage"):
        if name in change:
            shown[name] = _plain_attributes(change[name])
    event: dict[str, Any] = {**raw, "dynamodb": shown, "eventSourceARN": stream_arn}
    identity = raw.get("userIdentity")
    if identity is not None:
        event["userIdentity"] = {name[0].lower() + name[1:]: value for name, value in identity.items()}
    return Record(
        sequence_number=change["SequenceNumber"],
        created_ns=created_s * 1_000_000_000,
        item_hash=crc32(json.dumps(keys, sort_keys=True).encode()),
        size_bytes=change.get("SizeBytes", 0),
        event=event,
    )


def event_of(records: Sequence[Record]) -> Event:
    return {"Records": [record.event for record in records]}


def _plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in attributes.items()}


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: _base64(content)}
        case "BS":
            return {kind: [_base64(member) for member in content]}
        case "L":
            return {kind: [_plain(member) for member in content]}
        case "M":
            return {kind: _plain_attributes(content)}
        case _:
            return {kind: content}


def _base64(content: bytes | bytearray | str) -> str:
    return content if isinstance(content, str) else b64encode(content).decode()


class UnknownItem(Exception):
    """The answer contains a failed record that was not in the batch."""


def first_failure(answer: object, records: Sequence[Record]) -> int | None:
    """Returns the position of the first record that the handler reports as failed; None without failures.

    A handler may answer `{"batchItemFailures": [{"itemIdentifier": sequence number}, ...]}`. Records are
    handled in order, so all records from the first of these on are delivered again. Raises UnknownItem, which
    means that the whole batch has failed.
    """
    failures = answer.get("batchItemFailures") if isinstance(answer, Mapping) else None
    if not failures:
        return None
    positions = {record.sequence_number: at for at, record in enumerate(records)}
    try:
        return min(positions[failure["itemIdentifier"]] for failure in failures)
    except (KeyError, TypeError, ValueError):
        raise UnknownItem(f"batchItemFailures does not match the batch: {failures!r}") from None
