"""Partitions brought to what their table holds, whatever they were said to hold before; and divided.

What it proves: the sum is exact and nothing is negative, so no partition splits for bytes that are not there;
a split leaves the sum as it is, also where a partition has turned out to hold less than it was said to.
Why so: the simulation found partitions that kept the bytes of items deleted right before a crash, and splits
of a partition from which more was deleted than an earlier split by estimate had given it.
"""

from __future__ import annotations

import pytest

from faradisc.capacity.config import profile
from faradisc.capacity.estimates import reconcile
from faradisc.capacity.inspect import describe
from faradisc.capacity.partitions import PartitionMap
from faradisc.capacity.resource import Resource


@pytest.mark.parametrize(
    ("said", "holds", "then"),
    [
        ([0, 0, 0, 0], 10, [2, 3, 2, 3]),
        ([100, 0, 0, 0], 104, [101, 1, 1, 1]),
        ([100, 0, 300, 0], 40, [10, 0, 30, 0]),
        ([100, 0, 300, 0], 0, [0, 0, 0, 0]),
        ([-50, 100, 0, 0], 50, [0, 50, 0, 0]),
        ([-50, 10, 0, 0], 14, [1, 11, 1, 1]),
        ([7, 1, 0, 2], 10, [7, 1, 0, 2]),
    ],
)
def test_partitions_hold_what_the_table_holds(said: list[int], holds: int, then: list[int]) -> None:
    partitions = PartitionMap(profile("aws"), len(said), 0)
    for part, each in zip(partitions.partitions, said, strict=True):
        part.bytes, part.items = each, -each
    reconcile(partitions, holds, 0)
    assert [part.bytes for part in partitions.partitions] == then
    assert sum(part.items for part in partitions.partitions) == 0
    assert min(part.items for part in partitions.partitions) == 0


def test_a_split_keeps_the_sum_of_what_turned_out_to_be_less_than_nothing() -> None:
    """Ten items lie on one side of a cut and are said to lie on both: deleting them leaves one side short."""
    resource = Resource("arn", "table", profile("aws"), 0, read_units=1, write_units=1)
    place = b"\x00" * 17
    resource.grow(place, 1010, 10)
    resource.set_partitions(2, 0)
    resource.grow(place, -1010, -10)
    assert [(part.bytes, part.items) for part in resource.partitions.partitions] == [(-505, -5), (505, 5)]
    resource.set_partitions(4, 0)
    parts = resource.partitions.partitions
    assert (sum(part.bytes for part in parts), sum(part.items for part in parts)) == (0, 0)
    assert min(shown["bytes"] for shown in describe(resource, 0)["partitions"]) == 0
    assert min(shown["items"] for shown in describe(resource, 0)["partitions"]) == 0


def test_what_is_shown_adds_up_although_nothing_is_shown_below_zero() -> None:
    resource = Resource("arn", "table", profile("aws"), 0, read_units=1, write_units=1)
    place = b"\x00" * 17
    resource.grow(place, 874, 4)
    resource.set_partitions(2, 0)
    resource.grow(place, -857, -3)
    assert [(part.bytes, part.items) for part in resource.partitions.partitions] == [(-420, -1), (437, 2)]
    shown = [(part["bytes"], part["items"]) for part in describe(resource, 0)["partitions"]]
    assert shown == [(0, 0), (17, 1)]
