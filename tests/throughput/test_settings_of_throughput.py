"""On-demand maximum, warm throughput, changes of units and mode: what CreateTable and UpdateTable do.

Sources: new-features.md sections 5 and 6; capacity.md sections 2.8 and 2.12, vectors V83, V106, V110, V119.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase

World = Any
Refused = Callable[..., dict[str, Any]]
INVALID = "One or more parameter values were invalid: "


def described(world: World) -> dict[str, Any]:
    table: dict[str, Any] = world.client.describe_table(TableName="Orders")["Table"]
    return table


def update(world: World, **change: Any) -> dict[str, Any]:
    answer: dict[str, Any] = world.client.update_table(TableName="Orders", **change)["TableDescription"]
    return answer


def units(read: int, write: int) -> dict[str, Any]:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}


# --- On-demand maximum ---------------------------------------------------------------------------


def test_a_maximum_is_changed_by_direction_and_removed(world: World) -> None:
    world.create(units=None, OnDemandThroughput={"MaxReadRequestUnits": 5})
    assert described(world)["OnDemandThroughput"] == {"MaxReadRequestUnits": 5}
    update(world, OnDemandThroughput={"MaxWriteRequestUnits": 7})
    assert described(world)["OnDemandThroughput"] == {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 7}
    answer = update(world, OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert answer["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 7}
    assert described(world)["OnDemandThroughput"] == {"MaxWriteRequestUnits": 7}
    assert (world.see()["read"]["maximum"], world.see()["write"]["maximum"]) == (None, 7)


@pytest.mark.parametrize("number", [0, -2, 40_001])
def test_a_maximum_out_of_range(world: World, refused: Refused, number: int) -> None:
    world.create(units=None)
    answer = refused(update, world=world, OnDemandThroughput={"MaxReadRequestUnits": number})
    assert (answer["Code"], answer["Text"]) == (
        "ValidationException",
        f"{INVALID}Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    )


def test_a_new_table_has_no_maximum_to_remove(world: World, refused: Refused) -> None:
    answer = refused(world.create, units=None, OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert answer["Text"].endswith(
        "MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range"
    )


def test_provisioned_tables_have_no_maximum(world: World, refused: Refused) -> None:
    answer = refused(world.create, OnDemandThroughput={"MaxReadRequestUnits": 0})
    opening = f"{INVALID}MaxReadRequestUnits for OnDemandThroughput cannot be specified when"
    assert answer["Text"] == f"{opening} table BillingMode is PROVISIONED."
    world.create()
    answer = refused(update, world=world, OnDemandThroughput={"MaxReadRequestUnits": 5})
    assert answer["Text"] == f"{opening} the table BillingMode is PROVISIONED"


def test_a_switch_to_provisioned_clears_the_maximum(world: World) -> None:
    world.create(units=None, OnDemandThroughput={"MaxReadRequestUnits": 5})
    update(world, BillingMode="PROVISIONED", **units(3, 3))
    assert "OnDemandThroughput" not in described(world)
    update(world, BillingMode="PAY_PER_REQUEST")
    assert "OnDemandThroughput" not in described(world)
    assert world.see()["read"]["maximum"] is None


# --- Warm throughput -----------------------------------------------------------------------------


def test_v83_warm_throughput_of_a_new_table_is_partitions(world: World) -> None:
    world.create(units=None, WarmThroughput={"ReadUnitsPerSecond": 30_000, "WriteUnitsPerSecond": 10_000})
    warm = {"ReadUnitsPerSecond": 30_000, "WriteUnitsPerSecond": 10_000, "Status": "ACTIVE"}
    assert described(world)["WarmThroughput"] == warm
    assert len(world.see()["partitions"]) == 10


def test_warm_throughput_is_raised_and_never_lowered(worlds: Callable[..., World], refused: Refused) -> None:
    world = worlds()
    world.create(units=None, on_demand_index=True)
    table = {"ReadUnitsPerSecond": 15_000}
    index = {"IndexName": "by-g", "WarmThroughput": {"WriteUnitsPerSecond": 6_000}}
    update(world, WarmThroughput=table)
    world.clock.advance(60)
    update(world, GlobalSecondaryIndexUpdates=[{"Update": index}])
    world.clock.advance(60)
    shown = described(world)
    assert shown["WarmThroughput"] == {
        "ReadUnitsPerSecond": 15_000,
        "WriteUnitsPerSecond": 4_000,
        "Status": "ACTIVE",
    }
    assert shown["GlobalSecondaryIndexes"][0]["WarmThroughput"]["WriteUnitsPerSecond"] == 6_000
    answer = refused(update, world=world, WarmThroughput={"ReadUnitsPerSecond": 14_999})
    assert answer["Code"] == "ValidationException" and "WarmThroughput" in answer["Text"]
    assert len(world.see()["partitions"]) == 5
    assert len(world.see(index="by-g")["partitions"]) == 6


def test_warm_throughput_is_on_its_way_while_the_table_serves() -> None:
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=5_000) as database:
        client = database.client()
        client.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        clock.advance(10)
        client.update_table(TableName="Orders", WarmThroughput={"ReadUnitsPerSecond": 20_000})
        shown = client.describe_table(TableName="Orders")["Table"]
        assert (shown["TableStatus"], shown["WarmThroughput"]["Status"]) == ("ACTIVE", "UPDATING")
        assert shown["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000
        clock.advance(10)
        shown = client.describe_table(TableName="Orders")["Table"]["WarmThroughput"]
        assert (shown["ReadUnitsPerSecond"], shown["Status"]) == (20_000, "ACTIVE")


def test_v106_a_switch_to_on_demand(world: World) -> None:
    world.create(units=(24_000, 8_000))
    update(world, BillingMode="PAY_PER_REQUEST")
    described(world)
    assert world.see()["capacity"] == [24_000, 8_000]


# --- Changes of units ----------------------------------------------------------------------------


def test_v110_old_units_hold_until_the_update_has_ended() -> None:
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=5_000) as database:
        client = database.client()
        client.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            **units(5, 5),
        )
        clock.advance(10)
        answer = client.update_table(TableName="Orders", **units(10, 10))["TableDescription"]
        assert answer["TableStatus"] == "UPDATING"
        assert answer["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
        assert "LastIncreaseDateTime" in answer["ProvisionedThroughput"]
        client.put_item(TableName="Orders", Item={"p": {"S": "meanwhile"}})
        clock.advance(10)
        shown = client.describe_table(TableName="Orders")["Table"]
        assert (shown["TableStatus"], shown["ProvisionedThroughput"]["WriteCapacityUnits"]) == ("ACTIVE", 10)


def test_a_raise_doubles_partitions(world: World) -> None:
    """V73: 5,000 and 2,000 units are 4 partitions; a raise to 8,000 read units makes 8 of them."""
    world.create(units=(5_000, 2_000))
    assert len(world.see()["partitions"]) == 4
    update(world, **units(8_000, 2_000))
    described(world)
    world.clock.advance(120)
    assert len(world.see()["partitions"]) == 8
    assert {split["reason"] for split in world.see()["splits"] if split["event"] == "Split"} == {"raise"}


def test_v119_nothing_of_a_refused_request_is_done(world: World, refused: Refused) -> None:
    world.create(index=(20, 20))
    for read in (9, 8, 7, 6):
        update(world, **units(read, 10))
        described(world)
    index = {"IndexName": "by-g", "ProvisionedThroughput": units(30, 30)["ProvisionedThroughput"]}
    answer = refused(update, world=world, **units(5, 20), GlobalSecondaryIndexUpdates=[{"Update": index}])
    assert answer["Code"] == "LimitExceededException"
    assert answer["Text"].startswith(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day."
    )
    shown = described(world)
    assert shown["TableStatus"] == "ACTIVE"
    assert shown["ProvisionedThroughput"]["WriteCapacityUnits"] == 10
    assert shown["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 20


# --- What survives a restart ---------------------------------------------------------------------


def test_partitions_peaks_and_warm_values_survive_a_restart(tmp_path: Any) -> None:
    clock = ManualClock()

    def opened() -> LocalDatabase:
        return LocalDatabase(tmp_path / "data", clock=clock, throughput="aws")

    with opened() as database:
        database.client().create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        database.change_capacity(
            "Orders", {"partitions": 7, "previous_peak": {"read": 9_000, "write": 3_000}}
        )
        before = orjson.loads(orjson.dumps(database.capacity("Orders")["resources"][""]))
    with opened() as database:
        after = orjson.loads(orjson.dumps(database.capacity("Orders")["resources"][""]))
        for member in ("capacity", "warm", "splits"):
            assert after[member] == before[member]
        ranges = [[(each["id"], each["low"]) for each in shown["partitions"]] for shown in (before, after)]
        assert ranges[0] == ranges[1] and len(ranges[0]) >= 7


def test_a_profile_of_a_table_survives_a_restart(tmp_path: Any) -> None:
    clock = ManualClock()
    with LocalDatabase(tmp_path / "data", clock=clock) as database:
        database.client().create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            **units(10, 10),
        )
        database.change_capacity("Orders", {"profile": "aws:30/10"})
    with LocalDatabase(tmp_path / "data", clock=clock) as database:
        shown = database.capacity("Orders")
        assert (shown["profile"], shown["enforced"]) == ("aws:30/10", True)
        assert shown["resources"][""]["partitions"][0]["write"]["limit"] == 10
        database.change_capacity("Orders", {"profile": None})
        assert not database.capacity("Orders")["enforced"]


def test_v70a_a_restored_table_has_the_partitions_its_size_needs(worlds: Callable[..., World]) -> None:
    world = worlds("aws:3000/1000/1KB")
    world.create(units=(10, 10))
    for n in range(5):
        world.client.put_item(TableName="Orders", Item={"p": {"S": str(n)}, "v": {"S": "x" * 2_000}})
    arn = world.client.create_backup(TableName="Orders", BackupName="before")["BackupDetails"]["BackupArn"]
    world.clock.advance(60)
    world.client.restore_table_from_backup(TargetTableName="Again", BackupArn=arn)
    world.clock.advance(60)
    assert world.client.describe_table(TableName="Again")["Table"]["TableStatus"] == "ACTIVE"
    restored = world.see("Again")["partitions"]
    assert sum(part["items"] for part in restored) == 5
    assert 10_000 <= sum(part["bytes"] for part in restored) < 10_100
    assert len(restored) == 10  # of 1 KB each
    consumed = world.metric("ConsumedWriteCapacityUnits", TableName="Again")[0]
    assert consumed == 0, "a restore is not charged"


@pytest.mark.parametrize(
    ("profile", "units", "partitions"),
    [
        ("aws:30/10/64KB", (30, 10), 2),  # units decide: a partition's reads and a partition's writes
        ("aws:30/10/1KB", (30, 10), 10),  # size decides
        ("aws:30/10/1KB", (300, 100), 20),  # units again
        ("aws:30/10/64KB", None, 4),  # on demand: four
        ("aws:30/10/1KB", None, 10),
    ],
)
def test_v70a_a_restored_table_has_what_units_or_size_need(
    worlds: Callable[..., World], profile: str, units: tuple[int, int] | None, partitions: int
) -> None:
    world = worlds("off", f"Again={profile}")
    world.create(units=(500, 500), index=(500, 500))
    for n in range(5):
        world.client.put_item(
            TableName="Orders", Item={"p": {"S": str(n)}, "g": {"S": "g" * 30}, "v": {"S": "x" * 2_000}}
        )
    arn = world.client.create_backup(TableName="Orders", BackupName="before")["BackupDetails"]["BackupArn"]
    world.clock.advance(60)
    mode: dict[str, Any] = {"BillingModeOverride": "PAY_PER_REQUEST"}
    if units is not None:
        given = {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}
        mode = {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": given}
    index = {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        **({"ProvisionedThroughput": given} if units is not None else {}),
    }
    world.client.restore_table_from_backup(
        TargetTableName="Again", BackupArn=arn, GlobalSecondaryIndexOverride=[index], **mode
    )
    world.clock.advance(60)
    world.client.describe_table(TableName="Again")
    assert len(world.see("Again")["partitions"]) == partitions
    # Its entries are small: only units make it more.
    by_units = {None: 4, (30, 10): 2, (300, 100): 20}[units]
    assert len(world.see("Again", "by-g")["partitions"]) == by_units
