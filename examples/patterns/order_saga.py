"""A saga: an order goes through steps in different tables, and back when one of them fails.

    PLACED -> RESERVED -> PAID -> done
                 |
                 +-> REFUSED -> (the stock is given back) -> CANCELLED

The order's own state drives it: each change of the order is a record of the stream, and the handler makes
the next step. A step is one transaction of its effect and the order's new state, under the condition that
the order still has the old one; so a repetition does nothing, and a crash between two steps loses nothing.
An order that cannot be understood fails every time, and goes to the dead letters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from examples.patterns.setup import Clients, condition_failed
from faradisc.streams import Consumer

ORDERS, STOCK, LETTERS = "pattern-saga-orders", "pattern-stock", "pattern-saga-letters"

Charge = Callable[[str, int], bool]
"""(order, amount) -> whether the payment went through. Called again with the same order after a crash."""


def create_tables(clients: Clients) -> None:
    clients.create(ORDERS, "order", stream=True)
    clients.create(STOCK, "product")


def stock(clients: Clients, product: str, count: int) -> None:
    clients.dynamodb.put_item(TableName=STOCK, Item={"product": {"S": product}, "left": {"N": str(count)}})


def stock_left(clients: Clients, product: str) -> int:
    found = clients.dynamodb.get_item(TableName=STOCK, Key={"product": {"S": product}})
    return int(found["Item"]["left"]["N"])


def place(clients: Clients, order: str, product: str, amount: int) -> None:
    clients.dynamodb.put_item(
        TableName=ORDERS,
        Item={
            "order": {"S": order},
            "product": {"S": product},
            "amount": {"N": str(amount)},
            "state": {"S": "PLACED"},
        },
    )


def state(clients: Clients, order: str) -> str:
    found = clients.dynamodb.get_item(TableName=ORDERS, Key={"order": {"S": order}})
    return str(found["Item"]["state"]["S"])


def _turn(order: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The order's part of a step."""
    return {
        "Update": {
            "TableName": ORDERS,
            "Key": {"order": order["order"]},
            "UpdateExpression": "SET #state = :new",
            "ConditionExpression": "#state = :old",
            "ExpressionAttributeNames": {"#state": "state"},
            "ExpressionAttributeValues": {":old": {"S": old}, ":new": {"S": new}},
        }
    }


def _take(order: dict[str, Any], count: int) -> dict[str, Any]:
    """Take from the stock, or give back what is negative."""
    return {
        "Update": {
            "TableName": STOCK,
            "Key": {"product": order["product"]},
            "UpdateExpression": "SET #left = #left - :count",
            "ConditionExpression": "#left >= :count",
            "ExpressionAttributeNames": {"#left": "left"},
            "ExpressionAttributeValues": {":count": {"N": str(count)}},
        }
    }


def _do(clients: Clients, *parts: dict[str, Any]) -> bool:
    """A step; False when a condition was false."""
    try:
        clients.dynamodb.transact_write_items(TransactItems=list(parts))
    except ClientError as error:
        if condition_failed(error):
            return False
        raise
    return True


def saga(clients: Clients, charge: Charge) -> Consumer:
    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            if "NewImage" in record["dynamodb"]:
                step(record["dynamodb"]["NewImage"])

    def step(order: dict[str, Any]) -> None:
        match order["state"]["S"]:
            case "PLACED":
                if not _do(clients, _turn(order, "PLACED", "RESERVED"), _take(order, 1)):
                    # Sold out, unless the order has gone on already: then this does nothing.
                    _do(clients, _turn(order, "PLACED", "CANCELLED"))
            case "RESERVED":
                went_through = charge(order["order"]["S"], int(order["amount"]["N"]))
                _do(clients, _turn(order, "RESERVED", "PAID" if went_through else "REFUSED"))
            case "REFUSED":
                _do(clients, _turn(order, "REFUSED", "CANCELLED"), _take(order, -1))
            case "PAID" | "CANCELLED":
                pass
            case unknown:
                raise ValueError(f"an order cannot be {unknown}")

    return clients.consumer(
        ORDERS, handle, group="saga", bisect=True, retries=2, dead_letters=f"table:{LETTERS}"
    )


def main(clients: Clients) -> None:
    create_tables(clients)
    stock(clients, "lamp", 2)
    for number, amount in enumerate((20, 9_000, 20, 20), start=1):
        place(clients, f"order-{number}", "lamp", amount)
    with saga(clients, lambda order, amount: amount < 1_000) as consumer:
        consumer.drain()
    for number in range(1, 5):
        print(f"order-{number}: {state(clients, f'order-{number}')}")
    print(f"{stock_left(clients, 'lamp')} lamps left")
