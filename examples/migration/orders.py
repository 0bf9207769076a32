"""Orders in an old and a new table, and programs that use either, or both, as flags say.

    table      key               shape
    orders-v1  order             customer, state, total ("19.90 EUR"), revision; index by-customer
    orders-v2  customer, order   state, cents, currency, revision, schema_version 2

Every change counts `revision` up, with the condition that it is what was read. Ids of orders are never used
again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError

from examples.connections import key_schema

OLD, NEW, FLAGS = "orders-v1", "orders-v2", "orders-flags"
WRITES = {"old": (OLD,), "old+new": (OLD, NEW), "new+old": (NEW, OLD), "new": (NEW,)}
"""Tables that are written. The first is the one that is read before a change and has the condition."""
READS = {"old": OLD, "new": NEW}


@dataclass(frozen=True, slots=True)
class Order:
    customer: str
    order: str
    state: str
    cents: int
    currency: str
    revision: int = 1

    def key(self, table: str) -> dict[str, str]:
        return {"order": self.order} if table == OLD else {"customer": self.customer, "order": self.order}

    def item(self, table: str) -> dict[str, Any]:
        """Returns the order in the shape of a table."""
        item = {**self.key(NEW), "state": self.state, "revision": self.revision}
        if table == OLD:
            return {**item, "total": f"{Decimal(self.cents) / 100:.2f} {self.currency}"}
        return {**item, "cents": self.cents, "currency": self.currency, "schema_version": 2}


def parse(item: dict[str, Any]) -> Order:
    """Returns the order of an item of either shape; an item without `schema_version` has the first."""
    common = {name: item[name] for name in ("customer", "order", "state")}
    revision = int(item["revision"])
    match int(item.get("schema_version", 1)):
        case 1:
            amount, currency = item["total"].split(" ")
            return Order(**common, cents=int(Decimal(amount) * 100), currency=currency, revision=revision)
        case 2:
            return Order(**common, cents=int(item["cents"]), currency=item["currency"], revision=revision)
        case unknown:
            raise ValueError(f"no shape has the version {unknown}")


def definitions() -> list[dict[str, Any]]:
    """Returns the parameters of CreateTable of the old table, the new one, and that of the flags."""
    strings = [{"AttributeName": name, "AttributeType": "S"} for name in ("customer", "order")]
    by_customer = {
        "IndexName": "by-customer",
        "KeySchema": key_schema("customer", "order"),
        "Projection": {"ProjectionType": "ALL"},
    }
    old = {"KeySchema": key_schema("order"), "GlobalSecondaryIndexes": [by_customer]}
    name = [{"AttributeName": "name", "AttributeType": "S"}]
    return [
        {"TableName": OLD, **old, "AttributeDefinitions": strings, "BillingMode": "PAY_PER_REQUEST"},
        {
            "TableName": NEW,
            "KeySchema": key_schema("customer", "order"),
            "AttributeDefinitions": strings,
            "BillingMode": "PAY_PER_REQUEST",
        },
        {
            "TableName": FLAGS,
            "KeySchema": key_schema("name"),
            "AttributeDefinitions": name,
            "BillingMode": "PAY_PER_REQUEST",
        },
    ]


class Changed(Exception):
    """An order was changed or deleted by others meanwhile."""


class Orders:
    """One instance of the program. It obeys the flags that it read last."""

    def __init__(self, documents: Any) -> None:
        self._db = documents
        self.flags = {"write": "old", "read": "old"}
        self.refresh()

    def refresh(self) -> None:
        """Reads the flags again; instances do this at different times, so they differ for a while."""
        found = self._db.get_item(TableName=FLAGS, Key={"name": "orders"}, ConsistentRead=True).get("Item")
        if found is not None:
            self.flags = {"write": found["write"], "read": found["read"]}

    # --- Reading -----------------------------------------------------------------------------------

    def get(self, customer: str, order: str) -> Order | None:
        return self._get(READS[self.flags["read"]], customer, order)

    def _get(self, table: str, customer: str, order: str) -> Order | None:
        key = {"order": order} if table == OLD else {"customer": customer, "order": order}
        item = self._db.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return None if item is None or item["customer"] != customer else parse(item)

    def of_customer(self, customer: str) -> list[Order]:
        """Returns the orders of a customer; from the old table by an index, which follows after a moment."""
        old = self.flags["read"] == "old"
        where = {"TableName": OLD, "IndexName": "by-customer"} if old else {"TableName": NEW}
        pages = self._db.get_paginator("query").paginate(
            **where,
            ConsistentRead=not old,
            KeyConditionExpression="customer = :customer",
            ExpressionAttributeValues={":customer": customer},
        )
        return [parse(item) for page in pages for item in page["Items"]]

    # --- Writing -----------------------------------------------------------------------------------

    def place(self, order: Order) -> None:
        """Raises Changed when there is an order of this id."""
        self._write(order, None)

    def set_state(self, customer: str, order: str, state: str) -> Order:
        """Returns the order as it is then. Raises KeyError when there is none."""
        while True:
            found = self._current(customer, order)
            changed = replace(found, state=state, revision=found.revision + 1)
            try:
                self._write(changed, found.revision)
                return changed
            except Changed:
                continue

    def delete(self, customer: str, order: str) -> None:
        """Raises KeyError when there is no such order."""
        while True:
            found = self._current(customer, order)
            try:
                self._write(found, found.revision, delete=True)
                return
            except Changed:
                continue

    def _current(self, customer: str, order: str) -> Order:
        found = self._get(WRITES[self.flags["write"]][0], customer, order)
        if found is None:
            raise KeyError(order)
        return found

    def _write(self, order: Order, read_revision: int | None, *, delete: bool = False) -> None:
        """Writes to all tables of the flag, all or nothing. Raises Changed when the condition is false."""
        actions = []
        for table in WRITES[self.flags["write"]]:
            if delete:
                action: dict[str, Any] = {"Delete": {"TableName": table, "Key": order.key(table)}}
            else:
                action = {"Put": {"TableName": table, "Item": order.item(table)}}
            actions.append(action)
        (first,) = actions[0].values()
        first |= revision_is(read_revision)
        if not transact(self._db, actions):
            raise Changed(order.order)


def revision_is(revision: int | None) -> dict[str, Any]:
    """Returns the members of a condition: the item has this revision; None: there is no item."""
    if revision is None:
        return {"ConditionExpression": "attribute_not_exists(revision)"}
    return {
        "ConditionExpression": "revision = :revision",
        "ExpressionAttributeValues": {":revision": revision},
    }


def transact(documents: Any, actions: list[dict[str, Any]]) -> bool:
    """Writes a transaction. Returns False when a condition was false; tries again after a conflict."""
    while True:
        try:
            documents.transact_write_items(TransactItems=actions)
            return True
        except ClientError as error:
            codes = {reason["Code"] for reason in error.response.get("CancellationReasons", [])}
            if "ConditionalCheckFailed" in codes:
                return False
            if "TransactionConflict" not in codes:
                raise
