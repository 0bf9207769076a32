"""A table from a request of CreateTable, or from what DescribeTable answers about one."""

from __future__ import annotations

from typing import Any

from faradisc.tools.seeding.plan import Place, SeedError, TableSeed, take
from faradisc.tools.seeding.shapes import fitted


def from_request(request: dict[str, Any], place: Place) -> TableSeed:
    """Raises SeedError."""
    return TableSeed(place, fitted("CreateTable", request))


def from_description(description: dict[str, Any], place: Place) -> TableSeed:
    """A table like the one that was described. Raises SeedError."""
    summary = description.get("BillingModeSummary") or {}
    request = take(description, "TableName", "AttributeDefinitions", "KeySchema", "OnDemandThroughput")
    on_demand = summary.get("BillingMode") == "PAY_PER_REQUEST"
    request["BillingMode"] = "PAY_PER_REQUEST" if on_demand else "PROVISIONED"
    if not on_demand:
        request["ProvisionedThroughput"] = _units(description)
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        if description.get(kind):
            request[kind] = [_index(each, kind, on_demand) for each in description[kind]]
    if description.get("VectorIndexes"):
        names = (
            "IndexName",
            "VectorAttribute",
            "Dimensions",
            "DistanceFunction",
            "Projection",
            "SearchSchema",
        )
        request["VectorIndexes"] = [take(each, *names) for each in description["VectorIndexes"]]
    if description.get("StreamSpecification", {}).get("StreamEnabled"):
        request["StreamSpecification"] = description["StreamSpecification"]
    if "DeletionProtectionEnabled" in description:
        request["DeletionProtectionEnabled"] = description["DeletionProtectionEnabled"]
    if "TableClass" in description.get("TableClassSummary", {}):
        request["TableClass"] = description["TableClassSummary"]["TableClass"]
    return TableSeed(place, fitted("CreateTable", request))


def _index(described: dict[str, Any], kind: str, on_demand: bool) -> dict[str, Any]:
    index = take(described, "IndexName", "KeySchema", "Projection")
    if kind == "GlobalSecondaryIndexes" and not on_demand:
        index["ProvisionedThroughput"] = _units(described)
    return index


def _units(described: dict[str, Any]) -> dict[str, Any]:
    units = described.get("ProvisionedThroughput")
    if not isinstance(units, dict):
        raise SeedError("A provisioned table or index lacks ProvisionedThroughput.")
    return take(units, "ReadCapacityUnits", "WriteCapacityUnits")
