"""Transactional outbox: an order and the message about it, or neither.

A program that writes to a database and then sends a message can die in between. Here it writes the message
as an item, in the transaction of the order; the stream of those items is what sends. A message is sent at
least once, under an id that its receivers can tell repetitions by.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from examples.patterns.setup import Clients
from faradisc.streams import Consumer

ORDERS, OUTBOX = "pattern-orders", "pattern-outbox"

Send = Callable[[str, dict[str, Any]], None]


def create_tables(clients: Clients) -> None:
    clients.create(ORDERS, "order")
    clients.create(OUTBOX, "message", stream=True)


def place_order(clients: Clients, order: str, customer: str) -> None:
    """Raises TransactionCanceledException when the order is there already; then no message is written."""
    body = json.dumps({"type": "order-placed", "order": order, "customer": customer})
    clients.dynamodb.transact_write_items(
        TransactItems=[
            {
                "Put": {
                    "TableName": ORDERS,
                    "Item": {"order": {"S": order}, "customer": {"S": customer}},
                    "ConditionExpression": "attribute_not_exists(#order)",
                    "ExpressionAttributeNames": {"#order": "order"},
                }
            },
            {
                "Put": {
                    "TableName": OUTBOX,
                    "Item": {"message": {"S": f"placed/{order}"}, "body": {"S": body}},
                }
            },
        ]
    )


def relay(clients: Clients, send: Send) -> Consumer:
    """Sends every message, and takes it out of the outbox once it was sent."""

    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            if record["eventName"] == "REMOVE":
                continue
            image = record["dynamodb"]["NewImage"]
            send(image["message"]["S"], json.loads(image["body"]["S"]))
            clients.dynamodb.delete_item(TableName=OUTBOX, Key={"message": image["message"]})

    return clients.consumer(OUTBOX, handle, group="outbox-relay", batch_size=10)


def main(clients: Clients) -> None:
    create_tables(clients)
    place_order(clients, "order-1", "ada")
    place_order(clients, "order-2", "grace")
    with relay(clients, lambda message, body: print(f"sent {message}: {body}")) as consumer:
        consumer.drain()
    left = clients.dynamodb.scan(TableName=OUTBOX)["Count"]
    print(f"{left} messages left in the outbox")
