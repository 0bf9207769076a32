"""Tests every need of a request against the policies of its caller and of the resource.

A decision for which no condition asked for a part of the request, the time or a tag is the same for every
request of the caller with that action on that resource: it is cached, until the caller's policies or the
resource's change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from faradisc.auth.identity import Identity
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import CompiledPolicy, Decision, Policies, Request
from faradisc.errors import AccessDeniedException
from faradisc.operations.access.conditions import Conditions
from faradisc.operations.access.grants import resource_policy_of
from faradisc.operations.access.needs import SERVICE, Need, needs_of
from faradisc.operations.call import Backend, Call

Observer = Callable[[Call, Request, Decision], None]

_DECIDED_MAX: Final = 4096
"""Decisions cached of one identity."""


class Authorizer:
    """Of one database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.observer: Observer | None = None
        """Called with each decision, allowed or not."""

    def check(self, call: Call) -> None:
        """Tests a request of DynamoDB. Requires: it has a caller.

        Raises AccessDeniedException; ValidationException for a malformed ARN, expression or statement.
        """
        for need in needs_of(self._backend, call):
            self.require(call, need)

    def require(self, call: Call, need: Need) -> None:
        """Tests one need of a request. Raises AccessDeniedException and ValidationException."""
        caller = call.caller
        assert caller is not None
        conditions = Conditions(self._backend, call, caller, need)
        request = _request(caller.identity, need, conditions)
        decision = _decide(caller.identity, need, request, conditions)
        if self.observer is not None:
            self.observer(call, request, decision)
        if not decision.allowed:
            if conditions.rejection is not None:
                raise conditions.rejection
            raise AccessDeniedException(decision.sentence(request, _shown(call, need)))


def _request(identity: Identity, need: Need, conditions: Conditions) -> Request:
    return Request(identity.principal, need.action, need.resource, _owner(identity, need), conditions)


def _decide(identity: Identity, need: Need, request: Request, conditions: Conditions) -> Decision:
    foreign = request.resource_account != identity.principal.account
    resource = resource_policy_of(need, foreign=foreign)
    key = (need.action, need.resource)
    known = identity.decided.get(key)
    if known is not None and known[0] is resource:
        return known[1]
    decision = _evaluate(request, identity.policies, resource)
    if not conditions.asked:
        if len(identity.decided) >= _DECIDED_MAX:
            identity.decided.clear()
        identity.decided[key] = (resource, decision)
    return decision


def keeps_right(backend: Backend, call: Call, policy: CompiledPolicy) -> bool:
    """Whether the caller may still change the policy of a resource after it is replaced by another."""
    caller = call.caller
    assert caller is not None
    for need in needs_of(backend, call):
        request = _request(caller.identity, need, Conditions(backend, call, caller, need))
        if not _evaluate(request, caller.identity.policies, policy).allowed:
            return False
    return True


def _evaluate(request: Request, policies: Policies, resource: CompiledPolicy | None) -> Decision:
    return evaluate(request, policies if resource is None else replace(policies, resource=resource))


def _owner(identity: Identity, need: Need) -> str:
    """Returns the account that owns the resource. Buckets and Kinesis streams count as the caller's."""
    if need.action.startswith(SERVICE) and need.resource.startswith("arn:"):
        parts = need.resource.split(":", 5)
        if len(parts) == 6:
            return parts[4]
    return identity.principal.account


def _shown(call: Call, need: Need) -> str | None:
    """Returns the resource that a denial shows where it is not the tested one (iam.md section 1.2)."""
    if need.resource == "*" and need.action.startswith(SERVICE):
        return f"arn:aws:dynamodb:{call.region}:{call.account}:table/*"
    return None
