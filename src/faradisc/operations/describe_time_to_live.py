"""DescribeTimeToLive: the attribute by which items expire, and the state of that setting."""

from __future__ import annotations

from typing import Any

from faradisc.operations.call import Backend, Call


async def describe_time_to_live(backend: Backend, call: Call) -> dict[str, Any]:
    ttl = backend.table_for_control(call).state.ttl
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    changing = backend.clock.now_ns() < ttl.changed_ns + backend.catalog.transition_ns
    if ttl.enabled:
        status = "ENABLED" if ttl.filled and not changing else "ENABLING"
    elif changing:
        status = "DISABLING"
    else:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"AttributeName": ttl.attribute, "TimeToLiveStatus": status}}
