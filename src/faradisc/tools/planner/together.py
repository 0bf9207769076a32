"""Keys of a table and of its indexes that follow one another in the same seconds.

Whoever comes while a table is at its third key comes while its index is at a certain one as well: in each
stretch of the second both lanes ask partitions of their own, and what one of these stops says nothing about
the other keys of that second. Taken as if keys of both came together by chance, a partition of the table
seemed to refuse what only the index did, was thought hot and was split; plans were 1 to 2 % off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from faradisc.tools.planner.shares import WATCHED_KEYS, Share
from faradisc.tools.planner.workload.key_distributions import ONE, Shape

Parts = list[tuple[Share, float]]
"""Partitions, and what part of some requests is for each; they add up to 1."""


class Run(NamedTuple):
    """The requests for one key."""

    upto: int
    """Where in 0..ONE they end; the last: ONE, whatever rounding has left over."""
    parts: Parts


Lane = list[Run]
"""The keys of a second in their order."""

Stretch = tuple[float, tuple[Share, ...]]
"""What part of a second's requests is for these partitions, one of each lane."""


def lane_of(shape: Shape | None, shares: Sequence[Share]) -> Lane | None:
    """None: its keys do not follow one another, or are too many to be told apart."""
    if shape is None or not shape.ordered or len(shape.keys) > WATCHED_KEYS:
        return None
    held: dict[str, list[tuple[Share, int]]] = {}
    for share in shares:
        for key, weight in share.keys:
            held.setdefault(key.name, []).append((share, weight))
    lane: Lane = []
    reached = 0
    for key in shape.keys:
        reached += key.weight
        mine = held.get(key.name)
        if mine is not None:
            total = sum([weight for _, weight in mine])
            lane.append(Run(reached, [(share, weight / total) for share, weight in mine]))
    if not lane:
        return None
    lane[-1] = lane[-1]._replace(upto=ONE)
    return lane


def stretches(lanes: Sequence[Lane]) -> Iterator[Stretch]:
    """The second cut wherever a key ends. Requires: lanes that are not empty."""
    positions = [0] * len(lanes)
    before = 0
    while before < ONE:
        runs = [lane[position] for lane, position in zip(lanes, positions, strict=True)]
        upto = min([run.upto for run in runs])
        lasting = (upto - before) / ONE
        for combined in product(*[run.parts for run in runs]):
            yield lasting * prod([part for _, part in combined]), tuple([share for share, _ in combined])
        positions = [position + (run.upto == upto) for position, run in zip(positions, runs, strict=True)]
        before = upto
