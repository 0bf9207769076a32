"""Quotas of an account, and what is stored of a table's throughput: decreases, balances, counts, peaks.

Source: capacity.md sections 2.0, 2.8, 2.12 and 2.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.capacity.config import UNIT
from faradisc.capacity.resource import Resource
from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from faradisc.model.codec.keyspace import METER_PART
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run

World = Any
Refused = Callable[..., dict[str, Any]]
YEAR_S = 365 * 86_400


def put(world: World, key: str = "a", table: str = "Orders", **more: Any) -> Any:
    return world.client.put_item(TableName=table, Item={"p": {"S": key}, **more})


def accepts(world: World, key: str = "a", table: str = "Orders") -> bool:
    try:
        put(world, key, table)
    except world.client.exceptions.ClientError as error:
        assert "Throughput" in str(error) or "Throttling" in str(error)
        return False
    return True


def units(read: int, write: int) -> dict[str, Any]:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}


def described(world: World) -> dict[str, Any]:
    table: dict[str, Any] = world.client.describe_table(TableName="Orders")["Table"]
    return table


# --- Quotas --------------------------------------------------------------------------------------


def test_a_table_has_a_maximum(world: World, refused: Refused) -> None:
    """Section 2.12, measured sentence."""
    answer = refused(world.create, name="Orders", units=(40_001, 1))
    assert answer["Code"] == "LimitExceededException"
    assert answer["Text"].startswith(
        "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in "
        "us-east-1. Per table maximum: 40000"
    )
    world.create(units=(40_000, 1))
    raised = refused(world.client.update_table, TableName="Orders", **units(40_000, 40_001))
    assert "WriteCapacityUnits, 40001" in raised["Text"]


def test_an_account_has_a_maximum(world: World, refused: Refused) -> None:
    """80,000 in sum, global indexes and updates under way included."""
    world.create("One", units=(40_000, 10), index=(20_000, 10))
    world.create("Two", units=(10_000, 10))
    world.client.update_table(TableName="Two", **units(19_999, 10))
    over = refused(world.create, name="Three", units=(2, 1))
    assert over["Code"] == "LimitExceededException"
    assert "would have caused the ReadCapacityUnits limit to be exceeded for the account" in over["Text"]
    world.create("Three", units=(1, 1))
    world.create("Events", units=None)
    change = {"IndexName": "by-g", **units(20_001, 10)}
    raised = refused(
        world.client.update_table, TableName="One", GlobalSecondaryIndexUpdates=[{"Update": change}]
    )
    assert raised["Code"] == "LimitExceededException"
    # What is lowered, or deleted, makes room; what stays is not looked at.
    world.client.update_table(TableName="One", DeletionProtectionEnabled=False)
    world.clock.advance(60)  # Two has its partitions, and is ACTIVE
    world.client.delete_table(TableName="Two")
    world.create("Four", units=(19_999, 1))


def test_accounts_and_regions_apart_have_maxima_of_their_own() -> None:
    with LocalDatabase(per_region=True) as database:
        for region in ("us-east-1", "eu-west-1"):
            client = database.client(region_name=region)
            for name in ("One", "Two"):
                client.create_table(
                    TableName=name,
                    KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
                    **units(40_000, 40_000),
                )


# --- Decreases -----------------------------------------------------------------------------------


def test_a_tour_through_on_demand_gives_no_new_decreases(world: World, refused: Refused) -> None:
    """M1: the counts outlive the mode; for an index the switch is one more, even when none is left."""
    world.create(units=(10, 10), index=(10, 10))
    for read in (9, 8, 7, 6):
        change = {"IndexName": "by-g", **units(read, 10)}
        world.client.update_table(
            TableName="Orders", **units(read, 10), GlobalSecondaryIndexUpdates=[{"Update": change}]
        )
        world.clock.advance(10)
    before = described(world)["ProvisionedThroughput"]
    world.client.update_table(TableName="Orders", BillingMode="PAY_PER_REQUEST")
    world.clock.advance(10)
    table = described(world)
    assert table["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 4
    (index,) = table["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 5
    change = {"IndexName": "by-g", **units(10, 10)}
    world.client.update_table(
        TableName="Orders",
        BillingMode="PROVISIONED",
        **units(10, 10),
        GlobalSecondaryIndexUpdates=[{"Update": change}],
    )
    world.clock.advance(10)
    again = described(world)["ProvisionedThroughput"]
    assert again["LastDecreaseDateTime"] == before["LastDecreaseDateTime"]
    answer = refused(world.client.update_table, TableName="Orders", **units(5, 10))
    assert answer["Code"] == "LimitExceededException"


# --- Time ----------------------------------------------------------------------------------------


def test_update_counts_from_its_end_when_table_is_first_read_later() -> None:
    """Section 2.12: burst capacity fills at the new rate from the end of UPDATING on."""
    clock = ManualClock()
    with LocalDatabase(clock=clock, throughput="documented", transition_ms=1_000) as database:
        client = database.client()
        client.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            **units(5, 5),
        )
        clock.advance(2)
        client.get_item(TableName="Orders", Key={"p": {"S": "a"}})
        client.update_table(TableName="Orders", **units(50, 50))
        clock.advance(101)
        write = database.capacity("Orders")["resources"][""]["write"]
        # Three seconds at 5 until the update has ended, a hundred at 50 since.
        assert write["burst"] == 3 * 5 + 100 * 50


def test_a_switch_of_mode_serves_at_the_old_rates_until_it_has_ended() -> None:
    clock = ManualClock()
    with LocalDatabase(clock=clock, throughput="pessimistic", transition_ms=60_000) as database:
        client = database.client()
        client.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            **units(1, 2),
        )
        clock.advance(61)

        def accepted() -> int:
            count = 0
            for _ in range(5):
                try:
                    client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
                    count += 1
                except client.exceptions.ProvisionedThroughputExceededException:
                    break
            return count

        assert accepted() == 2
        client.update_table(TableName="Orders", BillingMode="PAY_PER_REQUEST")
        clock.advance(59)
        assert accepted() == 2
        clock.advance(2)
        assert accepted() == 5
        assert len(database.capacity("Orders")["resources"][""]["partitions"]) == 1
        clock.advance(61)
        assert len(database.capacity("Orders")["resources"][""]["partitions"]) == 4


def test_a_year_passes_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time without requests costs only the steps in which something changes."""
    world.create("Orders", units=(10, 10), index=(5, 5))
    world.create("Events", units=None)
    for n in range(200):
        accepts(world, str(n))
        put(world, str(n), "Events")
    peak = {"read": 20_000, "write": 20_000}
    world.set("Events", previous_peak=peak)
    # A peak that waits to count, on a table that is provisioned when it would.
    ((_, registry),) = world.database.accounts()
    state = registry.resources[("Events", None)].state
    state.peaks[1].waiting.append((world.clock.now_ns(), 40_000 * UNIT))
    world.client.update_table(TableName="Events", BillingMode="PROVISIONED", **units(10, 10))
    world.clock.advance(1)
    taken = 0
    step = Resource._step

    def counted(resource: Resource, at: int) -> Any:
        nonlocal taken
        taken += 1
        return step(resource, at)

    monkeypatch.setattr(Resource, "_step", counted)
    world.clock.advance(YEAR_S)
    world.client.describe_table(TableName="Orders")
    assert 0 < taken < 3_000
    balances = [world.see(name)["write"]["burst"] for name in ("Orders", "Events")]
    assert balances == [3_000, 3_000]
    assert accepts(world) and accepts(world, table="Events")


@pytest.mark.parametrize("profile", ["aws", "documented", "pessimistic", "classic-2017"])
def test_time_that_stands_still_brings_nothing(worlds: Callable[..., World], profile: str) -> None:
    world = worlds(profile)
    world.create(units=(5, 5))
    world.clock.advance(1)
    # A partition serves a thousand writes a second, whatever its burst balance is.
    served = 1_000 if profile == "aws" else 5
    accepted = [accepts(world, "a") for _ in range(served + 100)]
    assert accepted == [True] * served + [False] * 100


# --- Tables come and go --------------------------------------------------------------------------


def test_a_table_of_the_same_name_is_another_table(world: World) -> None:
    world.create(units=(1, 1))
    world.set(partitions=4, balance={"write": 0})
    assert not accepts(world)
    world.client.delete_table(TableName="Orders")
    world.clock.advance(1)
    world.create(units=(2, 2))
    seen = world.see()
    assert (len(seen["partitions"]), seen["write"]["burst"], seen["splits"]) == (1, 600, [])
    assert accepts(world)
    # The metrics of the first one stay, those of the second join them.
    assert world.metric("WriteThrottleEvents", TableName="Orders")[0] == 1
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == 1


def test_an_index_of_the_same_name_is_another_index(world: World) -> None:
    world.create(units=(10, 10), index=(1, 1))
    world.set(index="by-g", balance={"write": -5})
    put(world, "a")
    world.client.update_table(
        TableName="Orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-g"}}]
    )
    world.clock.advance(1)
    index = {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        **units(3, 3),
    }
    world.client.update_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    world.clock.advance(1)
    assert world.see(index="by-g")["write"]["burst"] == 900
    put(world, "b", g={"S": "x"})


def test_what_a_crash_has_left_of_deleted_tables_goes(tmp_path: Any) -> None:
    """A table's row outlives it when the end comes between its deletion and the next step."""

    def rows(database: LocalDatabase) -> list[str]:
        database.accounts()
        return [key.decode() for key, _ in run(store_of(database).range(METER_PART, b"", None, limit=10))]

    with LocalDatabase(tmp_path, throughput="aws") as database:
        run(store_of(database).commit([Batch(METER_PART, puts=[(b"of no table", b"{}")])]))
        assert rows(database) == ["of no table"]
    with LocalDatabase(tmp_path, throughput="aws") as database:
        assert rows(database) == []


def store_of(database: LocalDatabase) -> Any:
    return database.database.store


# --- Profiles at run time ------------------------------------------------------------------------


def test_a_change_of_profile_keeps_partitions_and_counts(world: World) -> None:
    world.create(units=(5, 5))
    world.set(partitions=3, balance={"write": 4})
    assert [accepts(world, str(n)) for n in range(6)] == [True] * 4 + [False] * 2
    world.set(profile="off")
    assert all(accepts(world, str(n)) for n in range(20))
    world.set(profile="pessimistic")
    assert sum(accepts(world, str(n)) for n in range(20)) == 0
    world.clock.advance(1)
    assert sum(accepts(world, str(n)) for n in range(20)) == 5
    parts = world.see()["partitions"]
    assert (len(parts), sum(part["items"] for part in parts)) == (3, 20)
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == 4 + 20 + 5
    assert world.metric("WriteThrottleEvents", TableName="Orders")[0] == 2 + 20 + 15


def test_only_the_table_that_was_named_is_enforced(worlds: Callable[..., World], refused: Refused) -> None:
    world = worlds("off", "Orders=documented")
    world.create("Orders", units=(1, 1))
    world.create("Logs", units=(1, 1))
    assert not accepts(world)
    assert all(accepts(world, str(n), "Logs") for n in range(100))
    mixed = [{"Put": {"TableName": name, "Item": {"p": {"S": "z"}}}} for name in ("Logs", "Orders")]
    answer = refused(world.client.transact_write_items, TransactItems=mixed)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    requests = {name: [{"PutRequest": {"Item": {"p": {"S": "y"}}}}] for name in ("Orders", "Logs")}
    left = world.client.batch_write_item(RequestItems=requests)["UnprocessedItems"]
    assert left == {"Orders": requests["Orders"]}
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Logs")[0] == 101


# --- Splits --------------------------------------------------------------------------------------


def test_nothing_is_lost_of_what_is_charged_while_partitions_split(worlds: Callable[..., World]) -> None:
    """V78: requests on both sides of a split, rates and counts unchanged by it."""
    world = worlds("aws:300/100")
    world.create(units=(100, 30))
    accepted = 0
    for second in range(40):
        if second == 5:
            world.client.update_table(TableName="Orders", **units(400, 200))
        accepted += sum(accepts(world, f"{second}-{n}") for n in range(60))
        world.clock.advance(3)
    assert len(world.see()["partitions"]) == 4
    assert accepted == 40 * 60
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == accepted
    parts = world.see()["partitions"]
    assert sum(part["items"] for part in parts) == accepted


def test_a_table_with_local_indexes_is_cut_between_collections(worlds: Callable[..., World]) -> None:
    """V86: never inside one; entries of local indexes take space as items do."""
    world = worlds("aws:3000/1000/64KB")
    world.create(units=(1_000, 1_000), sort_key=True, local_index=True)
    for n in range(120):
        key = {"p": {"S": "big" if n % 3 else str(n)}, "r": {"S": f"{n:03}"}, "l": {"S": "x" * 300}}
        world.client.put_item(TableName="Orders", Item={**key, "v": {"S": "x" * 500}})
    for _ in range(150):
        world.clock.advance(10)
        world.see()
    seen = world.see()
    assert len(seen["partitions"]) > 1
    assert all(len(bytes.fromhex(part["low"])) in (0, 16) for part in seen["partitions"])
    causes = [event["cause"] for event in seen["splits"] if event["event"] == "SplitRefused"]
    assert any("local secondary index" in cause for cause in causes)


def test_deleted_tables_are_removed_without_requests(world: World) -> None:
    """Not even a ListTables: what is counted of them goes with the deletion, their metrics a day later."""
    for n in range(3):
        world.create(f"Old{n}")
    world.clock.advance(70)
    world.client.list_tables()
    for n in range(3):
        world.client.delete_table(TableName=f"Old{n}")
    world.clock.advance(60)
    ((_, registry),) = world.database.accounts()  # background work is done, and no table is asked for
    assert not registry.resources
    assert any(("TableName", "Old0") in which for _, which in registry.metrics.series)
    world.clock.advance(26 * 3600)
    world.database.accounts()
    assert not any(("TableName", "Old0") in which for _, which in registry.metrics.series)
