"""A sharded counter: many writers add at the same time, and none waits for another.

One item takes one write at a time, and about a thousand a second on the service. So the count is spread
over several items, of which each writer picks one by chance; a reader adds them up. A consumer of the
stream keeps the sum in one item, for readers that can do with one that is a moment old.
"""

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
    """The sum over all shards. In COUNTS it is exact."""
    pages = clients.dynamodb.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="#counter = :counter",
        ExpressionAttributeNames={"#counter": "counter"},
        ExpressionAttributeValues={":counter": {"S": counter}},
        ConsistentRead=True,
    )
    return sum(int(item["amount"]["N"]) for page in pages for item in page["Items"])


def summing(clients: Clients) -> Consumer:
    """Copies each shard's newest value, and only the newest of a batch. Copying twice does no harm, while
    adding the differences twice would."""

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
        add(clients, "visits", 1, chance)
    with summing(clients) as consumer:
        consumer.drain()
    print(f"{total(clients, 'visits')} visits, {total(clients, 'visits', SUMS)} in the copy")
