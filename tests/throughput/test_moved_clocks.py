"""A clock that is moved far at once: full partitions split when they would have, had the time passed slowly.

Partitions are full at 16 KB. They are looked at every ten seconds, a split takes a minute, and its halves are
looked at ten minutes later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.engine.throughput.size_measurement import RowReader
from faradisc.storage.immediate import run
from throughput.conftest import World

SMALL = "aws:3000/1000/16KB"
HOUR_S = 3600


def filled(world: World, items: int = 150, **more: Any) -> World:
    """A table with so many items of a kilobyte; eight of them share a partition key, and what is in an index
    shares two."""
    world.create(units=(10, 200), sort_key=True, **more)
    for number in range(items):
        key = {"p": {"S": str(number // 8)}, "r": {"S": str(number)}, "g": {"S": f"{number % 2}" + "g" * 300}}
        world.client.put_item(TableName="Orders", Item={**key, "v": {"S": "x" * 700}})
    return world


def slowly(world: World, seconds: int) -> None:
    for _ in range(seconds // 10):
        world.clock.advance(10)
        world.client.list_tables()


def at_once(world: World, seconds: int) -> None:
    world.clock.advance(seconds)
    world.client.list_tables()


def by_the_admin_api(world: World, seconds: int) -> None:
    run(world.database.database.administration.advance(seconds))


def in_two(world: World, seconds: int) -> None:
    """The first jump ends while partitions split."""
    at_once(world, 35)
    by_the_admin_api(world, seconds - 35)


RAISED = {"ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 2500}}


@pytest.mark.parametrize(
    ("jump", "more"),
    [
        (at_once, RAISED),
        (by_the_admin_api, {}),
        (in_two, {"index": (10, 200)}),
        *(
            pytest.param(jump, more, marks=pytest.mark.slow)
            for jump, more in (
                (at_once, {}),
                (at_once, {"index": (10, 200)}),
                (by_the_admin_api, {"index": (10, 200)}),
                (by_the_admin_api, RAISED),
                (in_two, {}),
                (in_two, RAISED),
            )
        ),
    ],
)
def test_a_jump_is_as_many_small_steps(
    worlds: Callable[..., World], jump: Callable[[World, int], None], more: dict[str, Any]
) -> None:
    seen = []
    for pass_time in (slowly, jump):
        world = filled(worlds(SMALL), **more)
        pass_time(world, HOUR_S)
        indexes = ("", "by-g") if "index" in more else ("",)
        seen.append([world.see(index=index) for index in indexes])
    for one, other in zip(*seen, strict=True):
        assert one["splits"] == other["splits"]
        assert [(each["low"], each["bytes"]) for each in one["partitions"]] == [
            (each["low"], each["bytes"]) for each in other["partitions"]
        ]
    table = seen[1][0]
    assert {split["reason"] for split in table["splits"]} == {"size"}
    assert all(each["bytes"] <= 16 << 10 for each in table["partitions"])


def test_children_that_turn_out_to_be_full_are_split_as_soon_as_when_time_passes_slowly(
    worlds: Callable[..., World],
) -> None:
    """A raise cuts where nothing is: one child has all there is, and more than fits."""
    seen = []
    for pass_time in (slowly, at_once, by_the_admin_api):
        world = worlds("aws:3000/1000/16KB")
        world.create(units=(10, 200), sort_key=True)
        for number in range(30):
            item = {"p": {"S": "a"}, "r": {"S": f"{number:03}"}, "v": {"S": "x" * 700}}
            world.client.put_item(TableName="Orders", Item=item)
        units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1200}
        world.client.update_table(TableName="Orders", ProvisionedThroughput=units)
        pass_time(world, HOUR_S)
        world.client.list_tables()
        shown = world.see()
        seen.append((shown["splits"], [(each["low"], each["items"]) for each in shown["partitions"]]))
    assert seen[0] == seen[1] == seen[2]
    assert [split["reason"] for split in seen[0][0]] == ["raise", "raise", "size", "size"]
    assert sorted(items for _, items in seen[0][1]) == [0, 14, 16]


@pytest.mark.parametrize("seconds", [60, 86_400, 30 * 86_400])
def test_a_split_begins_with_the_writes_however_far_the_clock_goes(world: World, seconds: int) -> None:
    world.create(units=(10, 200))
    world.set(profile=SMALL)
    for number in range(20):
        world.client.put_item(TableName="Orders", Item={"p": {"S": str(number)}, "v": {"S": "x" * 1000}})
    written_ns = world.clock.now_ns()
    by_the_admin_api(world, seconds)
    assert world.clock.now_ns() == written_ns + seconds * 10**9
    started, *ended = world.see()["splits"]
    assert 0 < started["at_ns"] - written_ns <= 10 * 10**9
    assert [split["at_ns"] - started["at_ns"] for split in ended] == ([] if seconds == 60 else [60 * 10**9])


def test_a_raise_and_full_partitions(worlds: Callable[..., World]) -> None:
    """Partitions that a raise divides are looked at when they are there, for their halves may be full."""
    seen = []
    for pass_time in (slowly, at_once):
        world = filled(worlds(SMALL))
        units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1200}
        world.client.update_table(TableName="Orders", ProvisionedThroughput=units)
        pass_time(world, HOUR_S)
        seen.append(world.see()["splits"])
    assert seen[0] == seen[1]
    assert [split["reason"] for split in seen[0][:2]] == ["raise", "raise"]
    assert "size" in {split["reason"] for split in seen[0]}


def test_a_long_time_without_anything_full_is_one_step(world: World) -> None:
    filled(world)
    at_once(world, HOUR_S)
    with patch.object(
        ResourceRegistry, "advance", autospec=True, side_effect=ResourceRegistry.advance
    ) as advanced:
        at_once(world, 365 * 86_400)
    assert advanced.call_count == 1


def test_what_cannot_be_cut_is_looked_at_once(worlds: Callable[..., World]) -> None:
    """One item collection of a table with a local index is larger than a partition."""
    world = worlds(SMALL)
    world.create(units=(10, 200), sort_key=True, local_index=True)
    for number in range(20):
        item = {"p": {"S": "a"}, "r": {"S": str(number)}, "v": {"S": "x" * 1000}}
        world.client.put_item(TableName="Orders", Item=item)
    at_once(world, HOUR_S)
    (refused, *_) = world.see()["splits"]
    assert (refused["event"], refused["wanted"]) == ("SplitRefused", "size")
    with patch.object(RowReader, "step", autospec=True, side_effect=RowReader.step) as read:
        at_once(world, 365 * 86_400)
    assert read.call_count < 20


def test_units_that_are_not_enforced_split_nothing(worlds: Callable[..., World]) -> None:
    world = filled(worlds("off"))
    world.set(profile=SMALL)
    world.set(profile=None)
    at_once(world, HOUR_S)
    assert len(world.see()["partitions"]) == 1


def test_a_profile_that_comes_with_a_jump(worlds: Callable[..., World]) -> None:
    """What a table holds that was never counted is measured before the time passes."""
    world = filled(worlds("off"))
    began_ns = world.clock.now_ns()
    world.set(profile=SMALL)
    at_once(world, HOUR_S)
    assert world.see()["splits"][0]["at_ns"] - began_ns <= 10 * 10**9
    assert all(each["bytes"] <= 16 << 10 for each in world.see()["partitions"])
