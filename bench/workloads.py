"""The data, the tables, and the named workloads. The six with targets come first.

The data is one table of 100-item partitions, `pk` and `sk`, with items of 400 bytes by DynamoDB's own count
(names and values in UTF-8; JSON on the wire is about half as much again). Everything is a function of an
item's number and a generation, so the same population can be made anywhere, twice, and in any order. Writes
overwrite existing items with ones of another generation: the table stays the size it was, round after round.
"""

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.requests import Operation

SEED = 20_260_101
PARTITION_ITEMS = 100
BATCH_ITEMS = 25
TRANSACTION_ITEMS = 4
PLAIN_TABLE = "bench-items"
INDEXED_TABLE = "bench-indexed"
INDEX = "by-owner"
OWNERS = 1_000
NOTE_BYTES = 197
"""Fills an item up to 400 bytes, as `item_bytes` counts."""

_letters = random.Random(SEED).choices(string.ascii_letters + string.digits + " ", k=65_536)
_text = "".join(_letters)


@dataclass(frozen=True, slots=True)
class Population:
    """The items 0 to count - 1 of a table; count is a multiple of PARTITION_ITEMS."""

    count: int

    def partition(self, number: int) -> dict[str, str]:
        return {"S": f"part#{number:08d}"}

    def key(self, number: int) -> dict[str, Any]:
        partition, place = divmod(number, PARTITION_ITEMS)
        return {"pk": self.partition(partition), "sk": {"S": f"item#{place:05d}"}}

    def number(self, item: dict[str, Any]) -> int:
        """Returns the number from which `key` makes this item's key."""
        partition = int(item["pk"]["S"].partition("#")[2])
        return partition * PARTITION_ITEMS + int(item["sk"]["S"].partition("#")[2])

    def mark(self, number: int, generation: int = 0) -> int:
        """Returns what the attributes of an item follow from, except its key."""
        return (number * 7919 + generation * 104_729) % (len(_text) - 512)

    def item(self, number: int, generation: int = 0) -> dict[str, Any]:
        """Returns an item; another generation has the same key and size, and other contents and owner."""
        mark = self.mark(number, generation)
        return {
            **self.key(number),
            "owner": {"S": f"owner#{mark % OWNERS:04d}"},
            "status": {"S": "active"},
            "name": {"S": _text[mark + 200 : mark + 224]},
            "email": {"S": f"user.{mark:05d}.{generation % 10_000:04d}@example.com"},
            "views": {"N": str(1_000 + mark % 9_000)},
            "score": {"N": f"{1 + mark % 9}{mark % 10}.{1 + mark % 9}"},
            "verified": {"BOOL": mark % 2 == 0},
            "tags": {"L": [{"S": _text[mark + 230 : mark + 238]}, {"S": _text[mark + 240 : mark + 248]}]},
            "address": {"M": {"city": {"S": _text[mark + 250 : mark + 262]}, "zip": {"S": f"{mark:05d}"}}},
            "note": {"S": _text[mark : mark + NOTE_BYTES]},
        }

    def load(self, table: str) -> Iterator[Operation]:
        """Yields BatchWriteItem requests that write the whole population once."""
        for first in range(0, self.count, BATCH_ITEMS):
            numbers = range(first, min(first + BATCH_ITEMS, self.count))
            yield _batch(table, [self.item(number) for number in numbers])


def table_definition(table: str) -> dict[str, Any]:
    """Returns the CreateTable request; the indexed table has one GSI with all attributes."""
    names = ["pk", "sk"]
    definition: dict[str, Any] = {
        "TableName": table,
        "KeySchema": _key_schema("pk", "sk"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if table == INDEXED_TABLE:
        names.append("owner")
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": INDEX,
                "KeySchema": _key_schema("owner", "sk"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    definition["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": "S"} for name in names]
    return definition


Maker = Callable[[str, Population, random.Random, int], Operation]


@dataclass(frozen=True, slots=True)
class Workload:
    """A named stream of requests. `distinct` requests are made and signed, then replayed repeatedly."""

    name: str
    title: str
    make: Maker
    distinct: int
    target: float | None = None
    """The target of Faradisc's rate over Dynoxide's at 16 connections, or None."""
    table: str = PLAIN_TABLE
    probes: int = 8
    """The number of requests that the check before the timing sends."""

    def operations(self, population: Population) -> list[Operation]:
        chance = random.Random(f"{SEED} {self.name} {population.count}")
        return [self.make(self.table, population, chance, number) for number in range(self.distinct)]


def _get(table: str, population: Population, chance: random.Random, _: int) -> Operation:
    return "GetItem", {"TableName": table, "Key": population.key(chance.randrange(population.count))}


def _put(table: str, population: Population, chance: random.Random, number: int) -> Operation:
    item = population.item(chance.randrange(population.count), generation=1 + number)
    return "PutItem", {"TableName": table, "Item": item}


def _update(table: str, population: Population, chance: random.Random, number: int) -> Operation:
    chosen = chance.randrange(population.count)
    note = population.item(chosen, generation=1 + number)["note"]
    return "UpdateItem", {
        "TableName": table,
        "Key": population.key(chosen),
        "UpdateExpression": "SET #views = #views + :one, #note = :note",
        "ConditionExpression": "attribute_exists(pk) AND #status = :active",
        "ExpressionAttributeNames": {"#views": "views", "#note": "note", "#status": "status"},
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":note": note, ":active": {"S": "active"}},
    }


def _query(table: str, population: Population, chance: random.Random, _: int) -> Operation:
    partition = chance.randrange(population.count // PARTITION_ITEMS)
    return "Query", {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": population.partition(partition)},
    }


def _batch_write(table: str, population: Population, chance: random.Random, number: int) -> Operation:
    chosen = chance.sample(range(population.count), BATCH_ITEMS)
    return _batch(table, [population.item(each, generation=1 + number) for each in chosen])


def _scan(table: str, population: Population, chance: random.Random, _: int) -> Operation:
    """Returns a request for a page of a scan. It starts behind a random item, so all servers get the same
    requests."""
    start = population.key(chance.randrange(population.count))
    return "Scan", {"TableName": table, "ExclusiveStartKey": start}


def _transact(table: str, population: Population, chance: random.Random, number: int) -> Operation:
    """Returns three puts and a conditional update of four distinct items."""
    chosen = chance.sample(range(population.count), TRANSACTION_ITEMS)
    puts = [{"Put": {"TableName": table, "Item": population.item(each, 1 + number)}} for each in chosen[1:]]
    _, update = _update(table, population, chance, number)
    update["Key"] = population.key(chosen[0])
    return "TransactWriteItems", {"TransactItems": [{"Update": update}, *puts]}


def _select(table: str, population: Population, chance: random.Random, _: int) -> Operation:
    key = population.key(chance.randrange(population.count))
    return "ExecuteStatement", {
        "Statement": f'SELECT * FROM "{table}" WHERE pk = ? AND sk = ?',
        "Parameters": [key["pk"], key["sk"]],
    }


def _mixed(table: str, population: Population, chance: random.Random, number: int) -> Operation:
    return (_get if chance.random() < 0.8 else _put)(table, population, chance, number)


CANONICAL = (
    Workload("getitem", "GetItem, random keys", _get, 50_000, target=1.3),
    Workload("putitem", "PutItem, durable", _put, 30_000, target=4),
    Workload("updateitem", "UpdateItem with a condition, durable", _update, 30_000, target=3),
    Workload("query100", "Query of 100 items", _query, 1_000, target=6),
    Workload("batchwrite25", "BatchWriteItem of 25, durable", _batch_write, 2_000, target=9),
    Workload("scan", "Scan of the table, pages of 1 MB", _scan, 200, target=11, probes=24),
)
EXTRA = (
    Workload("putitem-gsi", "PutItem with one GSI, durable", _put, 20_000, table=INDEXED_TABLE),
    Workload("transactwrite4", "TransactWriteItems of 4, durable", _transact, 8_000, target=4),
    Workload("partiql-get", "PartiQL SELECT of one item", _select, 50_000, target=1.3),
    Workload("mixed", "80 % GetItem, 20 % PutItem", _mixed, 50_000, target=2.2, probes=24),
)
WORKLOADS = {workload.name: workload for workload in CANONICAL + EXTRA}


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a table, and its largest cost for a write."""

    title: str
    prepare: tuple[Operation, ...]
    """The request that switches it on, without the table's name."""
    cost_max: float
    """Share of the throughput."""
    workloads: tuple[str, ...] = ("putitem",)
    with_keys: bool = False
    """Whether the servers need a key file."""


FEATURES = {
    "stream": Feature(
        "a stream of both images",
        (
            (
                "UpdateTable",
                {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}},
            ),
        ),
        0.25,
    ),
    "encryption": Feature(
        "encryption with a key of one's own",
        (("UpdateTable", {"SSESpecification": {"Enabled": True}}),),
        0.20,
        ("getitem", "putitem"),
        with_keys=True,
    ),
}


def item_bytes(item: dict[str, Any]) -> int:
    """Returns an item's size as DynamoDB counts it, for the types used here.

    Source: Developer Guide, "DynamoDB item sizes and formats".
    """
    return sum(len(name) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: dict[str, Any]) -> int:
    ((kind, inner),) = value.items()
    if kind == "S":
        return len(inner.encode())
    if kind == "N":
        return (len(inner.replace(".", "").strip("0")) + 1) // 2 + 1
    if kind == "L":
        return 3 + sum(1 + _value_bytes(each) for each in inner)
    if kind == "M":
        return 3 + sum(1 + len(name) + _value_bytes(each) for name, each in inner.items())
    return 1


def _batch(table: str, items: list[dict[str, Any]]) -> Operation:
    return "BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}}


def _key_schema(hash_name: str, range_name: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_name, "KeyType": "HASH"},
        {"AttributeName": range_name, "KeyType": "RANGE"},
    ]
