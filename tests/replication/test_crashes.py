"""A crash after any commit of the life of replicas and of their delivery: all of them are equal in the end.

The disk loses power after every single commit in turn, with what was not synced lost or not; then the
database is opened again and works on.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from faradisc.database import Database
from faradisc.engine.check import Check
from faradisc.operations.call import Call
from fixtures.faulty_store import Faults, FaultyStore
from fixtures.faulty_world import World
from fixtures.regions import AP, EU, REGIONS, TABLE, US
from fixtures.schemas import schema
from fixtures.seeded_loop import SeededLoop

COMMITS_MAX = 400
WORK_MAX = 5000


class PowerCut(Exception):
    """Raised where the disk loses power."""


async def ask_in(database: Database, region: str, operation: str, **members: Any) -> dict[str, Any]:
    return await database.execute(
        Call(operation, {"TableName": TABLE, **members}, True, region, "000000000000")
    )


async def work(database: Database) -> None:
    for _ in range(WORK_MAX):
        if not await database.work():
            return
    raise AssertionError("the work does not end")


async def put(database: Database, region: str, key: str, value: int) -> None:
    await ask_in(database, region, "PutItem", Item={"p": {"S": key}, "v": {"N": str(value)}})


async def live(database: Database) -> None:
    """Adds two replicas, writes in all of them, and removes one."""
    await ask_in(database, US, "CreateTable", **schema("p:S"))
    for number in range(5):
        await put(database, US, f"k{number}", number)
    for region in (EU, AP):
        await ask_in(database, US, "UpdateTable", ReplicaUpdates=[{"Create": {"RegionName": region}}])
        await put(database, US, "k1", 10)
        await work(database)
    await put(database, EU, "k1", 11)
    await put(database, AP, "k2", 12)
    await ask_in(database, US, "DeleteItem", Key={"p": {"S": "k3"}})
    await work(database)
    await ask_in(database, US, "UpdateTable", ReplicaUpdates=[{"Delete": {"RegionName": AP}}])
    await put(database, EU, "k4", 14)
    await work(database)


def cut_after(store: FaultyStore, commits: int) -> list[int]:
    """Lets a number of commits pass, and raises PowerCut in the next one. Returns what counts them."""
    commit, seen = store.commit, [0]

    async def counted(*arguments: Any, **more: Any) -> Any:
        if seen[0] == commits:
            raise PowerCut
        seen[0] += 1
        return await commit(*arguments, **more)

    store.commit = counted  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("lose", [0.0, 1.0])
def test_replicas_are_equal_after_a_crash_at_any_commit(lose: float) -> None:
    for commits in range(COMMITS_MAX):
        world = World(regions=",".join(REGIONS))
        disk = world.disk
        opened: list[FaultyStore] = []
        open_disk = disk.open

        def opening(
            faults: Faults, commits: int = commits, opened: Any = opened, open_disk: Any = open_disk
        ) -> FaultyStore:
            store: FaultyStore = open_disk(faults)
            if not opened:
                cut_after(store, commits)
            opened.append(store)
            return store

        disk.open = opening  # type: ignore[method-assign,assignment]
        ended = False
        try:
            with SeededLoop(world.chance) as loop:
                loop.run("live", live(loop.run("open", world.open())))
            ended = True
        except PowerCut:
            disk.crash(lose=lose)
            with SeededLoop(world.chance) as loop:
                loop.run("look", expect_equal(world))
        if ended:
            assert commits > 20
            return
    raise AssertionError("the life of the replicas takes too many commits")


async def expect_equal(world: World) -> None:
    database = await world.open()
    world.clock.advance(1)
    await work(database)
    found = []
    catalog = database.backend.catalog
    replicated = catalog.tables.find(TABLE, US, "000000000000")
    for region in REGIONS:
        table = catalog.tables.find(TABLE, region, "000000000000")
        if table is None or table.state.status == "DELETING":
            continue
        assert table.state.status == "ACTIVE"
        assert table.state.owner_job is None
        found.append(orjson.dumps((await ask_in(database, region, "Scan"))["Items"]))
        assert not table.state.replicas_change
    assert replicated is not None or not found
    assert len(set(found)) <= 1
    assert (await Check(database.store, world.clock).finish()).sentences() == []
