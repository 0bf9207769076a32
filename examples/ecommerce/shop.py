"""What customers and clerks of one tenant do. Each method is one access pattern of patterns.py."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError

from examples.ecommerce.patterns import PATTERNS, STATE_SHARDS
from examples.ecommerce.table import META, TABLE, key, message, order_key, shard_of, state_key, stock_key

DAY_S = 86_400
KEEP_CARTS_S, KEEP_IDEMPOTENCY_KEYS_S = 14 * DAY_S, DAY_S
LINES_MAX = 40
"""A transaction has at most 100 actions; a line takes two."""


class SoldOut(Exception):
    """There is less of a product than was ordered; nothing was written."""


class KeyUsedAgain(Exception):
    """An idempotency key came with another order than before; nothing was written."""


class Shop:
    def __init__(self, documents: Any, tenant: str, *, now: Callable[[], float] = time.time) -> None:
        """documents: the client of a boto3 resource. now: seconds since the epoch."""
        self._db = documents
        self.tenant = tenant
        self._now = now

    def _query(self, pattern: str, pk: str, **more: Any) -> list[dict[str, Any]]:
        """Returns one page of items; none of these collections is long."""
        parameters = {**PATTERNS[pattern].query(), "ExpressionAttributeValues": {":pk": pk}, **more}
        items: list[dict[str, Any]] = self._db.query(TableName=TABLE, **parameters)["Items"]
        return items

    # --- Products and carts ------------------------------------------------------------------------

    def add_product(self, product: str, name: str, price: Decimal, available: int) -> None:
        """Adds or replaces a product and its stock. Not for products that are being sold."""
        stock = stock_key(self.tenant, product)
        items = ({**stock, "SK": META, "name": name, "price": price}, {**stock, "available": available})
        self._db.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": item}} for item in items]})

    def product(self, product: str) -> dict[str, Any]:
        """Returns name, price and the available number. Raises KeyError when there is no such product."""
        items = self._query("show a product and its stock", key(self.tenant, "PRODUCT", product))
        found = {item["SK"]: item for item in items}
        if META not in found:
            raise KeyError(product)
        return found[META] | found["STOCK"]

    def put_into_cart(self, customer: str, product: str, quantity: int) -> None:
        self._db.put_item(
            TableName=TABLE,
            Item={
                "PK": key(self.tenant, "CART", customer),
                "SK": f"LINE#{product}",
                "quantity": quantity,
                "expires": int(self._now()) + KEEP_CARTS_S,
            },
        )

    def cart(self, customer: str) -> dict[str, int]:
        """Returns quantities by product. Lines that have expired may still be there for a while: left out."""
        lines = self._query("show the cart", key(self.tenant, "CART", customer))
        return {
            line["SK"].removeprefix("LINE#"): int(line["quantity"])
            for line in lines
            if line["expires"] > self._now()
        }

    # --- Orders ------------------------------------------------------------------------------------

    def place_order(
        self, idempotency_key: str, order: str, customer: str, lines: Mapping[str, tuple[int, Decimal]]
    ) -> str:
        """Places an order; a repetition with the same idempotency key changes nothing.

        lines: (quantity, price) by product. `order` is an id that the caller made. Returns the id of the
        order that the key belongs to: of a repetition, the first one's. Order, stock, message and idempotency
        key are written all or not at all. Raises SoldOut, KeyUsedAgain, ValueError, ClientError.
        """
        if not 0 < len(lines) <= LINES_MAX:
            raise ValueError(f"an order has 1 to {LINES_MAX} lines")
        now = self._now()
        request = _fingerprint(customer, lines)
        writes = [
            {
                "Item": {
                    "PK": key(self.tenant, "IDEMPOTENCY", idempotency_key),
                    "SK": META,
                    "order": order,
                    "request": request,
                    "expires": int(now) + KEEP_IDEMPOTENCY_KEYS_S,
                },
                # Time to live deletes late; a key that has expired counts as deleted.
                "ConditionExpression": "attribute_not_exists(PK) OR expires <= :now",
                "ExpressionAttributeValues": {":now": int(now)},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
            {
                "Item": self._order(order, customer, lines, now),
                "ConditionExpression": "attribute_not_exists(PK)",
            },
            {"Item": message(self.tenant, order, "order-placed", {"customer": customer})},
        ]
        for number, (product, (quantity, price)) in enumerate(lines.items(), start=1):
            line = {"product": product, "quantity": quantity, "price": price}
            writes.append({"Item": {**order_key(self.tenant, order), "SK": f"LINE#{number:04}", **line}})
        actions = [{"Put": {"TableName": TABLE, **write}} for write in writes]
        actions += [take(self.tenant, product, quantity) for product, (quantity, _) in lines.items()]
        try:
            self._db.transact_write_items(TransactItems=actions)
        except ClientError as error:
            reasons = error.response.get("CancellationReasons", [])
            failed = [n for n, reason in enumerate(reasons) if reason["Code"] == "ConditionalCheckFailed"]
            if failed and failed[0] == 0:
                first = {name: TypeDeserializer().deserialize(v) for name, v in reasons[0]["Item"].items()}
                if first["request"] != request:
                    raise KeyUsedAgain(idempotency_key) from error
                return str(first["order"])
            if failed and failed[0] >= len(writes):
                raise SoldOut(list(lines)[failed[0] - len(writes)]) from error
            raise
        return order

    def _order(
        self, order: str, customer: str, lines: Mapping[str, tuple[int, Decimal]], now: float
    ) -> dict[str, Any]:
        placed = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        return {
            **order_key(self.tenant, order),
            "type": "order",
            "order": order,
            "customer": customer,
            "state": "PLACED",
            "placed": placed,
            "total": sum((quantity * price for quantity, price in lines.values()), Decimal(0)),
            "GSI1PK": key(self.tenant, "CUSTOMER", customer),
            "GSI1SK": f"{placed}#{order}",
            "GSI2PK": state_key(self.tenant, "PLACED", placed[:7], shard_of(order)),
            "GSI2SK": f"{placed}#{order}",
        }

    def order(self, order: str) -> dict[str, Any]:
        """Returns the order with its `lines`. Raises KeyError when there is none."""
        items = self._query("show an order", key(self.tenant, "ORDER", order))
        lines = [item for item in items if item["SK"].startswith("LINE#")]
        for item in items:
            if item["SK"] == META:
                return {**item, "lines": lines}
        raise KeyError(order)

    def orders_of(self, customer: str, limit: int = 25) -> list[dict[str, Any]]:
        """Returns id, state and total of the newest orders, newest first; an index follows after a moment."""
        found = self._query(
            "list the newest orders of a customer",
            key(self.tenant, "CUSTOMER", customer),
            ScanIndexForward=False,
            Limit=limit,
        )
        return [
            {"order": item["GSI1SK"].split("#")[1], "state": item["state"], "total": item["total"]}
            for item in found
        ]

    def orders_in(self, state: str, month: str, limit: int = 25) -> list[str]:
        """Returns the ids of the oldest orders of a state that is not final; `month` as in 2026-11."""
        sort_keys: list[str] = []
        for shard in range(STATE_SHARDS):
            pk = state_key(self.tenant, state, month, shard)
            found = self._query("list the orders of a state and month", pk, Limit=limit)
            sort_keys += [item["GSI2SK"] for item in found]
        return [sort_key.split("#")[1] for sort_key in sorted(sort_keys)[:limit]]


def take(tenant: str, product: str, quantity: int) -> dict[str, Any]:
    """Returns the action that takes from the stock, with the condition that there is enough."""
    return {
        "Update": {
            "TableName": TABLE,
            "Key": stock_key(tenant, product),
            "UpdateExpression": "SET available = available - :q",
            "ConditionExpression": "available >= :q",
            "ExpressionAttributeValues": {":q": quantity},
        }
    }


def _fingerprint(customer: str, lines: Mapping[str, tuple[int, Decimal]]) -> str:
    text = json.dumps([customer, sorted((p, q, str(price)) for p, (q, price) in lines.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
