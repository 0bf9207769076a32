"""Time that repeats itself: what happens in it is run once (tools/planner/openings.py).

A table that large and small requests compete for all day does the same minute after minute, as far as counts
go. So with many partitions, or for long, a *block* of some minutes is run, then repeated so many times, and
the next block begins where the one that was run has ended: requests that wait go on waiting, and buckets
that are nearly empty are as they were. What is run is then the same process, seen for a part of the time.

Banks are not: they fill, or drain, as they did in each *stretch* of the block, and before one runs out,
seconds are run again. So they are when rates, keys or partitions change, and until all requests that are
under way then have come to an end; and, if there is time, while a partition is about to split for heat.

Arrivals are not repeated either: of each stream as many come as the plan says, and what the repeated seconds
did not account for is asked for in those that are run next, a little at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import floor
from random import Random

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.buckets import Bucket
from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.key_watch import KeyWatch as Watch
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.doors import Door, Group, GroupedFlow, GroupedStream, Passage
from faradisc.tools.planner.pace import RATE_PERCENT, STRETCH_S, Pace
from faradisc.tools.planner.shares import Gates, is_told
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, SecondPart, evenly

_EARNED_SAME = 0.005
"""Buckets may earn so much more or less, of what all earn."""
_SPLIT_SAME = 0.01
"""Partitions that have split since a block was run earned such a part of it, at most."""
_BANK_NS = 5 * SECOND_NS
"""A bucket that saves more than it earns in so much time is a bank,"""
_MARGIN = 2
"""as long as it has more than so many of the largest admissions."""
_CATCH_UP = 0.1
"""What was left over is asked for together with ten times as many, at least."""
_COUNTED = ("attempts", "admitted", "throttled", "lost", "read_half", "write_half")
"""What is counted of a flow's requests."""
_PLACES = 8
"""Of a group, in a stretch, as far as the watch of a hot partition is told."""


@dataclass(slots=True)
class _CellPart:
    """What a partition served and refused in a stretch."""

    record: DirectionRecord
    cell: Cell
    half_units: int = 0
    charged: int = 0
    """Requests."""
    bytes: int = 0
    """What admitted requests have left there,"""
    items: int = 0
    """and how many items."""
    refused: int = 0
    denied: list[tuple[Passage, int]] = field(default_factory=list)
    """Refusals here and by the whole, by whose requests they were."""
    told: list[tuple[Passage, int]] = field(default_factory=list)
    """Admitted requests, likewise."""

    def divided(self) -> list[_CellPart]:
        """The same after a split: what each child will serve. It is no more as hot as its parent, and only
        the lane is told of what is refused."""
        part, lane = self.cell.partition, self.record.lane
        if part.state != "retired":
            return [self]
        children = [cell for cell in lane.buckets if part.holds(cell.partition.low)]
        each = [
            evenly(count, len(children)) for count in (self.half_units, self.charged, self.bytes, self.items)
        ]
        found = []
        for cell, half_units, charged, size, items in zip(children, *each, strict=True):
            found.append(_CellPart(self.record, cell, half_units, charged, size, items))
        return found

    def happen_again(self) -> None:
        cell, noted = self.cell, self.record.cell(self.cell)
        cell.spent += self.half_units
        cell.charged += self.charged
        noted.half_units += self.half_units
        if self.refused:
            noted.throttled += self.refused
            cell.throttled += self.refused
            cell.throttled_total += self.refused
        for passage, count in self.denied:
            passage.share.denied += count
        if self.bytes or self.items:
            part = cell.partition
            part.bytes = max(part.bytes + self.bytes, 0)
            part.items = max(part.items + self.items, 0)


@dataclass(slots=True)
class _FlowPart:
    """What has become of a flow's requests: since the run began, or in a stretch."""

    record: FlowRecord
    at_attempt: dict[int, int]
    waits: dict[int, int]
    counts: list[int]
    """As `_COUNTED` says."""

    def less(self, before: _FlowPart) -> _FlowPart:
        """What has come to pass since."""
        return _FlowPart(
            self.record,
            {key: count - before.at_attempt.get(key, 0) for key, count in self.at_attempt.items()},
            {key: count - before.waits.get(key, 0) for key, count in self.waits.items()},
            [count - was for count, was in zip(self.counts, before.counts, strict=True)],
        )

    def happen_again(self) -> None:
        record = self.record
        record.at_attempt.update(self.at_attempt)
        record.waits.update(self.waits)
        for name, count in zip(_COUNTED, self.counts, strict=True):
            setattr(record, name, getattr(record, name) + count)


@dataclass(slots=True)
class _BankPart:
    """What a bucket that saves gave in a stretch, and gives for an admission at most: in its own
    nano-units."""

    bucket: Bucket
    taken: int
    most: int

    def is_bank(self, now: int) -> bool:
        return self.bucket.scaled_balance(now) > _MARGIN * self.most

    def runs_out(self, now: int) -> bool:
        """Whether it is a bank, and would be none any more if it gave as much."""
        if not self.is_bank(now):
            return False
        bucket = self.bucket
        left = bucket.scaled_balance(now) + bucket.rate * STRETCH_S * SECOND_NS - self.taken
        return left <= _MARGIN * self.most

    def give_again(self, now: int) -> None:
        if self.is_bank(now):
            self.bucket.take(now, self.taken // self.bucket.scale)
        else:
            self.bucket.hold(STRETCH_S * SECOND_NS)


@dataclass(slots=True)
class _Stretch:
    """What happened in ten seconds."""

    second: int
    """When they began."""
    cells: list[_CellPart]
    """All but those that nobody asked."""
    charges: list[tuple[Lane, int, int]]
    """How many requests lanes were charged so many half units for."""
    refused: list[tuple[Lane, Cause, int]]
    """By lanes and causes."""
    flows: list[_FlowPart]
    done: list[int]
    """Per stream: requests that were admitted or lost."""
    lanes: list[tuple[DirectionRecord, list[SecondPart]]]
    buckets: list[Bucket]
    """Those that save little,"""
    banks: list[_BankPart]
    """and those that do not."""

    def runs_out(self, now: int) -> bool:
        """Whether there is a bank that would be none any more."""
        return any(part.runs_out(now) for part in self.banks)

    def heats_up(self) -> bool:
        """Whether there is a partition that may soon split for heat: it takes some minutes, which are not to
        be the same one."""
        parts = [part.cell.partition for part in self.cells]
        return any(part.hot_s and part.not_split_because is None for part in parts)


@dataclass
class _Before:
    """How everything was when a stretch began."""

    second: int
    groups: list[Group]
    doors: list[Door]
    used: list[int]
    flows: list[_FlowPart]
    on_their_way: list[int]
    came: list[int]
    """Requests per stream, since."""
    lanes: dict[DirectionRecord, list[SecondPart]]


class Repeats:
    def __init__(self, pace: Pace, flows: Sequence[GroupedFlow], random: Random) -> None:
        self._pace = pace
        self._flows = flows
        self._streams = [stream for flow in flows for stream in flow.streams]
        self._random = random
        self._settles_s = max([flow.flow.plan.retries.passing_s for flow in flows], default=0)
        self._earned: dict[Bucket, float] = {}
        """When the present block began,"""
        self._latest: dict[Bucket, float] = {}
        """and now."""
        self._settled = 0
        """The second in which a block may begin."""
        self._block: list[_Stretch] = []
        self._before: _Before | None = None
        self._spare_s = float(pace.spare_s)
        self._groups = 0
        self._times = 0
        """A block is repeated so often."""
        self._left = 0
        """Stretches that are still to be repeated."""
        self._next = 0
        self._playing: _Stretch | None = None

    @property
    def playing(self) -> bool:
        """Whether the latest second was a repeated one."""
        return self._playing is not None

    def look(self, second: int, earned: dict[Bucket, float], *, moved: bool) -> None:
        """Buckets may earn something else than they did, or be others (`moved`)."""
        before = self._earned
        self._latest = earned
        changed = [abs(earned.get(bucket, 0.0) - rate) for bucket, rate in before.items()]
        if not moved and earned.keys() == before.keys():
            if sum(changed) <= _EARNED_SAME * sum(before.values()):
                return
        elif self._has_few_splits(earned, sum(changed)):
            for stretch in self._block:
                stretch.cells = [part for mine in stretch.cells for part in mine.divided()]
            self._before = None
            return
        self._earned = earned
        self._forget(second + self._settles_s)

    def _has_few_splits(self, earned: dict[Bucket, float], changed: float) -> bool:
        """Whether so few partitions have split that what was run can still be repeated."""
        before = self._earned
        banks = any(stretch.banks for stretch in self._block)
        split = not earned.keys() >= before.keys()
        return split and not banks and changed <= _SPLIT_SAME * sum(before.values())

    def _forget(self, settled: int) -> None:
        """Things are no more as they were. They will have settled in such a second."""
        self._block = []
        self._before = None
        self._left = self._next = 0
        self._settled = settled

    # --- Seconds that are run -----------------------------------------------------------------

    def begin(self, second: int, clusters: Iterable[list[Group]]) -> None:
        """A second is about to be run."""
        if second % STRETCH_S or second < self._settled:
            return
        groups = [group for cluster in clusters for group in cluster]
        self._groups = len(groups)
        self._times = self._pace.times_with(self._groups)
        if not self._times:
            return
        doors = list(dict.fromkeys([door for group in groups for door in group.doors]))
        for group in groups:
            group.stretch_asked = group.stretch_admitted = 0
            for passage in group.passages:
                passage.refused_here = passage.refused_whole = 0
        self._before = _Before(
            second,
            groups,
            doors,
            [door.bucket.used for door in doors],
            [_state_of(flow.flow.record) for flow in self._flows],
            [stream.on_their_way for stream in self._streams],
            [0] * len(self._streams),
            {passage.record: [] for group in groups for passage in group.passages},
        )

    def end(self, second: int, came: Sequence[int], gates: Gates) -> None:
        """A second has been run in which so many requests came, by stream."""
        before = self._before
        if before is None:
            return
        before.came = [count + more for count, more in zip(before.came, came, strict=True)]
        for record, parts in before.lanes.items():
            parts.append((record.second_offered, record.second_consumed, dict(record.refused)))
        if (second + 1) % STRETCH_S:
            return
        self._before = None
        asked = [group for group in before.groups if group.stretch_asked]
        self._block.append(
            _Stretch(
                before.second,
                _cells_of(asked),
                _charges_of(asked),
                _refusals_of(asked, gates),
                [_state_of(flow.record).less(flow) for flow in before.flows],
                [
                    count + waited - stream.on_their_way
                    for stream, count, waited in zip(
                        self._streams, before.came, before.on_their_way, strict=True
                    )
                ],
                list(before.lanes.items()),
                [door.bucket for door in before.doors if not _saves(door.bucket)],
                [
                    _BankPart(door.bucket, door.bucket.used - used, door.most * door.bucket.scale)
                    for door, used in zip(before.doors, before.used, strict=True)
                    if _saves(door.bucket)
                ],
            )
        )
        if len(self._block) * STRETCH_S >= self._pace.block_with(self._groups):
            self._left = len(self._block) * self._times
            self._next = 0

    # --- Seconds that are repeated ------------------------------------------------------------

    def plays(self, second: int, now: int) -> bool:
        """Whether a second that is about to begin is repeated instead of run."""
        if second % STRETCH_S:
            return self.playing
        was_playing = self.playing
        self._playing = None
        if not self._left:
            if was_playing:
                self._block = []
                self._earned = self._latest
            return False
        stretch = self._block[self._next]
        if not self._alike(stretch, second) or stretch.runs_out(now) or self._heats_up(stretch):
            self._forget(second)
            return False
        self._next = (self._next + 1) % len(self._block)
        self._left -= 1
        self._playing = stretch
        self._begin_again(stretch, now)
        return True

    def _heats_up(self, stretch: _Stretch) -> bool:
        """Whether time is to be spared for what may split."""
        if self._spare_s <= 0 or not stretch.heats_up():
            return False
        self._spare_s -= self._pace.block_with(self._groups) * max(self._groups / self._pace.groups, 1.0)
        return True

    def _alike(self, stretch: _Stretch, second: int) -> bool:
        return all(
            flow.flow.alike(second, STRETCH_S)
            and not flow.flow.warms_up(second)
            and flow.flow.has_same_keys(stretch.second, second)
            and flow.flow.is_like(stretch.second, second, RATE_PERCENT)
            for flow in self._flows
        )

    def _begin_again(self, stretch: _Stretch, now: int) -> None:
        """All that ten seconds did, but for what lanes see second by second."""
        for bucket in stretch.buckets:
            bucket.hold(STRETCH_S * SECOND_NS)
        for bank in stretch.banks:
            bank.give_again(now)
        for part in stretch.cells:
            part.happen_again()
            watch = part.cell.watch
            if watch is not None and is_told(part.cell, watch, now):
                for passage, admitted in part.told:
                    self._tell_watch(watch, passage, admitted, now)
        for lane, half_units, count in stretch.charges:
            lane.counts[half_units] += count
        for lane, cause, count in stretch.refused:
            lane.events[cause] += count
        for flow in stretch.flows:
            flow.happen_again()
        for stream, done in zip(self._streams, stretch.done, strict=True):
            stream.surplus -= done

    def _tell_watch(self, watch: Watch, passage: Passage, admitted: int, now: int) -> None:
        places = min(admitted, _PLACES)
        for number in range(places):
            place = passage.share.placed_at(passage.share.place(self._random), now + number)
            watch.add(place, passage.nano * admitted // places)

    def play_second(self, second: int, came: Sequence[int]) -> None:
        """A second is repeated, in which so many requests came, by stream."""
        stretch = self._playing
        assert stretch is not None
        for record, parts in stretch.lanes:
            offered, consumed, refused = parts[second % STRETCH_S]
            record.take_over((offered, consumed, dict(refused)))
        for stream, count in zip(self._streams, came, strict=True):
            stream.surplus += count

    # --- What was left over -------------------------------------------------------------------

    def catch_up(self, stream: GroupedStream, count: int) -> int:
        """How many requests are to be run in a second in which so many come."""
        if not stream.surplus or not count:
            return count
        # What is run may be repeated, and then it is caught up with as often.
        each = stream.surplus / (self._pace.block_with(self._groups) * (self._times + 1))
        most = count * _CATCH_UP
        more = floor(max(min(each, most), -most) + self._random.random())
        stream.surplus -= more
        return count + more

    def finish(self) -> None:
        """The run is over. Those who were repeated and never came have not been admitted; those who came
        and were not run are lost."""
        for stream in self._streams:
            flow = stream.state.flow
            flow.lost += stream.surplus
        for each in self._flows:
            flow = each.flow.record
            if flow.lost < 0:
                flow.admitted += flow.lost
                flow.attempts += flow.lost
                flow.at_attempt[1] += flow.lost
                flow.waits[0] += flow.lost
                flow.lost = 0


def _state_of(record: FlowRecord) -> _FlowPart:
    counts = [getattr(record, name) for name in _COUNTED]
    return _FlowPart(record, dict(record.at_attempt), dict(record.waits), counts)


def _cells_of(groups: Iterable[Group]) -> list[_CellPart]:
    found: dict[tuple[DirectionRecord, Cell], _CellPart] = {}
    for group in groups:
        admitted = group.stretch_admitted
        for passage in group.passages:
            key = passage.record, passage.cell
            part = found.get(key)
            if part is None:
                part = found[key] = _CellPart(*key)
            if passage.half_units and admitted:
                part.half_units += passage.half_units * admitted
                part.charged += admitted
                part.told.append((passage, admitted))
            part.bytes += passage.grows * admitted
            part.refused += passage.refused_here
            denied = passage.refused_here + passage.refused_whole
            if denied:
                part.denied.append((passage, denied))
        first = group.passages[0]
        found[first.record, first.cell].items += group.state.stream.items * admitted
    return list(found.values())


def _charges_of(groups: Iterable[Group]) -> list[tuple[Lane, int, int]]:
    """By lanes and half units: how many were charged them."""
    found: dict[tuple[Lane, int], int] = {}
    for group in groups:
        for passage in group.passages:
            if passage.half_units:
                key = passage.lane, passage.half_units
                found[key] = found.get(key, 0) + group.stretch_admitted
    return [(*key, count) for key, count in found.items() if count]


def _refusals_of(groups: Iterable[Group], gates: Gates) -> list[tuple[Lane, Cause, int]]:
    """By lanes: how many they have refused, as a whole and by their partitions."""
    found: dict[tuple[Lane, Cause], int] = {}
    for group in groups:
        for passage in group.passages:
            lane = passage.lane
            for cause, count in (
                (gates.lane(passage.record).cause, passage.refused_whole),
                (Cause.KEY_RANGE, passage.refused_here),
            ):
                if count:
                    found[lane, cause] = found.get((lane, cause), 0) + count
    return [(*key, count) for key, count in found.items()]


def _saves(bucket: Bucket) -> bool:
    """Whether it could be a bank, if it were full."""
    return bucket.cap > bucket.rate * _BANK_NS
