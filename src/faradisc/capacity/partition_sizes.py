"""Correction of what partitions are counted to hold: by the size of the whole table, or by a measurement.

A split divides the parent's count without reading rows, and writes are not counted while throughput is not
enforced. The counts of single partitions are estimates then, but they add up to what the table holds.

Source: capacity.md section 2.4 ("recounted per side") and section 2.16, invariant I3; docs/decisions/0019.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity.partitions import Contents, Partition, PartitionMap, divide, hash_bounds


def reconcile(partitions: PartitionMap, size_bytes: int, items: int) -> None:
    """Makes the counts of all partitions add up to these totals.

    Bytes that were not counted are spread evenly over the hash space; bytes that are gone are taken from each
    partition in proportion to its count.
    """
    parts = partitions.partitions
    if (sum(part.bytes for part in parts), sum(part.items for part in parts)) != (size_bytes, items):
        _set_total(parts, size_bytes, items, uncounted=abs(size_bytes - sum(part.bytes for part in parts)))


def set_measured(partitions: PartitionMap, part: Partition, held: Contents) -> None:
    """Sets what was measured in a partition. The other partitions hold the rest, first those whose own
    contents are uncertain. The count of an only partition is exact and stays as it is."""
    part.unknown_bytes = 0
    others = [each for each in partitions.partitions if each is not part]
    moved_bytes, moved_items = part.bytes - held.bytes, part.items - held.items
    if not others or not (moved_bytes or moved_items):
        return
    others = [each for each in others if each.unknown_bytes] or others
    part.bytes, part.items = held.bytes, held.items
    size_bytes = sum(each.bytes for each in others) + moved_bytes
    items = sum(each.items for each in others) + moved_items
    _set_total(others, size_bytes, items, uncounted=0)


def _set_total(parts: Sequence[Partition], size_bytes: int, items: int, *, uncounted: int) -> None:
    """`uncounted`: bytes that may be in any of the partitions, whatever they were counted to hold."""
    widths = [high - low for low, high in map(hash_bounds, parts)]
    sizes = _fit([part.bytes for part in parts], widths, size_bytes)
    counts = _fit([part.items for part in parts], widths, items)
    for part, size, count in zip(parts, sizes, counts, strict=True):
        most = part.most_bytes + uncounted
        part.bytes, part.items, part.unknown_bytes = size, count, max(most - size, 0)


def _fit(counts: Sequence[int], widths: Sequence[int], total: int) -> list[int]:
    """Returns counts that add up to the total and are not negative, unless the total is."""
    positive = [max(count, 0) for count in counts]
    missing = total - sum(positive)
    if missing < 0:
        return divide(total, positive)
    return [count + more for count, more in zip(positive, divide(missing, widths), strict=True)]
