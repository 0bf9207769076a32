"""What the partitions of tables and indexes are counted to hold, through splits of every kind.

What it proves: the counts of all partitions add up to the rows that are there; a partition that may be full
is measured, has its exact size then, and is split only if it is full; also after a crash. Why: a raise
divides the counts without reading rows, and a partition with all the items must be split when it is full, not
twice as late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from faradisc.capacity.partitions import Contents
from faradisc.database import Database
from faradisc.engine.throughput.size_measurement import RowReader
from faradisc.errors import StorageError
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec import item_record
from faradisc.storage.api import Batch, Corruption
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.faulty_store import Faults
from fixtures.faulty_world import World as FaultyWorld
from fixtures.faulty_world import ask
from fixtures.schemas import item, schema
from fixtures.seeded_loop import SeededLoop
from throughput.conftest import World

SMALL = "aws:3000/1000/16KB"


Counts = list[tuple[int, int]]
"""(items, bytes) of each partition of a table or global index."""


def counted_and_stored(database: Any) -> list[tuple[Counts, Counts]]:
    """Returns the counts of every table and global index, and what the rows of its partitions add up to."""
    found = []
    for meter in database.backend.catalog.throughput.tables():
        for index, provision in meter.provisions.items():
            counted, stored = [], []
            for part in meter.resource_of(index).partitions.partitions:
                counted.append((part.items, part.bytes))
                items = size = 0
                for name in (*provision.parts, *provision.local_parts):
                    rows = run(_all_rows(database.store, name, part.low, part.high))
                    size += sum(map(item_record.size_of, rows))
                    items += len(rows) if name in provision.parts else 0
                stored.append((items, size))
            found.append((counted, stored))
    return found


async def _all_rows(store: Any, part: bytes, low: bytes, high: bytes | None) -> list[bytes]:
    store = getattr(store, "_live", store)  # without the waits of a faulty store
    return [payload for _, (_, payload) in await store.range(part, low, high, limit=1 << 30)]


def total(counts: Counts) -> tuple[int, int]:
    return sum(items for items, _ in counts), sum(size for _, size in counts)


def check(world: World) -> Counts:
    """Checks the sums of every table and index. Returns the counts of the first one."""
    world.client.list_tables()
    found = counted_and_stored(world.database.database)
    for counted, stored in found:
        assert total(counted) == total(stored)
    return found[0][0]


def put(world: World, key: str, sort: str, size: int = 1000, **more: str) -> None:
    values = {"p": key, "r": sort, "v": "x" * size, **more}
    world.client.put_item(TableName="Orders", Item={name: {"S": value} for name, value in values.items()})


def raise_to(world: World, writes: int) -> None:
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": writes}
    world.client.update_table(TableName="Orders", ProvisionedThroughput=units)


def test_a_partition_with_all_items_is_split_when_it_is_full_after_a_raise(
    worlds: Callable[..., World],
) -> None:
    """All items share one partition key, so one of the two children has all of them."""
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    raise_to(world, 1900)
    world.clock.advance(70)
    assert [items for items, _ in check(world)] == [6, 6]
    for number in range(12, 18):
        put(world, "c", f"{number:03}")
    world.clock.advance(700)
    assert sorted(items for items, _ in check(world)) == [0, 8, 10]
    assert world.see()["splits"][-1]["reason"] == "size"


def test_only_full_partitions_are_split_while_items_are_written(
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
def test_counts_of_indexes_add_up(worlds: Callable[..., World], more: dict[str, Any]) -> None:
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
    assert len(check(world)) == 2
    for number in range(0, 40, 2):
        key = {"p": {"S": str(number % 5)}, "r": {"S": f"{number:03}"}}
        world.client.delete_item(TableName="Orders", Key=key)
    check(world)


def test_counts_of_partitions_that_an_administrator_asks_for_add_up(worlds: Callable[..., World]) -> None:
    world = worlds(SMALL)
    world.create(units=(10, 900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    world.set(partitions=5)
    assert (len(check(world)), total(check(world))[0]) == (5, 12)


def test_what_was_written_while_nothing_was_enforced_is_counted(worlds: Callable[..., World]) -> None:
    world = worlds("off")
    world.create(units=(10, 1900), sort_key=True)
    for number in range(12):
        put(world, "c", f"{number:03}")
    world.set(profile=SMALL)
    assert total(check(world))[0] == 12


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
    assert total(check(world))[0] == 20
    indexes = counted_and_stored(world.database.database)[1:]
    assert [total(counted)[0] for counted, _ in indexes] == [20]


# --- Measurements --------------------------------------------------------------------------------


def test_a_measurement_adds_up_rows_of_all_parts() -> None:
    store = MemoryStore()
    sizes = {part: [10 + number for number in range(26)] for part in (b"table", b"local")}
    for part, each in sizes.items():
        rows = [
            (bytes([97 + number]), item_record.encode({"v": {"S": "x"}}, size))
            for number, size in enumerate(each)
        ]
        run(store.commit([Batch(part, puts=rows)]))
    reader, found = RowReader([b"table"], [b"local"], b"b", b"u"), None
    while found is None:
        found = run(reader.step(store))
    assert found.measure(b"b", b"u") == Contents(2 * sum(range(11, 30)), 19)
    assert found.measure(b"b", b"m") == Contents(2 * sum(range(11, 22)), 11)


def test_a_step_of_a_measurement_reads_a_bounded_number_of_bytes() -> None:
    store = MemoryStore()
    payload = item_record.encode({"v": {"S": "x" * 200_000}}, 200_001)
    run(store.commit([Batch(b"part", puts=[(bytes([number]), payload) for number in range(20)])]))
    reader, found, steps = RowReader([b"part", b"empty"], [], b"", None), None, 0
    while found is None:
        found, steps = run(reader.step(store)), steps + 1
    assert steps == 5
    assert found.measure(b"", None) == Contents(20 * 200_001, 20)


# --- Failures ------------------------------------------------------------------------------------


def test_counts_add_up_after_a_crash() -> None:
    """What was counted in the last minute is lost with it."""
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
        ((counted, stored),) = counted_and_stored(database)
        assert total(counted) == total(stored)
        assert total(counted)[0] == 30

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


async def _work(database: Database) -> None:
    while await database.work():
        pass


def test_a_damaged_row_is_reported_once_and_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FaultyWorld(throughput_tables=f"table={SMALL}")
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 900}

    async def damaged(reader: RowReader, store: Any) -> None:
        raise Corruption("a block does not match its checksum")

    async def play() -> None:
        database = await world.open()
        created = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
        await ask(database, "CreateTable", TableName="table", **created)
        for number in range(30):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number), v="x" * 1000))
        await _work(database)
        monkeypatch.setattr(RowReader, "step", damaged)
        meters = database.backend.catalog.throughput
        (meter,) = meters.tables()
        (part,) = meter.resource.partitions.partitions
        meters.background.measurements.request(meter, None, part.id, meter.now())
        with pytest.raises(StorageError):
            await _work(database)
        await _work(database)
        assert not meters.background.measurements.busy
        assert (part.items, part.state) == (30, "active")

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_a_deleted_table_is_not_measured_any_further() -> None:
    world = FaultyWorld(throughput_tables="table=aws")
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 900}

    async def play() -> None:
        database = await world.open(Faults(sync_turns=50))
        created = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
        await ask(database, "CreateTable", TableName="table", **created)
        for number in range(30):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number)))
        await _work(database)
        measurements = database.backend.catalog.throughput.background.measurements
        (meter,) = database.backend.catalog.throughput.tables()
        (part,) = meter.resource.partitions.partitions
        measurements.request(meter, None, part.id, meter.now())
        writing = asyncio.ensure_future(ask(database, "PutItem", TableName="table", Item=item(p="0", v="x")))
        working = asyncio.ensure_future(measurements.step())
        await asyncio.sleep(0)
        measurements.forget(meter, None)
        assert await working is None
        await writing
        assert not measurements.busy

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_storage_overhead_is_not_counted(world: World) -> None:
    world.create(units=(10, 900))
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
    (part,) = world.see()["partitions"]
    assert part["bytes"] == 2 < STORAGE_OVERHEAD_BYTES
