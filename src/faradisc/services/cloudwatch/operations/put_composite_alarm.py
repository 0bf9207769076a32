"""PutCompositeAlarm: an alarm on the states of other alarms."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import ACTIONS
from faradisc.services.cloudwatch.composite import parse_rule
from faradisc.services.cloudwatch.operations.put_metric_alarm import check_action, put_alarm
from faradisc.services.cloudwatch.service import CloudWatch

_UNOFFERED: Final = (
    *("ActionsSuppressor", "ActionsSuppressorWaitPeriod", "ActionsSuppressorExtensionPeriod"),
    "ActionConfiguration",
)


async def put_composite_alarm(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    """The alarms of the rule must exist; the alarm itself may be among them, through others."""
    request = call.request
    for member in _UNOFFERED:
        if member in request:
            raise ValidationException(f"{member} is not offered by this version of Faradisc.")
    for arn in chain.from_iterable(request.get(member, ()) for member in ACTIONS.values()):
        check_action(arn, call.region)
    scope = cloudwatch.scope(call)
    rule = parse_rule(request["AlarmRule"])
    missing = [name for name in rule.names if cloudwatch.alarms.find(scope, name) is None]
    if missing:
        named = ", ".join(missing)
        raise ValidationException(
            f"Could not save the composite alarm as alarms [{named}] in the alarm rule do not exist"
        )
    await put_alarm(cloudwatch, call)
    return {}
