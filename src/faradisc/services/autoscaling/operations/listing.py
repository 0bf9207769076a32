"""What the Describe operations share: which of the caller's targets are asked for, and pages."""

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
    """The targets that ResourceId and ScalableDimension leave, sorted. Raises: ValidationException."""
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
    """One page of the answer. `elements` are sorted by `key`.

    Raises: ValidationException, InvalidNextTokenException.
    """
    size = call.request.get("MaxResults", PAGE_MAX)
    if not 1 <= size <= PAGE_MAX:
        raise ValidationException(f"MaxResults must be between 1 and {PAGE_MAX}, not {size}")
    found, token = page(elements, key, call.request.get("NextToken"), size, InvalidNextTokenException)
    answer: dict[str, Any] = {member: [describe(element) for element in found]}
    if token is not None:
        answer["NextToken"] = token
    return answer
