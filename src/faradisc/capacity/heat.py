"""Which partitions are hot, and where a hot one is cut.

Every ten seconds a moving average takes in what each partition consumed; it forgets within about a minute. A
partition is hot when its average reaches 90 % of its limit, or when it throttled requests. A partition that
stays hot is split. While it is hot a `KeyWatch` records its keys.

The cut follows the keys (`choose_cut`). So does the reason why a partition is not split, which the admin API
shows.

Source: capacity.md section 2.7 (thresholds assumed, all in CapacityConfig); vector V96.
"""

from __future__ import annotations

from enum import Enum

from faradisc.capacity.config import HASH_BYTES, UNIT, CapacityConfig, Direction
from faradisc.capacity.key_watch import KeyWatch, SortKeyOrder
from faradisc.capacity.partitions import Partition, PartitionBucket
from faradisc.capacity.topology import after_key, collection_edges
from faradisc.metrics.sketch import HeavyKey
from faradisc.records import dataclass

HEAT_STEP_S = 10
_DECAY, _GAIN, _OF = 8465, 1535, 10_000
"""Each step retains e^(-10/60) of the average."""
_RISING_WRITES_MIN = 20
"""Writes of a collection before its sort keys can count as ever-increasing. Assumed."""


def step(part: Partition, used: tuple[int, int], config: CapacityConfig) -> bool:
    """Takes in ten seconds in which `used` nano-units (reads, writes) were consumed.

    Returns whether the partition has been hot for long enough to be split.
    """
    hot = False
    for bucket, nano in ((part.reads, used[0]), (part.writes, used[1])):
        throttled = bucket.throttled
        if not (nano or bucket.heat or throttled or bucket.watch):
            continue
        bucket.latest = nano // HEAT_STEP_S
        bucket.heat = (bucket.heat * _DECAY + bucket.latest * _GAIN) // _OF
        if throttled:
            bucket.throttled = 0
            bucket.minute_throttled += throttled
        if not config.heat_split:
            continue
        # `utilisation_percent`, inlined: every partition takes this path every ten seconds.
        if throttled or bucket.heat * 100 * bucket.scale >= config.heat_percent * bucket.rate * UNIT:
            hot = True
            if bucket.watch is None:
                bucket.watch = KeyWatch(config)
        elif part.hot_s == 0:
            bucket.watch = None
    part.hot_s = part.hot_s + HEAT_STEP_S if hot else 0
    if not hot:
        part.not_split_because = None
    return part.hot_s >= config.hot_for_s


def utilisation_percent(bucket: PartitionBucket) -> int:
    """Returns the average consumption in percent of the physical limit."""
    return bucket.heat * 100 * bucket.scale // (bucket.rate * UNIT)


def latest_percent(bucket: PartitionBucket) -> int:
    """Returns the consumption of the last ten seconds that have ended, in percent of the physical limit."""
    return bucket.latest * 100 * bucket.scale // (bucket.rate * UNIT)


def hotter(part: Partition) -> Direction:
    """Returns the direction nearer to its limit."""
    return "W" if part.writes.heat * part.reads.rate >= part.reads.heat * part.writes.rate else "R"


class NoSplit(Enum):
    """Why a hot partition is not split, as the admin API says it."""

    SINGLE_ITEM = (
        "one item takes the heat and already has a partition of its own; a partition's limit is its limit"
    )
    LOCAL_INDEX = (
        "one item collection takes the heat, and a table with a local secondary index never splits inside one"
    )
    RISING_KEY = "one item collection takes the heat, and its writes come in ever-increasing sort key order"
    ONE_COLLECTION_ITEM = "one item collection takes the heat, and it consists of a single item"
    NO_CUT = "no cut of the partition divides its heat"
    NOTHING_SEEN = "no key of the partition was used while it was hot"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a hot partition is cut, and by which rule."""

    keys: tuple[bytes, ...]
    rule: str
    key: bytes | None = None
    """The key that is isolated."""


@dataclass(frozen=True, slots=True)
class NoCut:
    reason: NoSplit
    key: bytes | None = None
    """The key or hash value that prevents the split."""


def choose_cut(
    part: Partition, config: CapacityConfig, *, composite: bool, local_indexes: bool
) -> Cut | NoCut:
    """Returns where to split a hot partition, or why it is not split (section 2.7).

    `composite`: the resource has a sort key. `local_indexes`: the table has a local secondary index.
    """
    writes = hotter(part) == "W"
    watch = (part.writes if writes else part.reads).watch
    if watch is None or not watch.keys.total:
        return NoCut(NoSplit.NOTHING_SEEN)
    heavies = [heavy for heavy in watch.keys.top() if part.holds(heavy.key)]
    total = watch.keys.total
    inside = composite and not local_indexes
    top = heavies[0] if heavies else None
    if top is not None:
        around = _around(part, top.key, inside=inside)
        if not around and _share(top, total) >= config.single_key_percent:
            return NoCut(NoSplit.SINGLE_ITEM if inside or not composite else NoSplit.LOCAL_INDEX, top.key)
        if around and _share(top, total) >= config.isolate_percent:
            return Cut(around, "isolate a key", top.key)
    by_hash: dict[bytes, int] = {}
    for heavy in heavies:
        hashed = heavy.key[:HASH_BYTES]
        by_hash[hashed] = by_hash.get(hashed, 0) + heavy.weight
    hottest = max(by_hash, key=lambda hashed: by_hash[hashed], default=None)
    if hottest is not None and by_hash[hottest] * 100 >= total * config.collection_percent:
        if local_indexes:
            return NoCut(NoSplit.LOCAL_INDEX, hottest)
        order = watch.collections.get(hottest) if writes else None
        if order is not None and _is_rising(order, config):
            return NoCut(NoSplit.RISING_KEY, hottest)
        members = [heavy for heavy in heavies if heavy.key[:HASH_BYTES] == hottest]
        cut = _weighted_median(part, members, inside=True)
        return Cut((cut,), "sort key median") if cut else NoCut(NoSplit.ONE_COLLECTION_ITEM, hottest)
    cut = _weighted_median(part, heavies, inside=inside)
    return Cut((cut,), "key median") if cut else NoCut(NoSplit.NO_CUT)


def _share(heavy: HeavyKey[bytes], total: int) -> int:
    """Returns the percentage of the heat that a key has at least."""
    return heavy.least_weight * 100 // total


def _is_rising(order: SortKeyOrder, config: CapacityConfig) -> bool:
    return order.count >= _RISING_WRITES_MIN and order.rising * 100 >= order.count * config.rising_percent


def _around(part: Partition, key: bytes, *, inside: bool) -> tuple[bytes, ...]:
    """Returns the cuts that leave a key (or, not `inside` a collection, its collection) alone in a partition;
    none when it already is."""
    before, behind = (key, after_key(key)) if inside else collection_edges(key)
    return tuple(cut for cut in (before, behind) if cut is not None and part.can_cut(cut))


def _weighted_median(part: Partition, heavies: list[HeavyKey[bytes]], *, inside: bool) -> bytes | None:
    """Returns the cut that divides the weights most evenly.

    It lies at a key, or at the beginning of the hash value whose first key that is.
    """
    ordered = sorted(heavies, key=lambda heavy: heavy.key)
    total = sum(heavy.weight for heavy in ordered)
    best: tuple[int, bytes] | None = None
    left = 0
    for position, heavy in enumerate(ordered):
        begins = not position or ordered[position - 1].key[:HASH_BYTES] != heavy.key[:HASH_BYTES]
        cut = heavy.key[:HASH_BYTES] if begins else heavy.key
        if left and (begins or inside) and part.can_cut(cut):
            uneven = abs(total - 2 * left)
            if best is None or uneven < best[0]:
                best = (uneven, cut)
        left += heavy.weight
    return best[1] if best else None
