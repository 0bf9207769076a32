"""Runs the shop: in this process, against an endpoint, or against the service (tables cost money there)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from examples.access_patterns import Meter
from examples.connections import Connections, connections, create, options
from examples.ecommerce.shop import Shop, SoldOut
from examples.ecommerce.table import TABLE, definition
from examples.ecommerce.workflow import Workflow
from faradisc.streams import consume


class Demonstration:
    """Services that refuse amounts from 1,000 on, and have no carrier for order-3."""

    def charge(self, order: str, amount: Any) -> bool:
        return bool(amount < 1_000)

    def refund(self, order: str) -> None:
        print(f"  {order} is refunded")

    def ship(self, order: str) -> bool:
        return order != "order-3"

    def send(self, key: str, body: dict[str, Any]) -> None:
        print(f"  message: {body['event']} {body['order']}")


def run(clients: Connections) -> None:
    create(clients.dynamodb, definition(), time_to_live="expires")
    shop = Shop(clients.documents, "acme")
    shop.add_product("lamp", "A lamp", Decimal("19.90"), 10)
    shop.add_product("piano", "A piano", Decimal("4800"), 1)
    lamps, piano = {"lamp": (2, Decimal("19.90"))}, {"piano": (1, Decimal("4800"))}
    shop.place_order("key-1", "order-1", "ada", lamps)
    print("placed again:", shop.place_order("key-1", "order-9", "ada", lamps))
    shop.place_order("key-2", "order-2", "ada", piano)
    shop.place_order("key-3", "order-3", "ada", lamps)
    try:
        shop.place_order("key-4", "order-4", "grace", piano)
    except SoldOut as error:
        print("sold out:", error)
    workflow = Workflow(clients.documents, Demonstration())
    with consume(
        TABLE, workflow.handle, group="workflow", dynamodb=clients.dynamodb, streams=clients.streams
    ) as consumer:
        consumer.drain()
    meter = Meter().attach(clients.documents)
    for order in shop.orders_of("ada"):
        print(f"{order['order']}: {order['state']}")
    print("available:", {name: int(shop.product(name)["available"]) for name in ("lamp", "piano")})
    print(f"the last three requests: {meter.operations()}, {meter.units(reads=True):g} units")


def main() -> None:
    with connections(options("examples.ecommerce", __doc__).parse_args()) as clients:
        run(clients)


if __name__ == "__main__":
    main()
