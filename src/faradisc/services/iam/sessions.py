"""STS: temporary credentials, sealed in their token (auth/session_tokens.py). Source: iam.md section 8.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from faradisc.auth.credentials_file import new_key
from faradisc.auth.identities import Identities, Role
from faradisc.auth.keyring import compiled
from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import CompiledPolicy, Request, Value
from faradisc.auth.session_tokens import RoleSession
from faradisc.services.iam.asking import Ask, Members, checked_policy, checked_tags, managed, size_of
from faradisc.services.iam.errors import AccessDenied, PackedPolicyTooLarge, ValidationError

ASSUMED_S: Final = 3600
"""Of a session of a role by default, and at most of one that another session asked for, or the account."""
OWN_S: Final = 43_200
POLICY_CHARACTERS_MAX: Final = 2048
PACKED_BYTES_MAX: Final = 8192
"""Of a session's policies and tags. Assumed: the service states only a share in percent."""
_NO_TRUST: Final = CompiledPolicy("trust", "", (), (), frozenset())
_ANY_CODE_IS_WRONG: Final = "MultiFactorAuthentication failed with invalid MFA one time pass code."


def get_caller_identity(state: Identities, ask: Ask) -> Members:
    return {"UserId": ask.caller.user_id, "Account": ask.account, "Arn": ask.caller.arn}


def get_session_token(state: Identities, ask: Ask) -> Members:
    if ask.caller.kind == "session" or ask.session is not None:
        raise AccessDenied("Cannot call GetSessionToken with session credentials")
    _check_mfa(ask)
    seconds = ask.request.get("DurationSeconds", OWN_S)
    if ask.caller.kind == "account":
        return _credentials(ask, kind="account", seconds=min(seconds, ASSUMED_S))
    key = ask.caller.name.lower()
    return _credentials(ask, kind="user", seconds=seconds, holder=key, holder_id=ask.caller.user_id)


def _check_mfa(ask: Ask) -> None:
    """Raises AccessDenied: there are no devices, so no code is right."""
    if "TokenCode" in ask.request or "SerialNumber" in ask.request:
        raise AccessDenied(_ANY_CODE_IS_WRONG)


def _credentials(ask: Ask, *, seconds: int, **members: Any) -> Members:
    expires_s = ask.now_s + seconds
    made = new_key(ask.entropy, expires_s=expires_s)
    origin = ask.access_key_id if ask.caller.kind == "account" else ask.caller.arn
    if ask.session is not None:
        origin = ask.session.origin
    session = RoleSession(made.secret, issued_s=ask.now_s, expires_s=expires_s, origin=origin, **members)
    return {
        "Credentials": {
            "AccessKeyId": made.key_id,
            "SecretAccessKey": made.secret,
            "SessionToken": ask.keyring.token_of(session, made.key_id, ask.entropy),
            "Expiration": expires_s,
        }
    }


# --- AssumeRole ------------------------------------------------------------------------------------


def assume_role(state: Identities, ask: Ask) -> Members:
    request = ask.request
    arn = request["RoleArn"]
    role = state.roles.get(arn.rpartition("/")[2].lower())
    if role is not None and role.arn(ask.account) != arn:
        role = None
    _check_mfa(ask)
    tags, transitive = _session_tags(ask)
    source = _source_identity(ask)
    _check_rights(ask, role, _context(ask, role))
    assert role is not None, "a missing one has an empty trust policy"
    seconds = request.get("DurationSeconds", ASSUMED_S)
    if seconds > role.session_s_max:
        raise ValidationError(
            "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        )
    if ask.caller.kind == "session" and seconds > ASSUMED_S:
        raise ValidationError(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role "
            "chaining."
        )
    policies, arns = _session_policies(state, ask)
    packed = len(orjson.dumps([policies, arns, tags]))
    if packed > PACKED_BYTES_MAX:
        raise PackedPolicyTooLarge("Packed size of session policies and tags is larger than the limit.")
    name = request["RoleSessionName"]
    members = _credentials(
        ask,
        kind="role",
        seconds=seconds,
        holder=role.name.lower(),
        holder_id=role.id,
        name=name,
        policies=policies,
        policy_arns=arns,
        tags=tags,
        transitive=transitive,
        source_identity=source,
    )
    members["AssumedRoleUser"] = {
        "AssumedRoleId": f"{role.id}:{name}",
        "Arn": f"arn:aws:sts::{ask.account}:assumed-role/{role.name}/{name}",
    }
    if policies is not None or tags:
        members["PackedPolicySize"] = -(-packed * 100 // PACKED_BYTES_MAX)
    if source:
        members["SourceIdentity"] = source
    return members


def _check_rights(ask: Ask, role: Role | None, context: Mapping[str, Value]) -> None:
    """Raises AccessDenied unless the role's trust policy and the caller's policies allow the session.

    A role that is missing is denied in the same words as one that does not trust the caller.
    """
    actions = ["sts:AssumeRole"]
    actions += ["sts:TagSession"] if "Tags" in ask.request else []
    actions += ["sts:SetSourceIdentity"] if "SourceIdentity" in ask.request else []
    trust = _NO_TRUST if role is None else compiled(role.trust, f"role{role.path}{role.name}", "trust")
    for action in actions:
        tested = Request(ask.caller, action, ask.request["RoleArn"], ask.account, context)
        decision = evaluate(tested, replace(ask.policies, resource=trust))
        ask.decided(tested, decision)
        if not decision.allowed:
            raise AccessDenied(decision.sentence(tested))


def _context(ask: Ask, role: Role | None) -> dict[str, Value]:
    request = ask.request
    context = dict(ask.context)
    context["sts:rolesessionname"] = request["RoleSessionName"]
    if "ExternalId" in request:
        context["sts:externalid"] = request["ExternalId"]
    if "SourceIdentity" in request:
        context["sts:sourceidentity"] = request["SourceIdentity"]
    if "TransitiveTagKeys" in request:
        context["sts:transitivetagkeys"] = tuple(request["TransitiveTagKeys"])
    tags = {} if role is None else role.tags
    return context | {f"aws:resourcetag/{key.lower()}": value for key, value in tags.items()}


def _session_tags(ask: Ask) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the tags of the new session, and the keys of those that go on to further ones."""
    given = checked_tags(ask.request.get("Tags", ()), {}, "a session")
    wanted = {key.lower() for key in ask.request.get("TransitiveTagKeys", ())}
    if wanted - {key.lower() for key in given}:
        raise ValidationError("The specified transitive tag key must be included in the requested tags.")
    inherited = {}
    if ask.session is not None:
        inherited = {key: ask.session.tags[key] for key in ask.session.transitive}
    if {key.lower() for key in inherited} & {key.lower() for key in given}:
        raise ValidationError(
            "One of the specified transitive tag keys can't be set because it conflicts with a transitive "
            "tag key from the calling session."
        )
    further = tuple(key for key in given if key.lower() in wanted)
    return inherited | given, (*inherited, *further)


def _source_identity(ask: Ask) -> str:
    given: str = ask.request.get("SourceIdentity", "")
    inherited = ask.caller.source_identity
    if given and inherited and given != inherited:
        raise AccessDenied("The source identity of a session cannot be changed by role chaining.")
    return given or inherited


def _session_policies(state: Identities, ask: Ask) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Returns documents and ARNs; no documents where there are neither."""
    request = ask.request
    if "Policy" not in request and "PolicyArns" not in request:
        return None, ()
    documents = (request["Policy"],) if "Policy" in request else ()
    arns = tuple(each.get("arn", "") for each in request.get("PolicyArns", ()))
    for document in documents:
        checked_policy(document)
    size = sum(map(size_of, documents)) + sum(size_of(managed(state, arn, ask).document) for arn in arns)
    if sum(map(size_of, documents)) > POLICY_CHARACTERS_MAX or size > PACKED_BYTES_MAX:
        raise PackedPolicyTooLarge("Packed size of session policies and tags is larger than the limit.")
    return documents, arns
