"""Splits under way: a parent serves until its children are ready, then they replace it at once.

Source: capacity.md section 2.4, "Split procedure"; vectors V78, V86, V87.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faradisc.capacity.config import SECOND_NS, CapacityConfig
from faradisc.capacity.events import Event, Split, SplitReason, SplitRefused, SplitStarted, to_json
from faradisc.capacity.partitions import Contents, Partition, PartitionMap

LOG_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True)
class Pending:
    parent: str
    cuts: tuple[bytes, ...]
    reason: SplitReason
    ready_ns: int
    contents: tuple[Contents, ...] | None = None


class Splitting:
    """The splits of one resource, and the log of them."""

    __slots__ = ("arn", "config", "log", "partitions", "pending")

    def __init__(self, arn: str, config: CapacityConfig, partitions: PartitionMap) -> None:
        self.arn = arn
        self.config = config
        self.partitions = partitions
        self.pending: list[Pending] = []
        """In the order in which they will be ready."""
        self.log: deque[dict[str, Any]] = deque(maxlen=LOG_LENGTH_MAX)
        """The latest events as plain data."""

    def note(self, event: Event) -> Event:
        self.log.append(to_json(event))
        return event

    def duration_ns(self, reason: SplitReason) -> int:
        config = self.config
        return SECOND_NS * {
            "size": config.split_size_s,
            "heat": config.split_heat_s,
            "raise": config.split_raise_s,
            "warm": config.split_raise_s,
            "on-demand": config.split_raise_s,
            "admin": 0,
        }.get(reason, 0)

    def start(
        self,
        part: Partition,
        cuts: Sequence[bytes],
        reason: SplitReason,
        now: int,
        *,
        contents: Sequence[Contents] | None = None,
        key: bytes | None = None,
    ) -> Event:
        ready_ns = now + self.duration_ns(reason)
        part.state = "splitting"
        self.pending.append(
            Pending(part.id, tuple(cuts), reason, ready_ns, tuple(contents) if contents else None)
        )
        self.pending.sort(key=lambda pending: pending.ready_ns)
        shown = tuple(cut.hex() for cut in cuts)
        return self.note(
            SplitStarted(now, self.arn, part.id, reason, shown, ready_ns, key.hex() if key else None)
        )

    def refuse(self, event: SplitRefused) -> Event:
        return self.note(event)

    def hurry(self, now: int) -> None:
        """All that are under way are ready now."""
        self.pending = [replace(pending, ready_ns=min(pending.ready_ns, now)) for pending in self.pending]

    def finish(self, now: int) -> list[tuple[Split, Partition, list[Partition]]]:
        """Replace the parents whose children are ready: (event, parent, children) of each."""
        done = []
        while self.pending and self.pending[0].ready_ns <= now:
            pending = self.pending.pop(0)
            parent = self.partitions.by_id(pending.parent)
            assert parent is not None
            children = self.partitions.split(
                parent, pending.cuts, pending.ready_ns, self._held(pending, parent)
            )
            for child in children:
                child.cooldown_until_ns = pending.ready_ns + self.config.heat_cooldown_s * SECOND_NS
            event = Split(
                pending.ready_ns,
                self.arn,
                parent.id,
                tuple(child.id for child in children),
                pending.reason,
                tuple(cut.hex() for cut in pending.cuts),
                len(self.partitions),
            )
            self.note(event)
            done.append((event, parent, children))
        return done

    @staticmethod
    def _held(pending: Pending, parent: Partition) -> list[Contents] | None:
        """What each child holds, scaled to what the parent holds now: it was written meanwhile."""
        if pending.contents is None:
            return None
        total_bytes = sum(held.bytes for held in pending.contents) or 1
        total_items = sum(held.items for held in pending.contents) or 1
        held = [
            Contents(part.bytes * parent.bytes // total_bytes, part.items * parent.items // total_items)
            for part in pending.contents[:-1]
        ]
        rest_bytes = parent.bytes - sum(part.bytes for part in held)
        rest_items = parent.items - sum(part.items for part in held)
        return [*held, Contents(rest_bytes, rest_items)]

    def to_json(self) -> dict[str, Any]:
        return {
            "pending": [
                {
                    "parent": pending.parent,
                    "cuts": [cut.hex() for cut in pending.cuts],
                    "reason": pending.reason,
                    "ready_ns": pending.ready_ns,
                    "contents": pending.contents and [[h.bytes, h.items] for h in pending.contents],
                }
                for pending in self.pending
            ],
            "log": list(self.log),
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        self.log.extend(stored["log"])
        for entry in stored["pending"]:
            parent = self.partitions.by_id(entry["parent"])
            assert parent is not None
            parent.state = "splitting"
            held = entry["contents"]
            self.pending.append(
                Pending(
                    entry["parent"],
                    tuple(bytes.fromhex(cut) for cut in entry["cuts"]),
                    entry["reason"],
                    entry["ready_ns"],
                    tuple(Contents(*pair) for pair in held) if held else None,
                )
            )
