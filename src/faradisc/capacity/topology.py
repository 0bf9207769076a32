"""How many partitions a resource needs, and where they are cut.

A provisioned resource needs the sum of its read and write shares of what one partition serves (with the caps
of its own profile); an on-demand one the larger of both, by the service's own limits, so that a new table has
four whatever its caps are. A raise that does not fit doubles the count. Cuts for throughput lie at hash
midpoints, cuts for size at the byte median; cuts for heat are in heat.py.

Counts never round their inputs: with exact rationals 11,000 write and 1 read unit need 12 partitions
(vector V84). Sources: capacity.md section 2.4; vectors V70 to V87.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heapify, heappush, heapreplace
from typing import Protocol

from faradisc.capacity.config import HASH_BYTES, CapacityConfig
from faradisc.capacity.events import SplitReason
from faradisc.capacity.partitions import (
    AWS,
    HASH_SPACE,
    PARTITION_READ_UNITS_MAX,
    PARTITION_WRITE_UNITS_MAX,
    Contents,
    Partition,
    PartitionMap,
    hash_bounds,
    hash_number,
    initial_partitions,
)
from faradisc.records import dataclass


def needed_partitions(
    read_units: int, write_units: int, size_bytes: int, config: CapacityConfig = AWS
) -> int:
    """Returns the partitions of a restored or imported resource: the larger of throughput and size (V70a)."""
    by_size = -(-size_bytes // config.partition_bytes_max)
    return max(initial_partitions(read_units, write_units, config), by_size)


def partitions_after_raise(
    count: int, read_units: int, write_units: int, config: CapacityConfig = AWS
) -> int:
    """Returns the count after a raise: doubled until it fits (V73, V80, V81)."""
    while count < initial_partitions(read_units, write_units, config):
        count *= 2
    return count


def on_demand_partitions(read_units: int, write_units: int) -> int:
    """Returns the partitions for an on-demand capacity: the larger of reads and writes (V82, V83)."""
    return max(1, -(-read_units // PARTITION_READ_UNITS_MAX), -(-write_units // PARTITION_WRITE_UNITS_MAX))


# --- Cuts by hash ---------------------------------------------------------------------------------


def equal_cuts(part: Partition, pieces: int) -> list[bytes]:
    """Returns cuts into equal hash ranges; fewer where the range is too narrow."""
    low, high = hash_bounds(part)
    numbers = {low + (high - low) * piece // pieces for piece in range(1, pieces)}
    cuts = (number.to_bytes(HASH_BYTES, "big") for number in sorted(numbers))
    return [cut for cut in cuts if part.can_cut(cut)]


Plan = list[tuple[Partition, list[bytes]]]
"""Partitions to be split, each with its cuts."""


def plan_doubling(
    partitions: PartitionMap, read_units: int, write_units: int, config: CapacityConfig = AWS
) -> Plan:
    """Halves every partition at its hash midpoint, repeatedly, until the throughput fits."""
    count = len(partitions)
    pieces = partitions_after_raise(count, read_units, write_units, config) // count
    plan = [(part, equal_cuts(part, pieces)) for part in partitions.partitions]
    return [(part, cuts) for part, cuts in plan if cuts]


def plan_widest_first(partitions: PartitionMap, count: int) -> Plan:
    """Halves the widest hash ranges one at a time until there are `count` partitions (on demand)."""
    cuts: list[list[bytes]] = [[] for _ in partitions.partitions]
    widest = []
    for index, part in enumerate(partitions.partitions):
        low, high = hash_bounds(part)
        widest.append((low - high, low, index))
    heapify(widest)
    for _ in range(count - len(partitions)):
        minus_width, low, index = widest[0]
        if minus_width > -2:
            break  # no range is left that contains two hash values
        middle = low - minus_width // 2
        cuts[index].append(middle.to_bytes(HASH_BYTES, "big"))
        heapreplace(widest, (low - middle, low, index))
        heappush(widest, (middle - (low - minus_width), middle, index))
    plan = [(part, sorted(filter(part.can_cut, cuts[i]))) for i, part in enumerate(partitions.partitions)]
    return [(part, ordered) for part, ordered in plan if ordered]


def plan_for(
    reason: SplitReason, partitions: PartitionMap, units: tuple[int, int], config: CapacityConfig = AWS
) -> Plan:
    """Returns the splits for read and write units: provisioned ones ("raise"), on-demand or warm ones."""
    if reason == "raise":
        return plan_doubling(partitions, *units, config)
    return plan_widest_first(partitions, on_demand_partitions(*units))


def count_for(reason: SplitReason, count: int, units: tuple[int, int], config: CapacityConfig = AWS) -> int:
    """Returns the number of partitions after `plan_for`, unless some are too narrow to be cut."""
    if reason == "raise":
        return partitions_after_raise(count, *units, config)
    return max(count, on_demand_partitions(*units))


# --- Cuts by size ---------------------------------------------------------------------------------


class SizeMeasurement(Protocol):
    """What the stored rows of a partition add up to. Capacity reads no rows itself."""

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        """Returns the key of the row at which half of the range's bytes are reached; None for no rows."""

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        """Returns what a key range holds."""


@dataclass(frozen=True, slots=True)
class EvenSizes:
    """For callers without rows (planner): a partition's contents lie evenly over its hash range."""

    part: Partition

    def median(self, low: bytes, high: bytes | None) -> bytes | None:
        middle = equal_cuts(self.part, 2)
        return middle[0] if middle and self.part.bytes else None

    def measure(self, low: bytes, high: bytes | None) -> Contents:
        start, end = hash_bounds(self.part)
        width = (HASH_SPACE if high is None else hash_number(high)) - hash_number(low)
        share = Fraction(width, max(end - start, 1))
        return Contents(int(self.part.bytes * share), int(self.part.items * share))


@dataclass(frozen=True, slots=True)
class SizeCut:
    cut: bytes
    contents: tuple[Contents, Contents]


NO_SIZE_CUT_COLLECTION = (
    "the partition holds one item collection, "
    "and a table with a local secondary index never splits inside one"
)
NO_SIZE_CUT_ITEM = "the partition holds one item"

_GOOD_EDGE_PERCENT = 40
"""A cut between two collections is preferred while the smaller side has this much. Assumed."""


def plan_size_split(part: Partition, sizes: SizeMeasurement, *, inside_collections: bool) -> SizeCut | str:
    """Returns where a full partition is cut, or why it cannot be (V86).

    `inside_collections` is false for tables with a local secondary index: they are cut at the nearest edge of
    the collection that holds the median.
    """
    median = sizes.median(part.low, part.high)
    if median is None:
        return NO_SIZE_CUT_ITEM
    total = sizes.measure(part.low, part.high)

    def at(key: bytes | None) -> SizeCut | None:
        if key is None or not part.can_cut(key):
            return None
        left = sizes.measure(part.low, key)
        right = Contents(total.bytes - left.bytes, total.items - left.items)
        return SizeCut(key, (left, right)) if left.items and right.items else None

    def smaller_side(cut: SizeCut) -> int:
        return min(held.bytes for held in cut.contents)

    edges = [cut for cut in map(at, collection_edges(median)) if cut is not None]
    best = max(edges, key=smaller_side, default=None)
    if best is not None and (
        not inside_collections or smaller_side(best) * 100 >= total.bytes * _GOOD_EDGE_PERCENT
    ):
        return best
    if not inside_collections:
        return NO_SIZE_CUT_COLLECTION
    return at(median) or at(after_key(median)) or NO_SIZE_CUT_ITEM


def collection_edges(key: bytes) -> tuple[bytes, bytes | None]:
    """Returns where the hash value of a key begins, and where the next one does (None: there is none)."""
    number = hash_number(key) + 1
    end = number.to_bytes(HASH_BYTES, "big") if number < HASH_SPACE else None
    return key[:HASH_BYTES], end


def after_key(key: bytes) -> bytes:
    """Returns the first key behind a key."""
    return key + b"\0"
