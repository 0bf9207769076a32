"""How writes arrive in other regions: which one wins, when, at whose cost, and what a cut link does."""

from __future__ import annotations

import random
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.derived.replication import CURSOR_BYTES_MAX, replication_of, stamp_of
from faradisc.engine.replication.delivery import Arrival, apply_arrivals
from faradisc.engine.replication.links import Links
from faradisc.local import LocalDatabase
from faradisc.operations.call import Call
from faradisc.services.administration.throughput import AdminError
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.direct_client import CONFIG
from fixtures.regions import AP, EU, REGIONS, TABLE, US, Regions


def test_the_last_writer_wins_when_a_link_heals(regions: Regions) -> None:
    regions.create(EU)
    regions.local.cut(US, EU)
    regions.put(EU, "a", 1)
    regions.put(US, "a", 2)
    regions.put(US, "b", 1)
    regions.delete(EU, "a")
    regions.delete(US, "b")
    regions.put(EU, "b", 2)
    assert regions.values("a") == ["2", None]
    links = {(each["from"], each["to"]): each for each in regions.local.replication()}
    assert links[US, EU]["cut"]
    assert links[US, EU]["waiting"] == 3
    regions.local.heal(US, EU)
    assert regions.values("a") == [None, None]
    assert regions.values("b") == ["2", "2"]
    conflicts = {(each["from"], each["to"]): each["conflicts"] for each in regions.local.replication()}
    assert conflicts == {(US, EU): 3, (EU, US): 1}


def test_an_older_write_of_the_same_record_does_not_undo_a_third(regions: Regions) -> None:
    """A write that changes nothing where it arrives is the last one there all the same."""
    regions.create(EU, AP)
    regions.local.cut(US, EU)
    regions.local.cut(US, AP)
    regions.local.cut(EU, AP)
    regions.put(US, "a", 1)
    regions.put(AP, "a", 2)
    regions.put(EU, "a", 1)
    regions.local.heal(US, EU)
    regions.items(US)
    for one, other in ((US, AP), (EU, AP)):
        regions.local.heal(one, other)
    assert regions.values("a") == ["1", "1", "1"]


def test_a_lag_delays_writes_by_the_clock_and_the_seed() -> None:
    store = MemoryStore()
    drawn = [
        [Links(store, 100, seed).delay_ns((US, EU), 0, number) for number in range(200)] for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 50e6 < sum(drawn[0]) / 200 < 200e6
    regions = Regions(replication_lag_ms=1000, replication_seed=3)
    regions.create(EU)
    regions.put(US, "a", 1)
    assert regions.values("a") == ["1", None]
    regions.clock.advance(30)
    assert regions.values("a") == ["1", "1"]
    regions.local.close()


def test_expired_items_are_deleted_by_the_service_in_one_region(regions: Regions) -> None:
    regions.create(EU)
    regions.us.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    soon = regions.clock.now_ns() // 10**9 + 10
    for number in range(60):
        regions.put(EU, f"k{number}", number, exp={"N": str(soon)})
    regions.clock.advance(20)
    assert regions.items(US) == regions.items(EU) == {}
    removed = {
        region: [each for each in regions.records(region) if each["eventName"] == "REMOVE"]
        for region in (US, EU)
    }
    assert [len(each) for each in removed.values()] == [60, 60]
    assert all("userIdentity" in each for each in removed[US])
    assert not any("userIdentity" in each for each in removed[EU])


def test_the_latency_of_replication_is_a_metric(regions: Regions) -> None:
    regions.create(EU)
    regions.put(US, "a", 1)
    regions.items(EU)
    regions.clock.advance(120)
    cloudwatch = regions.local.client("cloudwatch", US, config=CONFIG)
    now = regions.clock.now_ns() / 1e9
    (point,) = cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName="ReplicationLatency",
        Dimensions=[
            {"Name": "TableName", "Value": TABLE},
            {"Name": "ReceivingRegion", "Value": EU},
        ],
        StartTime=now - 600,
        EndTime=now,
        Period=600,
        Statistics=["Average"],
    )["Datapoints"]
    assert point["Average"] == 0


def test_units_of_writes_that_arrive_are_told_apart(regions: Regions) -> None:
    """metrics.md: Source is Customer or GlobalTable."""
    regions.create(EU, gsi={"by-v": ("v:N", "", "ALL")})
    regions.put(US, "a", 1, big={"S": "x" * 2000})
    regions.put(EU, "b", 2)
    regions.items(US)
    regions.clock.advance(120)
    regions.items(US)
    now = regions.clock.now_ns() / 1e9

    def units(region: str, **more: str) -> float:
        cloudwatch = regions.local.client("cloudwatch", region, config=CONFIG)
        named = {"TableName": TABLE, **more}
        points = cloudwatch.get_metric_statistics(
            Namespace="AWS/DynamoDB",
            MetricName="ConsumedWriteCapacityUnits",
            Dimensions=[{"Name": name, "Value": value} for name, value in named.items()],
            StartTime=now - 600,
            EndTime=now,
            Period=600,
            Statistics=["Sum"],
        )["Datapoints"]
        total: float = sum(point["Sum"] for point in points)
        return total

    index = {"GlobalSecondaryIndexName": "by-v"}
    for region, own, arrived in ((US, 2, 1), (EU, 1, 2)):
        assert units(region) == 3
        assert (units(region, Source="Customer"), units(region, Source="GlobalTable")) == (own, arrived)
        of_index = [units(region, Source=source, **index) for source in ("Customer", "GlobalTable")]
        assert of_index == [own, arrived]


def test_items_of_a_replica_take_48_bytes_more(regions: Regions) -> None:
    regions.create()
    for key in "abc":
        regions.put(US, key, 1)
    before = regions.describe(US)["TableSizeBytes"]
    regions.update(regions.us, Create={"RegionName": EU})
    assert [regions.describe(region)["TableSizeBytes"] for region in (US, EU)] == [before + 3 * 48] * 2


def test_a_write_meets_an_arrival_that_changes_the_stamp_alone(
    regions: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a store that several nodes share: the arrival leaves the item, and its version, as they are. A write
    that has read the stamp before would come after it with an earlier stamp, and lose elsewhere."""
    regions.create(EU)
    regions.put(US, "a", 1)
    regions.items(EU)
    database = regions.local.database
    table = database.backend.tables.find(TABLE, EU, "000000000000")
    replication = None if table is None else replication_of(table)
    assert table is not None and replication is not None
    replication.shared = True
    store, commit = database.store, database.store.commit
    row_key = table.placement.row_key({"p": {"S": "a"}})
    (present,) = run(store.get(table.placement.part_of(row_key), [row_key]))
    assert present is not None
    arriving = stamp_of(regions.clock.now_ns() + 3600 * 10**9, US)
    waiting = [Arrival({"p": {"S": "a"}}, present[1], arriving)]

    async def commit_after_arrival(batches: Any, *, durable: bool = True) -> Any:
        if waiting:
            nothing = Batch(replication.slot_parts[0])
            await apply_arrivals(store, table, [waiting.pop()], lambda _: nothing, charged=False)
        return await commit(batches, durable=durable)

    monkeypatch.setattr(store, "commit", commit_after_arrival)
    regions.put(EU, "a", 2)
    (row,) = run(replication.stamps(store, [row_key]))
    assert not waiting and row is not None
    assert row[1] > arriving
    monkeypatch.undo()
    regions.items(EU)


def test_items_of_every_slot_get_the_stamps_that_arrive(regions: Regions) -> None:
    """Slot 0 has the cursors of delivery too."""
    regions.create(EU)
    for number in range(40):
        regions.put(US, f"k{number}", number)
    regions.items(EU)
    assert sorted(stamps(regions, EU)) == sorted(stamps(regions, US))


def test_writes_that_arrive_wait_for_throughput() -> None:
    regions = Regions(throughput="aws")
    regions.create(EU)
    for number in range(50):
        regions.put(US, f"k{number}", number)
    assert regions.items(EU) == regions.items(US)
    regions.local.close()


def test_transactions_arrive(regions: Regions) -> None:
    regions.create(EU)
    regions.us.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": TABLE, "Item": {"p": {"S": key}, "v": {"N": "1"}}}} for key in "abc"
        ]
    )
    assert sorted(regions.items(EU)) == ["a", "b", "c"]


def test_a_replica_is_filled_while_writes_go_on(regions: Regions) -> None:
    regions.create()
    for number in range(700):
        regions.put(US, f"k{number}", number)
    run(regions.local.database.backend.replicas.links.cut(US, AP))
    regions.update(regions.us, Create={"RegionName": EU})
    chance = random.Random(1)
    database: Any = regions.local.database
    for number in range(12):
        run(database.backend.replicas.step())
        key = {"p": {"S": f"k{chance.randrange(700)}"}}
        request: dict[str, Any] = {"TableName": TABLE, "Item": {**key, "v": {"N": str(-number)}}}
        operation = "PutItem"
        if number % 3 == 0:
            operation, request = "DeleteItem", {"TableName": TABLE, "Key": key}
        run(database.execute(Call(operation, request, True, US, "000000000000")))
    assert regions.items(EU) == regions.items(US)


@pytest.mark.parametrize("seed", range(6))
def test_replicas_converge(seed: int) -> None:
    """Random writes, deletes and expiry in three regions, with links cut and healed and a lag."""
    chance = random.Random(seed)
    regions = Regions(replication_lag_ms=chance.choice([0, 50, 5000]), replication_seed=seed)
    regions.create(EU, AP)
    regions.us.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    for step in range(150):
        region, key = chance.choice(REGIONS), chance.choice("abcdefgh")
        match chance.randrange(10):
            case 0:
                regions.local.cut(*chance.sample(REGIONS, 2))
            case 1:
                regions.local.heal(*chance.sample(REGIONS, 2))
            case 2 | 3:
                regions.delete(region, key)
            case 4:
                soon = regions.clock.now_ns() // 10**9 + chance.randrange(5)
                regions.put(region, key, step, exp={"N": str(soon)})
            case 5:
                regions.clock.advance(chance.choice([0.01, 1, 3]))
            case 6:
                regions.put(region, key, 0)  # the same item in several regions
            case _:
                regions.put(region, key, step)
    for one in REGIONS:
        for other in REGIONS:
            regions.local.heal(one, other)
    for _ in range(2):  # what expires is under way for a while, too
        regions.clock.advance(300)
        regions.items(US)
    items = [regions.items(region) for region in REGIONS]
    assert items[0] == items[1] == items[2]
    for region in REGIONS:
        assert regions.explained(region, {}) == items[0]
    assert all(not link["waiting"] for link in regions.local.replication())
    regions.check()
    regions.local.close()


def test_what_is_cut_survives_a_restart(tmp_path: Any) -> None:
    clock = ManualClock()
    with LocalDatabase(tmp_path, region=US, regions=REGIONS, clock=clock) as local:
        regions = object.__new__(Regions)
        regions.local, regions.clock = local, clock
        regions.clients = {region: local.client("dynamodb", region, config=CONFIG) for region in REGIONS}
        regions.us, regions.eu, regions.ap = regions.clients.values()
        regions.create(EU)
        local.cut(US, EU)
        regions.put(US, "a", 1)
        assert regions.items(EU) == {}
    with LocalDatabase(tmp_path, region=US, regions=REGIONS, clock=clock) as local:
        client = local.client("dynamodb", EU, config=CONFIG)
        assert client.scan(TableName=TABLE)["Items"] == []
        assert [link["cut"] for link in local.replication()] == [True, True]
        local.heal(US, EU)
    with LocalDatabase(tmp_path, region=US, regions=REGIONS, clock=clock) as local:
        assert [link["cut"] for link in local.replication()] == [False, False]
        found = local.client("dynamodb", EU, config=CONFIG).scan(TableName=TABLE)["Items"]
        assert [each["p"] for each in found] == [{"S": "a"}]


def test_stamps_of_deleted_items_are_forgotten_when_nothing_is_under_way(regions: Regions) -> None:
    regions.create(EU)
    for key in "abc":
        regions.put(US, key, 1)
    regions.delete(US, "a")
    regions.local.cut(US, EU)
    regions.delete(US, "b")
    assert (len(stamps(regions, US)), len(stamps(regions, EU))) == (3, 3)
    regions.clock.advance(3 * 86_400)
    regions.items(US)
    assert (len(stamps(regions, US)), len(stamps(regions, EU))) == (3, 3)
    regions.local.heal(US, EU)
    for _ in range(2):
        regions.clock.advance(2 * 86_400)
        regions.items(US)
    assert (len(stamps(regions, US)), len(stamps(regions, EU))) == (1, 1)


def stamps(regions: Regions, region: str) -> list[bytes]:
    """Returns the keys of the stamps of a replica."""
    database = regions.local.database
    table = database.backend.tables.find(TABLE, region, "000000000000")
    replication = None if table is None else replication_of(table)
    assert replication is not None
    found = []
    for part in replication.slot_parts:
        rows = run(database.store.range(part, None, None, limit=100))
        found += [key for key, _ in rows if len(key) > CURSOR_BYTES_MAX]
    return found


def test_an_administrator_cuts_and_heals_links(regions: Regions) -> None:
    regions.create(EU)
    regions.items(EU)
    administration = regions.local.database.administration
    links = run(administration.change_links({"cut": [US, EU]}))
    assert [link["cut"] for link in links] == [True, True]
    links = run(administration.change_links({"heal": [EU, US]}))
    assert [link["cut"] for link in links] == [False, False]
    for wrong in ({"cut": [US]}, {"cut": US}, {"cut": [US, 1]}, {"break": [US, EU]}):
        with pytest.raises(AdminError):
            run(administration.change_links(wrong))
