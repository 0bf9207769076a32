"""A resource as plain data for the admin API: rates, burst balance, partitions, heat, the log of splits.

The service shows nothing of this. Units are per second.

Source: capacity.md section 2.16, "Admin API".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from faradisc.capacity.config import UNIT
from faradisc.capacity.heat import latest_percent, utilisation_percent
from faradisc.capacity.partitions import Partition, PartitionBucket
from faradisc.capacity.resource import Resource
from faradisc.metrics.heat_history import RESOURCES_MAX, HeatHistory


def describe(resource: Resource, now: int) -> dict[str, Any]:
    """Returns the state of a resource at `now`."""
    partitions = resource.partitions.partitions
    sizes = _above_zero([part.bytes for part in partitions])
    items = _above_zero([part.items for part in partitions])
    return {
        "arn": resource.arn,
        "profile": resource.config.profile,
        "mode": "PAY_PER_REQUEST" if resource.on_demand else "PROVISIONED",
        "read": _limiter(resource, 0, now),
        "write": _limiter(resource, 1, now),
        "capacity": list(resource.capacity(now)) if resource.on_demand else None,
        "warm": resource.warm.describe(),
        "partitions": [
            _partition(part, size_bytes, held, shares=resource.shares, now=now)
            for part, size_bytes, held in zip(partitions, sizes, items, strict=True)
        ],
        "splits": list(resource.splitting.log),
    }


def heat(resource: Resource) -> dict[str, Any]:
    """Returns the heat and throttled requests of all partitions, as in `describe`."""
    return {
        "arn": resource.arn,
        "partitions": [
            {
                "id": part.id,
                "low": part.low.hex(),
                "parent": part.parent,
                "born_ns": part.born_ns,
                "read": _heat(part.reads),
                "write": _heat(part.writes),
            }
            for part in resource.partitions.partitions
        ],
    }


def observe_heat(history: HeatHistory, now_ns: int, resources: Iterable[Resource]) -> None:
    """Takes a sample of the resources that were used lately: those with a history first, then the busiest."""
    busy = [(percent, each) for each in resources if (percent := busiest_percent(each))]
    busy.sort(key=lambda pair: (not history.has(pair[1].arn), -pair[0], pair[1].arn))
    history.observe(now_ns, [heat(resource) for _, resource in busy[:RESOURCES_MAX]])


def busiest_percent(resource: Resource) -> int:
    """Returns the average consumption of the busiest partition in percent of its limit."""
    return max(
        max(utilisation_percent(part.reads), utilisation_percent(part.writes))
        for part in resource.partitions.partitions
    )


def _limiter(resource: Resource, position: int, now: int) -> dict[str, Any]:
    """Returns rates and balances of all processes together, as this one's share shows them."""
    state, share = resource.state, resource.shares[position]
    burst = resource.limiters[position].table_bucket
    return {
        "rate": state.rates[position],
        "burst": burst.balance(now) / UNIT / share if burst is not None else None,
        "burst_max": burst.cap / burst.scale / UNIT / share if burst is not None else None,
        "maximum": (state.max_read, state.max_write)[position],
    }


def _above_zero(held: list[int]) -> list[int]:
    """Returns counts without negative ones. Only their sum is exact: what a negative count lacks is taken
    from the others."""
    lacking = -sum(each for each in held if each < 0)
    shown = []
    for each in held:
        taken = min(max(each, 0), lacking)
        lacking -= taken
        shown.append(max(each, 0) - taken)
    return shown


def _partition(
    part: Partition, size_bytes: int, items: int, *, shares: Sequence[Fraction], now: int
) -> dict[str, Any]:
    return {
        "id": part.id,
        "low": part.low.hex(),
        "high": part.high.hex() if part.high is not None else None,
        "parent": part.parent,
        "born_ns": part.born_ns,
        "state": part.state,
        "bytes": size_bytes,
        "unknown_bytes": part.unknown_bytes,
        "items": items,
        "hot_s": part.hot_s,
        "refused": part.not_split_because,
        "read": _bucket(part.reads, now) | {"bytes_per_unit": _ratio(size_bytes, part.reads, shares[0])},
        "write": _bucket(part.writes, now) | {"bytes_per_unit": _ratio(size_bytes, part.writes, shares[1])},
    }


def _ratio(size_bytes: int, bucket: PartitionBucket, share: Fraction) -> float | None:
    """Returns the bytes for each unit per second that all processes together serve, by the partition's limit
    or by its share of the table's rate where that is less; None where they serve none."""
    rates = [each.exact_rate() for each in (bucket, bucket.share) if each is not None]
    return round(float(size_bytes * share / min(rates)), 1) if min(rates) else None


def _bucket(bucket: PartitionBucket, now: int) -> dict[str, Any]:
    share = bucket.share
    return {
        "limit": bucket.rate if bucket.scale == 1 else float(bucket.exact_rate()),
        "heat": round(bucket.heat / UNIT, 3),
        "latest": round(bucket.latest / UNIT, 3),
        **_heat(bucket),
        "balance": bucket.balance(now) / UNIT,
        "share": float(share.exact_rate()) if share is not None else None,
        "share_burst": share.balance(now) / UNIT if share is not None else None,
    }


def _heat(bucket: PartitionBucket) -> dict[str, Any]:
    return {
        "heat_percent": utilisation_percent(bucket),
        "latest_percent": latest_percent(bucket),
        "throttled": bucket.throttled_total,
    }
