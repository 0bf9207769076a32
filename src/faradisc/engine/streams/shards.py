"""Shards: the lineage of one stream, and its numbers and ids for clients.

A shard is a range of row keys in a slot's log, between two log sequences. There is one for each partition of
the table; the slots are as many as put every partition into one of them. So one log holds the records of a
new table with one partition, in their order, and a shard of a split partition is a filter on a log. A shard
closes when its partition splits, or after some hours, and its range goes to its children. A stream stores
its shards, oldest first. For clients:

    sequence number   10**24 + log sequence * 1000 + slot: 25 digits, unique in the stream, rising in a slot
    shard id          `shardId-`, 20 digits: when it began in ms, `-`, 8 hex digits that distinguish the
                      shards of one time. Ids sort in order of creation

The log of a shard that closes gets an entry (records.shard_end), so that the shard has a number and the
numbers of its children begin above its last one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from hashlib import md5
from typing import Any

from faradisc.model.codec.keyspace import HASH_BYTES, slot_low
from faradisc.records import dataclass, replace

_BASE = 10**24
_SLOTS = 1000
_SLOTS_MAX = 256


def sequence_number(slot: int, sequence: int) -> str:
    return str(_BASE + sequence * _SLOTS + slot)


def position_of(number: str) -> tuple[int, int] | None:
    """Returns (slot, log sequence) of a sequence number; None for an impossible one.
    A plus sign before it is read."""
    number = number.removeprefix("+")
    if not (number.isascii() and number.isdigit()):
        return None
    sequence, slot = divmod(int(number) - _BASE, _SLOTS)
    return (slot, sequence) if sequence >= 0 else None


@dataclass(frozen=True, slots=True)
class Shard:
    id: str
    slot: int
    low: bytes
    high: bytes | None
    """Row keys from `low` to below `high`; None: to the end."""
    began_ns: int
    first: int
    """Log sequence at which the shard begins."""
    parent_id: str | None = None
    """Set even when the parent is deleted."""
    ended_ns: int | None = None
    last: int | None = None
    """Log sequence at which it ended; None while it is open."""

    def holds(self, row_key: bytes) -> bool:
        return self.low <= row_key and (self.high is None or row_key < self.high)

    def cuts(self, bounds: Sequence[bytes]) -> Sequence[bytes]:
        """Returns which of these bounds, which ascend, divide the shard."""
        end = len(bounds) if self.high is None else bisect_left(bounds, self.high)
        return bounds[bisect_right(bounds, self.low) : end]

    def describe(self) -> dict[str, object]:
        numbers = {"StartingSequenceNumber": sequence_number(self.slot, self.first)}
        if self.last is not None:
            # A shard is empty when its stream was switched off before its first entry.
            numbers["EndingSequenceNumber"] = sequence_number(self.slot, max(self.first, self.last))
        described: dict[str, object] = {"ShardId": self.id, "SequenceNumberRange": numbers}
        if self.parent_id is not None:
            described["ParentShardId"] = self.parent_id
        return described

    def to_json(self) -> list[object]:
        return [
            self.id,
            self.slot,
            self.low.hex(),
            None if self.high is None else self.high.hex(),
            self.began_ns,
            self.first,
            self.parent_id,
            self.ended_ns,
            self.last,
        ]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Shard:
        identity, slot, low, high, *rest = stored
        return cls(identity, slot, bytes.fromhex(low), None if high is None else bytes.fromhex(high), *rest)


def shard_id(began_ns: int, number: int, label: str) -> str:
    """number: among the shards that began at the same time."""
    distinct = md5(f"{label}/{number}".encode(), usedforsecurity=False).hexdigest()[:6]
    return f"shardId-{began_ns // 1_000_000:020d}-{number:02x}{distinct}"


def slots_for(bounds: Sequence[bytes]) -> int:
    """Returns the largest number of slots of which none divides a partition.

    bounds: where partitions begin, ascending; the first one is b"".
    """
    slots = 1
    begins = set(bounds)
    while slots < _SLOTS_MAX and begins.issuperset(_slot_bounds(slots * 2)):
        slots *= 2
    return slots


def _slot_bounds(slots: int) -> list[bytes]:
    return [b"", *(slot_low(slot, slots).ljust(HASH_BYTES, b"\0") for slot in range(1, slots))]


def first_shards(began_ns: int, slots: int, bounds: Sequence[bytes], label: str) -> list[Shard]:
    """Returns the shards of a new stream, one for each partition."""
    held = _slot_bounds(slots)
    return [
        Shard(shard_id(began_ns, number, label), bisect_right(held, low) - 1, low, high, began_ns, 1)
        for number, (low, high) in enumerate(zip(bounds, [*bounds[1:], None], strict=True))
    ]


def children(
    parents: Iterable[Shard], bounds: Sequence[bytes], began_ns: int, lasts: Mapping[int, int], label: str
) -> list[Shard]:
    """Returns the children of shards that close now, cut at bounds of partitions.

    lasts: by slot, the log sequence of the entry that closes its shards.
    """
    born: list[Shard] = []
    for parent in parents:
        lows = [parent.low, *parent.cuts(bounds)]
        for low, high in zip(lows, [*lows[1:], parent.high], strict=True):
            identity = shard_id(began_ns, len(born), label)
            born.append(Shard(identity, parent.slot, low, high, began_ns, lasts[parent.slot] + 1, parent.id))
    return born


def shards_of_generations(
    generations: Sequence[tuple[int, Sequence[int], int | None]], label: str
) -> list[Shard]:
    """Returns the shards of a stream that an earlier release stored: one for each slot, all closed together.

    generations: (begin in ns, each slot's first log sequence, begin of the generation before or None).
    """
    shards: list[Shard] = []
    for (began_ns, firsts, parent_ns), following in zip(generations, [*generations[1:], None], strict=True):
        slots = len(firsts)
        ended_ns = None if following is None else following[0]
        ends = [None] * slots if following is None else [first - 1 for first in following[1]]
        opened = first_shards(began_ns, slots, _slot_bounds(slots), label)
        for shard, first, last in zip(opened, firsts, ends, strict=True):
            parent = None if parent_ns is None else shard_id(parent_ns, shard.slot, label)
            shards.append(replace(shard, first=first, parent_id=parent, ended_ns=ended_ns, last=last))
    return shards
