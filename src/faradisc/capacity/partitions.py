"""The partitions of a resource: key ranges, each with its own physical limits.

Keys are row keys (model/codec/keyspace.py): 16 bytes of hash, then the item's key. A partition holds the keys
from `low` (inclusive) to `high` (exclusive; None is the end). A bound of 16 bytes lies at the beginning of a
hash value, a longer one inside an item collection.

A partition has two buckets, one for reads and one for writes: its physical limits, what was consumed, heat.

What a partition holds is counted write by write. A split divides the parent's count without reading rows, so
the children's counts are estimates: `unknown_bytes` says how much more a partition may hold than `bytes`.
Partitions whose bytes and unknown bytes together exceed the limit are measured (partition_sizes.py).

Invariants:
1. The partitions tile the key space: the first begins at b"", each begins where the one before ends.
2. Partitions split and never merge; their number never falls.
3. An id is never given twice.
4. The bytes and items of all partitions add up to those of the table or index.

Sources: capacity.md sections 2.3 and 2.4; initial count: vectors V70 to V85.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from faradisc.capacity.buckets import Bucket, seconds
from faradisc.capacity.config import HASH_BYTES, CapacityConfig
from faradisc.capacity.key_watch import KeyWatch
from faradisc.records import dataclass

PARTITION_READ_UNITS_MAX = 3000
PARTITION_WRITE_UNITS_MAX = 1000
HASH_SPACE = 1 << (8 * HASH_BYTES)

PARTITIONS_BY_UNITS_MAX = 1000
"""Units alone make no more partitions than this. The service's quotas stay far below (54 partitions); it
bounds tables with small partition caps and large units."""
AWS = CapacityConfig()


def initial_partitions(read_units: int, write_units: int, config: CapacityConfig = AWS) -> int:
    """Returns the partitions of a new provisioned resource: the sum of both shares, rounded up once.

    The shares are those of the resource's own limits: with caps of 30/10 a table of 100 write units is a
    small copy of one of 10,000.
    """
    reads, writes = config.partition_read_units, config.partition_write_units
    needed = -(-(read_units * writes + write_units * reads) // (reads * writes))
    return min(max(1, needed), PARTITIONS_BY_UNITS_MAX)


class PartitionBucket(Bucket):
    """One direction of one partition. As a bucket it is the partition's physical limit."""

    __slots__ = (
        "charged",
        "credit",
        "heat",
        "latest",
        "minute_count",
        "minute_nano",
        "minute_throttled",
        "owed",
        "owed_eventually",
        "partition",
        "share",
        "spent",
        "throttled",
        "throttled_total",
        "watch",
    )

    def __init__(self, partition: Partition, rate: int, config: CapacityConfig, now: int) -> None:
        super().__init__(
            rate,
            now=now,
            burst_ns=config.partition_burst_ms * 1_000_000,
            debt_ns=seconds(config.max_debt_s),
        )
        self.partition = partition
        self.share: Bucket | None = None
        """The partition's part of the table's rate; classic profile only."""
        self.credit = 0
        """Half units that can be charged without looking at the balance (admission.py)."""
        self.owed: list[int] = []
        self.owed_eventually: list[int] = []
        """Costs in half units that were charged on credit and are not booked; the second list has those of
        eventually consistent reads."""
        self.spent = 0
        self.charged = 0
        """Half units since the last step of the resource, and the number of charges."""
        self.heat = 0
        """Nano-units per second, averaged over about a minute."""
        self.latest = 0
        """Nano-units per second in the last ten seconds that have ended."""
        self.throttled = 0
        """Requests throttled since the last step."""
        self.throttled_total = 0
        self.minute_nano = 0
        """Nano-units, charges and throttled requests of the running minute, as of the last step."""
        self.minute_count = 0
        self.minute_throttled = 0
        self.watch: KeyWatch | None = None
        """Records keys while the partition is hot."""


class Partition:
    __slots__ = (
        "born_ns",
        "bytes",
        "cooldown_until_ns",
        "high",
        "hot_s",
        "id",
        "items",
        "low",
        "not_split_because",
        "parent",
        "reads",
        "share",
        "state",
        "unknown_bytes",
        "writes",
    )

    def __init__(
        self,
        identity: str,
        low: bytes,
        high: bytes | None,
        *,
        config: CapacityConfig,
        now: int,
        share: Fraction,
        parent: str | None = None,
    ) -> None:
        self.id = identity
        self.low = low
        self.high = high
        self.parent = parent
        self.born_ns = now
        self.share = share
        """Part of the table's rate; only the classic profile divides it."""
        self.bytes = 0
        self.items = 0
        """Item bytes without storage overhead, and items. An estimate may be below zero."""
        self.unknown_bytes = 0
        """The partition holds at most `bytes + unknown_bytes`."""
        self.state: Literal["active", "splitting", "retired"] = "active"
        self.hot_s = 0
        self.cooldown_until_ns = 0
        self.not_split_because: str | None = None
        """Why the hot partition was not split when it last was a candidate."""
        self.reads = PartitionBucket(self, config.partition_read_units, config, now)
        self.writes = PartitionBucket(self, config.partition_write_units, config, now)

    @property
    def buckets(self) -> tuple[PartitionBucket, PartitionBucket]:
        return self.reads, self.writes

    @property
    def most_bytes(self) -> int:
        return self.bytes + self.unknown_bytes

    def holds(self, key: bytes) -> bool:
        return self.low <= key and (self.high is None or key < self.high)

    def can_cut(self, key: bytes) -> bool:
        """Returns whether a cut there leaves a part of the key range on both sides."""
        return self.low < key and (self.high is None or key < self.high)

    def continue_from(self, before: Partition, now: int) -> None:
        """Takes over balances, counts and heat of the same partition."""
        self.hot_s, self.cooldown_until_ns = before.hot_s, before.cooldown_until_ns
        for mine, theirs in zip(self.buckets, before.buckets, strict=True):
            mine.set_rate(now, theirs.exact_rate())
            mine.set_balance(now, theirs.balance(now))
            mine.share, mine.watch = theirs.share, theirs.watch
            mine.heat, mine.latest = theirs.heat, theirs.latest
            mine.spent, mine.charged, mine.throttled = theirs.spent, theirs.charged, theirs.throttled
            mine.throttled_total = theirs.throttled_total

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "low": self.low.hex(),
            "parent": self.parent,
            "born_ns": self.born_ns,
            "share": [self.share.numerator, self.share.denominator],
            "bytes": self.bytes,
            "items": self.items,
            "unknown_bytes": self.unknown_bytes,
        }


@dataclass(frozen=True, slots=True)
class Contents:
    """What a key range holds."""

    bytes: int
    items: int


def hash_number(key: bytes) -> int:
    """Returns the hash of a key as a number; 0 for b""."""
    return int.from_bytes(key[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), "big")


def hash_bounds(part: Partition) -> tuple[int, int]:
    """Returns the hash values at which a partition begins and ends; equal when it lies inside one item
    collection."""
    return hash_number(part.low), HASH_SPACE if part.high is None else hash_number(part.high)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divides a total by weights into integers that add up exactly; evenly where all weights are 0."""
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


class PartitionMap:
    """All partitions of one resource, in order of keys."""

    __slots__ = ("_config", "lows", "next_number", "partitions")

    def __init__(self, config: CapacityConfig, count: int, now: int) -> None:
        """Makes `count` partitions of equal hash ranges."""
        self._config = config
        self.next_number = 0
        self.partitions: list[Partition] = []
        lows = [b"", *(((i << 128) // count).to_bytes(HASH_BYTES, "big") for i in range(1, count))]
        self.lows: list[bytes] = lows
        for position, low in enumerate(lows):
            high = lows[position + 1] if position + 1 < count else None
            self.partitions.append(self._new(low, high, now, Fraction(1, count), None))

    def _new(
        self, low: bytes, high: bytes | None, now: int, share: Fraction, parent: str | None
    ) -> Partition:
        identity = f"shard-{self.next_number:09d}"
        self.next_number += 1
        return Partition(identity, low, high, config=self._config, now=now, share=share, parent=parent)

    def __len__(self) -> int:
        return len(self.partitions)

    def find(self, key: bytes) -> Partition:
        """Returns the partition that holds a key. O(log n)."""
        return self.partitions[bisect_right(self.lows, key) - 1]

    def by_id(self, identity: str) -> Partition | None:
        return next((part for part in self.partitions if part.id == identity), None)

    def between(self, low: bytes | None, high: bytes | None) -> list[Partition]:
        """Returns the partitions that hold keys from low (inclusive) to high (exclusive), in order."""
        first = 0 if low is None else bisect_right(self.lows, low) - 1
        last = len(self.lows) if high is None else bisect_left(self.lows, high)
        return self.partitions[first : max(last, first + 1)]

    def split(
        self, part: Partition, cuts: Sequence[bytes], now: int, contents: Sequence[Contents] | None = None
    ) -> list[Partition]:
        """Replaces a partition by its children. Cuts ascend and lie strictly inside it.

        The children share the parent's part of the table's rate and its balances. `contents` says what was
        measured in each child's range; without it the parent's count is divided by the width of the ranges.
        """
        position = bisect_right(self.lows, part.low) - 1
        assert self.partitions[position] is part
        assert all(part.can_cut(cut) for cut in cuts) and list(cuts) == sorted(set(cuts))
        bounds = [part.low, *cuts]
        count = len(bounds)
        children = []
        for index, low in enumerate(bounds):
            high = bounds[index + 1] if index + 1 < count else part.high
            child = self._new(low, high, now, part.share / count, part.id)
            for mine, theirs in zip(child.buckets, part.buckets, strict=True):
                mine.set_balance(now, theirs.balance(now) // count)
                mine.heat = theirs.heat // count
            children.append(child)
        _divide_contents(part, children, contents)
        _divide_heat(part, children)
        for first, theirs in zip(children[0].buckets, part.buckets, strict=True):
            # The first child takes over what was counted since the last step.
            first.spent, first.charged = theirs.spent, theirs.charged
        part.state = "retired"
        self.partitions[position : position + 1] = children
        self.lows[position : position + 1] = bounds
        return children

    def to_json(self) -> dict[str, Any]:
        return {"next": self.next_number, "partitions": [part.to_json() for part in self.partitions]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], config: CapacityConfig, now: int) -> PartitionMap:
        """Returns the stored partitions. Their buckets are full."""
        restored = cls(config, 1, now)
        entries = stored["partitions"]
        total = sum(entry["bytes"] for entry in entries)
        restored.next_number = stored["next"]
        restored.lows[:] = [bytes.fromhex(entry["low"]) for entry in entries]
        restored.partitions.clear()
        for position, entry in enumerate(entries):
            high = restored.lows[position + 1] if position + 1 < len(entries) else None
            part = Partition(
                entry["id"],
                restored.lows[position],
                high,
                config=config,
                now=entry["born_ns"],
                share=Fraction(*entry["share"]),
                parent=entry["parent"],
            )
            for bucket in part.buckets:
                bucket.set_balance(now, bucket.cap)
            part.bytes, part.items = entry["bytes"], entry["items"]
            if "unknown_bytes" in entry:
                part.unknown_bytes = entry["unknown_bytes"]
            elif entry.get("estimated", len(entries) > 1):
                # Rows of earlier versions have a flag, or nothing, in its place.
                part.unknown_bytes = max(total - part.bytes, 0)
            restored.partitions.append(part)
        return restored


def _divide_contents(
    parent: Partition, children: Sequence[Partition], contents: Sequence[Contents] | None
) -> None:
    if contents is None:
        widths = [high - low for low, high in map(hash_bounds, children)]
        sizes, items = divide(parent.bytes, widths), divide(parent.items, widths)
        most = parent.most_bytes
    else:
        # What was written since the measurement is divided in the same proportion.
        sizes = divide(parent.bytes, [held.bytes for held in contents])
        items = divide(parent.items, [held.items for held in contents])
        most = 0
    written = parent.bytes - sum(held.bytes for held in contents) if contents is not None else 0
    for child, size, count in zip(children, sizes, items, strict=True):
        child.bytes, child.items = size, count
        child.unknown_bytes = max(most - size, written, 0)


def _divide_heat(parent: Partition, children: Sequence[Partition]) -> None:
    """Gives each child the heat of the keys that it holds, where the parent's keys were watched."""
    for position, bucket in enumerate(parent.buckets):
        heavies = bucket.watch.keys.top() if bucket.watch is not None else []
        total = sum(heavy.weight for heavy in heavies)
        for child in children if total else ():
            weight = sum(heavy.weight for heavy in heavies if child.holds(heavy.key))
            child.buckets[position].heat = bucket.heat * weight // total
            child.buckets[position].latest = bucket.latest * weight // total
        # So the count of a hot key goes on, and the sum over all partitions never falls.
        hottest = max(children, key=lambda child: child.buckets[position].heat)
        hottest.buckets[position].throttled_total = bucket.throttled_total
