"""Transactional outbox: an order and its message are written both or not at all.

A program that writes to a database and then sends a message may stop in between. Here it writes the message
as an item in the transaction of the order, and a consumer of the stream of these items sends it. A message is
sent at least once, with an id by which receivers recognise repetitions."""

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
    """Raises TransactionCanceledException when the order exists; then no message is written."""
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
    """Sends every message and then deletes it from the outbox."""

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
