"""A resource over time: warm throughput, growth, raises during splits, restarts, idle years."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from faradisc.capacity.config import DAY_NS, MINUTE_NS, SECOND_NS, UNIT, profile
from faradisc.capacity.events import Split, SplitStarted, to_json
from faradisc.capacity.inspect import describe
from unit.capacity.worlds import START, place, table, write


def test_warm_throughput_is_raised_in_the_background() -> None:
    """Section 2.8, M2: the table stays ACTIVE, the status is UPDATING until there are more partitions."""
    resource = table(on_demand=True)
    resource.raise_warm(30_000, 10_000, START, 330 * SECOND_NS)
    assert resource.warm.describe()["Status"] == "UPDATING"
    assert resource.warm.describe()["WriteUnitsPerSecond"] == 4_000
    resource.advance(START + 389 * SECOND_NS)
    assert resource.warm.describe()["Status"] == "UPDATING"
    resource.advance(START + 390 * SECOND_NS)
    assert resource.warm.describe() == {
        "ReadUnitsPerSecond": 30_000,
        "WriteUnitsPerSecond": 10_000,
        "Status": "ACTIVE",
    }
    assert len(resource.partitions) == 10
    with pytest.raises(ValueError, match="never lowered"):
        resource.raise_warm(1, 1, START, 0)


def test_warm_throughput_of_a_provisioned_table_is_its_highest_rate() -> None:
    """Section 2.8, M2: 1/1, then 3/3, and it stays after a decrease; 12,000/4,000 after on demand."""
    resource = table(read_units=1, write_units=1)
    shown = [resource.warm.describe()["ReadUnitsPerSecond"]]
    for units in (3, 1):
        resource.set_provisioned(units, units, START)
        shown.append(resource.warm.describe()["ReadUnitsPerSecond"])
    resource.set_on_demand(START)
    resource.set_provisioned(1, 1, START)
    shown.append(resource.warm.describe()["WriteUnitsPerSecond"])
    assert shown == [1, 3, 3, 4000]


def test_a_raise_during_a_split_is_done_afterwards() -> None:
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(8000, 2000, START)
    assert resource.set_provisioned(16_000, 4000, START + SECOND_NS) == []
    resource.advance(START + 10 * MINUTE_NS)
    assert len(resource.partitions) == 16


def test_a_raise_during_a_split_survives_a_restart() -> None:
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(8000, 2000, START)
    resource.set_provisioned(16_000, 4000, START + SECOND_NS)
    revived = table(read_units=16_000, write_units=4000, stored=resource.to_json())
    revived.advance(START + 10 * MINUTE_NS)
    assert len(revived.partitions) == 16


def test_an_idle_year_costs_nothing() -> None:
    """Passing over an idle year takes no more steps than cooling down does."""
    resource = table(on_demand=True)
    assert write(resource, place("k"), START) is None
    steps = 0
    original = resource._step

    def counted(at: int) -> list[object]:
        nonlocal steps
        steps += 1
        return original(at)  # type: ignore[return-value]

    resource._step = counted  # type: ignore[method-assign, assignment]
    resource.advance(START + 365 * DAY_NS)
    assert steps < 400
    assert resource.due > START + 365 * DAY_NS


def test_administration() -> None:
    """Section 2.16: a partition count, a balance, a previous peak."""
    resource = table(on_demand=True)
    events = resource.set_partitions(7, START)
    assert {type(event) for event in events} == {SplitStarted, Split}
    assert len(resource.partitions) == 7
    assert resource.set_partitions(3, START) == [], "never fewer"
    resource.set_previous_peak(0, 9_000, START)
    assert resource.capacity(START) == (12_000, 18_000)
    resource.advance(START + 2 * MINUTE_NS)
    assert len(resource.partitions) == 18
    shown = describe(resource, START)
    assert [part["id"] for part in shown["partitions"]] == [p.id for p in resource.partitions.partitions]
    assert shown["capacity"] == [12_000, 18_000]
    assert [entry["event"] for entry in shown["splits"]][:2] == ["SplitStarted", "SplitStarted"]
    assert to_json(events[0])["reason"] == "admin"


def test_partitions_that_are_split_already_are_as_many_as_are_asked_for() -> None:
    """A raise has begun to split all of them; more are wanted at once."""
    resource = table(write_units=2000)
    resource.set_provisioned(1, 4000, START)
    assert {part.state for part in resource.partitions.partitions} == {"splitting"}
    assert resource.set_partitions(2, START + 1) == []
    resource.set_partitions(9, START + 1)
    assert [part.state for part in resource.partitions.partitions] == ["active"] * 9
    assert resource.advance(START + 2 * MINUTE_NS) == []
    assert len(resource.partitions) == 9


def test_growth_of_data_is_kept_where_it_lies() -> None:
    resource = table(write_units=3000, partitions=3)
    resource.grow(place("k"), 500, 1)
    resource.grow(place("k"), -200, 0)
    part = resource.partitions.find(place("k"))
    assert (part.bytes, part.items) == (300, 1)
    assert sum(other.bytes for other in resource.partitions.partitions) == 300


def test_service_takes_units_from_burst_balance() -> None:
    """Section 2.5.5: burst is nothing to depend on."""
    config = replace(profile("aws"), background_burst_percent=50)
    resource = table(config=config, write_units=10, chance=random.Random(3))
    bucket = resource.writes.table_bucket
    assert bucket is not None
    assert bucket.balance(START) == 3000 * UNIT
    resource.advance(START + MINUTE_NS)
    assert 1500 * UNIT <= bucket.balance(START + MINUTE_NS) < 3000 * UNIT


def test_a_maximum_is_cleared_by_provisioning() -> None:
    """Section 2.8, M1, M2; partial updates keep the other direction, which the caller passes again."""
    resource = table(on_demand=True)
    resource.set_maximum(17, None, START)
    assert resource.reads.maximum is not None and resource.writes.maximum is None
    resource.set_provisioned(5, 5, START)
    assert resource.state.max_read is None and resource.reads.maximum is None
    assert not resource.reads.guarded
