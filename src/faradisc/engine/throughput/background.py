"""Background steps of throughput: advance idle tables, store changes, measure partitions, split full ones.

The counts of partitions that are not known, because nothing was enforced or rows were imported, are taken
from the table's usage and spread evenly. A partition that may be full is then measured (size_measurement.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from faradisc.capacity.events import Event, SplitDue, to_json
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, MovableClock
from faradisc.engine.throughput.meter import TableMeter
from faradisc.engine.throughput.registry_clock import RegistryClock
from faradisc.engine.throughput.size_measurement import Measurements
from faradisc.engine.throughput.stored_state import StoredState
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.throughput")

SAVE_INTERVAL_NS = 60 * 1_000_000_000
SAVES_PER_STEP = 32
EVENTS_KEPT = 1000


class Background:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        stored: StoredState,
        tables: Mapping[str, TableMeter],
        clocks: Mapping[str, RegistryClock],
    ) -> None:
        """tables: by table id. clocks: by namespace. Both are read only."""
        self._store = store
        self._clock = clock
        self._stored = stored
        self._tables = tables
        self._clocks = clocks
        self._is_movable = isinstance(clock, MovableClock)
        """Whether much time may pass at once. Measurements then take no time."""
        self.leads = not store.shared
        """Whether this node splits partitions, and stores them: of several nodes one does."""
        self._lock = asyncio.Lock()
        self._to_save: deque[str] = deque()
        self._next_save_ns = 0
        self.to_reconcile: dict[str, None] = {}
        """Ids of tables whose partition counts are to be made equal to their usage; an ordered set."""
        self.measurements = Measurements(store)
        self.recent: deque[dict[str, Any]] = deque(maxlen=EVENTS_KEPT)
        """The latest splits, rejected splits and growth, for the admin API."""

    async def lead(self) -> None:
        """Makes this node the one that splits partitions."""
        self._set_leads(True)

    async def follow(self) -> None:
        """Leaves splits to another node."""
        self._set_leads(False)

    def _set_leads(self, leads: bool) -> None:
        self.leads = leads
        for meter in self._tables.values():
            for index in meter.provisions:
                meter.resource_of(index).leads = leads

    async def step(self) -> bool:
        """Runs one step, bounded unless a clock was moved. Returns whether there is more to do."""
        async with self._lock:
            return await self._step()

    async def _step(self) -> bool:
        if self._is_movable:
            await self._catch_up()
        for clock in self._clocks.values():
            clock.now()
            self._handle_events(clock)
        await self._reconcile_next()
        now = self._clock.now_ns()
        if now >= self._next_save_ns and self.leads:
            self._next_save_ns = now + SAVE_INTERVAL_NS
            self._to_save = deque(self._tables)
            if self._store.shared:  # other nodes write too
                self.to_reconcile.update({name: None for name, each in self._tables.items() if each.enforced})
        for _ in range(min(SAVES_PER_STEP, len(self._to_save))):
            meter = self._tables.get(self._to_save.popleft())
            if meter is not None and self.leads:
                await self._stored.save(meter)
        await self._stored.delete()
        if self.measurements.busy and not self.to_reconcile:
            await self._measure_partition()
        return bool(self._to_save or self.to_reconcile or self.measurements.busy)

    async def _catch_up(self) -> None:
        """After a clock was moved: stops at each moment at which a partition is full or a split ends, so that
        each is measured and split at its own time, not when all the time has passed."""
        for clock in list(self._clocks.values()):
            now = clock.clock_now()
            if now < clock.registry.due:
                continue
            while self.to_reconcile:
                await self._reconcile_next()
            examined: dict[Resource, set[str]] = defaultdict(set)
            try:
                await self._handle_all(clock)
                while (moment := _next_full(clock.registry, examined)) is not None and moment <= now:
                    clock.hold(moment)
                    clock.now()
                    await self._handle_all(clock)
            finally:
                clock.hold(None)

    async def _handle_all(self, clock: RegistryClock) -> None:
        """Handles events, measures partitions and splits full ones until nothing is left to do."""
        while clock.events or self.measurements.busy:
            self._handle_events(clock)
            if self.measurements.busy:
                await self._measure_partition()

    def _handle_events(self, clock: RegistryClock) -> None:
        while clock.events:
            self._handle(clock, clock.events.popleft())

    def _handle(self, clock: RegistryClock, event: Event) -> None:
        described = to_json(event)
        self.recent.append(described)
        log.info("%s", described)
        for meter in self._tables.values():
            for index, provision in meter.provisions.items():
                if provision.arn != event.arn or meter.clock is not clock:
                    continue
                if isinstance(event, SplitDue):
                    self.measurements.request(meter, index, event.partition, event.at_ns)
                else:
                    self._to_save.append(meter.table_id)
                return

    async def _measure_partition(self) -> None:
        """Continues a measurement. When it ends, the partition is split if it is full."""
        measured = await self.measurements.step()
        if measured is None:
            return
        measurement, rows = measured
        meter = measurement.meter
        now = measurement.due_ns if self._is_movable else meter.now()
        resource = meter.resource_of(measurement.index)
        meter.changed(
            resource, resource.split_by_size(measurement.part.id, rows, now, written=measurement.written)
        )

    async def _reconcile_next(self) -> None:
        if self.to_reconcile:
            table_id = next(iter(self.to_reconcile))
            del self.to_reconcile[table_id]
            if table_id in self._tables:
                await self.reconcile(self._tables[table_id])

    async def reconcile(self, meter: TableMeter) -> None:
        """Makes the counts of the partitions add up to what the table holds."""
        self.measurements.restart(meter)
        for index, provision in meter.provisions.items():
            items = size_bytes = 0
            for part in (*provision.parts, *provision.local_parts):
                part_items, part_bytes = await self._store.usage(part)
                size_bytes += part_bytes - STORAGE_OVERHEAD_BYTES * part_items
                items += part_items if part in provision.parts else 0
            meter.resource_of(index).reconcile(size_bytes, items)


def _next_full(registry: ResourceRegistry, examined: dict[Resource, set[str]]) -> int | None:
    """Returns when the next partitions that are not in `examined` are full, or the next split ends, and adds
    the partitions to `examined`. A partition that cannot be cut stays full; it is examined once."""
    resources = registry.resources.values()
    found = [(*full, resource) for resource in resources if (full := resource.next_full(examined[resource]))]
    if not found:
        return None
    moment = min(at for at, _, _ in found)
    for at, parts, resource in found:
        if at == moment:
            examined[resource].update(parts)
    return moment
