"""NoSQL Workbench models: tables, indexes, capacity with auto scaling, and their sample items.

Source: models that NoSQL Workbench 3 exports, `ModelMetadata.Version` 2.0 and 3.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from faradisc.tools.readers.attached import scaling_requests
from faradisc.tools.readers.cloudformation import check_members, maps_of
from faradisc.tools.readers.seed import (
    InlineItem,
    LocatedError,
    Location,
    Seed,
    SeedError,
    TableSeed,
    line_of,
)
from faradisc.tools.readers.shapes import fitted

_TABLE = frozenset(
    {"TableName", "KeyAttributes", "NonKeyAttributes", "TableFacets", "GlobalSecondaryIndexes", "TableData"}
    | {
        "LocalSecondaryIndexes",
        "DataAccess",
        "SampleDataFormats",
        "BillingMode",
        "ProvisionedCapacitySettings",
    }
)
_INDEX = frozenset(
    {"IndexName", "KeyAttributes", "Projection", "SampleDataFormats", "ProvisionedCapacitySettings"}
)
_POLICIES = (("AutoScalingRead", "Read"), ("AutoScalingWrite", "Write"))


def read_model(document: Mapping[str, Any], text: str, file: str) -> Seed:
    """Returns the tables of a model and their sample items, with all errors."""
    seed = Seed()
    for body in document["DataModel"]:
        name = body.get("TableName") if isinstance(body, Mapping) else None
        location = Location(file, line_of(text, rf'"TableName"\s*:\s*{re.escape(json.dumps(name))}'))
        try:
            if not isinstance(body, Mapping):
                raise SeedError("a table of a model must be an object.")
            seed.tables.append(_table(body, location))
            items = body.get("TableData") or []
            if not isinstance(items, list):
                raise SeedError("TableData must be a list.")
            seed.items += [InlineItem(location, str(name), item) for item in items]
        except SeedError as error:
            seed.errors.append(LocatedError(location, f"{name}: {error.text}"))
    return seed


def _table(body: Mapping[str, Any], location: Location) -> TableSeed:
    check_members("a table of a model", body, _TABLE)
    attributes: dict[str, str] = {}
    request: dict[str, Any] = {"TableName": body.get("TableName"), "KeySchema": _key(body, attributes)}
    # Models of before version 3 have no mode, and no capacity either.
    provisioned = body.get("BillingMode", "PAY_PER_REQUEST") == "PROVISIONED"
    request["BillingMode"] = "PROVISIONED" if provisioned else "PAY_PER_REQUEST"
    later: list[tuple[str, dict[str, Any]]] = []
    if provisioned:
        request["ProvisionedThroughput"] = _units(body, f"table/{body.get('TableName')}", "table", later)
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        indexes = []
        for index in maps_of(kind, body.get(kind) or []):
            check_members(f"an index of {kind}", index, _INDEX)
            found = {"IndexName": index.get("IndexName"), "KeySchema": _key(index, attributes)}
            found["Projection"] = index.get("Projection")
            if provisioned and kind == "GlobalSecondaryIndexes":
                target = f"table/{body.get('TableName')}/index/{index.get('IndexName')}"
                inherited = {"ProvisionedThroughput": request["ProvisionedThroughput"]}
                own = {"ProvisionedCapacitySettings": inherited, **index}
                found["ProvisionedThroughput"] = _units(own, target, "index", later)
            indexes.append(found)
        if indexes:
            request[kind] = indexes
    request["AttributeDefinitions"] = [
        {"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()
    ]
    return TableSeed(location, fitted("CreateTable", request), later)


def _key(body: Mapping[str, Any], attributes: dict[str, str]) -> list[dict[str, str]]:
    """Returns a key schema, and adds its attributes with their types."""
    given = body.get("KeyAttributes")
    schema = []
    for member, kind in (("PartitionKey", "HASH"), ("SortKey", "RANGE")):
        found = given.get(member) if isinstance(given, Mapping) else None
        if found is None and member == "SortKey":
            continue
        if not isinstance(found, Mapping) or not isinstance(found.get("AttributeName"), str):
            raise SeedError(f"KeyAttributes.{member} has no AttributeName.")
        name, type_ = found["AttributeName"], found.get("AttributeType")
        if attributes.setdefault(name, str(type_)) != type_:
            raise SeedError(f"the attribute {name} has two types.")
        schema.append({"AttributeName": name, "KeyType": kind})
    return schema


def _units(
    body: Mapping[str, Any], target: str, kind: str, later: list[tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """Returns the provisioned throughput, and adds the requests of its auto scaling."""
    settings = body.get("ProvisionedCapacitySettings")
    if not isinstance(settings, Mapping) or not isinstance(settings.get("ProvisionedThroughput"), Mapping):
        raise SeedError("ProvisionedCapacitySettings has no ProvisionedThroughput.")
    for member, direction in _POLICIES:
        scaling = settings.get(member)
        if not isinstance(scaling, Mapping):
            continue
        limits, policy = scaling.get("ScalableTargetRequest"), scaling.get("ScalingPolicyRequest")
        if not isinstance(limits, Mapping) or not isinstance(policy, Mapping):
            raise SeedError(f"{member} needs a ScalableTargetRequest and a ScalingPolicyRequest.")
        named = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": target,
            "ScalableDimension": f"dynamodb:{kind}:{direction}CapacityUnits",
        }
        bounds = {each: limits[each] for each in ("MinCapacity", "MaxCapacity") if each in limits}
        tracked = {
            "TargetValue": policy.get("TargetValue"),
            "PredefinedMetricSpecification": {
                "PredefinedMetricType": f"DynamoDB{direction}CapacityUtilization"
            },
        }
        wanted = {"PolicyType": "TargetTrackingScaling", "TargetTrackingScalingPolicyConfiguration": tracked}
        later += scaling_requests("target", "", {**named, **bounds})
        later += scaling_requests("policy", f"{target} {direction}", {**named, **wanted})
    return dict(settings["ProvisionedThroughput"])
