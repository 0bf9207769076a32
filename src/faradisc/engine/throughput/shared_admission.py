"""The throughput of several nodes together: each admits its share of a table's units.

A table or global index that is used, and whose throughput is enforced, has a row: for reads and for writes
the balance that all nodes have together, and by node what it lately asked for, in units per second. Twice a
second every node takes from the balance what it has admitted since, reads what the others ask for, and admits
its part of the rest until the next time; the unused part of that lapses. So the nodes admit together what one
would, with an error of what is asked for within an interval, times the nodes.

A node that cannot reach the store keeps its share for ten seconds, and then admits nothing more. A row is
deleted when its balance is full and no node asks for anything. Source: many-nodes.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import orjson

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.resource import Resource
from faradisc.capacity.sharing import bucket_of, rate_of, set_share
from faradisc.engine.cluster.nodes import DEAD_NS, Nodes
from faradisc.engine.throughput.meter import TableMeter
from faradisc.errors import StorageError
from faradisc.model.codec.keyspace import ADMISSION_PART
from faradisc.records import dataclass, field
from faradisc.storage.api import Batch, Conflict, Store

INTERVAL_NS = SECOND_NS // 2
KEPT_NS = 10 * SECOND_NS
ROWS_MAX = 100_000
_NEWEST = 0.5
"""Weight of the last interval in what a node asks for."""
_LEAST = 0.01
"""Units per second below which a node asks for nothing."""
_PARTS = 1000
"""Shares are multiples of a thousandth."""
_NONE = Fraction(1, 1_000_000)
"""The share of a node that cannot reach the store."""

Side = dict[str, Any]
"""`balance`: nano-units at the time `at`, or None; `asked`: by node, [units per second, when]."""
_SIDES = ("R", "W")


@dataclass(slots=True)
class _Own:
    """What this node has done with one resource; of reads and of writes."""

    settled: list[int] = field(default_factory=lambda: [0, 0])
    """Half units, of `Resource.totals`, that are taken from the balances."""
    throttled: list[int] = field(default_factory=lambda: [0, 0])
    asked: list[float] = field(default_factory=lambda: [0.0, 0.0])
    applied: tuple[object, ...] = ()


@dataclass(slots=True)
class _Used:
    """One resource in one interval."""

    resource: Resource
    meter: TableMeter
    own: _Own
    totals: list[tuple[int, int]] = field(init=False)
    asked: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.totals = self.resource.totals()
        self.asked = []
        for position, (charged, throttled) in enumerate(self.totals):
            units = (charged - self.own.settled[position]) / 2 + throttled - self.own.throttled[position]
            asked = self.own.asked[position] * (1 - _NEWEST) + units * SECOND_NS / INTERVAL_NS * _NEWEST
            self.asked.append(asked if asked >= _LEAST else 0.0)

    def settle(self, row: dict[str, Side] | None, me: str, now_ns: int) -> dict[str, Side]:
        """Returns the row after this node has taken what it has admitted."""
        return {
            side: {
                "balance": self._balance(position, row and row[side], now_ns),
                "at": now_ns,
                "asked": self._asked_by(position, row and row[side], me, now_ns),
            }
            for position, side in enumerate(_SIDES)
        }

    def _balance(self, position: int, side: Side | None, now_ns: int) -> int | None:
        rate = rate_of(self.resource, position)
        if rate is None:
            return None
        if side is None or side["balance"] is None:
            limiter = self.resource.limiters[position]
            own = limiter.table_bucket or limiter.maximum
            assert own is not None, "there is a rate"
            return int(own.balance(self.meter.now()) / self.resource.shares[position])
        bucket = bucket_of(self.resource, rate, side["at"], side["balance"])
        bucket.take(now_ns, (self.totals[position][0] - self.own.settled[position]) * HALF_UNIT)
        return bucket.balance(now_ns)

    def _asked_by(self, position: int, side: Side | None, me: str, now_ns: int) -> dict[str, Any]:
        before = side["asked"] if side is not None else {}
        asked = {node: each for node, each in before.items() if now_ns - each[1] < DEAD_NS and node != me}
        return {**asked, me: [self.asked[position], now_ns]} if self.asked[position] else asked

    def concerns(self, row: dict[str, Side] | None, me: str) -> bool:
        """Whether this node has to change the row."""
        return any(self.asked) or (row is not None and any(me in row[side]["asked"] for side in _SIDES))

    def is_full(self, row: dict[str, Side], now_ns: int) -> bool:
        """Whether the row says nothing: no node asks, and the balances are full."""
        settled = self.settle(row, "", now_ns)
        for position, side in enumerate(_SIDES):
            rate, balance = rate_of(self.resource, position), settled[side]["balance"]
            full = rate is None or balance == bucket_of(self.resource, rate, now_ns, 0).cap
            if settled[side]["asked"] or not full:
                return False
        return True

    def done(self) -> None:
        """The store has what this node has admitted."""
        self.own.settled = [charged for charged, _ in self.totals]
        self.own.throttled = [throttled for _, throttled in self.totals]
        self.own.asked = self.asked


class SharedAdmission:
    def __init__(self, store: Store, nodes: Nodes, tables: Callable[[], list[TableMeter]]) -> None:
        self._store = store
        self._nodes = nodes
        self._tables = tables
        self._own: dict[Resource, _Own] = {}
        self._due_ns = 0
        self._answered_ns = nodes.now_ns()

    async def step(self) -> bool:
        """Settles what was admitted and takes a new share, if an interval has passed."""
        now_ns = self._nodes.now_ns()
        if now_ns < self._due_ns:
            return False
        self._due_ns = now_ns + INTERVAL_NS
        used = self._used()
        try:
            rows = await self._settle(used, now_ns)
        except StorageError:
            if now_ns - self._answered_ns > KEPT_NS:
                for each in used.values():
                    each.own.applied = ()
                    for position in (0, 1):
                        set_share(each.resource, position, _NONE, None, each.meter.now())
            raise
        self._answered_ns = now_ns
        for key, each in used.items():
            self._apply(each, rows.get(key), now_ns)
        return False

    def _used(self) -> dict[bytes, _Used]:
        """Returns the enforced resources by the keys of their rows."""
        before, self._own = self._own, {}
        found: dict[bytes, _Used] = {}
        for meter in self._tables():
            for index in meter.provisions if meter.enforced else ():
                resource = meter.resource_of(index)
                own = self._own[resource] = before.get(resource) or _Own()
                found[f"{meter.table_id}\0{index or ''}".encode()] = _Used(resource, meter, own)
        return found

    async def _settle(self, used: dict[bytes, _Used], now_ns: int) -> dict[bytes, dict[str, Side]]:
        """Takes from the balances what this node has admitted. Returns the rows as they are then."""
        me, cleans = self._nodes.id, self._nodes.id == min(self._nodes.alive)
        while True:
            stored = dict(await self._store.range(ADMISSION_PART, None, None, limit=ROWS_MAX))
            rows = {key: orjson.loads(payload) for key, (_, payload) in stored.items()}
            batch = Batch(ADMISSION_PART)
            for key, each in used.items():
                row = rows.get(key)
                if each.concerns(row, me):
                    rows[key] = each.settle(row, me, now_ns)
                    batch.puts.append((key, orjson.dumps(rows[key])))
                elif row is not None and cleans and each.is_full(row, now_ns):
                    batch.deletes.append(rows.pop(key) and key)
                else:
                    continue
                batch.checks.append((key, stored[key][0] if key in stored else 0))
            if not batch.checks or not isinstance(await self._store.commit([batch]), Conflict):
                for each in used.values():
                    each.done()
                return rows

    def _apply(self, used: _Used, row: dict[str, Side] | None, now_ns: int) -> None:
        """Makes this node admit its share until the next time."""
        resource, count = used.resource, len(self._nodes.alive)
        if row is None:
            applied = (count, len(resource.partitions), *(rate_of(resource, position) for position in (0, 1)))
            if used.own.applied != applied:
                for position in (0, 1):
                    set_share(resource, position, Fraction(1, count), None, used.meter.now())
            used.own.applied = applied
            return
        used.own.applied = ()
        for position, side in enumerate(_SIDES):
            rate = rate_of(resource, position)
            asked = {node: units for node, (units, _) in row[side]["asked"].items()}
            # What every node may have at least, so that one that begins to be used is not throttled.
            least = max(rate or 0, 100) / 100
            mine = (asked.get(self._nodes.id, 0) + least) / (sum(asked.values()) + least * count)
            share = Fraction(max(int(mine * _PARTS), 1), _PARTS)
            balance = None
            if rate is not None and row[side]["balance"] is not None:
                balance = bucket_of(resource, rate, row[side]["at"], row[side]["balance"]).balance(now_ns)
            set_share(resource, position, share, balance, used.meter.now())
