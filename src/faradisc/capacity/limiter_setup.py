"""The token buckets of a resource's limiters, made from its settings and changed with them.

A change of rate retains the burst balance, cut to its new cap and never increased (capacity.md section 2.12).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from faradisc.capacity.admission import Limiter
from faradisc.capacity.buckets import Bucket, seconds
from faradisc.capacity.config import SECOND_NS, UNIT, CapacityConfig
from faradisc.capacity.partitions import PartitionBucket
from faradisc.capacity.provisioning import ProvisioningState


def set_buckets(
    limiters: tuple[Limiter, Limiter],
    state: ProvisioningState,
    config: CapacityConfig,
    account_quotas: tuple[Bucket, Bucket] | None,
    now: int,
    *,
    initial: bool = False,
) -> None:
    """Gives the limiters of reads and of writes the buckets of the present settings. `initial`: the resource
    is new, and so are its burst balances."""
    burst_s = config.initial_burst_s if initial else 0
    for position, (limiter, rate, maximum) in enumerate(
        zip(limiters, state.rates, (state.max_read, state.max_write), strict=True)
    ):
        limiter.on_demand = state.on_demand
        limiter.table_bucket = (
            _with_rate(limiter.table_bucket, rate, config, now, burst_s)
            if config.table_bucket and not state.on_demand
            else None
        )
        limiter.maximum = (
            # A maximum begins with the burst balance of a new resource, whenever it is set.
            _with_rate(limiter.maximum, maximum, config, now, config.initial_burst_s)
            if maximum is not None and state.on_demand
            else None
        )
        account_quota = account_quotas[position] if account_quotas is not None else None
        limiter.quotas = _quotas(limiter, state, config, account_quota, now)
        for bucket in limiter.buckets:
            # Classic: every partition has a burst balance of its own, filled from its share of the rate.
            bucket.share = (
                _with_rate(bucket.share, rate * bucket.partition.share, config, now, burst_s)
                if config.shares and not state.on_demand
                else None
            )
        limiter.guarded = bool(limiter.quotas) or limiter.maximum is not None or config.shares


def _with_rate(
    present: Bucket | None, rate: int | Fraction, config: CapacityConfig, now: int, burst_s: int
) -> Bucket:
    if present is not None:
        present.set_rate(now, rate)
        return present
    return Bucket(
        rate,
        now=now,
        burst_ns=config.burst_s * SECOND_NS,
        debt_ns=seconds(config.max_debt_s),
        balance=int(rate * burst_s * UNIT),
    )


def _quotas(
    limiter: Limiter, state: ProvisioningState, config: CapacityConfig, account_quota: Bucket | None, now: int
) -> tuple[Bucket, ...]:
    """Returns the buckets of the account's quota and of an on-demand resource's own, where they are
    enforced."""
    if not config.account_quota or not state.on_demand:
        return ()
    if limiter.quotas:
        return limiter.quotas
    units = config.table_read_units if limiter.direction == "R" else config.table_write_units
    own = Bucket(units, now=now, burst_ns=SECOND_NS, debt_ns=None)
    return (own,) if account_quota is None else (account_quota, own)


def divide_share(parent: PartitionBucket, children: Sequence[PartitionBucket], at: int) -> None:
    """Gives the children of a split equal parts of the parent's share and of its burst balance (classic;
    S-086)."""
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
