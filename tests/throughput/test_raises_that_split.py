"""A raise that needs more partitions: the table is UPDATING until they are there, serves meanwhile at its old
units, and has the new ones with ACTIVE. The same for warm throughput, but the table stays ACTIVE.

Source: capacity.md section 2.12. Partitions of 30 read and 10 write units; a split takes a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faradisc.capacity.events import Split
from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from faradisc.model.codec.keyspace import METER_PART
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables as PlannedWorld
from fixtures.other_services import MIDNIGHT_S, Services
from throughput.conftest import ONE_ATTEMPT, World

Refused = Callable[..., dict[str, Any]]


def units(read: int, write: int) -> dict[str, Any]:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}


def seen(world: World) -> tuple[str, int, int]:
    """Status, read units and partitions."""
    table = world.client.describe_table(TableName="Orders")["Table"]
    return table["TableStatus"], table["ProvisionedThroughput"]["ReadCapacityUnits"], partitions(world)


def partitions(world: World, index: str = "") -> int:
    return len(world.see(index=index)["partitions"])


@pytest.fixture
def small(worlds: Callable[..., World]) -> World:
    """Two partitions; 120/10 units need five."""
    world = worlds("aws:30/10")
    world.create(units=(30, 10), index=(30, 10))
    return world


def test_a_raise_is_made_when_its_partitions_are_there(small: World, refused: Refused) -> None:
    answer = small.client.update_table(TableName="Orders", **units(120, 10))["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert answer["ProvisionedThroughput"]["ReadCapacityUnits"] == 30
    small.clock.advance(59)
    assert seen(small) == ("UPDATING", 30, 2)
    busy = refused(small.client.update_table, TableName="Orders", **units(130, 10))
    assert (busy["Code"], busy["Text"]) == (
        "ResourceInUseException",
        "Attempt to change a resource which is still in use: Table IOPS are currently being updated. "
        "Table: Orders",
    )
    assert small.see()["read"]["rate"] == 30
    small.clock.advance(1)
    assert seen(small) == ("ACTIVE", 120, 8)
    assert small.see()["read"]["rate"] == 120


def test_a_table_that_waits_for_partitions_serves_at_its_old_units(small: World, refused: Refused) -> None:
    small.client.update_table(TableName="Orders", **units(120, 10))
    for _ in range(2):
        small.set(balance={"read": 0, "write": 0})
        small.clock.advance(1)
        for _ in range(10):
            small.client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
            small.client.get_item(TableName="Orders", Key={"p": {"S": "a"}}, ConsistentRead=True)
        over = refused(small.client.put_item, TableName="Orders", Item={"p": {"S": "a"}})
        assert over["Code"] == "ProvisionedThroughputExceededException"
    assert small.see()["read"]["burst"] == 20
    assert seen(small)[0] == "UPDATING"


@pytest.mark.parametrize(
    "change", [units(31, 9), units(40, 6), units(20, 10), {"BillingMode": "PAY_PER_REQUEST"}]
)
def test_what_needs_no_doubling_is_made_at_once(worlds: Callable[..., World], change: dict[str, Any]) -> None:
    world = worlds("aws:60/20")
    world.create(units=(30, 10))
    world.client.update_table(TableName="Orders", **change)
    table = world.client.describe_table(TableName="Orders")["Table"]
    assert table["TableStatus"] == "ACTIVE"


def test_where_nothing_is_enforced_a_raise_is_made_at_once(worlds: Callable[..., World]) -> None:
    world = worlds("off")
    world.create(units=(3_000, 10))
    world.client.update_table(TableName="Orders", **units(12_000, 10))
    assert seen(world)[:2] == ("ACTIVE", 12_000)


def create_plain(client: Any) -> None:
    """A table of 30 RCU and 10 WCU, without indexes."""
    client.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        **units(30, 10),
    )


def test_short_transitions_are_not_ended_by_looking_while_there_are_splits() -> None:
    """Transitions of 5 ms, the server's, are ended by DescribeTable: only once the partitions are there."""
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=5, throughput="aws:30/10") as database:
        client = database.client(config=ONE_ATTEMPT)
        create_plain(client)

        def status() -> str:
            described: dict[str, Any] = client.describe_table(TableName="Orders")["Table"]
            return str(described["TableStatus"])

        assert status() == "ACTIVE"
        client.update_table(TableName="Orders", **units(31, 9))
        assert status() == "ACTIVE"
        client.update_table(TableName="Orders", **units(120, 10))
        assert status() == "UPDATING"
        clock.advance(59.9)
        assert status() == "UPDATING"
        clock.advance(0.1)
        assert status() == "ACTIVE"


def test_an_index_is_raised(small: World) -> None:
    """The table waits for its index, and has its own units with it."""
    index = {"IndexName": "by-g", **units(120, 10)}
    small.client.update_table(
        TableName="Orders", **units(31, 9), GlobalSecondaryIndexUpdates=[{"Update": index}]
    )
    small.clock.advance(59)
    assert seen(small) == ("UPDATING", 30, 2)
    assert small.see(index="by-g")["read"]["rate"] == 30
    small.clock.advance(1)
    assert seen(small) == ("ACTIVE", 31, 2)
    assert (small.see(index="by-g")["read"]["rate"], partitions(small, "by-g")) == (120, 8)


def test_warm_throughput_waits_for_its_partitions(worlds: Callable[..., World]) -> None:
    world = worlds("aws")
    world.create(units=None)
    world.client.update_table(TableName="Orders", WarmThroughput={"ReadUnitsPerSecond": 30_000})

    def warm() -> tuple[str, str, int]:
        table = world.client.describe_table(TableName="Orders")["Table"]
        shown = table["WarmThroughput"]
        return table["TableStatus"], shown["Status"], shown["ReadUnitsPerSecond"]

    world.clock.advance(59)
    assert (*warm(), partitions(world)) == ("ACTIVE", "UPDATING", 12_000, 4)
    world.clock.advance(1)
    assert (*warm(), partitions(world)) == ("ACTIVE", "ACTIVE", 30_000, 10)


def test_levers_while_a_raise_waits(small: World) -> None:
    """Splits that are hurried, and another profile: the raise is made at its time all the same."""
    small.client.update_table(TableName="Orders", **units(120, 10))
    small.set(partitions=9)
    assert partitions(small) == 9
    small.clock.advance(30)
    assert seen(small) == ("UPDATING", 30, 9)
    small.set(profile="aws:30/10/64KB")
    small.clock.advance(30)
    assert seen(small) == ("ACTIVE", 120, 9)
    small.clock.advance(300)
    assert partitions(small) == 9


@pytest.mark.parametrize("profile", ["off", "aws:60/20", "classic-2017"])
def test_another_profile_while_a_raise_waits(small: World, profile: str) -> None:
    """The splits that have begun go on, and the units come."""
    small.client.update_table(TableName="Orders", **units(120, 10))
    small.clock.advance(30)
    small.set(profile=profile)
    small.clock.advance(30)
    assert seen(small) == ("ACTIVE", 120, 8)
    assert small.see()["read"]["rate"] == 120


def test_a_profile_that_comes_while_a_table_is_updating() -> None:
    """Nothing was enforced when the raise was asked for: its splits begin with the units."""
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=5_000) as database:
        client = database.client(config=ONE_ATTEMPT)
        create_plain(client)
        clock.advance(10)
        client.update_table(TableName="Orders", **units(120, 10))
        database.change_capacity("Orders", {"profile": "aws:30/10"})
        for after_s, status, count in ((5, "ACTIVE", 1), (60, "ACTIVE", 8)):
            clock.advance(after_s)
            table = client.describe_table(TableName="Orders")["Table"]
            found = len(database.capacity("Orders")["resources"][""]["partitions"])
            assert (table["TableStatus"], found) == (status, count)


def test_server_and_planner_say_the_same() -> None:
    """With a transition of a second, which the planner takes UpdateTable to last."""
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=1_000, throughput="aws:30/10") as database:
        client = database.client(config=ONE_ATTEMPT)
        create_plain(client)
        clock.advance(120)
        began_ns = clock.now_ns()
        client.update_table(TableName="Orders", **units(120, 10))
        found = []
        while len(database.capacity("Orders")["resources"][""]["partitions"]) == 2:
            clock.advance(1)
        found.append(("partitions", (clock.now_ns() - began_ns) // 10**9))
        while client.describe_table(TableName="Orders")["Table"]["TableStatus"] == "UPDATING":
            clock.advance(1)
        found.append(("units", (clock.now_ns() - began_ns) // 10**9))
    world = PlannedWorld(
        load_plan(
            "{duration: 10m, profile: aws, partition_caps: 30/10, tables: {Orders: {mode: provisioned, "
            "read: 30, write: 10, changes: [{at: 2m, read: 120}]}}, "
            "traffic: [{operation: GetItem, rate: 0, keys: single}]}",
            "plan.yaml",
        )
    )
    reported: list[tuple[str, int]] = []
    began_ns = world.start_ns + 120 * 10**9
    world.on_change = lambda member, at_ns, words: reported.append(("units", (at_ns - began_ns) // 10**9))
    world.on_event = lambda member, event: (
        reported.append(("partitions", (event.at_ns - began_ns) // 10**9))
        if isinstance(event, Split)
        else None
    )
    world.advance(world.start_ns + 300 * 10**9)
    assert list(dict.fromkeys(reported)) == found == [("partitions", 60), ("units", 61)]


# --- Restarts ------------------------------------------------------------------------------------


class Restarted(World):
    """A database on disk that can be opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock()
        self.open()

    def open(self) -> None:
        self.database = LocalDatabase(self.path, clock=self.clock, throughput="aws:30/10")
        self.client = self.database.client(config=ONE_ATTEMPT)

    @contextmanager
    def closed(self) -> Iterator[None]:
        self.database.close()
        yield
        self.open()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Restarted]:
    world = Restarted(tmp_path / "data")
    world.create(units=(30, 10))
    yield world
    world.database.close()


@pytest.mark.parametrize("away_s", [0, 59, 60, 3600])
def test_a_restart_while_a_raise_waits(stored: Restarted, away_s: int) -> None:
    stored.client.update_table(TableName="Orders", **units(120, 10))
    with stored.closed():
        stored.clock.advance(away_s)
    if away_s < 60:
        assert seen(stored) == ("UPDATING", 30, 2)
        stored.clock.advance(60 - away_s)
    assert seen(stored) == ("ACTIVE", 120, 8)


def test_a_crash_before_the_splits_were_stored(stored: Restarted) -> None:
    """The units change at the announced time, and the splits begin then."""
    stored.clock.advance(61)
    stored.see()
    store = stored.database.database.store
    ((key, (_, before)),) = run(store.range(METER_PART, b"", None, limit=10))
    stored.client.update_table(TableName="Orders", **units(120, 10))
    stored.database.close()
    store = open_rocks(stored.path, durability="inline")
    run(store.commit([Batch(METER_PART, puts=[(key, before)])]))
    run(store.close())
    stored.open()
    stored.clock.advance(60)
    assert seen(stored) == ("ACTIVE", 120, 2)
    stored.clock.advance(60)
    assert seen(stored) == ("ACTIVE", 120, 8)


# --- Auto scaling --------------------------------------------------------------------------------


def test_auto_scaling_waits_for_its_change() -> None:
    """One UpdateTable, fulfilled when the table is ACTIVE; what others ask for meanwhile comes after it."""
    services = Services(clock=ManualClock(MIDNIGHT_S), transition_ms=5)
    try:
        services.create(units=10)
        services.process.local.change_capacity("Orders", {"profile": "aws:120/20"})
        names = services.register(minimum=5)
        services.scaling.register_scalable_target(**names, MinCapacity=200)
        services.scaling.register_scalable_target(
            **{**names, "ScalableDimension": "dynamodb:table:WriteCapacityUnits"},
            MinCapacity=11,
            MaxCapacity=99,
        )
        services.work(30)
        assert services.units() == (10, 10)
        (activity,) = services.activities()
        assert (activity["StatusCode"], "EndTime" in activity) == ("InProgress", False)
        services.work(30)  # asks for ListTables, which completes the second update too
        assert services.units() == (200, 11)
        assert [each["StatusCode"] for each in services.activities()] == ["Successful"] * 2
    finally:
        services.close()


def test_auto_scaling_looks_at_the_minutes_of_an_update_when_it_has_ended() -> None:
    services = Services(clock=ManualClock(MIDNIGHT_S), transition_ms=5)
    try:
        services.create(units=100)
        services.track(services.register())
        services.minutes(2, 90)
        services.process.local.change_capacity("Orders", {"profile": "aws:120/1000"})
        services.work(90)
        assert services.units() == (100, 100)
        (activity,) = services.activities()
        assert activity["StatusCode"] == "InProgress"
        services.process.local.change_capacity("Orders", {"profile": None})
        services.minutes(3, 90)
        assert services.units() == (129, 100)
        assert [each["StatusCode"] for each in services.activities()] == ["Successful"]
    finally:
        services.close()
