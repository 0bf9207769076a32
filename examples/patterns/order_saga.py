"""A saga: the steps of an order in different tables, and their compensation when one fails.

    PLACED -> RESERVED -> PAID -> done
                 |
                 +-> DECLINED -> (the stock is restored) -> CANCELLED

Each change of an order is a record of the stream, and the handler does the next step. A step is one
transaction of its effect and the order's new state, with the condition that the order has the old state: a
repetition changes nothing, and a crash between two steps loses nothing. An order with an unknown state fails
and becomes a dead letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from examples.patterns.setup import Clients, condition_failed
from faradisc.streams import Consumer

ORDERS, STOCK, LETTERS = "pattern-saga-orders", "pattern-stock", "pattern-saga-letters"

Charge = Callable[[str, int], bool]
"""(order, amount) -> whether the payment succeeded. Called again with the same order after a crash."""


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


def _change_state(order: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Returns the change of the order in a step."""
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


def _change_stock(order: dict[str, Any], count: int) -> dict[str, Any]:
    """Returns the change of the stock: takes `count`, or restores a negative count."""
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


def _step(clients: Clients, *parts: dict[str, Any]) -> bool:
    """Does a step. Returns False when a condition was false."""
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
                if not _step(clients, _change_state(order, "PLACED", "RESERVED"), _change_stock(order, 1)):
                    # Sold out; if the step was done before, this changes nothing.
                    _step(clients, _change_state(order, "PLACED", "CANCELLED"))
            case "RESERVED":
                succeeded = charge(order["order"]["S"], int(order["amount"]["N"]))
                _step(clients, _change_state(order, "RESERVED", "PAID" if succeeded else "DECLINED"))
            case "DECLINED":
                _step(clients, _change_state(order, "DECLINED", "CANCELLED"), _change_stock(order, -1))
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
