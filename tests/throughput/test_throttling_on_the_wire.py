"""Answers to clients of an enforced table: vectors of capacity.md section 4.6, through boto3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.capacity.throttle import (
    INDEX_WRITE_PROVISIONED,
    MAX_ON_DEMAND,
    TABLE_ON_DEMAND,
    TABLE_PROVISIONED,
)
from faradisc.local import LocalDatabase

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders"
INDEX = f"{TABLE}/index/by-g"

World = Any
Refused = Callable[..., dict[str, Any]]


def item(key: str, size: int = 0, **more: str) -> dict[str, Any]:
    shown = {"p": {"S": key}, **{name: {"S": value} for name, value in more.items()}}
    return {**shown, "v": {"S": "x" * size}} if size else shown


def put(world: World, key: str, size: int = 0, **more: str) -> Any:
    return world.client.put_item(TableName="Orders", Item=item(key, size, **more))


def reasons(answer: dict[str, Any], member: str = "ThrottlingReasons") -> list[tuple[str, str]]:
    return [(reason["reason"], reason["resource"]) for reason in answer[member]]


def test_v90_a_table_without_read_units(world: World, refused: Refused) -> None:
    world.create()
    put(world, "a")
    world.set(balance={"read": 0})
    answer = refused(world.client.get_item, TableName="Orders", Key=item("a"))
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert answer["Text"] == TABLE_PROVISIONED
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert reasons(answer) == [("TableReadProvisionedThroughputExceeded", TABLE)]
    world.clock.advance(0.1)
    assert world.client.get_item(TableName="Orders", Key=item("a"))["Item"] == item("a")


def test_burst_capacity_of_300_seconds_drains(world: World) -> None:
    """S3: unused units of five minutes are kept, and can be spent at once."""
    world.create(units=(1, 2))
    accepted = []
    for second in range(5):
        accepted.append(sum(_accepted(world, f"{second}-{n}") for n in range(200)))
        world.clock.advance(1)
    assert accepted == [200, 200, 200, 6, 2]


def _accepted(world: World, key: str) -> bool:
    try:
        put(world, key)
    except world.client.exceptions.ProvisionedThroughputExceededException:
        return False
    return True


def test_v96b_one_key_and_small_partitions(worlds: Callable[..., World]) -> None:
    """30/10 partitions, 100 WCU, one key at 50 writes a second: 10 pass each second, 40 do not."""
    world = worlds("off", "Orders=aws:30/10")
    world.create(units=(100, 100))
    world.clock.advance(10)
    accepted = 0
    for _ in range(10):
        for _ in range(50):
            accepted += _accepted(world, "hot")
        world.clock.advance(1)
    assert accepted == 100
    which = {"TableName": "Orders"}
    assert world.metric("WriteKeyRangeThroughputThrottleEvents", **which)[0] == 400
    assert world.metric("WriteThrottleEvents", **which)[0] == 400
    assert world.metric("ConsumedWriteCapacityUnits", **which)[0] == 100


def test_v96_one_key_on_demand(world: World, refused: Refused) -> None:
    world.create(units=None)
    for partition in world.see()["partitions"]:
        world.set(partition={"id": partition["id"], "write": 0})
    answer = refused(put, world=world, key="hot")
    assert (answer["Code"], answer["Text"]) == ("ThrottlingException", TABLE_ON_DEMAND)
    assert reasons(answer, "throttlingReasons") == [("TableWriteKeyRangeThroughputExceeded", TABLE)]


def test_v107_an_on_demand_maximum_of_reads(world: World, refused: Refused) -> None:
    world.create(units=None, OnDemandThroughput={"MaxReadRequestUnits": 17})
    put(world, "a")
    world.set(balance={"read": 0})
    answer = refused(world.client.get_item, TableName="Orders", Key=item("a"))
    assert (answer["Code"], answer["Text"]) == ("ThrottlingException", MAX_ON_DEMAND)
    assert reasons(answer, "throttlingReasons") == [("TableReadMaxOnDemandThroughputExceeded", TABLE)]


def test_v108_an_on_demand_maximum_of_an_index(world: World, refused: Refused) -> None:
    world.create(units=None, on_demand_index=True)
    update = {"IndexName": "by-g", "OnDemandThroughput": {"MaxWriteRequestUnits": 1}}
    world.client.update_table(TableName="Orders", GlobalSecondaryIndexUpdates=[{"Update": update}])
    put(world, "a", g="x")
    world.set(index="by-g", balance={"write": 0})
    changed = {"TableName": "Orders", "Key": item("a"), "UpdateExpression": "SET g = :g"}
    changed["ExpressionAttributeValues"] = {":g": {"S": "y"}}
    single = refused(world.client.update_item, **changed)
    assert single["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(single) == [("IndexWriteMaxOnDemandThroughputExceeded", INDEX)]
    several = refused(world.client.transact_write_items, TransactItems=[{"Update": changed}])
    assert several["Code"] == "ThrottlingException" and "CancellationReasons" not in several
    assert reasons(several, "throttlingReasons") == [("IndexWriteMaxOnDemandThroughputExceeded", INDEX)]
    statement = {"Statement": "UPDATE Orders SET g = 'y' WHERE p = 'a'"}
    (response,) = world.client.batch_execute_statement(Statements=[statement])["Responses"]
    assert response["Error"]["Code"] == "ThrottlingError"


def test_v111_an_index_refuses_what_it_does_not_project(world: World, refused: Refused) -> None:
    world.create(units=(32, 32), index=(1, 1))
    put(world, "a", g="x")
    world.set(index="by-g", balance={"write": 0})
    answer = refused(
        world.client.update_item,
        TableName="Orders",
        Key=item("a"),
        UpdateExpression="SET unseen = :v",
        ExpressionAttributeValues={":v": {"S": "1"}},
    )
    assert (answer["Code"], answer["Text"]) == (
        "ProvisionedThroughputExceededException",
        INDEX_WRITE_PROVISIONED,
    )
    assert reasons(answer) == [("IndexWriteProvisionedThroughputExceeded", INDEX)]
    assert world.client.get_item(TableName="Orders", Key=item("a"))["Item"] == item("a", g="x")
    put(world, "b")  # an item the index does not hold is none of its business


def test_v112_a_batch_of_writes_and_units_for_a_few(world: World, refused: Refused) -> None:
    world.create(units=(5, 5))
    requests = [{"PutRequest": {"Item": item(f"{n:02}")}} for n in range(25)]
    world.set(balance={"write": 7})
    left = world.client.batch_write_item(RequestItems={"Orders": requests})["UnprocessedItems"]
    assert left == {"Orders": requests[7:]}
    found = world.client.scan(TableName="Orders")["Items"]
    assert sorted(each["p"]["S"] for each in found) == [f"{n:02}" for n in range(7)]
    answer = refused(world.client.batch_write_item, RequestItems={"Orders": requests[7:]})
    assert answer["Code"] == "ProvisionedThroughputExceededException"


def test_v112_a_batch_of_writes_to_a_hot_partition(worlds: Callable[..., World], refused: Refused) -> None:
    """The table has units enough; the code is that of a table without units, and of a single write."""
    world = worlds("aws:30/10")
    world.create(units=(5, 5))
    requests = [{"PutRequest": {"Item": item(f"{n:02}")}} for n in range(25)]
    left = world.client.batch_write_item(RequestItems={"Orders": requests})["UnprocessedItems"]
    assert left == {"Orders": requests[10:]}
    answer = refused(world.client.batch_write_item, RequestItems={"Orders": requests})
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(answer) == [("TableWriteKeyRangeThroughputExceeded", TABLE)]
    single = refused(world.client.put_item, TableName="Orders", Item=item("a"))
    assert single["Code"] == "ProvisionedThroughputExceededException"


def test_a_batch_of_reads_returns_what_was_not_read(world: World, refused: Refused) -> None:
    """V131: four throttled charges are four events and no throttled request."""
    world.create()
    for n in range(10):
        put(world, str(n))
    world.set(balance={"read": 6})
    wanted = {"Keys": [item(str(n)) for n in range(10)], "ConsistentRead": True}
    answer = world.client.batch_get_item(RequestItems={"Orders": wanted})
    assert len(answer["Responses"]["Orders"]) == 6
    assert answer["UnprocessedKeys"] == {"Orders": {**wanted, "Keys": wanted["Keys"][6:]}}
    all_refused = refused(world.client.batch_get_item, RequestItems={"Orders": wanted})
    assert all_refused["Code"] == "ProvisionedThroughputExceededException"
    assert world.metric("ReadThrottleEvents", TableName="Orders")[0] == 4 + 10
    assert world.metric("ThrottledRequests", TableName="Orders", Operation="BatchGetItem")[0] == 1


def test_v113_a_scan_ends_at_the_partition_without_units(world: World, refused: Refused) -> None:
    world.create(units=(100, 100))
    world.set(partitions=3)
    for n in range(60):
        put(world, f"{n:02}")
    parts = world.see()["partitions"]
    world.set(partition={"id": parts[1]["id"], "read": 0})
    page = world.client.scan(TableName="Orders", ReturnConsumedCapacity="TOTAL")
    assert 0 < page["Count"] < 60
    assert page["LastEvaluatedKey"] == {"p": page["Items"][-1]["p"]}
    again = refused(world.client.scan, TableName="Orders", ExclusiveStartKey=page["LastEvaluatedKey"])
    assert again["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(again) == [("TableReadKeyRangeThroughputExceeded", TABLE)]
    world.clock.advance(1)
    rest = world.client.scan(TableName="Orders", ExclusiveStartKey=page["LastEvaluatedKey"])
    assert page["Count"] + rest["Count"] == 60 and "LastEvaluatedKey" not in rest


def test_v114_a_transaction_and_a_table_without_units(world: World, refused: Refused) -> None:
    world.create()
    puts = [{"Put": {"TableName": "Orders", "Item": item(key)}} for key in "ab"]
    world.set(balance={"write": 0})
    answer = refused(world.client.transact_write_items, TransactItems=puts)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert world.client.scan(TableName="Orders")["Count"] == 0
    assert _throttled(world, "Orders", "TransactWriteItems") == 1


def test_only_the_table_that_refuses_a_transaction_has_a_throttled_request(
    world: World, refused: Refused
) -> None:
    world.create()
    world.create("Other", units=None)
    world.set(balance={"write": 0})
    puts = [{"Put": {"TableName": name, "Item": item("a")}} for name in ("Other", "Orders")]
    answer = refused(world.client.transact_write_items, TransactItems=puts)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert [_throttled(world, name, "TransactWriteItems") for name in ("Orders", "Other")] == [1, 0]


def _throttled(world: World, table: str, operation: str, **more: str) -> float:
    return world.metric("ThrottledRequests", TableName=table, Operation=operation, **more)[0]


def test_v114_a_transaction_and_a_hot_partition_on_demand(world: World, refused: Refused) -> None:
    world.create(units=None)
    cold, hot = _keys_of_two_partitions(world)
    answer = refused(
        world.client.transact_write_items,
        TransactItems=[{"Put": {"TableName": "Orders", "Item": item(key)}} for key in (cold, hot)],
    )
    assert answer["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in answer["CancellationReasons"]] == ["None", "ThrottlingError"]
    assert answer["Text"].endswith("[None, ThrottlingError]")
    assert _throttled(world, "Orders", "TransactWriteItems") == 1
    assert world.metric("UserErrors") == (0, 0)
    reads = [{"Get": {"TableName": "Orders", "Key": item(key)}} for key in (cold, hot)]
    assert world.client.transact_get_items(TransactItems=reads)["Responses"] == [{}, {}]


def _keys_of_two_partitions(world: World) -> tuple[str, str]:
    """A key, and one of the last partition, which has no write units left."""
    last = world.see()["partitions"][-1]
    by_partition: dict[bool, str] = {}
    for n in range(100):
        before = world.see()["partitions"][-1]["write"]["balance"]
        put(world, str(n))
        by_partition[world.see()["partitions"][-1]["write"]["balance"] < before] = str(n)
        world.client.delete_item(TableName="Orders", Key=item(str(n)))
        if len(by_partition) == 2:
            break
    world.set(partition={"id": last["id"], "write": 0})
    return by_partition[False], by_partition[True]


def test_v115_expiry_costs_nothing(world: World) -> None:
    world.create(units=(1, 1))
    specification = {"Enabled": True, "AttributeName": "until"}
    world.client.update_time_to_live(TableName="Orders", TimeToLiveSpecification=specification)
    until = {"until": {"N": str(world.clock.now_ns() // 10**9 + 500)}}
    for n in range(1000):
        if n % 250 == 0:
            world.clock.advance(300 if n == 0 else 0)
            world.set(balance={"write": 300})
        world.client.put_item(TableName="Orders", Item={**item(str(n)), **until})
    before = world.metric("ConsumedWriteCapacityUnits", TableName="Orders")
    world.clock.advance(600)
    assert world.client.scan(TableName="Orders")["Count"] == 0
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == before[0] == 1000
    assert world.metric("WriteThrottleEvents", TableName="Orders") == (0, 0)
    assert world.metric("TimeToLiveDeletedItemCount", TableName="Orders")[0] == 1000


def test_v130_a_put_that_table_and_index_refuse(world: World, refused: Refused) -> None:
    """One throttled request, an event for the table and one for the index."""
    world.create(index=(1, 1))
    world.set(balance={"write": 0})
    world.set(index="by-g", balance={"write": 0})
    refused(put, world=world, key="a", g="x")
    assert world.metric("ThrottledRequests", TableName="Orders", Operation="PutItem")[0] == 1
    assert world.metric("WriteThrottleEvents", TableName="Orders")[0] == 1
    assert world.metric("WriteThrottleEvents", TableName="Orders", GlobalSecondaryIndexName="by-g")[0] == 1


def test_v133_a_failed_condition_is_charged(world: World, refused: Refused) -> None:
    world.create()
    put(world, "a", 4097 - 3)
    before = world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0]
    answer = refused(
        world.client.put_item,
        TableName="Orders",
        Item=item("a"),
        ConditionExpression="attribute_not_exists(p)",
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["Code"] == "ConditionalCheckFailedException" and "ConsumedCapacity" not in answer
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] - before == 5
    assert world.metric("ConditionalCheckFailedRequests", TableName="Orders")[0] == 1


def test_v132_an_index_pays_for_its_own_reads(world: World) -> None:
    world.create(index=(10, 10))
    put(world, "a", g="x")
    for _ in range(60):
        world.client.query(
            TableName="Orders",
            IndexName="by-g",
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": "x"}},
        )
    assert (
        world.metric("ConsumedReadCapacityUnits", TableName="Orders", GlobalSecondaryIndexName="by-g")[0]
        == 30
    )
    assert world.metric("ConsumedReadCapacityUnits", TableName="Orders")[0] == 0


def test_a_local_index_spends_the_units_of_its_table(world: World) -> None:
    """I6: what the entries of local indexes cost is in the table's figures."""
    world.create(sort_key=True, local_index=True)
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "r": {"S": "1"}, "l": {"S": "z"}})
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == 2


def test_size_of_item_is_checked_before_capacity(world: World, refused: Refused) -> None:
    world.create()
    world.set(balance={"write": 0})
    assert refused(put, world=world, key="a", size=410_000)["Code"] == "ValidationException"


@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM Orders WHERE p = 'a'", "SELECT * FROM Orders", "DELETE FROM Orders WHERE p = 'a'"],
)
def test_statements_are_refused_as_the_other_operations_are(
    world: World, refused: Refused, statement: str
) -> None:
    world.create()
    put(world, "a")
    world.set(balance={"read": 0, "write": 0})
    answer = refused(world.client.execute_statement, Statement=statement)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    operation = "Write" if statement.startswith("DELETE") else "Read"
    assert reasons(answer) == [(f"Table{operation}ProvisionedThroughputExceeded", TABLE)]


def test_a_batch_of_statements_is_throttled_if_all_are(world: World) -> None:
    world.create()
    put(world, "a")
    put(world, "b")
    of_writes = {"OperationType": "Write"}
    statements = [{"Statement": f"DELETE FROM Orders WHERE p = '{key}'"} for key in "ab"]
    absent = {"Statement": "DELETE FROM Absent WHERE p = 'a'"}
    for batch, throttled in ([*statements, absent], 0), (statements, 1):
        world.set(balance={"write": 0})
        responses = world.client.batch_execute_statement(Statements=batch)["Responses"]
        codes = [response["Error"]["Code"] for response in responses]
        assert codes[:2] == ["ProvisionedThroughputExceeded"] * 2
        assert _throttled(world, "Orders", "BatchExecuteStatement", **of_writes) == throttled


def test_a_statement_over_several_keys_ends_at_the_partition_without_units(
    world: World, refused: Refused
) -> None:
    world.create(sort_key=True, units=(100, 100))
    world.set(partitions=2)
    low, high = _sides(world)
    for key in (low, high):
        for r in ("1", "2"):
            world.client.put_item(TableName="Orders", Item={"p": {"S": key}, "r": {"S": r}})
    statement = f"SELECT p, r FROM Orders WHERE p IN ['{low}', '{high}']"
    last = world.see()["partitions"][-1]["id"]
    world.set(partition={"id": last, "read": 0})
    page = world.client.execute_statement(Statement=statement)
    assert [found["p"]["S"] for found in page["Items"]] == [low, low] and "NextToken" in page
    before = world.see()["read"]["burst"]
    answer = refused(world.client.execute_statement, Statement=statement, NextToken=page["NextToken"])
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(answer) == [("TableReadKeyRangeThroughputExceeded", TABLE)]
    assert world.see()["read"]["burst"] == before, "no read is reported"
    world.clock.advance(1)
    rest = world.client.execute_statement(Statement=statement, NextToken=page["NextToken"])["Items"]
    assert [found["p"]["S"] for found in rest] == [high, high]


def _sides(world: World) -> tuple[str, str]:
    """A key of the first and one of the last of two partitions."""
    sides: dict[bool, str] = {}
    for n in range(100):
        before = world.see()["partitions"][0]["items"]
        key = {"p": {"S": str(n)}, "r": {"S": "0"}}
        world.client.put_item(TableName="Orders", Item=key)
        sides[world.see()["partitions"][0]["items"] > before] = str(n)
        world.client.delete_item(TableName="Orders", Key=key)
        if len(sides) == 2:
            break
    return sides[True], sides[False]


def test_nothing_is_refused_where_nothing_is_enforced(worlds: Callable[..., World]) -> None:
    world = worlds("off")
    world.create(units=(1, 1))
    for n in range(1000):
        put(world, str(n))
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Orders")[0] == 1000
    assert world.metric("WriteThrottleEvents", TableName="Orders") == (0, 0)


def test_v116_a_full_item_collection(worlds: Callable[..., World], refused: Refused) -> None:
    """With local indexes a collection ends at its limit (here 2,000 bytes): it may only shrink then."""
    with LocalDatabase(collection_bytes_max=2_000) as database:
        world = worlds()
        world.client = database.client()
        world.create(sort_key=True, local_index=True)

        def change(size: int, sort: str = "1") -> Any:
            key = {"p": {"S": "a"}, "r": {"S": sort}}
            return world.client.put_item(TableName="Orders", Item={**key, "v": {"S": "x" * size}})

        change(1_500)
        answer = refused(change, size=600, sort="2")
        assert answer["Code"] == "ItemCollectionSizeLimitExceededException"
        change(900)
        world.client.delete_item(TableName="Orders", Key={"p": {"S": "a"}, "r": {"S": "1"}})
        change(600, sort="2")


def test_a_full_partition_splits_at_the_middle_of_its_bytes(worlds: Callable[..., World]) -> None:
    world = worlds("aws:3000/1000/64KB")
    world.create(units=(100, 100))
    for n in range(100):
        put(world, f"{n:03}", 1_000)
        world.clock.advance(0.1)
    assert len(world.see()["partitions"]) == 1
    for _ in range(30):
        world.clock.advance(10)
        world.see()
    first, second = world.see()["partitions"]
    assert {event["reason"] for event in world.see()["splits"] if event["event"] == "Split"} == {"size"}
    assert abs(first["bytes"] - second["bytes"]) < 10_000
    assert first["items"] + second["items"] == 100


def test_a_hot_key_is_isolated_and_then_refused_to_split(worlds: Callable[..., World]) -> None:
    """V96, heat: one item takes a partition of its own, and its limit stays its limit."""
    world = worlds("aws:30/10")
    world.create(units=(200, 200), sort_key=False)
    for _ in range(180):
        for _ in range(12):
            _accepted(world, "hot")
        _accepted(world, "cold")
        world.clock.advance(10)
    splits = world.see()["splits"]
    heat = [event for event in splits if event["event"] == "SplitStarted" and event["reason"] == "heat"]
    assert heat and heat[0]["key"] is not None
    causes = [event["cause"] for event in splits if event["event"] == "SplitRefused"]
    assert any("a partition of its own" in cause for cause in causes)
