"""DescribeLimits and DescribeEndpoints."""

from __future__ import annotations

from typing import Any

from faradisc.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

CACHE_PERIOD_MINUTES = 1440


async def describe_limits(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the quotas of the account and of a table."""
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
    }


async def describe_endpoints(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns where to send requests: this server."""
    address = call.host or f"dynamodb.{call.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_PERIOD_MINUTES}]}
