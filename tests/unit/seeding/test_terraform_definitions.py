"""Terraform's configurations, plans and states become CreateTable requests; errors have their lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.seeding import read_seed
from unit.seeding.seed_files import REQUEST, errors, only, read, small

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
  warm_throughput {
    read_units_per_second  = 13000
    write_units_per_second = 5000
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
    "SSESpecification": {"Enabled": True, "SSEType": "KMS"},
    "WarmThroughput": {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000},
}
FIRST: dict[str, Any] = {"customer": {"S": "c1"}, "at": {"N": "1"}}


def test_literal_configuration(tmp_path: Path) -> None:
    seed = read(tmp_path, {"main.tf": TERRAFORM})
    assert only(seed) == ORDERS
    (table,) = seed.tables
    assert str(table.location) == "main.tf:9"
    assert table.notes == ["kms_key_arn depends on a deployment, so the table has the key alias/aws/dynamodb"]
    assert table.later[1][1]["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 7
    (item,) = seed.items
    assert (item.table_name, str(item.location)) == ("shop-orders", "main.tf:64")
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
    "server_side_encryption": [{"enabled": True, "kms_key_arn": None}],
    "stream_arn": "arn:aws:dynamodb:us-east-1:123456789012:table/shop-orders/stream/x",
    "stream_enabled": True,
    "stream_view_type": "",
    "table_class": "",
    "tags": {"Team": "a", "Name": "b"},
    "tags_all": {"Team": "a", "Name": "b"},
    "timeouts": None,
    "ttl": [{"attribute_name": "until", "enabled": True}],
    "warm_throughput": [{"read_units_per_second": 13000, "write_units_per_second": 5000}],
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


def test_scaling_and_alarms_of_a_state(tmp_path: Path) -> None:
    """Arguments that are not set are there too: as empty lists, empty texts, and 0."""
    target = {
        "resource_id": "table/shop-orders",
        "scalable_dimension": "dynamodb:table:ReadCapacityUnits",
        "service_namespace": "dynamodb",
    }
    predefined = {"predefined_metric_type": "DynamoDBReadCapacityUtilization", "resource_label": ""}
    configuration = {
        "customized_metric_specification": [],
        "predefined_metric_specification": [predefined],
        "scale_in_cooldown": None,
        "target_value": 70,
    }
    policy = {
        **target,
        "name": "reads",
        "policy_type": "TargetTrackingScaling",
        "step_scaling_policy_configuration": [],
        "target_tracking_scaling_policy_configuration": [configuration],
    }
    alarm = {
        "alarm_name": "throttled",
        "namespace": "AWS/DynamoDB",
        "metric_name": "ReadThrottleEvents",
        "dimensions": {"TableName": "shop-orders"},
        "comparison_operator": "GreaterThanThreshold",
        "evaluation_periods": 1,
        "datapoints_to_alarm": 0,
        "threshold": 0,
        "metric_query": [],
        "extended_statistic": "",
    }
    text = shown(
        "values",
        resource("aws_appautoscaling_policy", "reads", policy),
        resource("aws_appautoscaling_target", "reads", {**target, "min_capacity": 5, "max_capacity": 50}),
        resource("aws_cloudwatch_metric_alarm", "throttled", alarm),
        resource("aws_dynamodb_table", "orders", SHOWN_VALUES),
    )
    seed = read(tmp_path, {"state.json": text})
    assert errors(seed) == []
    requests = dict(seed.tables[0].later)
    assert requests["PutScalingPolicy"]["TargetTrackingScalingPolicyConfiguration"] == {
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
        "TargetValue": 70,
    }
    assert requests["PutMetricAlarm"]["Threshold"] == 0
    assert "DatapointsToAlarm" not in requests["PutMetricAlarm"]


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
    (error,) = errors(read(tmp_path, {"a.tf": small("  # not read before")}))
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
