"""An idempotent consumer: each record is counted once, although it may be delivered twice.

The effect and a mark with the record's id are written in one transaction, with the condition that the mark
does not exist. For a repetition the condition fails and nothing changes. Marks expire by time to live, a day
after the last possible delivery of the record."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from examples.patterns.setup import Clients, condition_failed
from faradisc.streams import Consumer

PAYMENTS, BALANCES, PROCESSED = "pattern-payments", "pattern-balances", "pattern-processed"
KEEP_MARKS_S = 2 * 86_400


def create_tables(clients: Clients) -> None:
    clients.create(PAYMENTS, "payment", stream=True)
    clients.create(BALANCES, "account")
    clients.create(PROCESSED, "event")
    clients.dynamodb.update_time_to_live(
        TableName=PROCESSED, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
    )


def pay(clients: Clients, payment: str, account: str, amount: int) -> None:
    clients.dynamodb.put_item(
        TableName=PAYMENTS,
        Item={"payment": {"S": payment}, "account": {"S": account}, "amount": {"N": str(amount)}},
    )


def add_once(clients: Clients, record: dict[str, Any]) -> bool:
    """Adds a payment to the balance of its account. Returns False for a repetition."""
    change = record["dynamodb"]
    payment = change["NewImage"]
    expires = int(change["ApproximateCreationDateTime"]) + KEEP_MARKS_S
    try:
        clients.dynamodb.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": PROCESSED,
                        "Item": {"event": {"S": record["eventID"]}, "expires": {"N": str(expires)}},
                        "ConditionExpression": "attribute_not_exists(event)",
                    }
                },
                {
                    "Update": {
                        "TableName": BALANCES,
                        "Key": {"account": payment["account"]},
                        "UpdateExpression": "ADD balance :amount",
                        "ExpressionAttributeValues": {":amount": payment["amount"]},
                    }
                },
            ]
        )
    except ClientError as error:
        if condition_failed(error):
            return False
        raise
    return True


def bookkeeper(clients: Clients, *, worker: str | None = None) -> Consumer:
    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            if record["eventName"] == "INSERT":
                add_once(clients, record)

    return clients.consumer(PAYMENTS, handle, group="bookkeeper", worker=worker)


def balance(clients: Clients, account: str) -> int:
    found = clients.dynamodb.get_item(TableName=BALANCES, Key={"account": {"S": account}})
    return int(found["Item"]["balance"]["N"])


def main(clients: Clients) -> None:
    create_tables(clients)
    pay(clients, "payment-1", "ada", 100)
    pay(clients, "payment-2", "ada", 23)
    with bookkeeper(clients) as consumer:
        consumer.drain()
    print(f"the balance is {balance(clients, 'ada')}")
    # Another group with the same handler receives every record again, and changes nothing.
    again = clients.consumer(
        PAYMENTS,
        lambda event: print([add_once(clients, record) for record in event["Records"]]),
        group="again",
    )
    with again:
        again.drain()
    print(f"the balance is still {balance(clients, 'ada')}")
