"""Each operation of IAM runs with exactly its action on exactly its resource, and not without; and what
policies change in the next request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name

from faradisc.auth.credentials_file import CredentialsFile
from faradisc.auth.identities import Identities
from faradisc.auth.keys import AccessKey
from faradisc.clock import SeededEntropy
from faradisc.services.iam import registry
from fixtures.identity_world import ACCOUNT, IdentityWorld, allow, document, entity_arn, error_of, trust

USER, GROUP, ROLE = entity_arn("user/x/bob"), entity_arn("group/team"), entity_arn("role/reader")
POLICY = entity_arn("policy/x/p")
READ = document(allow("dynamodb:GetItem"))
TAGS = [{"Key": "a", "Value": "b"}]


def names(kind: str) -> dict[str, Any]:
    return {f"{kind}Name": {"User": "bob", "Group": "team", "Role": "reader"}[kind]}


def of_kind(kind: str, arn: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Operations of a kind of holder: resource and members."""
    new = {
        "User": entity_arn("user/y/new"),
        "Group": entity_arn("group/y/new"),
        "Role": entity_arn("role/y/new"),
    }
    created = {f"{kind}Name": "new", "Path": "/y/"}
    created |= {"AssumeRolePolicyDocument": trust(ACCOUNT)} if kind == "Role" else {}
    named = names(kind)
    return {
        f"Create{kind}": (new[kind], created),
        f"Delete{kind}": (arn, named),
        f"List{kind}s": ("*", {}),
        f"Put{kind}Policy": (arn, {**named, "PolicyName": "p", "PolicyDocument": READ}),
        f"Get{kind}Policy": (arn, {**named, "PolicyName": "p"}),
        f"Delete{kind}Policy": (arn, {**named, "PolicyName": "p"}),
        f"List{kind}Policies": (arn, named),
        f"Attach{kind}Policy": (arn, {**named, "PolicyArn": POLICY}),
        f"Detach{kind}Policy": (arn, {**named, "PolicyArn": POLICY}),
        f"ListAttached{kind}Policies": (arn, named),
        f"Get{kind}": (arn, named),
    }


def of_principal(kind: str, arn: str) -> dict[str, tuple[str, dict[str, Any]]]:
    named = names(kind)
    return {
        f"Put{kind}PermissionsBoundary": (arn, {**named, "PermissionsBoundary": POLICY}),
        f"Delete{kind}PermissionsBoundary": (arn, named),
        f"Tag{kind}": (arn, {**named, "Tags": TAGS}),
        f"Untag{kind}": (arn, {**named, "TagKeys": ["a"]}),
        f"List{kind}Tags": (arn, named),
    }


KEY_ID = {"AccessKeyId": "AKIAAAAAAAAAAAAAAAAA"}
BY_ARN = {"PolicyArn": POLICY}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **of_kind("User", USER),
    **of_kind("Group", GROUP),
    **of_kind("Role", ROLE),
    **of_principal("User", USER),
    **of_principal("Role", ROLE),
    "AddUserToGroup": (GROUP, names("Group") | names("User")),
    "RemoveUserFromGroup": (GROUP, names("Group") | names("User")),
    "ListGroupsForUser": (USER, names("User")),
    "UpdateAssumeRolePolicy": (ROLE, names("Role") | {"PolicyDocument": trust(ACCOUNT)}),
    "UpdateRole": (ROLE, names("Role")),
    "CreateAccessKey": (USER, names("User")),
    "ListAccessKeys": (USER, names("User")),
    "UpdateAccessKey": (USER, names("User") | KEY_ID | {"Status": "Active"}),
    "DeleteAccessKey": (USER, names("User") | KEY_ID),
    "CreatePolicy": (
        entity_arn("policy/y/new"),
        {"PolicyName": "new", "Path": "/y/", "PolicyDocument": READ},
    ),
    "GetPolicy": (POLICY, BY_ARN),
    "ListPolicies": ("*", {}),
    "DeletePolicy": (POLICY, BY_ARN),
    "CreatePolicyVersion": (POLICY, BY_ARN | {"PolicyDocument": READ}),
    "GetPolicyVersion": (POLICY, BY_ARN | {"VersionId": "v1"}),
    "ListPolicyVersions": (POLICY, BY_ARN),
    "SetDefaultPolicyVersion": (POLICY, BY_ARN | {"VersionId": "v1"}),
    "DeletePolicyVersion": (POLICY, BY_ARN | {"VersionId": "v1"}),
    "ListEntitiesForPolicy": (POLICY, BY_ARN),
    "TagPolicy": (POLICY, BY_ARN | {"Tags": TAGS}),
    "UntagPolicy": (POLICY, BY_ARN | {"TagKeys": ["a"]}),
    "ListPolicyTags": (POLICY, BY_ARN),
    "SimulatePrincipalPolicy": (USER, {"PolicySourceArn": USER, "ActionNames": ["dynamodb:GetItem"]}),
    "SimulateCustomPolicy": ("*", {"PolicyInputList": [READ], "ActionNames": ["dynamodb:GetItem"]}),
}


@pytest.fixture
def world(identity_world: IdentityWorld) -> IdentityWorld:
    """With the entities that the cases name, and a user alice."""
    iam = identity_world.iam
    iam.create_user(UserName="bob", Path="/x/")
    iam.create_group(GroupName="team")
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(ACCOUNT))
    iam.create_policy(PolicyName="p", Path="/x/", PolicyDocument=READ)
    return identity_world


def test_cases_cover_every_operation() -> None:
    assert CASES.keys() == registry.IAM.keys()


@pytest.mark.parametrize("operation", sorted(CASES))
def test_operation_needs_its_action_on_its_resource(world: IdentityWorld, operation: str) -> None:
    resource, members = CASES[operation]
    key = world.user("alice", allow(f"iam:{operation}", resource))
    call = getattr(world.client("iam", key), xform_name(operation))

    def denied(*statements: Any) -> bool:
        world.iam.put_user_policy(UserName="alice", PolicyName="own", PolicyDocument=document(*statements))
        try:
            call(**members)
        except world.iam.exceptions.ClientError as error:
            if error.response["Error"]["Code"] == "AccessDenied":
                text = f"User: {entity_arn('user/alice')} is not authorized to perform: iam:{operation}"
                assert error.response["Error"]["Message"].startswith(f"{text} on resource: {resource} ")
                return True
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 404, 409)
        return False

    others = [name for name in CASES if name != operation]
    before = world.access.keyring.identities.stored()
    assert denied(allow([f"iam:{name}" for name in others[:40]]))
    assert denied(allow("iam:*", entity_arn("user/other")))
    assert denied(allow("iam:*"), {"Effect": "Deny", "Action": f"iam:{operation}", "Resource": "*"})
    after = world.access.keyring.identities
    after.users["alice"].inline = Identities.of(before).users["alice"].inline
    assert after.stored() == before, "a denied request changed something"
    assert not denied(allow(f"iam:{operation}", resource))


def test_users_without_rights_may_do_nothing_but_ask_who_they_are(world: IdentityWorld) -> None:
    key = world.user("alice")
    assert error_of(world.client("iam", key).create_access_key)[0] == "AccessDenied"
    assert error_of(world.client("dynamodb", key).list_tables)[0] == "AccessDeniedException"
    assert world.client("sts", key).get_caller_identity()["Arn"] == entity_arn("user/alice")


def test_change_of_policies_groups_and_boundaries_counts_for_the_next_request(world: IdentityWorld) -> None:
    iam = world.iam
    key = world.user("alice")
    dynamodb = world.client("dynamodb", key)

    def allowed() -> bool:
        try:
            dynamodb.list_tables()
        except dynamodb.exceptions.ClientError as error:
            assert error.response["Error"]["Code"] == "AccessDeniedException"
            return False
        return True

    assert not allowed()
    iam.put_group_policy(
        GroupName="team", PolicyName="list", PolicyDocument=document(allow("dynamodb:ListTables"))
    )
    iam.add_user_to_group(GroupName="team", UserName="alice")
    assert allowed()
    iam.put_user_permissions_boundary(UserName="alice", PermissionsBoundary=POLICY)
    assert not allowed()
    iam.create_policy_version(
        PolicyArn=POLICY, PolicyDocument=document(allow("dynamodb:*")), SetAsDefault=True
    )
    assert allowed()
    iam.remove_user_from_group(GroupName="team", UserName="alice")
    assert not allowed()
    iam.attach_user_policy(UserName="alice", PolicyArn=POLICY)
    assert allowed()
    iam.set_default_policy_version(PolicyArn=POLICY, VersionId="v1")
    assert not allowed()
    iam.delete_user_permissions_boundary(UserName="alice")
    read_only = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"
    iam.attach_user_policy(UserName="alice", PolicyArn=read_only)
    assert allowed()


def test_administrator_can_only_make_users_within_a_boundary(world: IdentityWorld) -> None:
    condition = {"StringEquals": {"iam:PermissionsBoundary": POLICY}}
    rights = allow(["iam:CreateUser", "iam:PutUserPolicy"])
    key = world.user("alice", {**rights, "Condition": condition})
    iam = world.client("iam", key)
    assert error_of(iam.create_user, UserName="free")[0] == "AccessDenied"
    iam.create_user(UserName="limited", PermissionsBoundary=POLICY)
    iam.put_user_policy(UserName="limited", PolicyName="p", PolicyDocument=document(allow("*")))
    refused = error_of(iam.put_user_policy, UserName="bob", PolicyName="p", PolicyDocument=READ)
    assert refused[0] == "AccessDenied"


def test_tags_of_requests_and_entities_are_conditions(world: IdentityWorld) -> None:
    conditions = {"StringEquals": {"aws:RequestTag/team": "blue"}}
    on_entity = {"StringEquals": {"aws:ResourceTag/team": "blue"}}
    key = world.user(
        "alice",
        {**allow("iam:CreateUser"), "Condition": conditions},
        {**allow("iam:DeleteUser"), "Condition": on_entity},
    )
    iam = world.client("iam", key)
    assert (
        error_of(iam.create_user, UserName="c", Tags=[{"Key": "team", "Value": "red"}])[0] == "AccessDenied"
    )
    iam.create_user(UserName="c", Tags=[{"Key": "team", "Value": "blue"}])
    assert error_of(iam.delete_user, UserName="bob")[0] == "AccessDenied"
    iam.delete_user(UserName="c")


def test_policy_that_cannot_be_read_denies_everything(
    world: IdentityWorld, caplog: pytest.LogCaptureFixture
) -> None:
    key = world.user("alice", allow("dynamodb:*"))

    def damage(identities: Identities) -> None:
        identities.users["alice"].inline["lost"] = "{"

    world.access.keyring.change(damage, SeededEntropy(1))
    text = error_of(world.client("dynamodb", key).list_tables)[1]
    assert "explicit deny" in text
    assert "has no rights" in caplog.text


def test_change_of_another_process_is_seen(world: IdentityWorld, caplog: pytest.LogCaptureFixture) -> None:
    key = world.user("alice", allow("dynamodb:ListTables"))
    dynamodb = world.client("dynamodb", key)
    dynamodb.list_tables()

    def take_away(identities: Identities) -> None:
        identities.users["alice"].inline.clear()

    CredentialsFile(world.path, {}).change_identities(take_away, SeededEntropy(2))
    world.clock.shift_s += 2  # the file is looked at once a second
    assert error_of(dynamodb.list_tables)[0] == "AccessDeniedException"
    assert "read " in caplog.text


def test_change_does_not_hide_what_another_process_changed_before(world: IdentityWorld) -> None:
    """A key of the account is revoked, and an identity changed, before the server looks at the file again."""
    file = CredentialsFile(world.path, {})
    second = AccessKey("SECOND", "another-secret-of-the-account")
    file.add(second, 0, SeededEntropy(3))
    world.restart()
    client = world.client("iam", {"AccessKeyId": second.key_id, "SecretAccessKey": second.secret})
    client.list_users()
    file.revoke(second.key_id)
    world.iam.create_user(UserName="c")
    assert error_of(client.list_users)[0] == "InvalidClientTokenId"


def test_file_that_another_command_changes_is_a_passing_failure(world: IdentityWorld) -> None:
    lock = Path(f"{world.path}.new")
    lock.touch()
    code, text = error_of(world.iam.create_user, UserName="c")
    assert (code, "another command is changing" in text) == ("ServiceFailure", True)
    lock.unlink()
    world.iam.create_user(UserName="c")


# --- Simulation ------------------------------------------------------------------------------------


def test_simulation_of_a_user(world: IdentityWorld) -> None:
    deny = {"Effect": "Deny", "Action": "dynamodb:DeleteItem", "Resource": "*"}
    leading = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}
    read = {**allow("dynamodb:GetItem"), "Condition": {**leading, "Bool": {"aws:SecureTransport": "true"}}}
    world.user("alice", read, deny)
    arn = entity_arn("user/alice")
    call = world.iam.simulate_principal_policy
    actions = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"]
    entries = [
        {
            "ContextKeyName": "dynamodb:LeadingKeys",
            "ContextKeyType": "stringList",
            "ContextKeyValues": ["alice"],
        },
        {"ContextKeyName": "aws:SecureTransport", "ContextKeyType": "boolean", "ContextKeyValues": ["true"]},
    ]
    results = call(PolicySourceArn=arn, ActionNames=actions, ContextEntries=entries)["EvaluationResults"]
    assert {each["EvalActionName"]: each["EvalDecision"] for each in results} == {
        "dynamodb:GetItem": "allowed",
        "dynamodb:PutItem": "implicitDeny",
        "dynamodb:DeleteItem": "explicitDeny",
    }
    result = call(PolicySourceArn=arn, ActionNames=actions[:1])["EvaluationResults"][0]
    assert result["EvalDecision"] == "implicitDeny"
    assert {"aws:securetransport", "dynamodb:leadingkeys"} <= set(result["MissingContextValues"])
    bounded = call(
        PolicySourceArn=arn,
        ActionNames=["dynamodb:PutItem"],
        PolicyInputList=[document(allow("dynamodb:*"))],
        PermissionsBoundaryPolicyInputList=[READ],
    )["EvaluationResults"][0]
    assert bounded["EvalDecision"] == "implicitDeny"
    assert bounded["PermissionsBoundaryDecisionDetail"] == {"AllowedByPermissionsBoundary": False}
    assert error_of(call, PolicySourceArn=entity_arn("user/no"), ActionNames=actions)[0] == "NoSuchEntity"
    assert (
        error_of(call, PolicySourceArn=arn, ActionNames=actions, PolicyInputList=["{"])[0] == "InvalidInput"
    )


def test_simulation_of_a_role_and_of_documents(world: IdentityWorld) -> None:
    world.iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=READ)
    call = world.iam.simulate_principal_policy
    tables = [f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{name}" for name in ("A", "B")]
    results = call(PolicySourceArn=ROLE, ActionNames=["dynamodb:GetItem"], ResourceArns=tables)
    assert [each["EvalResourceName"] for each in results["EvaluationResults"]] == tables
    assert {each["EvalDecision"] for each in results["EvaluationResults"]} == {"allowed"}
    custom = world.iam.simulate_custom_policy(PolicyInputList=[READ], ActionNames=["dynamodb:PutItem"])
    assert custom["EvaluationResults"][0]["EvalDecision"] == "implicitDeny"


def test_simulation_has_pages_and_a_limit(world: IdentityWorld) -> None:
    world.user("alice", allow("dynamodb:GetItem"))
    source = {"PolicySourceArn": entity_arn("user/alice"), "ActionNames": ["dynamodb:GetItem"]}
    call = world.iam.simulate_principal_policy
    tables = [f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/T{number:05}" for number in range(10_001)]
    first = call(**source, ResourceArns=tables[:5], MaxItems=3)
    second = call(**source, ResourceArns=tables[:5], MaxItems=3, Marker=first["Marker"])
    results = first["EvaluationResults"] + second["EvaluationResults"]
    assert [each["EvalResourceName"] for each in results] == tables[:5]
    assert (first["IsTruncated"], second["IsTruncated"]) == (True, False)
    assert error_of(call, **source, ResourceArns=tables)[0] == "InvalidInput"


# --- Rate limits -----------------------------------------------------------------------------------


def test_rate_limit_of_a_user_is_answered_as_throttling(world: IdentityWorld) -> None:
    key = world.user("alice", allow("dynamodb:ListTables"))
    world.restart(rate_limit=0.0001)
    dynamodb = world.client("dynamodb", key)
    dynamodb.list_tables()
    assert error_of(dynamodb.list_tables) == ("ThrottlingException", "Rate exceeded")
    assert error_of(world.client("sts", key).get_caller_identity) == ("Throttling", "Rate exceeded")
    assert world.client("sts").get_caller_identity()["Account"] == ACCOUNT
