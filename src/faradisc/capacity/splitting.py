"""Splits under way: a parent serves requests until its children are ready, then they replace it at once.

An example, a partition p1 with all keys from 00 to 7f that is to be split at 40:

    when it begins   p1 serves all of them, and the split is pending: its cuts are (40)
    until it is due  p1 still serves; a second split of it does not begin
    when it is due   p1 is replaced by one partition from 00 and one from 40 at once, between two requests

Source: capacity.md section 2.4, "Split procedure"; vectors V78, V86, V87.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faradisc.capacity import topology
from faradisc.capacity.config import SECOND_NS, CapacityConfig
from faradisc.capacity.events import Event, Split, SplitReason, SplitStarted, to_json
from faradisc.capacity.partitions import Contents, Partition, PartitionMap
from faradisc.capacity.provisioning import Units
from faradisc.records import dataclass, replace

LOG_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True)
class PendingSplit:
    parent: str
    cuts: tuple[bytes, ...]
    reason: SplitReason
    ready_ns: int
    contents: tuple[Contents, ...] | None = None


class Splitting:
    """The splits of one resource, and the log of them."""

    __slots__ = ("arn", "config", "log", "partitions", "pending", "waiting")

    def __init__(self, arn: str, config: CapacityConfig, partitions: PartitionMap) -> None:
        self.arn = arn
        self.config = config
        self.partitions = partitions
        self.pending: list[PendingSplit] = []
        """In the order in which they become ready."""
        self.waiting: dict[SplitReason, Units] = {}
        """Throughput for which partitions are split when the splits under way have ended, in this order."""
        self.log: deque[dict[str, Any]] = deque(maxlen=LOG_LENGTH_MAX)
        """The latest events as plain data."""

    def record(self, event: Event) -> Event:
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
            PendingSplit(part.id, tuple(cuts), reason, ready_ns, tuple(contents) if contents else None)
        )
        self.pending.sort(key=lambda pending: pending.ready_ns)
        shown = tuple(cut.hex() for cut in cuts)
        return self.record(
            SplitStarted(now, self.arn, part.id, reason, shown, ready_ns, key.hex() if key else None)
        )

    # --- Splits for throughput ---

    def grow(self, reason: SplitReason, units: Units, now: int) -> list[Event]:
        """Splits as far as these units need it; after the splits under way if there are any."""
        self.waiting[reason] = units
        return self.begin_waiting(now)

    def begin_waiting(self, now: int) -> list[Event]:
        events: list[Event] = []
        while self.waiting and not self.pending:
            reason = next(iter(self.waiting))
            plan = topology.plan_for(reason, self.partitions, self.waiting.pop(reason), self.config)
            events += [self.start(part, cuts, reason, now) for part, cuts in plan]
        return events

    def ready_ns(self, reason: SplitReason, units: Units, now: int, *, requested: bool = True) -> int:
        """Returns when there will be enough partitions for these units, if `grow` is called for them now
        (`requested`) or without that."""
        waiting = {**self.waiting, **({reason: units} if requested else {})}
        ready_ns = now
        for at_ns, count in self._future_counts(now, waiting):
            ready_ns = at_ns
            if topology.count_for(reason, count, units, self.config) == count:
                break
        return ready_ns

    def _future_counts(self, now: int, waiting: Mapping[SplitReason, Units]) -> Iterator[tuple[int, int]]:
        """Yields (time, number of partitions): now, and as splits under way and waiting ones end."""
        count = len(self.partitions)
        yield now, count
        for pending in self.pending:
            now, count = max(now, pending.ready_ns), count + len(pending.cuts)
            yield now, count
        for reason, units in waiting.items():
            needed = topology.count_for(reason, count, units, self.config)
            if needed > count:
                now, count = now + self.duration_ns(reason), needed
                yield now, count

    @property
    def promised(self) -> bool:
        """Whether waiting splits have a time by which they end, so that no other split may begin."""
        return "raise" in self.waiting or "warm" in self.waiting

    def hurry(self, now: int) -> None:
        """Makes all splits under way ready now."""
        self.pending = [replace(pending, ready_ns=min(pending.ready_ns, now)) for pending in self.pending]

    def finish(self, now: int) -> list[tuple[Split, Partition, list[Partition]]]:
        """Replaces the parents whose children are ready. Returns (event, parent, children) of each."""
        done = []
        while self.pending and self.pending[0].ready_ns <= now:
            pending = self.pending.pop(0)
            parent = self.partitions.by_id(pending.parent)
            assert parent is not None
            children = self.partitions.split(parent, pending.cuts, pending.ready_ns, pending.contents)
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
            self.record(event)
            done.append((event, parent, children))
        return done

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
                PendingSplit(
                    entry["parent"],
                    tuple(bytes.fromhex(cut) for cut in entry["cuts"]),
                    entry["reason"],
                    entry["ready_ns"],
                    tuple(Contents(*pair) for pair in held) if held else None,
                )
            )
