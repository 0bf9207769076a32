"""The table with the key service and shape, and an index by type."""

from __future__ import annotations

from typing import Any

from examples.botocore_corpus.source import PARTITION_KEY, SORT_KEY, TYPE

TABLE = "BotocoreShapes"
INDEX = "ByType"


def create(client: Any) -> None:
    """Creates the table and waits for it. It must not exist."""
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in (PARTITION_KEY, SORT_KEY, TYPE)
        ],
        KeySchema=_keys(PARTITION_KEY, SORT_KEY),
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": _keys(TYPE, SORT_KEY),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})


def delete(client: Any) -> None:
    client.delete_table(TableName=TABLE)
    client.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]
