"""What happens to an order after it was placed: a saga with compensation, and the relay of the outbox.

    PLACED --charged--> PAID --booked--> SHIPPED
      |                  |
      | declined         | no carrier
      v                  v
    RELEASING <-------- REFUNDING      what was done is undone in the opposite order
      |
      v
    CANCELLED                          the stock is back

Each change of an order is a record of the stream, and the handler does the next step. A step changes the
order with the condition that it still has the state of the record: a repetition changes nothing, and after a
crash between two steps the record is delivered again. Services are called with the order's id, by which they
recognise repetitions. `Workflow.handle` takes the event of a Lambda function.
"""

from __future__ import annotations

from typing import Any, Protocol

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError

from examples.ecommerce.patterns import PATTERNS
from examples.ecommerce.table import (
    META,
    TABLE,
    message,
    order_key,
    shard_of,
    state_key,
    stock_key,
    tenant_of,
)


class Services(Protocol):
    """What is outside of the database. Each call may be repeated with the same order."""

    def charge(self, order: str, amount: Any) -> bool: ...
    def refund(self, order: str) -> None: ...
    def ship(self, order: str) -> bool: ...
    def send(self, key: str, body: dict[str, Any]) -> None: ...


class Workflow:
    """The consumer of the table's stream, for all tenants."""

    def __init__(self, documents: Any, services: Services) -> None:
        self._db = documents
        self._services = services

    def handle(self, event: dict[str, Any]) -> None:
        for record in event["Records"]:
            image = record["dynamodb"].get("NewImage", {})  # a REMOVE has none
            item = {name: TypeDeserializer().deserialize(value) for name, value in image.items()}
            match item.get("type"):
                case "order":
                    self.step(item)
                case "message":
                    self.relay(item)

    def relay(self, item: dict[str, Any]) -> None:
        """Sends a message, at least once, and removes it."""
        self._services.send(item["PK"], item["body"])
        self._db.delete_item(TableName=TABLE, Key={"PK": item["PK"], "SK": META})

    def step(self, order: dict[str, Any]) -> None:
        """Does the next step of an order. Raises ValueError for a state that no order has."""
        name = order["order"]
        match order["state"]:
            case "PLACED":
                paid = self._services.charge(name, order["total"])
                self._change(order, "PAID" if paid else "RELEASING")
            case "PAID":
                booked = self._services.ship(name)
                self._change(order, "SHIPPED" if booked else "REFUNDING")
            case "REFUNDING":
                self._services.refund(name)
                self._change(order, "RELEASING")
            case "RELEASING":
                self._release(order)
            case "SHIPPED" | "CANCELLED":
                pass
            case unknown:
                raise ValueError(f"an order cannot be {unknown}")

    def _change(self, order: dict[str, Any], state: str, *more: dict[str, Any]) -> None:
        """Changes the state, together with `more` and a message where the state is final.

        Does nothing when the order has left its state already.
        """
        tenant = tenant_of(order["PK"])
        update = _transition(order, state)
        if state in ("SHIPPED", "CANCELLED"):
            event = message(tenant, order["order"], f"order-{state.lower()}", {})
            more = (*more, {"Put": {"TableName": TABLE, "Item": event}})
        try:
            if more:
                self._db.transact_write_items(TransactItems=[{"Update": update}, *more])
            else:
                self._db.update_item(**update)
        except ClientError as error:
            reasons = error.response.get("CancellationReasons", [{}])
            codes = (error.response["Error"]["Code"], reasons[0].get("Code"))
            if not {"ConditionalCheckFailedException", "ConditionalCheckFailed"} & set(codes):
                raise

    def _release(self, order: dict[str, Any]) -> None:
        """Gives back what was taken from the stock and cancels the order, all or nothing."""
        tenant = tenant_of(order["PK"])
        pattern = PATTERNS["cancel an order of two lines"]
        values = {":pk": order["PK"]}
        found = self._db.query(TableName=TABLE, **pattern.query(), ExpressionAttributeValues=values)["Items"]
        give_back = [
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": stock_key(tenant, line["product"]),
                    "UpdateExpression": "SET available = available + :q",
                    "ExpressionAttributeValues": {":q": line["quantity"]},
                }
            }
            for line in found
            if line["SK"].startswith("LINE#")
        ]
        self._change(order, "CANCELLED", *give_back)


def _transition(order: dict[str, Any], state: str) -> dict[str, Any]:
    """Returns the update. Orders in a final state leave the index of states."""
    tenant, name = tenant_of(order["PK"]), order["order"]
    update: dict[str, Any] = {
        "TableName": TABLE,
        "Key": order_key(tenant, name),
        "ConditionExpression": "#state = :old",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {":old": order["state"], ":new": state},
    }
    if state in ("SHIPPED", "CANCELLED"):
        update["UpdateExpression"] = "SET #state = :new REMOVE GSI2PK, GSI2SK"
    else:
        update["UpdateExpression"] = "SET #state = :new, GSI2PK = :pk"
        pk = state_key(tenant, state, order["placed"][:7], shard_of(name))
        update["ExpressionAttributeValues"][":pk"] = pk
    return update
