"""`faradisc advise` with a trace that a real server records, with the server itself, and with bad input."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from faradisc.tools.advisor.rules import RULES
from fixtures.served import Server

TEMPLATE = {
    "Resources": {
        "Orders": {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "TableName": "Orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
            },
        }
    }
}


def attributes(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def key(name: str, sort: str | None = None) -> list[dict[str, str]]:
    found = [{"AttributeName": name, "KeyType": "HASH"}]
    return found + ([{"AttributeName": sort, "KeyType": "RANGE"}] if sort else [])


def text(value: str) -> dict[str, str]:
    return {"S": value}


@contextmanager
def recorded(trace: Path) -> Iterator[tuple[Server, Any]]:
    with Server("--memory", "--record-trace", str(trace)) as server:
        yield (
            server,
            boto3.client(
                "dynamodb",
                endpoint_url=server.url,
                region_name="us-east-1",
                aws_access_key_id="any",
                aws_secret_access_key="any",
            ),
        )


def careless(client: Any) -> None:
    """A table and traffic with a mistake for most rules."""
    client.create_table(
        TableName="Orders",
        AttributeDefinitions=attributes("pk", "sk", "user", "status"),
        KeySchema=key("pk", "sk"),
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            {"IndexName": name, "KeySchema": key(attribute), "Projection": {"ProjectionType": kind}}
            for name, attribute, kind in (("by-user", "user", "ALL"), ("by-status", "status", "KEYS_ONLY"))
        ],
    )
    for number in range(0, 250, 25):
        puts = [
            {
                "PutRequest": {
                    "Item": {
                        "pk": text("today"),
                        "sk": text(f"{each:04}"),
                        "user": text(f"u{each % 10}"),
                        "status": text("OPEN"),
                        "body": text("x" * 1500),
                    }
                }
            }
            for each in range(number, number + 25)
        ]
        client.batch_write_item(RequestItems={"Orders": puts})
    for _ in range(6):
        client.scan(TableName="Orders")
    for number in range(10):
        page = client.query(
            TableName="Orders",
            IndexName="by-user",
            KeyConditionExpression="#u = :u",
            ExpressionAttributeNames={"#u": "user"},
            ExpressionAttributeValues={":u": text(f"u{number}")},
            ProjectionExpression="pk, sk",
            Limit=6,
        )
        for each in page["Items"]:
            client.get_item(TableName="Orders", Key=each)
    large = {"pk": text("report"), "sk": text("1")}
    client.put_item(TableName="Orders", Item={**large, "body": text("x" * 395_000)})
    for number in range(12):
        values = {":n": {"N": str(number)}}
        client.update_item(
            TableName="Orders", Key=large, UpdateExpression="SET seen = :n", ExpressionAttributeValues=values
        )


def careful(client: Any) -> None:
    client.create_table(
        TableName="Orders",
        AttributeDefinitions=attributes("pk"),
        KeySchema=key("pk"),
        BillingMode="PAY_PER_REQUEST",
    )
    recovery = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="Orders", PointInTimeRecoverySpecification=recovery)
    for number in range(100):
        client.put_item(TableName="Orders", Item={"pk": text(f"o{number}")})
        client.get_item(TableName="Orders", Key={"pk": text(f"o{number}")})
    client.scan(TableName="Orders")


def test_recorded_traffic_of_a_server_is_advised(tmp_path: Path, command: Any) -> None:
    trace = tmp_path / "trace.jsonl"
    with recorded(trace) as (server, client):
        careless(client)
        stopped = command("advise", "--url", server.url, "--format", "json")
        assert server.stop() == 0
    assert stopped.returncode == 1
    assert {each["rule"] for each in json.loads(stopped.stdout)["findings"]} >= {"recovery"}
    described = command("advise", "--trace", str(trace), "--format", "json", "--fail-on", "never")
    assert described.returncode == 0
    document = json.loads(described.stdout)
    # A trace alone has no projections and no settings of backups and expiry.
    assert {(each["rule"], each["index"]) for each in document["findings"]} >= {
        ("scan", None),
        ("many-requests", None),
        ("unread-index", "by-status"),
        ("hot-key", "by-status"),
        ("hot-key", None),
        ("large-item", None),
        ("cold-data", None),
    }
    assert not {each["rule"] for each in document["findings"]} & {"recovery", "time-to-live", "capacity-mode"}


@pytest.mark.slow
def test_projection_is_advised_with_the_definition_of_the_table(tmp_path: Path, command: Any) -> None:
    trace = tmp_path / "trace.jsonl"
    with recorded(trace) as (server, client):
        careless(client)
        (tmp_path / "orders.json").write_text(
            json.dumps(client.describe_table(TableName="Orders"), default=str)
        )
        assert server.stop() == 0
    packed = tmp_path / "trace.jsonl.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    advised = command("advise", "--trace", str(packed), "--tables", "orders.json")
    assert advised.returncode == 1 and "HIGH scan: Orders is scanned again and again" in advised.stdout
    assert "projection: Index by-user" in advised.stdout
    assert "are followed by reads of the same items" in advised.stdout
    assert "time-to-live: Nothing removes items from Orders" in advised.stdout


@pytest.mark.slow
def test_careful_traffic_has_no_finding_of_importance(tmp_path: Path, command: Any) -> None:
    trace = tmp_path / "trace.jsonl"
    with recorded(trace) as (server, client):
        careful(client)
        served = command("advise", "--url", server.url)
        assert server.stop() == 0
    assert served.returncode == 0 and "0 findings in 1 table" in served.stdout
    traced = command("advise", "--trace", str(trace), "--fail-on", "low")
    assert traced.returncode == 0 and "0 findings in 1 table" in traced.stdout


def test_definitions_alone_are_advised(tmp_path: Path, command: Any) -> None:
    (tmp_path / "template.json").write_text(json.dumps(TEMPLATE))
    advised = command("advise", "--tables", "template.json", "--fail-on", "high")
    assert advised.returncode == 0
    assert "1 finding in 1 table" in advised.stdout and "MEDIUM recovery" in advised.stdout


def test_design_is_reviewed_before_there_is_traffic(tmp_path: Path, command: Any) -> None:
    resource = {**TEMPLATE["Resources"]["Orders"]}
    properties = {
        **resource["Properties"],
        "KeySchema": key("status"),
        "AttributeDefinitions": attributes("status"),
    }
    resource["Properties"] = properties
    (tmp_path / "template.json").write_text(json.dumps({"Resources": {"Orders": resource}}))
    advised = command("advise", "--tables", "template.json")
    assert advised.returncode == 1
    assert "MEDIUM partition-key: Orders is partitioned by status, a status" in advised.stdout


@pytest.mark.slow
def test_sample_of_a_server_shows_that_a_key_has_many_values(command: Any) -> None:
    with Server("--memory") as server:
        client = boto3.client(
            "dynamodb",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        client.create_table(
            TableName="Kinds",
            AttributeDefinitions=attributes("kind"),
            KeySchema=key("kind"),
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(40):
            client.put_item(TableName="Kinds", Item={"kind": text(f"k{number}")})
        named, sampled = (
            json.loads(command("advise", "--url", server.url, "--format", "json", *more).stdout)["findings"]
            for more in ((), ("--sample",))
        )
        assert server.stop() == 0
    assert {each["rule"] for each in named} == {"partition-key", "recovery"}
    assert {each["rule"] for each in sampled} == {"recovery"}


@pytest.mark.slow
def test_data_directory_is_advised(tmp_path: Path, command: Any) -> None:
    (tmp_path / "template.json").write_text(json.dumps(TEMPLATE))
    with Server("--data-dir", str(tmp_path / "data")) as server:
        assert command("seed", str(tmp_path), "--url", server.url).returncode == 0
        assert server.stop() == 0
    advised = command("advise", "--data-dir", str(tmp_path / "data"))
    assert advised.returncode == 1
    assert "MEDIUM recovery" in advised.stdout and "time-to-live" not in advised.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--trace", "missing.jsonl"], "missing.jsonl cannot be read: No such file or directory"),
        (["--trace", "bad.jsonl"], "there is no request in this trace; 1 lines could not be read"),
        (["--trace", "cut.gz"], "it cannot be decompressed"),
        (["--trace", "."], "cannot be read: Is a directory"),
        (["--tables", "missing.json"], "missing.json does not exist"),
        (["--tables", "bad.json"], "bad.json:1: not valid JSON"),
        (["--tables", "keyless.json"], "keyless.json:1: the table has no KeySchema"),
        (["--tables", "described.json"], "described.json:1: BillingModeSummary must be an object"),
        (["--tables", "empty"], "empty defines no table"),
        (["--data-dir", "empty"], "empty"),
        (["--url", "http://127.0.0.1:1"], "Could not connect to the endpoint"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, command: Any, arguments: list[str], sentence: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"\x00\xff nonsense\n")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b'{"t":0}\n' * 1000)[:40])
    (tmp_path / "bad.json").write_text("{")
    keyless = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "Orders"}}
    (tmp_path / "keyless.json").write_text(json.dumps({"Resources": {"Orders": keyless}}))
    (tmp_path / "described.json").write_text('{"Table": {"TableName": "Orders", "BillingModeSummary": 7}}')
    (tmp_path / "empty").mkdir()
    failed = command("advise", *arguments)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert sentence in failed.stderr and failed.stderr.count("\n") == 1


def test_guide_names_every_rule() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "advise.md").read_text()
    assert all(f"| `{rule.name}` |" in guide for rule in RULES)
