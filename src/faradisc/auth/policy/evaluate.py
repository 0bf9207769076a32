"""Decides one request, in the order of the documentation's flow chart (iam.md sections 3.1 and 3.2).

    1  an explicit Deny in any policy                                    denied
    2  the account itself, on its own resources                          allowed
    3  the resource's policy, by how directly it names the caller        allowed, or what follows
    4  identity policies: an Allow                                       or denied
    5  the permissions boundary: an Allow                                or denied
    6  session policies: an Allow                                        or denied

Between accounts both must allow: the caller's by 4 to 6, the owner of the resource by 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from faradisc.auth.policy.model import (
    BOUNDARY,
    DIRECT,
    IDENTITY,
    PARENT,
    RESOURCE,
    SESSION,
    TRUST,
    CompiledPolicy,
    Decision,
    Policies,
    PolicyStatement,
    PolicyType,
    Request,
)

_ALWAYS_ALLOWED: Final = "sts:getcalleridentity"
_ALLOWED_TO_ROOT: Final = "dynamodb:deleteresourcepolicy"
"""The account takes back a policy that denies everything, to itself too (iam.md section 7.1)."""


def evaluate(request: Request, policies: Policies) -> Decision:
    """Returns whether the policies allow a request. Never raises: where evaluation fails it denies."""
    try:
        return _decide(request, policies)
    except Exception as error:
        return Decision(False, False, IDENTITY, error=repr(error))


def _decide(request: Request, policies: Policies) -> Decision:
    action = request.action.lower()
    same_account = request.principal.account == request.resource_account
    is_root = request.principal.kind == "account"
    is_trust = policies.resource is not None and policies.resource.kind == "trust"

    if action == _ALWAYS_ALLOWED or (is_root and same_account and action == _ALLOWED_TO_ROOT):
        return Decision(True, False, IDENTITY)
    if (denied := _explicit_deny(action, request, policies)) is not None:
        return denied
    if is_root and same_account and not is_trust:
        return Decision(True, False, IDENTITY)

    degree, granted = _resource_grant(action, request, policies)
    if not same_account:
        own = _own_policies(action, request, policies, identity=not is_root)
        return (granted or _implicit_deny(TRUST if is_trust else RESOURCE)) if own.allowed else own
    if granted is not None and degree == DIRECT:
        return granted
    if granted is None and is_trust:
        return _implicit_deny(TRUST)
    if granted is not None and degree == PARENT:
        own = _own_policies(action, request, policies, identity=False)
        return granted if own.allowed else own
    return _own_policies(action, request, policies, identity=not is_root)


def _explicit_deny(action: str, request: Request, policies: Policies) -> Decision | None:
    for kind, policy in _in_order(policies):
        for statement in policy.denies:
            if statement.applies(action, request) and _grant(statement, request, policies):
                return Decision(False, True, kind, policy.name, statement.sid)
    return None


def _resource_grant(action: str, request: Request, policies: Policies) -> tuple[int, Decision | None]:
    """Returns how directly an Allow of the resource's policy names the caller, and that Allow."""
    best, decision = 0, None
    policy = policies.resource
    if policy is not None:
        for statement in policy.allows:
            degree = _grant(statement, request, policies)
            if degree > best and statement.applies(action, request):
                kind: PolicyType = TRUST if policy.kind == "trust" else RESOURCE
                best, decision = degree, Decision(True, True, kind, policy.name, statement.sid)
    return best, decision


def _own_policies(action: str, request: Request, policies: Policies, *, identity: bool) -> Decision:
    """Returns what the caller's own policies say; the identity policies only if `identity`.

    A federated user without session policies may do nothing by itself (iam.md section 3.2).
    """
    decision = Decision(True, False, IDENTITY)
    if identity:
        allow = _allow(action, request, IDENTITY, policies.identity)
        if allow is None:
            return _implicit_deny(IDENTITY)
        decision = allow
    if policies.boundary is not None and _allow(action, request, BOUNDARY, (policies.boundary,)) is None:
        return _implicit_deny(BOUNDARY)
    session = policies.session
    if session is None and request.principal.kind == "federated":
        session = ()
    if session is not None and _allow(action, request, SESSION, session) is None:
        return _implicit_deny(SESSION)
    return decision


def _allow(
    action: str, request: Request, kind: PolicyType, policies: Sequence[CompiledPolicy]
) -> Decision | None:
    for policy in policies:
        for statement in policy.allows:
            if statement.applies(action, request):
                return Decision(True, True, kind, policy.name, statement.sid)
    return None


def _implicit_deny(kind: PolicyType) -> Decision:
    return Decision(False, False, kind)


def _grant(statement: PolicyStatement, request: Request, policies: Policies) -> int:
    """Returns how directly a statement names the caller; those of identity policies need no name."""
    if statement.grant is None:
        return DIRECT
    return statement.grant(request.principal, policies.boundary is not None)


def _in_order(policies: Policies) -> Iterator[tuple[PolicyType, CompiledPolicy]]:
    """Yields the policies, in the order in which a denial names one of several (iam.md section 6.2)."""
    if policies.resource is not None:
        yield (TRUST if policies.resource.kind == "trust" else RESOURCE), policies.resource
    for policy in policies.identity:
        yield IDENTITY, policy
    if policies.boundary is not None:
        yield BOUNDARY, policies.boundary
    for policy in policies.session or ():
        yield SESSION, policy


def matching(
    request: Request, policies: Policies
) -> Iterator[tuple[PolicyType, CompiledPolicy, PolicyStatement]]:
    """Yields every statement that matches a request, whatever the decision; for simulations."""
    action = request.action.lower()
    for kind, policy in _in_order(policies):
        for statement in (*policy.denies, *policy.allows):
            if statement.applies(action, request) and _grant(statement, request, policies):
                yield kind, policy, statement
