"""A cache before popular items: reads of a few products that everybody looks at do not reach the table.

The partition of a popular key serves a limited number of reads. A cache in the program answers most of them.
A consumer of the stream drops what has changed, so a reader is late by the stream only; the age limit covers
a consumer that stands still."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from examples.patterns.setup import Clients
from faradisc.streams import Consumer

PRODUCTS = "pattern-products"
Item = dict[str, Any]


class ProductCache:
    def __init__(
        self, clients: Clients, now_s: Callable[[], float], *, items_max: int = 100, age_s: float = 60
    ) -> None:
        """items_max: beyond it the least recently used item goes. age_s: an older one is read again."""
        self._clients = clients
        self._now_s = now_s
        self._items_max = items_max
        self._age_s = age_s
        self._items: OrderedDict[str, tuple[float, Item | None]] = OrderedDict()
        self.read_units = 0.0

    def get(self, product: str) -> Item | None:
        """Returns the item, or None. A product that does not exist is remembered too."""
        found = self._items.get(product)
        if found is not None and self._now_s() - found[0] < self._age_s:
            self._items.move_to_end(product)
            return found[1]
        answer = self._clients.dynamodb.get_item(
            TableName=PRODUCTS, Key={"product": {"S": product}}, ReturnConsumedCapacity="TOTAL"
        )
        self.read_units += answer["ConsumedCapacity"]["CapacityUnits"]
        item: Item | None = answer.get("Item")
        self._items[product] = (self._now_s(), item)
        self._items.move_to_end(product)
        if len(self._items) > self._items_max:
            self._items.popitem(last=False)
        return item

    def forget(self, product: str) -> None:
        self._items.pop(product, None)


def create_tables(clients: Clients) -> None:
    clients.create(PRODUCTS, "product", stream=True)


def put(clients: Clients, product: str, price: int) -> None:
    item = {"product": {"S": product}, "price": {"N": str(price)}}
    clients.dynamodb.put_item(TableName=PRODUCTS, Item=item)


def invalidating(clients: Clients, cache: ProductCache) -> Consumer:
    """Drops every changed product. Dropping twice is harmless."""

    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            cache.forget(record["dynamodb"]["Keys"]["product"]["S"])

    return clients.consumer(PRODUCTS, handle, group="invalidating", batch_size=1000)


def popular(chance: random.Random, products: int) -> str:
    """Returns a product as shops know it: a few are looked at most of the time."""
    return f"product-{min(int(chance.paretovariate(1.1)), products)}"


def main(clients: Clients) -> None:
    create_tables(clients)
    for number in range(1, 201):
        put(clients, f"product-{number}", number)
    cache = ProductCache(clients, lambda: 0.0)
    chance = random.Random(1)
    for _ in range(2000):
        cache.get(popular(chance, 200))
    print(f"2000 reads took {cache.read_units:.1f} of 1000 read units")
