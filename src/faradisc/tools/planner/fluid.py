"""The fluid engine: one step per second, over rates instead of requests. A second in which a few keys follow
one another has a step for each, if a partition may have too little for it, unless clients retry
(windows.py); if they wait for fixed times, it has ten steps (waves.py). Where seconds are
much work and alike, a step takes several (tools/planner/steady.py).

In each step the requests of every stream are divided over the partitions by the weights of its keys
(`Share`s). Where everything fits, it is charged at once. Where something is short, every gate lets through
the fraction that its units allow (balance.py), refusals are blamed on the gate that stopped them, in
the service's order, and refused requests come back in later steps if their clients retry.

Counts are integers, and no division loses any of them.
Charging is the core's own (`settle_whole`, `settle_partitions`), at the beginning of the step and with
the step's income included, which is what a bucket can serve in it; once for all requests of a stream.

What the engine leaves out, and the engine of events has: the order of requests within a step. Tables on which
it decides how much debt is forgiven are that engine's, as a guest of this one (singly.py). Where
buckets open in step with each other, so that they are not independent, instep.py knows how often both
are open.
Source: capacity.md section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import add

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.config import HALF_UNIT, SECOND_NS, UNIT
from faradisc.capacity.partitions import Partition
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.tools.planner.balance import balance, crowds_of, overdraw
from faradisc.tools.planner.blame import blame
from faradisc.tools.planner.demands import Demand, IndexDemand
from faradisc.tools.planner.filling import Passage, fill
from faradisc.tools.planner.leaning import heed_leaning
from faradisc.tools.planner.lots import Back, StreamState
from faradisc.tools.planner.shares import Crowd, Division, Gates, Share
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.steady import CHARGED_S, LONGEST_S, Steadiness
from faradisc.tools.planner.steps import Batch, FlowSource, Guest, Source, Step
from faradisc.tools.planner.turnstile import EVEN, RATIO
from faradisc.tools.planner.windows import heed_order
from faradisc.tools.planner.workload.key_distributions import BITS, ONE, Shape
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.planner.workload.streams import Flow, Stream

_MASK = ONE - 1
_STEPS_MAX = 6
"""A second is divided into no more parts than this."""


class FluidEngine:
    def __init__(self, world: VirtualTables, recorder: RunRecorder, parts: int = 1) -> None:
        """`parts`: how many ticks a second has, after which those may come back who were refused."""
        self._world = world
        self._parts = parts
        self._observer = recorder
        self._gates = Gates()
        self._sources: list[Source] = []
        self._states: list[StreamState] = []
        self._guests: list[Guest] = []
        self._steadiness = Steadiness()
        self._charged_s = CHARGED_S if world.limits_debt else LONGEST_S
        self._latest: Step | None = None
        self._ticks = 0
        """How many have passed, but for those of long steps: nobody comes back in these."""
        self._short_at: int | None = None
        """The latest tick in which something was short."""
        self._horizon = 0
        """Nobody comes back more ticks later than this."""

    def add_guest(self, guest: Guest) -> None:
        self._guests.append(guest)

    def add_flow(self, flow: Flow) -> None:
        """Run a flow of the plan."""
        states = [self.new_state(stream, flow.record, flow.plan.retries) for stream in flow.streams]
        self._sources.append(FlowSource(flow, states))

    def add_source(self, source: Source) -> None:
        self._sources.append(source)

    def new_state(self, stream: Stream, flow: FlowRecord, retries: Retries) -> StreamState:
        """A stream joins."""
        in_ticks = retries.in_steps_of(1000 // self._parts)
        self._horizon = max(self._horizon, in_ticks.horizon)
        state = StreamState(stream, flow, in_ticks, len(self._states), self._gates)
        self._states.append(state)
        self._steadiness.wait_for(retries)
        return state

    def run(self, duration_s: int) -> int:
        world = self._world
        second = 0
        while second < duration_s:
            now = world.start_ns + second * SECOND_NS
            self._let_pass(now)
            seconds = self._alike(second, now, duration_s)
            if seconds > 1:
                self._long_step(Step(second, now, seconds * SECOND_NS, seconds=seconds))
            else:
                self._step(second, now)
                self._end_second(second)
            second += seconds
        self._tell()
        for state in self._states:
            state.finish()
        for guest in self._guests:
            guest.finish()
        world.advance(world.start_ns + duration_s * SECOND_NS - 1)
        return duration_s

    def _let_pass(self, now: int) -> None:
        """Let time pass in the core, if anything is due there."""
        if now >= self._world.due:
            self._tell()
            self._world.advance(now)
            self._gates.tidy(now)
            self._steadiness.look(self._gates.rates())
            for state in self._states:
                state.forget_retired()

    def _end_second(self, second: int) -> None:
        for guest in self._guests:
            guest.run_second(self._world.start_ns + (second + 1) * SECOND_NS)
        if (second + 1) % self._observer.step_s == 0:
            self._tell()
        self._observer.end_second(second)

    def _tell(self) -> None:
        for state in self._states:
            state.tell()

    # --- Several seconds alike ----------------------------------------------------------------

    def _alike(self, second: int, now: int, duration_s: int) -> int:
        """How many seconds there are from this one on that may be taken in one step."""
        latest = self._latest
        if not self._steadiness.holds or latest is None:
            return 1
        step_s = self._observer.step_s
        most = min(step_s - second % step_s, duration_s - second, LONGEST_S)
        same_s = min(_seconds(self._world.same_until - now), most)
        for seconds in dict.fromkeys((same_s, min(same_s, _seconds(self._world.due - now)))):
            if (
                seconds > 1
                and all(source.alike(second - 1, seconds + 1) for source in self._sources)
                and not self._gates.run_out(latest, now, seconds * SECOND_NS)
            ):
                return seconds
        return 1

    def _long_step(self, step: Step) -> None:
        """Seconds in which everything stays as it is: as many requests come back as are refused and wait. So
        those who wait are left alone, and who comes in this step is tried until he is through or gives up.
        """
        seconds = [
            [batch for source in self._sources for batch in source.take(step.second + passed)]
            for passed in range(step.seconds)
        ]
        together = [
            (state, sum(batches[position][1] for batches in seconds), shape)
            for position, (state, _, shape) in enumerate(seconds[0])
        ]
        states = self._run(step, together)
        parts = [(lane, lane.parts(step.seconds)) for lane in self._observer.lanes]
        charged = 0
        for passed, batches in enumerate(seconds):
            if passed:
                self._let_pass(step.now + passed * SECOND_NS)
            if passed == charged:
                charged = min(passed + self._charged_s, step.seconds)
                _charge(step, states, passed, charged)
            for lane, of_lane in parts:
                lane.take_over(of_lane[passed])
            for state, count, _ in batches:
                if count:
                    offer_all(state, count)
            self._end_second(step.second + passed)

    # --- One second ---------------------------------------------------------------------------

    def _step(self, second: int, now: int) -> None:
        batches = [batch for source in self._sources for batch in source.take(second)]
        cuts = self._cuts(batches, second)
        in_ticks = self._parts > 1 and (bool(cuts) or self._some_may_return)
        if in_ticks:
            cuts = [ONE * part // self._parts for part in range(1, self._parts)]
        else:
            self._ticks += self._parts
            waits = all(state.retries.waits for state, count, _ in batches if count)
            if not cuts or waits or len(cuts) >= _STEPS_MAX:
                self._run(Step(second, now, SECOND_NS, in_order=bool(cuts)), batches)
                return
        for begin, end in pairwise([0, *cuts, ONE]):
            self._ticks += in_ticks
            begin_ns, end_ns = begin * SECOND_NS >> BITS, end * SECOND_NS >> BITS
            mine = [
                (state, state.count_between(count, begin, end, second), shape)
                for state, count, shape in batches
            ]
            self._run(Step(second, now + begin_ns, end_ns - begin_ns, begin, end, has_tick=in_ticks), mine)

    @property
    def _some_may_return(self) -> bool:
        """Whether there may be somebody who will come back."""
        return self._short_at is not None and self._ticks - self._short_at <= self._horizon

    def _cuts(self, batches: list[Batch], second: int) -> list[int]:
        """Where the second is divided: keys that follow one another ask one partition after the other, and
        those that nobody asks for the moment cannot save all that flows in. Nowhere, if one partition could
        serve everything."""
        cuts: set[int] = set()
        asked: dict[Lane, int] = {}
        for state, count, shape in batches:
            if not count:
                continue
            stream = state.stream
            cuts.update(shape.cuts)
            lane = stream.record.lane
            asked[lane] = asked.get(lane, 0) + count * state.division.nano
            for index, division in zip(stream.indexes, state.indexes, strict=True):
                cuts.update(index.keys.shape(second, *state.among).cuts)
                lane = index.record.lane
                asked[lane] = asked.get(lane, 0) + count * division.nano
        if cuts and any(_lacks(lane, nano) for lane, nano in asked.items()):
            return sorted(cuts)
        return []

    def _run(self, step: Step, batches: list[Batch]) -> list[StreamState]:
        """Let requests through. Returns: the streams that take part, charged, except in a long step."""
        for state in self._states:
            state.asked = state.first = 0
        demands = self._demands(step, batches)
        for demand in demands:
            demand.load_gates(step.now, step.lasting_ns)
        crowds = crowds_of(demands)
        for crowd, nano in crowds.items():
            crowd.load_gates(nano, step.now, step.lasting_ns)
        if step.is_part:
            overdraw(demands)
        if step.in_order:
            heed_order(demands, step)
        short = any(demand.returning or demand.short() for demand in demands)
        short = short or any(crowd.short() for crowd in crowds)
        forgives = False
        if short:
            self._short_at = self._ticks
            forgives = self._let_some_through(step, demands)
        else:
            for demand in demands:
                self._serve_all(demand)
        states = list(dict.fromkeys([demand.state for demand in demands]))
        for state in states:
            state.settle()
        if not step.is_long:
            _charge(step, states, 0, 1)
        if short:
            for state in states:
                if not state.keys_move_on:
                    state.separate()
        self._latest = step
        self._note_steadiness(step, demands, forgives)
        return states

    def _let_some_through(self, step: Step, demands: list[Demand]) -> bool:
        """Where something is short. Returns: whether debts may be forgiven."""
        if not step.is_long:
            heed_leaning(demands, step)
        balanced = balance(demands, step.lasting_ns)
        if balanced.begins:
            self._gates.refusals += 1
        for demand in demands:
            self._let_through(demand, step)
        if not step.is_long:
            fill(demands)
        for demand in demands:
            self._serve_some(demand)
        return balanced.forgives

    def _note_steadiness(self, step: Step, demands: list[Demand], forgives: bool) -> None:
        left_behind = any(state.asked and not state.first for state in self._states)
        if step.is_part or step.in_order or left_behind or forgives:
            self._steadiness.forget()
            return
        counts = tuple([state.asked for state in self._states])
        places = sum([demand.places for demand in demands])
        if step.is_long:
            self._steadiness.note_long(counts, step.seconds, places)
        else:
            self._steadiness.note_second(counts, places)

    def _demands(self, step: Step, batches: list[Batch]) -> list[Demand]:
        demands: list[Demand] = []
        asked: set[int] = set()
        for state, count, shape in batches:
            if count:
                state.shape = shape.during(step.begin, step.end) if step.is_part else shape
                asked.add(state.number)
                demands += self._demands_of(state, count, state.shape, step)
        for state in self._states:
            if state.number not in asked and state.shape is not None:
                demands += self._demands_of(state, 0, state.shape, step)
        return demands

    def _demands_of(self, state: StreamState, count: int, shape: Shape, step: Step) -> list[Demand]:
        state.first = count
        stream = state.stream
        shares = state.division.of(shape, stream.record, self._gates)
        of_indexes: list[list[Share]] = []
        for index, division in zip(stream.indexes, state.indexes, strict=True):
            index_shape = index.keys.shape(step.second, *state.among)
            if step.is_part:
                index_shape = index_shape.during(step.begin, step.end)
            of_indexes.append(division.of(index_shape, index.record, self._gates))
        crowd = state.division.crowd(self._gates.refusals)
        state.follow(shares, of_indexes)
        if count and not step.is_long:
            offer_all(state, count)
        asked = [
            (index, position, self._gates.lane(index.record)) for position, index in enumerate(stream.indexes)
        ]
        present: dict[Cell, Share] = {}
        demands: list[Demand] = []
        is_long = step.is_long
        back_at = None if is_long else self._ticks
        for lot, first, portions, back in state.lots(count, back_at, step.rest):
            demand = Demand(state, lot, portions)
            if is_long:
                demand.chains = state.retries.whole_chains
                demand.tries = state.retries.attempts
            together = back.pop(None, None)
            if crowd.shares:
                demand.crowd, demand.crowd_first, demand.crowd_back = crowd, first, together
            elif together is not None:
                cell = max(shares, key=_weight).cell
                back[cell] = list(map(add, back.get(cell) or [0] * len(together), together))
            if back:
                present = present or {share.cell: share for share in shares}
                _return(demand, back, present, self._gates)
            demand.indexes = [
                IndexDemand(index, state.parts(lot, position), gate) for index, position, gate in asked
            ]
            demands.append(demand)
        return demands

    # --- What passes -----------------------------------------------------------------------------

    def _serve_all(self, demand: Demand) -> None:
        state = demand.state
        total = demand.crowd_first + sum(count for _, count in demand.portions)
        if demand.crowd is not None:
            demand.crowd.taken += demand.crowd_first
        for share, count in demand.portions:
            share.taken += count
        self._use(state, total)
        state.asked += total
        state.stream.record.second_offered += total * state.stream.half_units
        flow = state.flow
        flow.attempts += total
        flow.admitted += total
        flow.at_attempt[1] += total
        flow.waits[0] += total
        for index in demand.indexes:
            index.charge.record.second_offered += total * index.charge.half_units
            self._take_of_index(state, index, total)

    @staticmethod
    def _use(state: StreamState, admitted: int) -> None:
        """Count the units that so many requests take from the table."""
        half_units = admitted * state.stream.half_units
        if state.stream.record.writes:
            state.flow.write_half += half_units
        else:
            state.flow.read_half += half_units

    @staticmethod
    def _take_of_index(state: StreamState, index: IndexDemand, admitted: int) -> None:
        """Divide admitted writes over the index's partitions, in proportion to what each lets through."""
        if not admitted:
            return
        if len(index.parts) == 1:
            only, weight = index.parts[0]
            if not weight * only.gate.ratio * index.tilt(only.gate):
                return
            only.taken += admitted
        else:
            parts = [weight * share.gate.ratio * index.tilt(share.gate) for share, weight in index.parts]
            total = sum(parts)
            if not total:
                return
            rest = admitted
            last = len(parts) - 1
            for position, (share, _) in enumerate(index.parts):
                owed = share.owed + admitted * int(parts[position] / total * RATIO)
                count = rest if position == last else max(min(owed // RATIO, rest), 0)
                share.owed = owed - count * RATIO
                rest -= count
                share.taken += count
        state.flow.write_half += admitted * index.charge.half_units

    # --- Where something is short -------------------------------------------------------------

    def _let_through(self, demand: Demand, step: Step) -> None:
        """Let through what the ratios allow."""
        tick, is_long = self._ticks, step.is_long
        whole = demand.gate.ratio
        through = demand.index_ratio()
        lifts = demand.lifts() if demand.in_flocks else None
        most = demand.most
        crowd = demand.state.division.crowd(self._gates.refusals)
        together, portions = demand.crowd_first, demand.portions
        if demand.crowd is not None and demand.crowd is not crowd:
            together, portions = _leave(demand, demand.crowd)
        through_all = 0
        for position, (share, first) in enumerate(portions):
            turnstile = demand.lot.turnstile(share.cell)
            gate = share.gate
            base = whole * gate.ratio
            ratio = base * through
            if lifts is not None:
                ratio *= lifts.get(gate, 1.0)
            may = gate.most if gate.most < most else most
            if is_long:
                attempts, admitted = turnstile.push_through(first, ratio, may)
            else:
                back = demand.back.get(position)
                firsts = demand.firsts.get(position, EVEN) if demand.firsts else EVEN
                attempts, admitted = turnstile.push(first, back, ratio, tick, may, firsts=firsts)
            gate.most -= admitted
            most -= admitted
            through_all += admitted
            demand.passages.append(Passage(share, turnstile, attempts, admitted, base))
        if crowd.shares:
            turnstile = demand.lot.turnstile(None)
            if is_long:
                attempts, admitted = turnstile.push_through(together, whole * through, most)
            else:
                attempts, admitted = turnstile.push(together, demand.crowd_back, whole * through, tick, most)
            through_all += admitted
            demand.passages.append(Passage(None, turnstile, attempts, admitted, whole))
        elif demand.crowd_back is not None:
            # The last of them has begun to refuse: in the next second they are asked one by one.
            demand.lot.turnstile(None).put_off(demand.crowd_back, tick)
        demand.count_out(through_all)

    def _serve_some(self, demand: Demand) -> None:
        """Note what has been let through, and blame the gates for the rest."""
        state = demand.state
        flow, stream = state.flow, state.stream
        crowd = state.division.crowd(self._gates.refusals)
        attempts_total = admitted_total = 0
        for passage in demand.passages:
            admitted = passage.admitted
            attempts_total += passage.attempts
            admitted_total += admitted
            if passage.share is None:
                crowd.taken += admitted
                crowd.denied += passage.attempts - admitted
            else:
                passage.share.taken += admitted
        self._use(state, admitted_total)
        state.asked += attempts_total
        flow.attempts += attempts_total
        flow.admitted += admitted_total
        flow.throttled += attempts_total - admitted_total
        stream.record.second_offered += attempts_total * stream.half_units
        for index in demand.indexes:
            index.charge.record.second_offered += attempts_total * index.charge.half_units
            self._take_of_index(state, index, admitted_total)
        blame(demand, attempts_total, admitted_total)


def _charge(step: Step, states: Iterable[StreamState], begin: int, end: int) -> None:
    """Charge what was let through in some seconds of a step.

    The last of them takes its part when it begins, and those before take theirs together when the first
    begins: as much flows in before, and overflows where a bucket is full, as if each took its own.
    """
    last = max(end - 1, begin + 1)
    for state in states:
        state.charge(step, begin, last)
    if last < end:
        for state in states:
            state.charge(step, last, end)


def _seconds(lasting_ns: int) -> int:
    """Whole seconds that begin in this time."""
    return -(-lasting_ns // SECOND_NS)


def _lacks(lane: Lane, nano: int) -> bool:
    """Whether there is a partition that cannot serve so many nano-units a second."""
    for cell in lane.buckets:
        share = cell.share
        if nano > UNIT * cell.rate or (share is not None and nano > UNIT * (share.rate / share.scale)):
            return True
    return False


def offer_all(state: StreamState, count: int) -> None:
    """First attempts of one second, in the books of keys."""
    stream = state.stream
    _offer(stream.record, state.division, stream.half_units, count, stream.eventual)
    for index, division in zip(stream.indexes, state.indexes, strict=True):
        if index.half_units:
            _offer(index.record, division, index.half_units, count, False)


def _offer(record: DirectionRecord, division: Division, half_units: int, count: int, eventual: bool) -> None:
    """First attempts, in the book of keys."""
    book = record.keys
    total = half_units * count
    book.half_units += total
    book.load += total * (record.lane.eventual_half if eventual else HALF_UNIT)
    for few in division.few:
        few.left += count * few.weight
        mine = few.left >> BITS
        if mine:
            few.left &= _MASK
            few.offered += mine
            book.busy(few.name, half_units * mine)


def _weight(share: Share) -> int:
    return share.weight


def _return(demand: Demand, back: Back, present: dict[Cell, Share], gates: Gates) -> None:
    """Put requests that come back to their partitions, of which these are present; those of a partition that
    has split to all."""
    positions = {share.cell: position for position, (share, _) in enumerate(demand.portions)}
    crowd = set() if demand.crowd is None else {share.cell for share in demand.crowd.shares}
    for cell, counts in back.items():
        assert cell is not None
        there = cell
        if cell not in present and cell.partition.state == "retired":
            there = _child_of(cell.partition, list(present.values())).cell
        if there not in positions and there not in crowd:
            positions[there] = len(demand.portions)
            share = present.get(there) or demand.state.division.stranger(there, gates)
            demand.portions.append((share, 0))
        if there in crowd:
            held = demand.crowd_back
            demand.crowd_back = counts if held is None else list(map(add, held, counts))
            continue
        position = positions[there]
        held = demand.back.get(position)
        demand.back[position] = counts if held is None else list(map(add, held, counts))


def _leave(demand: Demand, crowd: Crowd) -> tuple[int, list[tuple[Share, int]]]:
    """First attempts once some partitions of the crowd have begun to refuse: those that are still for the
    crowd, and all portions."""
    counts = list(zip(crowd.shares, crowd.divide(demand.crowd_first), strict=True))
    apart = [(share, count) for share, count in counts if share.gate.refuses]
    together = demand.crowd_first - sum(count for _, count in apart)
    return together, demand.portions + apart


def _child_of(parent: Partition, shares: list[Share]) -> Share:
    """The heaviest share within a partition that has split."""
    within = [share for share in shares if parent.holds(share.cell.partition.low)]
    return max(within or shares, key=_weight)
