"""Estimates the sizes of item collections in tables with local indexes, which limit them to 10 GB.

A collection is all items of one partition key value and their entries in local indexes, each with its
storage overhead, as the server adds them up (docs/decisions/0003-item-collection-sizes.md). Engines follow
partitions, not keys: a key's part of the admitted requests is taken to be its part of the offered ones, so
the estimate is too large for a key that was throttled more often than others.

Items that exist at the beginning are taken to be spread over keys as the table's writes are.

Sources: capacity.md sections 3.4 (part 6) and 2.9; vector V116.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import mul

from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, STORAGE_OVERHEAD_BYTES
from faradisc.tools.planner.plan_file.plan import TablePlan
from faradisc.tools.planner.results.outcome import ItemCollection, VerdictOfSize
from faradisc.tools.planner.results.prices import HOURS_PER_MONTH
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.workload.key_distributions import ONE, KeyShape

NEAR_PERCENT = 80
SHOWN = 12
SHOWN_PERCENT = 1
"""Smaller collections are left out, except for the largest one of a table."""
_KEPT = 1000
_HELD_MAX = 4 * _KEPT
_GIB = 1 << 30
_DAY_S = 86_400


class Growth:
    """Bytes gained by key. Memory is bounded: keys that gained little are dropped."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}

    def add(self, key: str, gained: int) -> None:
        held = self.bytes
        held[key] = held.get(key, 0) + gained
        if len(held) > _HELD_MAX:
            self.bytes = dict(sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))[:_KEPT])


class FlowGrowth:
    """Bytes that the writes of one flow add to item collections."""

    __slots__ = ("_bytes", "_each", "_growth", "_shape", "taken")

    def __init__(self, each: Sequence[int]) -> None:
        """`each`: bytes that a collection gains per request, by stream."""
        self._each = each
        self._growth = Growth()
        self._shape: KeyShape | None = None
        self._bytes = 0.0
        """Gained since the shape of the keys last changed."""
        self.taken = 0.0
        """Requests so far, admitted or not."""

    def add(self, shape: KeyShape, counts: Sequence[float]) -> None:
        """Adds the requests of a second, by stream."""
        if shape is not self._shape:
            self._fold()
            self._shape = shape
        self.taken += sum(counts)
        self._bytes += sum(map(mul, counts, self._each))

    def _fold(self) -> None:
        if self._shape is not None and self._bytes:
            for name, weight in weights(self._shape):
                self._growth.add(name, round(self._bytes * weight / ONE))
        self._bytes = 0.0

    def by_key(self, admitted: int) -> dict[str, int]:
        """Returns bytes by key, for so many admitted requests in all."""
        self._fold()
        taken = max(self.taken, 1)
        return {name: round(gained * admitted / taken) for name, gained in self._growth.bytes.items()}


def weights(shape: KeyShape) -> list[tuple[str, int]]:
    """Returns the named keys, and one example of the many equal ones."""
    named = [(key.name, key.weight) for key in shape.keys]
    return named if shape.example is None else [*named, shape.example]


def spread(items_bytes: int, shapes: Iterable[tuple[KeyShape, float]]) -> dict[str, int]:
    """Returns the bytes at the beginning by key, spread as these requests: shapes and their counts."""
    pairs = list(shapes)
    total = sum(count for _, count in pairs)
    found: dict[str, int] = {}
    for shape, count in pairs:
        for name, weight in weights(shape):
            found[name] = found.get(name, 0) + int(items_bytes * count / total * weight / ONE)
    return found


def collected_bytes(table: TablePlan) -> int:
    """Returns the bytes of all collections of a table at the beginning."""
    each = table.item_bytes + STORAGE_OVERHEAD_BYTES
    total = table.items * each
    for index in table.locals:
        entry_bytes = table.item_bytes if index.entry_bytes is None else index.entry_bytes
        total += int(table.items * index.share * (entry_bytes + STORAGE_OVERHEAD_BYTES))
    return total


def recorded_bytes(table: TablePlan, grows_bytes: int, grows_items: int) -> int:
    """Returns the bytes that a collection gains by a recorded request, from what its table gains."""
    total = grows_bytes + grows_items * STORAGE_OVERHEAD_BYTES
    for index in table.locals:
        entry_bytes = grows_bytes if index.entry_bytes is None else index.entry_bytes * grows_items
        total += int(index.share * (entry_bytes + grows_items * STORAGE_OVERHEAD_BYTES))
    return total


def largest(
    table: str, before: dict[str, int], gained: dict[str, int], lasting: bool, duration_s: int
) -> list[ItemCollection]:
    """Returns the largest collections of a table, the largest first. `lasting`: its keys stay the same."""
    sizes = {name: max(before.get(name, 0) + gained.get(name, 0), 0) for name in {**before, **gained}}
    ranked = sorted((pair for pair in sizes.items() if pair[1]), key=lambda pair: (-pair[1], pair[0]))
    found = []
    for position, (name, size) in enumerate(ranked[:SHOWN]):
        if position and 100 * size < SHOWN_PERCENT * ITEM_COLLECTION_BYTES_MAX:
            break
        found.append(_collection(table, name, before.get(name, 0), size, duration_s if lasting else 0))
    return found


def _collection(table: str, name: str, before: int, size: int, duration_s: int) -> ItemCollection:
    percent = 100 * size / ITEM_COLLECTION_BYTES_MAX
    gained = size - before
    days = None
    if duration_s and gained > 0 and size < ITEM_COLLECTION_BYTES_MAX:
        days = (ITEM_COLLECTION_BYTES_MAX - size) * duration_s / gained / _DAY_S
    verdict: VerdictOfSize = "fits"
    if size >= ITEM_COLLECTION_BYTES_MAX:
        verdict = "full"
    elif percent >= NEAR_PERCENT or (days is not None and days * 24 <= HOURS_PER_MONTH):
        verdict = "near"
    return ItemCollection(
        resource=table,
        key=name,
        gib_first=number(before / _GIB),
        gib_last=number(size / _GIB),
        percent=number(percent),
        full_in_days=None if days is None else number(days),
        verdict=verdict,
        words=_words(size, percent, days, verdict),
    )


def _words(size: int, percent: float, days: float | None, verdict: VerdictOfSize) -> str:
    has = f"{size / _GIB:,.2f} GiB are {percent:.0f} % of the limit beside local indexes"
    if verdict == "full":
        return f"{has}: writes that make it larger fail (ItemCollectionSizeLimitExceededException)"
    if days is None:
        return has
    left = f"{days:,.1f} days" if days >= 2 else f"{24 * days:,.1f} hours"
    return f"{has}; at this rate it is full in {left}"
