"""The part of a resource's rates that one of several processes admits.

All processes together have one balance (`bucket_of`), which they settle twice a second; between that each
admits its share. A share applies to the rate of the table or its configured maximum, to the limits of
partitions, and to the table's quota; the account's quota is each process's own.

Source: many-nodes.md section 2.
"""

from __future__ import annotations

from fractions import Fraction

from faradisc.capacity.buckets import Bucket, seconds
from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.resource import Resource


def rate_of(resource: Resource, position: int) -> int | None:
    """Returns the rate of the table bucket, or the configured maximum, of reads (0) or writes (1); None:
    neither limits the resource."""
    state = resource.state
    if state.on_demand:
        return (state.max_read, state.max_write)[position]
    return state.rates[position] if resource.config.table_bucket else None


def bucket_of(resource: Resource, rate: int, now: int, balance: int) -> Bucket:
    """Returns the bucket that all processes have together. balance: in nano-units."""
    config = resource.config
    return Bucket(
        rate,
        now=now,
        burst_ns=config.burst_s * SECOND_NS,
        debt_ns=seconds(config.max_debt_s),
        balance=balance,
    )


def set_share(resource: Resource, position: int, share: Fraction, balance: int | None, now: int) -> None:
    """Makes this process admit a share of the reads (0) or writes (1).

    balance: nano-units of all processes together; None: what this process has left stays.
    """
    limiter, config, rate = resource.limiters[position], resource.config, rate_of(resource, position)
    bucket = limiter.table_bucket or limiter.maximum
    if bucket is not None and rate is not None:
        bucket.set_rate(now, rate * share)
        if balance is not None:
            bucket.set_balance(now, int(balance * share))
    resource.shares[position] = share
    cap = (config.partition_read_units, config.partition_write_units)[position] * share
    for each in limiter.buckets:
        if each.exact_rate() != cap:
            each.set_rate(now, cap)
        if each.share is not None:
            each.share.set_rate(now, resource.state.rates[position] * each.partition.share * share)
    for quota in limiter.quotas[-1:]:
        quota.set_rate(now, (config.table_read_units, config.table_write_units)[position] * share)
