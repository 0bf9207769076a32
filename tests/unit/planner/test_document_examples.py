"""The worked examples of "Best Practices for Tables" (document S4), each through the planner.

To be read with the document beside it: the numbers in the assertions are the document's.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from faradisc.capacity.config import GIB, SECOND_NS
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from unit.planner.planned import outcome_of, planned, resource, served


def table(members: str, duration: str = "1h") -> VirtualTables:
    """A world with one table, profile classic-2017: the document's time."""
    return VirtualTables(
        planned(
            f"""
            profile: classic-2017
            duration: {duration}
            tables: {{T: {{mode: provisioned, {members}}}}}
            traffic: [{{operation: GetItem, rate: 0, keys: single}}]
            """
        )
    )


def later(world: VirtualTables, seconds: int) -> VirtualTables:
    world.advance(world.start_ns + seconds * SECOND_NS)
    return world


def partitions(world: VirtualTables) -> int:
    return len(world.resource("T").resource.partitions)


def shares(world: VirtualTables) -> list[tuple[int, int]]:
    """Read and write units per second of each partition."""
    found = []
    for part in world.resource("T").resource.partitions.partitions:
        assert part.reads.share is not None and part.writes.share is not None
        found.append((int(part.reads.share.exact_rate()), int(part.writes.share.exact_rate())))
    return found


@pytest.mark.parametrize(
    ("read", "write", "count"),
    [(1_000, 500, 1), (1_000, 1_000, 2), (5_000, 2_000, 4)],
    ids=["0.8333 is 1", "1.333 is 2", "3.6667 is 4"],
)
def test_initial_allocation(read: int, write: int, count: int) -> None:
    """( readCapacityUnits / 3,000 ) + ( writeCapacityUnits / 1,000 ), rounded up."""
    assert partitions(table(f"read: {read}, write: {write}")) == count


def test_two_partitions_of_500_and_500() -> None:
    assert shares(table("read: 1000, write: 1000")) == [(500, 500)] * 2


def test_four_partitions_of_1250_and_500() -> None:
    assert shares(table("read: 5000, write: 2000")) == [(1_250, 500)] * 4


def test_a_raise_to_8000_doubles_to_eight() -> None:
    """ "... double the number of partitions to eight", each 1,000 reads and 250 writes per second."""
    world = later(table("read: 5000, write: 2000, changes: [{at: 10m, read: 8000}]"), 900)
    assert partitions(world) == 8
    assert shares(world) == [(1_000, 250)] * 8


def fill(world: VirtualTables, position: int) -> None:
    """One partition has taken in more than 10 GB."""
    part = world.resource("T").resource.partitions.partitions[position]
    part.bytes, part.items = 10 * GIB + 1, 10_000_000


def test_a_full_partition_of_eight_splits_to_nine() -> None:
    """8 partitions hold 80 GB; one fills to capacity: 9, and 90 GB."""
    world = later(table("read: 5000, write: 2000, changes: [{at: 10m, read: 8000}]"), 900)
    assert partitions(world) * 10 == 80
    fill(world, 3)
    assert partitions(later(world, 1_800)) * 10 == 90


def test_the_children_of_a_split_have_625_and_250() -> None:
    """Three of the five have 1,250 and 500, the other two 625 and 250."""
    world = table("read: 5000, write: 2000")
    fill(world, 0)
    later(world, 900)
    assert sorted(shares(world)) == [(625, 250)] * 2 + [(1_250, 500)] * 3


def test_twenty_million_items_in_thirty_minutes() -> None:
    """20 GB are 20 million write units: 11,112 a second, "11,000" in the document; 11 partitions of 1,000,
    and around 20 each after the rate was lowered to 200 (18 exactly)."""
    assert -(-20_000_000 // (30 * 60)) == 11_112
    # The document does not count reads; a table has one at least, hence the count is given.
    world = table("read: 1, write: 11000, partitions: 11, changes: [{at: 30m, write: 200}]")
    assert [write for _, write in shares(world)] == [1_000] * 11
    later(world, 1_900)
    assert partitions(world) == 11
    assert [write for _, write in shares(world)] == [int(Fraction(200, 11))] * 11 == [18] * 11


def test_three_hours_need_two_partitions() -> None:
    """1,852 a second, "1900" in the document."""
    assert -(-20_000_000 // (3 * 3600)) == 1_852
    assert partitions(table("read: 1, write: 1900")) == 2


ADAPTIVE = """
    profile: {profile}
    duration: {duration}
    seed: 7
    tables:
      T: {{mode: provisioned, read: 1, write: 400, partitions: 4}}
    traffic:
      - {{name: one, operation: PutItem, rate: 50, keys: {{single: k1}}}}
      - {{name: two, operation: PutItem, rate: 50, keys: {{single: k2}}}}
      - {{name: three, operation: PutItem, rate: 50, keys: {{single: k10}}}}
      - {{name: four, operation: PutItem, rate: 150, keys: {{single: k4}}}}
"""


def test_400_wcu_over_four_partitions_with_one_at_150() -> None:
    """50, 50, 50 and 150 a second over partitions of 100 each: the hot one is throttled above 100 until
    adaptive capacity lifts it, 5 to 30 minutes after the first throttle; then all 150 pass."""
    found = outcome_of(ADAPTIVE.format(profile="classic-2017", duration="1h"), "fluid")
    writes = resource(found, "T").write
    boosts = [event for event in found.events if event.kind == "boosted"]
    assert writes.consumed[10] == 250
    assert served(writes) == 300
    first = resource(found, "T").throttle_summary.first_s
    assert first is not None and len(boosts) == 1
    assert 300 <= boosts[0].at_s - first <= 1_860
    assert "150 WCU" in boosts[0].words


def test_today_none_of_it_is_throttled() -> None:
    found = outcome_of(ADAPTIVE.format(profile="aws", duration="10m"), "fluid")
    assert found.totals.throttled == 0


def test_the_four_keys_lie_in_four_partitions() -> None:
    """What the two tests above rest on."""
    text = ADAPTIVE.format(profile="aws", duration="10m")
    plan = load_plan(text, "plan.yaml")
    world = VirtualTables(plan)
    places = [flow.keys.shape(0, 0, 1).keys[0].prefix for flow in plan.traffic]
    assert len({world.resource("T").resource.partitions.find(place).id for place in places}) == 4
