"""Each kind of file that others publish, in a small shape of its own: what is read, noted and refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.readers.items import read_items
from faradisc.tools.readers.recognising import InputKind, kind_of_file
from faradisc.tools.readers.seed import Line
from unit.seeding.seed_files import REQUEST, errors, only, read, small


def later(seed: Any, operation: str) -> list[dict[str, Any]]:
    return [request for table in seed.tables for name, request in table.later if name == operation]


# --- CloudFormation and SAM ----------------------------------------------------------------------

LOOPS = """\
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::LanguageExtensions
Parameters:
  Names: {Type: CommaDelimitedList, Default: "orders,order-lines"}
Resources:
  Fn::ForEach::Tables:
    - Name
    - !Ref Names
    - "Table&{Name}":
        Type: AWS::DynamoDB::Table
        Properties:
          TableName: !Sub "${AWS::StackName}-${Name}"
          BillingMode: PAY_PER_REQUEST
          AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
          KeySchema: [{AttributeName: id, KeyType: HASH}]
          Fn::ForEach::Settings:
            - Setting
            - [DeletionProtectionEnabled]
            - "${Setting}": true
          Tags: [{Key: of, Value: !Ref Name}]
"""


def test_loops_of_a_template(tmp_path: Path) -> None:
    seed = read(tmp_path, {"stack.yaml": LOOPS})
    assert errors(seed) == []
    assert [table.name for table in seed.tables] == ["faradisc-orders", "faradisc-order-lines"]
    assert [str(table.location) for table in seed.tables] == ["stack.yaml:6", "stack.yaml:6"]
    assert seed.tables[1].request["Tags"] == [{"Key": "of", "Value": "order-lines"}]
    assert seed.tables[0].request["DeletionProtectionEnabled"] is True
    assert [table.name for table in read(tmp_path, {}, Names="a").tables] == ["faradisc-a"]


def test_loop_that_expands_to_too_much_is_an_error(tmp_path: Path) -> None:
    inner: Any = {"T${a}${b}${c}": {"Type": "AWS::DynamoDB::Table", "Properties": REQUEST}}
    for name in "cba":
        inner = {f"Fn::ForEach::{name}": [name, [str(n) for n in range(200)], inner]}
    (error,) = errors(read(tmp_path, {"a.json": json.dumps({"Resources": inner})}))
    assert "its references expand to too much text" in error


SCALED = """\
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: orders
      ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 5}
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      ContributorInsightsSpecification: {Enabled: true}
      ResourcePolicy:
        PolicyDocument:
          Version: "2012-10-17"
          Statement:
            - Effect: Allow
              Principal: {AWS: "000000000000"}
              Action: dynamodb:GetItem
              Resource: arn:aws:dynamodb:us-east-1:000000000000:table/orders
  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ServiceNamespace: dynamodb
      ResourceId: !Sub table/${Orders}
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 5
      MaxCapacity: "100"
      RoleARN: !GetAtt Role.Arn
      ScheduledActions:
        - {ScheduledActionName: night, Schedule: "cron(0 2 * * ? *)", ScalableTargetAction: {MinCapacity: 1}}
  Policy:
    Type: AWS::ApplicationAutoScaling::ScalingPolicy
    Properties:
      PolicyName: reads
      PolicyType: TargetTrackingScaling
      ScalingTargetId: !Ref Target
      TargetTrackingScalingPolicyConfiguration:
        TargetValue: "70.0"
        PredefinedMetricSpecification: {PredefinedMetricType: DynamoDBReadCapacityUtilization}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/DynamoDB
      MetricName: ThrottledRequests
      Dimensions: [{Name: TableName, Value: !Ref Orders}]
      ComparisonOperator: GreaterThanThreshold
      EvaluationPeriods: 2
      Period: 60
      Statistic: Sum
      Threshold: 0
      AlarmActions: [!Ref Topic]
  Topic: {Type: AWS::SNS::Topic}
  Service:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties: {ServiceNamespace: ecs, ResourceId: !Sub "service/${Cluster}/x"}
  Cluster: {Type: AWS::ECS::Cluster}
"""


def test_scaling_alarms_and_policies_of_a_template(tmp_path: Path) -> None:
    seed = read(tmp_path, {"stack.yaml": SCALED})
    assert errors(seed) == []
    (table,) = seed.tables
    assert json.loads(table.request["ResourcePolicy"])["Version"] == "2012-10-17"
    assert [operation for operation, _ in table.later] == [
        "UpdateContributorInsights",
        "RegisterScalableTarget",
        "PutScheduledAction",
        "PutScalingPolicy",
        "PutMetricAlarm",
    ]
    (target,) = later(seed, "RegisterScalableTarget")
    assert target == {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/orders",
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
        "MinCapacity": 5,
        "MaxCapacity": 100,
    }
    (policy,) = later(seed, "PutScalingPolicy")
    assert policy["ResourceId"] == "table/orders"
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 70
    assert table.notes == ["AlarmActions of the alarm Alarm are ignored"]


def test_nested_stacks_of_the_directory(tmp_path: Path) -> None:
    outer = """\
Resources:
  Data:
    Type: AWS::CloudFormation::Stack
    Properties: {TemplateURL: ./data.yaml, Parameters: {Stage: prod}}
  Elsewhere:
    Type: AWS::Serverless::Application
    Properties: {Location: "https://bucket.example/x.yaml"}
  Replica: {Type: "Custom::DynamoDBReplica", Properties: {}}
"""
    data = """\
Parameters: {Stage: {Type: String, Default: dev}}
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-orders"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
"""
    seed = read(tmp_path, {"main.yaml": outer, "data.yaml": data})
    assert only(seed)["TableName"] == "prod-orders"
    assert str(seed.tables[0].location) == "data.yaml:3"
    assert seed.notes == [
        "main.yaml:5: the nested stack Elsewhere is ignored: its template is at https://bucket.example/x.yaml",
        "main.yaml:8: Replica is ignored: Custom::DynamoDBReplica is not read",
    ]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("missing.yaml", "Data: the nested template missing.yaml does not exist."),
        ("../x.yaml", "Data: the nested template ../x.yaml is not in this directory."),
        ("main.json", "Data: the template main.json is nested in itself."),
    ],
)
def test_mistakes_in_nested_stacks(tmp_path: Path, where: str, text: str) -> None:
    stack = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": where}}
    found = read(tmp_path, {"main.json": json.dumps({"Resources": {"Data": stack}})})
    assert errors(found) == [f"main.json:1: {text}"]


def test_unknown_members_are_refused(tmp_path: Path) -> None:
    index = {"IndexName": "i", "KeySchema": [], "Projection": {}, "Colour": 1}
    table = {"Type": "AWS::DynamoDB::Table", "Properties": {**REQUEST, "GlobalSecondaryIndexes": [index]}}
    text = json.dumps({"Resources": {"T": table}})
    assert errors(read(tmp_path, {"a.json": text})) == [
        "a.json:1: T: an index of GlobalSecondaryIndexes has no property Colour."
    ]


def test_condition_on_a_parameter_without_value_names_both(tmp_path: Path) -> None:
    document = {
        "Parameters": {"Env": {"Type": "String"}},
        "Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Env"}, "prod"]}},
        "Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Condition": "IsProd", "Properties": REQUEST}},
    }
    text = json.dumps(document)
    assert errors(read(tmp_path, {"a.json": text})) == [
        "a.json:1: T: The condition IsProd depends on the parameter Env, which has no value; give "
        "--parameter Env=VALUE."
    ]
    assert only(read(tmp_path, {"a.json": text}, Env="prod"))["TableName"] == "music"


# --- serverless.yml ------------------------------------------------------------------------------

SERVERLESS = """\
service: shop
provider:
  name: aws
  stage: ${opt:stage, 'dev'}
custom:
  tables:
    orders: ${self:service}-orders-${sls:stage}
resources:
  - ${file(resources/tables.yml)}
  - Outputs:
      Arn: {Value: !GetAtt Orders.Arn}
functions:
  api: {handler: app.handler, environment: {SECRET: "${ssm:/secret}"}}
"""
INCLUDED = """\
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: ${self:custom.tables.orders}
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
"""


def test_serverless(tmp_path: Path) -> None:
    files = {"serverless.yml": SERVERLESS, "resources/tables.yml": INCLUDED}
    assert only(read(tmp_path, files))["TableName"] == "shop-orders-dev"
    assert only(read(tmp_path, files, stage="prod"))["TableName"] == "shop-orders-prod"


def test_serverless_variable_without_value(tmp_path: Path) -> None:
    text = "service: s\nprovider: {name: aws}\nresources:\n" + "".join(
        f"  {line}\n" for line in INCLUDED.replace("${self:custom.tables.orders}", "x").splitlines()
    )
    text = text.replace("BillingMode: PAY_PER_REQUEST", "BillingMode: ${env:MODE}")
    (error,) = errors(read(tmp_path, {"serverless.yml": text}))
    assert error.startswith(
        "serverless.yml:5: Orders: BillingMode depends on Fn::ServerlessVariable ${env:MODE}"
    )
    assert only(read(tmp_path, {}, MODE="PAY_PER_REQUEST"))["BillingMode"] == "PAY_PER_REQUEST"


# --- Terraform -----------------------------------------------------------------------------------

HCL = """\
variable "stage" {
  default = "dev"
}
locals {
  tables = { orders = "id", lines = "line" }
  prefix = "${var.stage}-shop"
}
resource "aws_dynamodb_table" "each" {
  for_each     = local.tables
  name         = "${local.prefix}-${each.key}"
  billing_mode = var.stage == "prod" ? "PROVISIONED" : "PAY_PER_REQUEST"
  hash_key     = each.value
  dynamic "attribute" {
    for_each = [each.value]
    content {
      name = attribute.value
      type = "S"
    }
  }
  stream_enabled = "false"
  ttl {
    attribute_name = "until"
    enabled        = "false"
  }
  point_in_time_recovery {
    enabled = "false"
  }
  restore_source_name = "x"
}
resource "aws_dynamodb_table" "log" {
  name         = "log"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}
resource "aws_dynamodb_table_item" "first" {
  table_name = aws_dynamodb_table.log.name
  hash_key   = aws_dynamodb_table.log.hash_key
  item       = <<ITEM
{"id": {"S": "1"}}
ITEM   \n}
resource "aws_appautoscaling_target" "reads" {
  max_capacity       = 100
  min_capacity       = 5
  resource_id        = "table/${aws_dynamodb_table.log.name}"
  scalable_dimension = "dynamodb:table:ReadCapacityUnits"
  service_namespace  = "dynamodb"
}
resource "aws_appautoscaling_policy" "reads" {
  name               = "reads:${aws_appautoscaling_target.reads.resource_id}"
  policy_type        = "TargetTrackingScaling"
  resource_id        = aws_appautoscaling_target.reads.resource_id
  scalable_dimension = aws_appautoscaling_target.reads.scalable_dimension
  service_namespace  = aws_appautoscaling_target.reads.service_namespace
  target_tracking_scaling_policy_configuration {
    predefined_metric_specification {
      predefined_metric_type = "DynamoDBReadCapacityUtilization"
    }
    target_value = 70
  }
}
resource "aws_cloudwatch_metric_alarm" "throttled" {
  alarm_name          = "throttled"
  namespace           = "AWS/DynamoDB"
  metric_name         = "ThrottledRequests"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 1
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  dimensions          = { TableName = aws_dynamodb_table.log.name }
  alarm_actions       = [aws_sns_topic.t.arn]
}
resource "aws_dynamodb_tag" "owner" {
  resource_arn = aws_dynamodb_table.log.arn
  key          = "owner"
  value        = "a"
}
resource "aws_dynamodb_table_replica" "r" {
  global_table_arn = aws_dynamodb_table.log.arn
}
resource "aws_appautoscaling_target" "service" {
  resource_id       = "service/${aws_ecs_cluster.c.name}/x"
  service_namespace = "ecs"
}
module "dynamodb_table" {
  source = "terraform-aws-modules/dynamodb-table/aws"
}
"""


def test_terraform_with_expressions_and_resources_beside(tmp_path: Path) -> None:
    pytest.importorskip("hcl2")
    seed = read(tmp_path, {"main.tf": HCL})
    assert errors(seed) == []
    assert [table.name for table in seed.tables] == ["dev-shop-orders", "dev-shop-lines", "log"]
    orders, _, log = seed.tables
    assert orders.request["AttributeDefinitions"] == [{"AttributeName": "id", "AttributeType": "S"}]
    assert "StreamSpecification" not in orders.request
    assert orders.later == []
    assert orders.notes == ["restore_source_name is ignored"]
    assert [operation for operation, _ in log.later] == [
        "RegisterScalableTarget",
        "PutScalingPolicy",
        "PutMetricAlarm",
    ]
    (alarm,) = later(seed, "PutMetricAlarm")
    assert alarm["Dimensions"] == [{"Name": "TableName", "Value": "log"}]
    assert log.request["Tags"] == [{"Key": "owner", "Value": "a"}]
    assert log.notes == ["AlarmActions of the alarm throttled are ignored"]
    assert [(item.table_name, item.item) for item in seed.items] == [("log", {"id": {"S": "1"}})]
    assert [note.partition(": ")[2] for note in seed.notes] == [
        "r is ignored: aws_dynamodb_table_replica is not read",
        "the module dynamodb_table is ignored; put the output of `terraform show -json` into the directory "
        "instead",
    ]
    prod = read(tmp_path, {}, stage="prod")
    assert prod.tables[0].name == "prod-shop-orders"
    assert prod.tables[0].request["BillingMode"] == "PROVISIONED"


def test_terraform_variables_of_other_files(tmp_path: Path) -> None:
    pytest.importorskip("hcl2")
    files = {
        "a.tf": small('  name = "x-${var.stage}"'),
        "variables.tf": 'variable "stage" {\n  default = "dev"\n}\n',
    }
    assert only(read(tmp_path, files))["TableName"] == "x-dev"
    files = {"terraform.tfvars": 'stage = "prod"\n'}
    assert only(read(tmp_path, files))["TableName"] == "x-prod"
    assert only(read(tmp_path, files, stage="given"))["TableName"] == "x-given"


@pytest.mark.parametrize("count", ["0", '"0"', "var.many ? 2 : 0"])
def test_terraform_count(tmp_path: Path, count: str) -> None:
    pytest.importorskip("hcl2")
    more = f'variable "many" {{\n  default = false\n}}\n{small(f"  count = {count}")}'
    seed = read(tmp_path, {"a.tf": more})
    assert (errors(seed), seed.tables) == ([], [])


def test_terraform_index_with_an_unknown_argument(tmp_path: Path) -> None:
    pytest.importorskip("hcl2")
    index = '  global_secondary_index {\n    name = "i"\n    hash_key = "p"\n    colour = 1\n  }'
    assert errors(read(tmp_path, {"a.tf": small(index)})) == [
        "a.tf:2: t: global_secondary_index has no argument colour."
    ]


def test_terraform_index_as_a_resource(tmp_path: Path) -> None:
    pytest.importorskip("hcl2")
    index = """
resource "aws_dynamodb_global_secondary_index" "i" {
  table_name = aws_dynamodb_table.t.name
  index_name = "by-q"
  key_schema {
    attribute_name = "q"
    attribute_type = "N"
    key_type       = "HASH"
  }
  projection {
    projection_type = "ALL"
  }
}
"""
    request = only(read(tmp_path, {"a.tf": small(""), "b.tf": index}))
    assert request["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "by-q",
            "KeySchema": [{"AttributeName": "q", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ]
    assert {"AttributeName": "q", "AttributeType": "N"} in request["AttributeDefinitions"]


# --- NoSQL Workbench, BatchWriteItem -------------------------------------------------------------

MODEL: dict[str, Any] = {
    "ModelName": "Music",
    "ModelMetadata": {"Author": "a", "AWSService": "Amazon DynamoDB", "Version": "3.0"},
    "DataModel": [
        {
            "TableName": "music",
            "KeyAttributes": {
                "PartitionKey": {"AttributeName": "artist", "AttributeType": "S"},
                "SortKey": {"AttributeName": "song", "AttributeType": "S"},
            },
            "NonKeyAttributes": [{"AttributeName": "year", "AttributeType": "N"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-year",
                    "KeyAttributes": {"PartitionKey": {"AttributeName": "year", "AttributeType": "N"}},
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            "TableData": [{"artist": {"S": "a"}, "song": {"S": "b"}, "year": {"N": "1970"}}],
            "TableFacets": [{"FacetName": "x"}],
            "DataAccess": {"MySql": {}},
            "SampleDataFormats": {"artist": ["dataTypes", "String"]},
            "BillingMode": "PROVISIONED",
            "ProvisionedCapacitySettings": {
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
                "AutoScalingRead": {
                    "ScalableTargetRequest": {"MinCapacity": 1, "MaxCapacity": 10, "ServiceRole": "x"},
                    "ScalingPolicyRequest": {"TargetValue": 70},
                },
            },
        }
    ],
}


def test_workbench_model(tmp_path: Path) -> None:
    seed = read(tmp_path, {"model.json": json.dumps(MODEL, indent=2)})
    request = only(seed)
    assert request["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    assert [each["AttributeName"] for each in request["AttributeDefinitions"]] == ["artist", "song", "year"]
    assert request["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert [operation for operation, _ in seed.tables[0].later] == [
        "RegisterScalableTarget",
        "PutScalingPolicy",
    ]
    assert [item.item["year"] for item in seed.items] == [{"N": "1970"}]


BATCH = {"music": [{"PutRequest": {"Item": {"artist": {"S": "a"}}}}]}


@pytest.mark.parametrize("document", [BATCH, [BATCH], {"RequestItems": BATCH}, [{"RequestItems": BATCH}]])
def test_batch_write_item_requests(tmp_path: Path, document: Any) -> None:
    seed = read(tmp_path, {"music.json": json.dumps(REQUEST), "items.json": json.dumps(document)})
    assert errors(seed) == []
    assert [(item.table_name, item.item) for item in seed.items] == [("music", {"artist": {"S": "a"}})]
    path = tmp_path / "music.batch.json"
    path.write_text(json.dumps(document, indent=1))
    assert [each.item for each in read_items(path, {}, "music") if isinstance(each, Line)] == [
        {"artist": {"S": "a"}}
    ]


def test_batch_with_deletes_or_of_another_table_is_refused(tmp_path: Path) -> None:
    delete = {"music": [{"DeleteRequest": {"Key": {"artist": {"S": "a"}}}}]}
    assert errors(read(tmp_path, {"items.json": json.dumps(delete)})) == [
        "items.json:1: music: only requests with PutRequest and Item are read."
    ]
    path = tmp_path / "films.json"
    path.write_text(json.dumps(BATCH))
    assert [str(each) for each in read_items(path, {}, "films")] == [
        "the file has items of the tables music."
    ]


# --- Items ---------------------------------------------------------------------------------------


def test_compressed_items(tmp_path: Path) -> None:
    path = tmp_path / "music.json.gz"
    path.write_bytes(gzip.compress(b'{"Item":{"artist":{"S":"a"}}}\n{"no":1}\n'))
    found = list(read_items(path, {}))
    assert found[0] == Line(1, {"artist": {"S": "a"}})
    assert [str(each) for each in found[1:]] == ["the record has no Item."]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"Item": {"a": {"S": "1"}}}\n', InputKind.EXPORT_LINES),
        (b'{"id": 1}\n{"id": 2}\n', InputKind.ITEM_LINES),
        (b'{\n "Items": [\n]}', InputKind.ITEMS),
        (b'[\n {"id": 1}]', InputKind.ITEMS),
        (json.dumps(MODEL, indent=1).encode(), InputKind.WORKBENCH),
        (json.dumps(BATCH).encode(), InputKind.BATCH),
        (json.dumps(REQUEST, indent=1).encode(), InputKind.TABLES),
        (b'{"Table": {"TableName": "t"}}', InputKind.TABLES),
        (b'{"Resources": {}}', InputKind.CLOUDFORMATION),
        (b'{"MetricDataResults": []}', InputKind.METRICS),
        (b"id,name\n1,a\n", None),
        (b"PAR1xxxx", InputKind.COLUMNS),
        (b"\x1f\x8b\x08", InputKind.COMPRESSED),
        (b"\xff\xfe{\x00", InputKind.OTHER_ENCODING),
        (b"SQLite format 3\x00", InputKind.OTHER_BINARY),
        (b"$ion_1_0 {}", InputKind.ION),
        (b"", None),
    ],
)
def test_kind_by_first_bytes_and_structure(tmp_path: Path, content: bytes, kind: InputKind | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert kind_of_file(path) is kind


def test_all_kinds_in_one_directory_make_what_they_say(tmp_path: Path) -> None:
    """The requests that belong to tables are accepted by the services, not only read."""
    pytest.importorskip("hcl2")
    from faradisc.local import LocalDatabase  # noqa: PLC0415 - patches botocore

    files = {"stack.yaml": SCALED, "model.json": json.dumps(MODEL), "main.tf": HCL}
    assert errors(read(tmp_path, files)) == []
    database = LocalDatabase()
    database.seed(tmp_path)
    scaling = database.client("application-autoscaling")
    targets = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert [each["ResourceId"] for each in targets] == ["table/log", "table/music", "table/orders"]
    policies = scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert len(policies) == 3
    alarms = database.client("cloudwatch").describe_alarms()["MetricAlarms"]
    # A policy has its own two alarms.
    assert {"Alarm", "throttled"} <= {each["AlarmName"] for each in alarms}
    assert database.client().scan(TableName="music")["Count"] == 1
    assert database.client().scan(TableName="log")["Count"] == 1
