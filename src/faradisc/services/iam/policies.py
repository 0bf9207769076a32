"""Inline policies, managed policies with their versions, attachments and permissions boundaries."""

from __future__ import annotations

import re
from typing import Final

from faradisc.auth.identities import (
    AWS_POLICIES,
    Identities,
    ManagedPolicy,
    PolicyVersion,
    Role,
    User,
    new_id,
)
from faradisc.services.iam.asking import (
    QUOTAS,
    Ask,
    Members,
    check_quota,
    checked_policy,
    checked_tags,
    described,
    encoded,
    managed,
    named,
    own_policy,
    page,
    size_of,
)
from faradisc.services.iam.errors import (
    DeleteConflict,
    EntityAlreadyExists,
    InvalidInput,
    LimitExceeded,
    NoSuchEntity,
)

INLINE_CHARACTERS_MAX: Final = {"User": 2048, "Role": 10_240, "Group": 5120}
"""Of all inline policies together."""
MANAGED_CHARACTERS_MAX: Final = 6144
ATTACHED_MAX: Final = 10
VERSIONS_MAX: Final = 5

_ARN: Final = re.compile(r"arn:[\w-]+:iam::([0-9]{12}|aws):policy/.+", re.ASCII)

# --- Inline ----------------------------------------------------------------------------------------


def put_policy(state: Identities, ask: Ask) -> Members:
    holder = named(state, ask)
    document = ask.request["PolicyDocument"]
    checked_policy(document)
    name = holder.name
    inline = {**holder.inline, ask.request["PolicyName"]: document}
    most = INLINE_CHARACTERS_MAX[ask.kind]
    if sum(map(size_of, inline.values())) > most:
        raise LimitExceeded(f"Maximum policy size of {most} bytes exceeded for {ask.kind.lower()} {name}")
    holder.inline = inline
    return {}


def get_inline(state: Identities, ask: Ask) -> Members:
    holder = named(state, ask)
    name = ask.request["PolicyName"]
    _check_inline(ask, name, holder.inline)
    document = encoded(holder.inline[name])
    return {f"{ask.kind}Name": holder.name, "PolicyName": name, "PolicyDocument": document}


def delete_inline(state: Identities, ask: Ask) -> Members:
    holder = named(state, ask)
    name = ask.request["PolicyName"]
    _check_inline(ask, name, holder.inline)
    del holder.inline[name]
    return {}


def _check_inline(ask: Ask, name: str, inline: dict[str, str]) -> None:
    if name not in inline:
        raise NoSuchEntity(f"The {ask.kind.lower()} policy with name {name} cannot be found.")


def list_inline(state: Identities, ask: Ask) -> Members:
    return page("PolicyNames", ask, ((name, name) for name in named(state, ask).inline))


# --- Attached --------------------------------------------------------------------------------------


def attach(state: Identities, ask: Ask) -> Members:
    holder = named(state, ask)
    arn = _attachable(state, ask.request["PolicyArn"], ask)
    if arn not in holder.attached:
        check_quota(f"PoliciesPer{ask.kind}", len(holder.attached), ATTACHED_MAX)
        holder.attached.append(arn)
    return {}


def _attachable(state: Identities, arn: str, ask: Ask) -> str:
    """Raises InvalidInput, NoSuchEntity."""
    if not _ARN.fullmatch(arn):
        raise InvalidInput(f"ARN {arn} is not valid.")
    if state.managed_policy(arn, ask.account) is None:
        raise NoSuchEntity(f"Policy {arn} does not exist or is not attachable.")
    return arn


def detach(state: Identities, ask: Ask) -> Members:
    holder = named(state, ask)
    arn = ask.request["PolicyArn"]
    if arn not in holder.attached:
        raise NoSuchEntity(f"Policy {arn} was not found.")
    holder.attached.remove(arn)
    return {}


def list_attached(state: Identities, ask: Ask) -> Members:
    attached = [(arn.rpartition("/")[2], arn) for arn in named(state, ask).attached]
    elements = ((name, {"PolicyName": name, "PolicyArn": arn}) for name, arn in attached)
    return page("AttachedPolicies", ask, elements)


def put_boundary(state: Identities, ask: Ask) -> Members:
    named(state, ask).boundary = _attachable(state, ask.request["PermissionsBoundary"], ask)
    return {}


def delete_boundary(state: Identities, ask: Ask) -> Members:
    holder: User | Role = named(state, ask)
    if holder.boundary is None:
        raise NoSuchEntity(f"The {ask.kind.lower()} {holder.name} has no permissions boundary.")
    holder.boundary = None
    return {}


# --- Managed ---------------------------------------------------------------------------------------


def create_policy(state: Identities, ask: Ask) -> Members:
    request = ask.request
    name = request["PolicyName"]
    if name.lower() in state.policies:
        raise EntityAlreadyExists(f"A policy called {name} already exists. Duplicate names are not allowed.")
    check_quota("PoliciesPerAccount", len(state.policies), QUOTAS["Policy"])
    policy = ManagedPolicy(
        name=name,
        id=new_id(ManagedPolicy.id_prefix, ask.entropy),
        created_s=ask.now_s,
        updated_s=ask.now_s,
        path=request.get("Path", "/"),
        description=request.get("Description", ""),
        tags=checked_tags(request.get("Tags", ()), {}, "Policy"),
        versions={"v1": _new_version(ask)},
    )
    state.policies[name.lower()] = policy
    return {"Policy": _described(state, policy, policy.arn(ask.account))}


def _new_version(ask: Ask) -> PolicyVersion:
    document = ask.request["PolicyDocument"]
    checked_policy(document)
    if size_of(document) > MANAGED_CHARACTERS_MAX:
        raise LimitExceeded(f"Cannot exceed quota for PolicySize: {MANAGED_CHARACTERS_MAX}")
    return PolicyVersion(document, ask.now_s)


def _described(state: Identities, policy: ManagedPolicy, arn: str, *, whole: bool = True) -> Members:
    bounded: list[User | Role] = [*state.users.values(), *state.roles.values()]
    return described(policy, "", whole=whole) | {
        "Arn": arn,
        "DefaultVersionId": policy.default,
        "AttachmentCount": sum(arn in holder.attached for holder in state.holders),
        "PermissionsBoundaryUsageCount": sum(holder.boundary == arn for holder in bounded),
        "IsAttachable": True,
        "UpdateDate": policy.updated_s,
    }


def get_policy(state: Identities, ask: Ask) -> Members:
    arn = ask.request["PolicyArn"]
    return {"Policy": _described(state, managed(state, arn, ask), arn)}


def list_policies(state: Identities, ask: Ask) -> Members:
    request = ask.request
    scope = request.get("Scope", "All")
    own = {policy.arn(ask.account): policy for policy in state.policies.values()}
    policies = {**({} if scope == "AWS" else own), **({} if scope == "Local" else AWS_POLICIES)}
    shown = [
        (policy.name, _described(state, policy, arn, whole=False))
        for arn, policy in policies.items()
        if policy.path.startswith(request.get("PathPrefix", "/"))
    ]
    if request.get("OnlyAttached"):
        shown = [each for each in shown if each[1]["AttachmentCount"]]
    return page("Policies", ask, shown)


def delete_policy(state: Identities, ask: Ask) -> Members:
    arn = ask.request["PolicyArn"]
    policy = own_policy(state, ask)
    shown = _described(state, policy, arn)
    if shown["AttachmentCount"] or shown["PermissionsBoundaryUsageCount"]:
        raise DeleteConflict("Cannot delete a policy attached to entities.")
    if len(policy.versions) > 1:
        raise DeleteConflict(
            "This policy has more than one version. Before you delete a policy, you must delete the policy's "
            "versions. The default version is deleted with the policy."
        )
    del state.policies[policy.name.lower()]
    return {}


# --- Versions --------------------------------------------------------------------------------------


def create_policy_version(state: Identities, ask: Ask) -> Members:
    policy = own_policy(state, ask)
    version = _new_version(ask)
    if len(policy.versions) >= VERSIONS_MAX:
        raise LimitExceeded(
            f"A managed policy can have up to {VERSIONS_MAX} versions. Before you create a new version, you "
            "must delete an existing version."
        )
    policy.newest += 1
    name = f"v{policy.newest}"
    policy.versions[name] = version
    policy.updated_s = ask.now_s
    if ask.request.get("SetAsDefault"):
        policy.default = name
    return {"PolicyVersion": _version_members(policy, name)}


def _version_members(policy: ManagedPolicy, name: str, *, document: bool = False) -> Members:
    version = policy.versions[name]
    members: Members = {"Document": encoded(version.document)} if document else {}
    return members | {
        "VersionId": name,
        "IsDefaultVersion": policy.default == name,
        "CreateDate": version.created_s,
    }


def _version_in(policy: ManagedPolicy, ask: Ask) -> str:
    name: str = ask.request["VersionId"]
    if name not in policy.versions:
        arn = ask.request["PolicyArn"]
        raise NoSuchEntity(f"Policy {arn} version {name} does not exist or is not attachable.")
    return name


def get_policy_version(state: Identities, ask: Ask) -> Members:
    policy = managed(state, ask.request["PolicyArn"], ask)
    return {"PolicyVersion": _version_members(policy, _version_in(policy, ask), document=True)}


def list_policy_versions(state: Identities, ask: Ask) -> Members:
    policy = managed(state, ask.request["PolicyArn"], ask)
    return page("Versions", ask, ((name, _version_members(policy, name)) for name in policy.versions))


def set_default_policy_version(state: Identities, ask: Ask) -> Members:
    policy = own_policy(state, ask)
    policy.default = _version_in(policy, ask)
    policy.updated_s = ask.now_s
    return {}


def delete_policy_version(state: Identities, ask: Ask) -> Members:
    policy = own_policy(state, ask)
    name = _version_in(policy, ask)
    if name == policy.default:
        raise DeleteConflict("Cannot delete the default version of a policy.")
    del policy.versions[name]
    return {}


def list_entities_for_policy(state: Identities, ask: Ask) -> Members:
    arn = ask.request["PolicyArn"]
    managed(state, arn, ask)
    members: Members = {"IsTruncated": False}
    for kind, holders in (("User", state.users), ("Group", state.groups), ("Role", state.roles)):
        members[f"Policy{kind}s"] = [
            {f"{kind}Name": holder.name, f"{kind}Id": holder.id}
            for holder in holders.values()
            if arn in holder.attached
        ]
    return members
