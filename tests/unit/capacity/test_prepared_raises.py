"""UPDATING lasts until the partitions of a raise are ready (capacity.md section 2.12).

The owner of a resource calls `ready_for` and `prepare`, and sets the units when they are ready."""

from __future__ import annotations

from random import Random

import pytest

from faradisc.capacity.config import GIB, SECOND_NS, UNIT, profile
from faradisc.capacity.events import Split, SplitDue, SplitStarted
from faradisc.capacity.resource import Resource
from faradisc.capacity.topology import EvenSizes, hash_bounds, plan_for
from unit.capacity.worlds import START, table

MINUTE = 60 * SECOND_NS
FAST, SLOW = (8000, 2000), (16_000, 4000)
"""They need 5 and 10 partitions: 4 of 5,000/2,000 are doubled to 8 and to 16."""


def reasons(resource: Resource) -> list[str]:
    return [split["reason"] for split in resource.splitting.log if split["event"] == "Split"]


def test_a_raise_is_prepared_before_it_is_made() -> None:
    resource = table(read_units=5000, write_units=2000)
    assert resource.ready_for(*FAST, START) == START + MINUTE
    assert [type(event) for event in resource.prepare(*FAST, START)] == [SplitStarted] * 4
    assert resource.ready_for(*FAST, START + SECOND_NS) == START + MINUTE
    assert [type(event) for event in resource.advance(START + MINUTE)][:4] == [Split] * 4
    assert len(resource.partitions) == 8
    shown = (resource.read_units, resource.warm.read_units)
    assert shown == (5000, 5000), "only the partitions are ready ahead"
    assert resource.set_provisioned(*FAST, START + MINUTE) == []
    assert (resource.read_units, resource.warm.read_units) == (8000, 8000)
    assert len(resource.advance(START + 3 * MINUTE)) == 0


@pytest.mark.parametrize("units", [(5000, 2000), (5001, 2000), (1, 1), (1, 2300)])
def test_what_needs_no_doubling_is_ready(units: tuple[int, int]) -> None:
    resource = table(read_units=5000, write_units=2000)
    assert resource.ready_for(*units, START) == START
    assert resource.prepare(*units, START) == []


def test_where_nothing_is_enforced_a_raise_splits_when_it_is_made() -> None:
    resource = table("off", read_units=5000, write_units=2000)
    assert (resource.ready_for(*FAST, START), resource.prepare(*FAST, START)) == (START, [])
    assert len(resource.set_provisioned(*FAST, START)) == 4


def test_units_that_partitions_were_made_for_once_are_ready() -> None:
    resource = table(read_units=5000, write_units=2000)
    for units in (FAST, (1, 1)):
        resource.prepare(*units, START)
        resource.advance(START + MINUTE)
        resource.set_provisioned(*units, START + MINUTE)
    assert resource.ready_for(*FAST, START + 2 * MINUTE) == START + 2 * MINUTE
    assert resource.prepare(*FAST, START + 2 * MINUTE) == []


def test_what_is_in_the_way_ends_first() -> None:
    """A split by size ends in half a minute. The splits of the raise begin at its end, even if `advance` is
    called later."""
    resource = table(read_units=5000, write_units=2000)
    full = resource.partitions.partitions[0]
    full.bytes, full.items = 11 * GIB, 1000
    resource.split_by_size(full.id, EvenSizes(full), START)
    asked = START + 33 * SECOND_NS
    resource.advance(asked)
    assert resource.ready_for(*SLOW, asked) == START + 2 * MINUTE
    assert resource.prepare(*SLOW, asked) == []
    assert resource.ready_for(*SLOW, asked) == START + 2 * MINUTE
    begun = [event for event in resource.advance(START + 67 * SECOND_NS) if isinstance(event, SplitStarted)]
    assert {event.at_ns for event in begun} == {START + MINUTE} and len(begun) == 5
    resource.advance(START + 2 * MINUTE)
    assert len(resource.partitions) == 10
    assert resource.ready_for(*SLOW, START + 2 * MINUTE) == START + 2 * MINUTE


def test_a_split_in_the_way_may_be_all_that_is_needed() -> None:
    resource = table(write_units=4000)
    full = resource.partitions.partitions[0]
    full.bytes, full.items = 11 * GIB, 1000
    resource.split_by_size(full.id, EvenSizes(full), START)
    assert resource.ready_for(1, 4500, START) == START + MINUTE
    assert resource.prepare(1, 4500, START) == []
    resource.advance(START + MINUTE)
    assert resource.ready_for(1, 4500, START + MINUTE) == START + MINUTE
    assert (len(resource.partitions), resource.splitting.pending) == (5, [])


def test_nothing_new_gets_in_the_way() -> None:
    """While a raise waits for a split for heat, others that become due wait for the raise: it was said when
    its partitions would be there."""
    resource = table(read_units=5000, write_units=2000)
    first, hot, full, measured = resource.partitions.partitions
    low, high = hash_bounds(first)
    resource.splitting.start(first, [((low + high) // 2).to_bytes(16, "big")], "heat", START)
    ready = resource.ready_for(*SLOW, START)
    assert ready == START + 6 * MINUTE
    resource.prepare(*SLOW, START)
    hot.hot_s, hot.reads.heat = 600, 3000 * UNIT
    full.bytes, full.items = 45 * GIB, 1000
    measured.bytes, measured.items = 45 * GIB, 1000
    assert resource.split_by_size(measured.id, EvenSizes(measured), START) == []
    assert not [event for event in resource.advance(START + MINUTE) if isinstance(event, SplitDue)]
    resource.advance(ready)
    assert reasons(resource) == ["heat"] + ["raise"] * 5
    later = [event for minute in range(12) for event in resource.advance(ready + minute * MINUTE)]
    assert len({event.partition for event in later if isinstance(event, SplitDue)}) == 4, "halves still full"


def test_warm_throughput_is_there_with_its_partitions() -> None:
    resource = table(on_demand=True)
    started = resource.raise_warm(30_000, 10_000, START, SECOND_NS)
    assert [type(event) for event in started] == [SplitStarted] * 4
    resource.advance(START + MINUTE)
    assert len(resource.partitions) == 10
    assert resource.warm.describe()["Status"] == "UPDATING"
    resource.advance(START + MINUTE + SECOND_NS)
    assert resource.warm.describe()["WriteUnitsPerSecond"] == 10_000
    assert resource.capacity(START + 2 * MINUTE) == (30_000, 10_000)
    resource.advance(START + 10 * MINUTE)
    assert (len(resource.partitions), set(reasons(resource))) == (10, {"warm"})


def test_warm_throughput_that_needs_no_partitions_takes_no_longer_than_it_is_said_to() -> None:
    resource = table(on_demand=True)
    assert resource.raise_warm(12_000, 4_000, START, SECOND_NS) == []
    resource.advance(START + SECOND_NS)
    assert resource.warm.describe()["Status"] == "ACTIVE"


def test_warm_throughput_splits_at_its_end_where_nothing_is_enforced() -> None:
    resource = table("off", on_demand=True)
    assert resource.raise_warm(30_000, 10_000, START, SECOND_NS) == []
    assert resource.warm.ready_ns == START + SECOND_NS
    assert len([e for e in resource.advance(START + SECOND_NS) if isinstance(e, SplitStarted)]) == 4


def test_units_and_warm_throughput_in_one_request() -> None:
    """The raise doubles, then warm throughput splits what is there; each is ready when it was said to be."""
    resource = table(read_units=5000, write_units=2000)
    ready = resource.ready_for(*FAST, START)
    resource.prepare(*FAST, START)
    resource.raise_warm(30_000, 10_000, START, 0)
    assert (ready, resource.warm.ready_ns) == (START + MINUTE, START + 2 * MINUTE)
    resource.advance(ready)
    resource.set_provisioned(*FAST, ready)
    assert len(resource.partitions) == 8
    resource.advance(START + 2 * MINUTE)
    assert (len(resource.partitions), resource.warm.read_units) == (10, 30_000)


@pytest.mark.parametrize("after_s", [0, 30, 90])
def test_a_restart_while_a_raise_waits_or_splits(after_s: int) -> None:
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(*FAST, START)
    ready = resource.ready_for(*SLOW, START)
    resource.prepare(*SLOW, START)
    assert ready == START + 2 * MINUTE
    resource.advance(START + after_s * SECOND_NS)
    revived = table(read_units=8000, write_units=2000, stored=resource.to_json())
    revived.advance(ready)
    assert len(revived.partitions) == 16
    assert revived.set_provisioned(*SLOW, ready) == []


def test_a_restart_that_has_forgotten_the_raise() -> None:
    """What was stored is from before it: the splits begin when the units are set."""
    stored = table(read_units=5000, write_units=2000).to_json()
    revived = table(read_units=5000, write_units=2000, stored=stored)
    assert len(revived.set_provisioned(*FAST, START + MINUTE)) == 4


def test_a_row_of_an_earlier_version() -> None:
    """It did not say what the running splits are waited for by."""
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(*FAST, START)
    stored = resource.to_json()
    del stored["wanted"], stored["peaks"]
    stored["growth"] = [{"initial": 0, "previous": 0, "waiting": []}] * 2
    revived = table(read_units=16_000, write_units=4000, stored=stored)
    revived.advance(START + 2 * MINUTE)
    assert len(revived.partitions) == 16


def test_splits_that_are_hurried() -> None:
    """The lever for partitions: what the raise waits for ends now, and what it began too."""
    resource = table(read_units=5000, write_units=2000)
    resource.set_provisioned(*FAST, START)
    resource.prepare(*SLOW, START)
    resource.set_partitions(17, START + SECOND_NS)
    assert len(resource.partitions) == 17
    assert resource.ready_for(*SLOW, START + SECOND_NS) == START + SECOND_NS
    assert resource.set_provisioned(*SLOW, START + 2 * MINUTE) == []
    resource.advance(START + 10 * MINUTE)
    assert len(resource.partitions) == 17


@pytest.mark.parametrize("seed", range(40))
def test_it_is_ready_when_it_was_said_to_be(seed: int) -> None:
    """Raises and warm throughput are ready at the announced time, whatever splits are under way."""
    random = Random(seed)
    config = profile("aws").with_partition_caps(30, 10)
    read, write = random.randrange(1, 100), random.randrange(1, 60)
    resource = table(config=config, read_units=read, write_units=write)
    now = START
    for _ in range(6):
        now += random.randrange(90 * SECOND_NS)
        resource.advance(now)
        part = random.choice(resource.partitions.partitions)
        if part.state == "active" and not resource.splitting.promised:
            low, high = hash_bounds(part)
            if high - low > 4:
                reason = random.choice(("heat", "size"))
                resource.splitting.start(part, [((low + high) // 2).to_bytes(16, "big")], reason, now)
        if random.randrange(3) == 0:
            resource.raise_warm(
                *(max(units) for units in zip(resource.warm.promised, (40_000, 9_000), strict=True)), now, 0
            )
            continue
        read, write = read + random.randrange(60), write + random.randrange(30)
        ready = resource.ready_for(read, write, now)
        resource.prepare(read, write, now)
        if ready > now:
            resource.advance(ready - 1)
            assert plan_for("raise", resource.partitions, (read, write), config), "no sooner"
        resource.advance(ready)
        assert not plan_for("raise", resource.partitions, (read, write), config), "and no later"
        resource.set_provisioned(read, write, ready)
        now = ready
