"""The review of a design without traffic: partition keys by their names, and by items that were read."""

from __future__ import annotations

import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.conditions import Key
from examples.ecommerce.table import definition as shop
from examples.feed.table import definition as feed
from examples.guide_tables.tables import TABLES

from faradisc.errors import RequestRejected
from faradisc.local import LocalDatabase
from faradisc.storage.immediate import run
from faradisc.tools.advisor.definitions import SAMPLES, Definition, IndexDefinition, KeySample, of_document
from faradisc.tools.advisor.findings import Finding
from faradisc.tools.advisor.key_names import verdict_of
from faradisc.tools.advisor.report import as_text, to_json
from faradisc.tools.advisor.rules import advise
from faradisc.tools.advisor.serving import definitions_of
from faradisc.tools.advisor.traffic import ObservedDemand, TableTraffic, Traffic
from faradisc.tools.transfer.endpoints import Directory


def review(definition: Definition) -> list[Finding]:
    summary = Traffic("test", 1, {definition.name: TableTraffic(definition)})
    return [each for each in advise(summary) if each.rule == "partition-key"]


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("status", "orderStatus", "HTTPStatusCode", "order_state", "error-code"), "a status"),
        (("date", "createdDay", "order_date", "year", "yyyymmdd", "hour_bucket"), "a date or a rounded time"),
        (("isActive", "has_image", "deleted", "UnreadFlag"), "a boolean"),
        (("type", "entityType", "type_id", "Kind"), "the name of a type"),
        (("all", "constant"), "a constant"),
        (("country", "home_country", "category_id", "Gender"), "an attribute of few values"),
    ],
)
def test_names_of_keys_with_few_values_are_known(names: tuple[str, ...], what: str) -> None:
    for name in names:
        verdict = verdict_of(name)
        assert verdict is not None and (verdict.good, verdict.what) == (False, what), name


@pytest.mark.parametrize("name", ["userId", "USER_ID", "userid", "customer", "email", "deviceId", "order-id"])
def test_names_of_keys_with_many_values_are_known(name: str) -> None:
    verdict = verdict_of(name)
    assert verdict is not None and verdict.good


SILENT = """
    pk PK sk id Id p key GSI1PK gsi2_pk hash partition name tenantId ForumName 2026
    user_date userDay statementId statement update typeface day_shard timestamp dateId
"""


@pytest.mark.parametrize("name", ["", *SILENT.split()])
def test_names_that_say_nothing_have_no_verdict(name: str) -> None:
    assert verdict_of(name) is None


def test_bad_keys_are_named_and_good_ones_are_said_to_be_good() -> None:
    by_status = IndexDefinition("by-status", keys=("status", "at"), projection="KEYS_ONLY")
    tables = [
        Definition("Logs", keys=("day", "at")),
        Definition("Jobs", keys=("state",)),
        Definition("Orders", keys=("order_id",), indexes=(by_status,)),
    ]
    summary = Traffic("test", 1, {each.name: TableTraffic(each) for each in tables})
    findings = advise(summary)
    assert [(each.table, each.index, each.level) for each in findings] == [
        ("Jobs", None, "medium"),
        ("Logs", None, "medium"),
        ("Orders", "by-status", "low"),
    ]
    assert "one period" in findings[1].evidence and "10,000" in findings[1].effect.words
    assert "throttles those of the table" in findings[2].effect.words
    good = "Orders is partitioned by order_id, an identifier: it has"
    assert good in as_text(summary, findings) and to_json(summary, findings)["good_keys"][0].startswith(good)


def test_code_of_the_findings_runs() -> None:
    with LocalDatabase() as database:
        client = database.client()
        client.create_table(
            TableName="Logs",
            KeySchema=[{"AttributeName": "day", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "day", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        made = {"client": client, "Key": Key, "zlib": zlib, "key": "2026-11-02"}
        item = {"id": "1", "day": "2026-11-02"}
        (dated,) = review(Definition("Logs", keys=("day",)))
        names: dict[str, Any] = {**made, "table": database.resource().Table("Logs"), "item": item}
        exec(dated.code, names)
        assert [each["id"] for each in names["found"]] == ["1"]
        (stated,) = review(Definition("Jobs", keys=("status",)))
        exec(stated.code, made)
        assert "Jobs-by-id" in client.list_tables()["TableNames"]


def test_keys_with_traffic_or_of_several_attributes_are_left_to_other_rules() -> None:
    jobs = Definition("Jobs", keys=("status", "day"))
    assert len(review(jobs)) == 1
    assert review(replace(jobs, hash_attributes=2)) == []
    busy = TableTraffic(jobs, {(None, "W"): ObservedDemand(200, 400)})
    assert "partition-key" not in {each.rule for each in advise(Traffic("test", 60, {"Jobs": busy}))}


@pytest.mark.parametrize(
    ("key", "items", "values", "found"),
    [
        ("pk", 5000, ("a", "b", "c"), True),
        ("pk", 5000, tuple("abcdefghi"), False),
        ("pk", 50, ("a", "b", "c"), False),
        ("user_id", 5000, ("a", "b", "c"), False),
        ("status", 5000, tuple("abcdefghi"), False),
        ("status", 50, ("a", "b", "c"), True),
        ("status", 0, (), True),
    ],
)
def test_sample_of_items_overrules_names(key: str, items: int, values: tuple[str, ...], found: bool) -> None:
    sample = KeySample(len(values), frozenset(values))
    findings = review(Definition("Jobs", keys=(key,), items=items, sample=sample))
    assert bool(findings) == found
    if found and values:
        assert "3 items from all over Jobs have 3 values" in findings[0].evidence
        assert "a, b, c" in findings[0].evidence


def test_items_are_sampled_from_all_over_a_table(tmp_path: Path) -> None:
    with closing(Directory(tmp_path, region="us-east-1")) as database:
        database.call(
            "CreateTable",
            {
                "TableName": "Jobs",
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name in ("id", "g")
                ],
                "BillingMode": "PAY_PER_REQUEST",
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by-g",
                        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                ],
            },
        )
        for first in range(0, 1000, 25):
            puts = [
                {"PutRequest": {"Item": {"id": {"S": f"{number}"}, "g": {"S": f"g{number % 3}"}}}}
                for number in range(first, first + 25)
            ]
            database.call("BatchWriteItem", {"RequestItems": {"Jobs": puts}})

        async def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            return database.call(operation, request)

        known = run(definitions_of(call, RequestRejected, sample=True))["Jobs"]
        assert run(definitions_of(call, RequestRejected))["Jobs"].sample is None
    assert known.sample is not None and len(known.sample.values) == known.sample.items == SAMPLES
    (finding,) = review(known)
    assert (finding.index, finding.level) == (
        "by-g",
        "medium",
    ) and "3 values of g: g0, g1, g2" in finding.evidence


@pytest.mark.parametrize("definition", [shop(), feed(), *TABLES], ids=lambda each: each["TableName"])
def test_tables_of_the_examples_have_no_bad_key(definition: dict[str, Any]) -> None:
    assert review(of_document(definition)) == []
