"""Creates the tables of a seed and puts their items, by ordinary requests.

An existing table stays as it is, with its items, unless it is to be replaced; so a seed can be applied at
every start. While a table is loaded it has a tag, and keeps it when something was rejected: an incomplete
table is recognised by the tag and loaded again from the beginning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from faradisc.errors import RequestRejected
from faradisc.records import dataclass, field
from faradisc.tools.readers.item_values import dynamodb_item
from faradisc.tools.readers.items import read_items
from faradisc.tools.readers.seed import (
    STREAM,
    ItemFile,
    Line,
    LocatedError,
    Location,
    Seed,
    SeedError,
    TableSeed,
)

LOADING_TAG = "faradisc:seeding"
BATCH_ITEMS = 25
NO_SUCH_KEY = ("does not exist", "is not found")
"""In the errors of a request that names a key which is not here."""
ERRORS_MAX = 100
"""Errors of one file after which its rest is skipped."""
POLLS_MAX = 6_000
"""Of a table that is being created or deleted; ten minutes with the usual pause."""

Caller = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Makes a request. Raises RequestRejected."""


@dataclass(slots=True)
class SeedingOutcome:
    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    """Tables that existed before."""
    items: int = 0
    errors: list[LocatedError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class SeedCounter(Protocol):
    """Shows how many items are put."""

    total: int | None

    def add(self, items: int, size_bytes: int, done: int) -> None: ...


async def apply(
    seed: Seed,
    call: Caller,
    pause: Callable[[], Awaitable[None]],
    *,
    replace: bool = False,
    counter: SeedCounter | None = None,
) -> SeedingOutcome:
    """Creates the tables and items of a seed; nothing if the seed or its files of items have errors.

    pause: waits between two polls of a table.
    replace: delete existing tables first. counter: is told of the items.
    """
    loader = _Loader(seed, call, pause, counter)
    outcome = loader.outcome
    outcome.errors += seed.errors
    outcome.notes += seed.notes
    outcome.errors += loader.errors_of_items()
    if not outcome.errors:
        for table in seed.tables:
            await loader.load(table, replace=replace)
    return outcome


class _Loader:
    def __init__(
        self, seed: Seed, call: Caller, pause: Callable[[], Awaitable[None]], counter: SeedCounter | None
    ) -> None:
        self._counter = counter
        self.outcome = SeedingOutcome()
        self._call = call
        self._pause = pause
        self._seed = seed
        self._tables = {table.name: table for table in seed.tables}

    # --- Reading items ---

    def errors_of_items(self) -> list[LocatedError]:
        """Reads all files of items once and returns their errors."""
        found: list[LocatedError] = []
        counted = len(self._seed.items)
        for file in self._seed.files:
            if file.table_name not in self._tables:
                text = f"there is no definition of the table {file.table_name}."
                found.append(LocatedError(Location(file.name, 1), text))
                continue
            errors = 0
            for line in self._lines(file):
                counted += 1
                if isinstance(line, SeedError):
                    found.append(LocatedError(Location(file.name, line.line or 1), line.text))
                    errors += 1
                    if errors == ERRORS_MAX:
                        break
        for inline in self._seed.items:
            table = self._tables.get(inline.table_name)
            if table is None:
                text = f"there is no definition of the table {inline.table_name}."
                found.append(LocatedError(inline.location, text))
                continue
            try:
                dynamodb_item(inline.item, _key_types(table))
            except SeedError as error:
                found.append(LocatedError(inline.location, error.text))
        if self._counter is not None:
            self._counter.total = counted
        return found

    def _lines(self, file: ItemFile) -> Iterator[Line | SeedError]:
        return read_items(file.path, _key_types(self._tables[file.table_name]), file.table_name)

    def _items_of(self, table: TableSeed) -> Iterator[tuple[Location, dict[str, Any]]]:
        for inline in self._seed.items:
            if inline.table_name == table.name:
                yield inline.location, dynamodb_item(inline.item, _key_types(table))
        for file in self._seed.files:
            if file.table_name == table.name:
                for line in self._lines(file):
                    if not isinstance(line, SeedError):
                        yield Location(file.name, line.number), line.item

    # --- Tables ---

    async def load(self, table: TableSeed, *, replace: bool) -> None:
        outcome = self.outcome
        errors_before = len(outcome.errors)
        try:
            present = await self._described(table.name)
            if present is not None and not replace and not await self._is_incomplete(present):
                outcome.unchanged.append(table.name)
                return
            if present is not None:
                await self._call("DeleteTable", {"TableName": table.name})
                await self._wait(table.name, None)
            await self._create(table)
            outcome.notes += [f"{table.location}: {table.name}: {note}" for note in table.notes]
            await self._put_items(table)
            if len(outcome.errors) == errors_before:
                arn = (await self._wait(table.name, "ACTIVE"))["TableArn"]
                await self._call("UntagResource", {"ResourceArn": arn, "TagKeys": [LOADING_TAG]})
        except RequestRejected as error:
            outcome.errors.append(LocatedError(table.location, f"{table.name}: {error}"))
        else:
            (outcome.created if present is None else outcome.replaced).append(table.name)

    async def _create(self, table: TableSeed) -> None:
        tags = [*table.request.get("Tags", []), {"Key": LOADING_TAG, "Value": table.location.file}]
        request = {**table.request, "Tags": tags}
        try:
            await self._call("CreateTable", request)
        except RequestRejected as error:
            # A deployment's file names a key of its account, which this database rarely has.
            key = request.get("SSESpecification", {}).get("KMSMasterKeyId")
            if key is None or not any(each in str(error) for each in NO_SUCH_KEY):
                raise
            await self._call("CreateTable", {**request, "SSESpecification": {"Enabled": True}})
            table.notes.append(f"the key {key} is not here, so the table has the key alias/aws/dynamodb")
        described = await self._wait(table.name, "ACTIVE")
        # A state of Terraform has its resources by name: the policies before their targets.
        for operation, request in sorted(table.later, key=lambda each: each[0] != "RegisterScalableTarget"):
            if request.get("ResourceArn") == STREAM:
                request = {**request, "ResourceArn": described["LatestStreamArn"]}
            try:
                await self._call(operation, request)
            except RequestRejected as error:
                text = f"{table.name}: {operation}: {error}"
                self.outcome.errors.append(LocatedError(table.location, text))
            await self._wait(table.name, "ACTIVE")

    async def _described(self, name: str) -> dict[str, Any] | None:
        try:
            answer = await self._call("DescribeTable", {"TableName": name})
        except RequestRejected as error:
            if error.code == "ResourceNotFoundException":
                return None
            raise
        description: dict[str, Any] = answer["Table"]
        return description

    async def _is_incomplete(self, description: dict[str, Any]) -> bool:
        answer = await self._call("ListTagsOfResource", {"ResourceArn": description["TableArn"]})
        return any(tag["Key"] == LOADING_TAG for tag in answer.get("Tags", []))

    async def _wait(self, name: str, status: str | None) -> dict[str, Any]:
        """Waits until the table has that status; None: until it is deleted."""
        for _ in range(POLLS_MAX):
            description = await self._described(name)
            if (description or {}).get("TableStatus") == status:
                return description or {}
            await self._pause()
        state = status or "deleted"
        raise RequestRejected("ResourceInUseException", f"the table is not {state} after a long wait")

    # --- Putting items ---

    async def _put_items(self, table: TableSeed) -> None:
        batch: dict[str, tuple[Location, dict[str, Any]]] = {}
        rejected = 0
        for location, item in self._items_of(table):
            key = repr([item.get(name) for name in _key_names(table)])
            if key in batch or len(batch) == BATCH_ITEMS:  # the keys of a batch must be distinct
                rejected += await self._put(table, list(batch.values()))
                batch = {}
                if rejected >= ERRORS_MAX:
                    return
            batch[key] = (location, item)
        if batch:
            await self._put(table, list(batch.values()))

    async def _put(self, table: TableSeed, batch: list[tuple[Location, dict[str, Any]]]) -> int:
        """Puts a batch; if it is rejected, puts its items one by one. Returns the number of rejected
        items."""
        puts = [{"PutRequest": {"Item": item}} for _, item in batch]
        try:
            while puts:
                answer = await self._call("BatchWriteItem", {"RequestItems": {table.name: puts}})
                puts = answer.get("UnprocessedItems", {}).get(table.name, [])
                if puts:
                    await self._pause()
            self.outcome.items += len(batch)
            if self._counter is not None:
                self._counter.add(len(batch), 0, len(batch))
            return 0
        except RequestRejected:
            return await self._put_singly(table, batch)

    async def _put_singly(self, table: TableSeed, batch: list[tuple[Location, dict[str, Any]]]) -> int:
        rejected = 0
        for location, item in batch:
            try:
                await self._call("PutItem", {"TableName": table.name, "Item": item})
                self.outcome.items += 1
            except RequestRejected as error:
                self.outcome.errors.append(LocatedError(location, str(error)))
                rejected += 1
        return rejected


def _key_types(table: TableSeed) -> dict[str, str]:
    return {
        each["AttributeName"]: each["AttributeType"] for each in table.request.get("AttributeDefinitions", [])
    }


def _key_names(table: TableSeed) -> list[str]:
    return [each["AttributeName"] for each in table.request["KeySchema"]]
