"""The application whose tests are moved: orders of customers, in one table."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Attr, Key

TABLE = boto3.resource("dynamodb", region_name="eu-west-1").Table("orders")
"""Made when the module is imported, as applications often do."""


def create_table() -> None:
    TABLE.meta.client.create_table(
        TableName="orders",
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "number", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "number", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    TABLE.wait_until_exists()


def place(customer: str, number: int, price: str) -> bool:
    """Returns whether the order is new."""
    item: dict[str, Any] = {"customer": customer, "number": number, "price": Decimal(price)}
    try:
        TABLE.put_item(Item=item, ConditionExpression=Attr("customer").not_exists())
    except TABLE.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def total(customer: str) -> Decimal:
    """Returns the sum of a customer's orders."""
    found = TABLE.query(KeyConditionExpression=Key("customer").eq(customer))["Items"]
    return sum((item["price"] for item in found), Decimal(0))
