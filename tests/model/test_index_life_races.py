"""Requests and background work that overlap while they wait for the disk.

What it proves: a wait between two steps of one request never lets another one see or make a wrong state. The
store of this test waits a number of turns given by a seed at every call that may wait, so that the orders of
a slow disk occur within milliseconds, and are the same in every run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import orjson
import pytest

from faradisc.clock import ManualClock
from faradisc.database import Database, Settings
from faradisc.engine.jobs import walk
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceInUseException
from faradisc.operations.call import Call
from faradisc.storage.api import Batch, Conflict, Row
from faradisc.storage.memory import MemoryStore
from fixtures.integrity import items_of, tables
from fixtures.schemas import item, schema

CREATE_INDEX = {
    "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "index",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
DELETE_INDEX = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "index"}}]}


SEEDS = 20


class SlowStore(MemoryStore):
    """Writes are visible at once; a call that may wait for the disk waits some turns."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.waits = True
        self._random = Random(seed)

    async def _wait(self) -> None:
        if self.waits:
            for _ in range(self._random.choice((1, 2, 3, 15))):
                await asyncio.sleep(0)

    async def get(self, part: bytes, keys: Sequence[bytes], **more: Any) -> list[Row | None]:
        rows = await super().get(part, keys, **more)
        if not more.get("for_update"):
            await self._wait()
        return rows

    async def range(self, *args: Any, **more: Any) -> list[tuple[bytes, Row]]:
        rows = await super().range(*args, **more)
        await self._wait()
        return rows

    async def read_many(self, keys: Sequence[tuple[bytes, bytes]], **more: Any) -> list[Row | None]:
        rows = await super().read_many(keys, **more)
        await self._wait()
        return rows

    async def commit(self, batches: Sequence[Batch], **options: Any) -> list[int] | Conflict:
        answer = await super().commit(batches, **options)
        if not isinstance(answer, Conflict):
            await self._wait()
        return answer

    async def wait_durable(self, version: int) -> None:
        await self._wait()

    async def clear(self, part: bytes) -> None:
        await super().clear(part)
        await self._wait()


class Overlapping:
    """A database on a slow store."""

    def __init__(self, database: Database, store: SlowStore, clock: ManualClock) -> None:
        self.database = database
        self.store = store
        self.clock = clock

    async def call(self, operation: str, **request: Any) -> dict[str, Any]:
        call = Call(operation, request, True, "us-east-1", "000000000000")
        answer: dict[str, Any] = orjson.loads(orjson.dumps(await self.database.execute(call)))
        return answer

    async def on_table(self, operation: str, **request: Any) -> dict[str, Any]:
        return await self.call(operation, TableName="table", **request)

    async def add(self, key: str, **more: Any) -> None:
        """Adds one to a counter."""
        await self.on_table(
            "UpdateItem",
            Key=item(p=key),
            UpdateExpression="ADD n :one SET g = :g",
            ExpressionAttributeValues=item(**{":one": 1, ":g": "g"}),
            **more,
        )

    async def finish(self) -> int:
        steps = 0
        while await self.database.work():
            steps += 1
            assert steps < 1000, "background work comes to no end"
        return steps

    @contextmanager
    def looking(self) -> Iterator[Table]:
        """Returns the table while the store answers at once."""
        self.store.waits, before = False, self.store.waits
        (table,) = tables(self.store)
        yield table
        self.store.waits = before

    def entries(self, index: Index) -> list[dict[str, Any]]:
        with self.looking():
            return items_of(self.store, index.placement)

    def check(self) -> None:
        """Checks that the index has the items with its key, and that nothing is left of removed ones."""
        with self.looking() as table:
            items = items_of(self.store, table.placement)
        for index in table.global_indexes:
            wanted = [entry for entry in items if index.schema.has(entry)] if index.status == "ACTIVE" else []
            found = self.entries(index)
            assert sorted(map(str, found)) == sorted(map(str, wanted))


Scenario = Callable[[Overlapping], Coroutine[Any, Any, None]]


def run_overlapping(scenario: Scenario) -> None:
    async def main(seed: int) -> None:
        store, clock = SlowStore(seed), ManualClock()
        database = await Database.open(store, settings=Settings(transition_ms=0), clock=clock)
        world = Overlapping(database, store, clock)
        await world.on_table("CreateTable", **schema("p:S"))
        await scenario(world)
        await world.finish()
        world.check()
        await database.close()

    for seed in range(SEEDS):
        try:
            asyncio.run(main(seed))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def test_constant_writes_do_not_delay_a_backfill() -> None:
    """Regression: every step met a changed row and started again without end."""

    async def scenario(world: Overlapping) -> None:
        done = False

        async def write(key: str) -> None:
            while not done:
                await world.add(key)

        await world.on_table("UpdateTable", **CREATE_INDEX)
        writers = [asyncio.create_task(write(f"hot.{n}")) for n in range(4)]
        await world.add("cold")
        steps = await world.finish()
        done = True
        await asyncio.gather(*writers)
        assert steps < 20
        shown = (await world.on_table("DescribeTable"))["Table"]["GlobalSecondaryIndexes"]
        assert [index["IndexStatus"] for index in shown] == ["ACTIVE"]

    run_overlapping(scenario)


def test_an_index_deleted_during_a_step_leaves_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 3)

    async def scenario(world: Overlapping) -> None:
        for n in range(20):
            await world.add(str(n))
        await world.on_table("UpdateTable", **CREATE_INDEX)
        await world.database.work()
        with world.looking() as table:
            (index,) = table.global_indexes
        step = asyncio.create_task(world.finish())
        for _ in range(7):
            await asyncio.sleep(0)
        await world.on_table("UpdateTable", **DELETE_INDEX)
        await step
        assert world.entries(index) == []

    run_overlapping(scenario)


def test_a_table_deleted_during_a_backfill_ends_it() -> None:
    async def scenario(world: Overlapping) -> None:
        for n in range(20):
            await world.add(str(n))
        await world.on_table("UpdateTable", **CREATE_INDEX)
        step = asyncio.create_task(world.finish())
        await asyncio.sleep(0)
        with pytest.raises(ResourceInUseException, match="while indexes are being created"):
            await world.on_table("DeleteTable")
        await world.database.reset()  # which deletes it in any state
        await step
        await world.on_table("CreateTable", **schema("p:S"))
        assert (await world.on_table("Scan"))["Count"] == 0

    run_overlapping(scenario)


def test_a_transaction_that_waits_misses_no_new_index() -> None:
    """Nothing else may run between the look-up of the table and the commit."""

    async def scenario(world: Overlapping) -> None:
        async def transact(n: int) -> None:
            put = {"Put": {"TableName": "table", "Item": item(p=f"t{n}", g="g")}}
            await world.call("TransactWriteItems", TransactItems=[put], ClientRequestToken=f"token.{n}")

        async def change_and_fill() -> None:
            await world.on_table("UpdateTable", **CREATE_INDEX)
            await world.finish()

        for round_ in range(12):
            changing = asyncio.create_task(change_and_fill())
            for _ in range(round_):
                await asyncio.sleep(0)
            await asyncio.gather(*(transact(10 * round_ + n) for n in range(5)), changing)
            world.check()
            await world.on_table("UpdateTable", **DELETE_INDEX)

    run_overlapping(scenario)


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable", "DeleteTable"])
def test_reading_a_table_during_its_commit_does_not_affect_it(operation: str) -> None:
    """Regression: a read during the commit made a copy without a version; the next change of the table met
    a conflict, and the table was missing until the next start."""
    request: dict[str, Any] = {
        "CreateTable": schema("p:S"),
        "UpdateTable": CREATE_INDEX,
        "DeleteTable": {},
    }[operation]

    async def scenario(world: Overlapping) -> None:
        if operation == "CreateTable":
            await world.on_table("DeleteTable")
        changing = asyncio.create_task(world.on_table(operation, **request))
        for _ in range(10):
            await asyncio.gather(
                world.on_table("DescribeTable"),
                world.call("ListTables"),
                world.on_table("GetItem", Key=item(p="1")),
                return_exceptions=True,
            )
        await changing
        if operation == "DeleteTable":
            await world.on_table("CreateTable", **schema("p:S"))
        await world.on_table("PutItem", Item=item(p="1", g="g"))
        await world.finish()
        await world.on_table("UpdateTable", DeletionProtectionEnabled=True)
        await world.on_table("UpdateTable", DeletionProtectionEnabled=False)
        await world.on_table("DeleteTable")
        await world.on_table("CreateTable", **schema("p:S"))

    run_overlapping(scenario)


def test_of_overlapping_transactions_with_one_token_one_is_executed() -> None:
    async def scenario(world: Overlapping) -> None:
        add = {
            "Update": {
                "TableName": "table",
                "Key": item(p="counter"),
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": item(**{":one": 1}),
            }
        }
        for round_ in range(5):
            calls = [
                world.call("TransactWriteItems", TransactItems=[add], ClientRequestToken=f"token.{round_}")
                for _ in range(4)
            ]
            await asyncio.gather(*calls, return_exceptions=True)
        found = await world.on_table("GetItem", Key=item(p="counter"))
        assert found["Item"]["n"] == {"N": "5"}

    run_overlapping(scenario)
