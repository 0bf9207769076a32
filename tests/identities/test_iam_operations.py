"""Users, groups, roles, keys and policies by the API, with the errors of iam.md section 8.3."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from botocore.loaders import Loader

from faradisc.protocol.service_model import load
from faradisc.services.iam import errors, registry
from faradisc.services.iam.asking import QUOTAS
from fixtures.identity_world import ACCOUNT, IdentityWorld, allow, document, entity_arn, error_of, trust

READ = document(allow("dynamodb:GetItem"))
KINDS = ("User", "Group", "Role")


@pytest.fixture
def iam(identity_world: IdentityWorld) -> Any:
    return identity_world.iam


def create(iam: Any, kind: str, name: str, **members: Any) -> Any:
    if kind == "Role":
        members.setdefault("AssumeRolePolicyDocument", trust(ACCOUNT))
    return getattr(iam, f"create_{kind.lower()}")(**{f"{kind}Name": name}, **members)[kind]


def of(iam: Any, operation: str, kind: str) -> Any:
    return getattr(iam, operation.format(kind.lower()))


# --- Entities --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_entity_is_created_found_listed_and_deleted(iam: Any, kind: str) -> None:
    made = create(iam, kind, "Alice", Path="/team/")
    assert made["Arn"] == entity_arn(f"{kind.lower()}/team/Alice")
    assert made[f"{kind}Id"].startswith({"User": "AIDA", "Group": "AGPA", "Role": "AROA"}[kind])
    assert len(made[f"{kind}Id"]) == 21
    found = of(iam, "get_{}", kind)(**{f"{kind}Name": "alice"})[kind]
    assert found == made
    create(iam, kind, "bob")
    listed = of(iam, "list_{}s", kind)
    assert [each[f"{kind}Name"] for each in listed()[f"{kind}s"]] == ["Alice", "bob"]
    assert [each[f"{kind}Name"] for each in listed(PathPrefix="/team/")[f"{kind}s"]] == ["Alice"]
    with pytest.raises(iam.exceptions.EntityAlreadyExistsException, match=f"{kind} with name ALICE already"):
        create(iam, kind, "ALICE")
    of(iam, "delete_{}", kind)(**{f"{kind}Name": "Alice"})
    lost = error_of(of(iam, "get_{}", kind), **{f"{kind}Name": "Alice"})
    assert lost == ("NoSuchEntity", f"The {kind.lower()} with name Alice cannot be found.")


def test_lists_have_pages(iam: Any) -> None:
    names = [f"user-{number:02}" for number in range(7)]
    for name in names:
        iam.create_user(UserName=name)
    pages = list(iam.get_paginator("list_users").paginate(PaginationConfig={"PageSize": 3}))
    assert [len(page["Users"]) for page in pages] == [3, 3, 1]
    assert [user["UserName"] for page in pages for user in page["Users"]] == names
    assert [page["IsTruncated"] for page in pages] == [True, True, False]


def test_everything_survives_a_restart(identity_world: IdentityWorld, iam: Any) -> None:
    key = identity_world.user("alice", allow("iam:GetUser"), Tags=[{"Key": "team", "Value": "blue"}])
    policy = iam.create_policy(PolicyName="p", PolicyDocument=READ)["Policy"]["Arn"]
    create(iam, "Role", "reader", MaxSessionDuration=7200, Description="reads")
    iam.attach_role_policy(RoleName="reader", PolicyArn=policy)

    def whole() -> list[Any]:
        user, role = iam.get_user(UserName="alice")["User"], iam.get_role(RoleName="reader")["Role"]
        return [user, role, iam.get_policy(PolicyArn=policy)["Policy"]]

    before = whole()
    identity_world.restart()
    assert whole() == before
    assert identity_world.client("iam", key).get_user()["User"]["UserName"] == "alice"


def test_file_holds_nothing_readable(identity_world: IdentityWorld) -> None:
    key = identity_world.user("alice", allow("dynamodb:GetItem"))
    stored = b"".join(path.read_bytes() for path in identity_world.path.parent.iterdir())
    for text in (key["SecretAccessKey"], key["AccessKeyId"], "alice", "GetItem"):
        assert text.encode() not in stored


@pytest.mark.parametrize("kind", KINDS)
def test_entity_with_policies_is_not_deleted(iam: Any, kind: str) -> None:
    name = {f"{kind}Name": "alice"}
    create(iam, kind, "alice")
    delete = of(iam, "delete_{}", kind)
    of(iam, "put_{}_policy", kind)(**name, PolicyName="p", PolicyDocument=READ)
    assert error_of(delete, **name) == ("DeleteConflict", "Cannot delete entity, must delete policies first.")
    of(iam, "delete_{}_policy", kind)(**name, PolicyName="p")
    arn = iam.create_policy(PolicyName="p", PolicyDocument=READ)["Policy"]["Arn"]
    of(iam, "attach_{}_policy", kind)(**name, PolicyArn=arn)
    assert error_of(delete, **name)[0] == "DeleteConflict"
    assert error_of(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    of(iam, "detach_{}_policy", kind)(**name, PolicyArn=arn)
    iam.delete_policy(PolicyArn=arn)
    delete(**name)


def test_user_with_keys_or_groups_is_not_deleted(iam: Any) -> None:
    iam.create_user(UserName="alice")
    iam.create_group(GroupName="team")
    key_id = iam.create_access_key(UserName="alice")["AccessKey"]["AccessKeyId"]
    assert "access keys" in error_of(iam.delete_user, UserName="alice")[1]
    iam.delete_access_key(UserName="alice", AccessKeyId=key_id)
    iam.add_user_to_group(UserName="alice", GroupName="team")
    assert error_of(iam.delete_user, UserName="alice")[0] == "DeleteConflict"
    assert error_of(iam.delete_group, GroupName="team")[0] == "DeleteConflict"
    iam.remove_user_from_group(UserName="alice", GroupName="team")
    iam.delete_group(GroupName="team")
    iam.delete_user(UserName="alice")


def test_members_of_groups(iam: Any) -> None:
    for name in ("bob", "alice"):
        iam.create_user(UserName=name)
    for number in range(10):
        iam.create_group(GroupName=f"group-{number}")
        for _ in range(2):  # idempotent
            iam.add_user_to_group(UserName="alice", GroupName=f"group-{number}")
    iam.add_user_to_group(UserName="bob", GroupName="group-3")
    assert [user["UserName"] for user in iam.get_group(GroupName="group-3")["Users"]] == ["alice", "bob"]
    assert len(iam.list_groups_for_user(UserName="alice")["Groups"]) == 10
    iam.create_group(GroupName="one-more")
    too_many = error_of(iam.add_user_to_group, UserName="alice", GroupName="one-more")
    assert too_many == ("LimitExceeded", "Cannot exceed quota for GroupsPerUser: 10")
    assert error_of(iam.remove_user_from_group, UserName="bob", GroupName="one-more")[0] == "NoSuchEntity"


@pytest.mark.parametrize("kind", KINDS)
def test_quota_of_entities(iam: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUOTAS, kind, 1)
    create(iam, kind, "first")
    with pytest.raises(iam.exceptions.LimitExceededException, match=f"quota for {kind}sPerAccount: 1"):
        create(iam, kind, "second")


def test_keys_of_a_user(identity_world: IdentityWorld, iam: Any) -> None:
    key = identity_world.user("alice", allow("iam:*AccessKey*"))
    own = identity_world.client("iam", key)
    second = own.create_access_key()["AccessKey"]
    assert (second["UserName"], second["Status"], len(second["SecretAccessKey"])) == ("alice", "Active", 40)
    assert error_of(own.create_access_key) == (
        "LimitExceeded",
        "Cannot exceed quota for AccessKeysPerUser: 2",
    )
    assert {each["AccessKeyId"] for each in own.list_access_keys()["AccessKeyMetadata"]} == {
        key["AccessKeyId"],
        second["AccessKeyId"],
    }
    iam.update_access_key(UserName="alice", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    assert error_of(own.list_access_keys)[0] == "InvalidClientTokenId"
    iam.update_access_key(UserName="alice", AccessKeyId=key["AccessKeyId"], Status="Active")
    own.delete_access_key(AccessKeyId=second["AccessKeyId"])
    assert error_of(identity_world.client("iam", second).list_access_keys)[0] == "InvalidClientTokenId"
    other = error_of(own.delete_access_key, AccessKeyId="AKIAMISSINGMISSING00")
    assert other == ("NoSuchEntity", "The Access Key with id AKIAMISSINGMISSING00 cannot be found.")
    assert error_of(iam.create_access_key)[0] == "ValidationError"  # the account is no user


def test_tags_are_unique_whatever_their_case(iam: Any) -> None:
    iam.create_user(UserName="alice", Tags=[{"Key": "Team", "Value": "blue"}])
    iam.tag_user(UserName="alice", Tags=[{"Key": "team", "Value": "red"}, {"Key": "x", "Value": ""}])
    assert iam.list_user_tags(UserName="alice")["Tags"] == [
        {"Key": "team", "Value": "red"},
        {"Key": "x", "Value": ""},
    ]
    iam.untag_user(UserName="alice", TagKeys=["TEAM"])
    assert iam.get_user(UserName="alice")["User"]["Tags"] == [{"Key": "x", "Value": ""}]
    twice = error_of(
        iam.tag_user, UserName="alice", Tags=[{"Key": "a", "Value": ""}, {"Key": "A", "Value": ""}]
    )
    assert twice == (
        "InvalidInput",
        "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
    )
    many = [{"Key": f"k{number}", "Value": ""} for number in range(50)]
    assert error_of(iam.tag_user, UserName="alice", Tags=many)[0] == "LimitExceeded"
    create(iam, "Role", "reader", Tags=[{"Key": "a", "Value": "b"}])
    iam.tag_role(RoleName="reader", Tags=[{"Key": "c", "Value": "d"}])
    assert len(iam.list_role_tags(RoleName="reader")["Tags"]) == 2


def test_role_is_changed(iam: Any) -> None:
    create(iam, "Role", "reader")
    iam.update_role(RoleName="reader", MaxSessionDuration=7200, Description="reads")
    iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust("444455556666"))
    role = iam.get_role(RoleName="reader")["Role"]
    assert (role["MaxSessionDuration"], role["Description"]) == (7200, "reads")
    assert role["AssumeRolePolicyDocument"] == json.loads(trust("444455556666"))
    assert error_of(iam.update_assume_role_policy, RoleName="reader", PolicyDocument="{")[0] == (
        "MalformedPolicyDocument"
    )
    assert error_of(iam.update_assume_role_policy, RoleName="reader", PolicyDocument=READ) == (
        "MalformedPolicyDocument",
        "Has prohibited field Resource",
    )


# --- Policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_inline_policies(iam: Any, kind: str) -> None:
    name = {f"{kind}Name": "alice"}
    create(iam, kind, "alice")
    put = of(iam, "put_{}_policy", kind)
    put(**name, PolicyName="b", PolicyDocument=READ)
    put(**name, PolicyName="a", PolicyDocument=READ)
    put(**name, PolicyName="a", PolicyDocument=document(allow("dynamodb:*")))
    assert of(iam, "list_{}_policies", kind)(**name)["PolicyNames"] == ["a", "b"]
    got = of(iam, "get_{}_policy", kind)(**name, PolicyName="a")
    assert got["PolicyDocument"] == json.loads(document(allow("dynamodb:*")))
    of(iam, "delete_{}_policy", kind)(**name, PolicyName="a")
    assert error_of(of(iam, "get_{}_policy", kind), **name, PolicyName="a") == (
        "NoSuchEntity",
        f"The {kind.lower()} policy with name a cannot be found.",
    )
    assert error_of(put, **name, PolicyName="c", PolicyDocument="{") == (
        "MalformedPolicyDocument",
        "Syntax errors in policy.",
    )
    most = {"User": 2048, "Group": 5120, "Role": 10_240}[kind]
    long = document(allow("dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/" + "x" * most))
    assert error_of(put, **name, PolicyName="c", PolicyDocument=long) == (
        "LimitExceeded",
        f"Maximum policy size of {most} bytes exceeded for {kind.lower()} alice",
    )
    put(**name, PolicyName="c", PolicyDocument=READ + " " * most)
    assert of(iam, "list_{}_policies", kind)(**name)["PolicyNames"] == ["b", "c"]


@pytest.mark.parametrize("kind", KINDS)
def test_managed_policies_are_attached(iam: Any, kind: str) -> None:
    name = {f"{kind}Name": "alice"}
    create(iam, kind, "alice")
    attach = of(iam, "attach_{}_policy", kind)
    own = iam.create_policy(PolicyName="own", PolicyDocument=READ)["Policy"]["Arn"]
    for _ in range(2):
        attach(**name, PolicyArn=own)
    attach(**name, PolicyArn="arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess")
    attached = of(iam, "list_attached_{}_policies", kind)(**name)["AttachedPolicies"]
    assert [each["PolicyName"] for each in attached] == ["AmazonDynamoDBReadOnlyAccess", "own"]
    assert iam.get_policy(PolicyArn=own)["Policy"]["AttachmentCount"] == 1
    entities = iam.list_entities_for_policy(PolicyArn=own)
    assert [each[f"{kind}Name"] for each in entities[f"Policy{kind}s"]] == ["alice"]
    missing = entity_arn("policy/missing")
    assert error_of(attach, **name, PolicyArn=missing) == (
        "NoSuchEntity",
        f"Policy {missing} does not exist or is not attachable.",
    )
    assert error_of(attach, **name, PolicyArn="nonsense-of-20-characters")[0] == "InvalidInput"
    assert error_of(of(iam, "detach_{}_policy", kind), **name, PolicyArn=missing) == (
        "NoSuchEntity",
        f"Policy {missing} was not found.",
    )
    for number in range(8):
        attach(
            **name, PolicyArn=iam.create_policy(PolicyName=f"p{number}", PolicyDocument=READ)["Policy"]["Arn"]
        )
    last = iam.create_policy(PolicyName="last", PolicyDocument=READ)["Policy"]["Arn"]
    assert error_of(attach, **name, PolicyArn=last) == (
        "LimitExceeded",
        f"Cannot exceed quota for PoliciesPer{kind}: 10",
    )


def test_managed_policy_has_versions(iam: Any) -> None:
    write = document(allow("dynamodb:PutItem"))
    made = iam.create_policy(PolicyName="p", Path="/team/", PolicyDocument=READ, Description="d")["Policy"]
    arn = made["Arn"]
    assert arn == entity_arn("policy/team/p")
    assert (made["DefaultVersionId"], made["PolicyId"][:4]) == ("v1", "ANPA")
    assert error_of(iam.create_policy, PolicyName="P", PolicyDocument=READ) == (
        "EntityAlreadyExists",
        "A policy called P already exists. Duplicate names are not allowed.",
    )
    iam.create_policy_version(PolicyArn=arn, PolicyDocument=write)
    assert iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"] == "v1"
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v2")
    got = iam.get_policy_version(PolicyArn=arn, VersionId="v2")["PolicyVersion"]
    assert (got["Document"], got["IsDefaultVersion"]) == (json.loads(write), True)
    for _ in range(3):
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=READ, SetAsDefault=True)
    assert error_of(iam.create_policy_version, PolicyArn=arn, PolicyDocument=READ)[0] == "LimitExceeded"
    assert error_of(iam.delete_policy_version, PolicyArn=arn, VersionId="v5")[0] == "DeleteConflict"
    assert error_of(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    for version in iam.list_policy_versions(PolicyArn=arn)["Versions"]:
        if not version["IsDefaultVersion"]:
            iam.delete_policy_version(PolicyArn=arn, VersionId=version["VersionId"])
    made = iam.create_policy_version(PolicyArn=arn, PolicyDocument=READ)["PolicyVersion"]
    assert made["VersionId"] == "v6"
    assert error_of(iam.get_policy_version, PolicyArn=arn, VersionId="v9")[0] == "NoSuchEntity"
    iam.delete_policy_version(PolicyArn=arn, VersionId="v6")
    iam.delete_policy(PolicyArn=arn)
    assert error_of(iam.get_policy, PolicyArn=arn) == ("NoSuchEntity", f"Policy {arn} was not found.")
    long = document(allow("dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/" + "x" * 6144))
    assert error_of(iam.create_policy, PolicyName="p", PolicyDocument=long)[0] == "LimitExceeded"


def test_policies_of_aws_are_listed_and_not_changed(iam: Any) -> None:
    own = iam.create_policy(PolicyName="own", PolicyDocument=READ)["Policy"]["Arn"]
    listed = {
        scope: {each["Arn"] for each in iam.list_policies(Scope=scope)["Policies"]}
        for scope in ("Local", "AWS", "All")
    }
    assert listed["Local"] == {own}
    assert len(listed["AWS"]) == 3
    assert listed["All"] == listed["Local"] | listed["AWS"]
    assert iam.list_policies(OnlyAttached=True)["Policies"] == []
    for arn in listed["AWS"]:
        for call, members in (
            (iam.delete_policy, {}),
            (iam.create_policy_version, {"PolicyDocument": READ}),
            (iam.tag_policy, {"Tags": [{"Key": "a", "Value": "b"}]}),
        ):
            assert error_of(call, PolicyArn=arn, **members)[0] == "InvalidInput"
    iam.tag_policy(PolicyArn=own, Tags=[{"Key": "a", "Value": "b"}])
    assert iam.list_policy_tags(PolicyArn=own)["Tags"] == [{"Key": "a", "Value": "b"}]


@pytest.mark.parametrize("kind", ["User", "Role"])
def test_permissions_boundary(iam: Any, kind: str) -> None:
    name = {f"{kind}Name": "alice"}
    arn = iam.create_policy(PolicyName="limit", PolicyDocument=READ)["Policy"]["Arn"]
    made = create(iam, kind, "alice", PermissionsBoundary=arn)
    boundary = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": arn}
    assert made["PermissionsBoundary"] == boundary
    assert iam.get_policy(PolicyArn=arn)["Policy"]["PermissionsBoundaryUsageCount"] == 1
    assert error_of(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    of(iam, "delete_{}_permissions_boundary", kind)(**name)
    assert "PermissionsBoundary" not in of(iam, "get_{}", kind)(**name)[kind]
    of(iam, "put_{}_permissions_boundary", kind)(**name, PermissionsBoundary=arn)
    assert of(iam, "get_{}", kind)(**name)[kind]["PermissionsBoundary"] == boundary
    missing = entity_arn("policy/missing")
    assert error_of(of(iam, "put_{}_permissions_boundary", kind), **name, PermissionsBoundary=missing)[0] == (
        "NoSuchEntity"
    )


# --- The whole -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("service", "operations"), [("iam", registry.IAM), ("sts", registry.STS)])
def test_every_member_of_an_offered_operation_is_used_or_rejected(
    service: str, operations: dict[str, registry.IamOperation]
) -> None:
    from faradisc.services.iam import asking, entities, policies, service as executor, sessions, simulation  # noqa: PLC0415, I001

    code = "".join(map(inspect.getsource, (asking, entities, policies, sessions, simulation, executor)))
    named_by_kind = {"UserName", "GroupName", "RoleName"}
    for name in operations:
        members = set(load(service).operations[name].input.members)
        unused = {member for member in members - named_by_kind if f'"{member}"' not in code}
        assert unused <= registry.NOT_OFFERED.get(name, frozenset()), name


def test_member_that_is_not_offered_is_rejected(iam: Any) -> None:
    assert error_of(iam.list_policies, PolicyUsageFilter="PermissionsBoundary") == (
        "ValidationError",
        "PolicyUsageFilter is not offered by this version of Faradisc.",
    )


def test_operations_that_are_not_offered_say_so(iam: Any) -> None:
    code, text = error_of(iam.create_login_profile, UserName="alice", Password="secret")
    assert "CreateLoginProfile is not offered by this version" in text, code


def test_errors_have_the_statuses_of_the_model() -> None:
    for service, version in (("iam", "2010-05-08"), ("sts", "2011-06-15")):
        model = Loader().load_service_model(service, "service-2", version)
        modelled = {
            shape["error"]["code"]: shape["error"]["httpStatusCode"]
            for shape in model["shapes"].values()
            if shape.get("error", {}).get("code")
        }
        for name, each in vars(errors).items():
            if isinstance(each, type) and name in modelled:
                assert each.status == modelled[name], name


def test_invalid_members_are_rejected_before_anything_else(iam: Any) -> None:
    for members in ({"UserName": "a b"}, {"UserName": "x" * 65}, {}, {"UserName": "a", "Path": "nonsense"}):
        assert error_of(iam.create_user, **members)[0] == "ValidationError"
