"""TagResource, UntagResource, ListTagsForResource: labels on an alarm."""

from __future__ import annotations

from typing import Any

from faradisc.limits import TAGS_PER_RESOURCE_MAX
from faradisc.operations.call import Call
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.errors import InvalidParameterValueException, ResourceNotFoundException
from faradisc.services.cloudwatch.service import CloudWatch


async def tag_resource(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    alarm = _alarm(cloudwatch, call)
    tags = {**alarm.tags, **{tag["Key"]: tag["Value"] for tag in call.request["Tags"]}}
    if len(tags) > TAGS_PER_RESOURCE_MAX:
        raise InvalidParameterValueException(f"An alarm has {TAGS_PER_RESOURCE_MAX} tags at most")
    alarm.tags = tags
    await cloudwatch.alarms.save(alarm)
    return {}


async def untag_resource(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    alarm = _alarm(cloudwatch, call)
    gone = call.request["TagKeys"]
    alarm.tags = {key: value for key, value in alarm.tags.items() if key not in gone}
    await cloudwatch.alarms.save(alarm)
    return {}


async def list_tags_for_resource(cloudwatch: CloudWatch, call: Call) -> dict[str, Any]:
    tags = _alarm(cloudwatch, call).tags
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _alarm(cloudwatch: CloudWatch, call: Call) -> Alarm:
    arn = call.request["ResourceARN"]
    alarm = cloudwatch.alarms.by_arn(cloudwatch.scope(call), arn)
    if alarm is None:
        raise ResourceNotFoundException(extra={"ResourceType": "alarm", "ResourceId": arn})
    return alarm
