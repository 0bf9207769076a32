"""A setting that changes while a table is in use applies to its next request, on the fast paths too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

World = Any
KEY = {"p": {"S": "a"}}


def read(world: World) -> None:
    world.client.get_item(TableName="Orders", Key=KEY)


def write(world: World) -> None:
    world.client.put_item(TableName="Orders", Item=KEY)


def write_both(world: World) -> None:
    """The table and its index."""
    world.client.put_item(TableName="Orders", Item={**KEY, "g": {"S": "b"}})


Request = Callable[[World], None]


@pytest.mark.parametrize("request_one", [read, write, write_both])
def test_a_profile_holds_at_once(
    worlds: Callable[..., World], refused: Callable[..., dict[str, Any]], request_one: Request
) -> None:
    world = worlds("off")
    world.create(index=(10, 10))
    request_one(world)
    world.set(profile="aws")
    world.set(balance={"read": 0, "write": 0})
    with pytest.raises(world.client.exceptions.ProvisionedThroughputExceededException):
        request_one(world)
    world.set(profile="off")
    request_one(world)


def test_deleting_an_index_stops_its_contributor_insights(world: World) -> None:
    """Contributor Insights of an index cost its table's requests as long as the index is there."""
    world.create(index=(10, 10))
    meter = world.database.database.backend.catalog.throughput.tables()[0]
    world.client.update_contributor_insights(
        TableName="Orders", IndexName="by-g", ContributorInsightsAction="ENABLE"
    )
    assert meter.recorded
    world.client.update_table(
        TableName="Orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-g"}}]
    )
    world.clock.advance(60)
    world.client.list_tables()
    assert not meter.recorded
