"""How finely admissions are run (openings.py), and how much of the time (repeats.py): so that
a plan takes less than a minute, and a small one is as exact as can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from faradisc.capacity.heat import HEAT_STEP_S
from faradisc.tools.planner.doors import count_groups
from faradisc.tools.planner.simulation.recorder import DirectionRecord
from faradisc.tools.planner.workload.arrival_rates import MICRO
from faradisc.tools.planner.workload.streams import BILLION, Flow, Stream

PACKET_S = (0.005, 0.1)
"""So much of what a bucket earns is one admission, at least and at most (measured: with the most it is up to
3 % off, where a bucket is now and then short by a little; with 20 ms 0.7 %, with the least 0.3 %)."""
ADMISSIONS_MAX = 2_000_000
"""No more admissions than this are run."""
SLICES = (5, 20)
"""Of a second (openings.py), at least and at most. The least are enough if nobody comes back: with
one, a plan of two partitions was 1.2 % off, with these 0.7 %."""
BUSY = 100
"""One is, where each group of requests has more than so many a second, for there is little to tell then."""
SLICES_MAX = 2_000_000
"""No more slices of groups than this are run,"""
OVERRUN = 2.0
"""or so many times as many with an attempt in each: few requests need all their attempts."""
STRETCH_S = HEAT_STEP_S
"""The core looks at heat as often, and samples are taken at the end of such a stretch."""
GROUPS_MAX = 5_000_000
"""No more groups than this are looked at, each in each stretch."""
RATE_PERCENT = 5
"""Rates may be this much different from when a block was run."""
REPEATS_MAX = 119
"""A block of time is repeated no more often than this,"""
BLOCK_S = 60
"""lasts a minute,"""
SHORT_BLOCK_S = 30
"""or half of one, where it has many groups: what one does in this minute another does in the next;"""
MANY_GROUPS = 64
"""more than these are many;"""
BLOCKS_MIN = 5
"""so many are run at least,"""
BLOCK_REQUESTS_MIN = 20
"""each has so many requests of every flow,"""
LARGE_MIN = 60_000
"""and in all that are run as much is asked for as so many of the largest cost (measured: with 2,200 of them
it is 1.1 to 1.4 % off, with 6,500 0.8 %, with 30,000 up to 1.1 % by chance)."""
SPARE = 0.5
"""So much more is run where it is worth it."""
_LOOKS = 100
_LOOKS_ALIKE = 0.9
"""Of so many looks at the plan, such a part are to find that a block can be repeated."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much there is to run, in multiples of what can be."""

    admissions: float = 0.0
    """Of packets,"""
    most_admissions: float = 0.0
    """but no more than there are requests."""
    slices: float = 0.0
    """Of groups,"""
    most_slices: float = 0.0
    """but no more than there are attempts."""

    def of(self, grown: float = 1.0) -> float:
        """If there are so many times as many partitions."""
        admissions = min(self.admissions * grown, self.most_admissions)
        return max(admissions, min(self.slices * grown, self.most_slices))


@dataclass(frozen=True, slots=True)
class Pace:
    """How finely time is run, and how much of it."""

    packet_s: float = PACKET_S[0]
    """So much of what a bucket earns is one admission."""
    slices: int = SLICES[1]
    """Of a second."""
    block_s: int = 60
    """So many seconds are run,"""
    times: int = 0
    """and then repeated so many times."""
    spare_s: int = 0
    """So many seconds more may be run."""
    groups: int = 1
    """Of requests, that this was worked out for."""
    work: Work = Work()
    most_times: int = 0
    """A block is repeated no more often than this, be groups as many as they will."""
    short_block_s: int = 60
    """It has so many seconds if these are many."""

    def block_with(self, groups: int) -> int:
        """How many seconds a block has if there are so many groups."""
        return self.short_block_s if groups > MANY_GROUPS else self.block_s

    def times_with(self, groups: int) -> int:
        """How often a block is repeated once there are so many groups: partitions split."""
        work = self.work.of(groups / self.groups)
        return max(min(ceil(work) - 1, self.most_times), self.times)


def find_pace(flows: Sequence[Flow], duration_s: int) -> Pace | None:
    """How finely to run the admissions of flows, and how much of the time. None: it would take too long."""
    streams = [stream for flow in flows for stream in flow.streams]
    groups = count_groups(streams)
    least_packet_s, most_packet_s = PACKET_S
    least_slices, most_slices = SLICES
    if all(not flow.plan.retries.waits for flow in flows):
        most_slices = least_slices
    elif sum(flow.plan.most for flow in flows) > BUSY * groups:
        least_slices = 1
    requests, attempts = _asked(flows, duration_s)
    work = Work(
        _partitions(streams) * duration_s / least_packet_s / ADMISSIONS_MAX,
        requests / ADMISSIONS_MAX,
        groups * duration_s * most_slices / SLICES_MAX,
        attempts / SLICES_MAX,
    )
    block_s, short_block_s, most_times = _block(flows, duration_s)
    times = max(min(ceil(work.of()) - 1, most_times), 0)
    while times and not _repeat(flows, duration_s, block_s * (times + 1)):
        times //= 2
    run = 1 / (times + 1)
    packet_s, slices = least_packet_s, most_slices
    if work.most_admissions * run > 1.0:
        packet_s = max(packet_s * work.admissions * run, packet_s)
    if work.most_slices * run > 1.0:
        slices = min(int(slices / (work.slices * run)), slices)
        if work.most_slices * run < OVERRUN:
            slices = max(slices, least_slices)
    if packet_s > most_packet_s or slices < least_slices or groups * duration_s > GROUPS_MAX * STRETCH_S:
        return None
    spare_s = int(duration_s * run * SPARE)
    most_times = max(most_times, 0)
    return Pace(packet_s, slices, block_s, times, spare_s, groups, work, most_times, short_block_s)


def _asked(flows: Iterable[Flow], duration_s: int) -> tuple[float, float]:
    """How many requests there are, and how many attempts at most."""
    looks = _looks(duration_s)
    requests = attempts = 0.0
    for flow in flows:
        rates = [flow.plan.rate.micro(second) for second in looks]
        mine = sum(rates) * float(flow.plan.share) / MICRO / len(looks) * duration_s
        requests += mine
        attempts += mine * flow.plan.retries.attempts
    return requests, attempts


def _block(flows: Sequence[Flow], duration_s: int) -> tuple[int, int, int]:
    """How many seconds have some requests of each flow, at least a minute or half of one, and how often they
    may be repeated."""
    rates = {flow: [flow.plan.rate.micro(second) for second in _looks(duration_s)] for flow in flows}
    slowest = min([rate for found in rates.values() for rate in found if rate], default=MICRO)
    block_s, short_block_s = (
        least_s * -(-BLOCK_REQUESTS_MIN * MICRO // (least_s * slowest))
        for least_s in (BLOCK_S, SHORT_BLOCK_S)
    )
    asked: dict[DirectionRecord, int] = {}
    most: dict[DirectionRecord, int] = {}
    for flow, found in rates.items():
        for stream in flow.streams:
            record = stream.record
            asked[record] = asked.get(record, 0) + sum(found) * stream.share // BILLION * stream.half_units
            most[record] = max(most.get(record, 0), stream.half_units)
    many = [LARGE_MIN * most[record] * _LOOKS * MICRO // max(units, 1) for record, units in asked.items()]
    least_s = max(BLOCKS_MIN * block_s, *many)
    return block_s, short_block_s, min(duration_s // least_s - 1, REPEATS_MAX)


def _repeat(flows: Iterable[Flow], duration_s: int, seconds: int) -> bool:
    """Whether so many seconds are mostly like the first ones."""
    looks = _looks(duration_s - seconds)
    alike = [
        all(
            flow.has_same_keys(second, second + seconds)
            and flow.is_like(second, second + seconds, RATE_PERCENT)
            for flow in flows
        )
        for second in looks
    ]
    return sum(alike) >= _LOOKS_ALIKE * len(alike)


def _looks(duration_s: int) -> list[int]:
    return [duration_s * number // _LOOKS for number in range(_LOOKS)]


def _partitions(streams: Iterable[Stream]) -> int:
    """Of each table or index that requests ask first, or of their indexes if these have more."""
    most: dict[DirectionRecord, int] = {}
    for stream in streams:
        here = max(len(record.lane.buckets) for record, _ in stream.charges)
        most[stream.record] = max(most.get(stream.record, 0), here)
    return sum(most.values())
