"""Counts of a consumer, which may be updated by several threads."""

from __future__ import annotations

import threading
from typing import Any

from faradisc.records import asdict, dataclass, field


@dataclass(slots=True)
class Counts:
    records_read: int = 0
    records_done: int = 0
    """Handled, dead-lettered or dropped records; checkpoints pass them."""
    invocations: int = 0
    failures: int = 0
    """Invocations that raised an exception or answered with failed records."""
    retries: int = 0
    bisections: int = 0
    redelivered: int = 0
    """Handled records that are delivered once more on purpose."""
    dead_letters: int = 0
    """Records written to the dead-letter destination."""
    dead_letter_failures: int = 0
    dropped: int = 0
    """Records skipped without a dead-letter destination."""
    too_old: int = 0
    """Records not delivered because of their age; also counted as dead letters or as dropped."""
    throttled: int = 0
    """Throttled reads of the stream."""
    errors: int = 0
    """Failures of the stream or of the lease table."""
    gaps: int = 0
    """Number of times that records were trimmed before they were read."""
    checkpoints: int = 0
    leases_taken: int = 0
    leases_lost: int = 0
    shards_ended: int = 0


@dataclass(slots=True)
class Statistics:
    counts: Counts = field(default_factory=Counts)
    iterator_age_ms: dict[str, int] = field(default_factory=dict)
    """By shard: age of the last record at its delivery, 0 once there is no later one."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, count: int = 1) -> None:
        with self._lock:
            setattr(self.counts, name, getattr(self.counts, name) + count)

    def age(self, shard_id: str, age_ms: int) -> None:
        with self._lock:
            self.iterator_age_ms[shard_id] = max(age_ms, 0)

    def remove(self, shard_id: str) -> None:
        """Removes the age of a shard that has ended or has another owner."""
        with self._lock:
            self.iterator_age_ms.pop(shard_id, None)

    def snapshot(self) -> dict[str, Any]:
        """Returns all counts, the largest `iterator_age_ms` of all shards, and those by shard."""
        with self._lock:
            ages = dict(self.iterator_age_ms)
            return {
                **asdict(self.counts),
                "iterator_age_ms": max(ages.values(), default=0),
                "iterator_age_ms_by_shard": ages,
            }
