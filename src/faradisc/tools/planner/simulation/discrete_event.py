"""The engine of events: every request by itself, in order of time, as the server treats it.

Requests come from the streams of a plan or from a recorded trace; both are `Request` objects here. A request
asks for admission with all its charges, is charged or refused, and, refused, comes back later if its client
retries. The requests of a stream come at random moments of their second, as those of many clients do; how
many they are and which keys they ask for is not left to chance (keys are drawn by steps of an irrational
number, which fill every stretch of the distribution evenly), so that a run shows the design and not the
dice. All chance comes from the plan's seed.

Cost: about ten microseconds per request.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from heapq import heappop, heappush
from random import Random

from faradisc.capacity.admission import Charge, admit, settle
from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.throttle import Cause, Throttle
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.key_distributions import GOLDEN, ONE, SILVER, Key, Shape
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.planner.workload.streams import Flow

MILLI_NS = 1_000_000


class Part:
    """One charge of a request: a place in a lane."""

    __slots__ = ("charge", "grows", "items", "key", "record")

    def __init__(
        self, record: DirectionRecord, charge: Charge, key: str | None, grows: int, items: int
    ) -> None:
        self.record = record
        self.charge = charge
        self.key = key
        self.grows = grows
        self.items = items


class Request:
    """A request on its way: its charges, and how often it has been tried."""

    __slots__ = ("at_ns", "attempt", "first_ns", "flow", "parts", "retries")

    def __init__(self, at_ns: int, flow: FlowRecord, retries: Retries, parts: list[Part]) -> None:
        self.at_ns = at_ns
        self.first_ns = at_ns
        self.attempt = 1
        self.flow = flow
        self.retries = retries
        self.parts = parts


class DiscreteEventEngine:
    """Runs requests against a world. Requires: requests come in order of time."""

    def __init__(self, world: VirtualTables, recorder: RunRecorder, seed: int) -> None:
        self.world = world
        self.recorder = recorder
        self._random = Random(seed)
        self._waiting: list[tuple[int, int, Request]] = []
        """Retries, by the time of their next attempt."""
        self._order = 0
        self._second = 0
        self._second_ends = world.start_ns + SECOND_NS

    def run_second(self, requests: Iterable[Request], end_ns: int) -> None:
        """A second's requests, as a guest of an engine that lets seconds end itself."""
        self._second_ends = end_ns
        for request in requests:
            self._retry_until(request.at_ns)
            self._attempt(request, request.at_ns)
        self._retry_until(end_ns - 1)

    def finish(self) -> None:
        """The run is over: whoever still waits is lost."""
        for _, _, request in self._waiting:
            request.flow.lost += 1

    def run(self, requests: Iterable[Request], duration_s: int) -> int:
        """Until the duration ends; returns the seconds that were run."""
        end_ns = self.world.start_ns + duration_s * SECOND_NS
        for request in requests:
            if request.at_ns >= end_ns:
                break
            self._retry_until(request.at_ns)
            self._attempt(request, request.at_ns)
        self._retry_until(end_ns - 1)
        self._pass(end_ns - 1)
        self._end_second()
        self.finish()
        return self._second

    def _retry_until(self, now: int) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            at_ns, _, request = heappop(self._waiting)
            self._attempt(request, at_ns)

    def _pass(self, now: int) -> None:
        """Let whole seconds end that lie before `now`."""
        while now >= self._second_ends:
            self._end_second()
        if now >= self.world.due:
            self.world.advance(now)

    def _end_second(self) -> None:
        if self._second_ends > self.world.due:
            self.world.advance(self._second_ends - 1)
        self.recorder.end_second(self._second)
        self._second += 1
        self._second_ends += SECOND_NS

    def _attempt(self, request: Request, now: int) -> None:
        if now >= self._second_ends or now >= self.world.due:
            self._pass(now)
        flow = request.flow
        flow.attempts += 1
        first = request.attempt == 1
        for part in request.parts:
            record, half_units = part.record, part.charge.half_units
            record.second_offered += half_units
            if first and half_units:
                book = record.keys
                book.half_units += half_units
                book.load += half_units * (record.lane.eventual_half if part.charge.eventual else HALF_UNIT)
                if part.key is not None:
                    book.offer(part.key, half_units)
        if len(request.parts) == 1:
            admitted = self._single(request.parts[0], now)
        else:
            admitted = self._several(request, now)
        if admitted:
            self._admitted(request, now)
        else:
            self._refused(request, now)

    def _single(self, part: Part, now: int) -> bool:
        charge, record = part.charge, part.record
        cell = charge.limiter.admit(charge.key, now)
        if cell is None:
            self._blame(part, charge.limiter.refuse(charge.key, now))
            return False
        charge.limiter.settle(cell, charge.key, charge.half_units, now, charge.eventual)
        charge.bucket = cell
        record.second_consumed += charge.half_units
        record.cell(cell).half_units += charge.half_units
        return True

    def _several(self, request: Request, now: int) -> bool:
        charges = [part.charge for part in request.parts]
        before = [dict(charge.limiter.events) for charge in charges]
        if admit(charges, now) is not None:
            for part, events in zip(request.parts, before, strict=True):
                lane = part.charge.limiter
                for cause, count in lane.events.items():
                    if count > events.get(cause, 0):
                        cell = lane.bucket_of(part.charge.key) if cause is Cause.KEY_RANGE else None
                        part.record.refuse(cause, cell=cell)
                if part.charge.bucket is None and part.key is not None:
                    part.record.keys.throttle(part.key)
            return False
        settle(charges, now)
        for part in request.parts:
            record, charge = part.record, part.charge
            if charge.half_units and charge.bucket is not None:
                record.second_consumed += charge.half_units
                record.cell(charge.bucket).half_units += charge.half_units
        return True

    @staticmethod
    def _blame(part: Part, throttle: Throttle) -> None:
        lane = part.charge.limiter
        cell = lane.bucket_of(part.charge.key) if throttle.cause is Cause.KEY_RANGE else None
        part.record.refuse(throttle.cause, cell=cell)
        if part.key is not None:
            part.record.keys.throttle(part.key)

    @staticmethod
    def _admitted(request: Request, now: int) -> None:
        flow = request.flow
        flow.admitted += 1
        flow.at_attempt[request.attempt] += 1
        flow.waits[(now - request.first_ns) // MILLI_NS] += 1
        for part in request.parts:
            charge = part.charge
            if charge.limiter.direction == "W":
                flow.write_half += charge.half_units
            else:
                flow.read_half += charge.half_units
            if (part.grows or part.items) and charge.bucket is not None:
                held = charge.bucket.partition
                held.bytes = max(held.bytes + part.grows, 0)
                held.items = max(held.items + part.items, 0)

    def _refused(self, request: Request, now: int) -> None:
        request.flow.throttled += 1
        if request.attempt >= request.retries.attempts:
            request.flow.lost += 1
            return
        wait = request.retries.waits[request.attempt - 1]
        request.attempt += 1
        self._order += 1
        again = now + max(wait.draw_ns(self._random.random), 1)
        heappush(self._waiting, (again, self._order, request))


# --- Requests of a plan ---------------------------------------------------------------------------------


def requests_of(
    plan: Plan, flows: list[Flow], world: VirtualTables, seed: int, among: Container[Flow] | None = None
) -> Iterator[list[Request]]:
    """The requests of each second of a plan, in order of time; those of some flows, or of all."""
    makers = [
        _Maker(flow, seed, number) for number, flow in enumerate(flows) if among is None or flow in among
    ]
    for second in range(plan.duration_s):
        begin = world.start_ns + second * SECOND_NS
        batch: list[Request] = []
        for maker in makers:
            maker.fill(batch, second, begin)
        batch.sort(key=_at)
        yield batch


def _at(request: Request) -> int:
    return request.at_ns


def even_step(number: int) -> int:
    """A step whose multiples fill 0..ONE evenly, another for each number below 32: its continued fraction has
    ones and twos only, so that no fraction of small numbers comes near it. Near 3/7, for example, a stream
    would visit seven places for half a minute, and seven others after that. Number 1 is the golden ratio's
    mirror image, which is for the table's keys."""
    part = GOLDEN / ONE
    for bit in f"{number:05b}":
        part = 1 / (1 + int(bit) + part)
    return int(part * ONE) | 1


class Points:
    """Where the requests of a stream lie in a distribution: steps of an irrational number, which fill every
    stretch of it evenly, those of one second in random order. In their own order they would come round at
    even intervals, and a stream whose requests do so finds more in a bucket than another that meets it
    there by chance."""

    def __init__(self, random: Random, step: int) -> None:
        self._random = random
        self._step = step % ONE
        self._last = random.randrange(ONE)
        self._ready: list[int] = []

    def take(self, count: int) -> list[int]:
        """The points of a second."""
        points = self.in_order(count)
        self._random.shuffle(points)
        return points

    def in_order(self, count: int) -> list[int]:
        """The points of a second, for those who only count them."""
        first, step = self._last + self._step, self._step
        self._last = (self._last + count * step) % ONE
        return [(first + number * step) % ONE for number in range(count)]

    def lay_out(self, count: int) -> None:
        """Have them ready to be asked for one by one."""
        self._ready = self.take(count)

    def next(self) -> int:
        """Requires: `lay_out` has been told of all of the second's."""
        return self._ready.pop()


class _Maker:
    """Makes the requests of one flow."""

    def __init__(self, flow: Flow, seed: int, number: int) -> None:
        self._flow = flow
        self._random = Random(f"{seed}/{number}")
        self._points = Points(self._random, GOLDEN)
        self._sort_points = Points(self._random, SILVER)
        # Each index takes steps of its own, lest its keys follow the table's.
        self._index_points = [
            [Points(self._random, even_step(at + 2)) for at in range(len(stream.indexes))]
            for stream in flow.streams
        ]
        self._made = 0

    def fill(self, batch: list[Request], second: int, begin_ns: int) -> None:
        """Add the requests of a second, in order of time."""
        flow = self._flow
        count, counts, shape = flow.take(second)
        if not count:
            return
        random = self._random
        # Evenly spaced requests would fall into step with a bucket that refills evenly, and with each
        # other, and one stream would get what another is refused.
        times = sorted(random.randrange(SECOND_NS) for _ in range(count))
        streams = [number for number, mine in enumerate(counts) for _ in range(mine)]
        if len(counts) > 1:
            random.shuffle(streams)
        self._lay_out(counts)
        points = [at * ONE // count for at in range(count)] if shape.ordered else self._points.take(count)
        for at, number, point in zip(times, streams, points, strict=True):
            parts = self._parts(number, shape, second, begin_ns + at, point)
            batch.append(Request(begin_ns + at, flow.record, flow.plan.retries, parts))

    def _lay_out(self, counts: list[int]) -> None:
        """Have the points ready that the indexes and the sort keys of a second's requests will take."""
        parts = 0
        for mine, points in zip(counts, self._index_points, strict=True):
            parts += mine * (1 + len(points))
            for each in points:
                each.lay_out(mine)
        self._sort_points.lay_out(parts)

    def _parts(self, number: int, shape: Shape, second: int, now: int, point: int) -> list[Part]:
        stream = self._flow.streams[number]
        self._made += 1
        drawn = self._draw(shape, now, point)
        parts = [self._part(stream.record, stream.half_units, drawn, eventual=stream.eventual)]
        parts[0].grows, parts[0].items = stream.grows, stream.items
        for points, index in zip(self._index_points[number], stream.indexes, strict=True):
            index_shape = index.keys.shape(second, self._made - 1, 1)
            drawn = self._draw(index_shape, now, points.next())
            part = self._part(index.record, index.half_units, drawn)
            part.grows = index.grows
            parts.append(part)
        return parts

    def _draw(self, shape: Shape, now: int, point: int) -> tuple[Key | None, bytes]:
        """A key and its place; rising sort keys are the time."""
        sort_point = self._sort_points.next()
        return shape.draw(point, now if shape.sort == "rising" else sort_point)

    @staticmethod
    def _part(
        record: DirectionRecord, half_units: int, drawn: tuple[Key | None, bytes], *, eventual: bool = False
    ) -> Part:
        key, place = drawn
        charge = Charge(record.lane, place, half_units, eventual)
        return Part(record, charge, key.name if key is not None else None, 0, 0)
