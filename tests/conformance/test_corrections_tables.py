"""Answers on tables and indexes in the words of newer recordings of the service (errors.md section 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess, Refused
from fixtures.schemas import invalid, new_name, refused, schema

INVALID = "One or more parameter values were invalid: "


def types(text: str) -> list[dict[str, str]]:
    return [{"AttributeName": part[:-2], "AttributeType": part[-1]} for part in text.split()]


def index(name: str, attribute: str, projection: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
        "Projection": projection or {"ProjectionType": "ALL"},
    }


@pytest.mark.parametrize("definitions", ["p:S p:S", "p:S p:N", "p:S x:S x:N"])
def test_an_attribute_is_defined_once(dynamodb: Any, definitions: str) -> None:
    name = new_name()
    members = {**schema("p:S", gsi={"by-x": ("x:S", "", "ALL")} if "x" in definitions else None)}
    with invalid(f"Attribute Name is duplicated: {definitions[-3]}"):
        dynamodb.create_table(TableName=name, **{**members, "AttributeDefinitions": types(definitions)})
    with refused("ResourceNotFoundException"):
        dynamodb.describe_table(TableName=name)


def test_an_update_defines_an_attribute_once(dynamodb: Any, create: Callable[..., str]) -> None:
    with invalid("Attribute Name is duplicated: x"):
        dynamodb.update_table(
            TableName=create("p:S"),
            AttributeDefinitions=types("x:S x:N"),
            GlobalSecondaryIndexUpdates=[{"Create": index("by-x", "x")}],
        )


def test_a_new_index_cannot_redefine_an_attribute(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={"by-x": ("p:S", "x:S", "ALL")})
    with invalid(
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as "
        "previously defined. Existing schema: Schema:[SchemaElement: key{x:S:RANGE}] "
        "New schema: Schema:[SchemaElement: key{x:N:HASH}]"
    ):
        dynamodb.update_table(
            TableName=table,
            AttributeDefinitions=types("x:N"),
            GlobalSecondaryIndexUpdates=[{"Create": index("second", "x")}],
        )


def test_a_projected_attribute_is_named_once(dynamodb: Any, create: Callable[..., str]) -> None:
    twice = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b", "a"]}
    text = INVALID + "Duplicate element in NonKeyAttributes: a"
    with invalid(text):
        dynamodb.create_table(
            TableName=new_name(), **schema("p:S"), GlobalSecondaryIndexes=[index("by-p", "p", twice)]
        )
    with invalid(text):
        dynamodb.update_table(
            TableName=create("p:S"),
            AttributeDefinitions=types("p:S"),
            GlobalSecondaryIndexUpdates=[{"Create": index("by-p", "p", twice)}],
        )


@pytest.mark.parametrize("first", [{"Create": index("new", "p")}, {"Delete": {"IndexName": "missing"}}])
def test_index_operations_are_counted_before_indexes_are_looked_up(
    dynamodb: Any, create: Callable[..., str], first: dict[str, Any]
) -> None:
    with refused(
        "LimitExceededException",
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    ):
        dynamodb.update_table(
            TableName=create("p:S"),
            AttributeDefinitions=types("p:S"),
            GlobalSecondaryIndexUpdates=[first, {"Delete": {"IndexName": "old"}}],
        )


def test_creation_shows_warm_throughput_only_if_requested(dynamodb: Any) -> None:
    name, warm = new_name(), {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5_000}
    indexes = {"plain": ("p:S", "", "ALL"), "warm": ("p:S", "", "ALL")}
    members = schema("p:S", gsi=indexes)
    members["GlobalSecondaryIndexes"][1]["WarmThroughput"] = warm
    table = dynamodb.create_table(TableName=name, **members)["TableDescription"]
    assert "WarmThroughput" not in table
    plain, warmed = table["GlobalSecondaryIndexes"]
    assert "WarmThroughput" not in plain
    assert warmed["WarmThroughput"] == {**warm, "Status": "UPDATING"}
    table = dynamodb.describe_table(TableName=name)["Table"]
    assert all("WarmThroughput" in each for each in (table, *table["GlobalSecondaryIndexes"]))


def test_requested_warm_throughput_is_updating_until_the_table_is_active(
    open_process: Callable[..., InProcess], clock: ManualClock
) -> None:
    client = open_process(transition_ms=10_000).client()
    warm = {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5_000}
    table = client.create_table(TableName="table", **schema("p:S"), WarmThroughput=warm)["TableDescription"]
    assert table["WarmThroughput"] == {**warm, "Status": "UPDATING"}
    table = client.describe_table(TableName="table")["Table"]
    assert table["WarmThroughput"]["Status"] == "UPDATING"
    clock.advance(10)
    table = client.describe_table(TableName="table")["Table"]
    assert table["WarmThroughput"] == {**warm, "Status": "ACTIVE"}


# --- Short transitions: docs/decisions/0006 ---


@pytest.fixture
def hurried(open_process: Callable[..., InProcess]) -> Any:
    """A client of a database whose transitions are short, and whose clock stands."""
    client = open_process(transition_ms=5).client()
    client.create_table(TableName="table", **schema("p:S"))
    return client


def test_a_new_table_can_be_deleted_at_once(hurried: Any) -> None:
    hurried.delete_table(TableName="table")
    assert hurried.list_tables()["TableNames"] == []


def test_a_new_table_can_be_changed_at_once(hurried: Any) -> None:
    enabled = {"AttributeName": "t", "Enabled": True}
    hurried.update_time_to_live(TableName="table", TimeToLiveSpecification=enabled)
    described = hurried.describe_time_to_live(TableName="table")["TimeToLiveDescription"]
    assert described == {"AttributeName": "t", "TimeToLiveStatus": "ENABLED"}
    hurried.update_table(TableName="table", DeletionProtectionEnabled=True)


# --- Tags, policies, insights ---


def test_changes_of_tags_have_no_body(raw: InProcess) -> None:
    arn = raw.client().create_table(TableName="table", **schema("p:S"))["TableDescription"]["TableArn"]
    for operation, members in (
        ("TagResource", b'"Tags": [{"Key": "a", "Value": "1"}]'),
        ("UntagResource", b'"TagKeys": ["a"]'),
    ):
        answer = raw.post(operation, b'{"ResourceArn": "%b", %b}' % (arn.encode(), members))
        assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("ListTagsOfResource", {}),
        ("TagResource", {"Tags": [{"Key": "a", "Value": "1"}]}),
        ("UntagResource", {"TagKeys": ["a"]}),
    ],
)
def test_tables_of_other_accounts_are_denied(raw: InProcess, operation: str, members: dict[str, Any]) -> None:
    arn = "arn:aws:dynamodb:us-east-1:111122223333:table/table"
    with pytest.raises(Refused) as caught:
        raw.call(operation, ResourceArn=arn, **members)
    assert caught.value.code == "AccessDeniedException"
    assert f"is not authorized to perform: dynamodb:{operation} on resource: {arn}" in caught.value.text


def test_a_missing_policy_is_reported_with_its_resource(dynamodb: Any, create: Callable[..., str]) -> None:
    arn = dynamodb.describe_table(TableName=create("p:S"))["Table"]["TableArn"]
    with refused(
        "PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {arn}"
    ):
        dynamodb.get_resource_policy(ResourceArn=arn)


def test_disabled_insights_have_no_rules(dynamodb: Any, create: Callable[..., str]) -> None:
    described = dynamodb.describe_contributor_insights(TableName=create("p:S"))
    assert described["ContributorInsightsStatus"] == "DISABLED"
    assert "ContributorInsightsRuleList" not in described
