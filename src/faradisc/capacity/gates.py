"""The buckets of a resource, built from its settings, and rebuilt when those change.

A bank is kept over a change of rate, cut to its new cap and never increased (capacity.md section 2.12).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from faradisc.capacity.admission import Limiter
from faradisc.capacity.buckets import Bucket, seconds
from faradisc.capacity.config import SECOND_NS, UNIT, CapacityConfig
from faradisc.capacity.partitions import PartitionBucket

if TYPE_CHECKING:
    from faradisc.capacity.resource import Resource


def set_gates(resource: Resource, now: int, *, initial: bool = False) -> None:
    """Give both lanes the buckets of the resource's present settings. `initial`: it has just begun, and
    its banks hold what a new resource's do."""
    config = resource.config
    for limiter, rate, maximum in (
        (resource.reads, resource.read_units, resource.max_read),
        (resource.writes, resource.write_units, resource.max_write),
    ):
        banked_s = config.initial_burst_s if initial else 0
        limiter.on_demand = resource.on_demand
        limiter.table_bucket = (
            _rated(limiter.table_bucket, rate, config, now, banked_s)
            if config.table_bucket and not resource.on_demand
            else None
        )
        limiter.maximum = (
            # A maximum begins like a new resource's bank, whenever it is set.
            _rated(limiter.maximum, maximum, config, now, config.initial_burst_s)
            if maximum is not None and resource.on_demand
            else None
        )
        limiter.quotas = _quotas(resource, limiter, now)
        for bucket in limiter.buckets:
            # Classic: every partition has a bank of its own, filled from its share of the table's rate.
            bucket.share = (
                _rated(bucket.share, rate * bucket.partition.share, config, now, banked_s)
                if config.shares and not resource.on_demand
                else None
            )
        limiter.guarded = bool(limiter.quotas) or limiter.maximum is not None or config.shares


def _rated(
    present: Bucket | None, rate: int | Fraction, config: CapacityConfig, now: int, banked_s: int
) -> Bucket:
    if present is not None:
        present.set_rate(now, rate)
        return present
    return Bucket(
        rate,
        now=now,
        burst_ns=config.burst_s * SECOND_NS,
        debt_ns=seconds(config.max_debt_s),
        balance=int(rate * banked_s * UNIT),
    )


def _quotas(resource: Resource, limiter: Limiter, now: int) -> tuple[Bucket, ...]:
    """The gates of an on-demand resource's own quota and of its account's, where they are enforced."""
    config = resource.config
    if not config.account_quota or not resource.on_demand:
        return ()
    if limiter.quotas:
        return limiter.quotas
    reads = limiter.direction == "R"
    units = config.table_read_units if reads else config.table_write_units
    own = Bucket(units, now=now, burst_ns=SECOND_NS, debt_ns=None)
    if resource.account_quotas is None:
        return (own,)
    return (resource.account_quotas[0 if reads else 1], own)


def divide_share(parent: PartitionBucket, children: Sequence[PartitionBucket], at: int) -> None:
    """A split gives the children equal parts of their parent's share and of its bank (classic; S-086)."""
    share = parent.share
    if share is None:
        return
    for child in children:
        child.share = Bucket(
            share.exact_rate() / len(children),
            now=at,
            burst_ns=share.burst_ns,
            debt_ns=share.debt_ns,
            balance=share.balance(at) // len(children),
        )
