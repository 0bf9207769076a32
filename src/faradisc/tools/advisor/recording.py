"""The summary of a recorded trace (docs/formats/trace.md), in memory that does not grow with the trace."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from faradisc.capacity import units
from faradisc.capacity.config import HALF_UNIT, HASH_BYTES, CapacityConfig, Direction
from faradisc.limits import ITEM_SIZE_BYTES_MAX, WRITE_UNIT_BYTES
from faradisc.model.codec.sortkey import decode_component
from faradisc.records import dataclass, field
from faradisc.tools.advisor.definitions import Definition, of_trace
from faradisc.tools.advisor.traffic import (
    Filtered,
    Followers,
    KeyLoad,
    ObservedDemand,
    PagesOfIndex,
    Scans,
    TableTraffic,
    Traffic,
)
from faradisc.tools.planner.results.demand import MINUTE_S
from faradisc.tools.planner.simulation.key_totals import KeyTally
from faradisc.tools.traces.trace_format import READS, Recorded, Trace
from faradisc.tools.traces.trace_writer import TraceCharge

KEYS_SHOWN = 5
POSITIONS_MAX = 10_000
LARGE_MAX = 100
LARGE_BYTES = ITEM_SIZE_BYTES_MAX * 4 // 5
UPDATE_BYTES = 4 * WRITE_UNIT_BYTES
"""Smaller items gain little from a division."""
GAP_S = 0.1
"""Longest pause between requests of one screen."""
FOLLOWERS_MAX = 1000
SHORT_S = 600
RESOURCES_MAX = 10_000
"""Tables and global indexes, by direction; more are skipped."""
ATTRIBUTES_MAX = 1_000
TOGETHER_S = 0.0005
"""Between two actions of a transaction; a request over a network takes longer."""
SET_UP_MIN = 20
SET_UP_PERCENT = 20
"""Of the time, which a set-up takes at most."""
_SUFFIXED = re.compile(r"(.{1,200}?)[.#_-](\d{1,4})")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")

Resource = tuple[str, str | None]


def of_recording(trace: Trace, *, times: int = 1) -> Traffic:
    """Returns the summary of a trace. What is written before the first read, if it is most of all writes and
    takes a short part of ten minutes or more, is a set-up that happens once, and is left out.

    Raises PlanError for a trace without requests."""
    reader, rest, set_up = _Reader(trace, {}), None, 0
    for request in trace.requests():
        if rest is None and (request.operation in READS or request.charges[0].direction == "R"):
            set_up = sum(table.demand(None, "W").requests for table in reader.tables.values())
            rest = _Reader(trace, {}, begin_s=int(request.at_s)) if set_up >= SET_UP_MIN else reader
        if rest is not None and rest is not reader:
            rest.read(request)
        reader.read(request)
    left_out = ""
    if rest is not None and rest is not reader:
        written = sum(table.demand(None, "W").requests for table in reader.tables.values())
        short = rest.begin_s * 100 <= SET_UP_PERCENT * reader.last_s and reader.last_s >= SHORT_S
        if 2 * set_up > written and short:
            before = f"the first {rest.begin_s:,} s, before any read"
            left_out = f"{set_up:,} writes of {before}, are left out: a set-up."
            reader = rest
    if not reader.tables:
        raise trace.nothing(
            "there is no request in this trace", "Record one with faradisc serve --record-trace."
        )
    reader.finish()
    for name, described in trace.tables.items():
        if name not in reader.tables and len(reader.tables) < RESOURCES_MAX and _NAME.fullmatch(name):
            reader.tables[name] = TableTraffic(of_trace(described))
    notes = [f"{trace.skipped} lines were skipped: {'; '.join(trace.mistakes)}."] if trace.skipped else []
    notes += [left_out] if left_out else []
    duration_s = reader.last_s + 1 - reader.begin_s
    if duration_s < SHORT_S:
        notes.append(f"{duration_s:,} s are short: a month is computed as if all of it were like them.")
    return Traffic(f"trace {trace.file}", duration_s, reader.tables, times, notes)


@dataclass
class _Reader:
    trace: Trace
    tables: dict[str, TableTraffic]
    last_s: int = 0
    begin_s: int = 0
    """From which second on it reads; minutes count from there."""
    _second: int = 0
    _tallies: dict[tuple[str, str | None, Direction], _Tally] = field(default_factory=dict)
    _active: dict[tuple[str, str | None, Direction], _Tally] = field(default_factory=dict)
    """Those with a charge in the present second."""
    _positions: defaultdict[Resource, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))
    _pending: tuple[Recorded, TableTraffic] | None = None
    """A write that may be a transaction by itself."""
    _written_s: float = -1
    """The moment of the last write."""
    _leader: _Leader | None = None
    _followers: dict[tuple[Resource, Resource, str], Followers] = field(default_factory=dict)

    def read(self, request: Recorded) -> None:
        if not self._usable(request):
            self.trace.skip(self.trace.line, "a name that no table or index has, or too many of them")
            return
        table = self.tables.get(request.table)
        if table is None:
            described = self.trace.tables.get(request.table)
            table = TableTraffic(of_trace(described) if described else Definition(request.table), added=0)
            self.tables[request.table] = table
        second = max(int(request.at_s), self._second)
        if second > self._second:
            self._end_second()
            self._second = second
        self.last_s = max(self.last_s, second)
        for charge in request.charges:
            self._charge(request, table, charge, second)
        if request.refused is not None:
            self._refuse(request, table)
        elif request.charges[0].direction == "W":
            _write(request, table)
            self._single(request, table)
        else:
            _consistency(request, table)
        if request.operation in ("Query", "Scan"):
            self._page(request, table)
        self._follow(request)

    def _usable(self, request: Recorded) -> bool:
        """Whether the names are valid, and known or still few; names become part of code."""
        names = {request.table, *(charge.index for charge in request.charges if charge.index is not None)}
        return all(map(_NAME.fullmatch, names)) and (
            len(self._tallies) < RESOURCES_MAX
            or all((request.table, each.index, each.direction) in self._tallies for each in request.charges)
        )

    def finish(self) -> None:
        self._end_second()
        self._end_screen()
        self._end_transaction()
        for (name, index, direction), tally in self._tallies.items():
            demand = self.tables[name].demands[index, direction]
            demand.keys = tally.loads(direction)
        for (name, index), positions in self._positions.items():
            self.tables[name].scans[index].runs = max(positions.values(), default=0)
        for (_, (name, _), _), followers in self._followers.items():
            self.tables[name].followers.append(followers)

    def _charge(self, request: Recorded, table: TableTraffic, charge: TraceCharge, second: int) -> None:
        identity = (request.table, charge.index, charge.direction)
        demand = table.demands.setdefault(identity[1:], ObservedDemand())
        tally = self._tallies.get(identity)
        if tally is None:
            tally = self._tallies[identity] = _Tally(_config(self.trace, request.table))
        demand.requests += bool(charge.half_units)
        demand.half_units += charge.half_units
        minute = (second - self.begin_s) // MINUTE_S
        demand.minutes[minute] = demand.minutes.get(minute, 0) + charge.half_units
        self._active[identity] = tally
        tally.second += charge.half_units
        if charge.half_units and request.operation != "Scan":
            name = request.key if charge.index is None and request.key is not None else _shown(charge.place)
            tally.add(name, charge)

    def _end_second(self) -> None:
        for (name, index, direction), tally in self._active.items():
            demand = self.tables[name].demands[index, direction]
            demand.peak_half = max(demand.peak_half, tally.second)
            demand.seconds[tally.second] += 1
            tally.second = 0
            tally.keys.end_second()
        self._active = {}

    def _refuse(self, request: Recorded, table: TableTraffic) -> None:
        """Counts a throttled request. A trace does not say which of several indexes throttled a write: it is
        taken to be the one with the lowest provisioned rate."""
        assert request.refused is not None
        direction = request.charges[0].direction
        charged = [charge.index for charge in request.charges if charge.index is not None]
        index = None
        if request.refused.startswith("Index") and charged:
            rates = {each.name: each.write_units for each in table.definition.indexes}
            index = min(charged, key=lambda name: rates.get(name, 0))
        table.demands[index, direction].throttled += 1
        if request.key is not None and index is None:
            self._tallies[request.table, index, direction].keys.throttle(request.key)

    def _page(self, request: Recorded, table: TableTraffic) -> None:
        first = request.charges[0]
        if request.operation == "Scan":
            scans = table.scans.setdefault(first.index, Scans())
            scans.pages += 1
            assert scans.half_units is not None
            scans.half_units += sum(charge.half_units for charge in request.charges)
            positions = self._positions[request.table, first.index]
            if first.place in positions or len(positions) < POSITIONS_MAX:
                positions[first.place] += 1
        if request.found is not None:
            filtered = table.filtered.setdefault(first.index, Filtered())
            filtered.pages += 1
            filtered.left += request.found[0]
            filtered.given += request.found[1]
            filtered.half_units += sum(charge.half_units for charge in request.charges)
        if first.index is not None:
            pages = table.pages.setdefault(first.index, PagesOfIndex())
            pages.pages += 1
            pages.whole += request.attributes is None
            if len(pages.attributes) < ATTRIBUTES_MAX:
                pages.attributes.update(request.attributes or ())

    # --- Transactions ---

    def _single(self, request: Recorded, table: TableTraffic) -> None:
        """Notes a write that may be a transaction by itself. The actions of a transaction have one moment,
        and cost twice what their sizes do."""
        together = request.at_s - self._written_s < TOGETHER_S
        if together:
            self._pending = None
        else:
            self._end_transaction()
        self._written_s = request.at_s
        table.single_transactions.of += 1
        size = request.item_bytes
        if size is not None and not together:
            plain = 2 * units.write_units(max(size - request.grows_bytes, 0), size)
            if request.charges[0].half_units >= 2 * plain:
                self._pending = (request, table)

    def _end_transaction(self) -> None:
        """Counts a transaction of one write, once another moment shows that it has no more."""
        if self._pending is not None:
            request, table = self._pending
            table.single_transactions.count += 1
            table.single_transactions.half_units += request.charges[0].half_units // 2
        self._pending = None

    # --- Requests that follow a Query ---

    def _follow(self, request: Recorded) -> None:
        first = request.charges[0]
        resource = (request.table, first.index)
        leader = self._leader
        again = leader is not None and request.operation == "Query" and resource == leader.resource
        if leader is not None and (again or request.at_s - leader.last_s > GAP_S):
            self._end_screen()
            leader = None
        if request.operation == "Query" and leader is None:
            self._leader = _Leader(resource, request.at_s)
        elif leader is not None and request.operation in ("Query", "GetItem"):
            leader.last_s = request.at_s
            leader.add((resource, request.operation), first)

    def _end_screen(self) -> None:
        leader, self._leader = self._leader, None
        if leader is None:
            return
        for (resource, operation), (keys, half_units) in leader.found.items():
            shown = leader.resource[0] + (f"/{leader.resource[1]}" if leader.resource[1] else "")
            known = Followers(shown, operation, resource[1])
            followers = self._followers.setdefault((leader.resource, resource, operation), known)
            followers.sizes.add(len(keys))
            followers.half_units += half_units


@dataclass(slots=True)
class _Leader:
    """A Query, and the reads that followed it: their places and half units."""

    resource: Resource
    last_s: float
    found: dict[tuple[Resource, str], tuple[set[bytes], int]] = field(default_factory=dict)

    def add(self, kind: tuple[Resource, str], charge: TraceCharge) -> None:
        places, half_units = self.found.get(kind, (set[bytes](), 0))
        if len(places) < FOLLOWERS_MAX:
            places.add(charge.place)
        self.found[kind] = (places, half_units + charge.half_units)


@dataclass(slots=True)
class _Tally:
    """The keys of one demand, and the half units of the present second."""

    config: CapacityConfig
    keys: KeyTally = field(default_factory=KeyTally)
    second: int = 0

    def add(self, name: str, charge: TraceCharge) -> None:
        self.keys.half_units += charge.half_units
        self.keys.offer(name, charge.half_units)
        more, less = self.config.eventual_read_factor if charge.eventual else (1, 1)
        self.keys.load += charge.half_units * HALF_UNIT * less // more

    def loads(self, direction: Direction) -> tuple[KeyLoad, ...]:
        cap = self.keys.limit_units(self.config, writes=direction == "W")
        total = self.keys.half_units or 1
        return tuple(
            KeyLoad(each.name, 100 * each.half_units / total, each.peak_half / 2, cap, each.throttled)
            for each in self.keys.top(KEYS_SHOWN)
        )


def _config(trace: Trace, table: str) -> CapacityConfig:
    described = trace.tables.get(table)
    return described.config if described is not None else CapacityConfig()


def _consistency(request: Recorded, table: TableTraffic) -> None:
    first = request.charges[0]
    if first.index is not None or request.operation not in ("GetItem", "Query", "Scan", "BatchGetItem"):
        return
    table.consistent.of += 1
    if not first.eventual:
        table.consistent.count += 1
        table.consistent.half_units += sum(charge.half_units for charge in request.charges)


def _write(request: Recorded, table: TableTraffic) -> None:
    size = request.item_bytes
    table.failed.of += 1
    if request.operation == "Write":
        table.failed.count += 1
        table.failed.half_units += request.charges[0].half_units
    if request.key is not None and (parts := _SUFFIXED.fullmatch(request.key)):
        known = table.suffixes
        if parts[1] in known or len(known) < LARGE_MAX:
            suffixes = known.setdefault(parts[1], Counter())
            if parts[2] in suffixes or len(suffixes) < FOLLOWERS_MAX:
                suffixes[parts[2]] += 1
    assert table.added is not None
    table.added += request.grows_items
    table.added_bytes += request.grows_bytes
    table.deletes += request.operation == "DeleteItem"
    if size is None:
        return
    if request.changed_bytes is not None and size >= UPDATE_BYTES:
        updates = table.updates
        updates.count += 1
        updates.half_units += request.charges[0].half_units
        updates.item_bytes += size
        updates.changed_bytes += request.changed_bytes
    large = table.large_items
    if request.key is not None and size >= LARGE_BYTES and (request.key in large or len(large) < LARGE_MAX):
        large[request.key] = max(large.get(request.key, 0), size)


def _shown(place: bytes) -> str:
    """Returns the first component of a key as text, or the beginning of its hash."""
    try:
        text = str(decode_component(place, HASH_BYTES, "S")[0]["S"])
    except (ValueError, IndexError):
        return place[:HASH_BYTES].hex()
    return text if text.isprintable() else place[:HASH_BYTES].hex()
