"""UpdateTimeToLive and DescribeTimeToLive."""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.names import no_table
from faradisc.engine.tables.state import UNASSIGNED, TableState, TtlState
from faradisc.errors import ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.replica_updates import check_shared

_MEMBERS = ("Enabled", "AttributeName")


async def update_time_to_live(backend: Backend, call: Call) -> dict[str, Any]:
    """Sets the attribute by which items expire, or disables expiry.

    Checks: table exists -> not in use -> the setting changes -> interval since the last change. Source of
    the texts: errors.md section 6.1; limits.md section 7.
    """
    specification = {member: call.request["TimeToLiveSpecification"][member] for member in _MEMBERS}
    table = backend.table_for_control(call)
    if table.state.status == "CREATING":
        raise no_table(table.name)
    now_ns = backend.clock.now_ns()
    interval_ns = int(backend.ttl_change_interval_s * 1_000_000_000)

    def change(state: TableState) -> bool:
        check_shared(backend, state, call.request)
        _check(state, specification["Enabled"], specification["AttributeName"])
        if state.ttl is not None and now_ns < state.ttl.changed_ns + interval_ns:
            raise ValidationException("Time to live has been modified multiple times within a fixed interval")
        state.ttl = TtlState(
            attribute=specification["AttributeName"],
            enabled=specification["Enabled"],
            changed_ns=now_ns,
            resource=UNASSIGNED if specification["Enabled"] else None,
            filled=False,
            previous_resource=state.ttl.resource if state.ttl is not None else None,
        )
        return False

    await backend.replicas.spread(await backend.catalog.update(table, change))
    return {"TimeToLiveSpecification": specification}


def _check(state: TableState, enable: bool, attribute: str) -> None:
    present = state.ttl.attribute if state.ttl is not None and state.ttl.enabled else None
    if present is None:
        if not enable:
            raise ValidationException("TimeToLive is already disabled")
    elif present != attribute:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {present}"
        )
    elif enable:
        raise ValidationException("TimeToLive is already enabled")


async def describe_time_to_live(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the attribute by which items expire, and the state of that setting."""
    state = backend.table_for_control(call).state
    if state.status in ("CREATING", "DELETING"):
        raise ValidationException(
            f"Cannot describe time to live while table is in {state.status} state: "
            f"Current table state is {state.status}"
        )
    ttl = state.ttl
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    ends_ns = ttl.changed_ns + backend.tables.transition_ns
    changing = not backend.tables.short and backend.clock.now_ns() < ends_ns
    if ttl.enabled:
        status = "ENABLING" if changing else "ENABLED"
    elif changing:
        status = "DISABLING"
    else:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"AttributeName": ttl.attribute, "TimeToLiveStatus": status}}
