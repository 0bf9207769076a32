"""What the partitions of tables and indexes are said to hold, after splits of every kind, is what is there.

What it proves: each partition's bytes and items are those of the rows in its stretch, also where all items
lie on one side of a cut, with writes coming in while rows are walked over, and after a crash; and only what
is really full is split. Why so: a raise divided what its parent held evenly, and nothing ever looked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from random import Random
from types import coroutine
from typing import Any

import pytest

from faradisc.capacity.partitions import Contents
from faradisc.database import Database
from faradisc.engine.throughput import survey
from faradisc.engine.throughput.survey import Measured, Walk
from faradisc.errors import StorageError
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.storage.api import Batch, Corruption
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from faradisc.testing.faulty_store import Faults
from faradisc.testing.seeded_loop import SeededLoop
from fixtures.faulty_world import World as FaultyWorld
from fixtures.faulty_world import ask
from fixtures.schemas import item, schema
from throughput.conftest import World

SMALL = "aws:3000/1000/16KB"


def said_and_there(database: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(items, bytes) of every partition of every table and global index: as it is said, and by its rows."""
    said, there = [], []
    for meter in database.backend.catalog.meter.tables():
        for index, provision in meter.provisions.items():
            for part in meter.resource_of(index).partitions.partitions:
                said.append((part.items, part.bytes))
                items = size = 0
                for name in (*provision.parts, *provision.local_parts):
                    rows = run(_all_rows(database.store, name, part.low, part.high))
                    size += sum(map(item_record.size_of, rows))
                    items += len(rows) if name in provision.parts else 0
                there.append((items, size))
    return said, there


async def _all_rows(store: Any, part: bytes, low: bytes, high: bytes | None) -> list[bytes]:
    store = getattr(store, "_live", store)  # as it is, not as it is shown to those who can wait
    return [payload for _, (_, payload) in await store.range(part, low, high, limit=1 << 30)]


def check(world: World) -> list[tuple[int, int]]:
    world.client.list_tables()
    said, there = said_and_there(world.database.database)
    assert said == there
    return said


def put(world: World, key: str, sort: str, size: int = 1000, **more: str) -> None:
    values = {"p": key, "r": sort, "v": "x" * size, **more}
    world.client.put_item(TableName="Orders", Item={name: {"S": value} for name, value in values.items()})


def raise_to(world: World, writes: int) -> None:
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": writes}
    world.client.update_table(TableName="Orders", ProvisionedThroughput=units)


def test_a_raise_divides_what_there_is(worlds: Callable[..., World]) -> None:
    """All items share one partition key. The half that has them is full when they are, not twice as late."""
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    raise_to(world, 1900)
    world.clock.advance(70)
    assert sorted(items for items, _ in check(world)) == [0, 12]
    for number in range(12, 18):
        put(world, "c", f"{number:03}")
    assert sorted(items for items, _ in check(world)) == [0, 18]
    world.clock.advance(700)
    assert sorted(items for items, _ in check(world)) == [0, 8, 10]
    assert world.see()["splits"][-1]["reason"] == "size"


def test_a_split_by_size_counts_what_comes_during_its_minute_where_it_comes(
    worlds: Callable[..., World],
) -> None:
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(60):
        put(world, "c", f"{number:03}")
        world.clock.advance(2)
        check(world) if number % 10 == 0 else None
    for _ in range(60):
        world.clock.advance(60)
        check(world)
    started = [split for split in world.see()["splits"] if split["event"] == "SplitStarted"]
    held = [items for items, _ in check(world)]
    assert max(held) <= 16, "what is full was split"
    assert len(started) == len(held) - 1 == 4, "and nothing else"


@pytest.mark.parametrize("more", [{"index": (10, 900)}, {"local_index": True}])
def test_indexes_are_measured_too(worlds: Callable[..., World], more: dict[str, Any]) -> None:
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True, **more)
    for number in range(40):
        put(
            world,
            str(number % 5),
            f"{number:03}",
            200 + number,
            g="g" + "x" * (number % 3) * 40,
            l=f"{number % 7}",
        )
    changes: dict[str, Any] = {"ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1900}}
    if "index" in more:
        changes["GlobalSecondaryIndexUpdates"] = [{"Update": {"IndexName": "by-g", **changes}}]
    world.client.update_table(TableName="Orders", **changes)
    world.clock.advance(70)
    assert len(check(world)) == (4 if "index" in more else 2)
    for number in range(0, 40, 2):
        key = {"p": {"S": str(number % 5)}, "r": {"S": f"{number:03}"}}
        world.client.delete_item(TableName="Orders", Key=key)
    check(world)


def test_partitions_that_an_administrator_asks_for_are_measured(worlds: Callable[..., World]) -> None:
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    world.set(partitions=5)
    assert sorted(items for items, _ in check(world)) == [0, 0, 0, 0, 12]


def test_what_was_written_while_nothing_was_enforced_is_measured(worlds: Callable[..., World]) -> None:
    world = worlds("off")
    world.create(units=(10, 1900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    world.set(profile=SMALL)
    assert sorted(items for items, _ in check(world)) == [0, 12]


def test_an_index_that_is_filled_is_counted_in_its_partitions(worlds: Callable[..., World]) -> None:
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(20):
        put(world, str(number), "a", 100, g=f"{number % 4}")
    world.client.update_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-g",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1900},
                }
            }
        ],
    )
    world.clock.advance(70)
    assert sum(items for items, _ in check(world)) == 40


# --- Writes during a walk ------------------------------------------------------------------------


@coroutine
def _pause() -> Generator[None]:
    yield


class Pausing(MemoryStore):
    """A read pauses before or after it looks."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self._chance = chance

    async def range(self, *arguments: Any, **more: Any) -> Any:
        for _ in range(self._chance.randint(0, 2)):
            await _pause()
        rows = await super().range(*arguments, **more)
        for _ in range(self._chance.randint(0, 2)):
            await _pause()
        return rows


class Rows:
    """Rows of a table's part and of one of its local index, and a walk over a stretch of both."""

    LOW, HIGH = b"b", b"u"

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.store = Pausing(self.chance)
        self.sizes: dict[tuple[bytes, bytes], int] = {}
        self.walk = Walk([b"table"], [b"local"], self.LOW, self.HIGH)

    def write(self) -> None:
        """Put or delete some row."""
        part = self.chance.choice((b"table", b"local"))
        place = bytes([self.chance.randint(ord("a"), ord("z"))])
        before = self.sizes.pop((part, place), None)
        after = self.chance.choice((None, self.chance.randint(1, 300)))
        self.walk.written(part, place, before, after)
        if after is None:
            run(self.store.commit([Batch(part, deletes=[place])]))
            return
        self.sizes[part, place] = after
        payload = item_record.encode({"v": {"S": "x"}}, after)
        run(self.store.commit([Batch(part, puts=[(place, payload)])]))

    def held(self, low: bytes, high: bytes) -> Contents:
        there = [(part, size) for (part, place), size in self.sizes.items() if low <= place < high]
        return Contents(sum(size for _, size in there), sum(part == b"table" for part, _ in there))

    def measure(self) -> Measured:
        while True:
            step = self.walk.step(self.store)
            try:
                while True:
                    step.send(None)
                    for _ in range(self.chance.randint(0, 3)):
                        self.write()
            except StopIteration as end:
                if end.value is not None:
                    found: Measured = end.value
                    return found
            for _ in range(self.chance.randint(0, 3)):
                self.write()


@pytest.mark.parametrize("rows_per_read", [1, 3, 1000])
def test_a_walk_counts_what_is_written_meanwhile(rows_per_read: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "ROWS_PER_READ", rows_per_read)
    for seed in range(200):
        rows = Rows(seed)
        for _ in range(rows.chance.randint(0, 60)):
            rows.write()
        found = rows.measure()
        assert found.whole == rows.held(rows.LOW, rows.HIGH)
        for cut in (b"f", b"m"):
            assert found.measure(rows.LOW, cut) == rows.held(rows.LOW, cut)


def test_a_step_of_a_walk_reads_a_bounded_number_of_bytes() -> None:
    store = MemoryStore()
    payload = item_record.encode({"v": {"S": "x" * 200_000}}, 200_001)
    run(store.commit([Batch(b"part", puts=[(bytes([number]), payload) for number in range(20)])]))
    walk, found, steps = Walk([b"part", b"empty"], [], b"", None), None, 0
    while found is None:
        found, steps = run(walk.step(store)), steps + 1
    assert steps == 5
    assert found.whole == Contents(20 * 200_001, 20)


# --- Failures ------------------------------------------------------------------------------------


def test_partitions_are_exact_again_after_a_crash() -> None:
    """Of what is lost with the last minute nobody knows where it was: all is measured anew."""
    world = FaultyWorld(throughput_tables="table=aws")
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 3000}

    async def play() -> None:
        database = await world.open()
        created = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
        await ask(database, "CreateTable", TableName="table", **created)
        await _work(database)
        for number in range(30):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number), v="x" * number))
        world.disk.crash(lose=0)
        database = await world.open()
        await _work(database)
        said, there = said_and_there(database)
        assert said == there
        assert sum(items for items, _ in said) == 30

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


async def _work(database: Database) -> None:
    while await database.work():
        pass


def test_a_damaged_row_is_told_of_once_and_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FaultyWorld(throughput_tables="table=aws")
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 900}

    async def damaged(walk: Walk, store: Any) -> None:
        raise Corruption("a block does not match its checksum")

    async def play() -> None:
        database = await world.open()
        created = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
        await ask(database, "CreateTable", TableName="table", **created)
        for number in range(30):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number)))
        await _work(database)
        monkeypatch.setattr(Walk, "step", damaged)
        (meter,) = database.backend.catalog.meter.tables()
        meter.resource.set_partitions(4, meter.now())
        database.backend.catalog.meter._surveyor.is_doubtful(meter, None)
        with pytest.raises(StorageError):
            await _work(database)
        await _work(database)
        assert meter.walk is None
        parts = meter.resource.partitions.partitions
        assert sum(part.items for part in parts) == 30
        assert all(part.estimated for part in parts)

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_a_table_that_is_deleted_during_a_walk_is_not_measured_any_further() -> None:
    world = FaultyWorld(throughput_tables="table=aws")
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 900}

    async def play() -> None:
        database = await world.open(Faults(sync_turns=50))
        created = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
        await ask(database, "CreateTable", TableName="table", **created)
        for number in range(30):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number)))
        await _work(database)
        surveyor = database.backend.catalog.meter._surveyor
        (meter,) = database.backend.catalog.meter.tables()
        meter.resource.set_partitions(4, meter.now())
        surveyor.is_doubtful(meter, None)
        writing = asyncio.ensure_future(ask(database, "PutItem", TableName="table", Item=item(p="0", v="x")))
        while meter.walk is None:
            await database.backend.catalog.meter.step() if surveyor._look else None
            working = asyncio.ensure_future(surveyor.step())
            await asyncio.sleep(0)
        surveyor.forget(meter, None)
        assert meter.walk is None
        assert await working is None
        await writing
        assert not surveyor.busy

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_overhead_is_no_part_of_what_partitions_hold(world: World) -> None:
    world.create(units=(10, 900))
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
    (part,) = world.see()["partitions"]
    assert part["bytes"] == 2 < STORAGE_OVERHEAD_BYTES
