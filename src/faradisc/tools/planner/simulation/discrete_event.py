"""The discrete-event engine: admits and charges each request in order of time, as the server does.

Requests come from the flows of a plan or from a recorded trace. A throttled request is tried again later if
its client retries. The requests of a stream arrive as a Poisson process. The keys they name fill every part
of the distribution evenly (`KeyPoints`): the number of requests is random, and the distribution of their keys
is the plan's. All random numbers come from the plan's seed.

One request takes about ten microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from operator import attrgetter, mul
from random import Random

from faradisc.capacity.admission import Charge, admit, take_all
from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.throttle import Cause
from faradisc.records import dataclass
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.key_distributions import ONE, KeyShape
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.planner.workload.streams import Charged, Flow

MILLI_NS = 1_000_000
_GOLDEN = 679_535_556_991
"""ONE divided by the golden ratio, odd: its multiples fill 0..ONE more evenly than those of any other
number."""
_SQUARE_ROOT = 455_432_628_211
"""ONE times the fractional part of the square root of 2, odd: for points that are independent of those."""


@dataclass(slots=True)
class RequestPart:
    """One charge of a request, with the record of its direction and the name of its key."""

    record: DirectionRecord
    charge: Charge
    key: str | None
    grows: int = 0
    items: int = 0


@dataclass(slots=True)
class SimulatedRequest:
    """A request: its charges, and the number of its present attempt."""

    at_ns: int
    """Time of the first attempt."""
    flow: FlowRecord
    retries: Retries
    parts: list[RequestPart]
    attempt: int = 1


class DiscreteEventEngine:
    """Runs requests against virtual tables. Requires: requests come in order of time."""

    def __init__(self, tables: VirtualTables, recorder: RunRecorder, seed: int) -> None:
        self._tables = tables
        self._recorder = recorder
        self._random = Random(seed)
        self._waiting: list[tuple[int, int, SimulatedRequest]] = []
        """Retries by the time of their next attempt, then in order of their throttling."""
        self._retries = 0
        self._second = 0
        self._second_ends = tables.start_ns + SECOND_NS

    def run(self, requests: Iterable[SimulatedRequest], duration_s: int) -> int:
        """Runs requests until the duration ends. Returns the seconds that passed."""
        end_ns = self._tables.start_ns + duration_s * SECOND_NS
        for request in requests:
            if request.at_ns >= end_ns:
                break
            self._retry_until(request.at_ns)
            self._attempt(request, request.at_ns)
        self._retry_until(end_ns - 1)
        self._advance(end_ns - 1)
        self._end_second()
        for _, _, request in self._waiting:
            request.flow.lost += 1
        return self._second

    def _retry_until(self, now: int) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            at_ns, _, request = heappop(self._waiting)
            self._attempt(request, at_ns)

    def _advance(self, now: int) -> None:
        while now >= self._second_ends:
            self._end_second()
        if now >= self._tables.due:
            self._tables.advance(now)

    def _end_second(self) -> None:
        if self._second_ends > self._tables.due:
            self._tables.advance(self._second_ends - 1)
        self._recorder.end_second(self._second)
        self._second += 1
        self._second_ends += SECOND_NS

    def _attempt(self, request: SimulatedRequest, now: int) -> None:
        if now >= self._second_ends or now >= self._tables.due:
            self._advance(now)
        request.flow.attempts += 1
        for part in request.parts:
            self._count_demand(part, first_attempt=request.attempt == 1)
        charges = [part.charge for part in request.parts]
        if admit(charges, now) is None:
            take_all(charges, now)
            self._count_admitted(request, now)
        else:
            self._count_throttled(request, now)
            self._retry(request, now)

    @staticmethod
    def _count_demand(part: RequestPart, *, first_attempt: bool) -> None:
        record, half_units = part.record, part.charge.half_units
        record.second_offered += half_units
        if first_attempt and half_units:
            keys = record.keys
            keys.half_units += half_units
            keys.load += half_units * (record.limiter.eventual_half if part.charge.eventual else HALF_UNIT)
            if part.key is not None:
                keys.offer(part.key, half_units)

    @staticmethod
    def _count_admitted(request: SimulatedRequest, now: int) -> None:
        flow = request.flow
        flow.admitted += 1
        flow.at_attempt[request.attempt] += 1
        flow.waits[(now - request.at_ns) // MILLI_NS] += 1
        for part in request.parts:
            charge, record = part.charge, part.record
            if record.writes:
                flow.write_half += charge.half_units
            else:
                flow.read_half += charge.half_units
            assert charge.bucket is not None
            if charge.half_units:
                record.second_consumed += charge.half_units
                record.partition(charge.bucket).half_units += charge.half_units
            if part.grows or part.items:
                partition = charge.bucket.partition
                partition.bytes = max(partition.bytes + part.grows, 0)
                partition.items = max(partition.items + part.items, 0)

    @staticmethod
    def _count_throttled(request: SimulatedRequest, now: int) -> None:
        """Counts one throttle event per direction that has no capacity, as the core does."""
        request.flow.throttled += 1
        counted = []
        for part in request.parts:
            limiter = part.charge.limiter
            if part.charge.bucket is not None or limiter in counted:
                continue
            counted.append(limiter)
            bucket = limiter.bucket_of(part.charge.key)
            cause = limiter.cause(bucket, now)
            assert cause is not None
            part.record.throttle(cause, bucket=bucket if cause is Cause.KEY_RANGE else None)
            if part.key is not None:
                part.record.keys.throttle(part.key)

    def _retry(self, request: SimulatedRequest, now: int) -> None:
        if request.attempt >= request.retries.attempts:
            request.flow.lost += 1
            return
        wait = request.retries.waits[request.attempt - 1]
        request.attempt += 1
        self._retries += 1
        again = now + max(wait.draw_ns(self._random.random), 1)
        heappush(self._waiting, (again, self._retries, request))


# --- Requests of a plan ---------------------------------------------------------------------------------


def requests_of(
    flows: list[Flow], tables: VirtualTables, duration_s: int, seed: int
) -> Iterator[SimulatedRequest]:
    """Yields the requests of a plan in order of time."""
    makers = [_RequestMaker(flow, f"{seed}/{number}") for number, flow in enumerate(flows)]
    for second in range(duration_s):
        begin_ns = tables.start_ns + second * SECOND_NS
        batch = [request for maker in makers for request in maker.requests(second, begin_ns)]
        batch.sort(key=attrgetter("at_ns"))
        yield from batch


class KeyPoints:
    """The points of a key distribution that the requests of a stream name: multiples of an irrational number,
    which fill every part of the distribution evenly; those of one second in random order."""

    def __init__(self, random: Random, step: int) -> None:
        self._random = random
        self._step = step
        self._last = random.randrange(ONE)

    def take(self, count: int) -> list[int]:
        """Returns the points of the next requests, 0 to ONE - 1."""
        first, step = self._last + self._step, self._step
        self._last = (self._last + count * step) % ONE
        points = [(first + number * step) % ONE for number in range(count)]
        # In order they would reach a partition at even intervals, and find more in its bucket than requests
        # that arrive at random.
        self._random.shuffle(points)
        return points


def even_step(number: int) -> int:
    """Returns a step whose multiples fill 0..ONE evenly, another one for each number below 32: its continued
    fraction has only ones and twos, so that no fraction of small numbers is near it. Number 1 is the mirror
    image of the golden ratio."""
    part = _GOLDEN / ONE
    for bit in f"{number:05b}":
        part = 1 / (1 + int(bit) + part)
    return int(part * ONE) | 1


class _RequestMaker:
    """Makes the requests of one flow."""

    def __init__(self, flow: Flow, seed: str) -> None:
        self._flow = flow
        random = Random(seed)
        self._points = KeyPoints(random, _GOLDEN)
        self._sort_points = KeyPoints(random, _SQUARE_ROOT)
        # Each index takes steps of its own, so that its keys are independent of the table's.
        self._index_points = [
            [KeyPoints(random, even_step(at + 2)) for at in range(len(stream.indexes))]
            for stream in flow.streams
        ]
        self._made = 0

    def requests(self, second: int, begin_ns: int) -> Iterator[SimulatedRequest]:
        """Yields the requests of a second, in order of time."""
        flow = self._flow
        moments = flow.draw(flow.rates(second))
        counts = [len(each) for each in moments]
        arrivals = flow.begin_second(second, counts)
        count, shape = sum(counts), arrivals.shape
        if not count:
            return
        points = [at * ONE // count for at in range(count)] if shape.ordered else self._points.take(count)
        index_points = [
            [iter(each.take(count)) for each in mine]
            for mine, count in zip(self._index_points, counts, strict=True)
        ]
        parts_of = [1 + len(stream.indexes) for stream in flow.streams]
        sort_points = iter(self._sort_points.take(sum(map(mul, counts, parts_of))))

        def part(charged: Charged, shape: KeyShape, point: int, now: int) -> RequestPart:
            sort_point = next(sort_points)
            key, place = shape.draw(point, now if shape.sort == "rising" else sort_point)
            charge = Charge(charged.record.limiter, place, charged.half_units, charged.eventual)
            name = None if key is None else key.name
            return RequestPart(charged.record, charge, name, charged.grows, charged.items)

        times = sorted((at, number) for number, mine in enumerate(moments) for at in mine)
        for (at, number), point in zip(times, points, strict=True):
            stream, now = flow.streams[number], begin_ns + at
            parts = [part(stream, shape, point, now)]
            for index, points_of_index in zip(stream.indexes, index_points[number], strict=True):
                index_shape = index.keys.shape(second, self._made, 1)
                parts.append(part(index, index_shape, next(points_of_index), now))
            self._made += 1
            yield SimulatedRequest(now, flow.record, flow.plan.retries, parts)
