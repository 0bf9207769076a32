"""The rules of units that requests need not have used, on traces of a database that makes the mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key

from faradisc.clock import SystemClock
from faradisc.local import LocalDatabase
from faradisc.server.tracing import TraceFile
from faradisc.tools.advisor.definitions import of_document
from faradisc.tools.advisor.findings import Finding
from faradisc.tools.advisor.recording import of_recording
from faradisc.tools.advisor.rules import advise
from faradisc.tools.advisor.traffic import with_definitions
from faradisc.tools.traces.trace_format import Trace

KEYS = ("pk", "sk", "g")
Table = Any
Told = Callable[[], dict[str, Finding]]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[LocalDatabase, Table, Told]]:
    """A table with an index that projects ALL, and what advise finds of the traffic so far."""
    clock = SystemClock()
    with LocalDatabase(clock=clock) as local:
        schema = [("pk", "HASH"), ("sk", "RANGE")]
        table = local.resource().create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in schema],
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in KEYS],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-g",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        trace = TraceFile(str(tmp_path / "trace"), clock.now_ns())
        local.record(trace)

        def told() -> dict[str, Finding]:
            local.record(None)
            trace.close()
            lines = (tmp_path / "trace").read_bytes().splitlines()
            traffic = of_recording(Trace("trace", lines=lambda: lines))
            definition = of_document(table.meta.client.describe_table(TableName="Orders")["Table"])
            with_definitions(traffic, {"Orders": definition})
            found = advise(traffic)
            for each in found:
                compile(each.code, each.rule, "exec")
            return {each.rule: each for each in found}

        yield local, table, told


def item(number: int, **more: Any) -> dict[str, Any]:
    return {"pk": f"user-{number % 7}", "sk": f"{number:04}", "g": "all", **more}


def test_conditions_that_fail_are_found_and_their_units(recorded: Any) -> None:
    _, table, told = recorded
    for number in range(40):
        with suppress(table.meta.client.exceptions.ConditionalCheckFailedException):
            table.put_item(Item=item(number % 10), ConditionExpression="attribute_not_exists(pk)")
    finding = told()["failed-conditions"]
    assert "30 writes of 40" in finding.evidence and finding.title.startswith("75 %")


def test_a_filter_that_drops_nearly_all_is_found(recorded: Any) -> None:
    _, table, told = recorded
    with table.batch_writer() as batch:
        for number in range(210):
            batch.put_item(Item=item(number, state="OPEN" if number == 3 else "DONE"))
    for user in range(7):
        of_user = Key("pk").eq(f"user-{user}")
        table.query(KeyConditionExpression=of_user, FilterExpression=Attr("state").eq("OPEN"))
    finding = told()["filter"]
    assert "Filters left 1 of 210 items on 7 pages" in finding.evidence


def test_consistent_reads_everywhere_are_found(recorded: Any) -> None:
    _, table, told = recorded
    for number in range(30):
        table.get_item(Key={"pk": "user-1", "sk": str(number)}, ConsistentRead=True)
    assert "30 of 30 reads asked for ConsistentRead" in told()["consistent-reads"].evidence


def test_transactions_of_one_item_are_found_and_those_of_two_are_not(recorded: Any) -> None:
    _, table, told = recorded
    for number in range(30):
        put = {"Put": {"TableName": "Orders", "Item": item(number)}}
        table.meta.client.transact_write_items(TransactItems=[put])
    assert "30 transactions wrote a single item" in told()["single-transaction"].evidence


def test_transactions_of_two_items_and_single_writes_are_left_alone(recorded: Any) -> None:
    _, table, told = recorded
    for number in range(0, 60, 2):
        puts = [{"Put": {"TableName": "Orders", "Item": item(each)}} for each in (number, number + 1)]
        table.meta.client.transact_write_items(TransactItems=puts)
        table.put_item(Item=item(number, more="x" * 1500))
        table.get_item(Key={"pk": "user-1", "sk": str(number)})
    assert not {"single-transaction", "failed-conditions", "consistent-reads", "filter"} & told().keys()


def test_an_index_with_all_whose_items_are_read_again_is_found(recorded: Any) -> None:
    _, table, told = recorded
    with table.batch_writer() as batch:
        for number in range(12):
            batch.put_item(Item=item(number, text="x" * 3000))
    for _ in range(12):
        for each in table.query(IndexName="by-g", KeyConditionExpression=Key("g").eq("all"))["Items"]:
            table.get_item(Key={"pk": each["pk"], "sk": each["sk"]})
    assert "projects ALL, and its items are read again" in told()["projection"].title


@pytest.mark.parametrize(("product", "found"), [(True, True), (False, False)])
def test_a_product_of_code_points_does_not_spread_and_a_hash_does(
    recorded: Any, product: bool, found: bool
) -> None:
    """By hand: products of five digits' code points modulo 200 are few: most are divisible by 8 and by 25."""
    _, table, told = recorded
    for number in range(300):
        suffix = 1
        for character in f"{number:05}":
            suffix = suffix * ord(character) % 200
        if not product:
            suffix = number * 7919 % 200
        table.put_item(Item={"pk": f"2026-11-02.{suffix}", "sk": str(number)})
    assert ("uneven-suffixes" in told()) is found
