"""The CreateTable requests of the four tables."""

from __future__ import annotations

from typing import Any


def _keys(partition: str, sort: str | None = None) -> list[dict[str, str]]:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    if sort is not None:
        keys.append({"AttributeName": sort, "KeyType": "RANGE"})
    return keys


def _attributes(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


_TEN_UNITS = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5}

TABLES: tuple[dict[str, Any], ...] = (
    {
        "TableName": "ProductCatalog",
        "KeySchema": _keys("Id"),
        "AttributeDefinitions": _attributes(Id="N"),
        "ProvisionedThroughput": _TEN_UNITS,
    },
    {
        "TableName": "Forum",
        "KeySchema": _keys("Name"),
        "AttributeDefinitions": _attributes(Name="S"),
        "ProvisionedThroughput": _TEN_UNITS,
    },
    {
        "TableName": "Thread",
        "KeySchema": _keys("ForumName", "Subject"),
        "AttributeDefinitions": _attributes(ForumName="S", Subject="S", LastPostedDateTime="S"),
        "LocalSecondaryIndexes": [
            {
                "IndexName": "LastPostIndex",
                "KeySchema": _keys("ForumName", "LastPostedDateTime"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "ProvisionedThroughput": _TEN_UNITS,
    },
    {
        "TableName": "Reply",
        "KeySchema": _keys("Id", "ReplyDateTime"),
        "AttributeDefinitions": _attributes(Id="S", ReplyDateTime="S", PostedBy="S", Message="S"),
        "LocalSecondaryIndexes": [
            {
                "IndexName": "PostedByIndex",
                "KeySchema": _keys("Id", "PostedBy"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "PostedBy-Message-Index",
                "KeySchema": _keys("PostedBy", "Message"),
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": _TEN_UNITS,
            }
        ],
        "ProvisionedThroughput": _TEN_UNITS,
    },
)
