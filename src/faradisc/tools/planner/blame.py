"""Which gates have refused the requests of a step that did not pass.

The service asks all lanes, and each of them that refuses is told of (capacity/admission.py), so that one
refusal may be counted at the table and at its indexes. Gates refuse independently of each other, but for
those that are asked by the same requests only: a partition of the table and one of an index whose keys follow
one another together are empty at the same moments, and then both refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.capacity.throttle import Cause
from faradisc.tools.planner.turnstile import RATIO

if TYPE_CHECKING:
    from faradisc.tools.planner.demands import Demand, IndexDemand
    from faradisc.tools.planner.filling import Passage
    from faradisc.tools.planner.gates import Gate
    from faradisc.tools.planner.shares import Share
    from faradisc.tools.planner.simulation.recorder import DirectionRecord


_EMPTY = 0.95
"""A partition that is charged this part of what it has, or more, may be what stops requests."""


def blame(demand: Demand, attempts: int, admitted: int) -> None:
    """Blame the gates of a demand. Requires: its passages, which make so many attempts together, of which so
    many are admitted."""
    if not attempts:
        return
    alike = [0.0] * len(demand.indexes)
    for passage in demand.passages:
        share = passage.share
        if share is None:
            _blame_crowd(demand, passage)
        elif passage.admitted < passage.attempts:
            most = 0.0
            for position, index in enumerate(demand.indexes):
                part = _is_alike(demand, passage, share, index)
                alike[position] += part * passage.attempts
                most = max(most, part)
            _blame_table(demand, passage, share, most)
    for position, index in enumerate(demand.indexes):
        _blame_index(index, attempts, admitted / attempts, alike[position] / attempts)


def _blame_crowd(demand: Demand, passage: Passage) -> None:
    attempts, ratio = passage.attempts, passage.ratio
    if ratio < 1:
        refused = round(attempts * (1 - ratio)) if demand.indexes else attempts - passage.admitted
        refuse_whole(demand.state.stream.record, demand.gate.cause, refused)


def _blame_table(demand: Demand, passage: Passage, share: Share, alike: float) -> None:
    """Refusals of the table itself, by gate; those of indexes are counted there."""
    record = demand.state.stream.record
    attempts, admitted, base = passage.attempts, passage.admitted, passage.ratio
    refused = attempts - admitted
    if demand.indexes:
        # Not all of them were refused here.
        passing = admitted / attempts
        if passing < base:
            base -= (base - passing) * alike
        part = int(attempts * (1 - base) * RATIO)
        refused, share.refused_left[1] = divmod(share.refused_left[1] + part, RATIO)
    if refused:
        gate = demand.gate
        first = 0
        if gate.ratio < 1 and base < 1:
            whole = (1 - gate.ratio) / (1 - base)
            first, share.refused_left[0] = divmod(share.refused_left[0] + refused * int(whole * RATIO), RATIO)
            first = min(first, refused)
            refuse_whole(record, gate.cause, first)
        refuse_at(record, share.cell, refused - first)
    share.denied += attempts - admitted


def _blame_index(index: IndexDemand, attempts: int, through_all: float, alike: float) -> None:
    """Refusals of an index. One that is out of units together with its table is out of them whenever
    the table is."""
    record = index.charge.record
    gate = index.gate
    if gate.tight:
        ratio = index.lane_ratio
        if gate.binds:
            ratio = min(ratio, through_all)
        refuse_whole(record, gate.cause, round(attempts * (1 - ratio)))
    for share, weight in index.parts:
        ratio = share.gate.ratio
        if alike and through_all < ratio:
            ratio -= (ratio - through_all) * alike
        if ratio >= 1:
            continue
        part = int(attempts * gate.ratio * weight * (1 - ratio) * RATIO)
        refused, share.refused_left[1] = divmod(share.refused_left[1] + part, RATIO)
        refuse_at(record, share.cell, refused)
        share.denied += refused


def _is_alike(demand: Demand, passage: Passage, share: Share, index: IndexDemand) -> float:
    """How much a partition of the table and one of an index are asked by the same requests, 0..1, if both are
    empty."""
    other = index.parts[0][0].gate
    if len(index.parts) > 1 or not (_is_empty(share.gate) and _is_empty(other)):
        return 0.0
    mine = passage.admitted * demand.partition_nano / share.gate.load
    theirs = passage.admitted * index.nano / other.load
    return (mine if mine < 1.0 else 1.0) * (theirs if theirs < 1.0 else 1.0)


def _is_empty(gate: Gate) -> bool:
    return gate.tight and gate.load > 0 and gate.load >= gate.available * _EMPTY


def refuse_whole(record: DirectionRecord, cause: Cause, count: int) -> None:
    """A table or an index has refused so many requests."""
    if count:
        record.refuse(cause, count)
        record.lane.events[cause] += count


def refuse_at(record: DirectionRecord, cell: Cell, count: int) -> None:
    """A partition has refused so many requests."""
    if not count:
        return
    record.refuse(Cause.KEY_RANGE, count, cell)
    record.lane.events[Cause.KEY_RANGE] += count
    cell.throttled += count
    cell.throttled_total += count
