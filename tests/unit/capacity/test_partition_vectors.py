"""Vectors V70 to V87 of capacity.md section 4.5: how many partitions, and what each may serve."""

from __future__ import annotations

from fractions import Fraction

import pytest

from faradisc.capacity.config import GIB, SECOND_NS
from faradisc.capacity.events import Split, SplitDue, SplitRefused, SplitStarted
from faradisc.capacity.partitions import AWS, PARTITIONS_BY_UNITS_MAX, Contents, initial_partitions
from faradisc.capacity.resource import Resource
from faradisc.capacity.topology import (
    HASH_SPACE,
    NO_SIZE_CUT_COLLECTION,
    hash_bounds,
    needed_partitions,
    on_demand_partitions,
    partitions_after_raise,
)
from unit.capacity.worlds import START, inside, place, settle_splits, table, write

HOUR = 3600 * SECOND_NS


def shares(resource: Resource) -> list[tuple[Fraction, Fraction]]:
    """Read and write rate of each partition, classic profile."""
    parts = resource.partitions.partitions
    assert all(part.reads.share is not None and part.writes.share is not None for part in parts)
    return [(part.reads.share.exact_rate(), part.writes.share.exact_rate()) for part in parts]


@pytest.mark.parametrize(
    ("vector", "read", "write_units", "partitions"),
    [
        ("V70, S4", 1_000, 500, 1),
        ("V70a, 2016 slides", 10_000, 1_000, 5),
        ("V71, S4", 1_000, 1_000, 2),
        ("V72, S4", 5_000, 2_000, 4),
        ("V76, S4 (reads ignored)", 0, 11_000, 11),
        ("V79, S4", 0, 1_900, 2),
        ("V80, P", 0, 3_200, 4),
        ("V84, X: exact rationals", 1, 11_000, 12),
        ("V85, X", 40_000, 40_000, 54),
    ],
)
def test_partitions_at_birth(vector: str, read: int, write_units: int, partitions: int) -> None:
    assert initial_partitions(read, write_units) == partitions
    assert len(table(read_units=read, write_units=write_units).partitions) == partitions


def test_v70a_size_decides_for_an_imported_table() -> None:
    """V70a, 2016 slides: 15 GB with 500 WCU need 2 partitions."""
    assert needed_partitions(0, 500, 15 * GIB) == 2
    assert needed_partitions(10_000, 1_000, 1 * GIB) == 5


def test_v71_and_v72_shares() -> None:
    """V71, V72, S4: classic tables divide their rates evenly."""
    assert shares(table("classic-2017", read_units=1000, write_units=1000)) == [(500, 500)] * 2
    assert shares(table("classic-2017", read_units=5000, write_units=2000)) == [(1250, 500)] * 4


def test_v73_a_raise_doubles() -> None:
    """V73, S4: 4 partitions at 8,000/2,000 become 8 of 1,000/250 each."""
    resource = table("classic-2017", read_units=5000, write_units=2000)
    started = resource.set_provisioned(8000, 2000, START)
    assert [type(event) for event in started] == [SplitStarted] * 4
    assert len(resource.partitions) == 4
    events = resource.advance(START + HOUR)
    assert [type(event) for event in events] == [Split] * 4
    assert shares(resource) == [(1000, 250)] * 8
    widths = {high - low for low, high in map(hash_bounds, resource.partitions.partitions)}
    assert widths == {HASH_SPACE // 8}


def test_v74_a_full_partition_splits_and_the_others_stay() -> None:
    """V74, S4: 8 partitions hold about 80 GB; one passes 10 GB: 9 partitions, about 90 GB."""
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(8000, 2000, START)
    resource.advance(START + HOUR)
    assert len(resource.partitions) * AWS.partition_bytes_max == 80 * GIB
    before = [part.id for part in resource.partitions.partitions]
    full = resource.partitions.partitions[3]
    full.bytes, full.items = 10 * GIB + 1, 1_000_000
    events = settle_splits(resource, START + HOUR + 60 * SECOND_NS)
    assert [type(event) for event in events] == [SplitDue, SplitStarted, Split]
    after = [part.id for part in resource.partitions.partitions]
    assert len(after) * AWS.partition_bytes_max == 90 * GIB
    assert set(before) - set(after) == {full.id}
    assert sum(part.bytes for part in resource.partitions.partitions) == 10 * GIB + 1


def test_v75_children_of_a_size_split_share_their_parents_rate() -> None:
    """V75, S4: 3 x 1,250/500 and 2 x 625/250."""
    resource = table("classic-2017", read_units=5000, write_units=2000)
    part = resource.partitions.partitions[0]
    part.bytes, part.items = 11 * GIB, 1000
    settle_splits(resource, START + HOUR)
    assert shares(resource) == [(625, 250)] * 2 + [(1250, 500)] * 3


def test_v76_v77_bulk_load_then_lower() -> None:
    """V76, V77, S4: 20 million items of 1 KB in 30 minutes; lowering keeps 11 partitions of about 20 WCU."""
    assert -(-20_000_000 // (30 * 60)) == 11_112
    resource = table("classic-2017", read_units=0, write_units=11_000)
    assert shares(resource)[0][1] == 1000
    assert resource.set_provisioned(0, 200, START) == []
    assert len(resource.partitions) == 11
    assert {write_share for _, write_share in shares(resource)} == {Fraction(200, 11)}
    assert round(float(Fraction(200, 11)), 2) == 18.18


def test_v78_no_request_fails_because_of_a_split() -> None:
    """V78, S4: the parent serves until the children take over, at unchanged rates."""
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(8000, 2000, START)
    where = place("user")
    for step in range(1200):
        now = START + step * SECOND_NS // 10
        resource.advance(now)
        assert write(resource, where, now) is None
        assert resource.writes.table_bucket is not None and resource.writes.table_bucket.rate == 2000
    assert len(resource.partitions) == 8


def test_v79_three_hours() -> None:
    """V79, S4: the same load over three hours needs 1,852 WCU exactly."""
    assert -(-20_000_000 // (3 * 3600)) == 1852


def test_v80_raises_of_the_paper() -> None:
    """V80, P: 4 x 800, then 4 x 900, then 8 x 750."""
    resource = table("classic-2017", write_units=3200)
    seen = []
    for units in (3200, 3600, 6000):
        resource.set_provisioned(0, units, START)
        resource.advance(START + HOUR)
        seen.append((len(resource.partitions), shares(resource)[0][1]))
    assert seen == [(4, 800), (4, 900), (8, 750)]


def test_v81_raise_to_5000() -> None:
    """V81, P (which prints 675) and X: 8 x 625."""
    assert partitions_after_raise(4, 0, 5000) == 8
    assert Fraction(5000, 8) == 625


def test_v82_v83_on_demand() -> None:
    """V82, M3: a new on-demand table has 4 partitions. V83, X: warm throughput 30,000/10,000 has 10."""
    resource = table(on_demand=True)
    assert len(resource.partitions) == 4
    assert on_demand_partitions(30_000, 10_000) == 10
    resource.reach_warm(30_000, 10_000, START)
    resource.advance(START + HOUR)
    assert len(resource.partitions) == 10
    assert resource.warm.describe() == {
        "ReadUnitsPerSecond": 30_000,
        "WriteUnitsPerSecond": 10_000,
        "Status": "ACTIVE",
    }


class OneCollection:
    """A partition whose only rows are one item collection's."""

    def __init__(self, rows: int) -> None:
        self.rows = [place("only", f"{n:06d}") for n in range(rows)]
        self.row_bytes = 10 * GIB // rows + 1

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        return self.rows[len(self.rows) // 2]

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        count = sum(low <= row and (high is None or row < high) for row in self.rows)
        return Contents(count * self.row_bytes, count)


@pytest.mark.parametrize("local_indexes", [False, True])
def test_v86_one_collection_beyond_10_gib(local_indexes: bool) -> None:
    """V86, D: cut inside the collection; with a local index no split (growth is refused at 10 GB,
    engine/tables/writes.py)."""
    resource = table(read_units=10, write_units=10, local_indexes=local_indexes)
    (part,) = resource.partitions.partitions
    part.bytes, part.items = 10 * GIB + 1, 100
    (due,) = resource.advance(START + 60 * SECOND_NS)
    assert isinstance(due, SplitDue)
    measurement = OneCollection(100)
    (event,) = resource.split_by_size(part.id, measurement, START + 60 * SECOND_NS)
    resource.advance(START + HOUR)
    if local_indexes:
        assert isinstance(event, SplitRefused) and event.cause == NO_SIZE_CUT_COLLECTION
        assert len(resource.partitions) == 1
    else:
        assert isinstance(event, SplitStarted)
        assert resource.partitions.lows == [b"", measurement.rows[50]]
        assert [part.items for part in resource.partitions.partitions] == [50, 50]


def test_v87_deleting_everything_keeps_the_partitions() -> None:
    """V87, S4, M3."""
    resource = table(read_units=1, write_units=9_000, partitions=9)
    for part in resource.partitions.partitions:
        part.bytes = part.items = 0
    resource.set_provisioned(1, 1, START)
    resource.advance(START + 24 * HOUR)
    assert len(resource.partitions) == 9
    assert all(
        write(resource, inside(part), START + 25 * HOUR) is None for part in resource.partitions.partitions
    )


def test_what_is_written_during_a_size_split_is_not_lost() -> None:
    """Section 2.4: the parent keeps serving; the children hold what it held in the end."""
    resource = table(read_units=10, write_units=10)
    (part,) = resource.partitions.partitions
    part.bytes, part.items = 11 * GIB, 1000
    resource.split_by_size(part.id, OneCollection(100), START)
    part.bytes += 12_345
    part.items += 3
    resource.advance(START + HOUR)
    children = resource.partitions.partitions
    assert sum(child.bytes for child in children) == 11 * GIB + 12_345
    assert sum(child.items for child in children) == 1003
    assert all(child.parent == part.id for child in children)


# --- With caps of a table's own -----------------------------------------------------------------------

SMALL = AWS.with_partition_caps(30, 10, 64 << 20)
"""A hundredth of the service's limits."""


@pytest.mark.parametrize(
    ("read", "write"), [(1000, 500), (1000, 1000), (5000, 2000), (1, 11_000), (40_000, 40_000)]
)
def test_a_table_with_small_partitions_is_a_small_copy_of_a_large_one(read: int, write: int) -> None:
    """A hundredth of the units with a hundredth of the limits: as many partitions (V70 to V72, V84, V85)."""
    small = initial_partitions(read // 100 or 1, write // 100, SMALL)
    assert small == initial_partitions((read // 100 or 1) * 100, write, AWS)


def test_a_table_of_100_units_has_10_partitions_of_10() -> None:
    resource = table(config=SMALL, read_units=1, write_units=100)
    assert len(resource.partitions) == 11  # ten for the writes, and one read unit more than they carry (V84)
    resource.set_provisioned(1, 150, START)
    resource.advance(START + 120 * SECOND_NS)
    assert len(resource.partitions) == 22


def test_restored_tables_follow_their_own_size_limit() -> None:
    assert needed_partitions(0, 0, 640 << 20, SMALL) == 10
    assert needed_partitions(30, 10, 640 << 20, SMALL) == 10
    assert needed_partitions(300, 100, 0, SMALL) == 20


def test_on_demand_tables_have_four_partitions_whatever_they_carry() -> None:
    assert len(table(config=SMALL, on_demand=True).partitions) == 4


def test_units_alone_do_not_make_more_partitions_than_a_test_can_bear() -> None:
    tiny = AWS.with_partition_caps(1, 1)
    assert initial_partitions(40_000, 40_000, tiny) == PARTITIONS_BY_UNITS_MAX
    assert partitions_after_raise(600, 40_000, 40_000, tiny) == 1200  # a raise doubles once more at most


def test_a_map_of_an_earlier_version_stays_as_it_is() -> None:
    """One that was stored when small partitions were counted by 3,000 and 1,000: a restart splits nothing,
    a raise makes up for it."""
    before = table(config=SMALL, write_units=100, read_units=30, partitions=1)
    after = table(config=SMALL, write_units=100, read_units=30, stored=before.to_json())
    assert len(after.partitions) == 1
    after.set_provisioned(30, 110, START)
    after.advance(START + 120 * SECOND_NS)
    assert len(after.partitions) == 16
