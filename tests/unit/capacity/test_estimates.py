"""Partitions whose contents were divided without looking, and the measuring that makes them exact.

What it proves: whatever is split, written and measured in whatever order, the sum over all partitions is
exact at every moment, and each partition's own when nothing is left to measure. Why so: halves of a raise
kept half of what their parent had held for ever, so that full partitions were not split and empty ones were.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from faradisc.capacity.config import profile
from faradisc.capacity.estimates import correct, next_estimated, reconcile
from faradisc.capacity.partitions import Contents, Partition, PartitionMap
from faradisc.capacity.topology import equal_cuts
from unit.capacity.worlds import START, place, table

AWS = profile("aws")
KEYS = [place(f"k{number}") for number in range(24)]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 23), st.integers(0, 400)),
        st.tuples(st.just("split"), st.integers(0, 40), st.integers(2, 4)),
        st.tuples(st.just("begin"), st.just(0), st.just(0)),
        st.tuples(st.just("end"), st.just(0), st.just(0)),
        st.tuples(st.just("restart"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


class Rows:
    """What the partitions of a map really hold."""

    def __init__(self) -> None:
        self.partitions = PartitionMap(AWS, 1, 0)
        self.sizes: dict[bytes, int] = {}

    def write(self, key: bytes, size: int) -> None:
        """A row of so many bytes; none: it is deleted."""
        part = self.partitions.find(key)
        before = self.sizes.pop(key, 0)
        if size:
            self.sizes[key] = size
        part.bytes += size - before
        part.items += bool(size) - bool(before)

    def of(self, part: Partition) -> Contents:
        held = [size for key, size in self.sizes.items() if part.holds(key)]
        return Contents(sum(held), len(held))

    def check_sums(self) -> None:
        parts = self.partitions.partitions
        assert sum(part.bytes for part in parts) == sum(self.sizes.values())
        assert sum(part.items for part in parts) == len(self.sizes)
        for part in parts:
            if not part.estimated:
                assert Contents(part.bytes, part.items) == self.of(part)


@given(steps)
def test_sums_are_exact_and_in_the_end_each_partition_is(played: list[tuple[str, int, int]]) -> None:
    rows = Rows()
    measured: Partition | None = None
    for step, first, second in played:
        if step == "write":
            rows.write(KEYS[first], second)
        elif step == "split":
            part = rows.partitions.partitions[first % len(rows.partitions)]
            cuts = equal_cuts(part, second)
            if cuts:
                rows.partitions.split(part, cuts, 0)
        elif step == "begin" and measured is None:
            measured = next_estimated(rows.partitions)
        elif step == "end" and measured is not None:
            if measured.state != "retired":
                correct(rows.partitions, measured, rows.of(measured))
            measured = None
        elif step == "restart":
            rows.partitions = PartitionMap.from_json(rows.partitions.to_json(), AWS, 0)
            measured = None
        rows.check_sums()
    looks = 0
    while (part := next_estimated(rows.partitions)) is not None:
        correct(rows.partitions, part, rows.of(part))
        rows.check_sums()
        looks += 1
    assert looks < len(rows.partitions), "of each run the last partition is not walked over"
    assert [Contents(part.bytes, part.items) for part in rows.partitions.partitions] == [
        rows.of(part) for part in rows.partitions.partitions
    ]


def test_what_is_divided_of_nothing_is_known() -> None:
    partitions = PartitionMap(AWS, 1, 0)
    partitions.split(partitions.partitions[0], equal_cuts(partitions.partitions[0], 8), 0)
    assert next_estimated(partitions) is None


def test_what_nobody_counted_is_measured_everywhere() -> None:
    rows = Rows()
    rows.partitions = PartitionMap(AWS, 4, 0)
    rows.write(KEYS[0], 100)
    rows.sizes[KEYS[1]] = 60
    assert reconcile(rows.partitions, 160, 2)
    assert all(part.estimated for part in rows.partitions.partitions)
    rows.check_sums()
    assert not reconcile(rows.partitions, 160, 2)


def test_a_partition_that_holds_something_else_than_was_counted_makes_all_doubtful() -> None:
    partitions = PartitionMap(AWS, 3, 0)
    first, *others = partitions.partitions
    correct(partitions, first, Contents(0, 0))
    assert not first.estimated
    correct(partitions, first, Contents(10, 1))
    assert [part.estimated for part in (first, *others)] == [True] * 3
    assert (first.bytes, first.items) == (0, 0), (
        "what it holds is taken from the others when it is measured next"
    )


def test_rows_of_earlier_versions_did_not_say_what_was_estimated() -> None:
    for count in (1, 2):
        stored = PartitionMap(AWS, count, 0).to_json()
        for entry in stored["partitions"]:
            del entry["estimated"]
        restored = PartitionMap.from_json(stored, AWS, 0)
        assert [part.estimated for part in restored.partitions] == [count > 1] * count


def test_a_run_inside_one_collection_has_no_hashes_to_spread_by() -> None:
    rows = Rows()
    whole = rows.partitions.partitions[0]
    sorts = [place("k", sort) for sort in "abcd"]
    for number, key in enumerate(sorts):
        rows.write(key, 10 + number)
    rows.partitions.split(whole, [place("k", "b"), place("k", "c"), place("k", "d")], 0)
    while (part := next_estimated(rows.partitions)) is not None:
        correct(rows.partitions, part, rows.of(part))
        rows.check_sums()
    assert [part.bytes for part in rows.partitions.partitions] == [10, 11, 12, 13]
    assert {part.share for part in rows.partitions.partitions} == {Fraction(1, 4)}


class Found:
    """A survey that finds so much, half of it on either side of the hash space's middle."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        return b"\x80" + b"\0" * 15 + b"key"

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        whole = low == b"" and high is None
        return Contents(self.size_bytes, 2) if whole else Contents(self.size_bytes // 2, 1)


def test_only_a_partition_that_was_found_to_be_full_is_cut() -> None:
    resource = table(read_units=1, write_units=1)
    limit = resource.config.partition_bytes_max
    (part,) = resource.partitions.partitions
    part.bytes = limit + 1
    part.cooldown_until_ns = START + 10**12
    assert resource.split_by_size(part.id, Found(limit), START) == []
    assert part.state == "active"
    assert part.cooldown_until_ns == START, "once it is full it is looked at again without delay"
    assert len(resource.split_by_size(part.id, Found(limit + 1), START)) == 1
