"""Definitions as people have them become requests of CreateTable, and their faults have a line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.seeding import read_seed
from unit.seeding.seed_files import REQUEST, faults, only, read, small

# --- Requests and descriptions -------------------------------------------------------------------


def test_a_request_of_create_table(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"music.json": json.dumps(REQUEST)})) == REQUEST


def test_a_list_of_requests_and_where_each_begins(tmp_path: Path) -> None:
    text = json.dumps([REQUEST, {**REQUEST, "TableName": "films"}], indent=1)
    seed = read(tmp_path, {"all.json": text})
    lines = text.splitlines()
    assert [(table.name, lines[table.place.line - 1].strip()) for table in seed.tables] == [
        ("music", '"TableName": "music",'),
        ("films", '"TableName": "films",'),
    ]


def test_a_request_with_a_mistake_has_its_line(tmp_path: Path) -> None:
    text = '[\n{"TableName": "music", "KeySchema": [], "Keyschema": 1}\n]'
    assert faults(read(tmp_path, {"music.json": text})) == [
        "music.json:2: CreateTable has no member Keyschema."
    ]


def test_what_describe_table_answers(tmp_path: Path) -> None:
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


def test_a_template_in_yaml(tmp_path: Path) -> None:
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
    }
    (table,) = seed.tables
    assert str(table.place) == "stack.yaml:19"
    assert table.notes == ["SSESpecification is left out"]
    assert [operation for operation, _ in table.later] == ["UpdateTimeToLive", "UpdateContinuousBackups"]


def test_parameters_are_given(tmp_path: Path) -> None:
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


def test_a_template_in_json(tmp_path: Path) -> None:
    properties = {**BODY, "TableName": {"Fn::Sub": ["${a}-${!b}-${AWS::StackName}", {"a": "x"}]}}
    seed = read(tmp_path, {"stack.json": template(properties)})
    assert only(seed)["TableName"] == "x-${b}-faradisc"
    assert str(seed.tables[0].place) == "stack.json:3"


def test_a_table_without_a_name_or_with_an_unknown_one_is_called_as_its_resource(tmp_path: Path) -> None:
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
        ({"KeySchema": "artist"}, "CreateTable.KeySchema has to be a list."),
        ({"KeySchema": [{"AttributeName": "artist"}]}, "CreateTable.KeySchema[0] lacks KeyType."),
        ({"DeletionProtectionEnabled": "maybe"}, "has to be true or false."),
        ({"ProvisionedThroughput": {"ReadCapacityUnits": "x", "WriteCapacityUnits": 1}}, "a whole number."),
        ({"BillingMode": {"Fn::If": ["None", 1, 2]}}, "There is no condition None."),
        ({"BillingMode": {"Fn::Join": ["", 1, 2]}}, "Fn::Join takes a list of 2."),
        ({"BillingMode": {"Fn::Select": [5, ["a"]]}}, "Fn::Select asks for what is not in its list."),
        ({"BillingMode": {"Fn::FindInMap": ["a", "b", "c"]}}, "The mappings have no a.b.c."),
    ],
)
def test_mistakes_in_a_template(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    found = template({**BODY, **change}, Parameters={"P": {"Type": "String"}})
    (fault,) = faults(read(tmp_path, {"stack.json": found}))
    assert fault.startswith("stack.json:3: Music: ")
    assert text in fault


def test_simple_and_global_tables(tmp_path: Path) -> None:
    simple = template({"PrimaryKey": {"Name": "n", "Type": "Number"}}, "AWS::Serverless::SimpleTable")
    assert only(read(tmp_path, {"stack.json": simple})) == {
        "TableName": "Music",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    replicated = {**BODY, "BillingMode": "PROVISIONED", "Replicas": [{"Region": "eu-west-1"}]}
    seed = read(tmp_path, {"stack.json": template(replicated, "AWS::DynamoDB::GlobalTable")})
    assert only(seed)["BillingMode"] == "PAY_PER_REQUEST"
    assert seed.tables[0].notes == [
        "Replicas is left out",
        "a global table's provisioned throughput is left out: it is on demand",
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
"""Twelve lines, each of which says the one before nine times."""


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.json", '{\n"a": }', "a.json:2: no JSON: Expecting value"),
        ("a.json", "{}", "a.json:1: neither a request of CreateTable"),
        ("a.yaml", "a:\n  - b\n c", "a.yaml:3: no YAML: "),
        ("a.yml", "a: 1", "a.yml:1: no CloudFormation template: it has no Resources."),
        ("a.yaml", "a: &x [*x]", "a.yaml:1: no YAML: maximum recursion depth exceeded"),
        ("a.yaml", BILLIONS, "a.yaml:1: no YAML: its aliases stand for too much"),
        ("a.json", "[" * 100_000, "a.json:1: it is nested too deeply."),
        ("a.yaml", "Resources: {}\nConditions: []\n", ""),
        ("a.yaml", "Resources: {}\nMappings: [1]\n", "a.yaml:1: Mappings has to be a map."),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, text: str, fault: str) -> None:
    found = faults(read(tmp_path, {name: text}))
    assert [each[: len(fault)] for each in found] == ([fault] if fault else [])


def test_a_file_that_is_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff"}')
    assert faults(read_seed(tmp_path)) == ["a.json:1: the file is no UTF-8: invalid start byte at byte 7"]


# --- Terraform -----------------------------------------------------------------------------------

TERRAFORM = """\
# The tables of the shop.
variable "stage" {
  default = "dev"
}
variable "owner" {}
locals {
  prefix = lower("Shop-${var.stage}")
  shared = { team = "a", size = 3 }
}
resource "aws_s3_bucket" "b" {
  bucket = "x"
}

resource "aws_dynamodb_table" "orders" {
  name           = "${local.prefix}-orders"
  read_capacity  = var.stage == "prod" ? 50 : 5
  write_capacity = 6
  hash_key       = "customer"
  range_key      = "at"
  stream_enabled = true
  deletion_protection_enabled = false

  attribute {
    name = "customer"
    type = "S"
  }
  attribute {
    name = "at"
    type = "N"
  }
  global_secondary_index {
    name               = "by-time"
    hash_key           = "at"
    projection_type    = "INCLUDE"
    non_key_attributes = ["total", "${var.stage}-x"]
    read_capacity      = 1
    write_capacity     = 2
  }
  local_secondary_index {
    name            = "local"
    range_key       = "total"
    projection_type = "KEYS_ONLY"
  }
  ttl {
    attribute_name = "until"
    enabled        = true
  }
  point_in_time_recovery {
    enabled                 = true
    recovery_period_in_days = 7
  }
  server_side_encryption {
    enabled = true
  }
  tags = {
    Team = local.shared.team
    Name = join("-", ["a", var.stage])
  }
  lifecycle {
    ignore_changes = [read_capacity]
  }
}

resource "aws_dynamodb_table_item" "first" {
  table_name = aws_dynamodb_table.orders.name
  hash_key   = aws_dynamodb_table.orders.hash_key
  item       = <<ITEM
{
  "customer": {"S": "c1"},
  "at": {"N": "1"}
}
ITEM
}
"""


def test_a_configuration(tmp_path: Path) -> None:
    seed = read(tmp_path, {"main.tf": TERRAFORM})
    assert only(seed) == {
        "TableName": "shop-dev-orders",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "at", "KeyType": "RANGE"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-time",
                "KeySchema": [{"AttributeName": "at", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total", "dev-x"]},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
            }
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "local",
                "KeySchema": [
                    {"AttributeName": "customer", "KeyType": "HASH"},
                    {"AttributeName": "total", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Tags": [{"Key": "Team", "Value": "a"}, {"Key": "Name", "Value": "a-dev"}],
        "DeletionProtectionEnabled": False,
    }
    (table,) = seed.tables
    assert str(table.place) == "main.tf:14"
    assert table.notes == ["server_side_encryption is left out"]
    assert table.later[1][1]["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 7
    (item,) = seed.items
    assert (item.table_name, str(item.place)) == ("shop-dev-orders", "main.tf:64")
    assert item.item == {"customer": {"S": "c1"}, "at": {"N": "1"}}


def test_variables_are_given_and_may_stand_in_another_file(tmp_path: Path) -> None:
    first, second = TERRAFORM.split("resource", 1)
    seed = read(tmp_path, {"z.tf": first, "main.tf": "resource" + second}, stage="Prod")
    assert seed.tables[0].name == "shop-prod-orders"


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    seed = read(tmp_path, {"a.tf": small('  name = "x-${random_id.r.hex}"')})
    assert only(seed)["TableName"] == "t"
    assert seed.tables[0].notes == ["its name depends on random_id.r.hex, so it is called t"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("  for_each = toset([])", "for_each is not worked out; write the tables and blocks out."),
        ("  count = 2", "count is not worked out"),
        ('  dynamic "attribute" {\n for_each = []\n content {}\n }', "dynamic is not worked out"),
        ("  stream_enabled = var.unset", "stream_enabled depends on var.unset, which the files do not say"),
        ('  colour = "red"', "a table has no argument colour."),
        ("  tags = { a = [] }", "CreateTable.Tags[0].Value has to be a text."),
    ],
)
def test_mistakes_in_a_configuration(tmp_path: Path, body: str, text: str) -> None:
    (fault,) = faults(read(tmp_path, {"a.tf": small(body)}))
    assert fault.startswith("a.tf:2: t: ")
    assert text in fault


def test_one_of_a_count_of_one(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"a.tf": small("  count = 1")}))["TableName"] == "t"


def test_a_file_that_is_no_terraform(tmp_path: Path) -> None:
    (fault,) = faults(read(tmp_path, {"a.tf": 'resource "a" "b" {\n  x = = 1\n}\n'}))
    assert fault.startswith("a.tf:2: no Terraform: Unexpected token")


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    (fault,) = faults(read(tmp_path, {"a.tf": small("")}))
    assert fault.startswith("a.tf:1: reading .tf needs python-hcl2: pip install 'faradisc[seed]'")


def test_a_configuration_in_json_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    document = {
        "variable": {"stage": {"default": "dev"}},
        "resource": {
            "aws_dynamodb_table": {
                "t": {
                    "name": "${var.stage}-t",
                    "billing_mode": "PAY_PER_REQUEST",
                    "hash_key": "p",
                    "attribute": [{"name": "p", "type": "S"}],
                    "ttl": {"attribute_name": "until", "enabled": True},
                }
            }
        },
    }
    seed = read(tmp_path, {"a.tf.json": json.dumps(document, indent=1)})
    assert only(seed)["TableName"] == "dev-t"
    assert seed.tables[0].place.line == 9
    assert [operation for operation, _ in seed.tables[0].later] == ["UpdateTimeToLive"]
    assert faults(read(tmp_path, {"a.tf.json": "[]"})) == [
        "a.tf.json:1: a configuration in JSON is an object."
    ]


# --- The directory -------------------------------------------------------------------------------


def test_what_is_found_twice(tmp_path: Path) -> None:
    text = json.dumps(REQUEST)
    files = {"a.json": text, "b.json": text, "items/music.json": "[]", "items/music.csv": "artist\n"}
    assert faults(read(tmp_path, files)) == [
        "b.json:1: the table music is defined already, in a.json:1.",
        "items/music.json:1: the items of music are in items/music.csv already.",
    ]


def test_other_files_are_left_alone_but_not_among_the_items(tmp_path: Path) -> None:
    files = {"README.md": "x", "lib/x.json": "{", "items/music.xml": "", "items/.keep": ""}
    assert faults(read(tmp_path, files)) == [
        "items/music.xml:1: items are read from .json, .jsonl, .ndjson, .csv."
    ]


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    assert faults(read_seed(tmp_path / "none"))[0].endswith(": there is no such directory.")
