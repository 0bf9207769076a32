"""Charges made on credit and booked later are, to the nano-unit, charges made one at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from faradisc.capacity import admission
from faradisc.capacity.admission import CREDIT_MAX, Charge, Lane, admit, settle
from faradisc.capacity.config import SECOND_NS, UNIT, profile
from faradisc.capacity.inspect import describe
from faradisc.capacity.partitions import Cell
from faradisc.capacity.resource import Resource

BORN_NS = 1_700_000_000 * SECOND_NS
PROFILES = ["aws", "documented", "pessimistic", "classic-2017"]
PLACES = [bytes([number]) * 16 + b"key" for number in (0, 1, 90, 130, 200, 255)]

STEPS = 1500


@dataclass(frozen=True)
class Step:
    """Something that is done to a resource, so long after the step before; what it returns is compared."""

    what: str
    pause_ns: int
    arguments: tuple[Any, ...] = ()


class Script:
    """Long stretches of charges, quick or slow, small or large, and now and then something else."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._stretch()

    def _stretch(self) -> None:
        """The charges until the next other thing: how fast they come, and what they cost at most."""
        chance = self._chance
        self._pause_ns = chance.choice([1000, 10**6, 5 * 10**6, 2 * 10**7, 10**8, 10**9])
        self._cost = chance.choice([1, 2, 8, 8, 60])
        self._places = chance.choice([PLACES[:1], PLACES[:2], PLACES])
        self._writes = chance.choice([(True,), (False,), (True, False)])

    def __iter__(self) -> Iterator[Step]:
        for _ in range(STEPS):
            yield self._charge() if self._chance.random() < 0.95 else self._other()
        yield Step("look", 0)

    def _charge(self) -> Step:
        chance = self._chance
        arguments = (
            chance.choice(self._writes),
            chance.choice(self._places),
            chance.randint(1, self._cost),
            chance.random() < 0.5,
        )
        return Step("charge", chance.randint(0, self._pause_ns), arguments)

    def _other(self) -> Step:
        chance = self._chance
        self._stretch()
        pause_ns = chance.choice([0, 1000, SECOND_NS, 5 * SECOND_NS, 90 * SECOND_NS])
        place, second = chance.choice(PLACES), chance.choice(PLACES)
        return chance.choice(
            [
                Step("together", pause_ns, (place, second, chance.randint(1, 100))),
                Step("together", pause_ns, (place, place, 1)),
                Step("provision", pause_ns, (chance.randint(1, 300), chance.randint(1, 300))),
                Step("rise", pause_ns),
                Step("demand", pause_ns),
                Step("limit", pause_ns, (chance.randint(1, 500),)),
                Step("cut", pause_ns, (chance.randint(1, 4),)),
                Step("force", pause_ns, (chance.choice([0, 1, 20, 9999]), chance.choice([0, 1, 5, 9999]))),
                Step("page", pause_ns, (place,)),
                Step("end_page", pause_ns, (chance.randint(1, 40),)),
                Step("wait", pause_ns),
                Step("look", pause_ns),
            ]
        )


class World:
    """One resource, and what was done to it."""

    def __init__(self, name: str, partitions: int) -> None:
        config = profile(name).with_partition_caps(60, 20)
        self.now = BORN_NS
        self.reading: tuple[bytes, int] | None = None
        """Where a page reads that was admitted, and since when."""
        self.resource = Resource(
            "arn", "Table", config, self.now, read_units=200, write_units=60, partitions=partitions
        )

    def take(self, step: Step) -> object:
        self.now += step.pause_ns
        events = self.resource.advance(self.now) if self.now >= self.resource.due else []
        doing: Callable[..., object] = getattr(self, step.what)
        return [repr(event) for event in events], doing(*step.arguments)

    def lane(self, writes: bool) -> Lane:
        return self.resource.writes if writes else self.resource.reads

    def charge(self, writes: bool, place: bytes, cost: int, eventual: bool) -> object:
        lane = self.lane(writes)
        admitted = lane.charge(place, cost, self.now, eventual and not writes)
        return admitted or lane.refuse(place, self.now)

    def together(self, first: bytes, second: bytes, cost: int) -> object:
        """What a transaction or a page does: everything asked, then everything taken."""
        charges = [Charge(self.resource.reads, first, cost, True), Charge(self.resource.writes, second, cost)]
        refused = admit(charges, self.now)
        if refused is None:
            settle(charges, self.now)
        return refused

    def provision(self, read_units: int, write_units: int) -> object:
        return repr(self.resource.set_provisioned(read_units, write_units, self.now))

    def rise(self) -> object:
        """Partitions split, after a while."""
        if self.resource.on_demand or len(self.resource.partitions) > 40:
            return None
        read_units, write_units = self.resource.highest
        return repr(self.resource.set_provisioned(read_units * 2, write_units, self.now))

    def demand(self) -> object:
        return repr(self.resource.set_on_demand(self.now))

    def limit(self, most: int) -> None:
        if self.resource.on_demand:
            self.resource.set_maximum(most, most, self.now)

    def cut(self, partitions: int) -> object:
        return repr(self.resource.set_partitions(partitions, self.now))

    def force(self, of_table: int, of_partitions: int) -> None:
        for lane in self.resource.lanes:
            if lane.bucket is not None:
                lane.bucket.set_balance(self.now, of_table * UNIT)
            for cell in lane.cells:
                cell.set_balance(self.now, of_partitions * UNIT)

    def page(self, place: bytes) -> object:
        """It is admitted, and then it is read, while others are charged."""
        cell = self.resource.reads.admit(place, self.now)
        self.reading = None if cell is None else (place, self.now)
        return cell is not None

    def end_page(self, cost: int) -> None:
        if self.reading is not None:
            place, began = self.reading
            settle([Charge(self.resource.reads, place, cost)], began)
            self.reading = None

    def look(self) -> object:
        lanes = [(dict(lane.tally), dict(lane.events), _levels(lane.bucket)) for lane in self.resource.lanes]
        cells = [_cell(cell) for lane in self.resource.lanes for cell in lane.cells]
        return describe(self.resource, self.now), lanes, cells, self.resource.unpublished(0)

    def wait(self) -> None:
        """Only time passes."""


def _levels(bucket: Any) -> object:
    return None if bucket is None else (bucket.rate, bucket.used, bucket.cap)


def _cell(cell: Cell) -> object:
    watch = cell.watch
    heavy = None if watch is None else [(each.key, each.weight, each.sure) for each in watch.keys.top()]
    return _levels(cell), cell.spent, cell.charged, cell.heat, cell.throttled, heavy


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", PROFILES)
def test_credit_changes_nothing_that_can_be_seen(name: str, seed: int) -> None:
    partitions = 1 + seed % 3
    with_credit, without = World(name, partitions), World(name, partitions)
    for number, step in enumerate(Script(seed)):
        seen = with_credit.take(step)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission, "CREDIT_MAX", 0)
            assert seen == without.take(step), (number, step)


def test_credit_is_given_and_charges_wait() -> None:
    """The test above would say nothing if everything were booked at once."""
    world = World("documented", 1)
    world.now += 300 * SECOND_NS
    lane = world.resource.reads
    assert all(lane.charge(PLACES[0], 2, world.now, False) for _ in range(20))
    assert lane.counts[2] < 20
    assert lane.tally[2] == 20


def test_no_more_charges_wait_than_there_is_credit() -> None:
    resource = Resource("arn", "Table", profile("aws").with_partition_caps(10**6, 10**6), BORN_NS)
    resource.set_on_demand(BORN_NS)
    lane = resource.writes
    lane.quotas, lane.guarded = (), False
    waited = 0
    for number in range(5000):
        assert lane.charge(PLACES[0], 1, BORN_NS + number, False)
        waited = max(waited, number + 1 - lane.counts[1])
    assert 0 < waited <= CREDIT_MAX


def test_a_balance_of_nothing_refuses_although_charges_wait() -> None:
    world = World("documented", 1)
    world.force(2, 9999)
    lane = world.resource.reads
    assert lane.charge(PLACES[0], 1, world.now, False)
    assert lane.charge(PLACES[0], 3, world.now, False)
    assert lane.counts == {1: 1}
    assert lane.admit(PLACES[0], world.now) is None
