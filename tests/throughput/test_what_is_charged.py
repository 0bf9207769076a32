"""Charges of requests that fail, are repeated, end early or are throttled.

Source: capacity.md sections 2.2, 2.5 and 2.11.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.server.tracing import TraceFile

World = Any
Refused = Callable[..., dict[str, Any]]
PUT = {"TableName": "Orders", "Item": {"p": {"S": "a"}}}
EXISTS = "attribute_exists(p)"


def consumed(world: World, way: str = "Write") -> float:
    return float(world.metric(f"Consumed{way}CapacityUnits", TableName="Orders")[0])


def test_failed_transactions_consume_burst_capacity(world: World, refused: Refused) -> None:
    """I1, section 2.2: a cancelled transaction costs what it costs, and asks before."""
    world.create(units=(1, 1))
    world.set(balance={"write": 5})
    failing = [{"Put": {**PUT, "ConditionExpression": EXISTS}}]
    codes = [refused(world.client.transact_write_items, TransactItems=failing)["Code"] for _ in range(10)]
    assert codes == ["TransactionCanceledException"] * 3 + ["ProvisionedThroughputExceededException"] * 7
    assert consumed(world) == 6


def test_a_cancelled_transaction_over_tables_of_different_modes(world: World, refused: Refused) -> None:
    """The table that has units pays nothing when the other one has none."""
    world.create("Orders", units=(5, 5))
    world.create("Events", units=None)
    world.set("Orders", balance={"write": 0})
    puts = [{"Put": {**PUT, "TableName": name}} for name in ("Events", "Orders")]
    answer = refused(world.client.transact_write_items, TransactItems=puts)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert world.metric("ConsumedWriteCapacityUnits", TableName="Events")[0] == 0
    assert world.client.scan(TableName="Events")["Count"] == 0


def test_a_replay_is_charged_as_reads(world: World, refused: Refused) -> None:
    """V53: 4 RCU, no WCU; and without read units it is refused."""
    world.create()
    request = {"ClientRequestToken": "once", "TransactItems": [{"Put": PUT}]}
    world.client.transact_write_items(**request)
    assert (consumed(world), consumed(world, "Read")) == (2, 0)
    world.client.transact_write_items(**request)
    assert (consumed(world), consumed(world, "Read")) == (2, 2)
    world.set(balance={"read": 0})
    answer = refused(world.client.transact_write_items, **request)
    assert answer["Code"] == "ProvisionedThroughputExceededException"
    assert answer["ThrottlingReasons"][0]["reason"] == "TableReadProvisionedThroughputExceeded"


@pytest.mark.parametrize(("profile", "units"), [("aws", 2), ("documented", 4)])
def test_a_failed_put_by_the_rule_of_its_profile(
    worlds: Callable[..., World], refused: Refused, profile: str, units: int
) -> None:
    """V49 on the wire: 2 KB are there, 4 KB were to come."""
    world = worlds(profile)
    world.create()
    world.clock.advance(10)
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "v": {"S": "x" * 2_000}})
    before = consumed(world)
    new = {"p": {"S": "a"}, "v": {"S": "x" * 4_000}}
    never = {"ConditionExpression": "attribute_not_exists(p)"}
    answer = refused(world.client.put_item, TableName="Orders", Item=new, **never)
    assert answer["Code"] == "ConditionalCheckFailedException"
    assert consumed(world) - before == units


def test_an_update_that_could_not_be_made_fails_by_its_condition(
    worlds: Callable[..., World], refused: Refused
) -> None:
    """The rule `max` wants the new item's size; of an ADD to a text there is none."""
    world = worlds("documented")
    world.create()
    world.clock.advance(10)
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "v": {"S": "text"}})
    answer = refused(
        world.client.update_item,
        TableName="Orders",
        Key={"p": {"S": "a"}},
        UpdateExpression="ADD v :n",
        ConditionExpression="attribute_not_exists(p)",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    assert answer["Code"] == "ConditionalCheckFailedException"


def test_a_scan_pays_its_minimum_for_the_partitions_it_reaches(world: World) -> None:
    """Section 2.2: a minimal read per partition that is read, not per partition of the table."""
    world.create(units=(10, 10))
    world.set(partitions=8)
    for n in range(40):
        world.client.put_item(TableName="Orders", Item={"p": {"S": str(n)}})

    def cost(**more: Any) -> tuple[int, float]:
        page = world.client.scan(TableName="Orders", ReturnConsumedCapacity="TOTAL", **more)
        return page["Count"], page["ConsumedCapacity"]["CapacityUnits"]

    assert cost() == (40, 4)
    assert cost(Limit=1) == (1, 0.5)
    assert [cost(Segment=n, TotalSegments=8)[1] for n in range(8)] == [0.5] * 8
    assert [cost(Segment=n, TotalSegments=4)[1] for n in range(4)] == [1] * 4
    # Pages of a whole pass pay for what they reach, and each boundary once or twice.
    first = world.client.scan(TableName="Orders", Limit=39)
    assert cost(ExclusiveStartKey=first["LastEvaluatedKey"])[0] == 1


def test_refused_reads_are_recorded(world: World, tmp_path: Path) -> None:
    """A replay needs the requests that were throttled too."""
    world.create()
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    world.set(balance={"read": 0})
    key = {"p": {"S": "a"}}
    query = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}
    get = {"TableName": "Orders", "Key": key}
    for call, request in (
        (world.client.get_item, {**get, "ConsistentRead": True}),
        (world.client.query, {"TableName": "Orders", **query}),
        (world.client.scan, {"TableName": "Orders"}),
        (world.client.batch_get_item, {"RequestItems": {"Orders": {"Keys": [key]}}}),
        (world.client.transact_get_items, {"TransactItems": [{"Get": get}]}),
    ):
        with pytest.raises(world.client.exceptions.ProvisionedThroughputExceededException):
            call(**request)
    trace.close()
    lines = [orjson.loads(line) for line in (tmp_path / "trace").read_bytes().splitlines()][2:]
    assert [(line["op"], line["charges"][0][3]) for line in lines] == [
        ("GetItem", 2),
        ("Query", 1),
        ("Scan", 1),
        ("BatchGetItem", 1),
        ("GetItem", 4),
    ]
    assert {line["refused"] for line in lines} == {"TableReadProvisionedThroughputExceeded"}


def test_a_refused_transaction_is_refused_in_the_trace_as_a_whole(world: World, tmp_path: Path) -> None:
    world.create("Orders")
    world.create("Events", units=None)
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    world.set("Orders", balance={"write": 0})
    puts = [{"Put": {**PUT, "TableName": name}} for name in ("Events", "Orders")]
    with pytest.raises(world.client.exceptions.ProvisionedThroughputExceededException):
        world.client.transact_write_items(TransactItems=puts)
    trace.close()
    lines = [orjson.loads(line) for line in (tmp_path / "trace").read_bytes().splitlines()]
    throttled = [(line["table"], line.get("refused")) for line in lines if "op" in line]
    assert throttled == [(name, "TableWriteProvisionedThroughputExceeded") for name in ("Events", "Orders")]
