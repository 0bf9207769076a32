"""The operations of IAM and STS that are offered, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from faradisc.services.iam import entities, policies, sessions, simulation
from faradisc.services.iam.asking import Handler


class IamOperation(NamedTuple):
    handler: Handler
    kind: str
    """Of the entity that the request names and that policies are asked about; "" where the handler tests
    rights itself."""
    changes: bool = False
    """Whether it changes the identities."""
    resource: str | None = None
    """What policies are asked about where it is not that entity."""


def _of_kind(kind: str) -> dict[str, IamOperation]:
    """Returns the operations that users, groups and roles have in common."""
    return {
        f"Create{kind}": IamOperation(entities.create, kind, True),
        f"Delete{kind}": IamOperation(entities.delete, kind, True),
        f"List{kind}s": IamOperation(entities.list_all, kind, resource="*"),
        f"Put{kind}Policy": IamOperation(policies.put_policy, kind, True),
        f"Get{kind}Policy": IamOperation(policies.get_inline, kind),
        f"Delete{kind}Policy": IamOperation(policies.delete_inline, kind, True),
        f"List{kind}Policies": IamOperation(policies.list_inline, kind),
        f"Attach{kind}Policy": IamOperation(policies.attach, kind, True),
        f"Detach{kind}Policy": IamOperation(policies.detach, kind, True),
        f"ListAttached{kind}Policies": IamOperation(policies.list_attached, kind),
    }


def _of_principal(kind: str) -> dict[str, IamOperation]:
    """Returns the operations that users and roles have in common."""
    return {
        f"Get{kind}": IamOperation(entities.get, kind),
        f"Put{kind}PermissionsBoundary": IamOperation(policies.put_boundary, kind, True),
        f"Delete{kind}PermissionsBoundary": IamOperation(policies.delete_boundary, kind, True),
    }


def _of_tagged(kind: str) -> dict[str, IamOperation]:
    return {
        f"Tag{kind}": IamOperation(entities.tag, kind, True),
        f"Untag{kind}": IamOperation(entities.untag, kind, True),
        f"List{kind}Tags": IamOperation(entities.list_tags, kind),
    }


IAM: Final[Mapping[str, IamOperation]] = {
    **_of_kind("User"),
    **_of_kind("Group"),
    **_of_kind("Role"),
    **_of_principal("User"),
    **_of_principal("Role"),
    **_of_tagged("User"),
    **_of_tagged("Role"),
    **_of_tagged("Policy"),
    "GetGroup": IamOperation(entities.get_group, "Group"),
    "AddUserToGroup": IamOperation(entities.add_user_to_group, "Group", True),
    "RemoveUserFromGroup": IamOperation(entities.remove_user_from_group, "Group", True),
    "ListGroupsForUser": IamOperation(entities.list_groups_for_user, "User"),
    "UpdateAssumeRolePolicy": IamOperation(entities.update_assume_role_policy, "Role", True),
    "UpdateRole": IamOperation(entities.update_role, "Role", True),
    "CreateAccessKey": IamOperation(entities.create_access_key, "User", True),
    "ListAccessKeys": IamOperation(entities.list_access_keys, "User"),
    "UpdateAccessKey": IamOperation(entities.update_access_key, "User", True),
    "DeleteAccessKey": IamOperation(entities.delete_access_key, "User", True),
    "CreatePolicy": IamOperation(policies.create_policy, "Policy", True),
    "GetPolicy": IamOperation(policies.get_policy, "Policy"),
    "ListPolicies": IamOperation(policies.list_policies, "Policy", resource="*"),
    "DeletePolicy": IamOperation(policies.delete_policy, "Policy", True),
    "CreatePolicyVersion": IamOperation(policies.create_policy_version, "Policy", True),
    "GetPolicyVersion": IamOperation(policies.get_policy_version, "Policy"),
    "ListPolicyVersions": IamOperation(policies.list_policy_versions, "Policy"),
    "SetDefaultPolicyVersion": IamOperation(policies.set_default_policy_version, "Policy", True),
    "DeletePolicyVersion": IamOperation(policies.delete_policy_version, "Policy", True),
    "ListEntitiesForPolicy": IamOperation(policies.list_entities_for_policy, "Policy"),
    "SimulatePrincipalPolicy": IamOperation(simulation.simulate_principal_policy, "source"),
    "SimulateCustomPolicy": IamOperation(simulation.simulate_custom_policy, "custom", resource="*"),
}

STS: Final[Mapping[str, IamOperation]] = {
    "AssumeRole": IamOperation(sessions.assume_role, ""),
    "GetSessionToken": IamOperation(sessions.get_session_token, ""),
    "GetCallerIdentity": IamOperation(sessions.get_caller_identity, ""),
}
"""Their handlers test what rights they need."""

NOT_OFFERED: Final[Mapping[str, frozenset[str]]] = {
    "AssumeRole": frozenset({"ProvidedContexts", "MinimumSessionTokenSize"}),
    "GetSessionToken": frozenset({"MinimumSessionTokenSize"}),
    "ListPolicies": frozenset({"PolicyUsageFilter"}),
    "ListEntitiesForPolicy": frozenset(
        {"EntityFilter", "PathPrefix", "PolicyUsageFilter", "Marker", "MaxItems"}
    ),
    "ListAttachedUserPolicies": frozenset({"PathPrefix"}),
    "ListAttachedGroupPolicies": frozenset({"PathPrefix"}),
    "ListAttachedRolePolicies": frozenset({"PathPrefix"}),
    "SimulatePrincipalPolicy": frozenset({"CallerArn", "PolicyExclusionList", "ResourceHandlingOption"}),
    "SimulateCustomPolicy": frozenset({"OrderedOrganizationPolicyInputList", "ResourceHandlingOption"}),
}
"""Members that are rejected, by operation."""
