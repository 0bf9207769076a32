"""Which leases a worker should have: the dead workers' and its share of the others.

Every worker decides for itself from the same table. Nobody announces a worker: it is there when it holds
a lease that is renewed, or asks for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from faradisc.tools.consumers.leases import Lease


class Observer:
    """Remembers since when each lease's counter stands still, on this worker's own clock."""

    def __init__(self, lease_ns: int) -> None:
        self._lease_ns = lease_ns
        self._since: dict[str, tuple[tuple[int, int], int]] = {}

    def observe(self, leases: Mapping[str, Lease], now_ns: int) -> None:
        seen: dict[str, tuple[tuple[int, int], int]] = {}
        for shard_id, lease in leases.items():
            sign = (lease.counter, lease.switches)
            before = self._since.get(shard_id)
            seen[shard_id] = before if before is not None and before[0] == sign else (sign, now_ns)
        self._since = seen

    def is_free(self, lease: Lease, now_ns: int) -> bool:
        """Nobody holds the lease, or who does has given no sign of life for long enough."""
        if lease.owner is None:
            return True
        return now_ns - self._since[lease.shard_id][1] >= self._lease_ns


@dataclass(frozen=True, slots=True)
class Plan:
    take: list[Lease]
    ask: list[Lease]


def plan(leases: Iterable[Lease], worker: str, observer: Observer, now_ns: int) -> Plan:
    """What a worker should take, and what it should ask others for.

    Free leases are taken up to a fair share. When none are free and it has less than that, it asks the
    worker with the most leases, as long as that one stays above the asker. Each worker looks through the
    leases in an order of its own, so that two rarely reach for the same one.
    """
    active = sorted(
        (lease for lease in leases if not lease.ended),
        key=lambda lease: crc32(f"{worker}/{lease.shard_id}".encode()),
    )
    free = [lease for lease in active if observer.is_free(lease, now_ns)]
    free_ids = {lease.shard_id for lease in free}
    owned = [lease for lease in active if lease.shard_id not in free_ids]
    # A lease on its way counts for the worker that asked for it.
    load = Counter(lease.handoff_to or lease.owner for lease in owned)
    workers = set(load) | {worker}
    share = -(-len(active) // len(workers))
    wanted = share - load[worker]
    if wanted <= 0:
        return Plan([], [])
    if free:
        return Plan(free[:wanted], [])
    ask: list[Lease] = []
    for lease in owned:
        if len(ask) >= wanted:
            break
        owner = lease.owner
        if owner in (None, worker) or lease.handoff_to is not None:
            continue
        if load[owner] > load[worker] + 1:
            load[owner] -= 1
            load[worker] += 1
            ask.append(lease)
    return Plan([], ask)
