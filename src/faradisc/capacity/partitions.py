"""The partitions of a resource: stretches of its key space, each with its own physical limits.

A *place* is a position in the key space: the bytes of a row key (model/codec/keyspace.py), so 16 bytes of
hash and then the key. A partition holds the places from `low` (inclusive) to `high` (exclusive; None is the
end). A bound of 16 bytes lies at the beginning of a hash value, a longer one inside an item collection.

A partition has two *cells*, one per direction: the bucket of its physical limit, what was consumed, heat.

Invariants:
1. The partitions tile the key space: the first begins at b"", each begins where the one before ends.
2. Partitions split and never merge; their number never falls.
3. An id is never given twice.

Sources: capacity.md sections 2.3 and 2.4; initial count: vectors V70 to V85.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from faradisc.capacity.buckets import Bucket, seconds
from faradisc.capacity.config import CapacityConfig

if TYPE_CHECKING:
    from faradisc.capacity.heat import Watch

PARTITION_READ_UNITS_MAX = 3000
PARTITION_WRITE_UNITS_MAX = 1000
HASH_BYTES = 16


PARTITIONS_BY_UNITS_MAX = 1000
"""Units alone make no more than this. The service's quotas stay far below it (54 partitions); with small
partition caps and large units it keeps a table of a test within bounds."""
AWS = CapacityConfig()


def initial_partitions(read_units: int, write_units: int, config: CapacityConfig = AWS) -> int:
    """Partitions of a provisioned resource at birth: the sum of both shares, rounded up once.

    The shares are those of the limits that the resource's partitions have: with caps of 30/10 a table of 100
    write units is a small copy of one of 10,000.
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
        """Half units that can be charged without looking at the balance (capacity/admission.py)."""
        self.owed: list[int] = []
        self.owed_eventually: list[int] = []
        """What was charged so and is not booked: each cost in half units; apart, those of eventually
        consistent reads."""
        self.spent = 0
        self.charged = 0
        """Half units since the last fold, and in how many charges."""
        self.heat = 0
        """Nano-units per second, averaged over about a minute."""
        self.throttled = 0
        """Requests refused here since the last fold."""
        self.throttled_total = 0
        self.minute_nano = 0
        """Of the minute so far, as of the last fold: nano-units, charges and refusals."""
        self.minute_count = 0
        self.minute_throttled = 0
        self.watch: Watch | None = None
        """Records the keys while the partition is hot."""


class Partition:
    __slots__ = (
        "born_ns",
        "bytes",
        "cooldown_until_ns",
        "estimated",
        "high",
        "hot_s",
        "id",
        "items",
        "low",
        "parent",
        "reads",
        "refused",
        "share",
        "state",
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
        """Item bytes without storage overhead, and items. Their sums over all partitions are exact."""
        self.estimated = False
        """Whether what it holds was divided without looking (capacity/estimates.py). That may be less than
        nothing."""
        self.state: Literal["active", "splitting", "retired"] = "active"
        self.hot_s = 0
        self.cooldown_until_ns = 0
        self.refused: str | None = None
        """Why this partition was not split for heat when it last was a candidate."""
        self.reads = PartitionBucket(self, config.partition_read_units, config, now)
        self.writes = PartitionBucket(self, config.partition_write_units, config, now)

    def holds(self, place: bytes) -> bool:
        return self.low <= place and (self.high is None or place < self.high)

    def can_cut(self, place: bytes) -> bool:
        """Whether a cut there leaves something of the key space on both sides."""
        return self.low < place and (self.high is None or place < self.high)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "low": self.low.hex(),
            "parent": self.parent,
            "born_ns": self.born_ns,
            "share": [self.share.numerator, self.share.denominator],
            "bytes": self.bytes,
            "items": self.items,
            "estimated": self.estimated,
        }


@dataclass(frozen=True, slots=True)
class Contents:
    """What a stretch of the key space holds."""

    bytes: int
    items: int


class PartitionMap:
    """All partitions of one resource, in order of place."""

    __slots__ = ("_config", "lows", "next_number", "partitions")

    def __init__(self, config: CapacityConfig, count: int, now: int) -> None:
        """`count` partitions of equal hash ranges."""
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

    def find(self, place: bytes) -> Partition:
        """The partition of a place. O(log n)."""
        return self.partitions[bisect_right(self.lows, place) - 1]

    def by_id(self, identity: str) -> Partition | None:
        return next((part for part in self.partitions if part.id == identity), None)

    def between(self, low: bytes | None, high: bytes | None) -> list[Partition]:
        """The partitions that hold some place of low (inclusive) to high (exclusive), in order."""
        first = 0 if low is None else bisect_right(self.lows, low) - 1
        last = len(self.lows) if high is None else bisect_left(self.lows, high)
        return self.partitions[first : max(last, first + 1)]

    def split(
        self, part: Partition, cuts: Sequence[bytes], now: int, contents: Sequence[Contents] | None = None
    ) -> list[Partition]:
        """Replace a partition by its children. Cuts ascend and lie strictly inside it.

        The children share the parent's part of the table's rate and its balances; `contents` says what
        each child holds, without it the parent's is divided evenly. Both are estimates, unless there is
        nothing to divide.
        """
        position = bisect_right(self.lows, part.low) - 1
        assert self.partitions[position] is part
        assert all(part.can_cut(cut) for cut in cuts) and list(cuts) == sorted(set(cuts))
        bounds = [part.low, *cuts]
        count = len(bounds)
        held = contents or _evenly(part, count)
        children: list[Partition] = []
        for index, low in enumerate(bounds):
            high = bounds[index + 1] if index + 1 < count else part.high
            child = self._new(low, high, now, part.share / count, part.id)
            child.bytes, child.items = held[index].bytes, held[index].items
            child.estimated = part.estimated or bool(part.bytes or part.items)
            for mine, theirs in ((child.reads, part.reads), (child.writes, part.writes)):
                mine.set_balance(now, theirs.balance(now) // count)
                mine.heat = theirs.heat // count
            children.append(child)
        for theirs, name in ((part.reads, "reads"), (part.writes, "writes")):
            if theirs.watch is not None:
                theirs.watch.divide([getattr(child, name) for child in children], theirs)
            # What was counted and not yet folded stays with the first child.
            first = getattr(children[0], name)
            first.spent, first.charged = theirs.spent, theirs.charged
        part.state = "retired"
        self.partitions[position : position + 1] = children
        self.lows[position : position + 1] = bounds
        return children

    def to_json(self) -> dict[str, Any]:
        return {"next": self.next_number, "partitions": [part.to_json() for part in self.partitions]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], config: CapacityConfig, now: int) -> PartitionMap:
        """The map as it was stored. Buckets start anew."""
        restored = cls(config, 1, now)
        entries = stored["partitions"]
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
            for bucket in (part.reads, part.writes):
                bucket.set_balance(now, bucket.cap)
            part.bytes, part.items = entry["bytes"], entry["items"]
            # Rows of earlier versions did not say.
            part.estimated = entry.get("estimated", len(entries) > 1)
            restored.partitions.append(part)
        return restored


def _evenly(part: Partition, count: int) -> list[Contents]:
    """Equal parts of what a partition is said to hold; the first ones take the remainder.

    That may be less than nothing: where a parent was divided like this, its children's sums are estimates,
    and what one of them lacks the others hold too much of. The parts add up to the whole all the same.
    """

    def shares(total: int) -> list[int]:
        each, rest = divmod(total, count)
        return [each + (index < rest) for index in range(count)]

    return [Contents(*held) for held in zip(shares(part.bytes), shares(part.items), strict=True)]
