"""Tables of the patterns, and consumers of their streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from faradisc.streams import Consumer, consume


@dataclass(frozen=True, slots=True)
class Clients:
    """boto3 clients of both services, and options for every consumer (a test gives clock and sleep)."""

    dynamodb: Any
    streams: Any
    options: dict[str, Any] = field(default_factory=dict)

    def create(self, name: str, *keys: str, index: tuple[str, ...] = (), stream: bool = False) -> None:
        """Creates a table with string keys, and a global index `by-<key>` with the keys in `index`."""
        definition: dict[str, Any] = {
            "TableName": name,
            "KeySchema": _schema(keys),
            "AttributeDefinitions": [
                {"AttributeName": key, "AttributeType": "S"} for key in dict.fromkeys(keys + index)
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        if index:
            definition["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": f"by-{index[0]}",
                    "KeySchema": _schema(index),
                    "Projection": {"ProjectionType": "ALL"},
                }
            ]
        if stream:
            definition["StreamSpecification"] = {
                "StreamEnabled": True,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            }
        self.dynamodb.create_table(**definition)
        self.dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})

    def consumer(self, table: str, handler: Callable[..., Any], *, group: str, **settings: Any) -> Consumer:
        return consume(
            table,
            handler,
            group=group,
            dynamodb=self.dynamodb,
            streams=self.streams,
            **{**self.options, **settings},
        )


def _schema(keys: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
    ]


def condition_failed(error: ClientError) -> bool:
    """Returns whether a write or a transaction failed only because a condition was false."""
    if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
        return True
    reasons = error.response.get("CancellationReasons", [])
    return bool(reasons) and {reason["Code"] for reason in reasons} <= {"None", "ConditionalCheckFailed"}
