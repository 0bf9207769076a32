"""CreateTable, DescribeTable, DeleteTable: what is declared is what is described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, new_name, refused, schema

PROVISIONED = {
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
}


def describe(dynamodb: Any, name: str) -> dict[str, Any]:
    return dynamodb.describe_table(TableName=name)["Table"]


def test_a_new_table_describes_its_keys_in_order(dynamodb: Any, create: Callable[..., str]) -> None:
    table = describe(dynamodb, create("p:S", "r:B"))
    assert table["KeySchema"] == [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "r", "KeyType": "RANGE"},
    ]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "r", "AttributeType": "B"},
    ]


def test_creation_answers_with_the_state_creating(dynamodb: Any) -> None:
    name = new_name()
    table = dynamodb.create_table(TableName=name, **schema("p:S"))["TableDescription"]
    assert table["TableStatus"] == "CREATING"
    assert (table["ItemCount"], table["TableSizeBytes"]) == (0, 0)


def test_a_table_has_an_arn_with_its_name_and_an_id(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    table = describe(dynamodb, name)
    assert table["TableArn"].startswith("arn:aws:dynamodb:us-east-1:")
    assert table["TableArn"].endswith(f":table/{name}")
    assert len(table["TableId"]) == 36


@pytest.mark.parametrize("type_", ["S", "N", "B"])
def test_every_key_type_can_be_a_partition_key(dynamodb: Any, create: Callable[..., str], type_: str) -> None:
    table = describe(dynamodb, create(f"key:{type_}"))
    assert table["AttributeDefinitions"] == [{"AttributeName": "key", "AttributeType": type_}]


def test_an_on_demand_table_reports_zero_units_and_its_billing_mode(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    table = describe(dynamodb, create("p:S"))
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 0


def test_a_new_on_demand_table_is_warm_for_12000_reads_and_4000_writes(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    """Source: new-features.md section 6."""
    warm = describe(dynamodb, create("p:S"))["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"]) == (12_000, 4_000)


def test_a_table_never_on_demand_has_no_billing_mode_summary(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    """Source: capacity.md section 2.12, "DescribeTable fields"."""
    table = describe(dynamodb, create("p:S", **PROVISIONED))
    assert "BillingModeSummary" not in table
    assert table["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": 5,
        "WriteCapacityUnits": 7,
    }


def test_indexes_are_described_with_arn_projection_and_keys(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    name = create(
        "p:S",
        "r:S",
        lsi={"by-date": ("date:N", "KEYS_ONLY")},
        gsi={"by-city": ("city:S", "", ["name", "age"]), "all": ("city:S", "date:N", "ALL")},
    )
    table = describe(dynamodb, name)
    (local,) = table["LocalSecondaryIndexes"]
    assert local["KeySchema"][1] == {"AttributeName": "date", "KeyType": "RANGE"}
    assert local["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert local["IndexArn"] == f"{table['TableArn']}/index/by-date"
    assert "IndexStatus" not in local
    by_city, everything = table["GlobalSecondaryIndexes"]
    assert by_city["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name", "age"]}
    assert everything["Projection"] == {"ProjectionType": "ALL"}
    assert by_city["IndexStatus"] == "ACTIVE"
    assert by_city["ItemCount"] == 0


def test_multi_attribute_keys_are_described_in_the_order_given(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    """Source: new-features.md section 10: order is significant and returned as given."""
    name = create("p:S", gsi={"many": ("z:S a:N m:B b:S", "y:S c:N x:B d:S", "ALL")})
    (index,) = describe(dynamodb, name)["GlobalSecondaryIndexes"]
    assert [e["AttributeName"] for e in index["KeySchema"]] == list("zamb") + list("ycxd")
    assert [e["KeyType"] for e in index["KeySchema"]] == ["HASH"] * 4 + ["RANGE"] * 4


def test_counts_and_sizes_follow_the_items(
    dynamodb: Any, create: Callable[..., str], in_process_only: None
) -> None:
    """100 bytes are added per item and per index entry (capacity.md section 2.1)."""
    name = create("p:S", gsi={"by-g": ("g:S", "", "KEYS_ONLY")})
    dynamodb.put_item(TableName=name, Item=item(p="1", g="x", data="12345"))
    dynamodb.put_item(TableName=name, Item=item(p="2"))
    table = describe(dynamodb, name)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (2, (2 + 2 + 9 + 100) + (2 + 100))
    (index,) = table["GlobalSecondaryIndexes"]
    assert (index["ItemCount"], index["IndexSizeBytes"]) == (1, 2 + 2 + 100)
    dynamodb.delete_item(TableName=name, Key=item(p="1"))
    table = describe(dynamodb, name)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (1, 102)
    assert table["GlobalSecondaryIndexes"][0]["IndexSizeBytes"] == 0


def test_deletion_answers_with_the_state_deleting(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    table = dynamodb.delete_table(TableName=name)["TableDescription"]
    assert (table["TableName"], table["TableStatus"]) == (name, "DELETING")


def test_deleting_a_table_deletes_its_items(
    dynamodb: Any, create: Callable[..., str], in_process_only: None
) -> None:
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=item(p="1"))
    dynamodb.delete_table(TableName=name)
    with refused("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found"):
        dynamodb.describe_table(TableName=name)
    with refused("ResourceNotFoundException", "Requested resource not found"):
        dynamodb.get_item(TableName=name, Key=item(p="1"))


def test_a_table_created_again_is_empty(
    dynamodb: Any, create: Callable[..., str], in_process_only: None
) -> None:
    """engine-requirements.md, class 8: a re-created table inherits nothing."""
    name = create("p:S", gsi={"by-g": ("g:S", "", "ALL")}, Tags=[{"Key": "a", "Value": "b"}])
    before = describe(dynamodb, name)
    dynamodb.put_item(TableName=name, Item=item(p="1", g="x"))
    dynamodb.delete_table(TableName=name)
    create("p:S", gsi={"by-g": ("g:S", "", "ALL")}, TableName=name)
    after = describe(dynamodb, name)
    assert after["TableId"] != before["TableId"]
    assert after["ItemCount"] == 0
    assert dynamodb.scan(TableName=name)["Items"] == []
    assert dynamodb.scan(TableName=name, IndexName="by-g")["Items"] == []
    assert dynamodb.list_tags_of_resource(ResourceArn=after["TableArn"])["Tags"] == []


def test_a_second_table_of_the_same_name_is_rejected(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    with refused("ResourceInUseException", f"Table already exists: {name}"):
        dynamodb.create_table(TableName=name, **schema("p:S"))


@pytest.mark.parametrize("operation", ["describe_table", "delete_table"])
def test_control_plane_requests_name_the_missing_table(dynamodb: Any, operation: str) -> None:
    """Source: errors.md section 6.1."""
    name = new_name()
    with refused("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found"):
        getattr(dynamodb, operation)(TableName=name)


DATA_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_item", {"Key": item(p="1")}),
    ("put_item", {"Item": item(p="1")}),
    ("update_item", {"Key": item(p="1")}),
    ("delete_item", {"Key": item(p="1")}),
    ("scan", {}),
    (
        "query",
        {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "1"}}},
    ),
]


@pytest.mark.parametrize(("operation", "parameters"), DATA_CALLS, ids=[name for name, _ in DATA_CALLS])
def test_data_requests_report_a_missing_resource_without_its_name(
    dynamodb: Any, operation: str, parameters: dict[str, Any]
) -> None:
    """Source: errors.md section 6.1."""
    with refused("ResourceNotFoundException", "Requested resource not found"):
        getattr(dynamodb, operation)(TableName=new_name(), **parameters)


@pytest.mark.parametrize("operation", ["create_table", "describe_table", "delete_table", "update_table"])
def test_a_missing_table_name_is_reported_alone(dynamodb: Any, operation: str) -> None:
    """Source: errors.md section 4, "Captured details"."""
    with invalid("The parameter 'TableName' is required but was not present in the request"):
        getattr(dynamodb, operation)()


def test_deletion_protection_holds_until_disabled(dynamodb: Any, create: Callable[..., str]) -> None:
    """Source: new-features.md section 2."""
    name = create("p:S", DeletionProtectionEnabled=True)
    assert describe(dynamodb, name)["DeletionProtectionEnabled"] is True
    with invalid(
        "Resource cannot be deleted as it is currently protected against deletion. "
        "Disable deletion protection first."
    ):
        dynamodb.delete_table(TableName=name)
    changed = dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
    assert changed["TableDescription"]["DeletionProtectionEnabled"] is False
    dynamodb.delete_table(TableName=name)


def test_deletion_protection_can_be_enabled_later(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    assert describe(dynamodb, name)["DeletionProtectionEnabled"] is False
    dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)
    with invalid():
        dynamodb.delete_table(TableName=name)


def test_the_table_class_is_described_once_it_was_named(dynamodb: Any, create: Callable[..., str]) -> None:
    assert "TableClassSummary" not in describe(dynamodb, create("p:S"))
    name = create("p:S", TableClass="STANDARD_INFREQUENT_ACCESS")
    assert describe(dynamodb, name)["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    dynamodb.update_table(TableName=name, TableClass="STANDARD")
    assert describe(dynamodb, name)["TableClassSummary"]["TableClass"] == "STANDARD"


def test_limits_of_the_account_are_described(dynamodb: Any) -> None:
    """Source: limits.md section 6."""
    limits = dynamodb.describe_limits()
    del limits["ResponseMetadata"]
    assert limits == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def test_endpoints_return_the_host_of_the_request(dynamodb: Any) -> None:
    (endpoint,) = dynamodb.describe_endpoints()["Endpoints"]
    assert endpoint["CachePeriodInMinutes"] == 1440
    assert endpoint["Address"] == dynamodb.meta.endpoint_url.partition("//")[2]
