"""A recorded trace says what was charged, and the planner replays it with the same throttled requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from faradisc.engine.throughput.settings import parse_config
from faradisc.server.tracing import TraceFile
from faradisc.tools.planner.plan_file.plan_of_trace import plan_of_trace
from faradisc.tools.traces.trace_format import Trace
from fixtures.clients import http_client
from fixtures.served import Server

World = Any


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_every_charge_is_a_line(worlds: Callable[..., World], tmp_path: Path) -> None:
    world = worlds("off")
    world.create(index=(10, 10))
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    client = world.client
    client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "g": {"S": "x"}})
    client.get_item(TableName="Orders", Key={"p": {"S": "a"}})
    client.scan(TableName="Orders", ConsistentRead=True)
    client.batch_get_item(RequestItems={"Orders": {"Keys": [{"p": {"S": "a"}}, {"p": {"S": "b"}}]}})
    put = {"TableName": "Orders", "Item": {"p": {"S": "c"}}}
    client.transact_write_items(TransactItems=[{"Put": put}])
    client.delete_item(TableName="Orders", Key={"p": {"S": "c"}})
    trace.close()
    header, described, *requests = lines(tmp_path / "trace")
    assert header["faradisc_trace"] == 1
    assert (described["describe"], described["indexes"]) == ("Orders", {"by-g": [10, 10]})
    shown = [
        (each["op"], each.get("key"), [[index, way, half] for index, way, _, half, *_ in each["charges"]])
        for each in requests
    ]
    assert shown == [
        ("PutItem", "a", [["", "W", 2], ["by-g", "W", 2]]),
        ("GetItem", "a", [["", "R", 1]]),
        ("Scan", None, [["", "R", 2]]),
        ("BatchGetItem", "a", [["", "R", 1]]),
        ("BatchGetItem", "b", [["", "R", 1]]),
        ("PutItem", "c", [["", "W", 4]]),
        ("DeleteItem", "c", [["", "W", 2]]),
    ]


def test_trace_has_projections_and_sizes_of_changes(world: World, tmp_path: Path) -> None:
    world.create()
    key = {"TableName": "Orders", "Key": {"p": {"S": "a"}}}
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "blob": {"S": "x" * 500}})
    value = {":n": {"N": "12"}}
    world.client.update_item(**key, UpdateExpression="SET seen = :n", ExpressionAttributeValues=value)
    world.client.update_item(**key, UpdateExpression="SET seen = :n", ExpressionAttributeValues=value)
    world.client.scan(TableName="Orders", ProjectionExpression="seen, p")
    world.client.delete_item(**key)
    trace.close()
    put, first, again, scan, deleted = lines(tmp_path / "trace")[2:]
    assert (first["changed"], again["changed"]) == (len("seen") + 2, 0)
    assert (put["size"], first["size"]) == (506, 512)
    assert "changed" not in put and "changed" not in deleted and "size" not in deleted
    assert scan["attributes"] == ["p", "seen"] and "attributes" not in first


def test_refused_requests_are_recorded_with_their_reason(world: World, tmp_path: Path) -> None:
    world.create()
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    world.set(balance={"write": 1})
    for n in range(3):
        try:
            world.client.put_item(TableName="Orders", Item={"p": {"S": str(n)}})
        except world.client.exceptions.ProvisionedThroughputExceededException:
            continue
    trace.close()
    refused = [each.get("refused") for each in lines(tmp_path / "trace")[2:]]
    assert refused == [None, *["TableWriteProvisionedThroughputExceeded"] * 2]


def test_a_transaction_is_a_line_for_each_action(world: World, tmp_path: Path) -> None:
    """docs/formats/trace.md says how; another tool relies on it."""
    world.create()
    client, key = world.client, {"TableName": "Orders", "Key": {"p": {"S": "a"}}}
    missing = {"TableName": "Orders", "Key": {"p": {"S": "b"}}}
    put = {"TableName": "Orders", "Item": {"p": {"S": "a"}}}
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    check = {**missing, "ConditionExpression": "attribute_not_exists(p)"}
    client.transact_write_items(TransactItems=[{"Put": put}, {"ConditionCheck": check}])
    client.transact_get_items(TransactItems=[{"Get": key}, {"Get": missing}])
    fails = {**missing, "ConditionExpression": "attribute_exists(p)"}
    with suppress(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[{"Put": put}, {"Delete": fails}])
    trace.close()
    assert [
        (each["op"], each["key"], [half for _, _, _, half, *_ in each["charges"]])
        for each in lines(tmp_path / "trace")[2:]
    ] == [
        ("PutItem", "a", [4]),
        ("ConditionCheck", "b", [4]),
        ("GetItem", "a", [4]),
        ("GetItem", "b", [4]),
        ("Write", "a", [4]),
        ("Write", "b", [4]),
    ]


def test_a_table_is_described_with_what_it_holds(worlds: Callable[..., World], tmp_path: Path) -> None:
    world = worlds("off")
    world.create()
    for n in range(3):
        world.client.put_item(TableName="Orders", Item={"p": {"S": str(n)}, "z": {"S": "z" * 98}})
    trace = TraceFile(str(tmp_path / "trace"), world.clock.now_ns())
    world.database.record(trace)
    trace.close()
    (described,) = lines(tmp_path / "trace")[1:]
    assert (described["items"], described["bytes"], described["partitions"]) == (3, 3 * 101, 1)


def test_a_table_is_replayed_under_the_limits_it_had(worlds: Callable[..., World], tmp_path: Path) -> None:
    world = worlds("off", "Orders=aws:30/10,Logs=documented,Notes=classic-2017:30/10/64MB")
    for name in ("Orders", "Logs", "Notes", "Free"):
        world.create(name)
    world.clock.advance(10)
    file = tmp_path / "trace"
    trace = TraceFile(str(file), world.clock.now_ns())
    world.database.record(trace)
    for name in ("Orders", "Logs", "Notes", "Free"):
        world.client.put_item(TableName=name, Item={"p": {"S": "a"}})
    trace.close()
    described = {
        each["describe"]: (each.get("profile"), each.get("partition_caps")) for each in lines(file)[1:5]
    }
    assert described == {
        "Orders": ("aws", "30/10"),
        "Logs": ("documented", None),
        "Notes": ("classic-2017", "30/10/67108864"),
        "Free": (None, None),
    }
    plan = plan_of_trace(Trace.scan("trace", lambda: file.read_bytes().splitlines()))
    configs = {table.name: table.config for table in plan.tables}
    assert configs == {
        "Orders": parse_config("aws:30/10"),
        "Logs": parse_config("documented"),
        "Notes": parse_config("classic-2017:30/10/64MB"),
        "Free": parse_config("aws"),
    }


def test_a_trace_is_there_while_the_server_runs_and_after_it_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    with Server("--memory", "--record-trace", str(file)) as server:
        client = http_client(server.url)
        client.create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
        until = time.monotonic() + 60
        while time.monotonic() < until and b"PutItem" not in file.read_bytes():
            time.sleep(0.1)
        server.kill()
    assert [each.get("op") for each in lines(file)][-1] == "PutItem"


@pytest.mark.parametrize("what", ["readable", "hashed", "encrypted"])
def test_keys_of_encrypted_tables_are_hashes_and_others_on_request(
    worlds: Callable[..., World], tmp_path: Path, what: str
) -> None:
    trace = TraceFile(str(tmp_path / "trace"), 0, hashed=what == "hashed")
    limiter = SimpleNamespace(kind="Table", arn="arn:table/T", direction="W")
    for key, sort in ((b"PATIENT-4711", b"x"), (b"PATIENT-4711", b"y"), (b"other", b"x")):
        charge: Any = SimpleNamespace(limiter=limiter, key=sha256(key).digest()[:16] + key + sort)
        charge.half_units, charge.eventual = 2, False
        trace.request(0, "PutItem", "T", [charge], key=key.decode(), encrypted=what == "encrypted")
    trace.close()
    text = (tmp_path / "trace").read_text()
    assert ("PATIENT" in text) == (what == "readable")
    assert (b"PATIENT".hex() in text) == (what == "readable")
    _, first, second, third = lines(tmp_path / "trace")
    assert first["key"] == second["key"] != third["key"]
    places = [bytes.fromhex(each["charges"][0][2]) for each in (first, second, third)]
    assert len(set(places)) == 3
    assert [place[:16] for place in places] == [
        sha256(key).digest()[:16] for key in (b"PATIENT-4711",) * 2 + (b"other",)
    ]
