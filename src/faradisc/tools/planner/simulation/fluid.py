"""The fluid engine: steps of one second over expected numbers of requests, with arrays over partitions.

In each second, for each direction (the reads or writes of a table or index):

1. supply    each bucket has its balance and one second of its rate
2. fractions each partition admits the fraction min(supply / load, w) of its requests, where w is the fraction
             that the direction's own limits (the table's bucket, a maximum, a quota) admit
3. serve     a request is admitted when all its directions admit it; these are taken to be independent
4. retry     throttled requests return in later seconds, by the retry policy of their clients

A request of a table with indexes loads a direction only as far as the other directions admit it, so the
directions of a table are solved in turns until their fractions rest. Numbers of requests are real numbers
here; the records and the core get whole ones, and remainders are carried into the next second.

Every request is admitted, waits or is lost. The engine does not know the order of the requests within a
second. Throttled attempts are therefore estimates, rough ones where clients retry after fixed times.

Source: capacity.md section 3.2.
"""

from __future__ import annotations

import numpy as np

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.simulation.fluid_directions import Array, Demand, DirectionState
from faradisc.tools.planner.simulation.recorder import DirectionRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.streams import Arrivals, Flow, StreamWorkload

ROUNDS_MAX = 60
"""Directions are solved in no more rounds than this."""
PRECISION = 5e-4
"""Fractions rest when none changes by more than this."""


class FlowState:
    """The requests of one stream: its demands, the table's first, and how throttled ones return."""

    def __init__(
        self, flow: Flow, stream: StreamWorkload, directions: dict[DirectionRecord, DirectionState]
    ) -> None:
        retries = flow.plan.retries
        self.attempts = attempts = retries.attempts
        later: dict[int, Array] = {}
        for attempt, returns in enumerate(retries.returns):
            for seconds, probability in returns:
                later.setdefault(seconds, np.zeros((attempts, 1)))[attempt] = probability
        self._at_once = later.pop(0, np.zeros((attempts, 1)))
        """By attempt: the fraction of throttled requests that returns within the second."""
        self._later = sorted(later.items())
        self._horizon_s = max(later, default=1)
        self._returns_at_once = bool(self._at_once.any())
        self._waits_until = -1
        """No retry is due in a later second than this."""
        ring = (self._horizon_s + 1, attempts)
        self.demands = [Demand(stream, flow.keys, directions[stream.record], ring)]
        self.demands += [
            Demand(index, index.keys, directions[index.record], ring) for index in stream.indexes
        ]
        self.tried, self.admitted = np.zeros(attempts), np.zeros(attempts)
        self.active = False
        """Whether there are requests in this second."""

    def begin_second(self, second: int, count: float, arrivals: Arrivals) -> None:
        """Collects the requests of a second."""
        was_active, self.active = self.active, count > 0 or second <= self._waits_until
        if not (was_active or self.active):
            return
        for number, demand in enumerate(self.demands):
            shape = demand.keys.shape(second, arrivals.first, arrivals.count) if number else arrivals.shape
            demand.begin_second(second, count, shape)

    def _admitted_elsewhere(self, attempts: slice) -> list[Array]:
        """Returns, by demand and attempt, the fraction of the requests that all other directions admit."""
        fractions = []
        for demand in self.demands:
            requests = demand.present[attempts]
            total = requests.sum(1)
            admitted = requests @ demand.direction.admits
            fractions.append(np.divide(admitted, total, out=np.ones(len(total)), where=total > 0))
        if len(fractions) == 1:
            return [np.ones_like(fractions[0])]
        numbers = range(len(fractions))
        return [np.prod([fractions[other] for other in numbers if other != own], axis=0) for own in numbers]

    def estimate(self) -> None:
        """Computes what reaches each direction. Retries within the second follow from the estimate before."""
        elsewhere = self._admitted_elsewhere(slice(None))
        for demand, fractions in zip(self.demands, elsewhere, strict=True):
            demand.reaching = fractions @ demand.present
            if self._returns_at_once:
                throttled = demand.present * (1 - fractions[:, None] * demand.direction.admits)
                demand.present = demand.arriving.copy()
                demand.present[1:] += (throttled * self._at_once)[:-1]

    def serve(self, now: int, second: int, *, short: bool) -> None:
        """Charges admitted requests, and schedules retries of the others. `short`: a direction throttles."""
        admitted = self._admit() if short else [demand.present for demand in self.demands]
        first = self.demands[0]
        self.tried += first.present.sum(1)
        self.admitted += admitted[0].sum(1)
        for demand, requests in zip(self.demands, admitted, strict=True):
            demand.charge(requests.sum(0), now, second)
        if not short:
            return
        self._waits_until = second + self._horizon_s
        for demand, requests in zip(self.demands, admitted, strict=True):
            throttled = (demand.present - requests)[:-1]
            for seconds, fractions in self._later:
                demand.returning[(second + seconds) % len(demand.returning), 1:] += throttled * fractions[:-1]

    def _admit(self) -> list[Array]:
        """Returns the admitted requests of each demand. Attempts come in their order, as one that returns
        within the second is the next attempt."""
        at_a_time = 1 if self._returns_at_once else self.attempts
        for demand in self.demands:
            demand.present = demand.arriving.copy()
        admitted = [np.zeros_like(demand.present) for demand in self.demands]
        for attempt in range(0, self.attempts, at_a_time):
            attempts = slice(attempt, attempt + at_a_time)
            elsewhere = self._admitted_elsewhere(attempts)
            for demand, mine, fractions in zip(self.demands, admitted, elsewhere, strict=True):
                requests = demand.present[attempts]
                mine[attempts] = requests * fractions[:, None] * demand.direction.admits
                if at_a_time == 1 and attempt + 1 < self.attempts:
                    demand.present[attempt + 1] += (requests - mine[attempts])[0] * self._at_once[attempt]
        return admitted


class FlowGroup:
    """Directions that share requests: the writes of a table and its indexes, or the reads of one resource."""

    def __init__(self) -> None:
        self.directions: list[DirectionState] = []
        self.streams: list[FlowState] = []

    def run_second(self, now: int, second: int) -> None:
        streams = [stream for stream in self.streams if stream.active]
        if not streams:
            return
        short = sum(direction.measure(now) for direction in self.directions) > 0
        if short:
            self._solve(streams)
        for stream in streams:
            stream.serve(now, second, short=short)
        for direction in self.directions:
            direction.record_demand()
            if short:
                direction.record_throttles()

    def _solve(self, streams: list[FlowState]) -> None:
        """Solves the directions in turns until their fractions rest."""
        for _ in range(ROUNDS_MAX):
            change = 0.0
            for direction in self.directions:
                for stream in streams:
                    stream.estimate()
                change = max(change, direction.solve())
            if change < PRECISION:
                return


class FluidEngine:
    """Runs the flows of a plan against virtual tables."""

    def __init__(self, tables: VirtualTables, recorder: RunRecorder, flows: list[Flow]) -> None:
        self._tables, self._recorder = tables, recorder
        self.directions: dict[DirectionRecord, DirectionState] = {}
        self.flows: list[tuple[Flow, list[FlowState]]] = []
        groups: dict[object, FlowGroup] = {}
        for flow in flows:
            record = flow.streams[0].record
            group = groups.setdefault(record.virtual.table.name if record.writes else record, FlowGroup())
            for stream in flow.streams:
                for record in (stream.record, *(index.record for index in stream.indexes)):
                    if record not in self.directions:
                        self.directions[record] = DirectionState(record)
                        group.directions.append(self.directions[record])
            streams = [FlowState(flow, stream, self.directions) for stream in flow.streams]
            group.streams += streams
            self.flows.append((flow, streams))
        self._groups = list(groups.values())

    def run(self, duration_s: int, *, drawn: bool = False) -> int:
        """Runs the plan. `drawn`: with random numbers of requests, not their means. Returns the seconds."""
        tables = self._tables
        for second in range(duration_s):
            now = tables.start_ns + second * SECOND_NS
            if now >= tables.due:
                tables.advance(now)
                for direction in self.directions.values():
                    direction.follow_splits()
            for flow, streams in self.flows:
                counts = flow.rates(second)
                if drawn:
                    counts = [float(len(moments)) for moments in flow.draw(counts)]
                arrivals = flow.begin_second(second, counts)
                for stream, count in zip(streams, counts, strict=True):
                    stream.begin_second(second, count, arrivals)
            for group in self._groups:
                group.run_second(now, second)
            self._recorder.end_second(second)
        tables.advance(tables.start_ns + duration_s * SECOND_NS - 1)
        self._finish()
        return duration_s

    def _finish(self) -> None:
        """Fills the records that count requests. Those that wait for a retry are lost."""
        for demand in [each for direction in self.directions.values() for each in direction.demands]:
            demand.record_keys()
        for flow, streams in self.flows:
            record, waits_ms = flow.record, flow.plan.retries.mean_waits_ms
            admitted = np.sum([stream.admitted for stream in streams], axis=0)
            # Sums are rounded, so that the counts of the attempts add up.
            counts = np.diff(np.rint(np.cumsum(admitted)), prepend=0).astype(int).tolist()
            for attempt, count in enumerate(counts):
                if count:
                    record.at_attempt[attempt + 1] += count
                    record.waits[waits_ms[attempt]] += count
            record.admitted = sum(counts)
            record.lost = record.offered - record.admitted
            record.attempts = round(sum(float(stream.tried.sum()) for stream in streams))
            record.throttled = record.attempts - record.admitted
            for stream in streams:
                for demand in stream.demands:
                    half = round(float(stream.admitted.sum()) * demand.half_units)
                    if demand.direction.record.writes:
                        record.write_half += half
                    else:
                        record.read_half += half
