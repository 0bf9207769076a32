"""Sizes of partitions after a commit that raised.

The sizes equal what the table holds, whether or not the commit was made before it raised. Partitions count a
write before its commit, and after an error it is unknown whether the commit was made.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from faradisc.database import Database
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.errors import StorageError
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.immediate import run
from fixtures.faulty_store import Faults, FaultyStore
from fixtures.faulty_world import World, ask
from fixtures.schemas import item, schema
from fixtures.seeded_loop import SeededLoop

MADE = {"fail_before_write": False, "fail_after_write": True, "fail_sync": True}


def held(database: Database) -> tuple[int, int]:
    """What the table's partitions are said to hold: items and bytes."""
    ((_, registry),) = database.accounts()
    parts = registry.resources["table", None].partitions.partitions
    return sum(part.items for part in parts), sum(part.bytes for part in parts)


def holds(database: Database) -> tuple[int, int]:
    """What the store says of the table's rows."""
    (meter,) = database.backend.catalog.throughput.tables()
    usages = [run(database.store.usage(part)) for part in meter.provisions[None].parts]
    items = sum(items for items, _ in usages)
    return items, sum(stored for _, stored in usages) - items * STORAGE_OVERHEAD_BYTES


async def work(database: Database) -> None:
    """Some steps of every job; those that write fail with the disk."""
    for _ in range(3):
        with suppress(StorageError):
            await database.work()


@pytest.mark.parametrize("failure", MADE)
def test_partition_sizes_are_exact_after_failed_commit(failure: str) -> None:
    world = World(throughput_tables="table=aws")

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        await ask(database, "PutItem", TableName="table", Item=item(p="a"))
        await work(database)
        assert held(database) == holds(database) == (1, 2)
        assert isinstance(database.store, SealedStore)
        assert isinstance(database.store.inner, FaultyStore)
        database.store.inner.faults = Faults(**{failure: 1.0})
        for number in range(3):
            with pytest.raises(StorageError):
                await ask(database, "PutItem", TableName="table", Item=item(p=str(number)))
        await work(database)
        assert held(database) == holds(database) == ((2, 4) if MADE[failure] else (1, 2))

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_partition_sizes_are_exact_after_cancelled_request() -> None:
    world = World(throughput_tables="table=aws")

    async def play() -> None:
        database = await world.open(Faults(sync_turns=20))
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        await work(database)
        asked = asyncio.ensure_future(ask(database, "PutItem", TableName="table", Item=item(p="a")))
        while not world.disk.unsynced:  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        await work(database)
        assert asked.cancelled()
        assert held(database) == holds(database) == (1, 2)

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())
