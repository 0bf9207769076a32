"""The tables of a plan as resources of the capacity core: splits, changes of the plan, timers.

An engine owns the clock: it calls `advance(now)` when `now >= due` and charges requests in between.
`on_event` is called at once with what the core reports, and `on_change` with the plan's own changes.

Sources: capacity.md sections 2.4 (topology), 2.12 (changes, decreases), 3.1 (virtual time).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate, groupby, pairwise
from math import ceil
from random import Random

from faradisc.capacity import topology
from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.controlplane import DecreaseLog, Durations, ThroughputChange, check_changes
from faradisc.capacity.events import Event, SplitDue
from faradisc.capacity.resource import Resource
from faradisc.capacity.usage import MinuteUsage
from faradisc.records import dataclass, field
from faradisc.tools.planner.plan_file.plan import IndexPlan, Plan, PlanChange, Rates, TablePlan

DURATIONS = Durations()
FULL = Fraction(3, 4)
"""How full partitions are on average where size decides their number: a split leaves two that are half full,
and a full one is split."""
Settle = Callable[[int], None]
"""Called with the moment at which an update takes effect."""
Update = tuple[int, Settle]
"""One part of an UpdateTable: the moment at which it can take effect, and the call that makes it."""
_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
"""Resources of the core need an ARN; it is never shown."""


@dataclass
class VirtualResource:
    """One table or global index of the plan."""

    name: str
    """"Orders" or "Orders/index/by-status"."""
    table: TablePlan
    index: IndexPlan | None
    resource: Resource
    decreases: DecreaseLog = field(default_factory=DecreaseLog)
    was_on_demand: bool = False
    on_minute: list[Callable[[MinuteUsage], None]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str | None]:
        return self.table.name, None if self.index is None else self.index.name

    @property
    def rates(self) -> Rates:
        return self.index.rates if self.index is not None else self.table.rates


class VirtualTables:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.start_ns = plan.start_s * SECOND_NS
        self.resources: list[VirtualResource] = []
        self.on_event: Callable[[VirtualResource, Event], None] = lambda virtual, event: None
        self.on_change: Callable[[VirtualResource, int, str], None] = lambda virtual, at_ns, words: None
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._timers_set = 0
        self._updating: dict[str, int] = {}
        """By table: the moment until which it is UPDATING, with its indexes."""
        self.due = self.start_ns
        for table in plan.tables:
            self._add(table, None)
            for index in table.globals:
                self._add(table, index)
            for at_s, changes in groupby(table.changes, lambda change: change.at_s):
                self._schedule(table, list(changes), self.start_ns + at_s * SECOND_NS)
        self._find_due()

    # --- Resources ----------------------------------------------------------------------------

    def resource(self, table: str, index: str | None = None) -> VirtualResource:
        """Returns a table or an index. Raises KeyError for an unknown one."""
        for virtual in self.resources:
            if virtual.key == (table, index):
                return virtual
        raise KeyError((table, index))

    def _add(self, table: TablePlan, index: IndexPlan | None) -> None:
        rates = index.rates if index is not None else table.rates
        entry_bytes = index.entry_bytes if index is not None else None
        item_bytes = table.item_bytes if entry_bytes is None else entry_bytes
        items = table.items if index is None else int(table.items * index.share)
        name = table.name if index is None else f"{table.name}/index/{index.name}"
        listeners: list[Callable[[MinuteUsage], None]] = []

        def report(usage: MinuteUsage) -> None:
            for listener in listeners:
                listener(usage)

        resource = Resource(
            _ARN + name,
            "Table" if index is None else "Index",
            table.config,
            self.start_ns,
            read_units=rates.read_units,
            write_units=rates.write_units,
            on_demand=rates.on_demand,
            max_read=rates.max_read,
            max_write=rates.max_write,
            composite=index is not None or table.sort_key,
            local_indexes=index is None and bool(table.locals),
            partitions=self._partitions(table, index, rates, items * item_bytes),
            # Each resource has random numbers of its own, independent of when others draw.
            chance=Random(f"{self.plan.seed}/{name}"),
            on_minute=report,
        )
        if rates.warm is not None:
            resource.reach_warm(*rates.warm, self.start_ns)
        _fill(resource, items, item_bytes, Random(f"{self.plan.seed}/{name}/fill"))
        self.resources.append(
            VirtualResource(name, table, index, resource, was_on_demand=rates.on_demand, on_minute=listeners)
        )

    @staticmethod
    def _partitions(table: TablePlan, index: IndexPlan | None, rates: Rates, size_bytes: int) -> int:
        """Returns the number of partitions at the start: the plan's, else what rates and size need."""
        stated = index.partitions if index is not None else table.partitions
        if stated is not None:
            return stated
        by_size = 1
        if size_bytes > table.config.partition_bytes_max:
            by_size = ceil(size_bytes / (table.config.partition_bytes_max * FULL))
        if rates.on_demand:
            warm = rates.warm or (12_000, 4_000)
            return max(topology.on_demand_partitions(max(warm[0], 12_000), max(warm[1], 4_000)), by_size)
        return max(topology.needed_partitions(rates.read_units, rates.write_units, 0, table.config), by_size)

    # --- Time ---------------------------------------------------------------------------------

    def at(self, moment_ns: int, action: Callable[[int], None]) -> None:
        """Schedules a call; the action is called with the moment."""
        self._timers_set += 1
        heappush(self._timers, (moment_ns, self._timers_set, action))
        self.due = min(self.due, moment_ns)

    def advance(self, now: int) -> None:
        """Lets time pass until `now`, in order of time; resources come before timers."""
        while self.due <= now:
            moment = self.due
            for virtual in self.resources:
                if virtual.resource.due <= moment:
                    for event in virtual.resource.advance(moment):
                        self._report(virtual, event)
            while self._timers and self._timers[0][0] <= moment:
                at_ns, _, action = heappop(self._timers)
                action(at_ns)
            self._find_due()

    def _find_due(self) -> None:
        moments = [virtual.resource.due for virtual in self.resources]
        if self._timers:
            moments.append(self._timers[0][0])
        self.due = min(moments)

    def _report(self, virtual: VirtualResource, event: Event) -> None:
        self.on_event(virtual, event)
        if not isinstance(event, SplitDue):
            return
        part = virtual.resource.partitions.by_id(event.partition)
        if part is not None:
            for answer in virtual.resource.split_by_size(part.id, topology.EvenSizes(part), event.at_ns):
                self.on_event(virtual, answer)

    # --- Changes ------------------------------------------------------------------------------

    def updating_until(self, virtual: VirtualResource, now: int) -> int:
        """Returns the moment from which the table accepts another UpdateTable: `now`, or the end of the one
        under way."""
        return max(now, self._updating.get(virtual.table.name, now))

    def update(
        self, virtual: VirtualResource, read_units: int, write_units: int, now: int, then: Settle
    ) -> None:
        """Calls UpdateTable for provisioned rates: the splits that they need begin, and the rates take effect
        when those are done and the update ends; then `then` is called. Requires: the table is not
        UPDATING."""
        self._settle(virtual.table, [self._raise(virtual, read_units, write_units, now, then)])

    def _raise(
        self, virtual: VirtualResource, read_units: int, write_units: int, now: int, then: Settle
    ) -> Update:
        ready = virtual.resource.ready_for(read_units, write_units, now)
        self._report_all(virtual, virtual.resource.prepare(read_units, write_units, now))

        def settle(at: int) -> None:
            self._set_rates(virtual, read_units, write_units, at)
            then(at)

        return ready + DURATIONS.update_throughput * SECOND_NS, settle

    def _settle(self, table: TablePlan, parts: list[Update]) -> None:
        """Lets the parts of one UpdateTable take effect together, when the last of them can."""
        settles = self._updating[table.name] = max(settles for settles, _ in parts)
        for _, settle in parts:
            self.at(settles, settle)

    def _set_rates(self, virtual: VirtualResource, read_units: int, write_units: int, now: int) -> None:
        virtual.was_on_demand = virtual.was_on_demand or virtual.resource.on_demand
        self._report_all(virtual, virtual.resource.set_provisioned(read_units, write_units, now))

    def _report_all(self, virtual: VirtualResource, events: list[Event]) -> None:
        """Reports the events of a change."""
        for event in events:
            self._report(virtual, event)
        self.due = min(self.due, virtual.resource.due)

    def _schedule(self, table: TablePlan, changes: list[PlanChange], at_ns: int) -> None:
        self.at(at_ns, lambda now: self._call_update(table, changes, now))

    def _call_update(self, table: TablePlan, changes: list[PlanChange], now: int) -> None:
        """Calls UpdateTable with all changes of a table and its indexes at one moment; later, while the table
        is UPDATING."""
        until = self.updating_until(self.resource(table.name), now)
        if until > now:
            self._schedule(table, changes, until)
            return
        parts = [self._begin(self.resource(table.name, change.index), change, now) for change in changes]
        accepted = [part for part in parts if part is not None]
        if accepted:
            self._settle(table, accepted)

    def _begin(self, virtual: VirtualResource, change: PlanChange, now: int) -> Update | None:
        """Begins one part of an UpdateTable. Returns None when it is rejected."""
        resource = virtual.resource
        if change.to_on_demand:
            ready = now + DURATIONS.ns(DURATIONS.to_on_demand, before=virtual.was_on_demand)
            return ready, lambda at: self._switch_to_on_demand(virtual, at)
        present = (resource.read_units, resource.write_units)
        read = change.read_units or present[0] or 1
        write = change.write_units or present[1] or 1
        rejected = check_changes(
            [ThroughputChange(virtual.name, present, (read, write), virtual.decreases)], now
        )
        if rejected is not None:
            self.on_change(
                virtual, now, f"UpdateTable to {read:,} RCU and {write:,} WCU rejected: {rejected}"
            )
            return None

        def report(at: int) -> None:
            count = len(resource.partitions)
            words = f"UpdateTable: {read:,} RCU and {write:,} WCU from now on, over {count} partitions"
            self.on_change(virtual, at, words)

        if not resource.on_demand:
            return self._raise(virtual, read, write, now, report)

        def settle(at: int) -> None:
            self._set_rates(virtual, read, write, at)
            report(at)

        return now + DURATIONS.ns(DURATIONS.to_provisioned, before=False), settle

    def _switch_to_on_demand(self, virtual: VirtualResource, now: int) -> None:
        virtual.was_on_demand = True
        self._report_all(virtual, virtual.resource.set_on_demand(now))
        self.on_change(virtual, now, "UpdateTable: on demand from now on")


def _fill(resource: Resource, items: int, item_bytes: int, chance: Random) -> None:
    """Stores the items of the start. Where they need several partitions, these are filled differently, a
    third more or less than the mean, and in an order of chance: partitions that were split at different times
    do not become full in one second."""
    parts, full = resource.partitions.partitions, resource.config.partition_bytes_max
    count, whole = len(parts), items * item_bytes
    spread = Fraction(0)
    if count > 1 and whole > full:
        spread = min(Fraction(1, 3), max(Fraction(full * count, whole) - 1, Fraction(0)))
    shares = [1 + spread * (2 * place + 1 - count) / count for place in chance.sample(range(count), count)]
    sums = [int(items * part / count) for part in accumulate(shares, initial=Fraction(0))]
    for part, (below, above) in zip(parts, pairwise(sums), strict=True):
        part.items = above - below
        part.bytes = part.items * item_bytes
