"""A sharded counter: many writers add concurrently without waiting for each other.

One item accepts one write at a time, about a thousand per second on the service. So the count is spread over
several items. A writer chooses one at random, a reader adds them up. A consumer of the stream copies the
values for readers that do not need the newest ones."""

from __future__ import annotations

import random
from typing import Any

from examples.patterns.setup import Clients
from faradisc.streams import Consumer

COUNTS, SUMS = "pattern-counts", "pattern-sums"
SHARDS = 8


def create_tables(clients: Clients) -> None:
    clients.create(COUNTS, "counter", "shard", stream=True)
    clients.create(SUMS, "counter", "shard")


def add(clients: Clients, counter: str, amount: int, chance: random.Random) -> None:
    clients.dynamodb.update_item(
        TableName=COUNTS,
        Key={"counter": {"S": counter}, "shard": {"S": str(chance.randrange(SHARDS))}},
        UpdateExpression="ADD amount :amount",
        ExpressionAttributeValues={":amount": {"N": str(amount)}},
    )


def total(clients: Clients, counter: str, table: str = COUNTS) -> int:
    """Returns the sum over all shards, which is exact in COUNTS."""
    pages = clients.dynamodb.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="#counter = :counter",
        ExpressionAttributeNames={"#counter": "counter"},
        ExpressionAttributeValues={":counter": {"S": counter}},
        ConsistentRead=True,
    )
    return sum(int(item["amount"]["N"]) for page in pages for item in page["Items"])


def summing(clients: Clients) -> Consumer:
    """Copies the newest value of each shard in a batch. Copying twice is harmless; adding differences twice
    is not."""

    def handle(event: dict[str, Any]) -> None:
        newest: dict[tuple[str, str], dict[str, Any]] = {}
        for record in event["Records"]:
            image = record["dynamodb"].get("NewImage")
            if image is not None:
                newest[image["counter"]["S"], image["shard"]["S"]] = image
        for image in newest.values():
            clients.dynamodb.put_item(TableName=SUMS, Item=image)

    return clients.consumer(COUNTS, handle, group="summing", batch_size=1000)


def main(clients: Clients) -> None:
    create_tables(clients)
    chance = random.Random(1)
    for _ in range(500):
        add(clients, "views", 1, chance)
    with summing(clients) as consumer:
        consumer.drain()
    print(f"{total(clients, 'views')} views, {total(clients, 'views', SUMS)} in the copy")
