"""A table that changes during a request, and changes whose commit fails or is the last before a crash.

What it proves: a write goes to the table as it is then, with indexes and streams added after its request was
read, and never to a deleted one; a description is of one state; a change whose commit failed is never
visible; the next start clears what a crash leaves of a deletion. The simulation (tests/simulation) has found
each of these; here they are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.database import Database
from faradisc.engine.check import Check
from faradisc.engine.derived.expiry import expiry_of, index_key
from faradisc.engine.tables import writes
from faradisc.engine.tables.change import Change
from faradisc.engine.tables.commit import commit_outcomes
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import apply_change, apply_changes
from faradisc.engine.ttl.sweep import expire_change
from faradisc.errors import ResourceNotFoundException, StorageError
from faradisc.storage.immediate import run
from fixtures.faulty_store import Faults
from fixtures.faulty_world import World, ask
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema
from fixtures.seeded_loop import SeededLoop

KEY = item(p="a")


def held(raw: InProcess) -> Table:
    """Returns the table as a request finds it."""
    return raw.backend.tables.for_data("table", "us-east-1", "000000000000")


def add_index(raw: InProcess) -> None:
    members = schema("p:S", gsi={"late": ("g:S", "", "ALL")})
    raw.call(
        "UpdateTable",
        TableName="table",
        AttributeDefinitions=members["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": members["GlobalSecondaryIndexes"][0]}],
    )
    raw.call("ListTables")  # the index is filled before any request


@pytest.mark.parametrize("write", [apply_change, lambda store, change: apply_changes(store, [change])])
def test_a_write_maintains_an_index_added_after_its_request(raw: InProcess, write: Any) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    new = item(p="a", g="x")
    change = Change(held(raw), KEY, lambda _: new)
    add_index(raw)
    run(write(raw.store, change))
    assert raw.call("Scan", TableName="table", IndexName="late")["Items"] == [new]


def test_a_write_is_in_a_stream_enabled_after_its_request(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    change = Change(held(raw), KEY, lambda _: KEY)
    raw.call(
        "UpdateTable",
        TableName="table",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    run(apply_change(raw.store, change))
    stream = held(raw).state.stream
    assert stream is not None
    logs = [sum(last for part, last in run(raw.store.parts()) if part[:4] == stream.resource.to_bytes(4))]
    assert logs == [1]


@pytest.mark.parametrize("again", [False, True])
def test_a_write_to_a_deleted_table_raises_resource_not_found(raw: InProcess, again: bool) -> None:
    """Also with a new table of the same name."""
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    change = Change(held(raw), KEY, lambda _: KEY)
    raw.call("DeleteTable", TableName="table")
    if again:
        raw.call("CreateTable", TableName="table", **schema("p:S"))
    with pytest.raises(ResourceNotFoundException):
        run(apply_change(raw.store, change))
    report = run(Check(raw.store, ManualClock()).finish())
    assert report.sentences() == []


def test_a_write_after_a_reset_raises_resource_not_found(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    change = Change(held(raw), KEY, lambda _: KEY)
    raw.local.reset()
    with pytest.raises(ResourceNotFoundException):
        run(apply_change(raw.store, change))


def test_describe_table_returns_the_newest_state(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S", gsi={"late": ("g:S", "", "ALL")}))
    before = held(raw)
    update = {"Delete": {"IndexName": "late"}}
    raw.call("UpdateTable", TableName="table", GlobalSecondaryIndexUpdates=[update])
    raw.call("DescribeTable", TableName="table")
    described = run(describe_table(raw.store, before, 0))
    assert "GlobalSecondaryIndexes" not in described


# --- Disks that fail -----------------------------------------------------------------------------

STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


@pytest.mark.parametrize(
    "faults", [Faults(fail_before_write=1), Faults(fail_after_write=1), Faults(fail_sync=1)]
)
def test_a_change_whose_commit_failed_is_not_visible(faults: Faults) -> None:
    world = World()

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        await database.close()
        database = await world.open(faults)
        with pytest.raises(StorageError):
            await ask(database, "UpdateTable", TableName="table", StreamSpecification=STREAM)
        described = await ask(database, "DescribeTable", TableName="table")
        assert "StreamSpecification" not in described["Table"]
        assert (await ask(database, "ListStreams"))["Streams"] == []
        with pytest.raises(StorageError):
            await ask(database, "CreateTable", TableName="other", **schema("p:S"))
        assert (await ask(database, "ListTables"))["TableNames"] == ["table"]

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


async def switch_ttl(database: Database, on: bool) -> None:
    specification = {"Enabled": on, "AttributeName": "exp"}
    await ask(database, "UpdateTimeToLive", TableName="table", TimeToLiveSpecification=specification)


async def drop_index(database: Database) -> None:
    update = {"Delete": {"IndexName": "late"}}
    await ask(database, "UpdateTable", TableName="table", GlobalSecondaryIndexUpdates=[update])


@pytest.mark.parametrize("leave", [lambda database: switch_ttl(database, False), drop_index])
def test_rows_of_a_deletion_before_a_crash_are_cleared_at_the_next_start(
    leave: Callable[[Database], Any],
) -> None:
    """Crashes after every number of steps; after the start every row has an owner or is deleted."""
    crashed_in_between = 0
    for steps in range(1, 60):
        world = World()

        async def prepare(world: World = world) -> Database:
            database = await world.open()
            members = schema("p:S", gsi={"late": ("g:S", "", "ALL")})
            await ask(database, "CreateTable", TableName="table", **members)
            await switch_ttl(database, True)
            for number in range(8):
                new = item(p=str(number), g="x", exp=2_000_000_000)
                await ask(database, "PutItem", TableName="table", Item=new)
            while await database.work():
                pass
            return database

        with SeededLoop(world.chance) as loop:
            database = loop.run("prepare", prepare())
            strand = loop.start("leave", leave(database))
            for _ in range(steps):
                loop.step()
            has_ended = strand.done
        world.disk.crash(lose=0.0)
        dropped = rows_of_dropped(database, world.disk.synced)
        crashed_in_between += dropped > 0
        with SeededLoop(world.chance) as loop:
            database = loop.run("open", world.open())
            report = loop.run("check", Check(database.store, world.clock).finish())
        assert report.sentences() == []
        assert not dropped or rows_of_dropped(database, world.disk.synced) == 0
        if has_ended:
            break
    assert has_ended and crashed_in_between


def rows_of_dropped(database: Database, store: Any) -> int:
    """Returns how many rows a store has of what the last change of the table has removed."""
    catalog = database.backend.catalog
    table = catalog.tables.for_control("table", "us-east-1", "000000000000")
    parts = catalog.kinds.dropped_parts(table)
    return sum(len(run(store.range(part, b"", b"\xff" * 99, limit=100))) for part in parts)


def test_a_running_sweep_deletes_nothing_after_expiry_is_disabled(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    specification = {"Enabled": True, "AttributeName": "exp"}
    raw.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=specification)
    new = item(p="a", exp=1_700_000_000)
    raw.call("PutItem", TableName="table", Item=item(p="a", exp=1_900_000_000))
    table = held(raw)
    expiry = expiry_of(table)
    assert expiry is not None
    sweeping = expire_change(
        table, expiry, index_key(1_700_000_000, table.placement.row_key(new)), table.key.key_of(new)
    )
    raw.clock.advance(7200)  # the next change of the setting is allowed
    specification["Enabled"] = False
    raw.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=specification)
    raw.call("PutItem", TableName="table", Item=new)
    run(apply_changes(raw.store, [sweeping]))
    assert raw.call("Scan", TableName="table")["Items"] == [new]


@pytest.mark.parametrize("write", [apply_change, lambda store, change: apply_changes(store, [change])])
def test_a_write_that_meets_others_again_and_again_pauses_between_rounds(
    raw: InProcess, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    new, pauses, left = item(p="a"), [], 60

    async def commit(*args: Any, **options: Any) -> bool:
        nonlocal left
        left -= 1
        return left < 0 and await commit_outcomes(*args, **options)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(writes, "commit_outcomes", commit)
    monkeypatch.setattr(writes.asyncio, "sleep", sleep)
    run(write(raw.store, Change(held(raw), KEY, new)))
    assert pauses == [min(writes.PAUSE_S * attempt, writes.PAUSE_S_MAX) for attempt in range(3, 60)]
    assert raw.call("Scan", TableName="table")["Items"] == [new]
