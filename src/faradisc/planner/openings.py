"""Where it matters who comes first, and nobody could run all requests: from one admission to the next.

A bucket that is short refuses most of those who ask. The engine of events would spend its time on these: of
10,000 requests a second a table of 20 units admits twenty. Here they pass in numbers; only who is admitted is
drawn, at a moment of its own.

In a *slice* of a second the n requests of a group (planner/doors.py) lie anywhere, evenly. So the next one of
those whose doors are open comes at the least of so many moments; and of those whose doors are shut for a
part of the slice, that part passes in vain. Numbers are integers, and rounding is by chance, so that one
request is refused as often as it would be by itself. Between two admissions nothing else happens: this is the
engine of events without what it throws away.

What differs from it: refused requests come back in later slices; small ones come several together, as many
as cost what a bucket earns in a few hundredths of a second; seconds that have enough of everything pass at
once; and which of its doors refused a request is told by how long each was shut.
Source: docs/decisions/0015.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from random import Random

from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.partitions import Cell
from faradisc.planner.doors import Door, Group, Passage, count_groups, find_doors
from faradisc.planner.events import Points, even_step
from faradisc.planner.fluid import offer_all, refuse_at, refuse_whole
from faradisc.planner.keys import BITS, GOLDEN, ONE, SILVER, Shape
from faradisc.planner.lots import StreamState
from faradisc.planner.observe import LaneNote, Observer
from faradisc.planner.returns import Returns, packets_of, some_of
from faradisc.planner.shares import Gates, Share, divide
from faradisc.planner.streams import Flow
from faradisc.planner.world import World

_SLICES = 20
"""Per second; fewer where groups are asked for much and the run is long, for there is little to tell then:"""
_MUCH = 100
"""more requests a second than this, and"""
_SLICES_MAX = 1_000_000
"""more slices of all groups together."""
_CLEAR = 3
"""Of more packets than this, how many miss a stretch of time is hardly chance."""
_DRAWN_MAX = 10
"""So few requests of a flow are divided over groups one by one, by their keys."""


@dataclass
class _Stream:
    """A stream under way, and its requests by the doors they meet."""

    state: StreamState
    notes: list[LaneNote]
    """Of the table and of each index."""
    index_points: list[Points]
    shapes: list[Shape] = field(default_factory=list)
    """Of the present second: the table's keys, and those of each index."""
    shares: list[list[Share]] = field(default_factory=list)
    groups: dict[tuple[Cell, ...], Group] = field(default_factory=dict)
    upto: list[int] = field(default_factory=list)
    """The weights of the groups, summed up."""
    phase: int = 0


@dataclass
class _Flow:
    flow: Flow
    points: Points
    sort_points: Points
    streams: list[_Stream]


class Openings:
    """Some flows of a plan, as a guest of the fluid engine."""

    def __init__(
        self, flows: Sequence[Flow], world: World, observer: Observer, seed: int, packet_s: float
    ) -> None:
        self._world = world
        self._observer = observer
        self._packet_s = packet_s
        self._random = Random(f"{seed}/openings")
        self._gates = Gates()
        self._flows = [self._begin(flow) for flow in flows]
        self._streams = [stream for flow in self._flows for stream in flow.streams]
        self._clusters: list[list[Group]] = []
        self._slices = _slices(flows, world.plan.duration_s)
        self._tick = 0
        self._second = 0
        self._due = -1

    def _begin(self, flow: Flow) -> _Flow:
        random = self._random
        streams = [
            _Stream(
                StreamState(stream, flow.note, flow.plan.retries, number, self._gates),
                [stream.note, *(index.note for index in stream.indexes)],
                [Points(random, even_step(at + 2)) for at in range(len(stream.indexes))],
            )
            for number, stream in enumerate(flow.streams)
        ]
        return _Flow(flow, Points(random, GOLDEN), Points(random, SILVER), streams)

    # --- Seconds ------------------------------------------------------------------------------

    def run_second(self, end_ns: int) -> None:
        begin_ns = end_ns - SECOND_NS
        counts: dict[Group, int] = {}
        moved = self._due != self._world.due
        for flow in self._flows:
            first = flow.flow.sequence
            total, of_streams, shape = flow.flow.take(self._second)
            for stream in flow.streams:
                if total:
                    stream.state.among = (first, total)
                moved = self._follow(stream, shape) or moved
            counts.update(self._divide(flow, total, of_streams))
        if moved:
            self._due = self._world.due
            self._gates.tidy(begin_ns)
            groups = [group for stream in self._streams for group in stream.groups.values()]
            self._clusters = find_doors(groups, self._packet_s)
        for cluster in self._clusters:
            if not _serve_all(cluster, counts, begin_ns):
                self._run_slices(cluster, counts, begin_ns)
        self._tick += self._slices
        self._second += 1
        if end_ns >= self._world.due or self._second % self._observer.step_s == 0:
            self._tell()

    def finish(self) -> None:
        """The run is over: whoever still waits is lost."""
        self._tell()
        for stream in self._streams:
            waiting = [group.returns.waiting + group.held for group in stream.groups.values()]
            stream.state.flow.lost += sum(waiting)

    def _tell(self) -> None:
        for stream in self._streams:
            stream.state.tell()

    # --- Groups -------------------------------------------------------------------------------

    def _follow(self, stream: _Stream, shape: Shape) -> bool:
        """Learn how a stream's requests are divided over partitions. Returns: whether there are other groups
        than before."""
        state = stream.state
        state.shape = shape
        indexes = state.stream.indexes
        stream.shapes = [shape, *(index.keys.shape(self._second, *state.among) for index in indexes)]
        shares = [
            division.of(each, note, self._gates)
            for division, each, note in zip(
                (state.division, *state.indexes), stream.shapes, stream.notes, strict=True
            )
        ]
        known = stream.shares
        if known and all(old is new for old, new in zip(known, shares, strict=True)):
            return False
        stream.shares = shares
        return self._regroup(stream)

    def _regroup(self, stream: _Stream) -> bool:
        """Returns: whether there are other groups than before."""
        groups = stream.groups
        changed = False
        present: dict[Group, None] = {}
        for mine in product(*stream.shares):
            cells = tuple([share.cell for share in mine])
            group = groups.get(cells)
            if group is None:
                group = groups[cells] = self._new_group(stream.state, mine)
                changed = True
            group.weight = ONE
            for passage, share in zip(group.passages, mine, strict=True):
                passage.share = share
                group.weight = group.weight * share.weight >> BITS
            present[group] = None
        heaviest = max(present, key=_weight)
        heaviest.weight += ONE - sum([group.weight for group in present])
        for cells, group in list(groups.items()):
            if group in present:
                continue
            group.weight = 0
            heaviest.held += group.held
            group.held = 0
            if any(cell.partition.state == "retired" for cell in cells):
                heaviest.returns.take_over(group.returns)
                del groups[cells]
                changed = True
            elif group.returns.waiting:
                self._be_stranger(group)
        stream.upto = list(accumulate([group.weight for group in groups.values()]))
        return changed

    def _new_group(self, state: StreamState, shares: Iterable[Share]) -> Group:
        asked = [
            (state.stream.note, state.stream.half_units, state.stream.eventual),
            *((index.note, index.half_units, False) for index in state.stream.indexes),
        ]
        passages = [
            Passage(note, share, half_units, eventual=eventual)
            for (note, half_units, eventual), share in zip(asked, shares, strict=True)
        ]
        return Group(state, passages, Returns(state.retries, self._slices, self._random))

    def _be_stranger(self, group: Group) -> None:
        """The keys have left these partitions, and some of their requests still come back."""
        state = group.state
        for division, passage in zip((state.division, *state.indexes), group.passages, strict=True):
            known = next((share for share in division.shares if share.cell is passage.cell), None)
            passage.share = known or division.stranger(passage.cell, self._gates)

    def _divide(self, flow: _Flow, total: int, of_streams: list[int]) -> Iterator[tuple[Group, int]]:
        """A flow's requests of this second, by group."""
        for stream, count in zip(flow.streams, of_streams, strict=True):
            if count:
                offer_all(stream.state, count)
        if 0 < total <= _DRAWN_MAX:
            yield from self._draw(flow, total, of_streams).items()
            return
        for stream, count in zip(flow.streams, of_streams, strict=True):
            if count:
                divided, stream.phase = divide(count, stream.upto, stream.phase)
                pairs = zip(stream.groups.values(), divided, strict=True)
                yield from [(group, mine) for group, mine in pairs if mine]

    def _draw(self, flow: _Flow, total: int, of_streams: list[int]) -> dict[Group, int]:
        """A few requests, by keys that are drawn as the engine of events draws them."""
        found: dict[Group, int] = {}
        counted = list(zip(flow.streams, of_streams, strict=True))
        streams = [stream for stream, count in counted for _ in range(count)]
        self._random.shuffle(streams)
        for stream, count in counted:
            for each in stream.index_points:
                each.lay_out(count)
        flow.sort_points.lay_out(sum([len(stream.shapes) for stream in streams]))
        ordered = streams[0].shapes[0].ordered
        firsts = [at * ONE // total for at in range(total)] if ordered else flow.points.take(total)
        for stream, first in zip(streams, firsts, strict=True):
            points = [first, *(each.next() for each in stream.index_points)]
            places = [
                shape.draw(point, flow.sort_points.next())[1]
                for shape, point in zip(stream.shapes, points, strict=True)
            ]
            group = stream.groups.get(tuple(map(_cell_of, stream.notes, places)))
            if group is None:
                # So small a part of the keys is there that it counts as none.
                group = max(stream.groups.values(), key=_weight)
            else:
                group.draw(tuple(places))
            found[group] = found.get(group, 0) + 1
        return found

    # --- Slices -------------------------------------------------------------------------------

    def _run_slices(self, cluster: list[Group], counts: dict[Group, int], begin_ns: int) -> None:
        """A second's requests whose admission depends on each other."""
        slices, random = self._slices, self._random
        end_ns = begin_ns + SECOND_NS
        busy = [group for group in cluster if group in counts or group.returns.waiting]
        left = [_packed(group, counts.get(group, 0)) for group in busy]
        for door in dict.fromkeys([door for group in busy for door in group.doors]):
            door.shut_ns = min(max(door.opens_ns - begin_ns, 0), SECOND_NS)
        for number in range(slices):
            begin, end = (begin_ns + SECOND_NS * at // slices for at in (number, number + 1))
            tick = self._tick + number
            active = []
            for position, group in enumerate(busy):
                come = 0
                if left[position]:
                    come = packets_of(left[position], group.packet, 1 / (slices - number), random)
                    left[position] -= come
                pool = [come, *group.returns.take(tick)]
                total = sum(pool)
                if total:
                    group.pool = pool
                    group.second_asked += total
                    group.left = total
                    group.admitted = 0
                    group.closed_ns = begin
                    active.append(group)
            self._let_in([group for group in active if group.opens_ns < end], begin, end, end_ns)
            for group in active:
                self._send_round(group, tick)
        for group in busy:
            if group.second_asked:
                self._account(group)

    def _let_in(self, groups: list[Group], begin: int, end: int, second_ends: int) -> None:
        """Draw those who are admitted, in order of time."""
        random = self._random.random
        now = begin
        while True:
            waiting = 0
            opening = end
            for group in groups:
                if group.opens_ns <= now:
                    waiting -= -group.left // group.packet
                elif group.opens_ns < opening and group.left:
                    opening = group.opens_ns
            if waiting:
                comes = now + int((end - now) * (1.0 - random() ** (1.0 / waiting)))
                if comes < opening:
                    chosen = int(random() * waiting)
                    for group in groups:
                        if group.opens_ns <= now:
                            chosen += -group.left // group.packet
                            if chosen < 0:
                                break
                    now = comes
                    group.admit(now, second_ends, self._random)
                    continue
            if opening >= end:
                return
            for group in groups:
                if group.opens_ns == opening and group.left:
                    missed = (opening - group.closed_ns) / (end - group.closed_ns)
                    packets = group.left // group.packet
                    if packets > _CLEAR:
                        group.left -= int(packets * missed + random()) * group.packet
                    else:
                        group.left -= packets_of(group.left, group.packet, missed, self._random)
            now = opening

    def _send_round(self, group: Group, tick: int) -> None:
        """A slice is over: who was not admitted comes back, or is lost."""
        flow, retries = group.state.flow, group.state.retries
        admitted = group.admitted
        group.second_admitted += admitted
        rest = sum(group.pool)
        for number, count in enumerate(group.pool):
            if not count:
                continue
            # As in a line of all, with the admitted ones anywhere in it.
            served = admitted if rest == count else min(some_of(admitted, count / rest, self._random), count)
            served = max(served, admitted - rest + count)
            admitted -= served
            rest -= count
            if served:
                flow.at_attempt[number + 1] += served
                flow.waits[retries.mean_waits_ms[number]] += served
            if served == count:
                continue
            if number + 1 < retries.attempts:
                group.returns.send(number, count - served, tick)
            else:
                flow.lost += count - served

    def _account(self, group: Group) -> None:
        """A second is over."""
        total, admitted = group.second_asked, group.second_admitted
        group.second_asked = group.second_admitted = 0
        _note(group, total, admitted)
        if admitted < total:
            for passage in group.passages:
                self._blame(group, passage, total, total - admitted)

    def _blame(self, group: Group, passage: Passage, total: int, refused: int) -> None:
        """Refusals of one lane: those who came while it was shut. The whole is asked before its parts."""
        random = self._random.random
        outer = _shut(passage.outer) / SECOND_NS
        inner = _shut(passage.inner) / SECOND_NS
        # What shuts the only partition shuts the whole at the same moments.
        beyond = max(inner - outer, 0.0) if len(passage.lane.cells) == 1 else inner * (1.0 - outer)
        shut = outer + beyond
        if not shut:
            return
        here = refused if len(group.passages) == 1 else min(int(total * shut + random()), refused)
        by_whole = min(int(here * outer / shut + random()), here)
        refuse_whole(passage.note, self._gates.lane(passage.note).cause, by_whole)
        refuse_at(passage.note, passage.cell, here - by_whole)
        passage.share.denied += here


def _packed(group: Group, count: int) -> int:
    """Those of a second who come together, in whole packets; the rest waits."""
    if group.packet == 1:
        return count
    group.held += count
    come = group.held - group.held % group.packet
    group.held -= come
    return come


def _serve_all(cluster: list[Group], counts: dict[Group, int], now: int) -> bool:
    """Charge a second's requests at once, if there is enough of everything and nobody comes back."""
    doors: dict[Door, None] = {}
    for group in cluster:
        if group.returns.waiting or group.opens_ns > now:
            return False
        for door in group.doors:
            door.asked = 0
            doors[door] = None
    for group in cluster:
        count = counts.get(group, 0)
        for passage in group.passages:
            if count and passage.cell.watch is not None:
                return False
            for door in (*passage.outer, *passage.inner):
                door.asked += count * passage.half_units * HALF_UNIT
    if any(door.asked >= door.bucket.balance(now) for door in doors):
        return False
    for group in cluster:
        count = counts.get(group, 0)
        if count:
            for passage in group.passages:
                if passage.half_units:
                    passage.charge(count, now)
            flow = group.state.flow
            flow.at_attempt[1] += count
            flow.waits[0] += count
            _note(group, count, count)
    for door in doors:
        door.look()
    return True


def _note(group: Group, total: int, admitted: int) -> None:
    """Count attempts, and what those that were admitted took and left there."""
    stream, flow = group.state.stream, group.state.flow
    flow.attempts += total
    flow.admitted += admitted
    flow.throttled += total - admitted
    grows = (stream.grows, *(index.grows for index in stream.indexes))
    for passage, bytes_each in zip(group.passages, grows, strict=True):
        half_units = admitted * passage.half_units
        note, part = passage.note, passage.cell.partition
        note.second_offered += total * passage.half_units
        if half_units:
            note.second_consumed += half_units
            note.cell(passage.cell).half_units += half_units
        if note.writes:
            flow.write_half += half_units
        else:
            flow.read_half += half_units
        part.bytes = max(part.bytes + admitted * bytes_each, 0)
    held = group.passages[0].cell.partition
    held.items = max(held.items + admitted * stream.items, 0)


def _cell_of(note: LaneNote, place: bytes) -> Cell:
    return note.lane.cell_of(place)


def _shut(doors: list[Door]) -> int:
    return max([door.shut_ns for door in doors], default=0)


def _slices(flows: Sequence[Flow], duration_s: int) -> int:
    groups = count_groups([stream for flow in flows for stream in flow.streams])
    if sum(flow.plan.most for flow in flows) <= _MUCH * groups:
        return _SLICES
    return max(min(_SLICES_MAX // (groups * duration_s), _SLICES), 1)


def _weight(group: Group) -> int:
    return group.weight
