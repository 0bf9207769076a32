"""What partitions are counted to hold: by writes, splits, the size of the whole table, and measurements.

What it proves: the counts add up to what the table holds, no partition holds more than its upper bound, and a
measured partition has its exact size. Why: a full partition must be found although splits divide counts
without reading rows.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.capacity.config import profile
from faradisc.capacity.inspect import describe
from faradisc.capacity.partition_sizes import reconcile, set_measured
from faradisc.capacity.partitions import Contents, Partition, PartitionMap
from faradisc.capacity.resource import Resource
from faradisc.capacity.topology import equal_cuts
from unit.capacity.worlds import START, place, table

AWS = profile("aws")
KEYS = [place(f"k{number}") for number in range(24)]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 23), st.integers(0, 400)),
        st.tuples(st.just("split"), st.integers(0, 40), st.integers(2, 4)),
        st.tuples(st.just("measure"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("restart"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


class Rows:
    """A partition map and the rows that its partitions hold."""

    def __init__(self) -> None:
        self.partitions = PartitionMap(AWS, 1, 0)
        self.sizes: dict[bytes, int] = {}

    def write(self, key: bytes, size: int) -> None:
        """Writes a row of `size` bytes; 0 deletes it."""
        part = self.partitions.find(key)
        before = self.sizes.pop(key, 0)
        if size:
            self.sizes[key] = size
        part.bytes += size - before
        part.items += bool(size) - bool(before)

    def of(self, part: Partition) -> Contents:
        held = [size for key, size in self.sizes.items() if part.holds(key)]
        return Contents(sum(held), len(held))

    def check(self) -> None:
        parts = self.partitions.partitions
        assert sum(part.bytes for part in parts) == sum(self.sizes.values())
        assert sum(part.items for part in parts) == len(self.sizes)
        assert all(self.of(part).bytes <= part.most_bytes for part in parts)


@given(steps)
def test_counts_add_up_and_upper_bounds_hold(played: list[tuple[str, int, int]]) -> None:
    rows = Rows()
    for step, first, second in played:
        part = rows.partitions.partitions[first % len(rows.partitions)]
        if step == "write":
            rows.write(KEYS[first], second)
        elif step == "split":
            cuts = equal_cuts(part, second)
            if cuts:
                rows.partitions.split(part, cuts, 0)
        elif step == "measure":
            set_measured(rows.partitions, part, rows.of(part))
            assert (part.bytes, part.items) == (rows.of(part).bytes, rows.of(part).items)
            assert part.unknown_bytes == 0
        elif step == "restart":
            rows.partitions = PartitionMap.from_json(rows.partitions.to_json(), AWS, 0)
        rows.check()


@given(steps)
def test_measuring_all_partitions_makes_all_counts_exact(played: list[tuple[str, int, int]]) -> None:
    rows = Rows()
    for step, first, second in played:
        part = rows.partitions.partitions[first % len(rows.partitions)]
        if step == "write":
            rows.write(KEYS[first], second)
        elif step == "split" and equal_cuts(part, second):
            rows.partitions.split(part, equal_cuts(part, second), 0)
    for part in rows.partitions.partitions:
        if part.unknown_bytes:
            set_measured(rows.partitions, part, rows.of(part))
    for part in rows.partitions.partitions:
        assert part.bytes == rows.of(part).bytes


def test_children_of_an_empty_partition_are_known_to_be_empty() -> None:
    partitions = PartitionMap(AWS, 1, 0)
    partitions.split(partitions.partitions[0], equal_cuts(partitions.partitions[0], 8), 0)
    assert [part.most_bytes for part in partitions.partitions] == [0] * 8


def test_children_may_hold_all_that_their_parent_held() -> None:
    partitions = PartitionMap(AWS, 1, 0)
    (parent,) = partitions.partitions
    parent.bytes, parent.items = 1000, 10
    partitions.split(parent, equal_cuts(parent, 4), 0)
    assert [(part.bytes, part.most_bytes) for part in partitions.partitions] == [(250, 1000)] * 4


def test_children_are_divided_by_the_width_of_their_ranges() -> None:
    partitions = PartitionMap(AWS, 1, 0)
    (parent,) = partitions.partitions
    parent.bytes, parent.items = 1000, 10
    partitions.split(parent, [b"\xc0" + b"\0" * 15], 0)
    assert [(part.bytes, part.items) for part in partitions.partitions] == [(750, 7), (250, 3)]


def test_children_of_a_measured_partition_share_what_was_written_since() -> None:
    partitions = PartitionMap(AWS, 1, 0)
    (parent,) = partitions.partitions
    parent.bytes, parent.items = 1100, 11
    contents = (Contents(750, 7), Contents(250, 3))
    first, second = partitions.split(parent, equal_cuts(parent, 2), 0, contents)
    assert (first.bytes, second.bytes) == (825, 275)
    assert (first.unknown_bytes, second.unknown_bytes) == (100, 100)


def test_rows_that_were_not_counted_may_be_in_any_partition() -> None:
    rows = Rows()
    rows.partitions = PartitionMap(AWS, 4, 0)
    rows.write(KEYS[0], 100)
    rows.sizes[KEYS[1]] = 60
    reconcile(rows.partitions, 160, 2)
    rows.check()
    assert all(part.most_bytes >= 60 for part in rows.partitions.partitions)
    before = rows.partitions.to_json()
    reconcile(rows.partitions, 160, 2)
    assert rows.partitions.to_json() == before


@pytest.mark.parametrize("estimated", [None, True, False])
def test_rows_of_earlier_versions_have_a_flag_or_nothing_in_place_of_unknown_bytes(
    estimated: bool | None,
) -> None:
    partitions = PartitionMap(AWS, 2, 0)
    partitions.partitions[0].bytes = 100
    stored = partitions.to_json()
    for entry in stored["partitions"]:
        del entry["unknown_bytes"]
        if estimated is not None:
            entry["estimated"] = estimated
    restored = PartitionMap.from_json(stored, AWS, 0)
    bounds = [100, 0] if estimated is False else [100, 100]
    assert [part.most_bytes for part in restored.partitions] == bounds


def test_partitions_inside_one_collection_are_divided_evenly() -> None:
    rows = Rows()
    whole = rows.partitions.partitions[0]
    for number, sort in enumerate("abcd"):
        rows.write(place("k", sort), 10 + number)
    rows.partitions.split(whole, [place("k", "b"), place("k", "c"), place("k", "d")], 0)
    rows.check()
    for part in rows.partitions.partitions:
        set_measured(rows.partitions, part, rows.of(part))
    assert [part.bytes for part in rows.partitions.partitions] == [10, 11, 12, 13]
    assert {part.share for part in rows.partitions.partitions} == {Fraction(1, 4)}


class Found:
    """A measurement of `size_bytes` in the lower half of the hash space, half of them on either side of its
    middle."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        return b"\x40" + b"\0" * 15 + b"key"

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        whole = low == b"" and high == b"\x80" + b"\0" * 15
        return Contents(self.size_bytes, 2) if whole else Contents(self.size_bytes // 2, 1)


def test_only_a_partition_that_was_measured_to_be_full_is_split() -> None:
    resource = table(read_units=1, write_units=1, partitions=2)
    limit = resource.config.partition_bytes_max
    part, other = resource.partitions.partitions
    part.bytes = limit + 1
    part.cooldown_until_ns = START + 10**12
    assert resource.split_by_size(part.id, Found(limit), START) == []
    assert (part.state, part.bytes, other.bytes) == ("active", limit, 1)
    assert part.cooldown_until_ns == START, "it is examined again as soon as it is full"
    assert len(resource.split_by_size(part.id, Found(limit + 1), START)) == 1


def test_growth_since_the_measurement_counts() -> None:
    resource = table(read_units=1, write_units=1, partitions=2)
    limit = resource.config.partition_bytes_max
    part, _ = resource.partitions.partitions
    assert len(resource.split_by_size(part.id, Found(limit), START, written=Contents(1, 1))) == 1
    assert (part.bytes, part.items) == (limit + 1, 3)


def test_the_count_of_an_only_partition_is_exact() -> None:
    resource = table(read_units=1, write_units=1)
    limit = resource.config.partition_bytes_max
    (part,) = resource.partitions.partitions
    part.bytes, part.items = limit + 1, 2
    assert len(resource.split_by_size(part.id, Found(limit), START)) == 1
    assert part.bytes == limit + 1


@pytest.mark.parametrize(
    ("counted", "holds", "then"),
    [
        ([0, 0, 0, 0], 10, [2, 3, 2, 3]),
        ([100, 0, 0, 0], 104, [101, 1, 1, 1]),
        ([100, 0, 300, 0], 40, [10, 0, 30, 0]),
        ([100, 0, 300, 0], 0, [0, 0, 0, 0]),
        ([-50, 100, 0, 0], 50, [-50, 100, 0, 0]),
        ([-50, 100, 0, 0], 60, [0, 60, 0, 0]),
        ([-50, 10, 0, 0], 14, [1, 11, 1, 1]),
        ([7, 1, 0, 2], 10, [7, 1, 0, 2]),
    ],
)
def test_counts_are_corrected_to_what_the_table_holds(
    counted: list[int], holds: int, then: list[int]
) -> None:
    partitions = PartitionMap(AWS, len(counted), 0)
    for part, each in zip(partitions.partitions, counted, strict=True):
        part.bytes, part.items = each, each
    reconcile(partitions, holds, holds)
    assert [part.bytes for part in partitions.partitions] == then
    assert [part.items for part in partitions.partitions] == then


def test_deletes_below_zero_keep_the_sum_and_are_not_shown() -> None:
    """Ten items lie on one side of a cut and are counted on both: deleting them leaves one count negative."""
    resource = Resource("arn", "Table", AWS, 0, read_units=1, write_units=1)
    key = b"\x00" * 17
    resource.grow(key, 1010, 10)
    resource.set_partitions(2, 0)
    resource.grow(key, -1010, -10)
    assert [(part.bytes, part.items) for part in resource.partitions.partitions] == [(-505, -5), (505, 5)]
    resource.set_partitions(4, 0)
    parts = resource.partitions.partitions
    assert (sum(part.bytes for part in parts), sum(part.items for part in parts)) == (0, 0)
    assert min(shown["bytes"] for shown in describe(resource, 0)["partitions"]) == 0
    assert min(shown["items"] for shown in describe(resource, 0)["partitions"]) == 0


def test_shown_counts_add_up_although_none_is_negative() -> None:
    resource = Resource("arn", "Table", AWS, 0, read_units=1, write_units=1)
    key = b"\x00" * 17
    resource.grow(key, 874, 4)
    resource.set_partitions(2, 0)
    resource.grow(key, -857, -3)
    assert [(part.bytes, part.items) for part in resource.partitions.partitions] == [(-420, -1), (437, 2)]
    shown = [(part["bytes"], part["items"]) for part in describe(resource, 0)["partitions"]]
    assert shown == [(0, 0), (17, 1)]
