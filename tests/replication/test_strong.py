"""Strongly consistent global tables: their life, what they refuse, and what regions that are cut off do.

Sources: errors.md section 6.11 (findings 202, 257 to 261); new-features.md section 11.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from faradisc.engine.tables.change import Change
from faradisc.engine.tables.strong import writing
from faradisc.local import LocalDatabase
from faradisc.storage.immediate import run
from fixtures.direct_client import CONFIG
from fixtures.schemas import invalid, refused, schema
from fixtures.searching import seeds
from fixtures.streamed import Streamed
from fixtures.strong_regions import EAST, OTHER, REGIONS, TABLE, WEST, StrongRegions

STRONG = "global tables with MultiRegionConsistency set to STRONG"


@pytest.fixture
def three() -> Iterator[StrongRegions]:
    yield from opened("three")


@pytest.fixture
def witnessed() -> Iterator[StrongRegions]:
    """Replicas in EAST and WEST, the witness in OTHER."""
    yield from opened("witness")


def opened(kind: str) -> Iterator[StrongRegions]:
    regions = StrongRegions()
    regions.create(witness=kind == "witness")
    yield regions
    regions.check()
    regions.local.close()


def test_a_group_of_three(three: StrongRegions) -> None:
    for region in REGIONS:
        shown = three.describe(region)
        assert shown["MultiRegionConsistency"] == "STRONG"
        assert shown["GlobalTableVersion"] == "2019.11.21"
        statuses = {each["RegionName"]: each["ReplicaStatus"] for each in shown["Replicas"]}
        assert statuses == {other: "ACTIVE" for other in REGIONS if other != region}
        assert "GlobalTableWitnesses" not in shown and "StreamSpecification" not in shown
    three.put(EAST, "a", 1)
    assert [three.get(region, "a") for region in REGIONS] == [1, 1, 1]
    assert not any(link["waiting"] for link in three.local.replication())


def test_a_witness_has_no_table(witnessed: StrongRegions) -> None:
    for region in (EAST, WEST):
        shown = witnessed.describe(region)
        assert shown["GlobalTableWitnesses"] == [{"RegionName": OTHER, "WitnessStatus": "ACTIVE"}]
        assert len(shown["Replicas"]) == 1
    assert witnessed.clients[OTHER].list_tables()["TableNames"] == []
    witnessed.clients[OTHER].create_table(TableName=TABLE, **schema("p:S"))
    witnessed.put(EAST, "a", 1)
    assert witnessed.get(WEST, "a") == 1
    assert witnessed.clients[OTHER].scan(TableName=TABLE)["Count"] == 0


def test_a_region_that_is_cut_off_refuses_and_catches_up(three: StrongRegions) -> None:
    three.put(EAST, "a", 1)
    three.isolate(OTHER)
    three.put(EAST, "a", 2)
    three.put(WEST, "b", 3)
    for action in (lambda: three.get(OTHER, "a"), lambda: three.put(OTHER, "a", 9)):
        with refused("InternalServerError"):
            action()
    with refused("InternalServerError"):
        three.clients[OTHER].query(
            TableName=TABLE,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "a"}},
            ConsistentRead=True,
        )
    assert three.get(OTHER, "a", consistent=False) == 1
    three.join(OTHER)
    assert (three.get(OTHER, "a"), three.get(OTHER, "b")) == (2, 3)


def test_a_write_is_read_by_way_of_the_third_region(three: StrongRegions) -> None:
    three.local.cut(EAST, OTHER)
    three.put(EAST, "a", 1)
    three.isolate(EAST)
    assert three.get(OTHER, "a") == 1
    three.put(OTHER, "a", 2)
    three.join(EAST)
    assert three.get(EAST, "a") == 2


def test_a_write_is_read_by_way_of_the_witness(witnessed: StrongRegions) -> None:
    witnessed.local.cut(EAST, WEST)
    witnessed.put(EAST, "a", 1)
    witnessed.isolate(EAST)
    assert witnessed.get(WEST, "a") == 1
    with refused("InternalServerError"):
        witnessed.put(EAST, "a", 5)
    witnessed.put(WEST, "a", 2)
    witnessed.isolate(WEST)
    with refused("InternalServerError"):
        witnessed.get(WEST, "a")
    witnessed.join(EAST)
    witnessed.local.cut(EAST, WEST)
    assert witnessed.get(EAST, "a") == 2


def test_conditions_see_the_newest_item(three: StrongRegions) -> None:
    three.isolate(OTHER)
    three.put(EAST, "a", 1)
    three.join(OTHER)
    with refused("ConditionalCheckFailedException"):
        three.clients[OTHER].put_item(
            TableName=TABLE, Item={"p": {"S": "a"}}, ConditionExpression="attribute_not_exists(p)"
        )
    answer = three.clients[OTHER].update_item(
        TableName=TABLE,
        Key={"p": {"S": "a"}},
        UpdateExpression="ADD v :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"] == {"v": {"N": "2"}}
    assert [three.get(region, "a") for region in REGIONS] == [2, 2, 2]


def test_batches_and_statements_reach_all_regions(three: StrongRegions) -> None:
    puts = [{"PutRequest": {"Item": {"p": {"S": f"k{n}"}, "v": {"N": str(n)}}}} for n in range(10)]
    three.clients[EAST].batch_write_item(RequestItems={TABLE: puts})
    three.clients[WEST].execute_statement(Statement=f"INSERT INTO {TABLE} VALUE {{'p': 'q', 'v': 7}}")
    found = three.clients[OTHER].scan(TableName=TABLE, ConsistentRead=True)["Items"]
    assert sorted(each["p"]["S"] for each in found) == sorted([*(f"k{n}" for n in range(10)), "q"])
    keys = [{"p": {"S": "k1"}}, {"p": {"S": "q"}}]
    read = three.clients[OTHER].batch_get_item(RequestItems={TABLE: {"Keys": keys, "ConsistentRead": True}})
    assert len(read["Responses"][TABLE]) == 2
    three.isolate(OTHER)
    for statement in (f"SELECT * FROM {TABLE} WHERE p = 'q'", f"SELECT * FROM {TABLE}"):
        with refused("InternalServerError"):
            three.clients[OTHER].execute_statement(Statement=statement, ConsistentRead=True)
    with refused("InternalServerError"):
        three.clients[OTHER].batch_write_item(RequestItems={TABLE: puts[:1]})


def test_writes_of_one_item_in_two_regions_at_once_conflict(three: StrongRegions) -> None:
    """The write of one region has not ended while that of another begins: it waits for the disk."""
    tables = {
        region: three.local.database.backend.tables.for_data(TABLE, region, "000000000000")
        for region in REGIONS
    }
    key = {"p": {"S": "a"}}
    with writing([Change(tables[EAST], key, None)]):
        with refused(
            "ReplicatedWriteConflictException",
            "The request was rejected because one or more items in the request are being modified by a "
            "request in another Region.",
        ):
            three.put(WEST, "a", 1)
        three.put(WEST, "b", 1)
        three.put(EAST, "a", 2)
    three.put(WEST, "a", 3)
    assert three.get(EAST, "a") == 3


def test_streams_have_every_write_in_order(three: StrongRegions) -> None:
    for region in (EAST, OTHER):
        three.clients[region].update_table(
            TableName=TABLE,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        three.describe(region)
    assert "StreamSpecification" not in three.describe(WEST)
    for number in range(4):
        three.put(REGIONS[number % 3], "a", number)
    seen = []
    for region in (EAST, OTHER):
        streams = three.local.client("dynamodbstreams", region, config=CONFIG)
        arn = three.describe(region)["LatestStreamArn"]
        records = Streamed(three.clients[region], streams).records(arn)
        seen.append([record["dynamodb"]["NewImage"]["v"]["N"] for record in records])
    assert seen == [["0", "1", "2", "3"]] * 2
    off = {"StreamEnabled": False}
    three.clients[OTHER].update_table(TableName=TABLE, StreamSpecification=off)
    assert "StreamSpecification" not in three.describe(OTHER)


def test_what_is_not_offered_with_strong_consistency(three: StrongRegions) -> None:
    east, key = three.clients[EAST], {"p": {"S": "a"}}
    text = f"Transactional operations are not supported for {STRONG}."
    for call, members in (
        (east.transact_write_items, {"TransactItems": [{"Put": {"TableName": TABLE, "Item": key}}]}),
        (east.transact_get_items, {"TransactItems": [{"Get": {"TableName": TABLE, "Key": key}}]}),
        (
            east.execute_transaction,
            {"TransactStatements": [{"Statement": f"SELECT * FROM {TABLE} WHERE p = 'a'"}]},
        ),
    ):
        with invalid(text):
            call(**members)
    with invalid(f"Time to live is not supported for {STRONG}."):
        east.update_time_to_live(
            TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
        )
    for region in REGIONS:
        with invalid(f"Deletion of only one table replica is not supported for {STRONG}."):
            three.clients[region].delete_table(TableName=TABLE)


def create(*regions: str) -> dict[str, Any]:
    return {"ReplicaUpdates": [{"Create": {"RegionName": region}} for region in regions]}


def delete(*regions: str) -> dict[str, Any]:
    return {"ReplicaUpdates": [{"Delete": {"RegionName": region}} for region in regions]}


def witness(region: str, action: str = "Create") -> dict[str, Any]:
    return {"GlobalTableWitnessUpdates": [{action: {"RegionName": region}}]}


S = {"MultiRegionConsistency": "STRONG"}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({**create(WEST), **S}, f"Unsupported replica count for {STRONG}."),
        (
            {**create(WEST), **witness(OTHER)},
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is "
            "present.",
        ),
        ({**create(WEST), **witness(WEST), **S}, "Cannot target multiple regions with the same action"),
        (
            {**create(WEST), **witness(EAST), **S},
            "Cannot add a witness in the same region as an existing replica when creating a global table "
            "with MultiRegionConsistency set to STRONG.",
        ),
        (
            {**create("us-west-1"), **witness("us-west-1"), **S},
            f"Unsupported Region(s) specified for {STRONG}: [us-west-1].",
        ),
        (
            {**create(WEST, OTHER), **S, "DeletionProtectionEnabled": True},
            "Requests that modify replicas or witnesses must not also modify other fields",
        ),
        (
            create(WEST, OTHER),
            "Update table operation with more than one create or delete replica actions not allowed",
        ),
    ],
)
def test_creations_that_are_refused(members: dict[str, Any], text: str) -> None:
    regions = StrongRegions()
    east = regions.clients[EAST]
    east.create_table(TableName=TABLE, **schema("p:S"))
    with invalid(text):
        east.update_table(TableName=TABLE, **members)
    assert "Replicas" not in regions.describe(EAST)
    regions.local.close()


@pytest.mark.parametrize("kind", ["items", "local indexes", "expiry"])
def test_tables_that_cannot_become_strong(kind: str) -> None:
    regions = StrongRegions()
    east = regions.clients[EAST]
    lsi = {"by-r": ("w:S", "ALL")} if kind == "local indexes" else None
    east.create_table(TableName=TABLE, **schema("p:S", "r:S" if lsi else "", lsi=lsi))
    text = f"Local secondary indexes are not supported for {STRONG}."
    if kind == "items":
        regions.put(EAST, "a", 1)
        text = f"The table must be empty to be one of {STRONG}."
    elif kind == "expiry":
        text = f"Time to live is not supported for {STRONG}."
        east.update_time_to_live(
            TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
        )
    with invalid(text):
        east.update_table(TableName=TABLE, **create(WEST, OTHER), **S)
    regions.local.close()


def test_the_members_are_frozen(witnessed: StrongRegions) -> None:
    east = witnessed.clients[EAST]
    count = f"Unsupported replica count for {STRONG}."
    for members, text in (
        (create(OTHER), "Cannot add replicas to a global table with strong MultiRegionConsistency"),
        ({**create(OTHER), **S}, count),
        (
            {**create(OTHER), "MultiRegionConsistency": "EVENTUAL"},
            "MultiRegionConsistency parameter is unsupported on existing global table",
        ),
        (
            {**delete(WEST), **S},
            "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.",
        ),
        (delete(WEST), "Update table delete operation does not include all witnesses."),
        (
            {**delete(WEST), **witness("eu-west-1", "Delete")},
            "Update global table operation failed because one or more witnesses were not part of the global "
            "table. Please retry the request without these witnesses: [eu-west-1].",
        ),
    ):
        with invalid(text):
            east.update_table(TableName=TABLE, **members)
    for members in (S, witness(OTHER, "Delete")):
        with pytest.raises(Exception, match="At least one of ProvisionedThroughput"):
            east.update_table(TableName=TABLE, **members)


def test_one_of_three_cannot_be_removed(three: StrongRegions) -> None:
    with invalid(f"Deletion of only one table replica is not supported for {STRONG}."):
        three.clients[EAST].update_table(TableName=TABLE, **delete(WEST))


@pytest.mark.parametrize("kind", ["three", "witness"])
def test_a_group_is_ended_at_once(kind: str) -> None:
    for regions in opened(kind):
        regions.put(EAST, "a", 1)
        members = delete(WEST, OTHER) if kind == "three" else delete(WEST) | witness(OTHER, "Delete")
        regions.clients[EAST].update_table(TableName=TABLE, **members)
        shown = regions.describe(EAST)
        for member in (
            *("Replicas", "MultiRegionConsistency"),
            *("GlobalTableWitnesses", "GlobalTableVersion"),
        ):
            assert member not in shown
        assert regions.clients[WEST].list_tables()["TableNames"] == []
        assert regions.get(EAST, "a") == 1
        regions.clients[EAST].update_table(TableName=TABLE, **create(WEST))
        assert regions.get(WEST, "a") == 1


def test_a_strong_table_survives_a_restart(tmp_path: Any) -> None:
    first = StrongRegions(tmp_path)
    first.create()
    first.isolate(OTHER)
    first.put(EAST, "a", 1)
    first.local.close()
    again = StrongRegions(tmp_path)
    with refused("InternalServerError"):
        again.get(OTHER, "a")
    again.join(OTHER)
    assert again.get(OTHER, "a") == 1
    again.local.close()


@pytest.mark.parametrize("seed", seeds(8, 4))
@pytest.mark.parametrize("witness", [False, True])
def test_nothing_acknowledged_is_lost(seed: int, witness: bool) -> None:
    """Random writes, and strongly consistent reads, in regions whose links are cut and healed: a read of any
    region that answers has the last write that any region has acknowledged."""
    regions, chance = StrongRegions(), random.Random(seed)
    regions.create(witness=witness)
    replicas = [EAST, WEST] if witness else list(REGIONS)
    last: dict[str, int | None] = {}
    refusals = 0
    for number in range(150):
        if chance.random() < 0.15:
            regions.local.cut(*chance.sample(REGIONS, 2))
        if chance.random() < 0.15:
            regions.local.heal(*chance.sample(REGIONS, 2))
        region, key = chance.choice(replicas), chance.choice("abcdef")
        try:
            if chance.random() < 0.5:
                assert regions.get(region, key) == last.get(key)
            elif chance.random() < 0.2:
                regions.delete(region, key)
                last[key] = None
            else:
                regions.put(region, key, number)
                last[key] = number
        except regions.clients[region].exceptions.InternalServerError:
            refusals += 1
    assert refusals
    for one, other in ((EAST, WEST), (EAST, OTHER), (WEST, OTHER)):
        regions.local.heal(one, other)
    for region in replicas:
        assert {key: regions.get(region, key) for key in last} == last
    assert not any(link["waiting"] for link in regions.local.replication())
    regions.check()
    regions.local.close()


def test_replicated_units_are_taken_in_every_region(three: StrongRegions) -> None:
    three.put(EAST, "a", 1)
    for region, expected in ((EAST, 0), (WEST, 1), (OTHER, 1)):
        table = three.local.database.backend.tables.for_data(TABLE, region, "000000000000")
        assert sum(table.meter.writes.replicated.values()) == expected
        assert sum(table.meter.writes.tally.values()) == 1


def test_a_database_in_memory_has_no_conflict_left() -> None:
    with LocalDatabase(regions=REGIONS, region=EAST) as local:
        assert local.database.backend.tables.strong.writing == {}
        assert run(local.database.backend.replicas.links.follow()) is None
