"""DescribeEndpoints: where to send requests. The answer is this server."""

from __future__ import annotations

from typing import Any

from faradisc.operations.call import Backend, Call

CACHE_PERIOD_MINUTES = 1440


async def describe_endpoints(backend: Backend, call: Call) -> dict[str, Any]:
    address = call.host or f"dynamodb.{call.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_PERIOD_MINUTES}]}
