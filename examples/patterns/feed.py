"""Feed fan-out: a post is copied into the feeds of all followers of its author.

One table has the pairs of follower and author. Its key finds the authors of a follower; a global index with
the reversed key finds the followers of an author, which a new post needs. A feed is read with one Query."""

from __future__ import annotations

from typing import Any

from examples.patterns.setup import Clients
from faradisc.streams import Consumer

FOLLOWS, POSTS, FEEDS = "pattern-follows", "pattern-posts", "pattern-feeds"


def create_tables(clients: Clients) -> None:
    clients.create(FOLLOWS, "follower", "author", index=("author", "follower"))
    clients.create(POSTS, "author", "at", stream=True)
    clients.create(FEEDS, "reader", "at")


def follow(clients: Clients, follower: str, author: str) -> None:
    clients.dynamodb.put_item(TableName=FOLLOWS, Item={"follower": {"S": follower}, "author": {"S": author}})


def post(clients: Clients, author: str, at: str, text: str) -> None:
    clients.dynamodb.put_item(
        TableName=POSTS, Item={"author": {"S": author}, "at": {"S": at}, "text": {"S": text}}
    )


def followers(clients: Clients, author: str) -> list[str]:
    pages = clients.dynamodb.get_paginator("query").paginate(
        TableName=FOLLOWS,
        IndexName="by-author",
        KeyConditionExpression="author = :author",
        ExpressionAttributeValues={":author": {"S": author}},
    )
    return [item["follower"]["S"] for page in pages for item in page["Items"]]


def feed(clients: Clients, reader: str) -> list[tuple[str, str]]:
    """Returns (author, text) of the newest posts, newest first."""
    found = clients.dynamodb.query(
        TableName=FEEDS,
        KeyConditionExpression="reader = :reader",
        ExpressionAttributeValues={":reader": {"S": reader}},
        ScanIndexForward=False,
        Limit=20,
    )
    return [(item["author"]["S"], item["text"]["S"]) for item in found["Items"]]


def fan_out(clients: Clients) -> Consumer:
    """Copies, changes and deletes posts in the feeds of the followers. The key of a copy consists of that of
    the post, so a repetition writes the same items again."""

    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            change = record["dynamodb"]
            author, at = change["Keys"]["author"]["S"], change["Keys"]["at"]["S"]
            for reader in followers(clients, author):
                key = {"reader": {"S": reader}, "at": {"S": f"{at}/{author}"}}
                if "NewImage" in change:
                    image = change["NewImage"]
                    clients.dynamodb.put_item(
                        TableName=FEEDS, Item={**key, "author": image["author"], "text": image["text"]}
                    )
                else:
                    clients.dynamodb.delete_item(TableName=FEEDS, Key=key)

    return clients.consumer(POSTS, handle, group="fan-out", parallel=4)


def main(clients: Clients) -> None:
    create_tables(clients)
    for reader in ("grace", "alan"):
        follow(clients, reader, "ada")
    follow(clients, "grace", "alan")
    post(clients, "ada", "2026-11-20T09:00", "Notes on the engine.")
    post(clients, "alan", "2026-11-20T10:00", "Can machines think?")
    with fan_out(clients) as consumer:
        consumer.drain()
    for reader in ("grace", "alan"):
        print(f"{reader}'s feed: {feed(clients, reader)}")
