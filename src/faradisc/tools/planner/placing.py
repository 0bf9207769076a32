"""Which partitions the requests of a second are for (tools/planner/openings.py).

By weights alone, of sixteen requests a second each of two halves would have eight. But a half consists of
keys, and of those that are asked for less than once a second now more come and now fewer. Where a bucket is
short it matters that they do: large requests that always come in equal numbers have better chances than
those that meet by chance. So as long as there are not too many, each request has a key, as in the engine of
events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.tools.planner.doors import Group, GroupedFlow
from faradisc.tools.planner.shares import Spans, divide
from faradisc.tools.planner.simulation.recorder import DirectionRecord
from faradisc.tools.planner.workload.key_distributions import ONE

DRAWN_MAX = 10
"""So few requests of a flow are told the watches of hot partitions by their keys,"""
DRAWN_PER_GROUP = 3
"""and so few per group."""
PLACED_PER_GROUP = 40
"""Of so many each one has a key: of more, a second has about as many as the next."""


def place(flow: GroupedFlow, of_streams: Sequence[int], random: Random, now: int) -> dict[Group, int]:
    """So many requests of each stream of a flow in the second that begins now, by group."""
    total = sum(of_streams)
    if not total:
        return {}
    groups = sum([len(stream.groups) for stream in flow.streams])
    if total <= max(DRAWN_MAX, DRAWN_PER_GROUP * groups):
        flow.draws = True
        return _draw(flow, of_streams, random, now)
    if flow.draws:
        flow.draw_no_more()
    shapes = flow.streams[0].shapes
    even = len(flow.streams) == len(shapes) == 1 and not shapes[0].keys
    if even or shapes[0].ordered or total > PLACED_PER_GROUP * groups:
        return _divide(flow, of_streams)
    return _place_each(flow, of_streams)


def _divide(flow: GroupedFlow, of_streams: Sequence[int]) -> dict[Group, int]:
    found: dict[Group, int] = {}
    for stream, count in zip(flow.streams, of_streams, strict=True):
        if count:
            counts, stream.phase = divide(count, stream.upto, stream.phase)
            pairs = zip(stream.groups.values(), counts, strict=True)
            found.update((group, mine) for group, mine in pairs if mine)
    return found


def _place_each(flow: GroupedFlow, of_streams: Sequence[int]) -> dict[Group, int]:
    found: dict[Group, int] = {}
    alone = len(flow.streams) == len(flow.streams[0].shapes) == 1
    points = (flow.points.in_order if alone else flow.points.take)(sum(of_streams))
    first = 0
    for stream, count in zip(flow.streams, of_streams, strict=True):
        if not count:
            continue
        if not stream.spans:
            stream.spans = [Spans(*each) for each in zip(stream.shapes, stream.shares, strict=True)]
        of_lanes = [points[first : first + count], *(each.take(count) for each in stream.index_points)]
        first += count
        owners = [spans.owners(mine) for spans, mine in zip(stream.spans, of_lanes, strict=True)]
        for numbers, mine in Counter(zip(*owners, strict=True)).items():
            cells = tuple(
                [shares[number].cell for shares, number in zip(stream.shares, numbers, strict=True)]
            )
            found[stream.groups[cells]] = mine
    return found


def _draw(flow: GroupedFlow, of_streams: Sequence[int], random: Random, now: int) -> dict[Group, int]:
    """A few requests, by keys that are drawn as the engine of events draws them. Rising sort keys are
    the time."""
    found: dict[Group, int] = {}
    total = sum(of_streams)
    counted = list(zip(flow.streams, of_streams, strict=True))
    streams = [stream for stream, count in counted for _ in range(count)]
    random.shuffle(streams)
    for stream, count in counted:
        for each in stream.index_points:
            each.lay_out(count)
    flow.sort_points.lay_out(sum([len(stream.shapes) for stream in streams]))
    ordered = streams[0].shapes[0].ordered
    firsts = [at * ONE // total for at in range(total)] if ordered else flow.points.take(total)
    for stream, first in zip(streams, firsts, strict=True):
        points = [first, *(each.next() for each in stream.index_points)]
        places = [
            shape.draw(point, now if shape.sort == "rising" else flow.sort_points.next())[1]
            for shape, point in zip(stream.shapes, points, strict=True)
        ]
        group = stream.groups.get(tuple(map(_cell_of, stream.notes, places)))
        if group is None:
            # So small a part of the keys is there that it counts as none.
            group = max(stream.groups.values(), key=heaviness)
        else:
            if group not in found:
                group.begin_second()
            group.draw(tuple(places))
        found[group] = found.get(group, 0) + 1
    return found


def _cell_of(record: DirectionRecord, place: bytes) -> Cell:
    return record.lane.bucket_of(place)


def heaviness(group: Group) -> int:
    return group.weight
