"""Requests by the buckets they meet (tools/planner/openings.py).

The requests of a stream for one partition of the table and one of each index are a *group*: they meet the
same buckets, its *doors*, and are admitted while all of these are open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from random import Random

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import HALF_UNIT
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.tools.planner.lots import StreamState
from faradisc.tools.planner.returns import Returns
from faradisc.tools.planner.shares import Share, Spans, is_told
from faradisc.tools.planner.simulation.discrete_event import MILLI_NS, Points
from faradisc.tools.planner.simulation.recorder import DirectionRecord
from faradisc.tools.planner.workload.key_distributions import Shape
from faradisc.tools.planner.workload.streams import Flow, Stream

_DRAWN_KEPT = 64
Places = tuple[bytes, ...]
"""Where a request is for, in the table and in each index."""


class Door:
    """A bucket: when it opens, and how long it has been shut in this second."""

    __slots__ = ("asked", "bucket", "groups", "most", "opens_ns", "shut_ns")

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.groups: list[Group] = []
        self.opens_ns = 0
        self.shut_ns = 0
        self.asked = 0
        """Nano-units that would be charged, if all of a second's requests were admitted."""
        self.most = 0
        """Nano-units that an admission takes, at most."""
        self.look()

    def look(self) -> None:
        """See when it opens: a bucket admits while its balance is positive."""
        self.opens_ns = self.bucket.used // self.bucket.rate + 1

    def charge(self, now: int, nano: int) -> int:
        """Take a cost. Returns: when it opens."""
        self.bucket.take(now, nano)
        self.look()
        return self.opens_ns


class Passage:
    """What the requests of a group ask of one lane."""

    __slots__ = (
        "cell",
        "grows",
        "half_units",
        "inner",
        "lane",
        "nano",
        "nano_whole",
        "outer",
        "record",
        "refused_here",
        "refused_whole",
        "share",
    )  # fmt: skip

    def __init__(
        self, record: DirectionRecord, share: Share, half_units: int, grows: int, *, eventual: bool
    ) -> None:
        self.record = record
        self.lane: Lane = record.lane
        self.share = share
        self.cell: Cell = share.cell
        self.half_units = half_units
        """0: the index is asked, and charged nothing."""
        self.grows = grows
        """Bytes that an admitted request leaves there."""
        self.nano_whole = half_units * HALF_UNIT
        """What a request takes from the lane as a whole, and from the partition's share of its rate,"""
        self.nano = half_units * (self.lane.eventual_half if eventual else HALF_UNIT)
        """and what from the partition."""
        self.outer: list[Door] = []
        """Of the lane as a whole."""
        self.inner: list[Door] = []
        """Of the partition."""
        # Of this stretch (tools/planner/repeats.py).
        self.refused_whole = 0
        self.refused_here = 0

    def tolls(self) -> list[tuple[Door, int]]:
        """What a request takes from each bucket."""
        own = [(door, self.nano if door.bucket is self.cell else self.nano_whole) for door in self.inner]
        return [(door, self.nano_whole) for door in self.outer] + own

    def leave(self, admitted: int) -> None:
        """What so many admitted requests have taken and left there: all that buckets do not know."""
        cell = self.cell
        if self.half_units:
            half_units = self.half_units * admitted
            self.lane.counts[self.half_units] += admitted
            cell.spent += half_units
            cell.charged += admitted
            self.record.cell(cell).half_units += half_units
        if self.grows:
            part = cell.partition
            part.bytes = max(part.bytes + admitted * self.grows, 0)


class Group:
    """The requests of a stream that meet the same doors."""

    __slots__ = (
        "admitted", "closed_ns", "doors", "drawn", "fresh", "held", "left", "most", "opens_ns", "packet",
        "passages", "pool", "returns", "rises", "second_admitted", "second_asked", "state",
        "stretch_admitted", "stretch_asked", "tolls", "watched", "weight",
    )  # fmt: skip

    def __init__(self, state: StreamState, passages: list[Passage], returns: Returns, *, rises: bool) -> None:
        self.state = state
        self.passages = passages
        self.returns = returns
        self.rises = rises
        """Whether sort keys are times."""
        self.weight = 0
        """Of the stream's requests, of `ONE`. 0: its keys have moved on."""
        self.most = 0.0
        """So many come for the first time in a second, at most."""
        self.packet = 1
        """So many come together, being small."""
        self.doors: list[Door] = []
        self.tolls: list[tuple[Door, int]] = []
        """Nano-units that a request takes from each."""
        self.second_asked = 0
        """Attempts in this second,"""
        self.second_admitted = 0
        """and how many of them were admitted."""
        self.watched = False
        """Whether one of its partitions is watched, being hot."""
        self.drawn: list[Places] = []
        """Where requests are for that have been drawn by their keys: of those that may still be admitted."""
        self.fresh = 0
        """How many of the last ones came in the latest second that had any."""
        self.held = 0
        """Those who wait until they are a packet."""
        # Of this stretch (tools/planner/repeats.py).
        self.stretch_asked = 0
        self.stretch_admitted = 0
        # Of this slice.
        self.pool: list[int] = []
        """Requests, by the number of attempts before."""
        self.left = 0
        """Those of which nothing has been decided: they come between `closed_ns` and the slice's end if the
        group is shut out, and between now and then if it is not."""
        self.admitted = 0
        self.opens_ns = 0
        self.closed_ns = 0

    def begin_second(self) -> None:
        """Of the requests drawn in earlier seconds no more may be admitted than still wait."""
        del self.drawn[: max(len(self.drawn) - self.returns.waiting, 0)]
        self.fresh = 0

    def draw(self, places: Places) -> None:
        """A request of this second by its keys."""
        self.drawn.append(places)
        self.fresh += 1
        if len(self.drawn) > _DRAWN_KEPT:
            del self.drawn[0]

    def look(self, now: int, *, late: bool) -> None:
        """See whether a partition is watched in the second that begins now. `late`: in the second half of the
        time only that it takes until it splits."""
        self.watched = False
        for passage in self.passages:
            cell = passage.cell
            if cell.watch is not None and not (late and not is_told(cell, cell.watch, now)):
                self.watched = True

    def admit(self, now: int, end: int, random: Random) -> None:
        """Charge the next ones, and see which doors that has shut, in a second that ends then."""
        count = min(self.packet, self.left)
        self.left -= count
        self.admitted += count
        if self.watched or self.drawn:
            self._tell_watches(count, now, random)
        for door, nano in self.tolls:
            opens_ns = door.charge(now, nano * count)
            if opens_ns > now:
                door.shut_ns += min(opens_ns, end) - now
                for group in door.groups:
                    if group.opens_ns <= now:
                        group.closed_ns = now
                    group.opens_ns = max(group.opens_ns, opens_ns)

    def _tell_watches(self, count: int, now: int, random: Random) -> None:
        """Tell which keys those are for that are admitted."""
        places = None
        first_ns = now
        if self.rises or self.drawn:
            places, attempts = self._choose(random)
            first_ns -= self.state.retries.mean_waits_ms[attempts] * MILLI_NS
        for number, passage in enumerate(self.passages):
            watch = passage.cell.watch
            if watch is not None and passage.half_units:
                share = passage.share
                place = share.place(random) if places is None else places[number]
                watch.add(share.placed_at(place, first_ns) if self.rises else place, passage.nano * count)

    def _choose(self, random: Random) -> tuple[Places | None, int]:
        """One of those who are admitted: where it is for, if its keys were drawn, and how many attempts
        it has made before."""
        again = self.pool[1:]
        returns = random.random() * sum(self.pool) < sum(again)
        older = max(len(self.drawn) - self.fresh, 0)
        places = None
        if self.drawn and returns and older:
            places = self.drawn.pop(random.randrange(older))
        elif self.drawn:
            places = self.drawn.pop(min(older, len(self.drawn) - 1))
            self.fresh = max(self.fresh - 1, 0)
        if not returns:
            return places, 0
        (attempts,) = random.choices(range(1, len(self.pool)), again)
        return places, attempts

    def note(self, asked: int, admitted: int) -> None:
        """Count attempts of a second, and what those that were admitted took and left there."""
        flow = self.state.flow
        self.stretch_asked += asked
        self.stretch_admitted += admitted
        flow.attempts += asked
        flow.admitted += admitted
        flow.throttled += asked - admitted
        for passage in self.passages:
            half_units = admitted * passage.half_units
            record = passage.record
            record.second_offered += asked * passage.half_units
            record.second_consumed += half_units
            if record.writes:
                flow.write_half += half_units
            else:
                flow.read_half += half_units
        if admitted:
            self.leave(admitted)

    def leave(self, admitted: int) -> None:
        """What so many requests have taken from partitions, and left there."""
        for passage in self.passages:
            passage.leave(admitted)
        items = self.state.stream.items
        if items:
            held = self.passages[0].cell.partition
            held.items = max(held.items + admitted * items, 0)


@dataclass
class GroupedStream:
    """A stream under way, and its requests by the doors they meet."""

    state: StreamState
    notes: list[DirectionRecord]
    """Of the table and of each index."""
    index_points: list[Points]
    most: float
    """Requests per second, at most."""
    shapes: list[Shape] = field(default_factory=list)
    """Of the present second: the table's keys, and those of each index."""
    shares: list[list[Share]] = field(default_factory=list)
    groups: dict[tuple[Cell, ...], Group] = field(default_factory=dict)
    spans: list[Spans] = field(default_factory=list)
    """Of the table and of each index, as far as needed (tools/planner/placing.py)."""
    upto: list[int] = field(default_factory=list)
    """The weights of the groups, summed up."""
    phase: int = 0
    surplus: int = 0
    """Requests that came while others were repeated (tools/planner/repeats.py), less those that were."""

    @property
    def on_their_way(self) -> int:
        """Requests of which nothing is decided."""
        return sum([group.returns.waiting + group.held for group in self.groups.values()])


@dataclass
class GroupedFlow:
    """A flow under way."""

    flow: Flow
    points: Points
    sort_points: Points
    streams: list[GroupedStream]
    draws: bool = False
    """Whether requests are few enough to be drawn by their keys."""

    def draw_no_more(self) -> None:
        """There are many now: those who still wait are as good as any."""
        self.draws = False
        for stream in self.streams:
            for group in stream.groups.values():
                group.drawn.clear()
                group.fresh = 0


def count_groups(streams: Iterable[Stream]) -> int:
    """How many groups the requests of streams make."""
    return sum(
        [
            prod(
                [
                    len(record.lane.buckets)
                    for record in (stream.record, *(index.record for index in stream.indexes))
                ]
            )
            for stream in streams
        ]
    )


def earned_by(lanes: Iterable[Lane]) -> dict[Bucket, float]:
    """All buckets of lanes, and what each earns: units per second."""
    found: list[Bucket | None] = []
    for lane in dict.fromkeys(lanes):
        cells = lane.buckets
        found += (*lane.quotas, lane.maximum, lane.table_bucket, *cells, *[cell.share for cell in cells])
    return {bucket: bucket.rate / bucket.scale for bucket in found if bucket is not None}


def look_again(groups: Iterable[Group]) -> None:
    """See when groups are let in, after buckets have been charged by others."""
    groups = list(groups)
    for door in dict.fromkeys([door for group in groups for door in group.doors]):
        door.look()
    for group in groups:
        group.opens_ns = max([door.opens_ns for door in group.doors])


def find_doors(groups: Iterable[Group], packet_s: float) -> list[list[Group]]:
    """See which buckets groups meet. Returns: the clusters of those that have any in common, directly or by
    way of others. Requests come together if that many come in `packet_s`, and cost no more than any bucket
    earns in that time."""
    doors: dict[Bucket, Door] = {}
    groups = list(groups)

    def doors_of(*buckets: Bucket | None) -> list[Door]:
        found = []
        for bucket in buckets:
            if bucket is not None:
                door = doors.get(bucket)
                if door is None:
                    door = doors[bucket] = Door(bucket)
                found.append(door)
        return found

    for group in groups:
        most = group.most * packet_s
        for passage in group.passages:
            lane, cell = passage.lane, passage.cell
            passage.outer = doors_of(*lane.quotas, lane.maximum, lane.table_bucket)
            passage.inner = doors_of(cell, cell.share)
        tolls: dict[Door, int] = {}
        for door, nano in chain.from_iterable([passage.tolls() for passage in group.passages]):
            tolls[door] = tolls.get(door, 0) + nano
            if nano:
                bucket = door.bucket
                most = min(most, bucket.rate / bucket.scale * 1e9 * packet_s / nano)
        group.packet = group.returns.packet = max(int(most), 1)
        group.doors, group.tolls = list(tolls), list(tolls.items())
        for door, nano in group.tolls:
            door.groups.append(group)
            door.most = max(door.most, nano * group.packet)
    for group in groups:
        group.opens_ns = max([door.opens_ns for door in group.doors])
    return _clusters(groups)


def _clusters(groups: list[Group]) -> list[list[Group]]:
    found: list[list[Group]] = []
    seen: set[Group] = set()
    for group in groups:
        if group in seen:
            continue
        seen.add(group)
        cluster = [group]
        for member in cluster:
            for door in member.doors:
                new = [near for near in door.groups if near not in seen]
                seen.update(new)
                cluster += new
        found.append(cluster)
    return found
