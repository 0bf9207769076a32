"""Creates the tables and puts the items with a boto3 client."""

from __future__ import annotations

from typing import Any

from boto3.dynamodb.types import TypeSerializer

from examples.guide_tables.items import ITEMS
from examples.guide_tables.tables import TABLES

_BATCH_MAX = 25


def create_tables(client: Any) -> None:
    for table in TABLES:
        client.create_table(**table)
    waiter = client.get_waiter("table_exists")
    for table in TABLES:
        waiter.wait(TableName=table["TableName"], WaiterConfig={"Delay": 1})


def load_items(client: Any) -> int:
    """Puts all items and returns their number."""
    serializer = TypeSerializer()
    requests = [
        (table, {"PutRequest": {"Item": {name: serializer.serialize(value) for name, value in item.items()}}})
        for table, items in ITEMS.items()
        for item in items
    ]
    for start in range(0, len(requests), _BATCH_MAX):
        pending: dict[str, list[Any]] = {}
        for table, request in requests[start : start + _BATCH_MAX]:
            pending.setdefault(table, []).append(request)
        while pending:
            pending = client.batch_write_item(RequestItems=pending)["UnprocessedItems"]
    return len(requests)


def delete_tables(client: Any) -> None:
    for table in TABLES:
        client.delete_table(TableName=table["TableName"])
    waiter = client.get_waiter("table_not_exists")
    for table in TABLES:
        waiter.wait(TableName=table["TableName"], WaiterConfig={"Delay": 1})
