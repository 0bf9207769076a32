"""Tests against dynalite: `npx dynalite --port 4567`, and then `pytest`."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import orders
import pytest


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    client = boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url="http://127.0.0.1:4567",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )
    resource = boto3.resource(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url="http://127.0.0.1:4567",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )
    monkeypatch.setattr(orders, "TABLE", resource.Table("orders"))
    if "orders" in client.list_tables()["TableNames"]:  # of an earlier run
        client.delete_table(TableName="orders")
        client.get_waiter("table_not_exists").wait(TableName="orders")
    orders.create_table()
    yield
    client.delete_table(TableName="orders")
