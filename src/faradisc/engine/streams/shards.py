"""Shards: the lineage of one stream, and its numbers and ids for clients.

A stream has a log per slot. A shard is one slot's log between two *rolls*: at a roll, every slot's open shard
closes and gets one child. The shards between two rolls are a *generation*, stored as its begin and each
slot's first log sequence. The rest is derived:

    sequence number   10**24 + log sequence * 1000 + slot: 25 digits, unique in the stream, rising in a slot
    shard id          `shardId-`, 20 digits: begin of the generation in ms, `-`, 8 hex digits per slot.
                      Ids sort in order of creation
    parent            the same slot's shard in the generation before, even when that one is deleted

A roll writes an entry into each log (records.shard_end), so that every shard has a number and a child's
numbers begin above its parent's last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5

_BASE = 10**24
_SLOTS = 1000


def sequence_number(slot: int, sequence: int) -> str:
    return str(_BASE + sequence * _SLOTS + slot)


def position_of(number: str) -> tuple[int, int] | None:
    """Returns (slot, log sequence) of a sequence number; None for an impossible one."""
    if not (number.isascii() and number.isdigit()):
        return None
    sequence, slot = divmod(int(number) - _BASE, _SLOTS)
    return (slot, sequence) if sequence >= 0 else None


@dataclass(frozen=True, slots=True)
class Generation:
    """The shards that were open at the same time."""

    began_ns: int
    first: tuple[int, ...]
    """Each slot's first log sequence."""
    parent_ns: int | None = None
    """Begin of the generation before, even when that one is deleted."""

    def to_json(self) -> list[object]:
        return [self.began_ns, list(self.first), self.parent_ns]

    @classmethod
    def from_json(cls, stored: Sequence[object]) -> Generation:
        began_ns, first, parent_ns = stored
        return cls(began_ns, tuple(first), parent_ns)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Shard:
    id: str
    slot: int
    first: int
    """Log sequence at which the shard begins."""
    last: int | None
    """Log sequence at which it ended; None while it is open."""
    parent_id: str | None

    def describe(self) -> dict[str, object]:
        numbers = {"StartingSequenceNumber": sequence_number(self.slot, self.first)}
        if self.last is not None:
            # A shard is empty when its stream was switched off before its first entry.
            numbers["EndingSequenceNumber"] = sequence_number(self.slot, max(self.first, self.last))
        described: dict[str, object] = {"ShardId": self.id, "SequenceNumberRange": numbers}
        if self.parent_id is not None:
            described["ParentShardId"] = self.parent_id
        return described


def shard_id(began_ns: int, slot: int, label: str) -> str:
    distinct = md5(f"{label}/{slot}".encode(), usedforsecurity=False).hexdigest()[:6]
    return f"shardId-{began_ns // 1_000_000:020d}-{slot:02x}{distinct}"


def shards_of(generations: Sequence[Generation], label: str, ends: Sequence[int] | None) -> list[Shard]:
    """Returns all shards in the order of their ids.

    ends: each slot's last log sequence in a stream that has ended; otherwise None.
    """
    shards: list[Shard] = []
    for generation, following in zip(generations, [*generations[1:], None], strict=True):
        for slot, first in enumerate(generation.first):
            last = following.first[slot] - 1 if following is not None else ends[slot] if ends else None
            parent_ns = generation.parent_ns
            parent_id = shard_id(parent_ns, slot, label) if parent_ns is not None else None
            shards.append(Shard(shard_id(generation.began_ns, slot, label), slot, first, last, parent_id))
    return shards
