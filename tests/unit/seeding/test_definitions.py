"""Definitions become CreateTable requests; errors have the line of the definition."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.seeding import read_seed
from unit.seeding.seed_files import REQUEST, errors, only, read, small

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
    }
    (table,) = seed.tables
    assert str(table.location) == "stack.yaml:19"
    assert table.notes == ["SSESpecification is ignored"]
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
    replicated = {**BODY, "BillingMode": "PROVISIONED", "Replicas": [{"Region": "eu-west-1"}]}
    seed = read(tmp_path, {"stack.json": template(replicated, "AWS::DynamoDB::GlobalTable")})
    assert only(seed)["BillingMode"] == "PAY_PER_REQUEST"
    assert seed.tables[0].notes == [
        "Replicas is ignored",
        "the provisioned throughput of a global table is ignored: it is on demand",
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


# --- Terraform -----------------------------------------------------------------------------------

TERRAFORM = """\
# The tables of the shop.
variable "stage" {
  default = "dev"
}
resource "aws_s3_bucket" "b" {
  bucket = "x-${var.stage}"
}

resource "aws_dynamodb_table" "orders" {
  name           = "shop-orders"
  read_capacity  = 5
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
    non_key_attributes = ["total", "$${x}"]
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
    enabled     = true
    kms_key_arn = aws_kms_key.k.arn
  }
  tags = {
    Team = "a"
    Name = "b"
  }
  lifecycle {
    ignore_changes = [read_capacity]
  }
}

resource "aws_dynamodb_table_item" "first" {
  table_name = "shop-orders"
  hash_key   = "customer"
  item       = <<ITEM
{
  "customer": {"S": "c1"},
  "at": {"N": "1"}
}
ITEM
}
"""
ORDERS = {
    "TableName": "shop-orders",
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
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total", "${x}"]},
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
    "Tags": [{"Key": "Team", "Value": "a"}, {"Key": "Name", "Value": "b"}],
    "DeletionProtectionEnabled": False,
}
FIRST: dict[str, Any] = {"customer": {"S": "c1"}, "at": {"N": "1"}}


def test_literal_configuration(tmp_path: Path) -> None:
    seed = read(tmp_path, {"main.tf": TERRAFORM})
    assert only(seed) == ORDERS
    (table,) = seed.tables
    assert str(table.location) == "main.tf:9"
    assert table.notes == ["server_side_encryption is ignored"]
    assert table.later[1][1]["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 7
    (item,) = seed.items
    assert (item.table_name, str(item.location)) == ("shop-orders", "main.tf:60")
    assert item.item == FIRST


SHOWN_VALUES = {
    "arn": "arn:aws:dynamodb:us-east-1:123456789012:table/shop-orders",
    "attribute": [{"name": "customer", "type": "S"}, {"name": "at", "type": "N"}],
    "billing_mode": "PROVISIONED",
    "deletion_protection_enabled": False,
    "global_secondary_index": [
        {
            "hash_key": "at",
            "name": "by-time",
            "non_key_attributes": ["total", "${x}"],
            "on_demand_throughput": [],
            "projection_type": "INCLUDE",
            "range_key": "",
            "read_capacity": 1,
            "write_capacity": 2,
        }
    ],
    "hash_key": "customer",
    "id": "shop-orders",
    "import_table": [],
    "local_secondary_index": [
        {"name": "local", "non_key_attributes": None, "projection_type": "KEYS_ONLY", "range_key": "total"}
    ],
    "name": "shop-orders",
    "on_demand_throughput": [],
    "point_in_time_recovery": [{"enabled": True, "recovery_period_in_days": 7}],
    "range_key": "at",
    "read_capacity": 5,
    "replica": [],
    "restore_date_time": None,
    "server_side_encryption": [],
    "stream_arn": "arn:aws:dynamodb:us-east-1:123456789012:table/shop-orders/stream/x",
    "stream_enabled": True,
    "stream_view_type": "",
    "table_class": "",
    "tags": {"Team": "a", "Name": "b"},
    "tags_all": {"Team": "a", "Name": "b"},
    "timeouts": None,
    "ttl": [{"attribute_name": "until", "enabled": True}],
    "write_capacity": 6,
}


def shown(section: str, *resources: dict[str, Any], child: list[dict[str, Any]] | None = None) -> str:
    """Returns the output of `terraform show -json` for a state (values) or a plan (planned_values)."""
    module: dict[str, Any] = {"resources": list(resources)}
    if child:
        module["child_modules"] = [{"address": "module.m", "resources": child}]
    document = {"format_version": "1.0", "terraform_version": "1.9.5", section: {"root_module": module}}
    return json.dumps(document, indent=1)


def resource(kind: str, name: str, values: dict[str, Any], prefix: str = "", **more: Any) -> dict[str, Any]:
    address = f"{prefix}{kind}.{name}"
    return {"address": address, "mode": "managed", "type": kind, "name": name, "values": values, **more}


@pytest.mark.parametrize("section", ["values", "planned_values"])
def test_output_of_terraform_show(tmp_path: Path, section: str) -> None:
    table = resource("aws_dynamodb_table", "orders", SHOWN_VALUES)
    bucket = resource("aws_s3_bucket", "b", {"bucket": "x"})
    values = {"table_name": "shop-orders", "hash_key": "customer", "item": json.dumps(FIRST)}
    item = resource("aws_dynamodb_table_item", "first", values, "module.m.")
    text = shown(section, table, bucket, child=[item])
    seed = read(tmp_path, {"state.json": text})
    assert only(seed) == ORDERS
    assert seed.tables[0].notes == []
    lines = text.splitlines()
    assert lines[seed.tables[0].location.line - 1].strip() == '"address": "aws_dynamodb_table.orders",'
    assert [(found.table_name, found.item) for found in seed.items] == [("shop-orders", FIRST)]
    assert [operation for operation, _ in seed.tables[0].later] == [
        "UpdateTimeToLive",
        "UpdateContinuousBackups",
    ]


def test_table_of_several_instances_in_a_plan(tmp_path: Path) -> None:
    """A plan has the instances of count and for_each one by one; a name known after apply is missing."""
    values = {"billing_mode": "PAY_PER_REQUEST", "hash_key": "p", "attribute": [{"name": "p", "type": "S"}]}
    tables = [resource("aws_dynamodb_table", "t", {**values, "name": f"t{n}"}, index=n) for n in range(2)]
    unnamed = resource("aws_dynamodb_table", "u", values)
    seed = read(tmp_path, {"plan.json": shown("planned_values", *tables, unnamed)})
    assert [table.name for table in seed.tables] == ["t0", "t1", "u"]
    assert seed.tables[2].notes == ["its name is not known, so it is called u"]


@pytest.mark.parametrize(
    ("body", "line", "text"),
    [
        ("  for_each = toset(data.x.y)", 9, "t: for_each has the expression ${toset(data.x.y)}"),
        ("  count = var.unset", 9, "t: count has the expression ${var.unset}"),
        (
            '  dynamic "attribute" {\n for_each = var.unset\n content {}\n }',
            9,
            "t: dynamic attribute has the expression ${var.unset}",
        ),
        ("  stream_enabled = var.unset", 9, "t: stream_enabled has the expression ${var.unset}"),
        ('  name = "x-${var.stage}"', 9, "t: name has the expression ${var.stage}"),
        ('\n  name = var.prod ? "a" : "b:c"', 10, 't: name has the expression ${var.prod ? "a" : "b:c"}'),
        ('  name = "%{ if var.a }x%{ endif }"', 9, "t: name has the expression %{ if var.a }x"),
        ("  tags = { a = local.b }", 9, "t: tags has the expression ${local.b}"),
        ("  ttl {\n    enabled = local.x\n  }", 9, "t: ttl has the expression ${local.x}"),
    ],
)
def test_expression_is_an_error_with_line_and_remedy(tmp_path: Path, body: str, line: int, text: str) -> None:
    (error,) = errors(read(tmp_path, {"a.tf": small(body)}))
    assert error.startswith(f"a.tf:{line}: {text}")
    assert error.endswith(
        "; its value is not known without Terraform; put the output of `terraform show -json` into the "
        "directory instead."
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('  colour = "red"', "t: a table has no argument colour."),
        ("  tags = { a = [] }", "CreateTable.Tags[0].Value must be a string."),
    ],
)
def test_mistakes_in_a_configuration(tmp_path: Path, body: str, text: str) -> None:
    assert errors(read(tmp_path, {"a.tf": small(body)})) == [f"a.tf:2: {text}"]


def test_count_of_one_is_literal(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"a.tf": small("  count = 1")}))["TableName"] == "t"


def test_file_that_is_no_terraform(tmp_path: Path) -> None:
    """A mistake in a table is an error; one elsewhere is a note, and hides no table."""
    wrong = 'resource "aws_dynamodb_table" "b" {\n  x = = 1\n}\n'
    (error,) = errors(read(tmp_path, {"a.tf": wrong}))
    assert error.startswith("a.tf:2: not valid Terraform: Unexpected token")
    seed = read(tmp_path, {"a.tf": small("") + 'resource "a" "b" {\n  x = = 1\n}\n'})
    assert only(seed)["TableName"] == "t"
    (note,) = seed.notes
    assert note.startswith("a.tf:12: a block without a table is ignored: not valid Terraform: Unexpected")


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    (error,) = errors(read(tmp_path, {"a.tf": small("")}))
    assert error.startswith("a.tf:1: reading .tf needs python-hcl2: pip install 'faradisc[seed]'")


def test_configuration_in_json_needs_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    body = {
        "name": "dev-t",
        "billing_mode": "PAY_PER_REQUEST",
        "hash_key": "p",
        "attribute": [{"name": "p", "type": "S"}],
        "ttl": {"attribute_name": "until", "enabled": True},
    }
    document: dict[str, Any] = {"resource": {"aws_dynamodb_table": {"t": body}}}
    seed = read(tmp_path, {"a.tf.json": json.dumps(document, indent=1)})
    assert only(seed)["TableName"] == "dev-t"
    assert seed.tables[0].location.line == 4
    assert [operation for operation, _ in seed.tables[0].later] == ["UpdateTimeToLive"]
    body["name"] = "${var.stage}-t"
    (error,) = errors(read(tmp_path, {"a.tf.json": json.dumps(document, indent=1)}))
    assert error.startswith("a.tf.json:5: t: name has the expression ${var.stage}-t; its value is not")
    assert errors(read(tmp_path, {"a.tf.json": "[]"})) == [
        "a.tf.json:1: a configuration in JSON must be an object."
    ]


# --- The directory -------------------------------------------------------------------------------


def test_duplicate_tables_and_item_files_are_errors(tmp_path: Path) -> None:
    text = json.dumps(REQUEST)
    files = {"a.json": text, "b.json": text, "items/music.json": "[]", "items/music.csv": "artist\n"}
    assert errors(read(tmp_path, files)) == [
        "b.json:1: the table music is already defined in a.json:1.",
        "items/music.json:1: the items of music are already in items/music.csv.",
    ]


def test_other_files_are_ignored_except_among_the_items(tmp_path: Path) -> None:
    files = {"README.md": "x", "lib/x.json": "{", "items/music.xml": "", "items/.keep": ""}
    assert errors(read(tmp_path, files)) == [
        "items/music.xml:1: items are read from .json, .jsonl, .ndjson, .csv, .ion, also with .gz or .zst."
    ]


def test_missing_directory(tmp_path: Path) -> None:
    assert errors(read_seed(tmp_path / "none"))[0].endswith(": the directory does not exist.")
