"""GetResourcePolicy and DeleteResourcePolicy. No resource has a policy, since PutResourcePolicy does not
exist.

Checks: the resource exists. Source: new-features.md section 4 and the service model.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import PolicyNotFoundException, ValidationException
from faradisc.operations.call import Backend, Call


async def get_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    _check_resource(backend, call)
    raise _not_found(call)


async def delete_resource_policy(backend: Backend, call: Call) -> dict[str, Any]:
    """Does nothing, unless the request expects a revision of the policy."""
    _check_resource(backend, call)
    if "ExpectedRevisionId" in call.request:
        raise _not_found(call)
    return {}


def _not_found(call: Call) -> PolicyNotFoundException:
    arn = call.request["ResourceArn"]
    return PolicyNotFoundException(f"Resource-based policy not found for the provided ResourceArn: {arn}")


def _check_resource(backend: Backend, call: Call) -> None:
    """Checks that a table or stream exists. Raises ResourceNotFoundException, ValidationException."""
    arn = call.request["ResourceArn"]
    if not arn.startswith("arn:"):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if "/stream/" in arn:
        backend.catalog.stream(arn)
    else:
        backend.catalog.for_control(arn, call.region, call.account)
