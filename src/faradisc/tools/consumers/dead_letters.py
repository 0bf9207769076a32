"""Dead letters: the records that the handler could not handle.

A letter is the document that Lambda sends to its on-failure destination, with the records in `payload`, so
that they outlive the stream's retention. A failed destination is retried: no checkpoint passes a record that
is neither handled nor stored.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from faradisc.files import sync_file
from faradisc.records import dataclass
from faradisc.tools.consumers.events import Record, event_of
from faradisc.tools.consumers.posting import Poster
from faradisc.tools.consumers.tables import ensure_table

_RECORD_JSON_BYTES_MAX = 390_000
"""An item has at most 400 KB; a record with two large images may be twice as large."""

FAILED = "RetryAttemptsExhausted"
TOO_OLD = "RecordAgeExceeded"


@dataclass(frozen=True, slots=True)
class Letter:
    group: str
    stream_arn: str
    shard_id: str
    condition: str
    """FAILED or TOO_OLD."""
    error: str
    invocations: int
    at_ns: int
    records: Sequence[Record]

    def document(self) -> dict[str, Any]:
        first, last = self.records[0], self.records[-1]
        return {
            "version": "1.0",
            "timestamp": _iso(self.at_ns),
            "requestContext": {
                "consumerGroup": self.group,
                "condition": self.condition,
                "approximateInvokeCount": self.invocations,
            },
            "responseContext": {"functionError": self.error},
            "DDBStreamBatchInfo": {
                "shardId": self.shard_id,
                "startSequenceNumber": first.sequence_number,
                "endSequenceNumber": last.sequence_number,
                "approximateArrivalOfFirstRecord": _iso(first.created_ns),
                "approximateArrivalOfLastRecord": _iso(last.created_ns),
                "batchSize": len(self.records),
                "streamArn": self.stream_arn,
            },
            "payload": event_of(self.records),
        }


def _iso(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="milliseconds")


class DeadLetters(Protocol):
    def keep(self, letter: Letter) -> None:
        """Returns when the letter is stored durably; raises the exceptions of the destination."""
        ...


class FileLetters:
    """One JSON document per line, on disk when `keep` returns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def keep(self, letter: Letter) -> None:
        line = json.dumps(letter.document()).encode() + b"\n"
        with self._lock, self._path.open("ab") as file:
            file.write(line)
            sync_file(file)


class HttpLetters:
    """One POST per letter; status 2xx means success."""

    def __init__(self, url: str, *, timeout_s: float = 60.0) -> None:
        """Raises ValueError for an invalid URL."""
        self._poster = Poster(url, timeout_s=timeout_s)

    def keep(self, letter: Letter) -> None:
        answer = self._poster.post(letter.document())
        if not 200 <= answer.status < 300:
            raise OSError(f"the dead-letter endpoint answered {answer.status}")


class TableLetters:
    """One item per record, in a table with the key `id` (S), which is created if it is missing.

    The id consists of group, shard and record, so a letter that is written twice is stored once. Images that
    do not fit into an item are omitted, the old one first; `left_out` lists them.
    """

    def __init__(self, client: Any, table: str, *, sleep: Callable[[float], None]) -> None:
        self._client = client
        self._table = table
        self._sleep = sleep
        self._table_exists = False

    def keep(self, letter: Letter) -> None:
        if not self._table_exists:
            ensure_table(self._client, self._table, hash_key="id", sleep=self._sleep)
            self._table_exists = True
        for record in letter.records:
            self._client.put_item(TableName=self._table, Item=_item(letter, record))


def _item(letter: Letter, record: Record) -> dict[str, Any]:
    event = record.event
    left_out: list[str] = []
    text = json.dumps(event)
    for image in ("OldImage", "NewImage"):
        if len(text.encode()) > _RECORD_JSON_BYTES_MAX and image in event["dynamodb"]:
            change = {name: value for name, value in event["dynamodb"].items() if name != image}
            event = {**event, "dynamodb": change}
            left_out.append(image)
            text = json.dumps(event)
    item: dict[str, Any] = {
        "id": {"S": f"{letter.group}/{letter.shard_id}/{record.sequence_number}"},
        "group": {"S": letter.group},
        "streamArn": {"S": letter.stream_arn},
        "shardId": {"S": letter.shard_id},
        "sequenceNumber": {"S": record.sequence_number},
        "condition": {"S": letter.condition},
        "error": {"S": letter.error},
        "invocations": {"N": str(letter.invocations)},
        "at": {"S": _iso(letter.at_ns)},
        "record": {"S": text},
    }
    if left_out:
        item["left_out"] = {"L": [{"S": name} for name in left_out]}
    return item


def destination(where: str, client: Any, *, sleep: Callable[[float], None]) -> DeadLetters:
    """Returns the destination for `table:NAME`, `file:PATH` or an http:// address. Raises ValueError."""
    if where.startswith(("http://", "https://")):
        return HttpLetters(where)
    kind, _, name = where.partition(":")
    if name and kind == "file":
        return FileLetters(name)
    if name and kind == "table":
        return TableLetters(client, name, sleep=sleep)
    raise ValueError(f"a dead-letter destination is table:NAME, file:PATH or http://..., not {where!r}")
