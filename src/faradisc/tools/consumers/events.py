"""Stream records as a Lambda function receives them, and its answers.

An SDK decodes a record for its language: bytes, timestamps, capital letters where the service model has
them. An event is the JSON that a function gets instead: binary values in base64, timestamps as numbers,
the ARN of the stream beside each record. Source: streams.md section 5 and 6.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zlib import crc32

Event = dict[str, Any]
"""`{"Records": [...]}`"""


@dataclass(frozen=True, slots=True)
class Record:
    """A record on its way to the handler, with what the consumer asks of it again and again."""

    sequence_number: str
    created_ns: int
    """As the stream has it: rounded down to a second."""
    lane_hash: int
    """The same for all records of one item."""
    size_bytes: int
    event: dict[str, Any]


def record_of(raw: Mapping[str, Any], stream_arn: str) -> Record:
    """A record as GetRecords of an SDK answers it."""
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
        lane_hash=crc32(json.dumps(keys, sort_keys=True).encode()),
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
    """The answer names a failed record that was not in the batch."""


def first_failure(answer: object, records: Sequence[Record]) -> int | None:
    """Position of the first record that the handler says has failed; None when all went well.

    A handler may answer `{"batchItemFailures": [{"itemIdentifier": sequence number}, ...]}`. A stream is
    worked off in order, so everything from the first of them on is delivered again.
    Raises UnknownItem: then the whole batch has failed.
    """
    failures = answer.get("batchItemFailures") if isinstance(answer, Mapping) else None
    if not failures:
        return None
    positions = {record.sequence_number: at for at, record in enumerate(records)}
    try:
        return min(positions[failure["itemIdentifier"]] for failure in failures)
    except (KeyError, TypeError, ValueError):
        raise UnknownItem(f"no record of the batch is meant by {failures!r}") from None
