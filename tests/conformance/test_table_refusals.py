"""CreateTable and UpdateTable requests that are refused, in the service's words.

Source: errors.md section 6.1 unless a row says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, new_name, refused, schema

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def key(*elements: tuple[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in elements]


def types(text: str) -> list[dict[str, str]]:
    return [{"AttributeName": part[:-2], "AttributeType": part[-1]} for part in text.split()]


def gsi(
    *elements: tuple[str, str], name: str = "index", projection: Any = "ALL", **more: Any
) -> dict[str, Any]:
    if isinstance(projection, str):
        projection = {"ProjectionType": projection}
    return {"IndexName": name, "KeySchema": key(*elements), "Projection": projection, **more}


HASH, RANGE = ("p", "HASH"), ("r", "RANGE")

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "units on demand": (
        {"ProvisionedThroughput": UNITS},
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
        "when BillingMode is PAY_PER_REQUEST",
    ),
    "no units provisioned": (
        {"BillingMode": "PROVISIONED"},
        INVALID
        + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    "read units out of bounds": (
        {
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1_000_000_000_001, "WriteCapacityUnits": 1},
        },
        "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
    ),
    "write units out of bounds": (
        {
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1_000_000_000_001},
        },
        "Given value 1000000000001 for WriteCapacityUnits is out of bounds",
    ),
    "key without definition": (
        {"AttributeDefinitions": types("q:S")},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [p], AttributeDefinitions: [q]",
    ),
    "one name twice": (
        {"KeySchema": key(HASH, ("p", "RANGE"))},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "first is no HASH": (
        {"KeySchema": key(("p", "RANGE"))},
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    "second is no RANGE": (
        {"KeySchema": key(HASH, ("r", "HASH")), "AttributeDefinitions": types("p:S r:S")},
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    ),
    "a definition too many": (
        {"AttributeDefinitions": types("p:S r:S")},
        INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions",
    ),
    "empty list of local indexes": (
        {"LocalSecondaryIndexes": []},
        INVALID + "List of LocalSecondaryIndexes is empty",
    ),
    "empty list of global indexes": (
        {"GlobalSecondaryIndexes": []},
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    "index key without definition": (
        {"GlobalSecondaryIndexes": [gsi(("a", "HASH"))]},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [a], AttributeDefinitions: [p]",
    ),
    "local index on a table without RANGE": (
        {"LocalSecondaryIndexes": [gsi(HASH, RANGE)], "AttributeDefinitions": types("p:S r:S")},
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
        "LocalSecondaryIndex",
    ),
    "local index without RANGE": (
        {
            "KeySchema": key(HASH, RANGE),
            "LocalSecondaryIndexes": [gsi(HASH)],
            "AttributeDefinitions": types("p:S r:S"),
        },
        INVALID + "Index KeySchema does not have a range key for index: index",
    ),
    "local index with another HASH": (
        {
            "KeySchema": key(HASH, RANGE),
            "LocalSecondaryIndexes": [gsi(("r", "HASH"), ("p", "RANGE"))],
            "AttributeDefinitions": types("p:S r:S"),
        },
        INVALID
        + "Index KeySchema does not have the same leading hash key as table KeySchema for index: index. "
        "index hash key: r, table hash key: p",
    ),
    "no projection type": (
        {"GlobalSecondaryIndexes": [gsi(HASH, projection={})]},
        INVALID + "Unknown ProjectionType: null",
    ),
    "attributes with ALL": (
        {
            "GlobalSecondaryIndexes": [
                gsi(HASH, projection={"ProjectionType": "ALL", "NonKeyAttributes": ["a"]})
            ]
        },
        INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    "attributes with KEYS_ONLY": (
        {
            "GlobalSecondaryIndexes": [
                gsi(HASH, projection={"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]})
            ]
        },
        INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
    ),
    "INCLUDE without attributes": (
        {"GlobalSecondaryIndexes": [gsi(HASH, projection="INCLUDE")]},
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    "index units on demand": (
        {"GlobalSecondaryIndexes": [gsi(HASH, ProvisionedThroughput=UNITS)]},
        INVALID + "ProvisionedThroughput should not be specified for index: index "
        "when BillingMode is PAY_PER_REQUEST",
    ),
    "two indexes of one name": (
        {"GlobalSecondaryIndexes": [gsi(HASH), gsi(HASH)]},
        INVALID + "Duplicate index name: index",
    ),
    "local and global index of one name": (
        {
            "KeySchema": key(HASH, RANGE),
            "AttributeDefinitions": types("p:S r:S"),
            "LocalSecondaryIndexes": [gsi(HASH, RANGE)],
            "GlobalSecondaryIndexes": [gsi(HASH)],
        },
        INVALID + "Duplicate index name: index",
    ),
    "six local indexes": (
        {
            "KeySchema": key(HASH, RANGE),
            "AttributeDefinitions": types("p:S r:S"),
            "LocalSecondaryIndexes": [gsi(HASH, RANGE, name=f"local{n}") for n in range(6)],
        },
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    "21 global indexes": (
        {"GlobalSecondaryIndexes": [gsi(HASH, name=f"global{n}") for n in range(21)]},
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    "view type of no stream": (
        {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
        INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
    ),
    "three elements in a table's key (new-features.md section 10)": (
        {
            "KeySchema": key(HASH, RANGE, ("s", "RANGE")),
            "AttributeDefinitions": types("p:S r:S s:S"),
        },
        "1 validation error detected: Value '[KeySchemaElement(attributeName=p, keyType=HASH), "
        "KeySchemaElement(attributeName=r, keyType=RANGE), "
        "KeySchemaElement(attributeName=s, keyType=RANGE)]' "
        "at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2",
    ),
}


@pytest.mark.parametrize(("changed", "text"), REFUSED.values(), ids=REFUSED)
def test_create_table_rejects_invalid_definitions(dynamodb: Any, changed: dict[str, Any], text: str) -> None:
    with invalid(text):
        dynamodb.create_table(TableName=new_name(), **{**schema("p:S"), **changed})


NAMES = {
    "short": ("ab", "Member must have length greater than or equal to 3"),
    "long": ("a" * 256, "Member must have length less than or equal to 255"),
    "odd character": ("a b c", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
}


@pytest.mark.parametrize(("name", "constraint"), NAMES.values(), ids=NAMES)
def test_create_table_rejects_invalid_names(dynamodb: Any, name: str, constraint: str) -> None:
    """Source: limits.md section 1."""
    with invalid(
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: "
        f"{constraint}"
    ):
        dynamodb.create_table(TableName=name, **schema("p:S"))


@pytest.mark.parametrize("name", ["abc", "a" * 255, "a.b-c_D9"])
def test_shortest_and_longest_names_are_accepted(
    dynamodb: Any, create: Callable[..., str], name: str, in_process_only: None
) -> None:
    assert dynamodb.describe_table(TableName=create("p:S", TableName=name))["Table"]["TableName"] == name


MULTI_KEYS: dict[str, list[tuple[str, str]]] = {
    "five HASH": [(name, "HASH") for name in "abcde"],
    "five RANGE": [("a", "HASH"), *((name, "RANGE") for name in "bcdef")],
    "RANGE before HASH": [("a", "HASH"), ("b", "RANGE"), ("c", "HASH")],
    "RANGE first": [("a", "RANGE"), ("b", "HASH"), ("c", "HASH")],
    "one name twice": [("a", "HASH"), ("b", "HASH"), ("a", "RANGE")],
    "one name as two HASH": [("a", "HASH"), ("a", "HASH")],
}


@pytest.mark.parametrize("elements", MULTI_KEYS.values(), ids=MULTI_KEYS)
def test_a_multi_attribute_key_outside_its_rules_is_rejected(
    dynamodb: Any, elements: list[tuple[str, str]]
) -> None:
    """Source: new-features.md section 10; no capture of the texts (errors.md section 10)."""
    names = dict.fromkeys(["p", *(name for name, _ in elements)])
    definitions = types(" ".join(f"{name}:S" for name in names))
    with invalid():
        dynamodb.create_table(
            TableName=new_name(),
            KeySchema=key(HASH),
            AttributeDefinitions=definitions,
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[gsi(*elements)],
        )


def test_projected_attributes_are_limited_to_100_in_all(dynamodb: Any) -> None:
    """Summed over the indexes, a name in two of them counting twice (limits.md section 5)."""
    twenty = {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"attribute{n}" for n in range(20)]}
    five = [gsi(HASH, name=f"index{n}", projection=twenty) for n in range(5)]
    dynamodb.create_table(TableName=new_name(), **{**schema("p:S"), "GlobalSecondaryIndexes": five})
    one = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["attribute0"]}
    with invalid():
        dynamodb.create_table(
            TableName=new_name(),
            **{**schema("p:S"), "GlobalSecondaryIndexes": [*five, gsi(HASH, name="sixth", projection=one)]},
        )


def test_more_units_than_a_table_may_have_exceed_a_limit(dynamodb: Any) -> None:
    """Source: limits.md section 6: 40,000 per table."""
    units = {"ReadCapacityUnits": 40_001, "WriteCapacityUnits": 1}
    members = {**schema("p:S"), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
    with refused("LimitExceededException"):
        dynamodb.create_table(TableName=new_name(), **members)


def test_an_index_update_holds_exactly_one_action(dynamodb: Any, create: Callable[..., str]) -> None:
    with invalid(
        INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
        "GlobalSecondaryIndexUpdate.Delete must not be null"
    ):
        dynamodb.update_table(TableName=create("p:S"), GlobalSecondaryIndexUpdates=[{}])


def test_an_index_is_updated_once_per_request(dynamodb: Any, create: Callable[..., str]) -> None:
    update = {"Update": {"IndexName": "index", "ProvisionedThroughput": UNITS}}
    with invalid(
        INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: index"
    ):
        dynamodb.update_table(
            TableName=create("p:S", gsi={"index": ("g:S", "", "ALL")}),
            GlobalSecondaryIndexUpdates=[update, update],
        )
