"""What is written is counted alike whether throughput is enforced or only metered: units and samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

World = Any


def written(world: World, *, at_once: bool) -> list[tuple[float, int]]:
    """Sum and samples of table and index for an item that enters the index, moves in it and leaves it."""
    world.create(units=(50, 50), index=(50, 50))
    for item in ({"p": {"S": "a"}, "g": {"S": "1"}}, {"p": {"S": "a"}, "g": {"S": "2"}}, {"p": {"S": "a"}}):
        if at_once:
            world.client.transact_write_items(TransactItems=[{"Put": {"TableName": "Orders", "Item": item}}])
        else:
            world.client.put_item(TableName="Orders", Item=item)
    name = "ConsumedWriteCapacityUnits"
    index = {"TableName": "Orders", "GlobalSecondaryIndexName": "by-g"}
    return [world.metric(name, TableName="Orders"), world.metric(name, **index)]


@pytest.mark.parametrize("at_once", [False, True], ids=["single writes", "transactions"])
def test_an_entry_that_moves_is_two_samples(worlds: Callable[..., World], at_once: bool) -> None:
    enforced = written(worlds(), at_once=at_once)
    assert enforced == written(worlds("off"), at_once=at_once)
    assert [units for units, _ in enforced] == [6 if at_once else 3, 4]
