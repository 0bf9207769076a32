"""Checks the throughput of the throttled table: admissions, metrics, partitions.

Burst capacity and metrics begin with each life and need not survive a crash. The partition map, as it was
last made durable, and the highest provisioned throughput do. Checks:

    in every period, the units admitted by one partition, by the table's rate or by its maximum are at
    most burst and limit; the last admission may go into debt
    a partition map covers the key space; later maps, also after crashes, only divide it further
    at the end, the metrics equal the units of this life's requests, and the partitions have all items
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from faradisc.capacity.config import CapacityConfig, profile
from faradisc.capacity.resource import Resource
from faradisc.clock import ManualClock
from faradisc.database import Database
from faradisc.metrics.metric_store import dimensions
from faradisc.model.codec.keyspace import METER_PART
from faradisc.model.values.size import item_size
from faradisc.storage.immediate import run
from simulation.auditor import Auditor
from simulation.costs import reported, write_cost
from simulation.requests import THROTTLED, Get, Listing, Request, Single, Window
from simulation.writes import Key, key_item

_SECOND_NS = 1_000_000_000
_DAY_NS = 86_400 * _SECOND_NS
HASTY = replace(
    profile("aws"),
    profile="hasty",
    initial_burst_s=5,
    burst_s=30,
    hot_for_s=10,
    heat_percent=20,
    heat_cooldown_s=20,
    split_heat_s=5,
    split_size_s=5,
    split_raise_s=5,
    growth_s=60,
)
"""A profile of the simulation's own, in which partitions split within seconds."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A limit for admissions, as long as it does not change."""

    name: tuple[object, ...]
    rate: int
    """Units per second."""
    burst: float
    debt: int | None
    """A balance is never lower than this many units; the rest is forgiven."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time at which a request was sent, and the state of the meters then."""

    began_ns: int
    settings: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Admission:
    began_ns: int
    ended_ns: int
    units: float


class MeterReader:
    def __init__(self, auditor: Auditor, clock: ManualClock) -> None:
        self._auditor = auditor
        self._clock = clock
        self._database: Database | None = None
        self._admissions: dict[Ceiling, list[Admission]] = {}
        self._lows: list[bytes] = []
        """Where the partitions begin, as last seen in this life."""
        self._reads = 0.0
        self._writes_least = 0
        self._writes_most = 0

    # --- Lives -----------------------------------------------------------------------------------

    def opened(self, database: Database) -> None:
        """Checks that the map in memory equals the one on disk or divides it further."""
        self._database = database
        stored, resource = self._stored(), self._resource()
        if stored is None or resource is None:
            return
        lows = [bytes.fromhex(part["low"]) for part in stored["map"]["partitions"]]
        self._note_map(resource, lows, "over a crash")
        if any(now < then for now, then in zip(resource.state.highest, stored["highest"], strict=True)):
            self._auditor.fail(f"{stored['highest']} was once provisioned, and now {resource.state.highest}")

    def ended(self) -> None:
        """Forgets burst capacity and metrics at the end of a life."""
        for ceiling, admissions in self._admissions.items():
            self._judge_ceiling(ceiling, admissions)
        self._database = None
        self._admissions.clear()
        self._lows = []
        self._reads = 0.0
        self._writes_least = self._writes_most = 0

    def _resource(self) -> Resource | None:
        assert self._database is not None
        for _, registry in self._database.accounts():
            if (THROTTLED, None) in registry.resources:
                return registry.resources[THROTTLED, None]
        return None

    def _stored(self) -> dict[str, Any] | None:
        """Returns the stored throughput state of the table."""
        state = self._auditor.model.tables.get(THROTTLED)
        if state is None:
            return None
        (row,) = run(self._auditor.disk.synced.get(METER_PART, [state["table_id"].encode()]))
        return None if row is None else orjson.loads(row[1])["resources"].get("")

    # --- Requests --------------------------------------------------------------------------------

    def stamp(self) -> Stamp:
        return Stamp(self._clock.now_ns(), self._settings())

    def _settings(self) -> tuple[object, ...]:
        """Returns the settings that determine the ceilings."""
        resource = self._resource()
        if resource is None:
            return ()
        units = (resource.read_units, resource.write_units, resource.state.max_read, resource.state.max_write)
        divided = resource.partitions.next_number
        return (*units, resource.on_demand, divided, self._auditor.throughput.changes)

    def paid(self, stamp: Stamp, request: Request, answer: dict[str, Any]) -> None:
        """Counts the reported cost of an answer, or of one page of it."""
        reads = isinstance(request, Get | Listing)
        for index, units in reported(answer, reads).items():
            if index == "":
                self._reads += units[0]
                self._admitted(stamp, request, units)

    def answered(self, request: Request, window: Window, code: str, answer: dict[str, Any]) -> None:
        """Handles the end of a request, with any answer."""
        least, most = write_cost(request, self._auditor.model, window, code, answer)
        self._writes_least += least
        self._writes_most += most
        if isinstance(request, Single) and not code:
            units = reported(answer, reads=False).get("", (0.0, 0.0))[1]
            if not least <= units <= most:
                self._auditor.fail(f"{request.write} has cost {units}, not {least} to {most}")

    def _admitted(self, stamp: Stamp, request: Request, units: tuple[float, float]) -> None:
        resource, settings = self._resource(), self._settings()
        if resource is None or settings != stamp.settings or stamp.settings == ():
            return  # it is not known what it was held against
        if isinstance(request, Listing):
            return  # a page is paid when it was read, and others may be let in meanwhile
        self._note_map(resource, self._lows, "in a life")
        key = _only_key(request)
        for is_write, cost in enumerate(units):
            if not cost:
                continue
            admission = Admission(stamp.began_ns, self._clock.now_ns(), cost)
            for ceiling in _ceilings(resource, settings, bool(is_write)):
                self._admissions.setdefault(ceiling, []).append(admission)
            if key is not None:
                ceiling = self._partition_ceiling(resource, key, bool(is_write))
                self._admissions.setdefault(ceiling, []).append(admission)

    def _partition_ceiling(self, resource: Resource, key: Key, is_write: bool) -> Ceiling:
        config = resource.config
        place = self._auditor.table(THROTTLED).placement.row_key(key_item(key))
        part = resource.partitions.find(place)
        rate = config.partition_write_units if is_write else config.partition_read_units
        burst = rate * config.partition_burst_ms / 1000
        return Ceiling(("partition", part.id, is_write), rate, burst, _debt(config, rate))

    def _judge_ceiling(self, ceiling: Ceiling, admissions: list[Admission]) -> None:
        """Checks every period: all admissions but the last found a positive balance, so together they took
        less than the burst and the inflow. Which one was the last is unknown, so the largest is left out."""
        self._auditor.seen[f"admissions by {ceiling.name[0]}"] += len(admissions)
        by_end = sorted(admissions, key=lambda each: each.ended_ns)
        for start in {each.began_ns for each in admissions}:
            total = largest = 0.0
            for each in by_end:
                if each.began_ns < start:
                    continue
                units = each.units if ceiling.debt is None else min(each.units, ceiling.debt)
                total, largest = total + units, max(largest, units)
                given = ceiling.burst + ceiling.rate * (each.ended_ns - start) / _SECOND_NS
                if total - largest >= given and total > largest:
                    self._auditor.fail(f"{ceiling} has admitted {total} units where {given} were given")
                    return

    # --- Partitions ------------------------------------------------------------------------------

    def _note_map(self, resource: Resource, before: Sequence[bytes], when: str) -> None:
        parts = resource.partitions.partitions
        lows = [part.low for part in parts]
        highs = [part.high for part in parts]
        if lows[0] != b"" or highs != [*lows[1:], None] or lows != sorted(set(lows)):
            self._auditor.fail(f"the partitions do not cover the key space: {lows}, {highs}")
        if set(before) - set(lows):
            self._auditor.fail(f"{when} partitions were merged: {list(before)} became {lows}")
        self._auditor.seen["partitions split"] += max(len(lows) - len(before), 0) if before else 0
        self._lows = lows

    # --- The end ---------------------------------------------------------------------------------

    def judge(self) -> None:
        """Checks the end: all clients are done, and a minute has ended since."""
        resource = self._resource()
        if resource is None:
            return
        read, written = self._metric("Read"), self._metric("Write")
        if read != self._reads:
            self._auditor.fail(f"{self._reads} read units were reported, the metrics have {read}")
        if not self._writes_least <= written <= self._writes_most:
            wanted = (self._writes_least, self._writes_most)
            self._auditor.fail(f"the metrics have {written} write units, the requests {wanted}")
        self._judge_contents(resource)
        self._note_map(resource, self._lows, "in a life")
        stored = self._stored()
        if (
            stored is None
            or [bytes.fromhex(part["low"]) for part in stored["map"]["partitions"]] != self._lows
        ):
            self._auditor.fail(f"the partitions are {self._lows}, on disk is {stored}")

    def _judge_contents(self, resource: Resource) -> None:
        items = self._auditor.model.table_at(1 << 62, THROTTLED).values()
        parts = resource.partitions.partitions
        held = (sum(part.items for part in parts), sum(part.bytes for part in parts))
        if held != (len(items), sum(map(item_size, items))):
            self._auditor.fail(f"partitions hold {held} items and bytes, the table {len(items)}: {items}")
        if any(part.unknown_bytes < 0 for part in parts):
            self._auditor.fail(f"upper bounds lie below counts: {[part.to_json() for part in parts]}")

    def _metric(self, direction: str) -> float:
        assert self._database is not None
        ((_, registry),) = self._database.accounts()
        now_ns = self._clock.now_ns()
        which = dimensions(TableName=THROTTLED, GlobalSecondaryIndexName=None)
        points = registry.metrics.get(
            f"Consumed{direction}CapacityUnits", which, now_ns - 15 * _DAY_NS, now_ns, 60
        )
        return sum(point.sum for _, point in points)


def _only_key(request: Request) -> Key | None:
    """Returns the key of a request that accesses one item, in one partition."""
    if isinstance(request, Single):
        return request.write.key
    return request.places[0][1] if isinstance(request, Get) and len(request.places) == 1 else None


def _ceilings(resource: Resource, settings: tuple[object, ...], is_write: bool) -> list[Ceiling]:
    """Returns the ceilings of the table as a whole."""
    config = resource.config
    if resource.on_demand:
        rate = resource.state.max_write if is_write else resource.state.max_read
        name = "maximum"
    else:
        rate = resource.write_units if is_write else resource.read_units
        name = "table"
        if not config.table_bucket:
            return []
    if rate is None:
        return []
    return [Ceiling((name, is_write, settings), rate, rate * config.burst_s, _debt(config, rate))]


def _debt(config: CapacityConfig, rate: int) -> int | None:
    return None if config.max_debt_s is None else config.max_debt_s * rate
