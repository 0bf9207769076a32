"""Redrive: dead letters of a table are delivered to a handler again, and deleted when it succeeds.

Each letter is an invocation of its own, in the order of the records. After a failure the later letters of the
same item are not delivered. A crash between delivery and deletion delivers a letter again. The handler may
have seen later records of the item already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from faradisc.records import dataclass, field
from faradisc.tools.consumers.events import Record, first_failure
from faradisc.tools.consumers.handlers import Context, Invoke


@dataclass(frozen=True, slots=True)
class KeptLetter:
    """A letter as dead_letters.TableLetters has stored it."""

    id: str
    group: str
    stream_arn: str
    shard_id: str
    sequence_number: str
    condition: str
    error: str
    at: str
    event: dict[str, Any]
    """The record."""
    left_out: tuple[str, ...]
    """Images that did not fit into the item; without them the record is not delivered."""


@dataclass(slots=True)
class Redriven:
    """What became of the letters, by their ids."""

    delivered: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """With the error."""
    not_tried: dict[str, str] = field(default_factory=dict)
    """With the reason."""


def letters(client: Any, table: str) -> Iterator[KeptLetter]:
    """Yields the letters of a table in no particular order. Raises exceptions of boto3."""
    request: dict[str, Any] = {
        "TableName": table,
        "FilterExpression": "attribute_exists(streamArn) AND attribute_exists(#record)",
        "ExpressionAttributeNames": {"#record": "record"},
    }
    while True:
        answer = client.scan(**request)
        for item in answer["Items"]:
            yield _letter(item)
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _letter(item: dict[str, Any]) -> KeptLetter:
    def text(name: str) -> str:
        return str(item[name]["S"])

    return KeptLetter(
        id=text("id"),
        group=text("group"),
        stream_arn=text("streamArn"),
        shard_id=text("shardId"),
        sequence_number=text("sequenceNumber"),
        condition=text("condition"),
        error=text("error"),
        at=text("at"),
        event=json.loads(text("record")),
        left_out=tuple(name["S"] for name in item.get("left_out", {"L": ()})["L"]),
    )


def redrive(client: Any, table: str, chosen: Iterable[KeptLetter], invoke: Invoke, outcome: Redriven) -> None:
    """Delivers letters of a table. Adds to the outcome after each letter; raises exceptions of boto3."""
    blocked: set[tuple[str, str, str]] = set()
    for letter in sorted(chosen, key=lambda each: (each.group, each.stream_arn, int(each.sequence_number))):
        item = (letter.group, letter.stream_arn, json.dumps(letter.event["dynamodb"]["Keys"], sort_keys=True))
        if item in blocked:
            outcome.not_tried[letter.id] = "an earlier record of the item was not delivered"
            continue
        if letter.left_out:
            outcome.not_tried[letter.id] = f"the letter has no {' and no '.join(letter.left_out)}"
            blocked.add(item)
            continue
        try:
            _deliver(letter, invoke)
        except Exception as error:
            # Any exception of the handler means that the record has failed.
            outcome.failed[letter.id] = f"{type(error).__name__}: {error}"
            blocked.add(item)
            continue
        client.delete_item(TableName=table, Key={"id": {"S": letter.id}})
        outcome.delivered.append(letter.id)


class Refused(Exception):
    """The handler reported the record as failed."""


def _deliver(letter: KeptLetter, invoke: Invoke) -> None:
    """Raises exceptions of the handler, UnknownItem, Refused."""
    context = Context(letter.group, letter.stream_arn, letter.shard_id, "redrive")
    answer = invoke({"Records": [letter.event]}, context)
    record = Record(letter.sequence_number, 0, 0, 0, letter.event)
    if first_failure(answer, [record]) is not None:
        raise Refused(f"the handler reported {letter.sequence_number} as failed")
