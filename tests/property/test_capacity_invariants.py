"""The eight invariants of capacity.md section 2.16, over random loads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faradisc.capacity.admission import Charge, admit, take_all
from faradisc.capacity.config import MINUTE_NS, SECOND_NS, UNIT, CapacityConfig, profile
from faradisc.capacity.inspect import describe
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.topology import EvenSizes
from faradisc.metrics.metric_store import dimensions
from unit.capacity.worlds import INDEX, START, TABLE, place, table

KEYS = [place(f"k{n}", f"s{n % 3}") for n in range(12)]

gaps = st.one_of(st.just(0), st.integers(0, SECOND_NS // 20), st.integers(0, 20 * SECOND_NS))
"""Bursts, a steady trickle, and pauses long enough to fill a burst."""
costs = st.one_of(st.integers(1, 3), st.integers(1, 40))
"""Whole units."""
loads = st.lists(st.tuples(gaps, st.integers(0, len(KEYS) - 1), costs), min_size=1, max_size=60)


def moments(load: list[tuple[int, int, int]]) -> list[tuple[int, bytes, int]]:
    """Returns (time, position, units) of each request."""
    now = START
    timed = []
    for gap, key, cost in load:
        now += gap
        timed.append((now, KEYS[key], cost))
    return timed


def run(resource: Resource, load: list[tuple[int, int, int]]) -> list[tuple[int, bytes, int]]:
    """Returns the admitted writes."""
    admitted = []
    for now, where, cost in moments(load):
        resource.advance(now)
        bucket = resource.writes.admit(where, now)
        if bucket is None:
            resource.writes.refuse(where, now)
        else:
            resource.writes.take(bucket, where, cost * 2, now)
            admitted.append((now, where, cost))
    return admitted


def check_windows(admitted: list[tuple[int, int]], rate: int, burst: int) -> None:
    """Checks every window that ends with an admitted request: before it, less than the burst and the inflow
    of the window were taken."""
    for first in range(len(admitted)):
        taken = 0
        for now, cost in admitted[first:]:
            assert taken * UNIT < burst * UNIT + rate * (now - admitted[first][0])
            taken += cost


@given(load=loads, rate=st.integers(1, 10), burst_s=st.integers(1, 5))
def test_i1_a_resource_never_exceeds_its_rate_and_its_burst(
    load: list[tuple[int, int, int]], rate: int, burst_s: int
) -> None:
    """I1: at most rate x T + burst x rate + one request, where no debt is forgiven."""
    config = replace(profile("aws"), burst_s=burst_s, max_debt_s=None)
    admitted = run(table(config=config, write_units=rate), load)
    check_windows([(now, cost) for now, _, cost in admitted], rate, rate * burst_s)


@given(load=loads, cap=st.integers(1, 30), count=st.integers(1, 5))
def test_i2_a_partition_never_exceeds_its_cap(load: list[tuple[int, int, int]], cap: int, count: int) -> None:
    """I2: at most cap x T + one second + one request, whatever is saved."""
    config = replace(profile("aws").with_partition_caps(cap, cap), max_debt_s=None)
    resource = table(config=config, write_units=1000, partitions=count)
    admitted = run(resource, load)
    for part in resource.partitions.partitions:
        check_windows([(now, cost) for now, where, cost in admitted if part.holds(where)], cap, cap)


changes = st.lists(
    st.one_of(
        st.tuples(st.just("rates"), st.integers(1, 20_000), st.integers(1, 8_000)),
        st.tuples(st.just("grow"), st.integers(0, len(KEYS) - 1), st.integers(0, 3000)),
        st.tuples(st.just("load"), st.integers(0, len(KEYS) - 1), st.integers(1, 400)),
        st.tuples(st.just("wait"), st.integers(0, 2000), st.just(0)),
        st.tuples(st.just("on-demand"), st.just(0), st.just(0)),
        st.tuples(st.just("restart"), st.just(0), st.just(0)),
        st.tuples(st.just("partitions"), st.integers(1, 12), st.just(0)),
    ),
    max_size=25,
)

SMALL = replace(
    profile("aws").with_partition_caps(30, 10),
    partition_bytes_max=1000,
    hot_for_s=20,
    heat_cooldown_s=30,
    split_heat_s=25,
)


@given(steps=changes)
def test_i3_partitions_tile_the_key_space(steps: list[tuple[str, int, int]]) -> None:
    """I3: no gap, no overlap, sums kept, ids never reused, counts never fall; over raises, growth, heat,
    changes of mode and restarts."""
    resource = table(config=SMALL, read_units=10, write_units=10)
    now = START
    total_bytes = total_items = 0
    seen_ids: dict[str, bytes] = {}
    retired: set[str] = set()
    count = 1
    for kind, a, b in steps:
        if kind == "rates":
            resource.set_provisioned(a, b, now)
        elif kind == "on-demand":
            resource.set_on_demand(now)
        elif kind == "partitions":
            resource.set_partitions(a, now)
        elif kind == "grow":
            part = resource.partitions.find(KEYS[a])
            part.bytes += b
            part.items += b // 10
            total_bytes += b
            total_items += b // 10
        elif kind == "load":
            run_at(resource, KEYS[a], b, now)
        elif kind == "restart":
            again = settings_of(resource)
            resource = table(config=SMALL, stored=resource.to_json(), **again)
        else:
            now += a * SECOND_NS
        for event in resource.advance(now):
            if type(event).__name__ == "SplitDue":
                full = resource.partitions.by_id(event.partition)  # type: ignore[union-attr]
                if full is not None:
                    resource.split_by_size(full.id, EvenSizes(full), now)
        parts = resource.partitions.partitions
        assert parts[0].low == b"" and parts[-1].high is None
        assert all(left.high == right.low for left, right in pairwise(parts))
        assert resource.partitions.lows == [part.low for part in parts] == resource.writes.lows
        assert [bucket.partition for bucket in resource.writes.buckets] == parts
        assert sum(part.bytes for part in parts) == total_bytes
        assert sum(part.items for part in parts) == total_items
        assert len(parts) >= count
        count = len(parts)
        present = {part.id for part in parts}
        retired |= seen_ids.keys() - present
        assert not present & retired
        for part in parts:
            assert seen_ids.setdefault(part.id, part.low) == part.low
        for key in KEYS:
            assert resource.partitions.find(key).holds(key)


def run_at(resource: Resource, where: bytes, requests: int, now: int) -> None:
    """Returns the requests at one moment and one key."""
    for _ in range(requests):
        bucket = resource.writes.admit(where, now)
        if bucket is None:
            resource.writes.refuse(where, now)
        else:
            resource.writes.take(bucket, where, 2, now)


def settings_of(resource: Resource) -> dict[str, Any]:
    return {
        "read_units": resource.read_units,
        "write_units": resource.write_units,
        "on_demand": resource.on_demand,
    }


@given(load=loads, rate=st.integers(1, 10))
def test_i4_a_refused_request_takes_nothing(load: list[tuple[int, int, int]], rate: int) -> None:
    """I4: neither a balance nor a consumed metric changes, in the table or in the index that admitted it."""
    base = table(write_units=100)
    index = Resource(INDEX, "Index", profile("pessimistic"), START, write_units=rate)
    for now, where, cost in moments(load):
        charges = [Charge(base.writes, where, cost * 2), Charge(index.writes, where, cost * 2)]
        before = (balances(base, now), balances(index, now), tallies(base), tallies(index))
        if admit(charges, now) is None:
            take_all(charges, now)
        else:
            assert (balances(base, now), balances(index, now), tallies(base), tallies(index)) == before


def balances(resource: Resource, now: int) -> list[int]:
    burst = resource.writes.table_bucket
    assert burst is not None
    return [burst.balance(now), *(bucket.balance(now) for bucket in resource.writes.buckets)]


def tallies(resource: Resource) -> list[Any]:
    return [
        dict(resource.writes.tally),
        *((bucket.spent, bucket.charged) for bucket in resource.writes.buckets),
    ]


@given(load=loads, days=st.integers(0, 400), name=st.sampled_from(["aws", "documented", "classic-2017"]))
def test_i5_equal_times_give_equal_decisions(load: list[tuple[int, int, int]], days: int, name: str) -> None:
    """I5: the same trace gives the same decisions, events and state; moving it by whole days changes
    nothing but the dates."""

    def outcome(shift: int) -> tuple[list[tuple[int, bytes, int]], str]:
        config = profile(name).with_partition_caps(30, 10)
        resource = Resource(TABLE, "Table", config, START + shift, write_units=20, partitions=2)
        admitted = []
        for now, where, cost in moments(load):
            resource.advance(now + shift)
            bucket = resource.writes.admit(where, now + shift)
            if bucket is not None:
                resource.writes.take(bucket, where, cost * 2, now + shift)
                admitted.append((now, where, cost))
        shown = describe(resource, START + shift + 600 * SECOND_NS)
        for part in shown["partitions"]:
            part["born_ns"] -= shift
        return admitted, repr(shown)

    assert outcome(0) == outcome(0)
    assert outcome(0) == outcome(days * 86_400 * SECOND_NS)


@given(load=loads, indexed=st.lists(st.booleans(), min_size=60, max_size=60))
def test_i6_index_units_stay_with_the_index(load: list[tuple[int, int, int]], indexed: list[bool]) -> None:
    """I6: what a global index is charged never shows in its table's consumption. (A local index has no
    limiter of its own: its units are charged to the table's.)"""
    registry = ResourceRegistry(profile("off"), START)
    base = registry.add("T", None, TABLE, START, write_units=10)
    index = registry.add("T", "g1", INDEX, START, write_units=10)
    of_table = of_index = 0
    for (_, _, cost), touched in zip(load, indexed, strict=False):
        base.writes.tally[cost * 2] += 1
        of_table += cost
        if touched:
            index.writes.tally[2] += 1
            of_index += 1
    registry.advance(START + MINUTE_NS)

    def consumed(name: str | None) -> float:
        which = dimensions(TableName="T", GlobalSecondaryIndexName=name)
        points = registry.metrics.get("ConsumedWriteCapacityUnits", which, START, START + MINUTE_NS, 60)
        return points[0][1].sum

    assert (consumed(None), consumed("g1")) == (of_table, of_index)


equal_loads = st.tuples(
    st.lists(st.tuples(gaps, st.integers(0, len(KEYS) - 1)), min_size=1, max_size=60), st.integers(1, 5)
)


@given(
    load=equal_loads,
    rate=st.integers(1, 8),
    burst_s=st.integers(1, 5),
    cap=st.integers(1, 8),
    more=st.tuples(st.integers(0, 8), st.integers(0, 5), st.integers(0, 8)),
)
def test_i7_more_capacity_never_throttles_more(
    load: tuple[list[tuple[int, int]], int], rate: int, burst_s: int, cap: int, more: tuple[int, int, int]
) -> None:
    """I7: for requests of equal cost in one partition, a higher rate, burst or cap rejects no more."""
    requests, cost = load
    costed = [(gap, key, cost) for gap, key in requests]

    def refused(config: CapacityConfig, units: int) -> int:
        return len(costed) - len(run(table(config=config, write_units=units, partitions=1), costed))

    def config(burst: int, limit: int) -> CapacityConfig:
        settings = replace(profile("documented"), burst_s=burst, initial_burst_s=burst, heat_split=False)
        return settings.with_partition_caps(limit, limit)

    before = refused(config(burst_s, cap), rate)
    assert refused(config(burst_s + more[1], cap + more[2]), rate + more[0]) <= before


@given(load=loads, cap=st.integers(1, 20), rate=st.integers(1, 20))
def test_i8_causes_add_up_to_throttle_events(load: list[tuple[int, int, int]], cap: int, rate: int) -> None:
    """I8: the sum of the events by reason is WriteThrottleEvents and the number of rejections."""
    registry = ResourceRegistry(profile("pessimistic").with_partition_caps(cap, cap), START)
    resource = registry.add("T", None, TABLE, START, write_units=rate, partitions=3)
    refused = len(load) - len(run(resource, load))
    end = START + 3600 * SECOND_NS
    registry.advance(end)
    which = dimensions(TableName="T")

    def total(name: str) -> float:
        points = registry.metrics.get(name, which, START, end, 3600)
        return points[0][1].sum if points else 0

    causes = ("ProvisionedThroughput", "KeyRangeThroughput", "AccountLimit", "MaxOnDemandThroughput")
    assert sum(total(f"Write{cause}ThrottleEvents") for cause in causes) == refused
    assert total("WriteThrottleEvents") == refused
