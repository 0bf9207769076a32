"""Partitions brought to what their table holds, whatever they were said to hold before.

What it proves: the sum is exact and nothing is negative, so no partition splits for bytes that are not there.
Why so: the simulation found partitions that kept the bytes of items deleted right before a crash.
"""

from __future__ import annotations

import pytest

from faradisc.capacity.config import profile
from faradisc.capacity.partitions import PartitionMap
from faradisc.capacity.topology import reconcile


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
