"""PutScheduledAction, DescribeScheduledActions, DeleteScheduledAction: new limits at set times."""

from __future__ import annotations

import math
from typing import Any, Final
from zoneinfo import ZoneInfo

from faradisc.capacity.config import SECOND_NS
from faradisc.capacity.schedules import ScheduleError, parse_schedule
from faradisc.clock import epoch_seconds
from faradisc.operations.call import Call
from faradisc.services.autoscaling.errors import (
    LimitExceededException,
    ObjectNotFoundException,
    ValidationException,
)
from faradisc.services.autoscaling.operations.listing import chosen_targets, paged
from faradisc.services.autoscaling.operations.targets import check_limits
from faradisc.services.autoscaling.service import AutoScaling, names_of
from faradisc.services.autoscaling.target import ScheduledAction, Target

ACTIONS_PER_TARGET_MAX: Final = 200
"""Quotas of Application Auto Scaling."""
_MOMENT_S_MAX: Final = 16_756_675_199
"""The end of the year 2500: times in nanoseconds must fit in 64 bits."""


async def put_scheduled_action(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    """Adds an action, or changes the members that the request has in the action of that name."""
    request = call.request
    target = autoscaling.target(call)
    name = request["ScheduledActionName"]
    present = target.actions.get(name)
    if present is None and len(target.actions) >= ACTIONS_PER_TARGET_MAX:
        raise LimitExceededException(f"The limit of {ACTIONS_PER_TARGET_MAX} scheduled actions is reached")
    action = _action(autoscaling, call, name, present)
    check_limits(action.minimum, action.maximum)
    if action.minimum is None and action.maximum is None:
        raise ValidationException("At least one of minimum capacity and maximum capacity should be provided")
    if action.start_ns is not None and action.end_ns is not None and action.start_ns >= action.end_ns:
        raise ValidationException("StartTime must be before EndTime")
    _check_zone(action.timezone)
    try:
        parse_schedule(action.schedule)
    except ScheduleError as error:
        raise ValidationException(f"Invalid schedule expression: {error}") from None
    action.plan(autoscaling.clock.now_ns())
    if action.next_ns is None:
        raise ValidationException("The schedule names no moment in the future")
    if action.next_ns > _MOMENT_S_MAX * SECOND_NS:
        raise ValidationException("The schedule names no moment before the year 2501")
    target.actions[name] = action
    await autoscaling.targets.save(target)
    return {}


def _action(
    autoscaling: AutoScaling, call: Call, name: str, present: ScheduledAction | None
) -> ScheduledAction:
    """Returns the action of a request; members that it lacks are those of the present action."""
    request = call.request
    schedule = request.get("Schedule", present.schedule if present else None)
    if schedule is None:
        raise ValidationException("Schedule must be specified for a new scheduled action")
    limits = request.get("ScalableTargetAction")
    if limits is None:
        if present is None:
            raise ValidationException("ScalableTargetAction must be set")
        limits = {"MinCapacity": present.minimum, "MaxCapacity": present.maximum}
    return ScheduledAction(
        name,
        present.id if present else autoscaling.entropy.uuid(),
        schedule,
        request.get("Timezone", present.timezone if present else None),
        _moment(request["StartTime"]) if "StartTime" in request else present.start_ns if present else None,
        _moment(request["EndTime"]) if "EndTime" in request else present.end_ns if present else None,
        limits.get("MinCapacity"),
        limits.get("MaxCapacity"),
        present.created_ns if present else autoscaling.clock.now_ns(),
    )


def _moment(seconds: float) -> int:
    if not math.isfinite(seconds) or not 0 <= seconds <= _MOMENT_S_MAX:
        raise ValidationException("Start and end times lie between the years 1970 and 2500")
    return int(seconds * 1000) * (SECOND_NS // 1000)


def _check_zone(name: str | None) -> None:
    """Raises: ValidationException."""
    if name is None:
        return
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # malformed, unreadable or unknown
        raise ValidationException(f"Invalid timezone: {name}") from None


async def describe_scheduled_actions(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    names = call.request.get("ScheduledActionNames")
    found = [
        (target, action)
        for target in chosen_targets(autoscaling, call)
        for _, action in sorted(target.actions.items())
        if not names or action.name in names
    ]
    return paged(call, "ScheduledActions", found, lambda pair: [*pair[0].name, pair[1].name], _describe)


def _describe(pair: tuple[Target, ScheduledAction]) -> dict[str, Any]:
    target, action = pair
    limits = {"MinCapacity": action.minimum, "MaxCapacity": action.maximum}
    described: dict[str, Any] = {
        **target.names(),
        "ScheduledActionName": action.name,
        "ScheduledActionARN": target.action_arn(action),
        "Schedule": action.schedule,
        "ScalableTargetAction": {name: value for name, value in limits.items() if value is not None},
        "CreationTime": epoch_seconds(action.created_ns),
    }
    if action.timezone is not None:
        described["Timezone"] = action.timezone
    if action.start_ns is not None:
        described["StartTime"] = epoch_seconds(action.start_ns)
    if action.end_ns is not None:
        described["EndTime"] = epoch_seconds(action.end_ns)
    return described


async def delete_scheduled_action(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    target = autoscaling.target(call)
    name = call.request["ScheduledActionName"]
    if target.actions.pop(name, None) is None:
        raise ObjectNotFoundException(f"No scheduled action found for {names_of(call)}, name: {name}")
    await autoscaling.targets.save(target)
    return {}
