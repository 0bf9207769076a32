"""SetAlarmState, EnableAlarmActions, DisableAlarmActions, DeleteAlarms."""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.errors import InvalidFormatFault, ResourceNotFound
from faradisc.services.cloudwatch.service import CloudWatch


async def set_alarm_state(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """Sets the state until the next evaluation of the alarm."""
    request = call.request
    alarm = cloudwatch.alarms.find(cloudwatch.scope(call), request["AlarmName"])
    if alarm is None:
        raise ResourceNotFound(f"Alarm {request['AlarmName']} does not exist")
    data = request.get("StateReasonData")
    if data is not None:
        try:
            orjson.loads(data)
        except orjson.JSONDecodeError:
            raise InvalidFormatFault("StateReasonData is not JSON") from None
    now_ns = cloudwatch.clock.now_ns()
    await cloudwatch.alarms.move(alarm, request["StateValue"], request["StateReason"], data, now_ns)
    return {}


async def enable_alarm_actions(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    return await _switch_actions(cloudwatch, call, enabled=True)


async def disable_alarm_actions(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    return await _switch_actions(cloudwatch, call, enabled=False)


async def _switch_actions(cloudwatch: CloudWatch, call: Call, *, enabled: bool) -> dict[str, Any]:
    """Names of missing alarms are ignored. Assumed: the model lists no error for them."""
    scope = cloudwatch.scope(call)
    found = (cloudwatch.alarms.find(scope, name) for name in call.request["AlarmNames"])
    await cloudwatch.alarms.enable_actions([alarm for alarm in found if alarm is not None], enabled)
    return {}


async def delete_alarms(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """Deletes all alarms, or none if one does not exist or decides a composite alarm that stays."""
    scope = cloudwatch.scope(call)
    found = []
    for name in dict.fromkeys(call.request["AlarmNames"]):
        alarm = cloudwatch.alarms.find(scope, name)
        if alarm is None:
            raise ResourceNotFound(f"Alarm {name} does not exist")
        found.append(alarm)
    if sum(alarm.is_composite for alarm in found) > 1:
        raise ValidationException("Only one composite alarm can be deleted at a time")
    names = {alarm.name for alarm in found}
    for alarm in found:
        if any(parent.name not in names for parent in cloudwatch.alarms.parents(scope, alarm.name)):
            raise ValidationException(
                f"Cannot delete {alarm.name} as there are composite alarm(s) depending on it."
            )
    await cloudwatch.alarms.delete(found)
    return {}
