"""SimulatePrincipalPolicy, SimulateCustomPolicy: what policies would decide (iam.md section 8.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from faradisc.auth.identities import Identities
from faradisc.auth.keyring import compiled
from faradisc.auth.policy.evaluate import evaluate, matching
from faradisc.auth.policy.model import (
    CompiledPolicy,
    Decision,
    Policies,
    PolicyError,
    PolicyKind,
    Principal,
    Request,
    Value,
)
from faradisc.auth.session_tokens import RoleSession
from faradisc.services.iam.asking import Ask, Members, find, page
from faradisc.services.iam.errors import InvalidInput, NoSuchEntity

SIMULATED_MAX: Final = 10_000
"""Pairs of an action and a resource in one request. Assumed: no source has a limit."""
_KINDS: Final = {"user": "User", "group": "Group", "role": "Role"}


def simulate_principal_policy(state: Identities, ask: Ask) -> Members:
    """A group is simulated as a user that has only the group's policies."""
    arn = ask.request["PolicySourceArn"]
    kind = _KINDS.get(arn.split(":")[-1].partition("/")[0])
    holder = None if kind is None else find(state, kind, arn.rpartition("/")[2])
    if holder is None or holder.arn(ask.account) != arn:
        raise NoSuchEntity(f"The entity {arn} cannot be found.")
    keyring = ask.keyring
    if kind == "Role":
        key, now_s = holder.name.lower(), ask.now_s
        role = keyring.identity_of_session(
            RoleSession("", "role", now_s, now_s, key, holder.id, "simulation")
        )
        assert role is not None
        return _simulate(ask, role.principal, role.policies)
    tags = holder.tags if kind == "User" else {}
    user = Principal(arn, ask.account, "user", name=holder.name, user_id=holder.id, tags=tags)
    return _simulate(ask, user, keyring.policies_of(holder))


def simulate_custom_policy(state: Identities, ask: Ask) -> Members:
    caller = ask.request.get("CallerArn", f"arn:aws:iam::{ask.account}:user/simulation")
    name = caller.rpartition("/")[2]
    return _simulate(ask, Principal(caller, ask.account, "user", name=name), Policies())


def _simulate(ask: Ask, principal: Principal, policies: Policies) -> Members:
    request = ask.request
    further = _compiled(ask, "PolicyInputList")
    boundaries = _compiled(ask, "PermissionsBoundaryPolicyInputList")
    if len(boundaries) > 1:
        raise InvalidInput("PermissionsBoundaryPolicyInputList takes one policy.")
    resource = request.get("ResourcePolicy")
    policies = replace(
        policies,
        identity=[*policies.identity, *further],
        boundary=boundaries[0] if boundaries else policies.boundary,
        resource=None if resource is None else _checked(resource, "ResourcePolicy", "resource"),
    )
    actions, arns = request["ActionNames"], request.get("ResourceArns", ("*",))
    if len(actions) * len(arns) > SIMULATED_MAX:
        raise InvalidInput(f"A simulation takes at most {SIMULATED_MAX} pairs of an action and a resource.")
    pairs = [(f"{action} {arn}", (action, arn)) for action in actions for arn in arns]
    answer = page("EvaluationResults", ask, pairs)
    context = _context(ask)
    results = []
    for action, arn in answer["EvaluationResults"]:
        owner = request.get("ResourceOwner", arn).split(":")
        account = owner[4] if len(owner) > 4 and owner[4] else ask.account
        results.append(_result(Request(principal, action, arn, account, context), policies))
    return {**answer, "EvaluationResults": results}


def _compiled(ask: Ask, member: str) -> list[CompiledPolicy]:
    documents = ask.request.get(member, ())
    return [_checked(text, f"{member}.{number}") for number, text in enumerate(documents, 1)]


def _checked(document: str, name: str, kind: PolicyKind = "identity") -> CompiledPolicy:
    """Raises InvalidInput."""
    try:
        return compiled(document, name, kind)
    except PolicyError as error:
        raise InvalidInput(f"Invalid policy document in {name}: {error}") from error


def _context(ask: Ask) -> dict[str, Value]:
    context: dict[str, Value] = {}
    for entry in ask.request.get("ContextEntries", ()):
        values = tuple(entry.get("ContextKeyValues", ()))
        several = entry.get("ContextKeyType", "string").endswith("List")
        if not several and len(values) != 1:
            raise InvalidInput(f"The context key {entry.get('ContextKeyName')} needs one value.")
        context[entry.get("ContextKeyName", "").lower()] = values if several else values[0]
    return context


def _result(tested: Request, policies: Policies) -> Members:
    decision = evaluate(tested, policies)
    used = [
        *policies.identity,
        *(each for each in (policies.boundary, policies.resource) if each is not None),
    ]
    asked = set().union(*(policy.keys for policy in used))
    deciding = [
        policy.name
        for _, policy, statement in matching(tested, policies)
        if decision.explicit and statement.allow == decision.allowed
    ]
    members: Members = {
        "EvalActionName": tested.action,
        "EvalResourceName": tested.resource,
        "EvalDecision": _word(decision),
        "MatchedStatements": [{"SourcePolicyId": name} for name in deciding],
        "MissingContextValues": sorted(key for key in asked if tested.value(key) is None),
    }
    if policies.boundary is not None:
        within = evaluate(tested, Policies(identity=[policies.boundary])).allowed
        members["PermissionsBoundaryDecisionDetail"] = {"AllowedByPermissionsBoundary": within}
    return members


def _word(decision: Decision) -> str:
    if decision.allowed:
        return "allowed"
    return "explicitDeny" if decision.explicit else "implicitDeny"
