"""What partitions are said to hold where nobody has looked, and how looking makes it exact.

A split divides what the parent held without knowing where in it that lies, and what was written while nobody
counted is spread over all partitions. Such partitions are *estimated*. Neighbours that are estimated are a
*run*: what they hold together is exact, for each run comes from partitions whose contents were. So whoever
knows the rows measures all of a run but the last, which holds the rest: from the left, and what the first one
had too much of goes to those on its right. So the sum over a resource is exact before, between and after; and
if meanwhile an exact neighbour is divided too and joins the run, on either side, both remain what they were.

Nothing here splits anything, and a caller without rows (planner) leaves estimates as they are.

Source: capacity.md section 2.4 ("recounted per side") and 2.16, invariant I3; docs/decisions/0019.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile
from operator import attrgetter

from faradisc.capacity.partitions import Contents, Partition, PartitionMap
from faradisc.capacity.topology import hash_bounds


def reconcile(partitions: PartitionMap, size_bytes: int, items: int) -> bool:
    """Make the partitions hold this much in sum; what nobody counted is spread evenly over the hash space,
    and what is not there any more is taken from each in proportion to what it was said to hold.

    Whether anything had to be changed; all are estimated then.
    """
    parts = partitions.partitions
    before = [(part.bytes, part.items) for part in parts]
    _share_out(parts, size_bytes, items)
    changed = before != [(part.bytes, part.items) for part in parts]
    if changed:
        _doubt(partitions)
    return changed


def next_estimated(partitions: PartitionMap) -> Partition | None:
    """What is to be measured next, the first partition of a run; None when what each holds is known."""
    parts = partitions.partitions
    for position, part in enumerate(parts):
        if not part.estimated:
            continue
        if position + 1 < len(parts) and parts[position + 1].estimated:
            return part
        part.estimated = False  # a run of its own: it holds what the run does
    return None


def correct(partitions: PartitionMap, part: Partition, held: Contents) -> None:
    """Let a partition hold what was found in it. Of an estimated one: it was the first of its run when the
    measuring began, and those on its right hold so much more or less. Of another, which turns out to hold
    something else than was counted: then what others hold must be wrong too, and all are estimated."""
    if not part.estimated:
        if (part.bytes, part.items) != (held.bytes, held.items):
            _doubt(partitions)
        return
    rest = _run_behind(partitions, part)
    part.estimated = False
    if rest:
        size_bytes = sum(each.bytes for each in rest) + part.bytes - held.bytes
        items = sum(each.items for each in rest) + part.items - held.items
        part.bytes, part.items = held.bytes, held.items
        _share_out(rest, size_bytes, items)


def _doubt(partitions: PartitionMap) -> None:
    for part in partitions.partitions:
        part.estimated = True


def _run_behind(partitions: PartitionMap, part: Partition) -> list[Partition]:
    parts = partitions.partitions
    first = parts.index(part) + 1
    return list(takewhile(attrgetter("estimated"), islice(parts, first, None)))


def _share_out(parts: Sequence[Partition], size_bytes: int, items: int) -> None:
    widths = [high - low for low, high in map(hash_bounds, parts)]
    held = _fitted([part.bytes for part in parts], widths, size_bytes)
    counted = _fitted([part.items for part in parts], widths, items)
    for part, size, count in zip(parts, held, counted, strict=True):
        part.bytes, part.items = size, count


def _fitted(held: Sequence[int], widths: Sequence[int], wanted: int) -> list[int]:
    """As `held`, with the sum that is wanted."""
    there = [max(each, 0) for each in held]
    missing = wanted - sum(there)
    if missing < 0:
        return _shares(wanted, there)
    return [each + more for each, more in zip(there, _shares(missing, widths), strict=True)]


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """A total in parts by weight, which add up exactly; in equal ones where nothing has a weight."""
    if not any(weights):
        weights = [1] * len(weights)
    whole, passed, given = sum(weights), 0, 0
    shares = []
    for weight in weights:
        passed += weight
        upto = total * passed // whole
        shares.append(upto - given)
        given = upto
    return shares
