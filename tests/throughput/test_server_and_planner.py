"""The server and the planner are one model: what one admitted, the other admits, given the same arrivals.

A run is recorded, and its trace replayed at its own nanoseconds: once from a server process that boto3 has
loaded in real time, once from a database under a clock that a seed moves, over minutes of every kind of
request, splits for heat included. No time is asserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import boto3
import botocore.config
import orjson
import pytest
from botocore.exceptions import ClientError

from faradisc.charts.words import brief
from faradisc.server.tracing import TraceFile
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_trace import with_trace
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces.trace_format import Trace
from fixtures.served import Server

VirtualTables = Any
PLAN = """
partition_caps: {caps}
tables:
  Orders:
    mode: provisioned
    read: {read}
    write: {write}
    sort_key: {sort_key}
    indexes: {{by-g: {{read: 50, write: {index}, projection: keys_only}}}}
"""


def replayed(file: Path, text: str) -> PlanOutcome:
    trace = Trace.scan("trace", lambda: file.read_bytes().splitlines())
    return run(with_trace(load_plan(text, "plan.yaml", traced=True), trace), engine="events", trace=trace)


def recorded(file: Path) -> tuple[Counter[str], Counter[str]]:
    """Returns the requests and throttled requests of the server by operation."""
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    asked = [line for line in lines if "op" in line]
    return (
        Counter(f"{line['table']}: {line['op']}" for line in asked),
        Counter(f"{line['table']}: {line['op']}" for line in asked if "refused" in line),
    )


def compare(file: Path, text: str) -> tuple[PlanOutcome, Counter[str]]:
    """Replay and compare; the outcome, and what was refused."""
    offered, refused = recorded(file)
    found = replayed(file, text)
    assert found.skipped is not None and found.skipped.lines == 0
    assert {flow.name: flow.offered for flow in found.flows} == offered
    assert {flow.name: flow.offered - flow.admitted for flow in found.flows} == {
        name: refused[name] for name in offered
    }
    return found, refused


# --- Real time -----------------------------------------------------------------------------------


def test_boto3_against_a_server(tmp_path: Path) -> None:
    """Four clients that retry as boto3 does, one key that is too hot, partitions of 30/10."""
    file = tmp_path / "trace"
    with Server("--memory", "--throughput", "aws:30/10", "--record-trace", str(file)) as server:
        client: Any = boto3.client(
            "dynamodb",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=botocore.config.Config(retries={"mode": "standard", "total_max_attempts": 2}),
        )
        create(client, {"read": 40, "write": 40, "index": 30, "sort_key": False})

        def load(worker: int) -> Counter[str]:
            seen: Counter[str] = Counter()
            for n in range(40):
                key = {"p": {"S": "hot" if n % 2 else f"{worker}-{n}"}}
                attempt(seen, client.put_item, Item={**key, "g": {"S": f"{n % 4}"}})
                attempt(seen, client.get_item, Key=key, ConsistentRead=bool(n % 3))
            return seen

        with ThreadPoolExecutor(4) as pool:
            seen = sum(pool.map(load, range(4)), Counter[str]())
        assert server.stop() == 0
    found, refused = compare(file, PLAN.format(caps="30/10", read=40, write=40, index=30, sort_key="false"))
    assert seen["refused"] and refused
    # Every client's success is one admission, whatever attempt brought it.
    assert seen["admitted"] == found.totals.admitted
    assert seen["refused"] <= found.totals.throttled


def create(client: Any, units: dict[str, Any]) -> None:
    def pair(read: int, write: int) -> dict[str, int]:
        return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}

    key = [{"AttributeName": "p", "KeyType": "HASH"}]
    names = ["p", "g"]
    if units["sort_key"]:
        key.append({"AttributeName": "r", "KeyType": "RANGE"})
        names.append("r")
    client.create_table(
        TableName="Orders",
        KeySchema=key,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        ProvisionedThroughput=pair(units["read"], units["write"]),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
                "ProvisionedThroughput": pair(50, units["index"]),
            }
        ],
    )


def attempt(seen: Counter[str], call: Any, **request: Any) -> None:
    try:
        call(TableName="Orders", **request)
    except ClientError as refused:
        if refused.response["Error"]["Code"] == "ConditionalCheckFailedException":
            seen["admitted"] += 1
            return
        assert "ThrottlingReasons" in refused.response, refused
        seen["refused"] += 1
    else:
        seen["admitted"] += 1


# --- Virtual time --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_kind_of_request_under_a_moved_clock(
    worlds: Callable[..., VirtualTables], tmp_path: Path, seed: int
) -> None:
    """Twelve minutes: a hot partition is split in them, and its children are asked from then on."""
    world = worlds("aws:20/6")
    random = Random(seed)
    client = world.client
    file = tmp_path / "trace"
    trace = TraceFile(str(file), world.clock.now_ns())
    world.database.record(trace)
    create(client, {"read": 60, "write": 60, "index": 15, "sort_key": True})
    world.clock.advance(1)
    client.describe_table(TableName="Orders")
    seen: Counter[str] = Counter()
    for _ in range(7_500):
        world.clock.advance(random.choice((0, 0.01, 0.05, 0.2, 0.25)))
        some_request(client, random, seen)
    trace.close()
    found, refused = compare(file, PLAN.format(caps="20/6", read=60, write=60, index=15, sort_key="true"))
    assert len(found.flows) >= 6 and refused.total() > 100
    mine = world.see()["partitions"]
    (orders,) = [each for each in found.resources if each.name == "Orders"]
    assert len(mine) > 1
    present = {part.id for part in orders.partitions if part.retired_s is None}
    assert {brief(part["id"]) for part in mine} == present


def some_request(client: Any, random: Random, seen: Counter[str]) -> None:
    """One request; three in four are for one of two partition keys."""
    key = {"p": {"S": random.choice(("hot", "hot", "warm", str(random.randrange(500))))}}
    key["r"] = {"S": str(random.randrange(40))}
    match random.randrange(8):
        case 0 | 1 | 2:
            group = {"g": {"S": str(random.randrange(3))}} if random.randrange(2) else {}
            padding = {"v": {"S": "x" * random.choice((10, 900, 2_500))}}
            attempt(seen, client.put_item, Item={**key, **group, **padding})
        case 3:
            attempt(seen, client.get_item, Key=key, ConsistentRead=bool(random.randrange(2)))
        case 4:
            values = {":p": key["p"]}
            condition = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": values}
            attempt(seen, client.query, **condition, ScanIndexForward=bool(random.randrange(2)))
        case 5:
            update = {"UpdateExpression": "SET w = :w", "ExpressionAttributeValues": {":w": {"N": "1"}}}
            only = {"ConditionExpression": "attribute_exists(w)"} if random.randrange(2) else {}
            attempt(seen, client.update_item, Key=key, **update, **only)
        case 6:
            attempt(seen, client.delete_item, Key=key)
        case _:
            attempt(seen, client.scan, Limit=random.randrange(1, 60))
