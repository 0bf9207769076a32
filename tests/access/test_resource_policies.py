"""PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy, and what the policies allow and deny.

Source: iam.md section 7; texts without a capture there are not compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc.auth.policy.documents import canonical
from fixtures.access import ACCOUNT, AccessWorld, arn, denial, document, statement
from fixtures.in_process import InProcess, Refused

GAMES = arn("Games")
ALICE = f"arn:aws:iam::{ACCOUNT}:user/alice"
KEY = {"UserId": {"S": "alice"}}
SCHEMA: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
STREAMED = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
READS = canonical(document(statement("GetItem", GAMES, principal={"AWS": ALICE})))
NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


@pytest.fixture
def admin(world: AccessWorld) -> Any:
    client = world.client()
    client.create_table(TableName="Games", **STREAMED, **SCHEMA)
    return client


def error_of(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**request)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def stream_of(client: Any) -> str:
    return str(client.describe_table(TableName="Games")["Table"]["LatestStreamArn"])


# --- The operations --------------------------------------------------------------------------------


def test_a_policy_is_put_read_and_deleted(admin: Any) -> None:
    put = admin.put_resource_policy(ResourceArn=GAMES, Policy=READS)["RevisionId"]
    got = admin.get_resource_policy(ResourceArn=GAMES)
    assert (got["Policy"], got["RevisionId"]) == (READS, put)
    assert admin.delete_resource_policy(ResourceArn=GAMES)["RevisionId"] == put
    assert error_of(admin.get_resource_policy, ResourceArn=GAMES) == (
        "PolicyNotFoundException",
        NOT_FOUND + GAMES,
    )
    deleted = admin.delete_resource_policy(ResourceArn=GAMES)["RevisionId"]
    assert admin.delete_resource_policy(ResourceArn=GAMES)["RevisionId"] == deleted > put


def test_the_same_document_keeps_its_revision_and_another_gets_a_new_one(admin: Any) -> None:
    first = admin.put_resource_policy(ResourceArn=GAMES, Policy=READS)["RevisionId"]
    assert admin.put_resource_policy(ResourceArn=GAMES, Policy=READS)["RevisionId"] == first
    other = document(statement("Query", GAMES, principal={"AWS": ALICE}))
    assert admin.put_resource_policy(ResourceArn=GAMES, Policy=other)["RevisionId"] != first


def test_a_change_requires_the_revision_that_it_expects(admin: Any) -> None:
    put = admin.put_resource_policy
    first = put(ResourceArn=GAMES, Policy=READS, ExpectedRevisionId="NO_POLICY")["RevisionId"]
    assert error_of(put, ResourceArn=GAMES, Policy=READS, ExpectedRevisionId="NO_POLICY") == (
        "PolicyNotFoundException",
        f"{NOT_FOUND}Requested policy update expecting none to be present for table Games, "
        f"but a policy exists with revision id {first}.",
    )
    wrong = (
        "PolicyNotFoundException",
        f"{NOT_FOUND}Requested update for policy with revision id 7, "
        f"but the policy associated to target table Games has revision id {first}.",
    )
    assert error_of(put, ResourceArn=GAMES, Policy=READS, ExpectedRevisionId="7") == wrong
    assert error_of(admin.delete_resource_policy, ResourceArn=GAMES, ExpectedRevisionId="7") == wrong
    assert admin.delete_resource_policy(ResourceArn=GAMES, ExpectedRevisionId=first)["RevisionId"] == first
    assert error_of(admin.delete_resource_policy, ResourceArn=GAMES, ExpectedRevisionId=first) == (
        "PolicyNotFoundException",
        f"{NOT_FOUND}Requested update for policy with revision id {first}, "
        "but table Games has no associated policy.",
    )


def test_a_missing_table_has_no_policy(admin: Any) -> None:
    for call, more in (
        (admin.put_resource_policy, {"Policy": READS}),
        (admin.get_resource_policy, {}),
        (admin.delete_resource_policy, {}),
    ):
        assert error_of(call, ResourceArn=arn("Missing"), **more) == (
            "ResourceNotFoundException",
            "Requested resource not found: Table: Missing not found",
        )


def test_a_stream_has_a_policy_of_its_own_that_outlives_the_table(admin: Any) -> None:
    stream = stream_of(admin)
    policy = canonical(document(statement("GetRecords", stream, principal={"AWS": ALICE})))
    admin.put_resource_policy(ResourceArn=stream, Policy=policy)
    code, _ = error_of(admin.get_resource_policy, ResourceArn=GAMES)
    assert code == "PolicyNotFoundException"
    admin.delete_table(TableName="Games")
    assert admin.get_resource_policy(ResourceArn=stream)["Policy"] == policy


def test_policies_survive_a_restart(tmp_path: Path) -> None:
    process = InProcess(tmp_path, account=ACCOUNT)
    made = process.call("CreateTable", TableName="Games", ResourcePolicy=READS, **STREAMED, **SCHEMA)
    table, stream = (made["TableDescription"][name] for name in ("TableArn", "LatestStreamArn"))
    on_stream = canonical(document(statement("GetRecords", principal={"AWS": ALICE})))
    process.call("PutResourcePolicy", ResourceArn=stream, Policy=on_stream)
    before = process.call("GetResourcePolicy", ResourceArn=table)
    process.close()
    process = InProcess(tmp_path, account=ACCOUNT)
    assert process.call("GetResourcePolicy", ResourceArn=table) == before
    found = process.call("GetResourcePolicy", ResourceArn=stream)
    process.close()
    assert (before["Policy"], found["Policy"]) == (READS, on_stream)


def test_a_restored_table_has_no_policy(admin: Any) -> None:
    admin.put_resource_policy(ResourceArn=GAMES, Policy=READS)
    backup = admin.create_backup(TableName="Games", BackupName="backup")["BackupDetails"]["BackupArn"]
    admin.restore_table_from_backup(TargetTableName="Again", BackupArn=backup)
    code, _ = error_of(admin.get_resource_policy, ResourceArn=arn("Again"))
    assert code == "PolicyNotFoundException"


def test_lenient_clients_put_policies_too(raw: InProcess) -> None:
    table = raw.call("CreateTable", TableName="Games", **SCHEMA)["TableDescription"]["TableArn"]
    raw.call("PutResourcePolicy", ResourceArn=table, Policy=READS)
    assert raw.call("GetResourcePolicy", ResourceArn=table)["Policy"] == READS
    with pytest.raises(Refused, match="PolicyNotFoundException"):
        raw.call("DeleteResourcePolicy", ResourceArn=table, ExpectedRevisionId="1")


# --- Documents -------------------------------------------------------------------------------------

INVALID = "One or more parameter values were invalid: Invalid policy document: "
UNBOUNDED = (
    "Resource-based policy grants unbounded access in one or more elements. "
    "Please revise the policy to ensure least-privilege form of access"
)


def under(condition: dict[str, Any]) -> str:
    """Returns a policy that allows every principal under a condition."""
    return document(statement("GetItem", "*", condition, principal="*"))


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("{", INVALID + "This policy contains invalid Json"),
        ("{}", INVALID),
        (document(statement("GetItem", GAMES)), INVALID),
        (
            document(statement(["GetItem", "ListStreams", "GetRecords"], principal={"AWS": ALICE})),
            INVALID + 'The following action names are invalid: "dynamodb:ListStreams", "dynamodb:GetRecords"',
        ),
        (document(statement("s3:GetObject", principal={"AWS": ALICE})), INVALID),
        (document(statement("GetItem", principal="*")), UNBOUNDED),
        (document(statement("GetItem", principal={"AWS": ["*"]})), UNBOUNDED),
        (under({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}), UNBOUNDED),
        (under({"StringLike": {"aws:PrincipalArn": f"{ALICE[:-5]}*"}}), UNBOUNDED),
        (under({"StringNotEquals": {"aws:PrincipalAccount": ACCOUNT}}), UNBOUNDED),
        (
            READS + " " * (20 * 1024),
            "One or more parameter values were invalid: Maximum policy size of 20480 bytes exceeded",
        ),
    ],
)
def test_documents_that_no_table_may_have_are_rejected(admin: Any, policy: str, text: str) -> None:
    for call, request in (
        (admin.put_resource_policy, {"ResourceArn": GAMES, "Policy": policy}),
        (admin.create_table, {"TableName": "New", "ResourcePolicy": policy, **SCHEMA}),
    ):
        code, message = error_of(call, **request)
        assert code == "ValidationException"
        assert message.startswith(text)


@pytest.mark.parametrize(
    "policy",
    [
        document(statement("*", principal={"AWS": ALICE})),
        document(statement("dynamodb:*", principal={"AWS": ALICE})),
        document(statement("getitem", principal={"AWS": ALICE})),
        under({"StringEquals": {"aws:PrincipalAccount": ACCOUNT}}),
        document(statement("GetItem", principal="*", effect="Deny")),
        READS + " " * (20 * 1024 - len(READS)),
    ],
)
def test_documents_that_a_table_may_have_are_accepted(admin: Any, policy: str) -> None:
    admin.put_resource_policy(ResourceArn=GAMES, Policy=policy)
    assert admin.get_resource_policy(ResourceArn=GAMES)["Policy"] == canonical(policy)


def test_actions_of_streams_belong_into_the_policy_of_a_stream(admin: Any) -> None:
    stream = stream_of(admin)
    policy = document(statement("DescribeStream", principal={"AWS": ALICE}))
    admin.put_resource_policy(ResourceArn=stream, Policy=policy)
    code, _ = error_of(admin.put_resource_policy, ResourceArn=stream, Policy=READS)
    assert code == "ValidationException"


# --- The caller's own right ------------------------------------------------------------------------


def test_a_caller_takes_away_its_own_right_only_with_a_confirmation(world: AccessWorld, admin: Any) -> None:
    user = world.user(statement(["PutResourcePolicy", "DeleteResourcePolicy"], GAMES))
    put = user.put_resource_policy
    locked = document(statement("PutResourcePolicy", GAMES, principal={"AWS": ALICE}, effect="Deny"))
    code, _ = error_of(put, ResourceArn=GAMES, Policy=locked)
    assert code == "ValidationException"
    put(ResourceArn=GAMES, Policy=READS)
    put(ResourceArn=GAMES, Policy=locked, ConfirmRemoveSelfResourceAccess=True)
    sentence = denial(put, ResourceArn=GAMES, Policy=READS)
    assert sentence is not None
    assert sentence.endswith("with an explicit deny in a resource-based policy")
    admin.delete_resource_policy(ResourceArn=GAMES)
    put(ResourceArn=GAMES, Policy=READS)


# --- What policies of resources allow and deny -----------------------------------------------------


def test_a_policy_allows_what_the_caller_has_no_policy_for(world: AccessWorld, admin: Any) -> None:
    alice, bob = world.user(), world.user(name="bob")
    assert denial(alice.get_item, TableName="Games", Key=KEY) is not None
    admin.put_resource_policy(ResourceArn=GAMES, Policy=READS)
    assert denial(alice.get_item, TableName="Games", Key=KEY) is None
    assert denial(alice.put_item, TableName="Games", Item=KEY) is not None
    assert denial(bob.get_item, TableName="Games", Key=KEY) is not None
    admin.delete_resource_policy(ResourceArn=GAMES)
    assert denial(alice.get_item, TableName="Games", Key=KEY) is not None


def test_a_policy_of_a_new_table_holds_at_once(world: AccessWorld) -> None:
    policy = document(statement("GetItem", arn("New"), principal={"AWS": ALICE}))
    world.client().create_table(TableName="New", ResourcePolicy=policy, **SCHEMA)
    assert denial(world.user().get_item, TableName="New", Key=KEY) is None


def test_a_denial_ends_a_right_that_was_used_before(world: AccessWorld, admin: Any) -> None:
    alice = world.user(statement("GetItem"))
    assert denial(alice.get_item, TableName="Games", Key=KEY) is None
    stop = document(statement("GetItem", GAMES, principal={"AWS": ALICE}, effect="Deny"))
    admin.put_resource_policy(ResourceArn=GAMES, Policy=stop)
    assert denial(alice.get_item, TableName="Games", Key=KEY) == (
        f"User: {ALICE} is not authorized to perform: dynamodb:GetItem on resource: {GAMES} "
        "with an explicit deny in a resource-based policy"
    )
    admin.delete_table(TableName="Games")
    admin.create_table(TableName="Games", **SCHEMA)
    assert denial(alice.get_item, TableName="Games", Key=KEY) is None


def test_the_policy_of_a_table_covers_its_indexes(world: AccessWorld) -> None:
    entry = {
        "IndexName": "ByTop",
        "KeySchema": [{"AttributeName": "Top", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    definitions = [*SCHEMA["AttributeDefinitions"], {"AttributeName": "Top", "AttributeType": "S"}]
    world.client().create_table(
        TableName="Scores",
        GlobalSecondaryIndexes=[entry],
        ResourcePolicy=document(statement("Scan", arn("Scores") + "/index/*", principal={"AWS": ALICE})),
        **{**SCHEMA, "AttributeDefinitions": definitions},
    )
    alice = world.user()
    assert denial(alice.scan, TableName="Scores", IndexName="ByTop") is None
    assert denial(alice.scan, TableName="Scores") is not None


def test_the_policy_of_a_stream_allows_to_read_it(world: AccessWorld, admin: Any) -> None:
    stream = stream_of(admin)
    policy = document(statement("DescribeStream", stream, principal={"AWS": ALICE}))
    admin.put_resource_policy(ResourceArn=stream, Policy=policy)
    alice = world.client(world.user_key(), service="dynamodbstreams")
    shard = alice.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"][0]["ShardId"]
    request = {"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    assert denial(alice.get_shard_iterator, **request) is not None


# --- Between accounts ------------------------------------------------------------------------------

OTHER_ACCOUNT = "111122223333"
FOREIGN = f"arn:aws:iam::{OTHER_ACCOUNT}:user/alice"


def test_a_caller_of_another_account_needs_both_policies(world: AccessWorld, admin: Any) -> None:
    request = {"TableName": GAMES, "Key": KEY}
    entitled = world.user(statement("GetItem", GAMES), account=OTHER_ACCOUNT)
    sentence = (
        f"User: {FOREIGN} is not authorized to perform: dynamodb:GetItem on resource: {GAMES} because no"
    )
    assert denial(entitled.get_item, **request) == (
        f"{sentence} resource-based policy allows the dynamodb:GetItem action"
    )
    policy = document(statement("GetItem", GAMES, principal={"AWS": FOREIGN}))
    admin.put_resource_policy(ResourceArn=GAMES, Policy=policy)
    assert denial(entitled.get_item, **request) is None
    assert denial(world.user(account=OTHER_ACCOUNT).get_item, **request) == (
        f"{sentence} identity-based policy allows the dynamodb:GetItem action"
    )


def test_partiql_and_time_to_live_do_not_work_between_accounts(world: AccessWorld, admin: Any) -> None:
    actions = ["PartiQLSelect", "DescribeTimeToLive", "DescribeTable"]
    policy = document(statement(actions, GAMES, principal={"AWS": FOREIGN}))
    admin.put_resource_policy(ResourceArn=GAMES, Policy=policy)
    user = world.user(statement("*"), account=OTHER_ACCOUNT)
    assert denial(user.describe_table, TableName=GAMES) is None
    assert denial(user.describe_time_to_live, TableName=GAMES) is not None
    assert denial(user.execute_statement, Statement=f'SELECT * FROM "{GAMES}"') is not None


def test_a_missing_table_of_another_account_looks_like_a_forbidden_one(world: AccessWorld) -> None:
    missing = arn("Missing", account=OTHER_ACCOUNT)
    sentence = denial(world.user(statement("*")).describe_table, TableName=missing)
    assert sentence is not None
    assert sentence.endswith("because no resource-based policy allows the dynamodb:DescribeTable action")
