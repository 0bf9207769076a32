"""Where it matters who comes first, and nobody could run all requests: from one admission to the next.

A bucket that is short refuses most of those who ask. The engine of events would spend its time on these: of
10,000 requests a second a table of 20 units admits twenty. Here they pass in numbers; only who is admitted is
drawn, at a moment of its own.

In a *slice* of a second the n requests of a group (doors.py) lie anywhere, evenly. So the next one of
those whose doors are open comes at the least of so many moments; and of those whose doors are shut for a
part of the slice, that part passes in vain. Numbers are integers, and rounding is by chance, so that one
request is refused as often as it would be by itself. Between two admissions nothing else happens: this is the
engine of events without what it throws away.

What differs from it: refused requests come back in later slices; small ones come several together, as many
as cost what a bucket earns in a few thousandths of a second, or hundredths; seconds that have enough of
everything pass at once; which of its doors refused a request is told by how long each was shut; and of long
runs some time is run, and repeated (tools/planner/repeats.py).
Source: docs/decisions/0015.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, product
from random import Random

from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.blame import refuse_at, refuse_whole
from faradisc.tools.planner.doors import (
    Door,
    Group,
    GroupedFlow,
    GroupedStream,
    Passage,
    earned_by,
    find_doors,
    look_again,
)
from faradisc.tools.planner.fluid import offer_all
from faradisc.tools.planner.lots import StreamState
from faradisc.tools.planner.pace import MANY_GROUPS, STRETCH_S, Pace
from faradisc.tools.planner.placing import heaviness, place
from faradisc.tools.planner.repeats import Repeats
from faradisc.tools.planner.returns import packets_of, returns_of, some_of, spread
from faradisc.tools.planner.shares import Gates, Share
from faradisc.tools.planner.simulation.discrete_event import Points, even_step
from faradisc.tools.planner.simulation.recorder import RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.key_distributions import BITS, GOLDEN, ONE, SILVER, Shape
from faradisc.tools.planner.workload.streams import BILLION, Flow

_FEW = 40
"""No more packets than this in a slice each have a moment of their own."""
_CLEAR = 3
"""Of more packets than this, how many miss a stretch of time is hardly chance."""
Batch = tuple[GroupedFlow, list[int], Shape]
"""A flow's requests of one second: how many of each stream, and their keys."""


class Openings:
    """Some flows of a plan, as a guest of the fluid engine."""

    def __init__(
        self,
        flows: Sequence[Flow],
        world: VirtualTables,
        recorder: RunRecorder,
        seed: int,
        pace: Pace,
    ) -> None:
        self._world = world
        self._observer = recorder
        self._packet_s = pace.packet_s
        self._random = Random(f"{seed}/openings")
        self._gates = Gates()
        self._flows = [self._begin(flow) for flow in flows]
        self._streams = [stream for flow in self._flows for stream in flow.streams]
        self._clusters: list[list[Group]] = []
        self._slices = pace.slices
        self._repeats = Repeats(pace, self._flows, Random(f"{seed}/repeats"))
        self._earned: dict[Bucket, float] = {}
        self._tick = 0
        self._second = 0
        self._due = -1
        self._late = False
        """Whether hot partitions are so many that they are watched in the second half of the time only."""
        self._stale = False
        """Whether buckets have been charged by others since they were looked at."""

    def _begin(self, flow: Flow) -> GroupedFlow:
        random = self._random
        streams = [
            GroupedStream(
                StreamState(stream, flow.record, flow.plan.retries, number, self._gates),
                [stream.record, *(index.record for index in stream.indexes)],
                [Points(random, even_step(at + 2)) for at in range(len(stream.indexes))],
                flow.plan.most * stream.share / BILLION,
            )
            for number, stream in enumerate(flow.streams)
        ]
        return GroupedFlow(flow, Points(random, GOLDEN), Points(random, SILVER), streams)

    # --- Seconds ------------------------------------------------------------------------------

    def run_second(self, end_ns: int) -> None:
        begin_ns, second = end_ns - SECOND_NS, self._second
        repeats = self._repeats
        batches = [self._take(flow) for flow in self._flows]
        if not repeats.playing or second % STRETCH_S == 0:
            self._look(batches, begin_ns)
        if repeats.plays(second, begin_ns):
            repeats.play_second(second, [count for _, of_streams, _ in batches for count in of_streams])
        else:
            if self._stale:
                look_again(chain.from_iterable(self._clusters))
                self._stale = False
            repeats.begin(second, self._clusters)
            counts: dict[Group, int] = {}
            asked: list[int] = []
            for flow, of_streams, _ in batches:
                mine = list(map(repeats.catch_up, flow.streams, of_streams))
                counts.update(place(flow, mine, self._random, begin_ns))
                asked += mine
            for cluster in self._clusters:
                if not _serve_all(cluster, counts, begin_ns, late=self._late):
                    self._run_slices(cluster, counts, begin_ns)
            self._tick += self._slices
            repeats.end(second, asked, self._gates)
        self._second += 1
        if end_ns >= self._world.due or self._second % self._observer.step_s == 0:
            self._tell()

    def _take(self, flow: GroupedFlow) -> Batch:
        """The requests of this second."""
        first = flow.flow.sequence
        total, of_streams, shape = flow.flow.take(self._second)
        for stream, count in zip(flow.streams, of_streams, strict=True):
            if total:
                stream.state.among = (first, total)
            if count:
                offer_all(stream.state, count)
        return flow, of_streams, shape

    def _look(self, batches: Iterable[Batch], now: int) -> None:
        """See which buckets this second's requests meet."""
        moved = False
        for flow, _, shape in batches:
            for stream in flow.streams:
                moved = self._follow(stream, shape) or moved
        if not moved and self._due == self._world.due and not self._repeats.playing:
            return
        self._due = self._world.due
        self._gates.tidy(now)
        earned = earned_by([record.lane for stream in self._streams for record in stream.notes])
        if moved or earned != self._earned:
            groups = [group for stream in self._streams for group in stream.groups.values()]
            self._clusters = find_doors(groups, self._packet_s)
            self._late = len(groups) > MANY_GROUPS
            self._repeats.look(self._second, earned, moved=moved)
            self._earned = earned
            self._stale = False
        else:
            self._stale = True

    def finish(self) -> None:
        """The run is over: whoever still waits is lost."""
        self._tell()
        for stream in self._streams:
            stream.state.flow.lost += stream.on_their_way
        self._repeats.finish()

    def _tell(self) -> None:
        for stream in self._streams:
            stream.state.tell()

    # --- Groups -------------------------------------------------------------------------------

    def _follow(self, stream: GroupedStream, shape: Shape) -> bool:
        """Learn how a stream's requests are divided over partitions. Returns: whether there are other groups
        than before."""
        state = stream.state
        state.shape = shape
        indexes = state.stream.indexes
        stream.shapes = [shape, *(index.keys.shape(self._second, *state.among) for index in indexes)]
        shares = [
            division.of(each, record, self._gates)
            for division, each, record in zip(
                (state.division, *state.indexes), stream.shapes, stream.notes, strict=True
            )
        ]
        known = stream.shares
        if known and all(old is new for old, new in zip(known, shares, strict=True)):
            return False
        stream.shares = shares
        stream.spans = []
        return self._regroup(stream)

    def _regroup(self, stream: GroupedStream) -> bool:
        """Returns: whether there are other groups than before."""
        groups = stream.groups
        changed = False
        present: dict[Group, None] = {}
        for mine in product(*stream.shares):
            cells = tuple([share.cell for share in mine])
            group = groups.get(cells)
            if group is None:
                group = groups[cells] = self._new_group(stream, mine)
                changed = True
            group.weight = ONE
            for passage, share in zip(group.passages, mine, strict=True):
                passage.share = share
                group.weight = group.weight * share.weight >> BITS
            group.most = stream.most * group.weight / ONE
            present[group] = None
        heaviest = max(present, key=heaviness)
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

    def _new_group(self, grouped: GroupedStream, shares: Iterable[Share]) -> Group:
        state = grouped.state
        stream = state.stream
        asked = [
            (stream.record, stream.half_units, stream.grows, stream.eventual),
            *((index.record, index.half_units, index.grows, False) for index in stream.indexes),
        ]
        passages = [
            Passage(record, share, half_units, grows, eventual=eventual)
            for (record, half_units, grows, eventual), share in zip(asked, shares, strict=True)
        ]
        rises = any(shape.sort == "rising" for shape in grouped.shapes)
        returns = returns_of(state.retries, self._slices, self._random)
        return Group(state, passages, returns, rises=rises)

    def _be_stranger(self, group: Group) -> None:
        """The keys have left these partitions, and some of their requests still come back."""
        state = group.state
        for division, passage in zip((state.division, *state.indexes), group.passages, strict=True):
            known = next((share for share in division.shares if share.cell is passage.cell), None)
            passage.share = known or division.stranger(passage.cell, self._gates)

    # --- Slices -------------------------------------------------------------------------------

    def _run_slices(self, cluster: list[Group], counts: dict[Group, int], begin_ns: int) -> None:
        """A second's requests whose admission depends on each other."""
        slices, random = self._slices, self._random
        end_ns = begin_ns + SECOND_NS
        busy = []
        for group in cluster:
            count = counts.get(group, 0)
            if count or group.returns.waiting:
                group.look(begin_ns, late=self._late)
                come = spread(_packed(group, count), group.packet, slices, random)
                busy.append((group, group.returns, come))
        doors = dict.fromkeys([door for group, _, _ in busy for door in group.doors])
        for door in doors:
            door.shut_ns = min(max(door.opens_ns - begin_ns, 0), SECOND_NS)
        end = begin_ns
        for number in range(slices):
            begin, end = end, begin_ns + SECOND_NS * (number + 1) // slices
            tick = self._tick + number
            active = []
            for group, returns, come in busy:
                first = come[number]
                if not first and not returns.waiting:
                    continue
                pool = returns.take(tick, first)
                total = sum(pool)
                if not total:
                    continue
                group.second_asked += total
                if group.opens_ns >= end:
                    lost = returns.refuse(pool, tick)
                    if lost:
                        group.state.flow.lost += lost
                    continue
                group.pool = pool
                group.left = total
                group.admitted = 0
                group.closed_ns = begin
                active.append(group)
            if active:
                if len(doors) == 1:
                    self._let_in_at_one_door(active, begin, end, end_ns)
                else:
                    self._let_in(active, begin, end, end_ns)
                for group in active:
                    self._send_round(group, tick)
        for group, _, _ in busy:
            if group.second_asked:
                self._account(group)

    def _let_in(self, groups: list[Group], begin: int, end: int, second_ends: int) -> None:
        """Draw those who are admitted, in order of time."""
        packets = [-(-group.left // group.packet) for group in groups]
        if sum(packets) > _FEW:
            self._let_in_many(groups, begin, end, second_ends)
            return
        random = self._random
        point = random.random
        for part, number in sorted(
            [(point(), number) for number, count in enumerate(packets) for _ in range(count)]
        ):
            group = groups[number]
            now = begin + int((end - begin) * part)
            if group.opens_ns <= now:
                group.admit(now, second_ends, random)

    def _let_in_at_one_door(self, groups: list[Group], begin: int, end: int, second_ends: int) -> None:
        """The same where all meet the same one: who it is that comes matters only while it is open."""
        waiting = sum([-(-group.left // group.packet) for group in groups])
        if waiting > _FEW:
            self._let_in_many(groups, begin, end, second_ends)
            return
        random = self._random
        point = random.random
        group = groups[0]
        least = (group.opens_ns - begin) / (end - begin)
        for part in sorted([point() for _ in range(waiting)]):
            if part < least:
                continue
            if len(groups) > 1:
                chosen = int(point() * waiting)
                for group in groups:
                    chosen += -group.left // group.packet
                    if chosen < 0:
                        break
                waiting -= 1
            group.admit(begin + int((end - begin) * part), second_ends, random)
            least = (group.opens_ns - begin) / (end - begin)

    def _let_in_many(self, groups: list[Group], begin: int, end: int, second_ends: int) -> None:
        """The same, without a look at those who are refused."""
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
        flow, returns, pool = group.state.flow, group.returns, group.pool
        admitted = group.admitted
        if admitted:
            waits = group.state.retries.mean_waits_ms
            group.second_admitted += admitted
            for number, served in _share_out(admitted, pool, self._random):
                pool[number] -= served
                returns.admit(number, served, tick)
                flow.at_attempt[number + 1] += served
                flow.waits[waits[number]] += served
        lost = returns.refuse(pool, tick)
        if lost:
            flow.lost += lost

    def _account(self, group: Group) -> None:
        """A second is over."""
        total, admitted = group.second_asked, group.second_admitted
        group.second_asked = group.second_admitted = 0
        group.note(total, admitted)
        if admitted < total:
            for passage in group.passages:
                self._blame(group, passage, total, total - admitted)

    def _blame(self, group: Group, passage: Passage, total: int, refused: int) -> None:
        """Refusals of one lane: those who came while it was shut. The whole is asked before its parts."""
        random = self._random.random
        outer = _shut(passage.outer) / SECOND_NS
        inner = _shut(passage.inner) / SECOND_NS
        # What shuts the only partition shuts the whole at the same moments.
        beyond = max(inner - outer, 0.0) if len(passage.lane.buckets) == 1 else inner * (1.0 - outer)
        shut = outer + beyond
        if not shut:
            return
        here = refused if len(group.passages) == 1 else min(int(total * shut + random()), refused)
        by_whole = min(int(here * outer / shut + random()), here)
        refuse_whole(passage.record, self._gates.lane(passage.record).cause, by_whole)
        refuse_at(passage.record, passage.cell, here - by_whole)
        passage.refused_whole += by_whole
        passage.refused_here += here - by_whole
        passage.share.denied += here


def _share_out(admitted: int, pool: Sequence[int], random: Random) -> list[tuple[int, int]]:
    """How many of those who are admitted have made so many attempts: as in a line of all, with the admitted
    ones anywhere in it."""
    rest = sum(pool)
    if admitted == 1:
        place = int(random.random() * rest)
        for number, count in enumerate(pool):
            place -= count
            if place < 0:
                return [(number, 1)]
    found = []
    for number, count in enumerate(pool):
        if count and admitted:
            served = admitted if rest == count else some_of(admitted, count / rest, random)
            served = max(min(served, count), admitted - rest + count)
            admitted -= served
            rest -= count
            if served:
                found.append((number, served))
    return found


def _packed(group: Group, count: int) -> int:
    """Those of a second who come together, in whole packets; the rest waits."""
    if group.packet == 1:
        return count
    group.held += count
    come = group.held - group.held % group.packet
    group.held -= come
    return come


def _serve_all(cluster: list[Group], counts: dict[Group, int], now: int, *, late: bool) -> bool:
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
        group.look(now, late=late)
        if count and group.watched:
            return False
        for door, nano in group.tolls:
            door.asked += count * nano
    if any(door.asked >= door.bucket.balance(now) for door in doors):
        return False
    for group in cluster:
        count = counts.get(group, 0)
        if count:
            flow = group.state.flow
            flow.at_attempt[1] += count
            flow.waits[0] += count
            group.note(count, count)
    for door in doors:
        door.charge(now, door.asked)
    return True


def _shut(doors: list[Door]) -> int:
    return max([door.shut_ns for door in doors], default=0)
