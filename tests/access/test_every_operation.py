"""Each operation runs with exactly its actions on exactly its resources, and not without one of them.

The pairs are written down here, from iam.md section 1.2, and not taken from the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import botocore.session
import pytest
from botocore import xform_name

from faradisc.errors import ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.registry import OPERATIONS
from fixtures.access import AccessWorld, arn, denial, statement

GAMES, TITLES, OTHER = arn("Games"), arn("Games") + "/index/Titles", arn("Other")
BACKUP = f"{GAMES}/backup/01700000000000-0123abcd"
BUCKET = "arn:aws:s3:::bucket"
KINESIS = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
KEY = {"UserId": {"S": "alice"}, "Title": {"S": "chess"}}
SCHEMA = {
    "AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ENTRY = {
    "IndexName": "Titles",
    "KeySchema": [{"AttributeName": "Title", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
FILLING = ("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem")
PUT_OBJECTS = ("s3:AbortMultipartUpload", "s3:PutObject", "s3:PutObjectAcl")

Pairs = list[tuple[str, str]]


class Case(NamedTuple):
    """A request, and the actions that it needs on resources."""

    operation: str
    request: dict[str, Any]
    needs: Pairs
    label: str = ""


def on(resource: str, *actions: str) -> Pairs:
    return [(action, resource) for action in actions]


def of_table(operation: str, resource: str = GAMES, **more: Any) -> Case:
    """A case of an operation that needs its own action on the table that it names."""
    return Case(operation, {"TableName": "Games", **more}, on(resource, operation))


def anywhere(operation: str, **request: Any) -> Case:
    return Case(operation, request, on("*", operation))


def by_arn(operation: str, member: str, resource: str, **more: Any) -> Case:
    return Case(operation, {member: resource, **more}, on(resource, operation))


def statements(operation: str, member: str) -> Case:
    texts = (
        """SELECT * FROM "Games" WHERE "UserId"='a' AND "Title"='b'""",
        """INSERT INTO "Other" VALUE {'UserId':'a'}""",
        """UPDATE "Games" SET "x"=1 WHERE "UserId"='a' AND "Title"='b'""",
        """DELETE FROM "Other" WHERE "UserId"='a'""",
    )
    needs = [
        *on(GAMES, "PartiQLSelect"),
        *on(OTHER, "PartiQLInsert"),
        *on(GAMES, "PartiQLUpdate"),
        *on(OTHER, "PartiQLDelete"),
    ]
    return Case(operation, {member: [{"Statement": text} for text in texts]}, needs)


def single(text: str, action: str, resource: str) -> Case:
    return Case("ExecuteStatement", {"Statement": text}, on(resource, action), action)


STREAM = "{stream}"
"""Stands for the ARN of the stream of Games."""

CASES = (
    # Tables
    Case("CreateTable", {"TableName": "New", **SCHEMA}, on(arn("New"), "CreateTable")),
    Case(
        "CreateTable",
        {
            "TableName": "New",
            **SCHEMA,
            "Tags": [{"Key": "a", "Value": "b"}],
            "ResourcePolicy": "{}",
        },
        on(arn("New"), "CreateTable", "TagResource", "PutResourcePolicy"),
        "with tags and a policy",
    ),
    of_table("DescribeTable"),
    Case("DescribeTable", {"TableName": GAMES}, on(GAMES, "DescribeTable"), "by ARN"),
    Case("DescribeTable", {"TableName": "Missing"}, on(arn("Missing"), "DescribeTable"), "that is missing"),
    anywhere("ListTables"),
    of_table("DeleteTable"),
    of_table("UpdateTable", DeletionProtectionEnabled=True),
    by_arn("TagResource", "ResourceArn", GAMES, Tags=[{"Key": "a", "Value": "b"}]),
    by_arn("UntagResource", "ResourceArn", GAMES, TagKeys=["a"]),
    by_arn("ListTagsOfResource", "ResourceArn", GAMES),
    anywhere("DescribeLimits"),
    anywhere("DescribeEndpoints"),
    of_table("UpdateContributorInsights", ContributorInsightsAction="ENABLE"),
    of_table("UpdateContributorInsights", TITLES, IndexName="Titles", ContributorInsightsAction="ENABLE"),
    of_table("DescribeContributorInsights", TITLES, IndexName="Titles"),
    anywhere("ListContributorInsights", TableName="Games"),
    by_arn("PutResourcePolicy", "ResourceArn", GAMES, Policy="{}"),
    by_arn("PutResourcePolicy", "ResourceArn", STREAM, Policy="{}"),
    by_arn("GetResourcePolicy", "ResourceArn", GAMES),
    by_arn("DeleteResourcePolicy", "ResourceArn", GAMES),
    anywhere("ListGlobalTables"),
    Case(
        "DescribeGlobalTable",
        {"GlobalTableName": "Scores"},
        on("arn:aws:dynamodb::000000000000:global-table/Scores", "DescribeGlobalTable"),
    ),
    Case(
        "DescribeGlobalTableSettings",
        {"GlobalTableName": "Scores"},
        on("arn:aws:dynamodb::000000000000:global-table/Scores", "DescribeGlobalTableSettings"),
    ),
    *(
        Case(
            operation,
            {"GlobalTableName": "Scores", **more},
            on("arn:aws:dynamodb::000000000000:global-table/Scores", operation),
        )
        for operation, more in (
            ("CreateGlobalTable", {"ReplicationGroup": []}),
            ("UpdateGlobalTable", {"ReplicaUpdates": []}),
            ("UpdateGlobalTableSettings", {}),
        )
    ),
    of_table("DescribeTableReplicaAutoScaling"),
    of_table("UpdateTableReplicaAutoScaling"),
    Case(
        "UpdateTable",
        {"TableName": "Games", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
        [
            *on(GAMES, "UpdateTable"),
            *on(GAMES.replace("us-east-1", "eu-west-1"), "CreateTable", "CreateTableReplica", *FILLING),
        ],
        "that adds a replica",
    ),
    # Items
    of_table("GetItem", Key=KEY),
    of_table("PutItem", Item=KEY),
    of_table("UpdateItem", Key=KEY),
    of_table("DeleteItem", Key=KEY),
    of_table(
        "Query",
        KeyConditionExpression="UserId = :u",
        ExpressionAttributeValues={":u": {"S": "alice"}},
    ),
    of_table(
        "Query",
        TITLES,
        IndexName="Titles",
        KeyConditionExpression="Title = :t",
        ExpressionAttributeValues={":t": {"S": "chess"}},
    ),
    of_table("Scan"),
    of_table("Scan", TITLES, IndexName="Titles"),
    of_table(
        "SearchVectors", GAMES + "/index/Vectors", IndexName="Vectors", TopK=1, SearchVector=[{"N": "1"}]
    ),
    Case(
        "BatchGetItem",
        {"RequestItems": {"Games": {"Keys": [KEY]}, "Other": {"Keys": [{"UserId": {"S": "a"}}]}}},
        [*on(GAMES, "BatchGetItem"), *on(OTHER, "BatchGetItem")],
    ),
    Case(
        "BatchWriteItem",
        {
            "RequestItems": {
                "Games": [{"PutRequest": {"Item": KEY}}],
                "Other": [{"DeleteRequest": {"Key": {"UserId": {"S": "a"}}}}],
            }
        },
        [*on(GAMES, "BatchWriteItem"), *on(OTHER, "BatchWriteItem")],
    ),
    Case(
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": name, "Key": KEY}} for name in ("Games", "Other")]},
        [*on(GAMES, "GetItem"), *on(OTHER, "GetItem")],
    ),
    Case(
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "Games", "Item": KEY}},
                {"Update": {"TableName": "Other", "Key": KEY, "UpdateExpression": "REMOVE x"}},
                {"Delete": {"TableName": "Games", "Key": KEY}},
                {"ConditionCheck": {"TableName": "Other", "Key": KEY, "ConditionExpression": "x = y"}},
            ]
        },
        [
            *on(GAMES, "PutItem"),
            *on(OTHER, "UpdateItem"),
            *on(GAMES, "DeleteItem"),
            *on(OTHER, "ConditionCheckItem"),
        ],
    ),
    # PartiQL
    single("""SELECT * FROM "Games" WHERE "UserId"='a'""", "PartiQLSelect", GAMES),
    single("""SELECT * FROM "Games"."Titles" WHERE "Title"='a'""", "PartiQLSelect", TITLES),
    single("""INSERT INTO "Games" VALUE {'UserId':'a','Title':'b'}""", "PartiQLInsert", GAMES),
    single("""UPDATE "Games" SET "x"=1 WHERE "UserId"='a' AND "Title"='b'""", "PartiQLUpdate", GAMES),
    single("""DELETE FROM "Games" WHERE "UserId"='a' AND "Title"='b'""", "PartiQLDelete", GAMES),
    statements("BatchExecuteStatement", "Statements"),
    statements("ExecuteTransaction", "TransactStatements"),
    Case(
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": """EXISTS(SELECT * FROM "Games" WHERE "UserId"='a')"""}]},
        on(GAMES, "PartiQLSelect"),
        "EXISTS",
    ),
    # Time to live
    of_table("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "x"}),
    of_table("DescribeTimeToLive"),
    # Exports and imports
    Case(
        "ExportTableToPointInTime",
        {"TableArn": GAMES, "S3Bucket": "bucket", "S3Prefix": "a/b"},
        [*on(GAMES, "ExportTableToPointInTime"), *on(f"{BUCKET}/a/b/AWSDynamoDB", *PUT_OBJECTS)],
    ),
    by_arn("DescribeExport", "ExportArn", f"{GAMES}/export/01700000000000-0123abcd"),
    anywhere("ListExports"),
    Case("ListExports", {"TableArn": GAMES}, on(GAMES, "ListExports"), "of a table"),
    Case(
        "ImportTable",
        {
            "S3BucketSource": {"S3Bucket": "bucket", "S3KeyPrefix": "data/"},
            "InputFormat": "ION",
            "TableCreationParameters": {"TableName": "New", **SCHEMA},
        },
        [
            *on(arn("New"), "ImportTable"),
            *on(BUCKET, "s3:ListBucket"),
            *on(f"{BUCKET}/data/", "s3:GetObject"),
        ],
    ),
    by_arn("DescribeImport", "ImportArn", f"{GAMES}/import/01700000000000-0123abcd"),
    anywhere("ListImports"),
    Case(
        "StartBulkPutItems",
        {
            "ClientToken": "token",
            "TableName": "Games",
            "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "ION"},
            "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": ["ERROR"]},
        },
        [
            *on(GAMES, "StartBulkPutItems"),
            *on(BUCKET, "s3:ListBucket"),
            *on(f"{BUCKET}/", "s3:GetObject"),
            *on(f"{BUCKET}/AWSDynamoDB", *PUT_OBJECTS),
        ],
    ),
    by_arn("DescribeBulkOperation", "BulkOperationArn", f"{GAMES}/bulk-operation/01700000000000-0123abcd"),
    anywhere("ListBulkOperations"),
    by_arn("CancelBulkOperation", "BulkOperationArn", f"{GAMES}/bulk-operation/01700000000000-0123abcd"),
    # Backups
    of_table("CreateBackup", BackupName="backup"),
    by_arn("DescribeBackup", "BackupArn", BACKUP),
    anywhere("ListBackups"),
    by_arn("DeleteBackup", "BackupArn", BACKUP),
    Case(
        "RestoreTableFromBackup",
        {"BackupArn": BACKUP, "TargetTableName": "New"},
        [*on(BACKUP, "RestoreTableFromBackup"), *on(arn("New"), "RestoreTableFromBackup", *FILLING)],
    ),
    of_table(
        "UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    ),
    of_table("DescribeContinuousBackups"),
    Case(
        "RestoreTableToPointInTime",
        {"SourceTableName": "Games", "TargetTableName": "New", "UseLatestRestorableTime": True},
        [*on(GAMES, "RestoreTableToPointInTime"), *on(arn("New"), *FILLING)],
    ),
    # Kinesis
    Case(
        "EnableKinesisStreamingDestination",
        {"TableName": "Games", "StreamArn": KINESIS},
        [
            *on(GAMES, "EnableKinesisStreamingDestination"),
            *on(KINESIS, "kinesis:DescribeStream", "kinesis:PutRecord", "kinesis:PutRecords"),
        ],
    ),
    of_table("DisableKinesisStreamingDestination", StreamArn=KINESIS),
    of_table("UpdateKinesisStreamingDestination", StreamArn=KINESIS),
    of_table("DescribeKinesisStreamingDestination"),
    # Streams
    anywhere("ListStreams"),
    by_arn("DescribeStream", "StreamArn", STREAM),
    by_arn(
        "GetShardIterator",
        "StreamArn",
        STREAM,
        ShardId=f"shardId-{1:020}",
        ShardIteratorType="LATEST",
    ),
    Case("GetRecords", {"ShardIterator": "{stream}|1|AAAA"}, on(STREAM, "GetRecords")),
)


@pytest.fixture(scope="module")
def games() -> Iterator[tuple[AccessWorld, str]]:
    """A world with the tables Games and Other, and the ARN of the stream of Games."""
    world = AccessWorld()
    admin = world.client()
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in ("UserId", "Title")]
    keys = [{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "Title", "KeyType": "RANGE"}]
    made = admin.create_table(
        TableName="Games",
        AttributeDefinitions=definitions,
        KeySchema=keys,
        GlobalSecondaryIndexes=[ENTRY],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    admin.create_table(TableName="Other", **SCHEMA)
    yield world, made["TableDescription"]["LatestStreamArn"]
    world.close()


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that have run; in their place they reject the request."""
    names: list[str] = []

    async def handler(backend: Backend, call: Call) -> dict[str, Any]:
        names.append(call.operation)
        raise ValidationException("reached")

    for operation in OPERATIONS.values():
        monkeypatch.setattr(operation, "handler", handler)
    return names


def filled(value: Any, stream: str) -> Any:
    """Returns a value with the ARN of the stream in place of its stand-in."""
    if isinstance(value, str):
        return value.replace(STREAM, stream)
    if isinstance(value, dict):
        return {name: filled(each, stream) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(filled(each, stream) for each in value)
    return value


def call_of(client: Any, operation: str) -> Any:
    return getattr(client, xform_name(operation))


def service_of(operation: str) -> str:
    return "dynamodb" if operation not in STREAM_OPERATIONS else "dynamodbstreams"


STREAM_OPERATIONS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operation} {case.label}".strip())


@each_case
def test_an_operation_runs_with_exactly_its_actions_on_its_resources(
    case: Case, games: tuple[AccessWorld, str], reached: list[str]
) -> None:
    world, stream = games
    case = filled_case(case, stream)
    key = world.user_key(*(statement(action, resource) for action, resource in case.needs))
    client = world.client(key, service=service_of(case.operation))
    assert denial(call_of(client, case.operation), **case.request) is None
    assert reached == [case.operation]


@each_case
def test_an_operation_does_not_run_without_one_of_its_actions(
    case: Case, games: tuple[AccessWorld, str], reached: list[str]
) -> None:
    world, stream = games
    case = filled_case(case, stream)
    for missing in case.needs:
        rest = [
            statement(action, resource) for action, resource in case.needs if (action, resource) != missing
        ]
        client = world.client(world.user_key(*rest), service=service_of(case.operation))
        assert_denied(denial(call_of(client, case.operation), **case.request), *missing)
    assert reached == []


@each_case
def test_an_operation_does_not_run_with_its_actions_on_other_resources(
    case: Case, games: tuple[AccessWorld, str], reached: list[str]
) -> None:
    world, stream = games
    case = filled_case(case, stream)
    elsewhere = (arn("Elsewhere"), arn("Elsewhere") + "/*", GAMES + "x", "arn:aws:s3:::elsewhere/*")
    key = world.user_key(statement([action for action, _ in case.needs], list(elsewhere)))
    client = world.client(key, service=service_of(case.operation))
    assert_denied(denial(call_of(client, case.operation), **case.request), *case.needs[0])
    assert reached == []


@each_case
def test_a_denied_resource_stops_a_caller_with_all_rights(
    case: Case, games: tuple[AccessWorld, str], reached: list[str]
) -> None:
    world, stream = games
    case = filled_case(case, stream)
    for action, resource in case.needs:
        key = world.user_key(statement("*"), statement(action, resource, effect="Deny"))
        client = world.client(key, service=service_of(case.operation))
        sentence = denial(call_of(client, case.operation), **case.request)
        assert sentence is not None
        assert sentence.endswith("with an explicit deny in an identity-based policy")
    assert reached == []


def filled_case(case: Case, stream: str) -> Case:
    return Case(case.operation, filled(case.request, stream), filled(case.needs, stream), case.label)


def assert_denied(sentence: str | None, action: str, resource: str) -> None:
    named = action if ":" in action else f"dynamodb:{action}"
    shown = arn("*") if resource == "*" else resource
    assert sentence == (
        f"User: arn:aws:iam::000000000000:user/alice is not authorized to perform: {named} "
        f"on resource: {shown} because no identity-based policy allows the {named} action"
    )


def test_each_operation_has_a_case() -> None:
    assert {case.operation for case in CASES} == set(OPERATIONS)


def test_each_operation_of_the_service_model_says_what_it_needs() -> None:
    session = botocore.session.get_session()
    modelled = {
        name
        for service in ("dynamodb", "dynamodbstreams")
        for name in session.get_service_model(service).operation_names
    }
    assert modelled == set(OPERATIONS)
    assert all(operation.access for operation in OPERATIONS.values())


def test_the_accounts_own_keys_need_nothing(games: tuple[AccessWorld, str], reached: list[str]) -> None:
    world, stream = games
    for case in CASES:
        client = world.client(service=service_of(case.operation))
        assert denial(call_of(client, case.operation), **filled(case.request, stream)) is None
    assert reached == [case.operation for case in CASES]
