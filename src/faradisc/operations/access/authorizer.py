"""Tests every need of a request against the policies of its caller and of the resource.

Decisions are cached. An evaluation is a function of the policies and of the values of the condition keys that
it asks for, one after the other; so from a `_Start` the answers lead over further questions to the decision,
the same for every later request. Where no condition asks for a part of the request, the start has the
decision. A start is of an identity, an action and a resource, in one state of the table or stream: its policy
and tags are part of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from faradisc.auth.identity import Identity
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import CompiledPolicy, Decision, Policies, Request, Value
from faradisc.engine.tables.table import Table
from faradisc.errors import AccessDeniedException
from faradisc.operations.access.conditions import LEADING_KEYS, AccessConditions
from faradisc.operations.access.grants import resource_policy_of
from faradisc.operations.access.needs import SERVICE, Need, needs_of
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

Observer = Callable[[Call, Request, Decision], None]

_OF_ONE_ITEM: Final = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem"})
_CACHED_MAX: Final = 4096
"""Questions and decisions cached of one identity; beyond, all are forgotten."""
_CACHED_CHARACTERS_MAX: Final = 256
"""Decisions that follow from longer values are not cached."""


class _Start:
    """What is known of one action on one resource."""

    __slots__ = ("next", "state")

    def __init__(self, state: object) -> None:
        self.state = state
        """Of the table or stream; None where there is none."""
        self.next: str | Decision | None = None
        """The decision, or the condition key that an evaluation asks for first."""


class _ItemStart:
    """The start of an operation on one item, by the table's name in requests: most requests end here."""

    __slots__ = ("_key", "_kind", "_start", "_table")

    def __init__(self, start: _Start, table: Table) -> None:
        self._start = start
        self._table = table
        self._key = table.key.hash[0]
        self._kind = table.key.types[self._key]

    def allows(self, backend: Backend, call: Call, decided: Mapping[Any, Any]) -> bool:
        """Whether a cached decision allows the request, which asks for no key or for LeadingKeys only."""
        request, start = call.request, self._start
        if backend.tables.named(request["TableName"], call.region, call.account) is not self._table:
            return False
        following = start.next
        if following == LEADING_KEYS and call.values_ok:
            value = request["Item" if call.operation == "PutItem" else "Key"].get(self._key)
            following = None if value is None else decided.get((start, (value.get(self._kind),)))
        return type(following) is Decision and following.allowed


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
        assert call.caller is not None
        of_one_item = call.operation in _OF_ONE_ITEM and self.observer is None
        decided = call.caller.identity.decided
        if of_one_item:
            name = (call.operation, call.request["TableName"])
            known: _ItemStart | None = decided.get(name)
            if known is not None and known.allows(self._backend, call, decided):
                return
        for need in needs_of(self._backend, call):
            self.require(call, need)
            if not of_one_item or len(decided) >= _CACHED_MAX:
                continue
            start: _Start | None = decided.get((need.service, need.name, need.resource))
            if start is not None and need.table is not None and start.state is need.table.state:
                decided[name] = _ItemStart(start, need.table)

    def require(self, call: Call, need: Need) -> None:
        """Tests one need of a request. Raises AccessDeniedException and ValidationException."""
        assert call.caller is not None
        identity = call.caller.identity
        state = need.state
        start: _Start | None = identity.decided.get((need.service, need.name, need.resource))
        if start is None or start.state is not state:
            start = _Start(state)
        elif self.observer is None and type(start.next) is Decision and start.next.allowed:
            return
        conditions = AccessConditions(self._backend, call, need)
        decision = _decide(identity, start, need, conditions)
        if decision.allowed and self.observer is None:
            return
        request = _request(identity, need, conditions)
        if self.observer is not None:
            self.observer(call, request, decision)
        if not decision.allowed:
            if conditions.rejection is not None:
                raise conditions.rejection
            raise AccessDeniedException(decision.sentence(request, _shown(call, need)))


def _decide(identity: Identity, start: _Start, need: Need, conditions: AccessConditions) -> Decision:
    following = start.next
    path: tuple[object, ...] = (start,)
    try:
        while type(following) is str:
            path = (*path, conditions.get(following))
            following = identity.decided.get(path)
    except Exception:
        following = None  # the evaluation meets it again, and denies
    return following if type(following) is Decision else _learn(identity, start, need, conditions)


def _learn(identity: Identity, start: _Start, need: Need, conditions: AccessConditions) -> Decision:
    """Evaluates the policies, and caches the way to the decision."""
    request = _request(identity, need, conditions)
    foreign = request.resource_account != identity.principal.account
    resource = resource_policy_of(need, foreign=foreign)
    decision = _evaluate(request, identity.policies, resource)
    asked = conditions.asked
    if decision.error or sum(map(_characters, asked.values())) > _CACHED_CHARACTERS_MAX:
        return decision
    decided = identity.decided
    if len(decided) >= _CACHED_MAX:
        decided.clear()
    decided[need.service, need.name, need.resource] = start
    steps: list[str | Decision] = [*asked, decision]
    start.next = steps[0]
    path: tuple[object, ...] = (start,)
    for value, following in zip(asked.values(), steps[1:], strict=True):
        path = (*path, value)
        decided[path] = following
    return decision


def _request(identity: Identity, need: Need, conditions: AccessConditions) -> Request:
    return Request(identity.principal, need.action, need.resource, _owner(identity, need), conditions)


def keeps_right(backend: Backend, call: Call, policy: CompiledPolicy) -> bool:
    """Whether the caller may still change the policy of a resource after it is replaced by another."""
    assert call.caller is not None
    identity = call.caller.identity
    for need in needs_of(backend, call):
        request = _request(identity, need, AccessConditions(backend, call, need))
        if not _evaluate(request, identity.policies, policy).allowed:
            return False
    return True


def _evaluate(request: Request, policies: Policies, resource: CompiledPolicy | None) -> Decision:
    return evaluate(request, policies if resource is None else replace(policies, resource=resource))


def _characters(value: Value | None) -> int:
    return 0 if value is None else len(value) if isinstance(value, str) else sum(map(len, value))


def _owner(identity: Identity, need: Need) -> str:
    """Returns the account that owns the resource. Buckets and Kinesis streams count as the caller's."""
    if need.service == SERVICE and need.resource.startswith("arn:"):
        parts = need.resource.split(":", 5)
        if len(parts) == 6:
            return parts[4]
    return identity.principal.account


def _shown(call: Call, need: Need) -> str | None:
    """Returns the resource that a denial shows where it is not the tested one (iam.md section 1.2)."""
    if need.resource == "*" and need.service == SERVICE:
        return f"arn:aws:dynamodb:{call.region}:{call.account}:table/*"
    return None
