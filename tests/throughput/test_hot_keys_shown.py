"""The hot keys that the administration shows, by what made them hot."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from throughput.conftest import World

KEY = {"p": {"S": "hot"}, "r": {"S": "7"}}
HOT: dict[str, Any] = {":p": {"S": "hot"}}


def put(client: Any) -> None:
    client.put_item(TableName="Orders", Item=KEY)


def get(client: Any) -> None:
    client.get_item(TableName="Orders", Key=KEY, ConsistentRead=True)


def query(client: Any) -> None:
    client.query(
        TableName="Orders",
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues=HOT,
        ConsistentRead=True,
    )


def query_of_a_range(client: Any) -> None:
    client.query(
        TableName="Orders",
        KeyConditionExpression="p = :p AND begins_with(r, :r)",
        ExpressionAttributeValues={**HOT, ":r": {"S": "7"}},
        ConsistentRead=True,
    )


def scan(client: Any) -> None:
    client.scan(TableName="Orders", ConsistentRead=True)


@pytest.mark.parametrize(
    ("request_of", "direction", "shown"),
    [
        (put, "write", ("hot", "7")),
        (get, "read", ("hot", "7")),
        (query, "read", ("hot", None)),
        (query_of_a_range, "read", ("hot", None)),
        (scan, "read", ("a Scan", None)),
    ],
)
def test_hottest_key_is_shown(
    worlds: Callable[..., World], request_of: Callable[[Any], None], direction: str, shown: tuple[str, Any]
) -> None:
    world = worlds("aws:10/10")
    world.create(sort_key=True, units=(10, 10))
    put(world.client)
    for _ in range(15):
        for _ in range(20):
            with suppress(ClientError):  # throttled
                request_of(world.client)
        world.see()
        world.clock.advance(1)
    partitions = world.see()["partitions"]
    keys = [each for part in partitions for each in part["hot_keys"] if each["direction"] == direction]
    assert shown in [(each["key"] or each["instead"], each["sort_key"]) for each in keys]
