"""How operations use the core, as small stories over a table of numbers: what is asked, when, and what a
client gets. The database's own operations follow the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, admit, asks_index, spread, take_all
from faradisc.capacity.config import MINUTE_NS, SECOND_NS, UNIT, profile
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.throttle import Throttle, batch_error, transaction_answer
from faradisc.errors import ApiError, ProvisionedThroughputExceededException, ThrottlingException
from unit.capacity.worlds import INDEX, START, TABLE, place


@dataclass
class Shop:
    """A table with one global index; items are sizes in bytes, all of them indexed under "g" + key."""

    registry: ResourceRegistry
    table: Resource
    index: Resource
    items: dict[str, int] = field(default_factory=dict)

    def get_item(self, key: str, now: int, *, consistent: bool) -> int | None:
        """GetItem: one admission before the read, one settling after it."""
        if now >= self.registry.due:
            self.registry.advance(now)
        where, limiter = place(key), self.table.reads
        bucket = limiter.admit(where, now)
        if bucket is None:
            raise limiter.refuse(where, now).as_api_error()
        size = self.items.get(key)
        half_units = units.read_half_units(size or 0, consistent=consistent)
        limiter.take(bucket, where, half_units, now, not consistent)
        return size

    def put_item(self, key: str, size: int, now: int) -> None:
        """PutItem: the table and the index are asked before anything is written."""
        charges = self._charges(key, size)
        refused = admit(charges, now)
        if refused is not None:
            raise refused.as_api_error()
        self._write(key, size)
        take_all(charges, now)

    def _charges(self, key: str, size: int) -> list[Charge]:
        old = self.items.get(key, 0)
        charges = [Charge(self.table.writes, place(key), 2 * units.write_units(old, size))]
        rule = self.table.config.index_precheck
        if asks_index(rule, before=old > 0, after=True, changed=old != size):
            cost = units.index_write_units(old or None, size, key_changed=False) if old != size else 0
            charges.append(Charge(self.index.writes, place(f"g{key}"), 2 * cost))
        return charges

    def _write(self, key: str, size: int) -> None:
        old = self.items.get(key)
        self.table.grow(place(key), size - (old or 0), 0 if old else 1)
        self.items[key] = size

    def batch_write(self, puts: dict[str, int], now: int) -> list[str]:
        """BatchWriteItem: item by item; the keys that were not processed."""
        throttles: dict[str, Throttle] = {}
        for key, size in puts.items():
            charges = self._charges(key, size)
            refused = admit(charges, now)
            if refused is not None:
                throttles[key] = refused
                continue
            self._write(key, size)
            take_all(charges, now)
        if len(throttles) == len(puts):
            raise batch_error(list(throttles.values()), writes=True)
        return list(throttles)

    def transact_write(self, puts: dict[str, int], now: int) -> list[str] | None:
        """TransactWriteItems: all or nothing; the cancellation codes when it was cancelled."""
        all_charges = [self._charges(key, size) for key, size in puts.items()]
        throttles = [admit(charges, now) for charges in all_charges]
        if any(throttle is not None for throttle in throttles):
            answer = transaction_answer(throttles, self.table.config.transaction_style)
            if isinstance(answer, ApiError):
                raise answer
            return answer
        for (key, size), charges in zip(puts.items(), all_charges, strict=True):
            self._write(key, size)
            charges[0].half_units *= 2  # the table's part is doubled, the index's is not
            take_all(charges, now)
        return None

    def scan(self, now: int) -> tuple[int, bool]:
        """Scan: each partition is asked when the page reaches it; one cost for the whole page."""
        charges: list[Charge] = []
        sizes: list[int] = []
        for part in self.table.partitions.between(None, None):
            charge = Charge(self.table.reads, part.low, eventual=True)
            refused = admit([charge], now)
            if refused is not None and not charges:
                raise refused.as_api_error()
            if refused is not None:
                break
            charges.append(charge)
            sizes.append(sum(size for key, size in self.items.items() if part.holds(place(key))))
        cost = units.read_half_units(sum(sizes), consistent=False)
        for charge, part_of_it in zip(charges, spread(cost, sizes), strict=True):
            charge.half_units = part_of_it
        take_all(charges, now)
        return sum(sizes), len(charges) < len(self.table.partitions)


@pytest.fixture
def shop() -> Shop:
    registry = ResourceRegistry(profile("aws"), START)
    table = registry.add("T", None, TABLE, START, read_units=10, write_units=10, partitions=3)
    index = registry.add("T", "g1", INDEX, START, read_units=10, write_units=10)
    return Shop(registry, table, index)


def balance_of(resource: Resource, direction: str, now: int = START) -> int:
    limiter = resource.reads if direction == "R" else resource.writes
    assert limiter.table_bucket is not None
    return limiter.table_bucket.balance(now)


def set_balance_of(resource: Resource, whole_units: int) -> None:
    for limiter in resource.limiters:
        assert limiter.table_bucket is not None
        limiter.table_bucket.set_balance(START, whole_units * UNIT)


def test_get_item(shop: Shop) -> None:
    shop.put_item("a", 5000, START)
    before = balance_of(shop.table, "R")
    assert shop.get_item("a", START, consistent=True) == 5000
    assert shop.get_item("b", START, consistent=False) is None
    assert before - balance_of(shop.table, "R") == 2 * UNIT + UNIT // 2
    set_balance_of(shop.table, 0)
    with pytest.raises(ProvisionedThroughputExceededException):
        shop.get_item("a", START, consistent=True)


def test_put_item_and_a_full_index(shop: Shop) -> None:
    shop.put_item("a", 1500, START)
    assert (balance_of(shop.table, "W"), balance_of(shop.index, "W")) == (2998 * UNIT, 2998 * UNIT)
    set_balance_of(shop.index, 0)
    with pytest.raises(ProvisionedThroughputExceededException) as refused:
        shop.put_item("a", 1500, START)
    assert refused.value.extra["ThrottlingReasons"][0]["resource"] == INDEX
    assert balance_of(shop.table, "W") == 2998 * UNIT


def test_batch_write(shop: Shop) -> None:
    set_balance_of(shop.table, 3)
    assert shop.batch_write({f"k{n}": 100 for n in range(5)}, START) == ["k3", "k4"]
    with pytest.raises(ProvisionedThroughputExceededException):
        shop.batch_write({"x": 100}, START)
    assert sorted(shop.items) == ["k0", "k1", "k2"]


def test_transact_write(shop: Shop) -> None:
    assert shop.transact_write({"a": 100, "b": 100}, START) is None
    assert (balance_of(shop.table, "W"), balance_of(shop.index, "W")) == (2996 * UNIT, 2998 * UNIT)
    shop.table.writes.bucket_of(place("b")).set_balance(START, 0)
    keys = {"a": 100, "b": 100}
    same = shop.table.writes.bucket_of(place("a")) is shop.table.writes.bucket_of(place("b"))
    code = "ProvisionedThroughputExceeded"
    assert shop.transact_write(keys, START) == [code if same else "None", code]
    shop.table.set_on_demand(START)
    assert shop.transact_write(keys, START) == ["ThrottlingError" if same else "None", "ThrottlingError"]
    shop.table.set_maximum(None, 1, START)
    assert shop.table.writes.maximum is not None
    shop.table.writes.maximum.set_balance(START, 0)
    with pytest.raises(ThrottlingException):
        shop.transact_write(keys, START)


def test_scan(shop: Shop) -> None:
    for n in range(30):
        shop.put_item(f"k{n}", 1000, START)
    before = balance_of(shop.table, "R")
    assert shop.scan(START) == (30_000, False)
    assert before - balance_of(shop.table, "R") == 4 * UNIT
    second = shop.table.partitions.partitions[1]
    second.reads.set_balance(START, 0)
    evaluated, more = shop.scan(START)
    assert 0 < evaluated < 30_000 and more


def test_consumption_is_published(shop: Shop) -> None:
    shop.put_item("a", 1500, START)
    shop.get_item("a", START + MINUTE_NS + SECOND_NS, consistent=True)
    which = (("TableName", "T"),)
    points = shop.registry.metrics.get("ConsumedWriteCapacityUnits", which, START, START + MINUTE_NS, 60)
    assert [(statistic.sum, statistic.count) for _, statistic in points] == [(2, 1)]


def test_which_indexes_are_asked() -> None:
    """Section 2.9: the three settings of index_precheck."""
    unchanged = {"before": True, "after": True, "changed": False}
    outside = {"before": False, "after": False, "changed": False}
    assert [asks_index(rule, **unchanged) for rule in ("member", "affected", "all")] == [True, False, True]  # type: ignore[arg-type]
    assert [asks_index(rule, **outside) for rule in ("member", "affected", "all")] == [False, False, True]  # type: ignore[arg-type]
