"""Distributes the leases of a group to its workers.

Every worker decides by itself, from the same table. A worker is known by the leases that it renews or
requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from zlib import crc32

from faradisc.records import dataclass
from faradisc.tools.consumers.leases import ShardLease


class LeaseAges:
    """Measures the time since the last renewal of each lease, by this worker's clock."""

    def __init__(self, lease_ns: int) -> None:
        self._lease_ns = lease_ns
        self._since: dict[str, tuple[tuple[int, int], int]] = {}

    def observe(self, leases: Mapping[str, ShardLease], now_ns: int) -> None:
        seen: dict[str, tuple[tuple[int, int], int]] = {}
        for shard_id, lease in leases.items():
            state = (lease.counter, lease.switches)
            before = self._since.get(shard_id)
            seen[shard_id] = before if before is not None and before[0] == state else (state, now_ns)
        self._since = seen

    def is_free(self, lease: ShardLease, now_ns: int) -> bool:
        """Returns whether a lease has no owner, or was not renewed for `lease_ns`."""
        if lease.owner is None:
            return True
        return now_ns - self._since[lease.shard_id][1] >= self._lease_ns


@dataclass(frozen=True, slots=True)
class BalancePlan:
    take: list[ShardLease]
    request: list[ShardLease]


def plan(leases: Iterable[ShardLease], worker: str, ages: LeaseAges, now_ns: int) -> BalancePlan:
    """Returns the leases that a worker takes, and those that it requests from other workers.

    It takes free leases up to a fair share. If there are none and it has less, it requests leases of the
    workers with the most, as long as these keep more than it has. Each worker has its own order of leases, so
    two workers rarely choose the same one.
    """
    active = sorted(
        (lease for lease in leases if not lease.ended),
        key=lambda lease: crc32(f"{worker}/{lease.shard_id}".encode()),
    )
    free = [lease for lease in active if ages.is_free(lease, now_ns)]
    free_ids = {lease.shard_id for lease in free}
    owned = [lease for lease in active if lease.shard_id not in free_ids]
    # A requested lease counts for the worker that requested it.
    load = Counter(lease.handoff_to or lease.owner for lease in owned)
    workers = set(load) | {worker}
    share = -(-len(active) // len(workers))
    wanted = share - load[worker]
    if wanted <= 0:
        return BalancePlan([], [])
    if free:
        return BalancePlan(free[:wanted], [])
    request: list[ShardLease] = []
    for lease in owned:
        if len(request) >= wanted:
            break
        owner = lease.owner
        if owner in (None, worker) or lease.handoff_to is not None:
            continue
        if load[owner] > load[worker] + 1:
            load[owner] -= 1
            load[worker] += 1
            request.append(lease)
    return BalancePlan([], request)
