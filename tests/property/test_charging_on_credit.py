"""Charges made on credit equal, to the nano-unit, single charges at the begin of their tick."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from faradisc.capacity.admission import TICK_NS, Charge, Limiter, admit, take_all
from faradisc.capacity.config import SECOND_NS, UNIT, profile
from faradisc.capacity.inspect import describe
from faradisc.capacity.partitions import PartitionBucket
from faradisc.capacity.resource import Resource

BORN_NS = 1_700_000_000 * SECOND_NS
PROFILES = ["aws", "documented", "pessimistic", "classic-2017"]
PLACES = [bytes([number]) * 16 + b"key" for number in (0, 1, 90, 130, 200, 255)]

STEPS = 1500


@dataclass(frozen=True)
class Step:
    """An operation on a resource, and the time since the step before; its results are compared."""

    what: str
    pause_ns: int
    arguments: tuple[Any, ...] = ()


class Script:
    """Draws long sequences of charges, fast or slow, small or large, with other operations between them."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._sequence()

    def _sequence(self) -> None:
        """Draws the charges until the next other operation: their rate and highest cost."""
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
        self._sequence()
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
    """One resource, and the log of its operations."""

    def __init__(self, name: str, partitions: int) -> None:
        config = profile(name).with_partition_caps(60, 20)
        self.now = BORN_NS
        self.reading: tuple[bytes, int] | None = None
        """Where a page reads that was admitted, and since when."""
        self.charged_at: int | None = None
        """When the last charge was made, as far as balances know; to be set for a world without credit."""
        self.resource = Resource(
            "arn", "Table", config, self.now, read_units=200, write_units=60, partitions=partitions
        )

    def take(self, step: Step) -> object:
        self.now += step.pause_ns
        events = self.resource.advance(self.now) if self.now >= self.resource.due else []
        doing: Callable[..., object] = getattr(self, step.what)
        return [repr(event) for event in events], doing(*step.arguments)

    def limiter(self, writes: bool) -> Limiter:
        return self.resource.writes if writes else self.resource.reads

    def charge(self, writes: bool, place: bytes, cost: int, eventual: bool) -> object:
        """Charges with credit, and sets `charged_at` to the time of the charge."""
        limiter, eventual = self.limiter(writes), eventual and not writes
        admitted = limiter.spend(place, cost, self.now, eventual) or limiter.charge(
            place, cost, self.now, self.resource.due, eventual
        )
        self.charged_at = limiter._tick_began if limiter._tick_ends else self.now
        return admitted or limiter.refuse(place, self.now)

    def together(self, first: bytes, second: bytes, cost: int) -> object:
        """Charges as a transaction or a page does: first checks all units, then takes them."""
        charges = [Charge(self.resource.reads, first, cost, True), Charge(self.resource.writes, second, cost)]
        refused = admit(charges, self.now)
        if refused is None:
            take_all(charges, self.now)
        return refused

    def provision(self, read_units: int, write_units: int) -> object:
        return repr(self.resource.set_provisioned(read_units, write_units, self.now))

    def rise(self) -> object:
        """Raises the throughput, so that partitions split after a while."""
        if self.resource.on_demand or len(self.resource.partitions) > 40:
            return None
        read_units, write_units = self.resource.state.highest
        return repr(self.resource.set_provisioned(read_units * 2, write_units, self.now))

    def demand(self) -> object:
        return repr(self.resource.set_on_demand(self.now))

    def limit(self, most: int) -> None:
        if self.resource.on_demand:
            self.resource.set_maximum(most, most, self.now)

    def cut(self, partitions: int) -> object:
        return repr(self.resource.set_partitions(partitions, self.now))

    def force(self, of_table: int, of_partitions: int) -> None:
        for limiter in self.resource.limiters:
            if limiter.table_bucket is not None:
                limiter.table_bucket.set_balance(self.now, of_table * UNIT)
            for bucket in limiter.buckets:
                bucket.set_balance(self.now, of_partitions * UNIT)

    def page(self, place: bytes) -> object:
        """Admits a page and reads it while others are charged."""
        bucket = self.resource.reads.admit(place, self.now)
        self.reading = None if bucket is None else (place, self.now)
        return bucket is not None

    def end_page(self, cost: int) -> None:
        if self.reading is not None:
            place, began = self.reading
            take_all([Charge(self.resource.reads, place, cost)], began)
            self.reading = None

    def look(self) -> object:
        limiters = [
            (dict(limiter.tally), dict(limiter.events), _levels(limiter.table_bucket))
            for limiter in self.resource.limiters
        ]
        buckets = [_bucket(bucket) for limiter in self.resource.limiters for bucket in limiter.buckets]
        return describe(self.resource, self.now), limiters, buckets, self.resource.unpublished(0)

    def wait(self) -> None:
        """Lets time pass."""


def _levels(bucket: Any) -> object:
    return None if bucket is None else (bucket.rate, bucket.used, bucket.cap)


def _bucket(bucket: PartitionBucket) -> object:
    watch = bucket.watch
    top = [] if watch is None else watch.keys.top()
    heavy = None if watch is None else [(each.key, each.weight, each.least_weight) for each in top]
    return _levels(bucket), bucket.spent, bucket.charged, bucket.heat, bucket.throttled, heavy


class WorldOfTheMoment(World):
    """A world whose charges are made one at a time, at `charged_at`."""

    def charge(self, writes: bool, place: bytes, cost: int, eventual: bool) -> object:
        assert self.charged_at is not None
        limiter = self.limiter(writes)
        bucket = limiter.admit(place, self.charged_at)
        if bucket is None:
            return limiter.refuse(place, self.charged_at)
        limiter.take(bucket, place, cost, self.charged_at, eventual and not writes)
        return True


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 24))]
)
@pytest.mark.parametrize("name", PROFILES)
def test_credit_changes_nothing_that_can_be_seen(name: str, seed: int) -> None:
    partitions = 1 + seed % 3
    with_credit, without = World(name, partitions), WorldOfTheMoment(name, partitions)
    for number, step in enumerate(Script(seed)):
        seen = with_credit.take(step)
        without.charged_at = with_credit.charged_at
        assert seen == without.take(step), (number, step)


@pytest.mark.parametrize("name", PROFILES)
def test_no_tick_is_longer_than_it_may_be(name: str) -> None:
    world, due, latest = World(name, 2), 0, 0
    for step in Script(1):
        world.take(step)
        if step.what == "charge":
            assert world.charged_at is not None
            assert world.now - TICK_NS < world.charged_at <= world.now
            assert world.charged_at >= due, "what was charged belongs to the time since the last step"
            latest = max(latest, world.now - world.charged_at)
        due = max(due, world.resource.due - SECOND_NS if world.resource.due <= world.now else due)
    assert latest or name == "classic-2017"


def test_credit_is_given_and_charges_wait() -> None:
    """The test above proves something only if charges wait."""
    world = rich()
    limiter = world.resource.reads
    assert limiter.charge(PLACES[0], 2, world.now, world.resource.due)
    assert all(limiter.spend(PLACES[0], 2, world.now + number, False) for number in range(20))
    assert limiter.counts[2] == 1
    assert limiter.tally[2] == 21
    assert not limiter.spend(PLACES[0], 2, world.now, False), "the look has ended the tick"


def rich() -> World:
    """Returns a resource with five minutes of burst capacity."""
    world = World("documented", 1)
    world.now += 300 * SECOND_NS
    world.resource.advance(world.now)
    return world


def test_a_tick_ends_when_its_owner_is_due() -> None:
    world = rich()
    limiter = world.resource.reads
    assert limiter.charge(PLACES[0], 2, world.now, world.now + 1000)
    assert limiter.spend(PLACES[0], 2, world.now + 999)
    assert not limiter.spend(PLACES[0], 2, world.now + 1000)


def test_every_bucket_is_given_credit_in_every_tick() -> None:
    world = World("documented", 2)
    world.force(9999, 9999)
    limiter = world.resource.reads
    for tick in range(3):
        world.now += TICK_NS
        booked = limiter.tally[1]
        assert booked == tick * 3
        for place in (PLACES[0], PLACES[-1]):
            assert limiter.charge(place, 1, world.now, world.resource.due)
        assert limiter.spend(PLACES[-1], 1, world.now)
        assert limiter.counts[1] == booked + 1, "only what began the tick was charged by balances"


def test_the_table_s_burst_is_given_once() -> None:
    """Two partitions with enough burst capacity cannot both spend the table's."""
    world = World("documented", 2)
    world.force(4, 9999)
    limiter = world.resource.reads
    first, second = PLACES[0], PLACES[-1]
    assert limiter.bucket_of(first) is not limiter.bucket_of(second)
    assert limiter.charge(first, 1, world.now, world.resource.due)
    assert all(limiter.spend(first, 1, world.now) for _ in range(6))
    admitted = 0
    while limiter.spend(second, 1, world.now) or limiter.charge(second, 1, world.now, world.resource.due):
        admitted += 1
    assert admitted == 1
    assert limiter.tally == {1: 8}


def test_a_balance_of_nothing_refuses_although_charges_wait() -> None:
    world = World("documented", 1)
    world.force(2, 9999)
    limiter = world.resource.reads
    assert limiter.charge(PLACES[0], 1, world.now, world.resource.due)
    assert limiter.spend(PLACES[0], 3, world.now, False)
    assert limiter.counts == {1: 1}
    assert limiter.admit(PLACES[0], world.now) is None
