"""The tables of a plan as resources of the capacity core, and everything slow that happens to them.

An engine owns the clock: it calls `advance(now)` whenever `now >= due` and charges requests in between. A
world lets the core take its steps, answers partitions that have outgrown their size, carries out the plan's
own changes, and lets auto scaling (tools/planner/simulation/auto_scaler.py) act.

Whoever watches is told at once: `on_event` of what the core reports, `on_change` of the plan's own changes.

Sources: capacity.md sections 2.4 (topology), 2.12 (changes, decreases), 3.1 (virtual time).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from random import Random

from faradisc.capacity import topology
from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.controlplane import DecreaseLog, Durations, ThroughputChange, check_changes
from faradisc.capacity.events import Event, SplitDue
from faradisc.capacity.resource import Resource
from faradisc.capacity.usage import MinuteUsage
from faradisc.tools.planner.plan_file.plan import Change, IndexPlan, Plan, Rates, TablePlan

DURATIONS = Durations()
Settle = Callable[[int], None]
"""What is done when an update has settled; it is given the moment."""
Update = tuple[int, Settle]
"""One part of an UpdateTable: when it can settle, and what is done then."""
_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
"""Nobody sees it; resources have names here."""


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
    def rates(self) -> Rates:
        return self.index.rates if self.index is not None else self.table.rates

    def lane(self, writes: bool) -> Lane:
        return self.resource.writes if writes else self.resource.reads


class VirtualTables:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.start_ns = plan.start_s * SECOND_NS
        self.members: list[VirtualResource] = []
        self.on_event: Callable[[VirtualResource, Event], None] = lambda member, event: None
        self.on_change: Callable[[VirtualResource, int, str], None] = lambda member, at_ns, words: None
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._timers_set = 0
        self._updating: dict[str, int] = {}
        """Until when tables are UPDATING, with their indexes."""
        self.due = self.start_ns
        for table in plan.tables:
            self._add(table, None)
            for index in table.globals:
                self._add(table, index)
            for at_s, changes in groupby(table.changes, lambda change: change.at_s):
                self._schedule(table, list(changes), self.start_ns + at_s * SECOND_NS)
        self._find_due()

    # --- What there is ------------------------------------------------------------------------

    @property
    def limits_debt(self) -> bool:
        """Whether there are buckets that may owe no more than so much."""
        return any(table.config.max_debt_s is not None for table in self.plan.tables)

    def member(self, table: str, index: str | None = None) -> VirtualResource:
        """Raises: KeyError."""
        for member in self.members:
            if member.table.name == table and (member.index.name if member.index else None) == index:
                return member
        raise KeyError((table, index))

    def _add(self, table: TablePlan, index: IndexPlan | None) -> None:
        rates = index.rates if index is not None else table.rates
        entry_bytes = index.entry_bytes if index is not None else None
        item_bytes = table.item_bytes if entry_bytes is None else entry_bytes
        items = table.items if index is None else int(table.items * index.share)
        name = table.name if index is None else f"{table.name}/index/{index.name}"
        listeners: list[Callable[[MinuteUsage], None]] = []

        def tell(usage: MinuteUsage) -> None:
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
            # Each has chances of its own: what one resource draws does not depend on when others do.
            chance=Random(f"{self.plan.seed}/{name}"),
            on_minute=tell,
        )
        if rates.warm is not None:
            resource.reach_warm(*rates.warm, self.start_ns)
        _fill(resource, items, item_bytes)
        self.members.append(
            VirtualResource(name, table, index, resource, was_on_demand=rates.on_demand, on_minute=listeners)
        )

    @staticmethod
    def _partitions(table: TablePlan, index: IndexPlan | None, rates: Rates, size_bytes: int) -> int:
        """How many partitions a resource begins with: as the plan says, else what rates and size need."""
        stated = index.partitions if index is not None else table.partitions
        if stated is not None:
            return stated
        if rates.on_demand:
            warm = rates.warm or (12_000, 4_000)
            by_size = topology.needed_partitions(0, 0, size_bytes, table.config)
            return max(topology.on_demand_partitions(max(warm[0], 12_000), max(warm[1], 4_000)), by_size)
        return topology.needed_partitions(rates.read_units, rates.write_units, size_bytes, table.config)

    # --- Time ---------------------------------------------------------------------------------

    def at(self, moment_ns: int, action: Callable[[int], None]) -> None:
        """Have something done at a moment; the action is given the moment."""
        self._timers_set += 1
        heappush(self._timers, (moment_ns, self._timers_set, action))
        self.due = min(self.due, moment_ns)

    @property
    def same_until(self) -> int:
        """Until when `advance` only counts, what others may do to the world left out."""
        timers = [at_ns for at_ns, _, _ in self._timers[:1]]
        return min([*timers, *(member.resource.same_until for member in self.members)])

    def advance(self, now: int) -> None:
        """Let time pass until `now`, everything in order of time; resources before timers."""
        while self.due <= now:
            moment = self.due
            for member in self.members:
                if member.resource.due <= moment:
                    for event in member.resource.advance(moment):
                        self._report(member, event)
            while self._timers and self._timers[0][0] <= moment:
                at_ns, _, action = heappop(self._timers)
                action(at_ns)
            self._find_due()

    def _find_due(self) -> None:
        moments = [member.resource.due for member in self.members]
        if self._timers:
            moments.append(self._timers[0][0])
        self.due = min(moments)

    def _report(self, member: VirtualResource, event: Event) -> None:
        self.on_event(member, event)
        if not isinstance(event, SplitDue):
            return
        part = member.resource.partitions.by_id(event.partition)
        if part is not None:
            survey = topology.EvenSizes(part)
            for answer in member.resource.split_by_size(part.id, survey, event.at_ns):
                self.on_event(member, answer)

    # --- Changes ------------------------------------------------------------------------------

    def updating_until(self, member: VirtualResource, now: int) -> int:
        """When the member's table takes another UpdateTable: `now`, or when the one under way has settled."""
        return max(now, self._updating.get(member.table.name, now))

    def update(
        self, member: VirtualResource, read_units: int, write_units: int, now: int, then: Settle
    ) -> None:
        """UpdateTable is called for provisioned rates: the splits they need begin, and when those are done
        and the update has settled, the rates take effect. Requires: the table is not UPDATING."""
        self._settle(member.table, [self._raise(member, read_units, write_units, now, then)])

    def _raise(
        self, member: VirtualResource, read_units: int, write_units: int, now: int, then: Settle
    ) -> Update:
        ready = member.resource.ready_for(read_units, write_units, now)
        self._tell(member, member.resource.prepare(read_units, write_units, now))

        def settle(at: int) -> None:
            self._set_rates(member, read_units, write_units, at)
            then(at)

        return ready + DURATIONS.update_throughput * SECOND_NS, settle

    def _settle(self, table: TablePlan, parts: list[Update]) -> None:
        """The parts of one UpdateTable take effect together, when the last of them can."""
        settles = self._updating[table.name] = max(settles for settles, _ in parts)
        for _, settle in parts:
            self.at(settles, settle)

    def _set_rates(self, member: VirtualResource, read_units: int, write_units: int, now: int) -> None:
        member.was_on_demand = member.was_on_demand or member.resource.on_demand
        self._tell(member, member.resource.set_provisioned(read_units, write_units, now))

    def _tell(self, member: VirtualResource, events: list[Event]) -> None:
        """A resource was changed."""
        for event in events:
            self._report(member, event)
        self.due = min(self.due, member.resource.due)

    def _schedule(self, table: TablePlan, changes: list[Change], at_ns: int) -> None:
        self.at(at_ns, lambda now: self._call_update(table, changes, now))

    def _call_update(self, table: TablePlan, changes: list[Change], now: int) -> None:
        """The plan calls UpdateTable, with all it wants of a table and its indexes at one moment; again and
        again while the table is UPDATING."""
        until = self.updating_until(self.member(table.name), now)
        if until > now:
            self._schedule(table, changes, until)
            return
        parts = [self._begin(self.member(table.name, change.index), change, now) for change in changes]
        accepted = [part for part in parts if part is not None]
        if accepted:
            self._settle(table, accepted)

    def _begin(self, member: VirtualResource, change: Change, now: int) -> Update | None:
        """One part of an UpdateTable; None when it is refused."""
        resource = member.resource
        if change.to_on_demand:
            ready = now + DURATIONS.ns(DURATIONS.to_on_demand, before=member.was_on_demand)
            return ready, lambda at: self._become_on_demand(member, at)
        present = (resource.read_units, resource.write_units)
        read = change.read_units or present[0] or 1
        write = change.write_units or present[1] or 1
        refused = check_changes(
            [ThroughputChange(member.name, present, (read, write), member.decreases)], now
        )
        if refused is not None:
            self.on_change(member, now, f"UpdateTable to {read:,} RCU and {write:,} WCU refused: {refused}")
            return None

        def told(at: int) -> None:
            count = len(resource.partitions)
            words = f"UpdateTable: {read:,} RCU and {write:,} WCU from now on, over {count} partitions"
            self.on_change(member, at, words)

        if not resource.on_demand:
            return self._raise(member, read, write, now, told)

        def settle(at: int) -> None:
            self._set_rates(member, read, write, at)
            told(at)

        return now + DURATIONS.ns(DURATIONS.to_provisioned, before=False), settle

    def _become_on_demand(self, member: VirtualResource, now: int) -> None:
        member.was_on_demand = True
        self._tell(member, member.resource.set_on_demand(now))
        self.on_change(member, now, "UpdateTable: on demand from now on")


def _fill(resource: Resource, items: int, item_bytes: int) -> None:
    """Items that are there from the beginning, evenly over the partitions."""
    parts = resource.partitions.partitions
    each, rest = divmod(items, len(parts))
    for position, part in enumerate(parts):
        part.items = each + (position < rest)
        part.bytes = part.items * item_bytes
