"""The fluid engine: one step per second, over rates instead of requests.

Each second the requests of every stream are divided over the partitions by the weights of its keys
(`Share`s). Where everything fits, it is charged at once. Where something is short, every gate lets through
the fraction that its units allow (planner/balance.py), refusals are blamed on the gate that stopped them, in
the service's order, and refused requests come back in later steps if their clients retry.

Counts are integers, and no division loses any of them.
Charging is the core's own (`Lane.settle_many`), at the beginning of the second and with the second's income
included, which is what a bucket can serve in it.

What the engine leaves out, and the engine of events has: the order of requests within a second, and
overdrafts by single requests that cost more than their bucket holds. Source: capacity.md section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.partitions import Cell, Partition
from faradisc.capacity.throttle import Cause
from faradisc.planner.balance import Demand, IndexDemand, balance
from faradisc.planner.keys import ONE, Shape
from faradisc.planner.observe import FlowNote, LaneNote, Observer
from faradisc.planner.retries import ONE as CERTAIN
from faradisc.planner.retries import Retries
from faradisc.planner.shares import BITS, Division, Gates, Share
from faradisc.planner.streams import Flow, Stream
from faradisc.planner.world import World

_MASK = ONE - 1
_WATCHED_PLACES = 16
"""Places by which the tail of a watched partition is represented."""
RATIO = 1 << 30


class StreamState:
    """One stream under way."""

    __slots__ = ("division", "flow", "gate", "indexes", "number", "retries", "shape", "stream", "turn")

    def __init__(self, stream: Stream, flow: FlowNote, retries: Retries, number: int, gates: Gates) -> None:
        self.stream = stream
        self.flow = flow
        self.retries = retries
        self.number = number
        self.gate = gates.lane(stream.note)
        self.division = Division()
        self.indexes = [Division() for _ in stream.indexes]
        self.turn = 0
        self.shape: Shape | None = None
        """Of the latest second with requests."""


Batch = tuple[StreamState, int, Shape]
"""The requests of one stream in one second: how many, and their keys."""


class Source(Protocol):
    """Where the requests of each second come from."""

    def take(self, second: int) -> Iterable[Batch]: ...


class FlowSource:
    """A flow of the plan."""

    def __init__(self, flow: Flow, states: list[StreamState]) -> None:
        self._flow = flow
        self._states = states

    def take(self, second: int) -> Iterable[Batch]:
        _, counts, shape = self._flow.take(second)
        return [(state, count, shape) for state, count in zip(self._states, counts, strict=True)]


class FluidEngine:
    def __init__(self, world: World, observer: Observer) -> None:
        self._world = world
        self._observer = observer
        self._gates = Gates()
        self._sources: list[Source] = []
        self._states: list[StreamState] = []
        self._retrying: dict[int, dict[tuple[int, Cell], list[int]]] = {}
        """By second: requests that come back, by stream and partition, per attempt."""
        self._retry_left: dict[tuple[int, int, int], int] = {}

    def add_flow(self, flow: Flow) -> None:
        """Run a flow of the plan."""
        states = [self.new_state(stream, flow.note, flow.plan.retries) for stream in flow.streams]
        self._sources.append(FlowSource(flow, states))

    def add_source(self, source: Source) -> None:
        self._sources.append(source)

    def new_state(self, stream: Stream, flow: FlowNote, retries: Retries) -> StreamState:
        """A stream joins."""
        state = StreamState(stream, flow, retries, len(self._states), self._gates)
        self._states.append(state)
        return state

    def run(self, duration_s: int) -> int:
        world, observer = self._world, self._observer
        for second in range(duration_s):
            now = world.start_ns + second * SECOND_NS
            if now >= world.due:
                world.advance(now)
                self._gates.forget_retired()
            self._step(second, now)
            observer.end_second(second)
        for waiting in self._retrying.values():
            for (number, _), counts in waiting.items():
                self._states[number].flow.lost += sum(counts)
        world.advance(world.start_ns + duration_s * SECOND_NS - 1)
        return duration_s

    # --- One second ---------------------------------------------------------------------------

    def _step(self, second: int, now: int) -> None:
        demands = self._demands(second)
        if not demands:
            return
        short = False
        for demand in demands:
            short |= demand.load_gates(now)
        for demand in demands:
            short = short or demand.short()
        if short:
            balance(demands)
            for demand in demands:
                self._serve_some(demand, second, now)
        else:
            for demand in demands:
                self._serve_all(demand, now)

    def _demands(self, second: int) -> list[Demand]:
        demands: list[Demand] = []
        waiting = self._retrying.pop(second, None) or {}
        by_stream: dict[int, dict[Cell, list[int]]] = {}
        for (number, cell), counts in waiting.items():
            by_stream.setdefault(number, {})[cell] = counts
        for source in self._sources:
            for state, count, shape in source.take(second):
                if count:
                    state.shape = shape
                    back = by_stream.pop(state.number, None)
                    demands.append(self._demand(state, count, shape, second, back))
        for number, back in by_stream.items():
            state = self._states[number]
            assert state.shape is not None
            demands.append(self._demand(state, 0, state.shape, second, back))
        return demands

    def _demand(
        self, state: StreamState, count: int, shape: Shape, second: int, back: dict[Cell, list[int]] | None
    ) -> Demand:
        stream = state.stream
        shares = state.division.of(shape, stream.note, self._gates)
        if count:
            _offer(stream.note, state.division, stream.half_units, count, stream.eventual)
        portions = list(zip(shares, state.division.divide(count), strict=True))
        demand = Demand(state, portions, stream.half_units, state.gate)
        if back:
            _return(demand, back, shares, self._gates, shape)
        for index, division in zip(stream.indexes, state.indexes, strict=True):
            index_shape = index.keys.shape(second, 0, max(count, 1))
            index_shares = division.of(index_shape, index.note, self._gates)
            if count and index.half_units:
                _offer(index.note, division, index.half_units, count, False)
            demand.indexes.append(IndexDemand(index, index_shares, self._gates.lane(index.note)))
        return demand

    # --- Charging -----------------------------------------------------------------------------

    def _serve_all(self, demand: Demand, now: int) -> None:
        state = demand.state
        total = 0
        for share, count in demand.portions:
            if count:
                self._charge(state, share, count, now)
                state.stream.note.second_offered += count * state.stream.half_units
                total += count
        flow = state.flow
        flow.attempts += total
        flow.admitted += total
        flow.at_attempt[1] += total
        flow.waits[0] += total
        self._count_units(state, total)
        for index in demand.indexes:
            index.charge.note.second_offered += total * index.charge.half_units
            self._charge_index(state, index, total, now, [1.0] * len(index.shares))

    def _count_units(self, state: StreamState, admitted: int) -> None:
        half_units = admitted * state.stream.half_units
        if state.stream.note.writes:
            state.flow.write_half += half_units
        else:
            state.flow.read_half += half_units

    def _charge(self, state: StreamState, share: Share, count: int, now: int) -> None:
        stream, cell = state.stream, share.cell
        note, lane = stream.note, stream.note.lane
        if cell.watch is None:
            lane.settle_many(cell, b"", stream.half_units, count, now, eventual=stream.eventual)
        else:
            state.turn += 1
            shape = state.division.shape
            assert shape is not None
            for place, part in _places(share, shape, count, state.turn):
                lane.settle_many(cell, place, stream.half_units, part, now, eventual=stream.eventual)
        half_units = count * stream.half_units
        note.second_consumed += half_units
        note.cell(cell).half_units += half_units
        if stream.grows or stream.items:
            _grow(cell.partition, count * stream.grows, count * stream.items)

    def _charge_index(
        self, state: StreamState, index: IndexDemand, admitted: int, now: int, passing: list[float]
    ) -> None:
        """Divide admitted writes over the index's partitions, in proportion to what each lets through."""
        charge = index.charge
        note, lane = charge.note, charge.note.lane
        total = sum(share.weight * ratio for share, ratio in zip(index.shares, passing, strict=True))
        if not total or not admitted:
            return
        rest = admitted
        last = len(index.shares) - 1
        for position, (share, ratio) in enumerate(zip(index.shares, passing, strict=True)):
            part = int(share.weight * ratio / total * RATIO)
            owed = share.owed + admitted * part
            count = rest if position == last else min(owed // RATIO, rest)
            share.owed = owed - count * RATIO
            rest -= count
            if not count:
                continue
            if charge.grows:
                _grow(share.cell.partition, count * charge.grows, 0)
            if not charge.half_units:
                continue
            if share.cell.watch is None:
                lane.settle_many(share.cell, b"", charge.half_units, count, now)
            else:
                state.turn += 1
                division = state.indexes[state.stream.indexes.index(charge)]
                assert division.shape is not None
                for place, some in _places(share, division.shape, count, state.turn):
                    lane.settle_many(share.cell, place, charge.half_units, some, now)
            half_units = count * charge.half_units
            note.second_consumed += half_units
            note.cell(share.cell).half_units += half_units
            state.flow.write_half += half_units

    # --- Where something is short -------------------------------------------------------------

    def _serve_some(self, demand: Demand, second: int, now: int) -> None:
        state = demand.state
        flow, stream = state.flow, state.stream
        through = demand.index_ratio()
        admitted_total = attempts_total = 0
        for position, (share, _) in enumerate(demand.portions):
            base = demand.gate.ratio * share.gate.ratio
            attempts, admitted = self._attempts(demand, position, base * through, second)
            if not attempts:
                continue
            attempts_total += attempts
            if admitted:
                self._charge(state, share, admitted, now)
                admitted_total += admitted
            self._blame(demand, share, attempts, admitted, base)
        flow.attempts += attempts_total
        flow.admitted += admitted_total
        flow.throttled += attempts_total - admitted_total
        stream.note.second_offered += attempts_total * stream.half_units
        self._count_units(state, admitted_total)
        for index in demand.indexes:
            index.charge.note.second_offered += attempts_total * index.charge.half_units
            passing = [share.gate.ratio for share in index.shares]
            self._charge_index(state, index, admitted_total, now, passing)
            through_all = admitted_total / attempts_total if attempts_total else 1.0
            self._blame_index(index, attempts_total, through_all)

    def _attempts(self, demand: Demand, position: int, ratio: float, second: int) -> tuple[int, int]:
        """All attempts of one portion in this second: how many there are, how many are admitted."""
        state = demand.state
        share, first = demand.portions[position]
        back = demand.back.get(position)
        retries = state.retries
        fixed = min(int(ratio * RATIO), RATIO)
        while len(share.left) < retries.attempts:
            share.left.append(0)
        attempts = admitted = 0
        again = 0
        for number in range(retries.attempts):
            count = (first if number == 0 else 0) + again + (back[number] if back else 0)
            again = 0
            if not count:
                continue
            through, share.left[number] = divmod(share.left[number] + count * fixed, RATIO)
            through = min(through, count)
            attempts += count
            admitted += through
            state.flow.at_attempt[number + 1] += through
            state.flow.waits[_mean_wait_ms(retries, number)] += through
            refused = count - through
            if refused and number + 1 < retries.attempts:
                again = self._come_back(state, share.cell, number, refused, second)
            elif refused:
                state.flow.lost += refused
        return attempts, admitted

    def _come_back(self, state: StreamState, cell: Cell, number: int, refused: int, second: int) -> int:
        """Refused requests wait; returns those that come back within this second."""
        chances = state.retries.later[number]
        at_once = 0
        rest = refused
        for later, chance in enumerate(chances):
            key = (state.number, number, later)
            count, left = divmod(self._retry_left.get(key, 0) + refused * chance, CERTAIN)
            count = rest if later == len(chances) - 1 else min(count, rest)
            self._retry_left[key] = left
            rest -= count
            if not count:
                continue
            if later == 0:
                at_once = count
                continue
            waiting = self._retrying.setdefault(second + later, {})
            counts = waiting.setdefault((state.number, cell), [0] * state.retries.attempts)
            counts[number + 1] += count
        return at_once

    @staticmethod
    def _blame(demand: Demand, share: Share, attempts: int, admitted: int, base: float) -> None:
        """Refusals of the table itself, by gate; those of indexes are counted there."""
        note = demand.state.stream.note
        # Without indexes whoever is not admitted was refused here; with them, whom the table's gates stop.
        refused = round(attempts * (1 - base)) if demand.indexes else attempts - admitted
        if refused:
            whole = 0.0 if base >= 1 else (1 - demand.gate.ratio) / (1 - base)
            first, share.refused_left[0] = divmod(share.refused_left[0] + refused * int(whole * RATIO), RATIO)
            first = min(first, refused)
            if first:
                cause = demand.gate.cause
                note.refuse(cause, first)
                note.lane.events[cause] += first
            second = refused - first
            if second:
                _refuse_at(note, share.cell, second)
        denied = attempts - admitted
        if denied:
            for name, weight in share.hot:
                count = denied * weight // share.weight if share.weight else 0
                if count:
                    note.book.throttle(name, count)

    @staticmethod
    def _blame_index(index: IndexDemand, attempts: int, through_all: float) -> None:
        """Refusals of an index. One that is out of units together with its table is out of them whenever
        the table is."""
        note = index.charge.note
        ratio = min(index.gate.ratio, through_all) if index.gate.binds else index.gate.ratio
        whole = round(attempts * (1 - ratio))
        if whole:
            cause = index.gate.cause
            note.refuse(cause, whole)
            note.lane.events[cause] += whole
        for share in index.shares:
            ratio = share.gate.ratio
            if ratio >= 1:
                continue
            refused = round(attempts * index.gate.ratio * share.weight / ONE * (1 - ratio))
            if refused:
                _refuse_at(note, share.cell, refused)
                for name, weight in share.hot:
                    count = refused * weight // share.weight
                    if count:
                        note.book.throttle(name, count)


def _refuse_at(note: LaneNote, cell: Cell, count: int) -> None:
    """A partition has refused so many requests."""
    note.refuse(Cause.KEY_RANGE, count, cell)
    note.lane.events[Cause.KEY_RANGE] += count
    cell.throttled += count
    cell.throttled_total += count


def _offer(note: LaneNote, division: Division, half_units: int, count: int, eventual: bool) -> None:
    """First attempts, in the book of keys."""
    book = note.book
    total = half_units * count
    book.half_units += total
    book.load += total * (note.lane.eventual_half if eventual else HALF_UNIT)
    for few in division.few:
        if not few.name:
            continue
        few.left += count * few.weight
        mine = few.left >> BITS
        if mine:
            few.left &= _MASK
            book.offer(few.name, half_units, mine)


def _return(
    demand: Demand, back: dict[Cell, list[int]], shares: list[Share], gates: Gates, shape: Shape
) -> None:
    """Put requests that come back to their partitions; those of a partition that has split to all."""
    positions = {share.cell: position for position, share in enumerate(shares)}
    for cell, counts in back.items():
        position = positions.get(cell)
        if position is None and cell.partition.state != "retired":
            position = len(demand.portions)
            demand.portions.append((Share(cell, 0, shape, gates.cell(cell)), 0))
        if position is None:
            position = _child_of(cell.partition, shares)
        held = demand.back.setdefault(position, [0] * len(counts))
        for number, count in enumerate(counts):
            held[number] += count


def _child_of(parent: Partition, shares: list[Share]) -> int:
    """The heaviest share within a partition that has split."""
    within = [position for position, share in enumerate(shares) if parent.holds(share.cell.partition.low)]
    return max(within or range(len(shares)), key=lambda position: shares[position].weight)


def _grow(part: Partition, size_bytes: int, items: int) -> None:
    part.bytes = max(part.bytes + size_bytes, 0)
    part.items = max(part.items + items, 0)


def _mean_wait_ms(retries: Retries, number: int) -> int:
    return round(sum(wait.mean_ms for wait in retries.waits[:number]))


def _places(share: Share, shape: Shape, count: int, turn: int) -> list[tuple[bytes, int]]:
    """Places that stand for `count` requests in a partition whose keys are being watched: its heavy keys
    one by one, the rest by a few places that move from second to second."""
    part = share.cell.partition
    found: list[tuple[bytes, int]] = []
    rest = count
    for key, weight in sorted(share.keys, key=lambda pair: (-pair[1], pair[0].name))[:64]:
        mine = min(count * weight // max(share.weight, 1), rest)
        if not mine:
            break
        places = shape.sort_places(key, part.low, part.high, min(mine, _WATCHED_PLACES), turn)
        each, over = divmod(mine, len(places)) if places else (0, 0)
        found += [(place, each + (position < over)) for position, place in enumerate(places)]
        rest -= mine if places else 0
    if rest > 0:
        found += _tail_places(share, rest, turn)
    return found


def _tail_places(share: Share, count: int, turn: int) -> list[tuple[bytes, int]]:
    low, high = share.gate.bounds
    if high - low < _WATCHED_PLACES:
        return [(share.cell.partition.low, count)]
    number = min(count, _WATCHED_PLACES)
    each, over = divmod(count, number)
    step = (high - low) // number
    shift = turn * 0x9E3779B97F4A7C15 % step
    return [
        ((low + step * position + shift).to_bytes(16, "big"), each + (position < over))
        for position in range(number)
    ]
