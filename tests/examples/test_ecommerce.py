"""The shop: every access pattern's requests and units, and its guarantees under repetitions and failures."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from examples.access_patterns import AccessPattern, Meter, markdown
from examples.connections import create
from examples.ecommerce import workflow
from examples.ecommerce.patterns import PATTERNS
from examples.ecommerce.shop import DAY_S, KEEP_CARTS_S, KeyUsedAgain, Shop, SoldOut
from examples.ecommerce.table import TABLE, definition, key
from examples.ecommerce.workflow import Workflow

from faradisc.clock import ManualClock
from faradisc.limits import TTL_DELAY_S
from faradisc.streams import consume
from fixtures.answers import watch
from fixtures.in_process import InProcess
from fixtures.served import Server
from fixtures.streamed import streamed_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "ecommerce"
PRICE = Decimal("19.90")
TWO_LINES = {"lamp": (2, PRICE), "chair": (1, PRICE)}


class Crash(Exception):
    """Stops the program at this point."""


@dataclass
class Outside:
    """The services, which recognise repetitions by the order; `crashes` calls crash after their effect."""

    declined: set[str] = field(default_factory=set)
    without_carrier: set[str] = field(default_factory=set)
    crashes: float = 0
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    charged: set[str] = field(default_factory=set)
    refunded: set[str] = field(default_factory=set)
    shipped: set[str] = field(default_factory=set)
    sent: dict[str, Any] = field(default_factory=dict)

    def _crash(self) -> None:
        if self.chance.random() < self.crashes:
            raise Crash

    def charge(self, order: str, amount: Any) -> bool:
        if order not in self.declined:
            self.charged.add(order)
        self._crash()
        return order not in self.declined

    def refund(self, order: str) -> None:
        self.refunded.add(order)
        self._crash()

    def ship(self, order: str) -> bool:
        if order not in self.without_carrier:
            self.shipped.add(order)
        self._crash()
        return order not in self.without_carrier

    def send(self, key: str, body: dict[str, Any]) -> None:
        self.sent[key] = body
        self._crash()


class World:
    """The table, the shop of one tenant, and the consumer of the stream on a clock that tests move."""

    def __init__(self, process: InProcess, clock: ManualClock) -> None:
        self.process, self.clock = process, clock
        self.clients = streamed_in(process)
        create(self.clients.dynamodb, definition(), time_to_live="expires")
        self.documents = watch(process.local.resource("dynamodb").meta.client)
        self.outside = Outside()
        self.workflow = Workflow(self.documents, self.outside)
        self.shop = self.shop_of("acme")
        for product in TWO_LINES:
            self.shop.add_product(product, f"A {product}", PRICE, 100)

    def shop_of(self, tenant: str) -> Shop:
        return Shop(self.documents, tenant, now=lambda: self.clock.now_ns() / 1e9)

    def work(self) -> None:
        """Handles every record of the stream, and those that this causes."""
        clients = {"dynamodb": self.clients.dynamodb, "streams": self.clients.streams}
        with consume(
            TABLE,
            self.workflow.handle,
            group="workflow",
            clock=self.clock,
            sleep=self.clock.advance,
            bisect=True,
            **clients,
        ) as consumer:
            consumer.drain()

    def available(self, product: str = "lamp") -> int:
        return int(self.shop.product(product)["available"])

    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.documents.scan(TableName=TABLE)["Items"]
        return items


@pytest.fixture
def world(bugs_surface: None, clock: ManualClock) -> Iterator[World]:
    process = InProcess(clock=clock)
    yield World(process, clock)
    process.check()
    process.close()


# --- Access patterns -------------------------------------------------------------------------------


@pytest.fixture
def meter(world: World) -> Meter:
    """Measures the requests of the shop and of the workflow."""
    return Meter().attach(world.documents)


def pattern(name: str) -> AccessPattern:
    return PATTERNS[name]


def test_each_pattern_sends_the_requests_and_consumes_the_units_of_the_table(
    world: World, meter: Meter
) -> None:
    checked = set()

    def check(name: str) -> None:
        meter.check(PATTERNS[name])
        checked.add(name)

    def record(order: str) -> dict[str, Any]:
        """The order as the stream's consumer receives it."""
        found = world.shop.order(order)
        meter.requests.clear()
        return found

    shop, flow = world.shop, world.workflow
    shop.product("lamp")
    check("show a product and its stock")
    shop.put_into_cart("ada", "lamp", 2)
    check("put a product into the cart")
    shop.cart("ada")
    check("show the cart")
    shop.place_order("key", "o-1", "ada", TWO_LINES)
    check("place an order of two lines")
    shop.order("o-1")
    check("show an order")
    shop.orders_of("ada")
    check("list the newest orders of a customer")
    shop.orders_in("PLACED", "2023-11")
    check("list the orders of a state and month")
    flow.step(record("o-1"))
    check("record a payment")
    flow.step(record("o-1"))
    check("record a shipment")
    shop.place_order("other", "o-2", "ada", TWO_LINES)
    world.outside.declined.add("o-2")
    flow.step(record("o-2"))
    flow.step(record("o-2"))
    check("cancel an order of two lines")
    message = world.documents.get_item(
        TableName=TABLE, Key={"PK": key("acme", "OUTBOX", "o-2", "order-placed"), "SK": "META"}
    )
    meter.requests.clear()
    flow.relay(message["Item"])
    check("remove a message that was sent")
    assert checked == set(PATTERNS)


def test_the_meter_finds_scans_and_wrong_claims(world: World, meter: Meter) -> None:
    world.documents.scan(TableName=TABLE)
    with pytest.raises(AssertionError, match="Scan"):
        meter.check(AccessPattern("all", "Scan", "", read=0.5))
    world.shop.cart("ada")
    with pytest.raises(AssertionError, match="show the cart"):
        meter.check(AccessPattern("show the cart", "Query", "PK = :pk", read=1))
    world.shop.cart("ada")
    with pytest.raises(AssertionError, match="sent"):
        meter.check(AccessPattern("show the cart", "Query", "GSI1PK = :pk", "GSI1", read=0.5))


def test_the_readme_has_the_patterns() -> None:
    assert markdown(PATTERNS.values()) in (EXAMPLE / "README.md").read_text()


# --- Orders ----------------------------------------------------------------------------------------


def test_repeated_order_is_placed_once(world: World) -> None:
    assert world.shop.place_order("key", "o-1", "ada", TWO_LINES) == "o-1"
    before = world.items()
    assert world.shop.place_order("key", "o-2", "ada", TWO_LINES) == "o-1"
    assert world.items() == before
    with pytest.raises(KeyUsedAgain):
        world.shop.place_order("key", "o-3", "ada", {"lamp": (3, PRICE)})
    assert world.items() == before


def test_idempotency_key_may_be_used_again_after_a_day(world: World) -> None:
    world.shop.place_order("key", "o-1", "ada", TWO_LINES)
    world.clock.advance(DAY_S + 1)
    assert world.shop.place_order("key", "o-2", "ada", TWO_LINES) == "o-2"


def test_an_order_for_more_than_there_is_writes_nothing(world: World) -> None:
    before = world.items()
    with pytest.raises(SoldOut, match="chair"):
        world.shop.place_order("key", "o-1", "ada", {"lamp": (1, PRICE), "chair": (101, PRICE)})
    assert world.items() == before
    with pytest.raises(ValueError, match="lines"):
        world.shop.place_order("key", "o-1", "ada", {})


def test_stock_never_becomes_negative_under_concurrent_orders(world: World) -> None:
    world.shop.add_product("rare", "A rare thing", PRICE, 10)
    outcomes: list[str] = []

    def buy(customer: int) -> None:
        for number in range(5):
            name = f"{customer}-{number}"
            try:
                world.shop.place_order(name, name, str(customer), {"rare": (1, PRICE)})
                outcomes.append("placed")
            except SoldOut:
                outcomes.append("sold out")

    threads = [threading.Thread(target=buy, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count("placed"), outcomes.count("sold out")) == (10, 15)
    assert world.available("rare") == 0


def test_carts_expire(world: World) -> None:
    world.shop.put_into_cart("ada", "lamp", 2)
    assert world.shop.cart("ada") == {"lamp": 2}
    world.clock.advance(KEEP_CARTS_S + TTL_DELAY_S + 1)
    assert world.shop.cart("ada") == {}
    assert not [item for item in world.items() if "#CART#" in item["PK"]], "time to live deleted it"


# --- The workflow ----------------------------------------------------------------------------------


def test_workflow_ships_and_compensates(world: World) -> None:
    world.outside.declined, world.outside.without_carrier = {"declined"}, {"no carrier"}
    for order in ("good", "declined", "no carrier"):
        world.shop.place_order(order, order, "ada", TWO_LINES)
    assert world.available() == 94
    assert world.shop.orders_in("PLACED", "2023-11") == ["declined", "good", "no carrier"]
    world.work()
    states = {found["order"]: found["state"] for found in world.shop.orders_of("ada")}
    assert states == {"good": "SHIPPED", "declined": "CANCELLED", "no carrier": "CANCELLED"}
    assert (world.outside.shipped, world.outside.refunded) == ({"good"}, {"no carrier"})
    assert world.available() == 98, "the stock of both cancelled orders is back"
    assert world.shop.orders_in("PLACED", "2023-11") == [], "finished orders leave the index"


def test_repeated_deliveries_change_nothing(world: World) -> None:
    world.outside.without_carrier = {"o-1"}
    steps = []
    step = world.workflow.step
    world.workflow.step = lambda order: (steps.append(order), step(order))  # type: ignore[method-assign]
    world.shop.place_order("o-1", "o-1", "ada", TWO_LINES)
    world.work()
    before = world.items()
    for order in steps:
        step(order)
    assert [order["state"] for order in steps] == ["PLACED", "PAID", "REFUNDING", "RELEASING", "CANCELLED"]
    assert world.items() == before
    with pytest.raises(ValueError, match="LOST"):
        step({**steps[0], "state": "LOST"})


def test_crashes_lose_nothing_and_repeat_nothing(world: World) -> None:
    outside, orders = world.outside, [f"o-{number}" for number in range(20)]
    outside.crashes = 0.3
    outside.declined, outside.without_carrier = set(orders[:5]), set(orders[5:10])
    for order in orders:
        world.shop.place_order(order, order, "ada", TWO_LINES)
    world.work()
    assert outside.shipped == set(orders[10:])
    assert (outside.charged, outside.refunded) == (set(orders[5:]), set(orders[5:10]))
    assert world.available() == 100 - 2 * 10
    events = {(body["event"], body["order"]) for body in outside.sent.values()}
    assert events == {
        *(("order-placed", order) for order in orders),
        *(("order-cancelled", order) for order in orders[:10]),
        *(("order-shipped", order) for order in orders[10:]),
    }
    assert not [item for item in world.items() if "#OUTBOX#" in item["PK"]], "sent messages are removed"


# --- Tenants ---------------------------------------------------------------------------------------


def test_tenants_share_nothing(world: World) -> None:
    other = world.shop_of("globex")
    other.add_product("lamp", "Another lamp", PRICE, 5)
    world.shop.place_order("key", "o-1", "ada", {"lamp": (1, PRICE)})
    other.place_order("key", "o-1", "ada", {"lamp": (1, PRICE)})
    assert (world.available(), other.product("lamp")["available"]) == (99, 4)
    keys = {item[name] for item in world.items() for name in ("PK", "GSI1PK", "GSI2PK") if name in item}
    assert {one.split("#")[0] for one in keys} == {"TENANT"}
    assert {workflow.tenant_of(one) for one in keys} == {"acme", "globex"}
    for product in ("", "lamp#META"):
        with pytest.raises(ValueError, match="part of a key"):
            world.shop.product(product)
    with pytest.raises(KeyError):
        other.product("chair")


def test_program_runs_against_a_server(memory_server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.ecommerce", "--endpoint-url", memory_server.url],
        cwd=EXAMPLE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "order-3: CANCELLED" in done.stdout
    assert "placed again: order-1" in done.stdout
