"""Tables of CloudFormation templates: AWS::DynamoDB::Table, ::GlobalTable and AWS::Serverless::SimpleTable.

A table's properties are those of CreateTable with a few of their own. What Faradisc has no use for (replicas,
keys of encryption, sources of imports) is left out with a note; what nobody knows is a fault.

Source: the CloudFormation template reference of the three resource types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from faradisc.tools.seeding.intrinsics import Template, Unknown
from faradisc.tools.seeding.plan import Fault, Place, SeedError, TableSeed, take
from faradisc.tools.seeding.shapes import fitted

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
_LEFT_OUT: tuple[str, ...] = (
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
    {*_SAME, *_LEFT_OUT, "LocalSecondaryIndexes", "GlobalSecondaryIndexes", "StreamSpecification", "Tags"}
    | {"TimeToLiveSpecification", "PointInTimeRecoverySpecification"}
)
_SIMPLE_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def is_template(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("Resources"), Mapping)


def tables_of(
    document: Mapping[str, Any], place_of: Callable[[str], Place], parameters: Mapping[str, str]
) -> tuple[list[TableSeed], list[Fault]]:
    """The tables of a template. `place_of` says where the resource of a name begins."""
    tables: list[TableSeed] = []
    faults: list[Fault] = []
    try:
        template = Template(document, parameters)
    except SeedError as error:
        return [], [Fault(place_of(""), error.text)]
    makers = {TABLE: _table, GLOBAL_TABLE: _global_table, SIMPLE_TABLE: _simple_table}
    for name, resource in template.resources.items():
        maker = makers.get(str(resource.get("Type"))) if isinstance(resource, Mapping) else None
        if maker is None:
            continue
        template.effort.renew()
        try:
            condition = resource.get("Condition")
            if condition is not None and not template.holds(condition):
                continue
            properties = template.value(resource.get("Properties") or {})
            tables.append(maker(name, properties, place_of(name)))
        except SeedError as error:
            faults.append(Fault(place_of(name), f"{name}: {error.text}"))
        except RecursionError:
            faults.append(Fault(place_of(name), f"{name}: it is nested too deeply."))
    return tables, faults


def _table(name: str, properties: dict[str, Any], place: Place) -> TableSeed:
    unused = sorted(set(properties) - _HANDLED)
    if unused:
        raise SeedError(f"a table has no property {', '.join(unused)}.")
    notes = [f"{each} is left out" for each in _LEFT_OUT if each in properties]
    kept = {each: value for each, value in properties.items() if each not in _LEFT_OUT}
    if isinstance(kept.get("TableName", ""), Unknown):
        notes.append(f"its name depends on {kept['TableName'].what}, so it is called {name}")
        kept["TableName"] = name
    _refuse_unknown(kept, "")
    request = {"TableName": name, **take(kept, *_SAME)}
    for kind, members in (("LocalSecondaryIndexes", _INDEX), ("GlobalSecondaryIndexes", _GLOBAL_INDEX)):
        if kept.get(kind):
            request[kind] = [take(each, *members) for each in kept[kind]]
    if "StreamSpecification" in kept:
        request["StreamSpecification"] = {
            "StreamEnabled": True,
            **take(kept["StreamSpecification"], "StreamViewType"),
        }
    if kept.get("Tags"):
        request["Tags"] = kept["Tags"]
    made = TableSeed(place, fitted("CreateTable", request), notes=notes)
    _add_later(made, kept)
    return made


def _add_later(made: TableSeed, properties: Mapping[str, Any]) -> None:
    """What is set on a table once it is there."""
    ttl = properties.get("TimeToLiveSpecification")
    if ttl and str(ttl.get("Enabled", True)).lower() == "true":
        request = {"TableName": made.name, "TimeToLiveSpecification": ttl}
        made.later.append(("UpdateTimeToLive", fitted("UpdateTimeToLive", request)))
    recovery = properties.get("PointInTimeRecoverySpecification")
    if recovery and str(recovery.get("PointInTimeRecoveryEnabled", False)).lower() == "true":
        request = {"TableName": made.name, "PointInTimeRecoverySpecification": recovery}
        made.later.append(("UpdateContinuousBackups", fitted("UpdateContinuousBackups", request)))


def _global_table(name: str, properties: dict[str, Any], place: Place) -> TableSeed:
    """One table in place of its replicas. Its throughput is that of auto scaling, so it is on demand here."""
    kept = {**properties, "BillingMode": "PAY_PER_REQUEST"}
    made = _table(name, kept, place)
    if properties.get("BillingMode", "PROVISIONED") == "PROVISIONED":
        made.notes.append("a global table's provisioned throughput is left out: it is on demand")
    return made


def _simple_table(name: str, properties: dict[str, Any], place: Place) -> TableSeed:
    key = properties.get("PrimaryKey") or {}
    attribute = key.get("Name", "id")
    kind = _SIMPLE_TYPES.get(key.get("Type", "String"))
    if kind is None:
        raise SeedError("PrimaryKey.Type has to be String, Number or Binary.")
    tags = properties.get("Tags") or {}
    throughput = properties.get("ProvisionedThroughput")
    return _table(
        name,
        {
            **take(properties, "TableName", "SSESpecification", "PointInTimeRecoverySpecification"),
            "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": kind}],
            "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
            "Tags": [{"Key": each, "Value": value} for each, value in tags.items()],
            "BillingMode": "PROVISIONED" if throughput else "PAY_PER_REQUEST",
            **({"ProvisionedThroughput": throughput} if throughput else {}),
        },
        place,
    )


def _refuse_unknown(value: Any, path: str) -> None:
    if isinstance(value, Unknown):
        raise SeedError(
            f"{path} depends on {value.what}, which the template does not say; give it with --parameter if "
            "it is one."
        )
    if isinstance(value, Mapping):
        for name, each in value.items():
            _refuse_unknown(each, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            _refuse_unknown(each, f"{path}[{at}]")
