"""STS: sessions of roles and users, their rights, their ends. Source: iam.md sections 3.2, 8.4, 10.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faradisc.auth.credentials_file import CredentialsFile
from faradisc.auth.keys import AccessKey
from faradisc.clock import SeededEntropy
from fixtures.identity_world import (
    ACCOUNT,
    IdentityWorld,
    allow,
    document,
    entity_arn,
    error_of,
    trust,
)

ROLE = entity_arn("role/reader")
ALICE = entity_arn("user/alice")
ROOT = entity_arn("root")


def role(world: IdentityWorld, trusted: str, *statements: Any, name: str = "reader", **members: Any) -> None:
    world.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trusted, **members)
    if statements:
        world.iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document(*statements))


def assume(world: IdentityWorld, key: Any = None, arn: str = ROLE, **members: Any) -> Any:
    members.setdefault("RoleSessionName", "work")
    return world.client("sts", key).assume_role(RoleArn=arn, **members)["Credentials"]


def identity(world: IdentityWorld, key: Any) -> Any:
    found = world.client("sts", key).get_caller_identity()
    return {name: found[name] for name in ("UserId", "Account", "Arn")}


def may(world: IdentityWorld, key: Any, operation: str, **members: Any) -> bool:
    """Whether a call of DynamoDB passes the policies; the table need not exist."""
    try:
        getattr(world.client("dynamodb", key), operation)(**members)
    except world.client("dynamodb").exceptions.ClientError as error:
        return error.response["Error"]["Code"] != "AccessDeniedException"
    return True


# --- Who -------------------------------------------------------------------------------------------


def test_callers_learn_who_they_are(identity_world: IdentityWorld) -> None:
    world = identity_world
    deny = {"Effect": "Deny", "Action": "*", "Resource": "*"}
    key = world.user("alice", deny, Path="/team/")
    user_id = world.iam.get_user(UserName="alice")["User"]["UserId"]
    arn = entity_arn("user/team/alice")
    assert identity(world, None) == {"UserId": ACCOUNT, "Account": ACCOUNT, "Arn": ROOT}
    assert identity(world, key) == {"UserId": user_id, "Account": ACCOUNT, "Arn": arn}
    role(world, trust(ROOT), Path="/team/")
    arn = entity_arn("role/team/reader")
    role_id = world.iam.get_role(RoleName="reader")["Role"]["RoleId"]
    session = assume(world, arn=arn)
    assert identity(world, session) == {
        "UserId": f"{role_id}:work",
        "Account": ACCOUNT,
        "Arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/reader/work",
    }
    own = world.client("sts", key).get_session_token()["Credentials"]
    assert identity(world, own) == identity(world, key)


# --- Who may assume --------------------------------------------------------------------------------


def test_trust_in_a_user_is_enough_and_trust_in_the_account_needs_a_policy(
    identity_world: IdentityWorld,
) -> None:
    world = identity_world
    key = world.user("alice")
    permitted = world.user("bob", allow("sts:AssumeRole", ROLE))
    role(world, trust(ALICE))
    assume(world, key)
    text = (
        f"User: {entity_arn('user/bob')} is not authorized to perform: sts:AssumeRole on resource: {ROLE} "
        "because no role trust policy allows the sts:AssumeRole action"
    )
    members = {"RoleArn": ROLE, "RoleSessionName": "work"}
    assert error_of(world.client("sts", permitted).assume_role, **members) == ("AccessDenied", text)
    assert world.last is not None
    assert world.last.status == 403
    world.iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust(ROOT))
    assume(world, permitted)
    assert "no identity-based policy" in error_of(world.client("sts", key).assume_role, **members)[1]


def test_missing_role_looks_like_one_that_is_denied(identity_world: IdentityWorld) -> None:
    world = identity_world
    world.iam.create_role(RoleName="distrustful", AssumeRolePolicyDocument=trust(entity_arn("user/bob")))
    deny = {"Effect": "Deny", "Action": "sts:*", "Resource": "*"}
    entitled, denied = world.user("alice", allow("sts:AssumeRole")), world.user("carol", deny)
    for key, caller, cause in (
        (entitled, ALICE, "because no role trust policy allows the sts:AssumeRole action"),
        (denied, entity_arn("user/carol"), "with an explicit deny in an identity-based policy"),
    ):
        call = world.client("sts", key).assume_role
        existing = entity_arn("role/distrustful")
        for arn in (existing, entity_arn("role/missing"), existing.replace(ACCOUNT, "444455556666")):
            assert error_of(call, RoleArn=arn, RoleSessionName="work") == (
                "AccessDenied",
                f"User: {caller} is not authorized to perform: sts:AssumeRole on resource: {arn} {cause}",
            )


def test_external_id_is_a_condition(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = world.user("alice")
    role(world, trust(ALICE, condition={"StringEquals": {"sts:ExternalId": "secret-7"}}))
    call = world.client("sts", key).assume_role
    for members in ({}, {"ExternalId": "another"}):
        assert error_of(call, RoleArn=ROLE, RoleSessionName="work", **members)[0] == "AccessDenied"
    assume(world, key, ExternalId="secret-7")


def test_session_name_address_and_encryption_are_conditions(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = world.user("alice")
    condition = {
        "StringEquals": {"sts:RoleSessionName": "${aws:username}"},
        "IpAddress": {"aws:SourceIp": "192.0.2.0/24"},
        "Bool": {"aws:SecureTransport": "true"},
    }
    role(world, trust(ALICE, condition=condition))
    call = world.client("sts", key).assume_role
    assert error_of(call, RoleArn=ROLE, RoleSessionName="bob")[0] == "AccessDenied"
    assume(world, key, RoleSessionName="alice")
    for peer in (type(world.peer)("192.0.3.1", is_tls=True), type(world.peer)("192.0.2.7")):
        world.peer = peer
        assert error_of(call, RoleArn=ROLE, RoleSessionName="alice")[0] == "AccessDenied"


# --- What sessions may do --------------------------------------------------------------------------

GET = {"TableName": "Games", "Key": {"id": {"S": "a"}}}
PUT = {"TableName": "Games", "Item": {"id": {"S": "a"}}}


def test_session_has_the_rights_of_its_role_and_not_of_its_user(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = world.user("alice", allow("dynamodb:PutItem"))
    role(world, trust(ALICE), allow("dynamodb:GetItem"))
    session = assume(world, key)
    assert (may(world, session, "get_item", **GET), may(world, session, "put_item", **PUT)) == (True, False)
    assert (may(world, key, "get_item", **GET), may(world, key, "put_item", **PUT)) == (False, True)


def test_session_policies_limit_the_role(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT), allow("dynamodb:*"))
    managed = world.iam.create_policy(PolicyName="put", PolicyDocument=document(allow("dynamodb:PutItem")))
    arn = managed["Policy"]["Arn"]
    answer = world.client("sts").assume_role(
        RoleArn=ROLE, RoleSessionName="work", Policy=document(allow("dynamodb:GetItem"))
    )
    session = answer["Credentials"]
    assert 0 < answer["PackedPolicySize"] <= 100
    assert (may(world, session, "get_item", **GET), may(world, session, "put_item", **PUT)) == (True, False)
    session = assume(world, PolicyArns=[{"arn": arn}])
    assert (may(world, session, "get_item", **GET), may(world, session, "put_item", **PUT)) == (False, True)
    both = assume(world, Policy=document(allow("dynamodb:GetItem")), PolicyArns=[{"arn": arn}])
    assert (may(world, both, "get_item", **GET), may(world, both, "put_item", **PUT)) == (True, True)
    unlimited = assume(world)
    assert may(world, unlimited, "put_item", **PUT)


def test_session_tags_override_the_tags_of_the_role(identity_world: IdentityWorld) -> None:
    world = identity_world
    games = "arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/team}"
    tags = [{"Key": "Team", "Value": "Blue"}]
    trusted = trust(ROOT, actions=["sts:AssumeRole", "sts:TagSession"])
    role(world, trusted, allow("dynamodb:GetItem", games), Tags=tags)
    blue, red = ({**GET, "TableName": name} for name in ("Blue", "Red1"))
    session = assume(world)
    assert may(world, session, "get_item", **{**blue, "TableName": "Blue"})
    assert not may(world, session, "get_item", **red)
    session = assume(world, Tags=[{"Key": "team", "Value": "Red1"}])
    assert not may(world, session, "get_item", **blue)
    assert may(world, session, "get_item", **red)


def test_tags_need_the_right_to_tag(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = world.user("alice")
    role(world, trust(ALICE))
    text = error_of(
        world.client("sts", key).assume_role,
        RoleArn=ROLE,
        RoleSessionName="work",
        Tags=[{"Key": "a", "Value": "b"}],
    )[1]
    assert "sts:TagSession" in text
    condition = {
        "ForAllValues:StringEquals": {"aws:TagKeys": ["a"]},
        "StringEquals": {"aws:RequestTag/a": "b"},
    }
    actions = ["sts:AssumeRole", "sts:TagSession"]
    world.iam.update_assume_role_policy(
        RoleName="reader", PolicyDocument=trust(ALICE, actions=actions, condition=condition)
    )
    assume(world, key, Tags=[{"Key": "a", "Value": "b"}])
    for tags in ([{"Key": "a", "Value": "c"}], [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d"}]):
        refused = error_of(
            world.client("sts", key).assume_role, RoleArn=ROLE, RoleSessionName="work", Tags=tags
        )
        assert refused[0] == "AccessDenied"


def test_transitive_tags_go_on_and_cannot_be_replaced(identity_world: IdentityWorld) -> None:
    world = identity_world
    actions = ["sts:AssumeRole", "sts:TagSession"]
    role(world, trust(ROOT, actions=actions))
    table = "arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/tenant}"
    role(world, trust(ROLE, actions=actions), allow("dynamodb:GetItem", table), name="second")
    second = entity_arn("role/second")
    tags = [{"Key": "tenant", "Value": "Games"}, {"Key": "once", "Value": "x"}]
    first = assume(world, Tags=tags, TransitiveTagKeys=["TENANT"])
    assert may(world, assume(world, first, second), "get_item", **GET)
    assert not may(world, assume(world, assume(world, Tags=tags), second), "get_item", **GET)
    call = world.client("sts", first).assume_role
    replaced = error_of(
        call, RoleArn=second, RoleSessionName="work", Tags=[{"Key": "Tenant", "Value": "Other"}]
    )
    assert replaced == (
        "ValidationError",
        "One of the specified transitive tag keys can't be set because it conflicts with a transitive tag "
        "key from the calling session.",
    )
    absent = error_of(
        world.client("sts").assume_role, RoleArn=ROLE, RoleSessionName="work", TransitiveTagKeys=["x"]
    )
    assert absent == (
        "ValidationError",
        "The specified transitive tag key must be included in the requested tags.",
    )


def test_source_identity_stays(identity_world: IdentityWorld) -> None:
    world = identity_world
    actions = ["sts:AssumeRole", "sts:SetSourceIdentity"]
    role(world, trust(ROOT, actions=actions))
    condition = {"StringEquals": {"aws:SourceIdentity": "alice"}}
    role(world, trust(ROLE, condition=condition, actions=actions), name="second")
    second = entity_arn("role/second")
    assume(world, assume(world, SourceIdentity="alice"), second)
    bob = assume(world, SourceIdentity="bob")
    for members in ({}, {"SourceIdentity": "alice"}):
        refused = error_of(
            world.client("sts", bob).assume_role, RoleArn=second, RoleSessionName="work", **members
        )
        assert refused[0] == "AccessDenied"


def test_session_follows_changes_of_its_role(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT), allow("dynamodb:GetItem"))
    session = assume(world)
    assert may(world, session, "get_item", **GET)
    world.iam.put_role_policy(
        RoleName="reader", PolicyName="own", PolicyDocument=document(allow("dynamodb:PutItem"))
    )
    assert (may(world, session, "get_item", **GET), may(world, session, "put_item", **PUT)) == (False, True)
    world.iam.delete_role_policy(RoleName="reader", PolicyName="own")
    world.iam.delete_role(RoleName="reader")
    role(world, trust(ROOT), allow("dynamodb:*"))  # another one of the same name
    assert error_of(world.client("dynamodb", session).list_tables)[0] == "UnrecognizedClientException"


# --- Tokens and their ends -------------------------------------------------------------------------


def test_session_survives_a_restart_and_ends_in_time(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT), allow("dynamodb:ListTables"))
    world.clock.shift_s = -600
    session = assume(world, DurationSeconds=900)
    world.restart()
    assert may(world, session, "list_tables")
    world.clock.shift_s = 299
    assert may(world, session, "list_tables")
    world.clock.shift_s = 301
    assert error_of(world.client("dynamodb", session).list_tables)[0] == "ExpiredTokenException"
    assert error_of(world.client("sts", session).get_caller_identity)[0] == "ExpiredToken"


def test_key_and_token_belong_together(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT), allow("dynamodb:ListTables"))
    one, two = assume(world), assume(world)
    token = one["SessionToken"]
    for changed in (
        {**one, "SessionToken": two["SessionToken"]},
        {**one, "SessionToken": token[:-5] + ("AAAAA" if token[-5:] != "AAAAA" else "BBBBB")},
        {**one, "SessionToken": "x"},
        {**one, "SessionToken": "x" * 20_000},
        {"AccessKeyId": one["AccessKeyId"], "SecretAccessKey": one["SecretAccessKey"]},
        {**one, "AccessKeyId": two["AccessKeyId"]},
        {**one, "AccessKeyId": "ADMIN"},
    ):
        assert error_of(world.client("dynamodb", changed).list_tables)[0] == "UnrecognizedClientException"
    wrong = error_of(world.client("dynamodb", {**one, "SecretAccessKey": "x" * 40}).list_tables)
    assert wrong[0] == "InvalidSignatureException"


def test_token_of_another_credentials_file_is_worth_nothing(
    identity_world: IdentityWorld, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = IdentityWorld(tmp_path_factory.mktemp("other"))
    role(other, trust(ROOT), allow("*"))
    role(identity_world, trust(ROOT), allow("*"))
    session = assume(other)
    assert (
        error_of(identity_world.client("dynamodb", session).list_tables)[0] == "UnrecognizedClientException"
    )
    other.close()


def test_durations_are_limited(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT, ROLE), allow("sts:AssumeRole"), MaxSessionDuration=7200)
    call = world.client("sts").assume_role
    members = {"RoleArn": ROLE, "RoleSessionName": "work"}
    assume(world, DurationSeconds=7200)
    assert error_of(call, **members, DurationSeconds=7201) == (
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
    )
    chained = error_of(world.client("sts", assume(world)).assume_role, **members, DurationSeconds=3601)
    assert chained == (
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
    )
    for seconds in (899, 43_201):
        assert error_of(call, **members, DurationSeconds=seconds)[0] == "ValidationError"


def test_large_policies_and_tags_are_rejected(identity_world: IdentityWorld) -> None:
    world = identity_world
    role(world, trust(ROOT, actions=["sts:AssumeRole", "sts:TagSession"]))
    call = world.client("sts").assume_role
    long = document(allow("dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/" + "x" * 2000))
    tags = [{"Key": f"key{number}", "Value": "x" * 250} for number in range(50)]
    for members, code in (
        ({"Policy": long}, "PackedPolicyTooLarge"),
        ({"Tags": tags}, "PackedPolicyTooLarge"),
        ({"Policy": "{"}, "MalformedPolicyDocument"),
        ({"PolicyArns": [{"arn": entity_arn("policy/missing")}]}, "NoSuchEntity"),
        ({"SerialNumber": entity_arn("mfa/alice"), "TokenCode": "123456"}, "AccessDenied"),
    ):
        assert error_of(call, RoleArn=ROLE, RoleSessionName="work", **members)[0] == code


def test_credentials_of_get_session_token_are_limited(identity_world: IdentityWorld) -> None:
    world = identity_world
    key = world.user("alice", allow(["dynamodb:ListTables", "iam:GetUser"]))
    role(world, trust(ALICE))
    session = world.client("sts", key).get_session_token()["Credentials"]
    assert may(world, session, "list_tables")
    assert not may(world, session, "describe_limits")
    assert world.client("iam", key).get_user()
    assert error_of(world.client("iam", session).get_user)[0] == "AccessDenied"
    again = error_of(world.client("sts", session).get_session_token)
    assert again == ("AccessDenied", "Cannot call GetSessionToken with session credentials")
    assumed = assume(world, session)
    assert error_of(world.client("sts", assumed).get_session_token)[0] == "AccessDenied"
    key_id = key["AccessKeyId"]
    world.iam.delete_access_key(UserName="alice", AccessKeyId=key_id)
    world.iam.delete_user_policy(UserName="alice", PolicyName="own")
    world.iam.delete_user(UserName="alice")
    world.iam.create_user(UserName="alice")
    assert error_of(world.client("dynamodb", session).list_tables)[0] == "UnrecognizedClientException"


def test_session_of_the_account_has_its_rights_and_the_hour(identity_world: IdentityWorld) -> None:
    world = identity_world
    session = world.client("sts").get_session_token(DurationSeconds=43_200)["Credentials"]
    assert may(world, session, "list_tables")
    assert identity(world, session)["Arn"] == ROOT
    again = error_of(world.client("sts", session).get_session_token)
    assert again[0] == "AccessDenied"


def test_server_of_another_region_answers_iam_as_clients_sign_for_it(tmp_path: Path) -> None:
    world = IdentityWorld(tmp_path, region="eu-central-1")
    assert world.client("iam").list_users()["Users"] == []
    for region in ("us-east-1", "eu-central-1"):
        assert world.client("sts", region=region).get_caller_identity()["Account"] == ACCOUNT
    rejected = error_of(world.client("sts", region="eu-west-1").get_caller_identity)
    assert rejected[0] == "SignatureDoesNotMatch"
    assert error_of(world.client("dynamodb").list_tables)[0] == "InvalidSignatureException"
    world.close()


def test_session_of_an_account_key_ends_with_it_and_administers_nothing(
    identity_world: IdentityWorld,
) -> None:
    world = identity_world
    second = AccessKey("SECOND", "another-secret-of-the-account")
    CredentialsFile(world.path, {}).add(second, 0, SeededEntropy(6))
    world.restart()
    role(world, trust(ROOT), allow("*"))
    key = {"AccessKeyId": second.key_id, "SecretAccessKey": second.secret}
    own = world.client("sts", key).get_session_token()["Credentials"]
    assumed = assume(world, key)
    chained = assume(world, own)
    assert all(may(world, each, "list_tables") for each in (own, assumed, chained))
    assert error_of(world.client("iam", own).create_user, UserName="backdoor")[0] == "AccessDenied"
    assert error_of(world.client("iam", own).list_users)[0] == "AccessDenied"
    CredentialsFile(world.path, {}).revoke(second.key_id)
    world.restart()
    for each in (own, assumed, chained):
        code, _ = error_of(world.client("dynamodb", each).list_tables)
        assert code == "UnrecognizedClientException"
