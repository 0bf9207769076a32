"""The guarantees of each pattern, with repetitions and failures."""

from __future__ import annotations

import json
import random
import runpy
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from examples.patterns import cache, feed, idempotent, order_saga, outbox, search_index, sharded_counter
from examples.patterns.setup import Clients

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.streamed import streamed_in


@pytest.fixture
def clients(bugs_surface: None, clock: ManualClock) -> Iterator[Clients]:
    process = InProcess(clock=clock)
    streamed = streamed_in(process)
    yield Clients(
        streamed.dynamodb, streamed.streams, {"clock": clock, "sleep": clock.advance, "worker": "worker"}
    )
    process.check()
    process.close()


class Crash(Exception):
    """Stops the program at this point."""


def test_outbox_sends_committed_messages(clients: Clients) -> None:
    outbox.create_tables(clients)
    outbox.place_order(clients, "o-1", "ada")
    with pytest.raises(ClientError):
        outbox.place_order(clients, "o-1", "grace")  # the order exists; so there is no message
    sent: list[tuple[str, dict[str, Any]]] = []
    crashes = [Crash()]

    def send(message: str, body: dict[str, Any]) -> None:
        sent.append((message, body))
        if crashes:
            raise crashes.pop()  # sent, but not recorded as sent

    with outbox.relay(clients, send) as relay:
        relay.drain()
    assert sent == [("placed/o-1", {"type": "order-placed", "order": "o-1", "customer": "ada"})] * 2
    assert clients.dynamodb.scan(TableName=outbox.OUTBOX)["Count"] == 0


def test_idempotent_consumer_counts_once(clients: Clients, clock: ManualClock) -> None:
    idempotent.create_tables(clients)
    for number in range(1, 11):
        idempotent.pay(clients, f"p-{number}", "ada", number)
    with idempotent.bookkeeper(clients) as first:
        first.drain()
    assert idempotent.balance(clients, "ada") == 55
    # All records again, by a group with its own checkpoints.
    answers: list[bool] = []
    again = clients.consumer(
        idempotent.PAYMENTS,
        lambda event: answers.extend(idempotent.add_once(clients, record) for record in event["Records"]),
        group="again",
    )
    again.drain()
    assert answers == [False] * 10
    assert idempotent.balance(clients, "ada") == 55
    clock.advance(3 * 86_400)
    assert clients.dynamodb.scan(TableName=idempotent.PROCESSED)["Count"] == 0, "marks expire"


def test_sharded_counter(clients: Clients) -> None:
    sharded_counter.create_tables(clients)
    chance = random.Random(1)
    with sharded_counter.summing(clients) as summing:
        for amount in range(200):
            sharded_counter.add(clients, "views", amount, chance)
            if amount % 50 == 0:
                summing.drain()
        summing.drain()
    expected = sum(range(200))
    assert sharded_counter.total(clients, "views") == expected
    assert sharded_counter.total(clients, "views", sharded_counter.SUMS) == expected
    assert clients.dynamodb.scan(TableName=sharded_counter.COUNTS)["Count"] == sharded_counter.SHARDS


def test_cached_reads_follow_the_stream(clients: Clients, clock: ManualClock) -> None:
    cache.create_tables(clients)
    for number in range(1, 51):
        cache.put(clients, f"product-{number}", number)
    products = cache.ProductCache(clients, lambda: clock.now_ns() / 1e9, items_max=20)
    with cache.invalidating(clients, products) as invalidating:
        invalidating.drain()
        chance = random.Random(1)
        for _ in range(500):
            assert products.get(cache.popular(chance, 50)) is not None
        assert products.read_units < 50  # of 250
        cache.put(clients, "product-1", 99)
        assert products.get("product-1") == {"product": {"S": "product-1"}, "price": {"N": "1"}}
        invalidating.drain()
        assert products.get("product-1") == {"product": {"S": "product-1"}, "price": {"N": "99"}}
    cache.put(clients, "product-1", 100)
    clock.advance(61)
    assert products.get("product-1") == {"product": {"S": "product-1"}, "price": {"N": "100"}}
    assert products.get("none") is None


def test_feeds_receive_posts(clients: Clients) -> None:
    feed.create_tables(clients)
    for reader in ("grace", "alan"):
        feed.follow(clients, reader, "ada")
    feed.post(clients, "ada", "09:00", "first")
    feed.post(clients, "ada", "10:00", "second")
    feed.post(clients, "ada", "09:00", "first, corrected")
    with feed.fan_out(clients) as fan_out:
        fan_out.drain()
        for reader in ("grace", "alan"):
            assert feed.feed(clients, reader) == [("ada", "second"), ("ada", "first, corrected")]
        key = {"author": {"S": "ada"}, "at": {"S": "10:00"}}
        clients.dynamodb.delete_item(TableName=feed.POSTS, Key=key)
        fan_out.drain()
        assert feed.feed(clients, "grace") == [("ada", "first, corrected")]
        assert feed.feed(clients, "ada") == []


def test_saga_completes_and_compensates(clients: Clients) -> None:
    order_saga.create_tables(clients)
    order_saga.stock(clients, "lamp", 2)
    crashes = [Crash()]

    def charge(order: str, amount: int) -> bool:
        if crashes:
            raise crashes.pop()
        return amount < 1_000

    order_saga.place(clients, "paid", "lamp", 20)
    order_saga.place(clients, "refused", "lamp", 5_000)
    with order_saga.saga(clients, charge) as saga:
        saga.drain()
        assert order_saga.state(clients, "paid") == "PAID"
        assert order_saga.state(clients, "refused") == "CANCELLED"
        assert order_saga.stock_left(clients, "lamp") == 1, "the lamp of the rejected order is back"
        order_saga.place(clients, "next", "lamp", 20)
        order_saga.place(clients, "too late", "lamp", 20)
        saga.drain()
    states = sorted(order_saga.state(clients, order) for order in ("next", "too late"))
    assert states == ["CANCELLED", "PAID"]
    assert order_saga.stock_left(clients, "lamp") == 0


def test_saga_keeps_failed_orders_as_dead_letters(clients: Clients) -> None:
    order_saga.create_tables(clients)
    order_saga.stock(clients, "lamp", 5)
    for number in range(6):
        order_saga.place(clients, f"o-{number}", "lamp", 20)
    broken = {"order": {"S": "broken"}, "state": {"S": "LOST"}}
    clients.dynamodb.put_item(TableName=order_saga.ORDERS, Item=broken)
    with order_saga.saga(clients, lambda order, amount: True) as saga:
        saga.drain()
        assert saga.statistics()["dead_letters"] == 1
    (letter,) = clients.dynamodb.scan(TableName=order_saga.LETTERS)["Items"]
    assert json.loads(letter["record"]["S"])["dynamodb"]["NewImage"] == broken
    assert letter["error"] == {"S": "ValueError: an order cannot be LOST"}
    states = [order_saga.state(clients, f"o-{number}") for number in range(6)]
    assert sorted(states) == ["CANCELLED"] + ["PAID"] * 5


def test_search_index_follows_every_change(clients: Clients) -> None:
    search_index.create_tables(clients)
    search_index.save(clients, "one", "The quick brown fox")
    search_index.save(clients, "two", "The lazy dog")
    with search_index.indexer(clients) as indexer:
        indexer.drain()
        assert search_index.search(clients, "the") == {"one", "two"}
        assert search_index.search(clients, "THE dog") == {"two"}
        search_index.save(clients, "one", "A quick red fox")
        search_index.delete(clients, "two")
        indexer.drain()
        assert search_index.search(clients, "the") == set()
        assert search_index.search(clients, "red fox") == {"one"}
    words = {item["word"]["S"] for item in clients.dynamodb.scan(TableName=search_index.WORDS)["Items"]}
    assert words == {"a", "quick", "red", "fox"}


def test_as_a_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["examples.patterns"])
    runpy.run_module("examples.patterns", run_name="__main__")
    said = capsys.readouterr()
    assert said.err == ""
    assert "the balance is still 123" in said.out
    assert "order-2: CANCELLED" in said.out
