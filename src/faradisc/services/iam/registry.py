"""The operations of IAM and STS that are offered, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from faradisc.services.iam import entities, policies, sessions, simulation
from faradisc.services.iam.asking import Handler


class Operation(NamedTuple):
    handler: Handler
    kind: str
    """Of the entity that the request names and that policies are asked about; "" where the handler tests
    rights itself."""
    changes: bool = False
    """Whether it changes the identities."""
    resource: str | None = None
    """What policies are asked about where it is not that entity."""


def _of_kind(kind: str) -> dict[str, Operation]:
    """Returns the operations that users, groups and roles have in common."""
    return {
        f"Create{kind}": Operation(entities.create, kind, True),
        f"Delete{kind}": Operation(entities.delete, kind, True),
        f"List{kind}s": Operation(entities.list_all, kind, resource="*"),
        f"Put{kind}Policy": Operation(policies.put_policy, kind, True),
        f"Get{kind}Policy": Operation(policies.get_inline, kind),
        f"Delete{kind}Policy": Operation(policies.delete_inline, kind, True),
        f"List{kind}Policies": Operation(policies.list_inline, kind),
        f"Attach{kind}Policy": Operation(policies.attach, kind, True),
        f"Detach{kind}Policy": Operation(policies.detach, kind, True),
        f"ListAttached{kind}Policies": Operation(policies.list_attached, kind),
    }


def _of_principal(kind: str) -> dict[str, Operation]:
    """Returns the operations that users and roles have in common."""
    return {
        f"Get{kind}": Operation(entities.get, kind),
        f"Put{kind}PermissionsBoundary": Operation(policies.put_boundary, kind, True),
        f"Delete{kind}PermissionsBoundary": Operation(policies.delete_boundary, kind, True),
    }


def _of_tagged(kind: str) -> dict[str, Operation]:
    return {
        f"Tag{kind}": Operation(entities.tag, kind, True),
        f"Untag{kind}": Operation(entities.untag, kind, True),
        f"List{kind}Tags": Operation(entities.list_tags, kind),
    }


IAM: Final[Mapping[str, Operation]] = {
    **_of_kind("User"),
    **_of_kind("Group"),
    **_of_kind("Role"),
    **_of_principal("User"),
    **_of_principal("Role"),
    **_of_tagged("User"),
    **_of_tagged("Role"),
    **_of_tagged("Policy"),
    "GetGroup": Operation(entities.get_group, "Group"),
    "AddUserToGroup": Operation(entities.add_user_to_group, "Group", True),
    "RemoveUserFromGroup": Operation(entities.remove_user_from_group, "Group", True),
    "ListGroupsForUser": Operation(entities.list_groups_for_user, "User"),
    "UpdateAssumeRolePolicy": Operation(entities.update_assume_role_policy, "Role", True),
    "UpdateRole": Operation(entities.update_role, "Role", True),
    "CreateAccessKey": Operation(entities.create_access_key, "User", True),
    "ListAccessKeys": Operation(entities.list_access_keys, "User"),
    "UpdateAccessKey": Operation(entities.update_access_key, "User", True),
    "DeleteAccessKey": Operation(entities.delete_access_key, "User", True),
    "CreatePolicy": Operation(policies.create_policy, "Policy", True),
    "GetPolicy": Operation(policies.get_policy, "Policy"),
    "ListPolicies": Operation(policies.list_policies, "Policy", resource="*"),
    "DeletePolicy": Operation(policies.delete_policy, "Policy", True),
    "CreatePolicyVersion": Operation(policies.create_policy_version, "Policy", True),
    "GetPolicyVersion": Operation(policies.get_policy_version, "Policy"),
    "ListPolicyVersions": Operation(policies.list_policy_versions, "Policy"),
    "SetDefaultPolicyVersion": Operation(policies.set_default_policy_version, "Policy", True),
    "DeletePolicyVersion": Operation(policies.delete_policy_version, "Policy", True),
    "ListEntitiesForPolicy": Operation(policies.list_entities_for_policy, "Policy"),
    "SimulatePrincipalPolicy": Operation(simulation.simulate_principal_policy, "source"),
    "SimulateCustomPolicy": Operation(simulation.simulate_custom_policy, "custom", resource="*"),
}

STS: Final[Mapping[str, Operation]] = {
    "AssumeRole": Operation(sessions.assume_role, ""),
    "GetSessionToken": Operation(sessions.get_session_token, ""),
    "GetCallerIdentity": Operation(sessions.get_caller_identity, ""),
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
