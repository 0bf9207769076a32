"""A table from a CreateTable request or an answer of DescribeTable."""

from __future__ import annotations

from typing import Any

from faradisc.tools.readers.seed import Location, SeedError, TableSeed, select
from faradisc.tools.readers.shapes import fitted


def from_request(request: dict[str, Any], location: Location) -> TableSeed:
    """Raises SeedError."""
    return TableSeed(location, fitted("CreateTable", request))


def from_description(description: dict[str, Any], location: Location) -> TableSeed:
    """Returns a table with the settings of a TableDescription. Raises SeedError."""
    for name in ("BillingModeSummary", "StreamSpecification", "TableClassSummary", "SSEDescription"):
        if not isinstance(description.get(name) or {}, dict):
            raise SeedError(f"{name} must be an object.")
    for name in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes"):
        indexes = description.get(name) or []
        if not isinstance(indexes, list) or not all(isinstance(each, dict) for each in indexes):
            raise SeedError(f"{name} must be a list of objects.")
    summary = description.get("BillingModeSummary") or {}
    request = select(description, "TableName", "AttributeDefinitions", "KeySchema", "OnDemandThroughput")
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
        request["VectorIndexes"] = [select(each, *names) for each in description["VectorIndexes"]]
    if description.get("StreamSpecification", {}).get("StreamEnabled"):
        request["StreamSpecification"] = description["StreamSpecification"]
    if "DeletionProtectionEnabled" in description:
        request["DeletionProtectionEnabled"] = description["DeletionProtectionEnabled"]
    if "TableClass" in description.get("TableClassSummary", {}):
        request["TableClass"] = description["TableClassSummary"]["TableClass"]
    encryption = description.get("SSEDescription") or {}
    if encryption.get("Status") in ("ENABLED", "UPDATING") and encryption.get("SSEType") == "KMS":
        request["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
        if "KMSMasterKeyArn" in encryption:
            request["SSESpecification"]["KMSMasterKeyId"] = encryption["KMSMasterKeyArn"]
    return TableSeed(location, fitted("CreateTable", request))


def _index(described: dict[str, Any], kind: str, on_demand: bool) -> dict[str, Any]:
    index = select(described, "IndexName", "KeySchema", "Projection", "OnDemandThroughput")
    if kind == "GlobalSecondaryIndexes" and not on_demand:
        index["ProvisionedThroughput"] = _units(described)
    return index


def _units(described: dict[str, Any]) -> dict[str, Any]:
    units = described.get("ProvisionedThroughput")
    if not isinstance(units, dict):
        raise SeedError("ProvisionedThroughput of a provisioned table or index is missing.")
    return select(units, "ReadCapacityUnits", "WriteCapacityUnits")
