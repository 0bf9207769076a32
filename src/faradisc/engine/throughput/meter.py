"""All tables' throughput: their resources over time, and what is stored of them.

The capacity model is passive: it advances when a caller passes in the time. Reading the time here lets it
catch up first, so a request sees the partitions and balances of its own moment. A background job does the
same when no requests come, and stores what has changed (partition maps, peaks, warm throughput, Contributor
Insights).

Stored: one row per table in METER_PART, key the table's id, value JSON. Buckets start anew (capacity.md
section 2.16). Sizes of partitions that were not counted, because nothing was enforced or rows were imported,
are taken from the table's usage and spread evenly. A partition that may be full is measured
(size_measurement.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import orjson

from faradisc.capacity.events import Event, SplitDue, to_json
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.topology import needed_partitions, on_demand_partitions
from faradisc.clock import Clock, Entropy, MovableClock
from faradisc.engine.metrics.contributor_insights import Insights
from faradisc.engine.throughput.settings import ThroughputSettings, parse_config
from faradisc.engine.throughput.size_measurement import Measurements
from faradisc.engine.throughput.table import InsightsSetting, Provision, TableMeter
from faradisc.engine.throughput.table_usage import RequestTime
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.model.codec.keyspace import METER_PART
from faradisc.storage.api import Batch, Conflict, Store

log = logging.getLogger("faradisc.throughput")

SAVE_INTERVAL_NS = 60 * 1_000_000_000
SAVES_PER_STEP = 32
EVENTS_KEPT = 1000

Stored = dict[str, Any]


class EntropyChance:
    """Integers in a range, from the database's source of random bytes."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def randint(self, low: int, high: int) -> int:
        return low + int.from_bytes(self._entropy.token_bytes(8), "big") % (high - low + 1)


class RegistryClock:
    """The time, as the tables of one registry see it: reading it lets their capacity catch up."""

    __slots__ = ("events", "now_unheeded", "read", "registry", "request_time")

    def __init__(self, registry: ResourceRegistry, clock: Clock, request_time: RequestTime) -> None:
        self.registry = registry
        self.request_time = request_time
        self.read = self.now_unheeded = clock.now_ns
        self.events: deque[Event] = deque()
        """What has happened and was not handled yet."""

    def now(self) -> int:
        now = self.read()
        if now >= self.registry.due:
            self.events.extend(self.registry.advance(now))
        return now

    def hold(self, moment: int | None) -> None:
        """Let it be this moment, whatever the clock says; None: what the clock says."""
        self.read = self.now_unheeded if moment is None else lambda: moment


class Meter:
    """Throughput of every table, by namespace of the catalog."""

    def __init__(
        self, store: Store, clock: Clock, entropy: Entropy, settings: ThroughputSettings | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = EntropyChance(entropy)
        self.settings = settings or ThroughputSettings()
        self.request_time = RequestTime()
        self._clocks: dict[str, RegistryClock] = {}
        self._tables: dict[str, TableMeter] = {}
        self._stored: dict[str, Stored] = {}
        """Rows read at the start, until their table asks for them."""
        self._gone: list[str] = []
        self._recorder: TraceRecorder | None = None
        self._to_save: deque[str] = deque()
        self._to_measure: deque[str] = deque()
        self._measurements = Measurements(store)
        self._is_moved = isinstance(clock, MovableClock)
        """Whether much time may pass at once, in which measuring takes none."""
        self._stepping = asyncio.Lock()
        self._next_save_ns = 0
        self.recent: deque[dict[str, Any]] = deque(maxlen=EVENTS_KEPT)
        """Splits, rejected splits and growth, for the admin API."""

    async def load(self) -> None:
        """Read what was stored; before the first table is attached."""
        low: bytes | None = b""
        while low is not None:
            rows = await self._store.range(METER_PART, low, None, limit=1000)
            for key, (_, payload) in rows:
                self._stored[key.decode()] = orjson.loads(payload)
            low = rows[-1][0] + b"\x00" if rows else None

    def all_attached(self) -> None:
        """Every table there is was attached: rows of others are left from a crash, and go."""
        self._gone += self._stored
        self._stored.clear()

    # --- Accounts ---

    def clock_of(self, namespace: str) -> RegistryClock:
        found = self._clocks.get(namespace)
        if found is None:
            registry = ResourceRegistry(self.settings.default, self._clock.now_ns(), chance=self._chance)
            found = self._clocks[namespace] = RegistryClock(registry, self._clock, self.request_time)
        return found

    def registry(self, namespace: str) -> ResourceRegistry:
        """The registry of the tables in a namespace of the catalog."""
        return self.clock_of(namespace).registry

    def registries(self) -> list[tuple[str, ResourceRegistry]]:
        return [(namespace, clock.registry) for namespace, clock in self._clocks.items()]

    # --- Tables ---

    def attach(
        self,
        table_id: str,
        namespace: str,
        name: str,
        provisions: Mapping[str | None, Provision],
        *,
        since: int | None = None,
    ) -> TableMeter:
        """The meter of a table, brought to the settings the table has now, or has had `since` a moment at
        which nobody looked."""
        meter = self._tables.get(table_id)
        if meter is None:
            meter = self._new(table_id, namespace, name)
        if provisions != meter.provisions:
            self._provide(meter, namespace, provisions, since)
        return meter

    def _new(self, table_id: str, namespace: str, name: str) -> TableMeter:
        clock = self.clock_of(namespace)
        meter = TableMeter(table_id, name, clock, self.settings.of(name))
        meter.registry = clock.registry
        self._tables[table_id] = meter
        if table_id in self._stored:
            stored = self._stored[table_id]
            if stored.get("override") is not None:
                self._adopt_override(meter, stored["override"])
        meter.measure_again = partial(self._measure_again, table_id)
        if meter.enforced:
            self._to_measure.append(table_id)
        return meter

    def _measure_again(self, table_id: str) -> None:
        if table_id not in self._to_measure:
            self._to_measure.append(table_id)

    def _adopt_override(self, meter: TableMeter, text: str | None) -> None:
        meter.override = text
        meter.config = self.settings.of(meter.name) if text is None else parse_config(text)
        meter.enforced = meter.config.enforce

    def _provide(
        self,
        meter: TableMeter,
        namespace: str,
        provisions: Mapping[str | None, Provision],
        since: int | None,
    ) -> None:
        clock = self.clock_of(namespace)
        now = clock.now() if since is None else min(clock.now(), since)
        stored = self._stored.pop(meter.table_id, {})
        kept: Mapping[str, Any] = stored.get("resources", {})
        for index, provision in provisions.items():
            before = meter.provisions.get(index)
            if before is None:
                self._add(meter, index, provision, kept.get(index or ""), now)
            elif before != provision:
                events = _change(meter.resource_of(index), before, provision, now)
                clock.registry.changed(meter.resource_of(index))
                clock.events.extend(events)
        for index in [index for index in meter.indexes if index not in provisions]:
            clock.registry.remove(meter.name, index)
            self._measurements.forget(meter, index)
            del meter.indexes[index]
            meter.insights.pop(index, None)
            meter.insights_settings.pop(index, None)
        meter.refresh_flags()
        meter.provisions = dict(provisions)
        if self._recorder is not None:
            self._introduce(meter)
        for index_name, insights in stored.get("insights", {}).items():
            self._watch(meter, index_name or None, Insights.from_json(insights))
        for index_name, setting in stored.get("insights_settings", {}).items():
            meter.insights_settings[index_name or None] = InsightsSetting(**setting)

    def _add(
        self,
        meter: TableMeter,
        index: str | None,
        provision: Provision,
        stored: Mapping[str, Any] | None,
        now: int,
    ) -> None:
        resource = meter.registry.add(
            meter.name,
            index,
            provision.arn,
            now,
            config=meter.config,
            read_units=provision.read_units,
            write_units=provision.write_units,
            on_demand=provision.on_demand,
            max_read=provision.max_read,
            max_write=provision.max_write,
            composite=provision.composite,
            local_indexes=bool(provision.local_parts),
            partitions=None if provision.warm is None else on_demand_partitions(*provision.warm),
            stored=stored,
        )
        if stored is None and provision.warm is not None:
            resource.reach_warm(*provision.warm, now)
        meter.adopt(index, resource)

    def detach(self, table_id: str) -> None:
        """A table is deleted. Its metrics stay."""
        meter = self._tables.pop(table_id, None)
        self._stored.pop(table_id, None)
        if meter is not None:
            self._measurements.forget(meter, *meter.provisions)
            if meter.registry.resources.get((meter.name, None)) is meter.resource:
                meter.registry.remove(meter.name)
            self._gone.append(table_id)

    def drop_all(self) -> None:
        """Forget every table, and all that was counted and has happened: as if it had just been opened."""
        self._gone += self._tables
        for meter in self.tables():
            self._measurements.forget(meter, *meter.provisions)
        self._tables.clear()
        self._clocks.clear()
        self.recent.clear()

    def tables(self) -> list[TableMeter]:
        return list(self._tables.values())

    def resources(self) -> Iterator[Resource]:
        """Of all tables and their global indexes."""
        for meter in self.tables():
            yield meter.resource
            yield from meter.indexes.values()

    def ready_for(self, meter: TableMeter, raised: Mapping[str | None, tuple[int, int]]) -> int:
        """When there would be the partitions that these provisioned units of a table (None) and its global
        indexes need, were they prepared for now; the present if they are there, or nothing is enforced."""
        now = meter.now()
        resources = [(meter.resource_of(index), units) for index, units in raised.items()]
        return max([now, *(resource.ready_for(*units, now) for resource, units in resources)])

    def prepare(self, meter: TableMeter, raised: Mapping[str | None, tuple[int, int]], since: int) -> None:
        """Begin the splits that these units need, as of the moment at which they were asked for."""
        for index, units in raised.items():
            resource = meter.resource_of(index)
            self._happened(meter, resource, resource.prepare(*units, since))

    async def raise_warm(
        self, meter: TableMeter, index: str | None, units: tuple[int, int], takes_ns: int
    ) -> None:
        """Begin to raise the warm throughput of a table (None) or global index; it is there `takes_ns` after
        the partitions for it."""
        resource = meter.resource_of(index)
        self._happened(meter, resource, resource.raise_warm(*units, meter.now(), takes_ns))
        await self.save(meter)

    def changed(self, meter: TableMeter, index: str | None) -> None:
        """The resource of a table (None) or global index was changed by hand."""
        meter.registry.changed(meter.resource_of(index))

    def _happened(self, meter: TableMeter, resource: Resource, events: list[Event]) -> None:
        """A resource was changed from outside."""
        self._clock_of_registry(meter.registry).events.extend(events)
        meter.registry.changed(resource)

    async def configure(self, meter: TableMeter, profile: str | None) -> None:
        """Give one table a profile of its own ("aws:30/10"); None: that of the server again.

        Its partitions, peaks and warm throughput stay; its buckets start anew. Raises ValueError.
        """
        self._adopt_override(meter, profile)
        self._measurements.forget(meter, *meter.provisions)
        now = meter.now()
        for index, provision in meter.provisions.items():
            before = meter.resource_of(index)
            self._add(meter, index, replace(provision, warm=None), before.to_json(), now)
            meter.resource_of(index).take_over_counts(before)
        if meter.enforced:
            await self._measure(meter)
        await self.save(meter)

    async def filled(self, meter: TableMeter) -> None:
        """A table was restored or imported: its partitions hold what came in, and are as many as its units
        and its size need (V70a)."""
        await self._measure(meter)
        now = meter.now()
        for index, provision in meter.provisions.items():
            resource = meter.resource_of(index)
            size_bytes = sum(part.bytes for part in resource.partitions.partitions)
            by_units = (0, 0) if provision.on_demand else (provision.read_units, provision.write_units)
            wanted = needed_partitions(*by_units, size_bytes, resource.config)
            if wanted > len(resource.partitions):
                resource.set_partitions(wanted, now)
                self.changed(meter, index)
        self._introduce(meter)
        await self.save(meter)

    # --- Recording ---

    async def record(self, recorder: TraceRecorder | None) -> None:
        """Records every charge from now on; None: stops recording."""
        self._recorder = recorder
        for meter in self.tables():
            if recorder is not None:
                await self._measure(meter)
            self._introduce(meter)

    def _introduce(self, meter: TableMeter) -> None:
        meter.recorder = self._recorder
        meter.refresh_flags()
        if self._recorder is None:
            return
        own = meter.provisions[None]
        held = meter.resource.partitions.partitions
        self._recorder.describe(
            meter.name,
            read_units=own.read_units,
            write_units=own.write_units,
            on_demand=own.on_demand,
            sort_key=own.composite,
            items=sum(part.items for part in held),
            size_bytes=sum(part.bytes for part in held),
            partitions=len(held),
            profile=meter.config.profile if meter.enforced else None,
            partition_caps=meter.config.partition_caps,
            indexes={
                index: (provision.read_units, provision.write_units)
                for index, provision in meter.provisions.items()
                if index is not None
            },
        )

    # --- Contributor Insights ---

    async def watch(
        self, meter: TableMeter, index: str | None, setting: InsightsSetting, insights: Insights | None
    ) -> None:
        """Switch Contributor Insights of a table or index on or (None) off."""
        meter.insights_settings[index] = setting
        self._watch(meter, index, insights)
        await self.save(meter)

    def _watch(self, meter: TableMeter, index: str | None, insights: Insights | None) -> None:
        if insights is None:
            meter.insights.pop(index, None)
            meter.registry.insights.pop((meter.name, index), None)
        else:
            meter.insights[index] = meter.registry.insights[(meter.name, index)] = insights
        meter.refresh_flags()

    # --- Time and disk ---

    async def step(self) -> bool:
        """One step: let time pass, write down what changed, measure estimates and what is full, and split the
        latter. It is bounded, unless a clock was moved."""
        async with self._stepping:
            return await self._step()

    async def _step(self) -> bool:
        if self._is_moved:
            await self._catch_up()
        for clock in self._clocks.values():
            clock.now()
            while clock.events:
                self._handle(clock, clock.events.popleft())
        if self._to_measure:
            await self._measure_next()
        now = self._clock.now_ns()
        if now >= self._next_save_ns:
            self._next_save_ns = now + SAVE_INTERVAL_NS
            self._to_save = deque(self._tables)
        for _ in range(min(SAVES_PER_STEP, len(self._to_save))):
            meter = self._tables.get(self._to_save.popleft())
            if meter is not None:
                await self.save(meter)
        await self._forget_deleted()
        if self._measurements.busy and not self._to_measure:
            await self._measure_partition()
        return bool(self._to_save or self._to_measure or self._measurements.busy)

    async def _catch_up(self) -> None:
        """A clock was moved: let time pass from one full partition to the next, and from one end of a split
        to the next, so that each is measured and split when it would have been. Otherwise it would be looked
        at when all the time has passed."""
        for clock in list(self._clocks.values()):
            now = clock.now_unheeded()
            if now < clock.registry.due:
                continue
            while self._to_measure:
                await self._measure_next()
            looked_at: dict[Resource, set[str]] = defaultdict(set)
            try:
                await self._handle_all(clock)
                while (moment := _next_full(clock.registry, looked_at)) is not None and moment <= now:
                    clock.hold(moment)
                    clock.now()
                    await self._handle_all(clock)
            finally:
                clock.hold(None)

    async def _handle_all(self, clock: RegistryClock) -> None:
        """Measure what is estimated, cut what is full, and handle what follows from that."""
        while clock.events or self._measurements.busy:
            while clock.events:
                self._handle(clock, clock.events.popleft())
            if self._measurements.busy:
                await self._measure_partition()

    def _handle(self, clock: RegistryClock, event: Event) -> None:
        described = to_json(event)
        self.recent.append(described)
        log.info("%s", described)
        for meter in self._tables.values():
            for index, provision in meter.provisions.items():
                if provision.arn != event.arn or meter.ticking is not clock:
                    continue
                if isinstance(event, SplitDue):
                    self._measurements.request(meter, index, event.partition, event.at_ns)
                    return
                self._to_save.append(meter.table_id)
                return

    async def _measure_partition(self) -> None:
        """Goes on measuring a partition; when that ends, splits it if it is full."""
        measured = await self._measurements.step()
        if measured is None:
            return
        measurement, rows = measured
        meter, resource = measurement.meter, measurement.meter.resource_of(measurement.index)
        now = measurement.due_ns if self._is_moved else meter.now()
        events = resource.split_by_size(measurement.part.id, rows, now, written=measurement.written)
        self._happened(meter, resource, events)

    def _clock_of_registry(self, registry: ResourceRegistry) -> RegistryClock:
        return next(clock for clock in self._clocks.values() if clock.registry is registry)

    async def _measure_next(self) -> None:
        meter = self._tables.get(self._to_measure.popleft())
        if meter is not None:
            await self._measure(meter)

    async def _measure(self, meter: TableMeter) -> None:
        """Makes the counts of the partitions add up to what the table holds."""
        self._measurements.restart(meter)
        for index, provision in meter.provisions.items():
            items = size_bytes = 0
            for part in (*provision.parts, *provision.local_parts):
                part_items, part_bytes = await self._store.usage(part)
                size_bytes += part_bytes - STORAGE_OVERHEAD_BYTES * part_items
                items += part_items if part in provision.parts else 0
            meter.resource_of(index).reconcile(size_bytes, items)

    async def save(self, meter: TableMeter) -> None:
        """Make what must survive a restart durable."""
        if self._tables.get(meter.table_id) is not meter:
            return
        stored: Stored = {
            "override": meter.override,
            "resources": {index or "": meter.resource_of(index).to_json() for index in meter.provisions},
            "insights": {index or "": found.to_json() for index, found in meter.insights.items()},
            "insights_settings": {
                index or "": asdict(setting) for index, setting in meter.insights_settings.items()
            },
        }
        payload = orjson.dumps(stored)
        if payload == meter.saved:
            return
        key = meter.table_id.encode()
        committed = await self._store.commit([Batch(METER_PART, puts=[(key, payload)])])
        if not isinstance(committed, Conflict):
            meter.saved = payload

    async def _forget_deleted(self) -> None:
        gone, self._gone = self._gone, []
        if gone:
            await self._store.commit([Batch(METER_PART, deletes=[table_id.encode() for table_id in gone])])

    async def close(self) -> None:
        """Write down what the last minute has changed."""
        for meter in self.tables():
            await self.save(meter)
        await self._forget_deleted()


def _next_full(registry: ResourceRegistry, looked_at: dict[Resource, set[str]]) -> int | None:
    """When a full partition is looked at that was not; it then is. One without a place to cut is looked at
    again and again, to no other end."""
    next_ones = [
        (resource, resource.next_full(looked_at[resource])) for resource in registry.resources.values()
    ]
    found = [(*each, resource) for resource, each in next_ones if each is not None]
    if not found:
        return None
    moment = min(at for at, _, _ in found)
    for at, parts, resource in found:
        if at == moment:
            looked_at[resource].update(parts)
    return moment


def _change(resource: Resource, before: Provision, after: Provision, now: int) -> list[Event]:
    """Bring a resource from one set of settings to another."""
    events: list[Event] = []
    if after.on_demand and not before.on_demand:
        events += resource.set_on_demand(now)
    elif not after.on_demand and (
        before.on_demand or (before.read_units, before.write_units) != (after.read_units, after.write_units)
    ):
        events += resource.set_provisioned(after.read_units, after.write_units, now)
    if (before.max_read, before.max_write) != (after.max_read, after.max_write) and after.on_demand:
        resource.set_maximum(after.max_read, after.max_write, now)
    return events
