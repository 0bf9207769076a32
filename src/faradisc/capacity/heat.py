"""Which partitions are hot, and where a hot one is cut.

Every ten seconds each cell's consumption joins an average that forgets within about a minute. A partition
whose average stands at 90 % of its limit, or that was throttled, is hot; hot for long enough, it is split.
While it is hot a *watch* records which keys make it so; a cold partition pays nothing for that.

The cut follows the keys (`choose_cut`), and so does every refusal: the cause is what users come for.

Source: capacity.md section 2.7 (thresholds assumed, all in CapacityConfig); vector V96.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from faradisc.capacity.config import UNIT, CapacityConfig, Direction
from faradisc.capacity.partitions import HASH_BYTES, Partition, PartitionBucket
from faradisc.capacity.topology import after_key, collection_edges
from faradisc.engine.metrics.sketch import HeavyKey, Sketch

HEAT_STEP_S = 10
_KEPT, _ADDED, _OF = 8465, 1535, 10_000
"""e^(-10/60) of the average is kept in each step."""
_RISING_WRITES_MIN = 20
"""Writes of a collection before it can be called ever-increasing. Assumed."""

_ROOM_EVERY = 256
"""Writes of unknown collections between two attempts to make room for them."""


class Rising:
    """Whether the writes of one collection keep coming behind its greatest sort key."""

    __slots__ = ("count", "greatest", "rising")

    def __init__(self, place: bytes) -> None:
        self.greatest = place
        self.count = 0
        self.rising = 0


class Watch:
    """The keys of one hot cell, by weight."""

    __slots__ = ("collections", "config", "keys", "missed")

    def __init__(self, config: CapacityConfig) -> None:
        self.config = config
        self.keys: Sketch[bytes] = Sketch(config.sketch_keys)
        self.collections: dict[bytes, Rising] = {}
        """By hash value; as many as there are keys."""
        self.missed = 0

    def add(self, place: bytes, nano: int) -> None:
        self.keys.add(place, nano)
        rising = self.collections.get(place[:HASH_BYTES])
        if rising is not None:
            rising.count += 1
            if place > rising.greatest:
                rising.greatest = place
                rising.rising += 1
        elif len(self.collections) < self.config.sketch_keys:
            self.collections[place[:HASH_BYTES]] = Rising(place)
        else:
            self.missed += 1
            if self.missed % _ROOM_EVERY == 0:
                self._make_room()

    def _make_room(self) -> None:
        """Forget the collections of which no key is heavy any more."""
        heavy = {heavy.key[:HASH_BYTES] for heavy in self.keys.top()}
        self.collections = {h: rising for h, rising in self.collections.items() if h in heavy}

    def divide(self, children: Sequence[PartitionBucket], parent: PartitionBucket) -> None:
        """Give the children of a split the heat their keys had."""
        total = sum(heavy.weight for heavy in self.keys.top())
        if not total:
            return
        for bucket in children:
            mine = sum(heavy.weight for heavy in self.keys.top() if bucket.partition.holds(heavy.key))
            bucket.heat = parent.heat * mine // total


def step(part: Partition, used: tuple[int, int], config: CapacityConfig) -> bool:
    """Ten seconds have passed, in which `used` nano-units (reads, writes) were consumed.

    Returns: whether the partition has been hot for long enough to be split.
    """
    hot = False
    for bucket, nano in ((part.reads, used[0]), (part.writes, used[1])):
        throttled = bucket.throttled
        if not (nano or bucket.heat or throttled or bucket.watch):
            continue
        bucket.heat = (bucket.heat * _KEPT + nano // HEAT_STEP_S * _ADDED) // _OF
        if throttled:
            bucket.throttled = 0
            bucket.minute_throttled += throttled
        if not config.heat_split:
            continue
        # As `utilisation_percent` says, written out: all partitions come here every ten seconds.
        if throttled or bucket.heat * 100 >= config.heat_percent * bucket.rate * UNIT:
            hot = True
            if bucket.watch is None:
                bucket.watch = Watch(config)
        elif part.hot_s == 0:
            bucket.watch = None
    part.hot_s = part.hot_s + HEAT_STEP_S if hot else 0
    if not hot:
        part.refused = None
    return part.hot_s >= config.hot_for_s


def utilisation_percent(bucket: PartitionBucket) -> int:
    """The average consumption of a cell in percent of its physical limit."""
    return bucket.heat * 100 // (bucket.rate * UNIT)


def hotter(part: Partition) -> Direction:
    """The direction nearer to its limit."""
    return "W" if part.writes.heat * part.reads.rate >= part.reads.heat * part.writes.rate else "R"


class Refusal(Enum):
    """Why a hot partition is not split. The value is what a user is told."""

    SINGLE_ITEM = (
        "one item takes the heat and already has a partition of its own; a partition's limit is its limit"
    )
    LOCAL_INDEX = (
        "one item collection takes the heat, and a table with a local secondary index never splits inside one"
    )
    RISING_KEY = "one item collection takes the heat, and its writes come in ever-increasing sort key order"
    ONE_COLLECTION_ITEM = "one item collection takes the heat, and it consists of a single item"
    NO_CUT = "no place in the partition divides its heat"
    NOTHING_SEEN = "no key of the partition was seen while it was hot"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a hot partition is cut, and by which rule."""

    places: tuple[bytes, ...]
    rule: str
    key: bytes | None = None
    """The key that is isolated."""


@dataclass(frozen=True, slots=True)
class NoCut:
    refusal: Refusal
    key: bytes | None = None
    """The key or the hash value in question."""


def choose_cut(
    part: Partition, config: CapacityConfig, *, composite: bool, local_indexes: bool
) -> Cut | NoCut:
    """Where to split a hot partition, or why not (section 2.7).

    `composite`: the resource has a sort key. `local_indexes`: the table has a local secondary index.
    """
    writes = hotter(part) == "W"
    watch = (part.writes if writes else part.reads).watch
    if watch is None or not watch.keys.total:
        return NoCut(Refusal.NOTHING_SEEN)
    heavies = [heavy for heavy in watch.keys.top() if part.holds(heavy.key)]
    total = watch.keys.total
    inside = composite and not local_indexes
    top = heavies[0] if heavies else None
    if top is not None:
        around = _around(part, top.key, inside=inside)
        if not around and _share(top, total) >= config.single_key_percent:
            return NoCut(Refusal.SINGLE_ITEM if inside or not composite else Refusal.LOCAL_INDEX, top.key)
        if around and _share(top, total) >= config.isolate_percent:
            return Cut(around, "isolate a key", top.key)
    by_hash: dict[bytes, int] = {}
    for heavy in heavies:
        hashed = heavy.key[:HASH_BYTES]
        by_hash[hashed] = by_hash.get(hashed, 0) + heavy.weight
    hottest = max(by_hash, key=lambda hashed: by_hash[hashed], default=None)
    if hottest is not None and by_hash[hottest] * 100 >= total * config.collection_percent:
        if local_indexes:
            return NoCut(Refusal.LOCAL_INDEX, hottest)
        rising = watch.collections.get(hottest) if writes else None
        if rising is not None and _is_rising(rising, config):
            return NoCut(Refusal.RISING_KEY, hottest)
        members = [heavy for heavy in heavies if heavy.key[:HASH_BYTES] == hottest]
        cut = _weighted_median(part, members, inside=True)
        return Cut((cut,), "sort key median") if cut else NoCut(Refusal.ONE_COLLECTION_ITEM, hottest)
    cut = _weighted_median(part, heavies, inside=inside)
    return Cut((cut,), "key median") if cut else NoCut(Refusal.NO_CUT)


def _share(heavy: HeavyKey[bytes], total: int) -> int:
    """Percent of the heat that a key has for sure."""
    return heavy.least_weight * 100 // total


def _is_rising(rising: Rising, config: CapacityConfig) -> bool:
    return rising.count >= _RISING_WRITES_MIN and rising.rising * 100 >= rising.count * config.rising_percent


def _around(part: Partition, key: bytes, *, inside: bool) -> tuple[bytes, ...]:
    """The cuts that leave a key (or, not `inside` a collection, its collection) alone; none when it is."""
    before, behind = (key, after_key(key)) if inside else collection_edges(key)
    return tuple(place for place in (before, behind) if place is not None and part.can_cut(place))


def _weighted_median(part: Partition, heavies: list[HeavyKey[bytes]], *, inside: bool) -> bytes | None:
    """The place that divides the weights most evenly: a key's, or the beginning of its hash value.

    Where the key is the first of its hash value, the hash value's beginning is the cleaner cut.
    """
    ordered = sorted(heavies, key=lambda heavy: heavy.key)
    total = sum(heavy.weight for heavy in ordered)
    best: tuple[int, bytes] | None = None
    left = 0
    for position, heavy in enumerate(ordered):
        begins = not position or ordered[position - 1].key[:HASH_BYTES] != heavy.key[:HASH_BYTES]
        place = heavy.key[:HASH_BYTES] if begins else heavy.key
        if left and (begins or inside) and part.can_cut(place):
            uneven = abs(total - 2 * left)
            if best is None or uneven < best[0]:
                best = (uneven, place)
        left += heavy.weight
    return best[1] if best else None
