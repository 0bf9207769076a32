"""The definition of a table: as requests that make another, as CloudFormation, Terraform, boto3. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import Any, Final

from faradisc.records import dataclass, field
from faradisc.tools.console.changes import Call
from faradisc.tools.console.money import is_on_demand

_METHOD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(slots=True)
class NewTable:
    """What a table is made of, without its items."""

    create: dict[str, Any]
    """The CreateTable request."""
    expiry: str = ""
    """The time-to-live attribute; empty for none."""
    recovery: bool = False
    """Whether it has point-in-time recovery."""
    tags: Sequence[Mapping[str, str]] = field(default_factory=list)

    @property
    def later(self) -> list[Call]:
        """The requests that an active table needs besides."""
        table, calls = {"TableName": self.create["TableName"]}, list[Call]()
        if self.expiry:
            wanted = {"Enabled": True, "AttributeName": self.expiry}
            calls.append(("UpdateTimeToLive", {**table, "TimeToLiveSpecification": wanted}))
        if self.recovery:
            on = {"PointInTimeRecoveryEnabled": True}
            calls.append(("UpdateContinuousBackups", {**table, "PointInTimeRecoverySpecification": on}))
        return calls


def definition_of(
    described: Mapping[str, Any],
    expiry: str,
    recovery: bool,
    tags: Sequence[Mapping[str, str]],
    name: str = "",
) -> NewTable:
    """Returns the definition of a described table. name: another one than the table's."""
    on_demand = is_on_demand(described)
    request: dict[str, Any] = {
        "TableName": name or described["TableName"],
        "AttributeDefinitions": described["AttributeDefinitions"],
        "KeySchema": described["KeySchema"],
        "BillingMode": "PAY_PER_REQUEST" if on_demand else "PROVISIONED",
    }
    if not on_demand:
        request["ProvisionedThroughput"] = _units(described)
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        found = [
            {member: each[member] for member in ("IndexName", "KeySchema", "Projection")}
            | ({"ProvisionedThroughput": _units(each)} if kind[0] == "G" and not on_demand else {})
            for each in described.get(kind, ())
        ]
        request |= {kind: found} if found else {}
    if described.get("StreamSpecification", {}).get("StreamEnabled"):
        request["StreamSpecification"] = dict(described["StreamSpecification"])
    if described.get("DeletionProtectionEnabled"):
        request["DeletionProtectionEnabled"] = True
    if described.get("TableClassSummary", {}).get("TableClass"):
        request["TableClass"] = described["TableClassSummary"]["TableClass"]
    if tags:
        request["Tags"] = [dict(each) for each in tags]
    return NewTable(request, expiry, recovery, tags)


def _units(described: Mapping[str, Any]) -> dict[str, int]:
    given = described.get("ProvisionedThroughput", {})
    return {name: given.get(name, 1) for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def boto3_definition(wanted: NewTable, endpoint: str | None, region: str) -> str:
    """Returns a Python script that makes the table."""
    where = f", endpoint_url={endpoint!r}" if endpoint else ""
    lines = ["import boto3", "", f"client = boto3.client('dynamodb', region_name={region!r}{where})"]
    for at, (operation, request) in enumerate([("CreateTable", wanted.create), *wanted.later]):
        arguments = "".join(
            f"    {name}={pformat(value, width=92, sort_dicts=False)},\n".replace("\n", "\n    ").rstrip(" ")
            for name, value in request.items()
        )
        lines.append(f"client.{_METHOD.sub('_', operation).lower()}(\n{arguments})")
        if at == 0:
            lines.append(f"client.get_waiter('table_exists').wait(TableName={request['TableName']!r})")
    return "\n".join(lines) + "\n"


def _resource(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", name) or "Table"


def cloudformation(wanted: NewTable) -> str:
    """Returns a template with the table, in JSON."""
    properties = dict(wanted.create)
    stream = properties.pop("StreamSpecification", None)
    if stream:
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    if wanted.expiry:
        properties["TimeToLiveSpecification"] = {"AttributeName": wanted.expiry, "Enabled": True}
    if wanted.recovery:
        properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    table = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "Properties": properties}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {_resource(properties["TableName"]): table},
    }
    return json.dumps(template, indent=2, ensure_ascii=False) + "\n"


def terraform(wanted: NewTable) -> str:
    """Returns a configuration with the table."""
    request = wanted.create
    keys = {each["KeyType"]: each["AttributeName"] for each in request["KeySchema"]}
    body: list[tuple[str, Any]] = [("name", request["TableName"]), ("billing_mode", request["BillingMode"])]
    body += _capacity(request)
    body.append(("hash_key", keys["HASH"]))
    body += [("range_key", keys["RANGE"])] if "RANGE" in keys else []
    stream = request.get("StreamSpecification")
    if stream:
        body += [("stream_enabled", True), ("stream_view_type", stream["StreamViewType"])]
    if request.get("DeletionProtectionEnabled"):
        body.append(("deletion_protection_enabled", True))
    if "TableClass" in request:
        body.append(("table_class", request["TableClass"]))
    for each in request["AttributeDefinitions"]:
        body.append(("attribute", {"name": each["AttributeName"], "type": each["AttributeType"]}))
    for kind, block in (("GlobalSecondaryIndexes", "global"), ("LocalSecondaryIndexes", "local")):
        for index in request.get(kind, ()):
            body.append((f"{block}_secondary_index", dict(_index(index, block))))
    if wanted.expiry:
        body.append(("ttl", {"attribute_name": wanted.expiry, "enabled": True}))
    if wanted.recovery:
        body.append(("point_in_time_recovery", {"enabled": True}))
    lines = [f'resource "aws_dynamodb_table" "{_resource(request["TableName"]).lower()}" {{']
    for name, value in body:
        if isinstance(value, dict):
            lines += [f"  {name} {{", *(f"    {n} = {_hcl(v)}" for n, v in value.items()), "  }"]
        else:
            lines.append(f"  {name} = {_hcl(value)}")
    if wanted.tags:
        lines += ["  tags = {", *(f"    {_hcl(t['Key'])} = {_hcl(t['Value'])}" for t in wanted.tags), "  }"]
    return "\n".join([*lines, "}"]) + "\n"


def _capacity(resource: Mapping[str, Any]) -> list[tuple[str, int]]:
    units = resource.get("ProvisionedThroughput")
    if not units:
        return []
    return [("read_capacity", units["ReadCapacityUnits"]), ("write_capacity", units["WriteCapacityUnits"])]


def _index(index: Mapping[str, Any], kind: str) -> list[tuple[str, Any]]:
    keys = {each["KeyType"]: each["AttributeName"] for each in index["KeySchema"]}
    found: list[tuple[str, Any]] = [("name", index["IndexName"])]
    found += [("hash_key", keys["HASH"])] if kind == "global" else []
    found += [("range_key", keys["RANGE"])] if "RANGE" in keys else []
    found.append(("projection_type", index["Projection"]["ProjectionType"]))
    if index["Projection"].get("NonKeyAttributes"):
        found.append(("non_key_attributes", index["Projection"]["NonKeyAttributes"]))
    return found + _capacity(index)


def _hcl(value: Any) -> str:
    """Returns a literal; `${` and `%{` are written so that they are text."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("${", "$${").replace("%{", "%%{")
