"""Filters and pages of the Describe operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from faradisc.operations.call import Call
from faradisc.services.autoscaling.errors import InvalidNextTokenException, ValidationException
from faradisc.services.autoscaling.service import AutoScaling
from faradisc.services.autoscaling.target import Target
from faradisc.services.cloudwatch.paging import page

PAGE_MAX: Final = 50

Element = TypeVar("Element")


def chosen_targets(autoscaling: AutoScaling, call: Call) -> list[Target]:
    """Returns the targets with the ResourceId and ScalableDimension of the request, sorted. Raises
    ValidationException."""
    check_filter(autoscaling, call)
    request = call.request
    return [
        target
        for target in autoscaling.targets.of(autoscaling.scope(call))
        if request.get("ResourceId") in (None, target.resource_id)
        and request.get("ScalableDimension") in (None, target.dimension)
    ]


def check_filter(autoscaling: AutoScaling, call: Call) -> None:
    """Raises: ValidationException."""
    autoscaling.check_namespace(call)
    request = call.request
    if "ScalableDimension" in request and not ("ResourceId" in request or "ResourceIds" in request):
        raise ValidationException("Resource ID must be specified if scalable dimension is specified")


def paged(
    call: Call,
    member: str,
    elements: Sequence[Element],
    key: Callable[[Element], Any],
    describe: Callable[[Element], Any],
) -> dict[str, Any]:
    """Returns a page of `elements`, which are sorted by `key`. Raises ValidationException,
    InvalidNextTokenException."""
    size = call.request.get("MaxResults", PAGE_MAX)
    if not 1 <= size <= PAGE_MAX:
        raise ValidationException(f"MaxResults must be between 1 and {PAGE_MAX}, not {size}")
    found, more = page(elements, key, call.request.get("NextToken"), size, InvalidNextTokenException)
    return {member: [describe(element) for element in found], **more}
