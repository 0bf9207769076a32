"""Search index: a table of words that follows every change of the documents.

A record has both images, so the added and removed words are known without reading the index. Writing an
existing word, or deleting a missing one, changes nothing, so repetitions are harmless. The index could also
be in another program."""

from __future__ import annotations

import re
from typing import Any

from examples.patterns.setup import Clients
from faradisc.streams import Consumer

DOCUMENTS, WORDS = "pattern-documents", "pattern-words"


def create_tables(clients: Clients) -> None:
    clients.create(DOCUMENTS, "document", stream=True)
    clients.create(WORDS, "word", "document")


def save(clients: Clients, document: str, text: str) -> None:
    clients.dynamodb.put_item(TableName=DOCUMENTS, Item={"document": {"S": document}, "text": {"S": text}})


def delete(clients: Clients, document: str) -> None:
    clients.dynamodb.delete_item(TableName=DOCUMENTS, Key={"document": {"S": document}})


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def search(clients: Clients, text: str) -> set[str]:
    """Returns the documents with all words of `text`."""
    found: set[str] | None = None
    for word in words_of(text):
        pages = clients.dynamodb.get_paginator("query").paginate(
            TableName=WORDS,
            KeyConditionExpression="word = :word",
            ExpressionAttributeValues={":word": {"S": word}},
        )
        documents = {item["document"]["S"] for page in pages for item in page["Items"]}
        found = documents if found is None else found & documents
    return found or set()


def indexer(clients: Clients) -> Consumer:
    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            change = record["dynamodb"]
            document = change["Keys"]["document"]
            before = words_of(change["OldImage"]["text"]["S"]) if "OldImage" in change else set()
            after = words_of(change["NewImage"]["text"]["S"]) if "NewImage" in change else set()
            for word in sorted(after - before):
                clients.dynamodb.put_item(TableName=WORDS, Item={"word": {"S": word}, "document": document})
            for word in sorted(before - after):
                clients.dynamodb.delete_item(TableName=WORDS, Key={"word": {"S": word}, "document": document})

    return clients.consumer(DOCUMENTS, handle, group="indexer")


def main(clients: Clients) -> None:
    create_tables(clients)
    save(clients, "one", "The quick brown fox")
    save(clients, "two", "The lazy dog")
    with indexer(clients) as consumer:
        consumer.drain()
        print(f"the: {sorted(search(clients, 'the'))}, brown fox: {sorted(search(clients, 'brown fox'))}")
        save(clients, "one", "A quick red fox")
        delete(clients, "two")
        consumer.drain()
    print(f"the: {sorted(search(clients, 'the'))}, red fox: {sorted(search(clients, 'red fox'))}")
