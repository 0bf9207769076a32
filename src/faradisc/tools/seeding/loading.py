"""Making the tables of a seed and putting their items, by requests like anybody's.

A table that exists is left as it is, with its items, unless it is to be replaced. So a seed can be given at
every start. While a table is being loaded it carries a tag, and keeps it when something was refused: a
loading that was cut short is known by it, and done again from the beginning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from faradisc.tools.seeding.items import Line, dynamodb_item, read_items
from faradisc.tools.seeding.plan import Fault, ItemFile, Place, Seed, SeedError, TableSeed

LOADING_TAG = "faradisc:seeding"
BATCH_ITEMS = 25
FAULTS_MAX = 100
"""After so many the rest of a file is not tried."""
LOOKS_MAX = 6_000
"""At a table that is being created or deleted; with the usual pause, ten minutes."""

Caller = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Makes a request. Raises Refused."""


class Refused(Exception):
    """The database said no."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


@dataclass(slots=True)
class Outcome:
    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Tables that were there and were left as they are."""
    items: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def load(
    seed: Seed, call: Caller, pause: Callable[[], Awaitable[None]], *, replace: bool = False
) -> Outcome:
    """Make what a seed asks for. Nothing is made of a seed that has faults; its items are read before.

    pause: waits a moment between two looks at a table that is not ready.
    replace: tables that exist are deleted.
    """
    loader = _Loader(seed, call, pause)
    outcome = loader.outcome
    outcome.faults += seed.faults
    outcome.faults += loader.faults_of_items()
    if not outcome.faults:
        for table in seed.tables:
            await loader.load(table, replace=replace)
    return outcome


class _Loader:
    def __init__(self, seed: Seed, call: Caller, pause: Callable[[], Awaitable[None]]) -> None:
        self.outcome = Outcome()
        self._call = call
        self._pause = pause
        self._seed = seed
        self._tables = {table.name: table for table in seed.tables}

    # --- Items as they are written ---

    def faults_of_items(self) -> list[Fault]:
        """What is wrong with the items by themselves; all files are read once for that."""
        found: list[Fault] = []
        for file in self._seed.files:
            if file.table_name not in self._tables:
                text = f"no definition is called {file.table_name}, as the file is."
                found.append(Fault(Place(file.name, 1), text))
                continue
            faults = 0
            for line in self._lines(file):
                if isinstance(line, SeedError):
                    found.append(Fault(Place(file.name, line.line or 1), line.text))
                    faults += 1
                    if faults == FAULTS_MAX:
                        break
        for inline in self._seed.items:
            table = self._tables.get(inline.table_name)
            if table is None:
                found.append(Fault(inline.place, f"no definition is called {inline.table_name}."))
                continue
            try:
                dynamodb_item(inline.item, _key_types(table))
            except SeedError as error:
                found.append(Fault(inline.place, error.text))
        return found

    def _lines(self, file: ItemFile) -> Iterator[Line | SeedError]:
        return read_items(file.path, _key_types(self._tables[file.table_name]))

    def _items_of(self, table: TableSeed) -> Iterator[tuple[Place, dict[str, Any]]]:
        for inline in self._seed.items:
            if inline.table_name == table.name:
                yield inline.place, dynamodb_item(inline.item, _key_types(table))
        for file in self._seed.files:
            if file.table_name == table.name:
                for line in self._lines(file):
                    if not isinstance(line, SeedError):
                        yield Place(file.name, line.number), line.item

    # --- Tables ---

    async def load(self, table: TableSeed, *, replace: bool) -> None:
        outcome = self.outcome
        faults_before = len(outcome.faults)
        try:
            present = await self._described(table.name)
            if present is not None and not replace and not await self._was_cut_short(present):
                outcome.kept.append(table.name)
                return
            if present is not None:
                await self._call("DeleteTable", {"TableName": table.name})
                await self._wait(table.name, None)
            await self._create(table)
            outcome.notes += [f"{table.place}: {table.name}: {note}" for note in table.notes]
            await self._put_items(table)
            if len(outcome.faults) == faults_before:
                arn = (await self._wait(table.name, "ACTIVE"))["TableArn"]
                await self._call("UntagResource", {"ResourceArn": arn, "TagKeys": [LOADING_TAG]})
        except Refused as refusal:
            outcome.faults.append(Fault(table.place, f"{table.name}: {refusal}"))
        else:
            (outcome.created if present is None else outcome.replaced).append(table.name)

    async def _create(self, table: TableSeed) -> None:
        tags = [*table.request.get("Tags", []), {"Key": LOADING_TAG, "Value": table.place.file}]
        await self._call("CreateTable", {**table.request, "Tags": tags})
        await self._wait(table.name, "ACTIVE")
        for operation, request in table.later:
            try:
                await self._call(operation, request)
            except Refused as refusal:
                self.outcome.faults.append(Fault(table.place, f"{table.name}: {operation}: {refusal}"))
            await self._wait(table.name, "ACTIVE")

    async def _described(self, name: str) -> dict[str, Any] | None:
        try:
            answer = await self._call("DescribeTable", {"TableName": name})
        except Refused as refusal:
            if refusal.code == "ResourceNotFoundException":
                return None
            raise
        description: dict[str, Any] = answer["Table"]
        return description

    async def _was_cut_short(self, description: dict[str, Any]) -> bool:
        answer = await self._call("ListTagsOfResource", {"ResourceArn": description["TableArn"]})
        return any(tag["Key"] == LOADING_TAG for tag in answer.get("Tags", []))

    async def _wait(self, name: str, status: str | None) -> dict[str, Any]:
        """Until the table has that status; None: until it is gone."""
        for _ in range(LOOKS_MAX):
            description = await self._described(name)
            if (description or {}).get("TableStatus") == status:
                return description or {}
            await self._pause()
        raise Refused("ResourceInUseException", f"the table is not {status or 'gone'} after a long wait")

    # --- Items as they are put ---

    async def _put_items(self, table: TableSeed) -> None:
        batch: dict[str, tuple[Place, dict[str, Any]]] = {}
        refused = 0
        for place, item in self._items_of(table):
            key = repr([item.get(name) for name in _key_names(table)])
            if key in batch or len(batch) == BATCH_ITEMS:  # a batch names no item twice
                refused += await self._put(table, list(batch.values()))
                batch = {}
                if refused >= FAULTS_MAX:
                    return
            batch[key] = (place, item)
        if batch:
            await self._put(table, list(batch.values()))

    async def _put(self, table: TableSeed, batch: list[tuple[Place, dict[str, Any]]]) -> int:
        """Put a batch; item by item where it is refused, so that the bad ones have names. Their number."""
        puts = [{"PutRequest": {"Item": item}} for _, item in batch]
        try:
            while puts:
                answer = await self._call("BatchWriteItem", {"RequestItems": {table.name: puts}})
                puts = answer.get("UnprocessedItems", {}).get(table.name, [])
                if puts:
                    await self._pause()
            self.outcome.items += len(batch)
            return 0
        except Refused:
            return await self._put_singly(table, batch)

    async def _put_singly(self, table: TableSeed, batch: list[tuple[Place, dict[str, Any]]]) -> int:
        refused = 0
        for place, item in batch:
            try:
                await self._call("PutItem", {"TableName": table.name, "Item": item})
                self.outcome.items += 1
            except Refused as refusal:
                self.outcome.faults.append(Fault(place, str(refusal)))
                refused += 1
        return refused


def _key_types(table: TableSeed) -> dict[str, str]:
    return {
        each["AttributeName"]: each["AttributeType"] for each in table.request.get("AttributeDefinitions", [])
    }


def _key_names(table: TableSeed) -> list[str]:
    return [each["AttributeName"] for each in table.request["KeySchema"]]
