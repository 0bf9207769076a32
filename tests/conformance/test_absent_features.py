"""What is looked for and cannot be there: the service's answers for an account that has none of it.

Sources: new-features.md section 4; errors.md section 2; the service model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, refused

NO_POLICY = "Resource-based policy not found for the provided ResourceArn: "
NO_GLOBAL_TABLE = "Global table with name: 'table' does not exist."


@pytest.fixture
def described(dynamodb: Any, create: Callable[..., str]) -> dict[str, Any]:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    name = create("p:S", StreamSpecification=stream)
    table: dict[str, Any] = dynamodb.describe_table(TableName=name)["Table"]
    return table


@pytest.mark.parametrize("resource", ["TableArn", "LatestStreamArn"])
def test_no_resource_has_a_policy(dynamodb: Any, described: dict[str, Any], resource: str) -> None:
    arn = described[resource]
    with refused("PolicyNotFoundException", NO_POLICY + arn):
        dynamodb.get_resource_policy(ResourceArn=arn)
    assert "RevisionId" not in dynamodb.delete_resource_policy(ResourceArn=arn)
    with refused("PolicyNotFoundException"):
        dynamodb.delete_resource_policy(ResourceArn=arn, ExpectedRevisionId="1")


@pytest.mark.parametrize("operation", ["get_resource_policy", "delete_resource_policy"])
def test_policy_of_missing_resource_raises_resource_not_found(
    dynamodb: Any, described: dict[str, Any], operation: str
) -> None:
    ask = getattr(dynamodb, operation)
    table, stream = described["TableArn"] + "x", described["LatestStreamArn"] + "9"
    with refused("ResourceNotFoundException"):
        ask(ResourceArn=table)
    with refused("ResourceNotFoundException"):
        ask(ResourceArn=stream)
    with invalid("One or more parameter values were invalid: ARNs must start with 'arn:': table"):
        ask(ResourceArn="table")


def test_there_are_no_global_tables(dynamodb: Any) -> None:
    assert dynamodb.list_global_tables()["GlobalTables"] == []
    with refused("GlobalTableNotFoundException", f"Global table not found: {NO_GLOBAL_TABLE}"):
        dynamodb.describe_global_table(GlobalTableName="table")
    with refused("GlobalTableNotFoundException", NO_GLOBAL_TABLE):
        dynamodb.describe_global_table_settings(GlobalTableName="table")
