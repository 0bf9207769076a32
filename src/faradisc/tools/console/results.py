"""All results of a query, beyond the pages that are shown: saved as a file, edited or deleted.

Each item is written as one row of the grid would be (changes.py): on the condition that it is as it was read.
What has changed since is left alone and counted. Throttled requests are made again until somebody stops.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from faradisc.records import dataclass
from faradisc.tools.console.changes import Call, PathChange, applied, write_of
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.plain_json import plain_text
from faradisc.tools.console.values import Item, Value, ValueMistake, text_of

AT_ONCE: Final = 8
"""Writes that run at the same time."""
BATCH: Final = 25
"""Items of one BatchWriteItem."""
PAGE: Final = 500
PATIENCE_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses before a throttled request is made again; the last one repeats."""
THROTTLED: Final = frozenset(
    ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")
)


class Asked(Protocol):
    """What calls operations: an `Endpoint`. Raises Failure."""

    async def call(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]: ...


@dataclass(slots=True)
class ResultWalk:
    """How far a walk over all results is."""

    read: int = 0
    done: int = 0
    changed: int = 0
    """Items that were left alone, because they are no longer as they were read."""
    read_units: float = 0.0
    write_units: float = 0.0
    paused: int = 0
    """How often the endpoint has throttled."""
    stopped: bool = False
    """Set by who watches: the walk ends after the requests that run."""

    def text(self, done: str) -> str:
        """Returns the progress as a person reads it. done: what has become of items, as in "deleted"."""
        parts = [f"{self.read:,} read", f"{self.done:,} {done}"]
        parts += [f"{self.changed:,} left alone, changed since"] * bool(self.changed)
        parts += [f"throttled {self.paused:,} times"] * bool(self.paused)
        return ", ".join(parts)


async def _patient(asked: Asked, call: Call, walk: ResultWalk) -> dict[str, Any]:
    """Returns the answer; asks again while it is throttled, until the walk is stopped. Raises Failure."""
    for attempt in range(1_000_000):
        try:
            return await asked.call(*call)
        except Failure as failure:
            if failure.code not in THROTTLED or walk.stopped:
                raise
        walk.paused += 1
        await asyncio.sleep(PATIENCE_S[min(attempt, len(PATIENCE_S) - 1)])
    raise AssertionError("unreachable")


async def _pages(asked: Asked, call: Call, walk: ResultWalk) -> AsyncIterator[list[Item]]:
    operation, request = call[0], {**call[1], "Limit": PAGE}
    while not walk.stopped:
        answer = await _patient(asked, (operation, request), walk)
        walk.read += len(answer["Items"])
        walk.read_units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def save_all(asked: Asked, call: Call, form: str, path: Path, walk: ResultWalk) -> None:
    """Writes all results of a query to a file. form: `jsonl` (DynamoDB JSON), `plain` or `csv`.

    Raises Failure.
    """
    names: dict[str, None] = {}
    lines = path.with_suffix(".lines")
    with lines.open("w") as file:
        async for items in _pages(asked, call, walk):
            for item in items:
                names |= dict.fromkeys(item)
                file.write((plain_text(item, None) if form == "plain" else json.dumps(item)) + "\n")
            walk.done += len(items)
    if form == "csv":
        await asyncio.to_thread(_as_csv, lines, path, list(names))
    else:
        lines.rename(path)


def _as_csv(lines: Path, path: Path, names: Sequence[str]) -> None:
    """The columns are known at the end only, so items are read again."""
    with lines.open() as file, path.open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(names)
        for line in file:
            item = json.loads(line)
            writer.writerow([text_of(item[name]) if name in item else "" for name in names])
    lines.unlink()


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """One attribute that many items get, or lose."""

    path: str
    """As expressions write it, without positions in lists: `address.city`."""
    value: Value | None
    """None: it is removed."""

    def __call__(self, item: Item) -> Item:
        """Returns the item as it should become. Maps on the way are made when something is set in them."""
        steps = self.path.split(".")
        if self.value is None and not _has(item, steps):
            return item
        return applied([PathChange(tuple(steps), None, self.value)], item)

    def check(self, keys: Sequence[str]) -> None:
        """Raises ValueMistake for what cannot be done to many items."""
        if not self.path.strip() or not all(self.path.split(".")):
            raise ValueMistake("Name the attribute.")
        if "[" in self.path:
            raise ValueMistake("Elements of lists are edited one by one.")
        if self.path in keys:
            raise ValueMistake(f"{self.path} is of the key, which is different for every item.")


def _has(item: Item, steps: Sequence[str]) -> bool:
    value: Any = {"M": item}
    for step in steps:
        if "M" not in value or step not in value["M"]:
            return False
        value = value["M"][step]
    return True


async def write_all(
    asked: Asked, call: Call, keys: Sequence[str], become: Callable[[Item], Item | None], walk: ResultWalk
) -> None:
    """Writes all results of a query. become: what an item should be; None deletes it. Raises Failure."""
    table = str(call[1]["TableName"])

    async def write(item: Item) -> None:
        made = write_of(table, keys, item, become(item))
        if made is None or walk.stopped:
            return
        request = {**made[1], "ReturnConsumedCapacity": "TOTAL"}
        try:
            answer = await _patient(asked, (made[0], request), walk)
        except Failure as failure:
            if failure.code != "ConditionalCheckFailedException":
                raise
            walk.changed += 1
            return
        walk.done += 1
        walk.write_units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)

    async for items in _pages(asked, call, walk):
        for at in range(0, len(items), AT_ONCE):
            # Waits for all of them, so that nothing is written after a failure was shown.
            found = await asyncio.gather(*map(write, items[at : at + AT_ONCE]), return_exceptions=True)
            for each in found:
                if isinstance(each, BaseException):
                    raise each


async def put_all(asked: Asked, table: str, source: Call | Sequence[Item], walk: ResultWalk) -> None:
    """Puts items, or all results of a query, into another table. Raises Failure."""

    async def put(items: Sequence[Item]) -> None:
        for at in range(0, len(items), BATCH):
            batch = items[at : at + BATCH]
            wanted: dict[str, Any] = {table: [{"PutRequest": {"Item": item}} for item in batch]}
            while wanted:
                answer = await _patient(asked, ("BatchWriteItem", {"RequestItems": wanted}), walk)
                wanted = answer.get("UnprocessedItems", {})
            walk.done += len(batch)

    if not isinstance(source, tuple):
        await put(source)
        return
    async for items in _pages(asked, source, walk):
        await put(items)
