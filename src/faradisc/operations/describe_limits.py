"""DescribeLimits: the quotas of the account and of a table."""

from __future__ import annotations

from typing import Any

from faradisc.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from faradisc.operations.call import Backend, Call


async def describe_limits(backend: Backend, call: Call) -> dict[str, Any]:
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
    }
