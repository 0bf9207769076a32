"""Tables named by name or by ARN, in one namespace or in one per account and region.

Sources: limits.md section 1 (`TableName` on data-plane calls), new-features.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, refused, schema

OpenProcess = Callable[..., InProcess]


@pytest.fixture
def named(dynamodb: Any, create: Callable[..., str]) -> tuple[str, str]:
    """Name and ARN of a table with one item."""
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=item(p="1"))
    return name, dynamodb.describe_table(TableName=name)["Table"]["TableArn"]


CALLS: dict[str, dict[str, Any]] = {
    "get_item": {"Key": item(p="1")},
    "put_item": {"Item": item(p="1")},
    "update_item": {"Key": item(p="1")},
    "delete_item": {"Key": item(p="1")},
    "scan": {},
    "query": {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "1"}}},
    "describe_table": {},
    "update_table": {"DeletionProtectionEnabled": False},
    "delete_table": {},
}


@pytest.mark.parametrize("operation", CALLS)
def test_an_arn_stands_for_its_table(dynamodb: Any, named: tuple[str, str], operation: str) -> None:
    getattr(dynamodb, operation)(TableName=named[1], **CALLS[operation])


def test_batches_name_tables_as_in_the_request(dynamodb: Any, named: tuple[str, str]) -> None:
    name, arn = named
    found = dynamodb.batch_get_item(RequestItems={arn: {"Keys": [item(p="1")]}})
    assert found["Responses"] == {arn: [item(p="1")]}
    dynamodb.batch_write_item(RequestItems={arn: [{"DeleteRequest": {"Key": item(p="1")}}]})
    assert dynamodb.scan(TableName=name)["Items"] == []


BAD_ARNS = [
    "arn:aws:dynamodb:us-east-1:000000000000:table/",
    "arn:aws:dynamodb:us-east-1:000000000000:index/abc",
    "arn:aws:dynamodb:us-east-1:123:table/abc",
    "arn:aws:s3:us-east-1:000000000000:table/abc",
]


@pytest.mark.parametrize("arn", BAD_ARNS)
def test_a_malformed_arn_is_rejected(dynamodb: Any, arn: str) -> None:
    with invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}"):
        dynamodb.get_item(TableName=arn, Key=item(p="1"))


@pytest.mark.parametrize("name", ["a b", "a/b", "ü"])
def test_a_plain_name_outside_the_pattern_is_rejected(dynamodb: Any, name: str) -> None:
    with invalid():
        dynamodb.get_item(TableName=name, Key=item(p="1"))


def test_by_default_every_region_and_key_sees_the_same_tables(open_process: OpenProcess) -> None:
    process = open_process(transition_ms=0)
    here, there = process.client("us-east-1"), process.client("eu-west-1")
    here.create_table(TableName="table", **schema("p:S"))
    there.put_item(TableName="table", Item=item(p="1"))
    assert here.scan(TableName="table")["Count"] == 1
    assert there.list_tables()["TableNames"] == ["table"]


def test_arns_have_the_region_of_the_signature(open_process: OpenProcess) -> None:
    client = open_process(transition_ms=0).client("eu-west-1")
    created = client.create_table(TableName="table", **schema("p:S"))
    assert created["TableDescription"]["TableArn"] == "arn:aws:dynamodb:eu-west-1:000000000000:table/table"


def test_per_region_tables_are_separate(open_process: OpenProcess) -> None:
    process = open_process(transition_ms=0, per_region=True)
    here, there = process.client("us-east-1"), process.client("eu-west-1")
    here.create_table(TableName="table", **schema("p:S"))
    with refused("ResourceNotFoundException"):
        there.put_item(TableName="table", Item=item(p="1"))
    assert there.list_tables()["TableNames"] == []
    there.create_table(TableName="table", **schema("p:S"))
    there.put_item(TableName="table", Item=item(p="1"))
    assert here.scan(TableName="table")["Count"] == 0
    arn = there.describe_table(TableName="table")["Table"]["TableArn"]
    assert here.scan(TableName=arn)["Count"] == 1
    here.delete_table(TableName="table")
    assert there.scan(TableName="table")["Count"] == 1


def test_per_region_tokens_are_separate(open_process: OpenProcess) -> None:
    """A ClientRequestToken of one region says nothing about what was done in another."""
    process = open_process(transition_ms=0, per_region=True)
    for region in ("us-east-1", "eu-west-1"):
        client = process.client(region)
        client.create_table(TableName="table", **schema("p:S"))
        put = {"Put": {"TableName": "table", "Item": item(p="1")}}
        client.transact_write_items(TransactItems=[put], ClientRequestToken="token")
        assert client.scan(TableName="table")["Count"] == 1, region
