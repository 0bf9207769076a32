"""TagResource, UntagResource, ListTagsForResource: labels on a scalable target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.limits import TAGS_PER_RESOURCE_MAX
from faradisc.operations.call import Call
from faradisc.services.autoscaling.errors import (
    ResourceNotFoundException,
    TooManyTagsException,
    ValidationException,
)
from faradisc.services.autoscaling.service import AutoScaling
from faradisc.services.autoscaling.target import Target


def checked_tags(new: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """Returns all tags. Raises ValidationException, TooManyTagsException."""
    for key in new:
        if key.lower().startswith("aws:"):
            raise ValidationException(f"Tag keys that begin with aws: are reserved: {key}")
    tags = {**present, **new}
    if len(tags) > TAGS_PER_RESOURCE_MAX:
        raise TooManyTagsException(f"A scalable target has {TAGS_PER_RESOURCE_MAX} tags at most")
    return tags


async def tag_resource(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    target = _target(autoscaling, call)
    target.tags = checked_tags(call.request["Tags"], target.tags)
    await autoscaling.targets.save(target)
    return {}


async def untag_resource(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    target = _target(autoscaling, call)
    gone = call.request["TagKeys"]
    target.tags = {key: value for key, value in target.tags.items() if key not in gone}
    await autoscaling.targets.save(target)
    return {}


async def list_tags_for_resource(autoscaling: AutoScaling, call: Call) -> dict[str, Any]:
    return {"Tags": _target(autoscaling, call).tags}


def _target(autoscaling: AutoScaling, call: Call) -> Target:
    arn = call.request["ResourceARN"]
    target = autoscaling.targets.by_arn(arn)
    if target is None or target.scope != autoscaling.scope(call):
        raise ResourceNotFoundException(f"The resource was not found: {arn}", extra={"ResourceName": arn})
    return target
