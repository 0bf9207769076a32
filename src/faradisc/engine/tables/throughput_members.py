"""The throughput members of table and index definitions: on-demand maximum and warm throughput.

Sources: new-features.md sections 5 and 6; capacity.md section 2.8. Texts marked "Assumed" are not captured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.errors import invalid
from faradisc.limits import (
    ON_DEMAND_READ_UNITS_INITIAL,
    ON_DEMAND_WRITE_UNITS_INITIAL,
    TABLE_CAPACITY_UNITS_MAX,
)

Maximum = list[int | None]
"""Read and write request units per second; None: no maximum."""
NO_MAXIMUM: Maximum = [None, None]

REMOVED = -1
"""In an update, removes a maximum."""

_MAXIMUM_MEMBERS = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
_WARM_MEMBERS = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
_INITIAL = (
    "initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def checked_maximum(
    given: Mapping[str, int] | None, billing_mode: str, present: Maximum | None, index: str | None = None
) -> Maximum:
    """Returns the on-demand maximum after a request that may name one direction or both.

    present: the maximum before an update; None: the resource is being created. Raises ValidationException.
    """
    maximum = list(present or NO_MAXIMUM)
    what = "table" if index is None else f"index : {index}"
    of_index = "" if index is None else f" for index: {index}"
    for direction, member in enumerate(_MAXIMUM_MEMBERS):
        if given is None or member not in given:
            continue
        if billing_mode != "PAY_PER_REQUEST":
            end = (
                "table BillingMode is PROVISIONED."
                if present is None
                else "the table BillingMode is PROVISIONED"
            )
            raise invalid(f"{member} for OnDemandThroughput{of_index} cannot be specified when {end}")
        units = given[member]
        removes = units == REMOVED and present is not None
        if not removes and not 1 <= units <= TABLE_CAPACITY_UNITS_MAX:
            raise invalid(f"Requested {member} for OnDemandThroughput for {what} is outside of valid range")
        maximum[direction] = None if removes else units
    return maximum


def describe_maximum(maximum: Maximum) -> dict[str, int] | None:
    """Returns the OnDemandThroughput member of a description; None without a maximum."""
    described = {
        member: units for member, units in zip(_MAXIMUM_MEMBERS, maximum, strict=True) if units is not None
    }
    return described or None


def checked_warm(
    given: Mapping[str, int],
    present: tuple[int, int],
    index: str | None = None,
    *,
    new_in_mode: str | None = None,
) -> tuple[int, int]:
    """Returns the warm throughput that a request asks for; a direction that it does not name stays.

    present: the current value, which is the least allowed. new_in_mode: the billing mode of a resource that
    is being created. Raises ValidationException.
    """
    wanted = []
    what = "table" if index is None else f"index {index}"
    for member, least in zip(_WARM_MEMBERS, present, strict=True):
        units = given.get(member, least)
        if units < least:
            least_is = {
                None: "current WarmThroughput, decreasing WarmThroughput is not supported",
                "PAY_PER_REQUEST": _INITIAL,
                "PROVISIONED": f"{member.split('Units')[0]}CapacityUnits of ProvisionedThroughput",
            }[new_in_mode]
            raise invalid(f"Requested {member} for WarmThroughput for {what} is lower than {least_is}")
        if units > TABLE_CAPACITY_UNITS_MAX:
            raise invalid(
                f"Requested {member} for WarmThroughput for {what} is above the per table maximum of "
                f"{TABLE_CAPACITY_UNITS_MAX}"
            )
        wanted.append(units)
    return wanted[0], wanted[1]


def initial_warm(billing_mode: str, units: tuple[int, int]) -> tuple[int, int]:
    """Returns the throughput of a new resource without requested warm throughput."""
    if billing_mode == "PAY_PER_REQUEST":
        return ON_DEMAND_READ_UNITS_INITIAL, ON_DEMAND_WRITE_UNITS_INITIAL
    return units


def warm_of_definition(
    given: Mapping[str, Any], billing_mode: str, units: tuple[int, int], index: str | None = None
) -> tuple[int, int] | None:
    """Returns the WarmThroughput of a new table or index. Raises ValidationException."""
    if "WarmThroughput" not in given:
        return None
    present = initial_warm(billing_mode, units)
    return checked_warm(given["WarmThroughput"], present, index, new_in_mode=billing_mode)
