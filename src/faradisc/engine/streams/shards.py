"""Shards: the lineage of one stream, and the numbers and names that clients see of it.

A stream has a log per slot. A shard is one slot's log between two *rolls*: at a roll, every slot's open
shard closes and is followed by one child. What lies between two rolls is a *generation*; what is stored
of it is when it began and each slot's first log sequence in it. Everything else follows:

    sequence number   10**24 + log sequence * 1000 + slot: 25 digits, unique in the stream, rising in a slot
    shard id          `shardId-`, 20 digits: when the generation began, in ms, `-`, 8 hex digits that tell
                      the slots apart. Ids sort in order of creation
    parent            the same slot's shard in the generation before, kept there or not

A roll writes an entry of its own into each log (records.shard_end), so that no shard is without a number
and a child's numbers begin above its parent's last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5

_BASE = 10**24
_SLOTS = 1000


def sequence_number(slot: int, sequence: int) -> str:
    return str(_BASE + sequence * _SLOTS + slot)


def place_of(number: str) -> tuple[int, int] | None:
    """(slot, log sequence) of a sequence number; None when it cannot be one of ours."""
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
    """When the generation before this one began, also where that one is forgotten by now."""

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
            # A stream that was switched off while a shard was empty leaves that shard without an entry.
            numbers["EndingSequenceNumber"] = sequence_number(self.slot, max(self.first, self.last))
        described: dict[str, object] = {"ShardId": self.id, "SequenceNumberRange": numbers}
        if self.parent_id is not None:
            described["ParentShardId"] = self.parent_id
        return described


def shard_id(began_ns: int, slot: int, label: str) -> str:
    distinct = md5(f"{label}/{slot}".encode(), usedforsecurity=False).hexdigest()[:6]
    return f"shardId-{began_ns // 1_000_000:020d}-{slot:02x}{distinct}"


def shards_of(generations: Sequence[Generation], label: str, ends: Sequence[int] | None) -> list[Shard]:
    """All shards in the order of their ids. `ends` holds each slot's last log sequence in a stream that
    has ended; None while it goes on."""
    shards: list[Shard] = []
    for generation, following in zip(generations, [*generations[1:], None], strict=True):
        for slot, first in enumerate(generation.first):
            last = following.first[slot] - 1 if following is not None else ends[slot] if ends else None
            parent_ns = generation.parent_ns
            parent_id = shard_id(parent_ns, slot, label) if parent_ns is not None else None
            shards.append(Shard(shard_id(generation.began_ns, slot, label), slot, first, last, parent_id))
    return shards
