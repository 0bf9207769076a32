"""Tables of CloudFormation templates: AWS::DynamoDB::Table, ::GlobalTable and AWS::Serverless::SimpleTable.

A table has the properties of CreateTable and a few more. Properties without a meaning in Faradisc (replicas,
encryption, imports) are ignored with a note; a property that needs a deployment is an error.

Source: the CloudFormation template reference of the three resource types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from faradisc.tools.seeding.intrinsics import Template, UnknownIntrinsic
from faradisc.tools.seeding.seed import LocatedError, Location, SeedError, TableSeed, select
from faradisc.tools.seeding.shapes import add_later, fitted

TABLE, GLOBAL_TABLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"
SIMPLE_TABLE = "AWS::Serverless::SimpleTable"

_SAME: tuple[str, ...] = (
    "TableName",
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "ProvisionedThroughput",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "VectorIndexes",
)
_IGNORED: tuple[str, ...] = (
    "SSESpecification",
    "ImportSourceSpecification",
    "Replicas",
    "ResourcePolicy",
    "KinesisStreamSpecification",
    "ContributorInsightsSpecification",
    "MultiRegionConsistency",
    "WriteProvisionedThroughputSettings",
    "WriteOnDemandThroughputSettings",
    "ReadProvisionedThroughputSettings",
    "ReadOnDemandThroughputSettings",
    "GlobalTableWitnesses",
)
_INDEX = ("IndexName", "KeySchema", "Projection")
_GLOBAL_INDEX = (*_INDEX, "ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
_HANDLED = frozenset(
    {*_SAME, *_IGNORED, "LocalSecondaryIndexes", "GlobalSecondaryIndexes", "StreamSpecification", "Tags"}
    | {"TimeToLiveSpecification", "PointInTimeRecoverySpecification"}
)
_SIMPLE_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def is_template(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("Resources"), Mapping)


def tables_of(
    document: Mapping[str, Any], location_of: Callable[[str], Location], parameters: Mapping[str, str]
) -> tuple[list[TableSeed], list[LocatedError]]:
    """Returns the tables of a template, and its errors. location_of: returns the location of a resource."""
    tables: list[TableSeed] = []
    errors: list[LocatedError] = []
    try:
        template = Template(document, parameters)
    except SeedError as error:
        return [], [LocatedError(location_of(""), error.text)]
    makers = {TABLE: _table, GLOBAL_TABLE: _global_table, SIMPLE_TABLE: _simple_table}
    for name, resource in template.resources.items():
        maker = makers.get(str(resource.get("Type"))) if isinstance(resource, Mapping) else None
        if maker is None:
            continue
        template.budget.reset()
        try:
            condition = resource.get("Condition")
            if condition is not None and not template.holds(condition):
                continue
            properties = template.value(resource.get("Properties") or {})
            tables.append(maker(name, properties, location_of(name)))
        except SeedError as error:
            errors.append(LocatedError(location_of(name), f"{name}: {error.text}"))
        except RecursionError:
            errors.append(LocatedError(location_of(name), f"{name}: it is nested too deeply."))
    return tables, errors


def _table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    unknown = sorted(set(properties) - _HANDLED)
    if unknown:
        raise SeedError(f"a table has no property {', '.join(unknown)}.")
    notes = [f"{each} is ignored" for each in _IGNORED if each in properties]
    used = {each: value for each, value in properties.items() if each not in _IGNORED}
    if isinstance(used.get("TableName", ""), UnknownIntrinsic):
        notes.append(f"its name depends on {used['TableName'].expression}, so it is called {name}")
        used["TableName"] = name
    _check_known(used, "")
    request = {"TableName": name, **select(used, *_SAME)}
    for kind, members in (("LocalSecondaryIndexes", _INDEX), ("GlobalSecondaryIndexes", _GLOBAL_INDEX)):
        if used.get(kind):
            request[kind] = [select(each, *members) for each in used[kind]]
    if "StreamSpecification" in used:
        request["StreamSpecification"] = {
            "StreamEnabled": True,
            **select(used["StreamSpecification"], "StreamViewType"),
        }
    if used.get("Tags"):
        request["Tags"] = used["Tags"]
    table = TableSeed(location, fitted("CreateTable", request), notes=notes)
    _add_later(table, used)
    return table


def _add_later(table: TableSeed, properties: Mapping[str, Any]) -> None:
    """Adds the settings that need an ACTIVE table."""
    ttl = properties.get("TimeToLiveSpecification")
    if ttl and str(ttl.get("Enabled", True)).lower() == "true":
        add_later(table, "UpdateTimeToLive", "TimeToLiveSpecification", ttl)
    recovery = properties.get("PointInTimeRecoverySpecification")
    if recovery and str(recovery.get("PointInTimeRecoveryEnabled", False)).lower() == "true":
        add_later(table, "UpdateContinuousBackups", "PointInTimeRecoverySpecification", recovery)


def _global_table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    """Returns one table instead of replicas, on demand: provisioned throughput would need auto scaling."""
    table = _table(name, {**properties, "BillingMode": "PAY_PER_REQUEST"}, location)
    if properties.get("BillingMode", "PROVISIONED") == "PROVISIONED":
        table.notes.append("the provisioned throughput of a global table is ignored: it is on demand")
    return table


def _simple_table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    key = properties.get("PrimaryKey") or {}
    attribute = key.get("Name", "id")
    kind = _SIMPLE_TYPES.get(key.get("Type", "String"))
    if kind is None:
        raise SeedError("PrimaryKey.Type must be String, Number or Binary.")
    tags = properties.get("Tags") or {}
    throughput = properties.get("ProvisionedThroughput")
    return _table(
        name,
        {
            **select(properties, "TableName", "SSESpecification", "PointInTimeRecoverySpecification"),
            "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": kind}],
            "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
            "Tags": [{"Key": each, "Value": value} for each, value in tags.items()],
            "BillingMode": "PROVISIONED" if throughput else "PAY_PER_REQUEST",
            **({"ProvisionedThroughput": throughput} if throughput else {}),
        },
        location,
    )


def _check_known(value: Any, path: str) -> None:
    """Raises SeedError for a value that needs a deployment."""
    if isinstance(value, UnknownIntrinsic):
        raise SeedError(
            f"{path} depends on {value.expression}, which has no value in the template; "
            "use --parameter if it is a parameter."
        )
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check_known(each, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            _check_known(each, f"{path}[{at}]")
