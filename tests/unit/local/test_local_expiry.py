"""Time to live of an in-process database: deletion after the delay, or on demand."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc import local
from faradisc.clock import ManualClock


@pytest.mark.parametrize(("settings", "delay_s"), [({"ttl_delay_s": 3600}, 3600), ({}, 60)])
def test_expired_items_are_deleted_after_the_delay_or_on_demand(settings: Any, delay_s: int) -> None:
    """The default is a minute: a program that relies on a deletion at once fails, as it does with AWS."""
    clock = ManualClock()
    with local.LocalDatabase(clock=clock, **settings) as database:
        dynamodb = database.client()
        dynamodb.create_table(
            TableName="table",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        )
        dynamodb.update_time_to_live(
            TableName="table", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
        )
        until = clock.now_ns() // 1_000_000_000 + 10
        for name, second in (("first", until), ("later", until + 100_000)):
            dynamodb.put_item(TableName="table", Item={"p": {"S": name}, "until": {"N": str(second)}})
        clock.advance(10 + delay_s - 1)
        assert dynamodb.scan(TableName="table")["Count"] == 2
        assert database.expire_now() == 1
        assert [item["p"]["S"] for item in dynamodb.scan(TableName="table")["Items"]] == ["later"]
        clock.advance(200_000)
        assert dynamodb.scan(TableName="table")["Count"] == 0
