"""Definitions become CreateTable requests; errors have the line of the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.readers.seed import STREAM
from faradisc.tools.seeding import read_seed
from unit.seeding.seed_files import REQUEST, errors, only, read

# --- Requests and descriptions -------------------------------------------------------------------


def test_create_table_request(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"music.json": json.dumps(REQUEST)})) == REQUEST


def test_list_of_requests_has_the_line_of_each(tmp_path: Path) -> None:
    text = json.dumps([REQUEST, {**REQUEST, "TableName": "films"}], indent=1)
    seed = read(tmp_path, {"all.json": text})
    lines = text.splitlines()
    assert [(table.name, lines[table.location.line - 1].strip()) for table in seed.tables] == [
        ("music", '"TableName": "music",'),
        ("films", '"TableName": "films",'),
    ]


def test_error_in_a_request_has_its_line(tmp_path: Path) -> None:
    text = '[\n{"TableName": "music", "KeySchema": [], "Keyschema": 1}\n]'
    assert errors(read(tmp_path, {"music.json": text})) == [
        "music.json:2: CreateTable has no member Keyschema."
    ]


def test_answer_of_describe_table(tmp_path: Path) -> None:
    described = {
        "Table": {
            "TableName": "music",
            "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/music",
            "TableStatus": "ACTIVE",
            "ItemCount": 7,
            "AttributeDefinitions": [
                {"AttributeName": "artist", "AttributeType": "S"},
                {"AttributeName": "year", "AttributeType": "N"},
            ],
            "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
            "ProvisionedThroughput": {
                "ReadCapacityUnits": 5,
                "WriteCapacityUnits": 6,
                "NumberOfDecreasesToday": 0,
            },
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by.year",
                    "KeySchema": [{"AttributeName": "year", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                    "IndexStatus": "ACTIVE",
                    "ItemCount": 7,
                    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
                }
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            "DeletionProtectionEnabled": False,
            "TableClassSummary": {"TableClass": "STANDARD"},
            "SSEDescription": {
                "Status": "ENABLED",
                "SSEType": "KMS",
                "KMSMasterKeyArn": "arn:aws:kms:::key/k",
            },
        }
    }
    request = only(read(tmp_path, {"music.json": json.dumps(described)}))
    assert request == {
        "TableName": "music",
        "AttributeDefinitions": described["Table"]["AttributeDefinitions"],
        "KeySchema": described["Table"]["KeySchema"],
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by.year",
                "KeySchema": [{"AttributeName": "year", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        "DeletionProtectionEnabled": False,
        "TableClass": "STANDARD",
        "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "arn:aws:kms:::key/k"},
    }


# --- CloudFormation ------------------------------------------------------------------------------

YAML = """\
AWSTemplateFormatVersion: 2010-09-09
Parameters:
  Stage:
    Type: String
    Default: dev
  Units:
    Type: Number
    Default: 5
Conditions:
  IsProduction: !Equals [!Ref Stage, prod]
  IsSmall: !Not [!Condition IsProduction]
Mappings:
  Classes:
    dev: {Class: STANDARD}
    prod: {Class: STANDARD_INFREQUENT_ACCESS}
Resources:
  Queue:
    Type: AWS::SQS::Queue
  Music:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Retain
    Properties:
      TableName: !Sub "${Stage}-music-${AWS::Region}"
      BillingMode: PROVISIONED
      ProvisionedThroughput:
        ReadCapacityUnits: !Ref Units
        WriteCapacityUnits: "6"
      TableClass: !FindInMap [Classes, !Ref Stage, Class]
      DeletionProtectionEnabled: !If [IsProduction, true, "false"]
      AttributeDefinitions:
        - {AttributeName: artist, AttributeType: S}
        - AttributeName: year
          AttributeType: N
      KeySchema:
        - {AttributeName: artist, KeyType: HASH}
        - !If [IsSmall, {AttributeName: year, KeyType: RANGE}, !Ref AWS::NoValue]
      StreamSpecification:
        StreamViewType: NEW_IMAGE
      TimeToLiveSpecification: {AttributeName: until, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
      SSESpecification: {SSEEnabled: true, KMSMasterKeyId: !GetAtt Key.Arn}
      Tags:
        - Key: stage
          Value: !Join ["/", [a, !Ref Stage, !Select [1, [x, y]]]]
        - {Key: number, Value: 7}
  Absent:
    Type: AWS::DynamoDB::Table
    Condition: IsProduction
    Properties: {}
"""


def test_template_in_yaml(tmp_path: Path) -> None:
    seed = read(tmp_path, {"stack.yaml": YAML})
    request = only(seed)
    assert request == {
        "TableName": "dev-music-us-east-1",
        "AttributeDefinitions": [
            {"AttributeName": "artist", "AttributeType": "S"},
            {"AttributeName": "year", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "artist", "KeyType": "HASH"},
            {"AttributeName": "year", "KeyType": "RANGE"},
        ],
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "TableClass": "STANDARD",
        "DeletionProtectionEnabled": False,
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        "Tags": [{"Key": "stage", "Value": "a/dev/y"}, {"Key": "number", "Value": "7"}],
        "SSESpecification": {"Enabled": True},
    }
    (table,) = seed.tables
    assert str(table.location) == "stack.yaml:19"
    assert table.notes == [
        "KMSMasterKeyId depends on Fn::GetAtt ['Key', 'Arn'], so the table has the key alias/aws/dynamodb"
    ]
    assert [operation for operation, _ in table.later] == ["UpdateTimeToLive", "UpdateContinuousBackups"]


def test_given_parameters_replace_defaults(tmp_path: Path) -> None:
    seed = read(tmp_path, {"stack.yaml": YAML}, Stage="prod")
    assert [table.name for table in seed.tables] == ["prod-music-us-east-1", "Absent"]
    music = seed.tables[0]
    assert music.request["DeletionProtectionEnabled"] is True
    assert music.request["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert len(music.request["KeySchema"]) == 1


def template(properties: dict[str, Any], kind: str = "AWS::DynamoDB::Table", **sections: Any) -> str:
    return json.dumps(
        {"Resources": {"Music": {"Type": kind, "Properties": properties}}, **sections}, indent=1
    )


BODY = {name: value for name, value in REQUEST.items() if name != "TableName"}


def test_template_in_json(tmp_path: Path) -> None:
    properties = {**BODY, "TableName": {"Fn::Sub": ["${a}-${!b}-${AWS::StackName}", {"a": "x"}]}}
    seed = read(tmp_path, {"stack.json": template(properties)})
    assert only(seed)["TableName"] == "x-${b}-faradisc"
    assert str(seed.tables[0].location) == "stack.json:3"


def test_table_without_known_name_is_named_like_its_resource(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"stack.json": template(BODY)}))["TableName"] == "Music"
    unknown = {**BODY, "TableName": {"Fn::ImportValue": "other-stack"}}
    seed = read(tmp_path, {"stack.json": template(unknown)})
    assert only(seed)["TableName"] == "Music"
    assert seed.tables[0].notes == ["its name depends on Fn::ImportValue other-stack, so it is called Music"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"Tags": [{"Key": "a", "Value": {"Ref": "P"}}]}, "Tags[0].Value depends on the parameter P"),
        ({"BillingMode": {"Fn::GetAtt": ["X", "Y"]}}, "BillingMode depends on Fn::GetAtt"),
        ({"KeySchema": {"Ref": "Nowhere"}}, "There is no parameter or resource Nowhere."),
        ({"Throughput": 1}, "a table has no property Throughput."),
        ({"KeySchema": "artist"}, "CreateTable.KeySchema must be a list."),
        ({"KeySchema": [{"AttributeName": "artist"}]}, "CreateTable.KeySchema[0] has no KeyType."),
        ({"DeletionProtectionEnabled": "maybe"}, "must be true or false."),
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": "x", "WriteCapacityUnits": 1}},
            "must be an integer.",
        ),
        ({"BillingMode": {"Fn::If": ["None", 1, 2]}}, "There is no condition None."),
        ({"BillingMode": {"Fn::Join": ["", 1, 2]}}, "Fn::Join needs a list of 2."),
        ({"BillingMode": {"Fn::Select": [5, ["a"]]}}, "The index of Fn::Select is not in its list."),
        ({"BillingMode": {"Fn::FindInMap": ["a", "b", "c"]}}, "The mappings have no a.b.c."),
    ],
)
def test_mistakes_in_a_template(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    found = template({**BODY, **change}, Parameters={"P": {"Type": "String"}})
    (error,) = errors(read(tmp_path, {"stack.json": found}))
    assert error.startswith("stack.json:3: Music: ")
    assert text in error


def test_simple_and_global_tables(tmp_path: Path) -> None:
    simple = template({"PrimaryKey": {"Name": "n", "Type": "Number"}}, "AWS::Serverless::SimpleTable")
    assert only(read(tmp_path, {"stack.json": simple})) == {
        "TableName": "Music",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    own = {
        "Region": {"Ref": "AWS::Region"},
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "SSESpecification": {"KMSMasterKeyId": "alias/own"},
        "ReadOnDemandThroughputSettings": {"MaxReadRequestUnits": 8},
    }
    replicated = {**BODY, "BillingMode": "PROVISIONED", "Replicas": [{"Region": "eu-west-1"}, own]}
    replicated["SSESpecification"] = {"SSEEnabled": True, "SSEType": "KMS"}
    replicated["WriteOnDemandThroughputSettings"] = {"MaxWriteRequestUnits": 7}
    seed = read(tmp_path, {"stack.json": template(replicated, "AWS::DynamoDB::GlobalTable")})
    assert only(seed)["BillingMode"] == "PAY_PER_REQUEST"
    assert only(seed)["OnDemandThroughput"] == {"MaxReadRequestUnits": 8, "MaxWriteRequestUnits": 7}
    assert only(seed)["DeletionProtectionEnabled"] is True
    assert only(seed)["SSESpecification"]["KMSMasterKeyId"] == "alias/own"
    assert [operation for operation, _ in seed.tables[0].later] == ["UpdateContinuousBackups"]
    assert seed.tables[0].notes == [
        "the replicas in other regions are ignored",
        "the provisioned throughput of a global table is ignored: it is on demand",
    ]


def test_settings_of_indexes_and_streams_of_a_template(tmp_path: Path) -> None:
    index = {
        "IndexName": "i",
        "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ContributorInsightsSpecification": {"Enabled": True, "Mode": "THROTTLED_KEYS"},
    }
    policy = {"Version": "2012-10-17", "Statement": []}
    stream = {"StreamViewType": "KEYS_ONLY", "ResourcePolicy": {"PolicyDocument": policy}}
    changed = {**BODY, "GlobalSecondaryIndexes": [index], "StreamSpecification": stream}
    (table,) = read(tmp_path, {"stack.json": template(changed)}).tables
    assert table.notes == []
    assert table.request["GlobalSecondaryIndexes"][0].keys() == {"IndexName", "KeySchema", "Projection"}
    assert table.later == [
        (
            "UpdateContributorInsights",
            {
                "TableName": "Music",
                "IndexName": "i",
                "ContributorInsightsMode": "THROTTLED_KEYS",
                "ContributorInsightsAction": "ENABLE",
            },
        ),
        ("PutResourcePolicy", {"ResourceArn": STREAM, "Policy": json.dumps(policy)}),
    ]


def test_references_between_resources(tmp_path: Path) -> None:
    document = json.loads(template({**BODY, "TableName": "m"}))
    document["Resources"]["Films"] = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {**BODY, "TableName": {"Fn::Sub": "${Music}-films"}},
    }
    assert [table.name for table in read(tmp_path, {"s.json": json.dumps(document)}).tables] == [
        "m",
        "m-films",
    ]


BILLIONS = "a0: &a0 [x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(12)
)
"""Twelve lines, each with nine aliases of the line before."""


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.json", '{\n"a": }', "a.json:2: not valid JSON: Expecting value"),
        ("a.json", "{}", "a.json:1: not a CreateTable request"),
        ("a.yaml", "a:\n  - b\n c", "a.yaml:3: not valid YAML: "),
        ("a.yml", "a: 1", "a.yml:1: not a CloudFormation template: it has no Resources."),
        ("a.yaml", "a: &x [*x]", "a.yaml:1: not valid YAML: maximum recursion depth exceeded"),
        ("a.yaml", BILLIONS, "a.yaml:1: not valid YAML: its aliases expand to too much"),
        ("a.json", "[" * 100_000, "a.json:1: it is nested too deeply."),
        ("a.yaml", "Resources: {}\nConditions: []\n", ""),
        ("a.yaml", "Resources: {}\nMappings: [1]\n", "a.yaml:1: Mappings must be a map."),
    ],
)
def test_unreadable_file_is_an_error_with_its_line(tmp_path: Path, name: str, text: str, error: str) -> None:
    found = errors(read(tmp_path, {name: text}))
    assert [each[: len(error)] for each in found] == ([error] if error else [])


def test_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff"}')
    assert errors(read_seed(tmp_path)) == ["a.json:1: the file is not UTF-8: invalid start byte at byte 7"]
