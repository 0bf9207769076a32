"""A resource as an administrator sees it: rates, bank, partitions, heat, the log of splits. Plain data.

The service shows nothing of this; it is for the admin API and for reports. Units are per second.

Source: capacity.md section 2.16, "Admin API".
"""

from __future__ import annotations

from typing import Any

from faradisc.capacity.admission import Lane
from faradisc.capacity.config import UNIT
from faradisc.capacity.heat import utilisation_percent
from faradisc.capacity.partitions import Cell, Partition
from faradisc.capacity.resource import Resource


def describe(resource: Resource, now: int) -> dict[str, Any]:
    """Everything there is to see of a resource at `now`."""
    partitions = resource.partitions.partitions
    sizes = _above_zero([part.bytes for part in partitions])
    items = _above_zero([part.items for part in partitions])
    return {
        "arn": resource.arn,
        "profile": resource.config.profile,
        "mode": "PAY_PER_REQUEST" if resource.on_demand else "PROVISIONED",
        "read": _lane(resource.reads, resource.read_units, now),
        "write": _lane(resource.writes, resource.write_units, now),
        "capacity": list(resource.capacity(now)) if resource.on_demand else None,
        "warm": resource.warm.describe(),
        "partitions": [
            _partition(part, size_bytes, held, now)
            for part, size_bytes, held in zip(partitions, sizes, items, strict=True)
        ],
        "splits": list(resource.splitting.log),
    }


def heat(resource: Resource) -> dict[str, Any]:
    """What `describe` says of its partitions' heat and refusals, and no more."""
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


def warmth(resource: Resource) -> int:
    """Percent of its limit that the busiest partition has lately been asked for."""
    return max(
        max(utilisation_percent(part.reads), utilisation_percent(part.writes))
        for part in resource.partitions.partitions
    )


def _lane(lane: Lane, rate: int, now: int) -> dict[str, Any]:
    bank = lane.bucket
    return {
        "rate": rate,
        "bank": bank.balance(now) / UNIT if bank is not None else None,
        "bank_max": bank.cap / UNIT if bank is not None else None,
        "maximum": lane.maximum.rate if lane.maximum is not None else None,
    }


def _above_zero(held: list[int]) -> list[int]:
    """What partitions hold, of whose estimates only the sum is exact: one below zero is shown as nothing, and
    what it lacks is taken off the others."""
    lacking = -sum(each for each in held if each < 0)
    shown = []
    for each in held:
        taken = min(max(each, 0), lacking)
        lacking -= taken
        shown.append(max(each, 0) - taken)
    return shown


def _partition(part: Partition, size_bytes: int, items: int, now: int) -> dict[str, Any]:
    return {
        "id": part.id,
        "low": part.low.hex(),
        "high": part.high.hex() if part.high is not None else None,
        "parent": part.parent,
        "born_ns": part.born_ns,
        "state": part.state,
        "bytes": size_bytes,
        "items": items,
        "hot_s": part.hot_s,
        "refused": part.refused,
        "read": _cell(part.reads, now),
        "write": _cell(part.writes, now),
    }


def _cell(cell: Cell, now: int) -> dict[str, Any]:
    share = cell.share
    return {
        "limit": cell.rate,
        "heat": round(cell.heat / UNIT, 3),
        **_heat(cell),
        "balance": cell.balance(now) / UNIT,
        "share": str(share.exact_rate()) if share is not None else None,
        "share_bank": share.balance(now) / UNIT if share is not None else None,
    }


def _heat(cell: Cell) -> dict[str, Any]:
    return {"heat_percent": utilisation_percent(cell), "throttled": cell.throttled_total}
