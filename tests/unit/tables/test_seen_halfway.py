"""What other requests see while a write or a change waits for the disk or for another change.

What it proves: a search sees a vector that other reads see; a size measurement counts a write once; recovery
reaches back to the start of its history, and no restore to before it; limits set during auto scaling are
respected, and a manual change of the other direction stays; an import keeps its error after any crash. The
simulation (tests/simulation) has found all but the restore; here they are deterministic.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.database import Database
from faradisc.engine.derived.history import History
from faradisc.engine.exchange.locations import directories
from faradisc.errors import ApiError
from fixtures.faulty_store import Faults
from fixtures.faulty_world import World, ask, ask_scaling
from fixtures.schemas import item, schema
from fixtures.seeded_loop import SeededLoop

SLOW = Faults(sync_turns=50)
VECTORS = {
    "IndexName": "near",
    "VectorAttribute": {"AttributeName": "v"},
    "Dimensions": 1,
    "DistanceFunction": "EUCLIDEAN",
    "Projection": {"ProjectionType": "ALL"},
}
TARGET = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/table",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def while_a_put_is_synced(
    world: World, members: dict[str, Any], look: Callable[[Database], Awaitable[Any]]
) -> tuple[Database, Any]:
    """Returns what `look` finds between the commit of a put and the end of its sync."""

    async def prepare() -> Database:
        database = await world.open(SLOW)
        await ask(database, "CreateTable", TableName="table", **members)
        await look(database)
        return database

    new = {**item(p="a"), "v": {"L": [{"N": "1"}]}}
    with SeededLoop(world.chance) as loop:
        database = loop.run("prepare", prepare())
        put = loop.start("put", ask(database, "PutItem", TableName="table", Item=new))
        while not world.disk.unsynced:
            loop.step()
        found = loop.run("look", look(database))  # type: ignore[arg-type]
        while not put.done:
            loop.step()
    return database, found


def test_a_search_sees_a_committed_vector_before_its_write_returns() -> None:
    pytest.importorskip("numpy")

    async def search(database: Database) -> list[Any]:
        answer = await ask(
            database,
            "SearchVectors",
            TableName="table",
            IndexName="near",
            SearchVector=[{"N": "1"}],
            TopK=1,
        )
        return [each["Item"] for each in answer["SearchResults"]]

    members = {**schema("p:S"), "VectorIndexes": [VECTORS]}
    assert while_a_put_is_synced(World(), members, search)[1] == [item(p="a")]


def test_a_write_during_a_size_measurement_counts_once() -> None:
    async def measure(database: Database) -> None:
        catalog = database.backend.catalog
        await catalog.throughput.background.reconcile(
            catalog.tables.for_data("table", "us-east-1", "000000000000").meter
        )

    database, _ = while_a_put_is_synced(World(throughput="aws"), schema("p:S"), measure)
    ((_, registry),) = database.accounts()
    partitions = registry.resources["table", None].partitions.partitions
    assert sum(part.items for part in partitions) == 1


def test_backfilled_entries_during_a_size_measurement_count_once() -> None:
    """They are measured while the commit of a step waits for the disk."""
    world = World(throughput="aws")

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        for number in range(5):
            await ask(database, "PutItem", TableName="table", Item=item(p=str(number), g="g"))
        create = {
            "IndexName": "index",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        await ask(
            database,
            "UpdateTable",
            TableName="table",
            AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": create}],
        )
        working = asyncio.ensure_future(_work(database))
        (meter,) = database.backend.catalog.throughput.tables()
        parts = meter.provisions["index"].parts
        while not any([(await database.store.usage(part))[0] for part in parts]):  # noqa: ASYNC110 - no event
            await asyncio.sleep(0)
        await database.backend.catalog.throughput.background.reconcile(meter)
        await working
        assert sum(part.items for part in meter.indexes["index"].partitions.partitions) == 5

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


async def _work(database: Database) -> None:
    while await database.work():
        pass


async def while_a_change_waits(
    loop: SeededLoop, database: Database, change: Any, then: Callable[[], Awaitable[Any]]
) -> None:
    """Does something while a change waits for another one, and then completes the change."""
    changing = database.backend.catalog.follower.change_lock
    await changing.acquire()
    strand = loop.start("change", change)
    for _ in range(20):
        await asyncio.sleep(0)
    await then()
    changing.release()
    for _ in range(200):
        await asyncio.sleep(0)
    assert strand.done


def test_recovery_reaches_back_to_the_start_of_its_history() -> None:
    world = World()

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))

        async def write_later() -> None:
            world.clock.advance(30)
            await ask(database, "PutItem", TableName="table", Item=item(p="a"))

        specification = {"PointInTimeRecoveryEnabled": True}
        enabling = ask(
            database,
            "UpdateContinuousBackups",
            TableName="table",
            PointInTimeRecoverySpecification=specification,
        )
        await while_a_change_waits(loop, database, enabling, write_later)
        answer = await ask(database, "DescribeContinuousBackups", TableName="table")
        recovery = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        assert recovery["EarliestRestorableDateTime"] == world.clock.now_ns() / 1e9

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


@pytest.mark.parametrize(
    ("first", "second", "rejection", "left"),
    [
        ("restore", "disable", "ContinuousBackupsUnavailableException", ["restored", "table"]),
        ("disable", "restore", "PointInTimeRecoveryUnavailableException", ["table"]),
        ("restore", "delete", "ResourceInUseException", ["restored", "table"]),
        ("delete", "restore", "PointInTimeRecoveryUnavailableException", []),
    ],
)
def test_a_history_is_either_dropped_or_restored_from(
    first: str, second: str, rejection: str, left: list[str]
) -> None:
    """Both are requested during another change; the first in turn succeeds."""
    world = World()
    restoring = {"SourceTableName": "table", "TargetTableName": "restored", "UseLatestRestorableTime": True}
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "restore": ("RestoreTableToPointInTime", restoring),
        "disable": ("UpdateContinuousBackups", recovery(on=False)),
        "delete": ("DeleteTable", {"TableName": "table"}),
    }
    refused: list[str] = []

    async def attempt(database: Database, which: str) -> None:
        operation, request = asked[which]
        try:
            await ask(database, operation, **request)
        except ApiError as error:
            refused.append(f"{which}: {error.wire_name()}")

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        await ask(database, "UpdateContinuousBackups", **recovery(on=True))

        async def the_other() -> None:
            loop.start("second", attempt(database, second))
            for _ in range(20):
                await asyncio.sleep(0)

        await while_a_change_waits(loop, database, attempt(database, first), the_other)
        for _ in range(200):
            await database.work()
        names = (await ask(database, "ListTables"))["TableNames"]
        assert names == left

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())
    assert refused == [f"{second}: {rejection}"]


def recovery(*, on: bool) -> dict[str, Any]:
    specification = {"PointInTimeRecoveryEnabled": on}
    return {"TableName": "table", "PointInTimeRecoverySpecification": specification}


def test_limits_set_during_auto_scaling_are_respected() -> None:
    world = World()

    async def play() -> None:
        database = await world.open()
        await ask(database, "CreateTable", TableName="table", **{**schema("p:S"), **PROVISIONED})

        async def register(maximum: int) -> None:
            await ask_scaling(
                database, "RegisterScalableTarget", **TARGET, MinCapacity=1, MaxCapacity=maximum
            )

        await register(4)
        await while_a_change_waits(loop, database, database.work(), lambda: register(2))
        for _ in range(10):
            await database.work()
        described = await ask(database, "DescribeTable", TableName="table")
        assert described["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 2

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


PROVISIONED = {
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
}
ON_INDEX = {"ResourceId": "table/table/index/I", "ScalableDimension": "dynamodb:index:ReadCapacityUnits"}


@pytest.mark.parametrize("index", [None, "I"])
@pytest.mark.parametrize(
    ("by_hand", "left"), [((5, 9), (2, 9)), ((5, 1), (2, 1)), ((2, 9), (2, 9))], ids=["up", "down", "both"]
)
def test_a_manual_change_that_overtakes_auto_scaling_stays(
    index: str | None, by_hand: tuple[int, int], left: tuple[int, int]
) -> None:
    """Write units are changed by hand, sometimes to the value that auto scaling sets for reads; that is no
    failure."""
    world = World()

    def update(new: tuple[int, int]) -> dict[str, Any]:
        if index is None:
            return {"ProvisionedThroughput": units(*new)}
        return {
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": index, "ProvisionedThroughput": units(*new)}}
            ]
        }

    async def play() -> None:
        database = await world.open()
        members = {**schema("p:S", gsi={"I": ("q:S", "", "ALL")}), **PROVISIONED}
        members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(5, 5)
        await ask(database, "CreateTable", TableName="table", **members)
        names = TARGET if index is None else {**TARGET, **ON_INDEX}
        await ask_scaling(database, "RegisterScalableTarget", **names, MinCapacity=1, MaxCapacity=2)

        async def scale() -> None:
            loop.start("scaling", database.work())
            for _ in range(20):
                await asyncio.sleep(0)

        changing = ask(database, "UpdateTable", TableName="table", **update(by_hand))
        await while_a_change_waits(loop, database, changing, scale)
        for _ in range(10):
            await database.work()
        shown_table = (await ask(database, "DescribeTable", TableName="table"))["Table"]
        if index is not None:
            (shown_table,) = shown_table["GlobalSecondaryIndexes"]
        shown = shown_table["ProvisionedThroughput"]
        assert (shown["ReadCapacityUnits"], shown["WriteCapacityUnits"]) == left
        activities = await ask_scaling(database, "DescribeScalingActivities", ServiceNamespace="dynamodb")
        assert {each["StatusCode"] for each in activities["ScalingActivities"]} <= {"Successful"}

    with SeededLoop(world.chance) as loop:
        loop.run("play", play())


def test_a_failed_import_keeps_its_error_after_any_crash(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "cut-off").write_bytes(gzip.compress(b'{"Item": {"p": {"S": "a"}}}\n')[:-9])
    request = {
        "ClientToken": "token",
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": "GZIP",
        "TableCreationParameters": {"TableName": "table", **schema("p:S")},
    }
    codes = set()
    for steps in range(1, 80):
        world = World(directories(tmp_path, None))

        async def begin(world: World = world) -> Database:
            database = await world.open()
            await ask(database, "ImportTable", **request)
            return database

        async def work(database: Database) -> str:
            while await database.work():
                pass
            shown = (await ask(database, "ListImports"))["ImportSummaryList"]
            described = await ask(database, "DescribeImport", ImportArn=shown[0]["ImportArn"])
            assert (await ask(database, "ListTables"))["TableNames"] == []
            code: str = described["ImportTableDescription"]["FailureCode"]
            return code

        with SeededLoop(world.chance) as loop:
            strand = loop.start("work", work(loop.run("begin", begin())))
            for _ in range(steps):
                loop.step()
            has_ended = strand.done
        world.disk.crash(lose=0.0)
        with SeededLoop(world.chance) as loop:
            codes.add(loop.run("work", work(loop.run("open", world.open()))))
        if has_ended:
            break
    assert has_ended and codes == {"InputDamaged"}


def test_a_restore_after_a_crash_does_not_read_a_later_history() -> None:
    """While it waits for its turn, recovery is disabled, an item changes without history, and recovery is
    enabled again. The crash comes when the new table is on disk."""
    world = World()

    def switch(database: Database, on: bool) -> Any:
        specification = {"PointInTimeRecoveryEnabled": on}
        return ask(
            database,
            "UpdateContinuousBackups",
            TableName="table",
            PointInTimeRecoverySpecification=specification,
        )

    async def prepare() -> Database:
        database = await world.open(SLOW)
        await ask(database, "CreateTable", TableName="table", **schema("p:S"))
        await switch(database, True)
        await ask(database, "PutItem", TableName="table", Item=item(p="a", n=1))
        world.clock.advance(1)
        return database

    past = {"SourceTableName": "table", "UseLatestRestorableTime": True}
    with SeededLoop(world.chance) as loop:
        database = loop.run("prepare", prepare())
        catalog = database.backend.catalog
        waiting = (
            switch(database, False),
            switch(database, True),
            ask(database, "RestoreTableToPointInTime", TargetTableName="target", **past),
        )
        loop.run("hold", catalog.follower.change_lock.acquire())
        for number, change in enumerate(waiting):
            loop.start(f"waiting {number}", change)
            for _ in range(20):
                loop.step()
        catalog.follower.change_lock.release()
        while list(catalog.tables.background_index.having(History)):
            loop.step()
        loop.start("put", ask(database, "PutItem", TableName="table", Item=item(p="a", n=2)))
        while not catalog.tables.owned_by("restore"):
            loop.step()
    world.disk.crash(lose=0.0)

    async def go_on() -> list[str]:
        database = await world.open()
        for _ in range(10):
            await database.work()
        names: list[str] = (await ask(database, "ListTables"))["TableNames"]
        return names

    with SeededLoop(world.chance) as loop:
        assert loop.run("go on", go_on()) == ["table"]
