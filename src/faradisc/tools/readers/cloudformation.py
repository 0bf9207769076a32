"""Tables of CloudFormation templates: AWS::DynamoDB::Table, ::GlobalTable and AWS::Serverless::SimpleTable.

A table has the properties of CreateTable and a few more. Properties that need other services or regions
(replicas, Kinesis streams, imports) are ignored with a note; a property that needs a deployment is an error.
Scalable targets, scaling policies and alarms of these tables are read too.

Source: the CloudFormation template reference of the resource types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from faradisc.tools.readers.attached import attach, table_of_alarm
from faradisc.tools.readers.intrinsics import PSEUDO, Template, UnknownIntrinsic
from faradisc.tools.readers.seed import (
    STREAM,
    LocatedError,
    Location,
    Seed,
    SeedError,
    TableSeed,
    select,
)
from faradisc.tools.readers.shapes import add_later, enable_insights, fitted
from faradisc.tools.readers.stacks import STACKS, Nested

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
_UNITS = ("WriteProvisionedThroughputSettings", "ReadProvisionedThroughputSettings")
_LIMITS = {
    "ReadOnDemandThroughputSettings": "MaxReadRequestUnits",
    "WriteOnDemandThroughputSettings": "MaxWriteRequestUnits",
}
_IGNORED: tuple[str, ...] = (
    *("ImportSourceSpecification", "KinesisStreamSpecification", "MultiRegionConsistency"),
    *("GlobalTableWitnesses", *_UNITS),
)
_OF_REPLICA = (
    *("TableClass", "DeletionProtectionEnabled", "ResourcePolicy", "Tags", "KinesisStreamSpecification"),
    *("PointInTimeRecoverySpecification", "ContributorInsightsSpecification"),
    *("ReadOnDemandThroughputSettings", "ReadProvisionedThroughputSettings"),
)
_MERGED = {
    "SSESpecification": "SSESpecification",
    "ReplicaStreamSpecification": "StreamSpecification",
}
"""Settings of a replica that add to those of its table."""
_INDEX = ("IndexName", "KeySchema", "Projection")
_GLOBAL_INDEX = (*_INDEX, "ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
_HANDLED = frozenset(
    {*_SAME, *_IGNORED, *_LIMITS, "LocalSecondaryIndexes", "GlobalSecondaryIndexes", "StreamSpecification"}
    | {"TimeToLiveSpecification", "PointInTimeRecoverySpecification", "ContributorInsightsSpecification"}
    | {"ResourcePolicy", "SSESpecification", "Tags"}
)
_SIMPLE = (
    *("TableName", "SSESpecification", "PointInTimeRecoverySpecification", "PrimaryKey", "Tags"),
    "ProvisionedThroughput",
)
_ATTACHED = {
    "AWS::ApplicationAutoScaling::ScalableTarget": "target",
    "AWS::ApplicationAutoScaling::ScalingPolicy": "policy",
    "AWS::CloudWatch::Alarm": "alarm",
}
_NAMES = {"policy": "PolicyName", "alarm": "AlarmName"}
_SIMPLE_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def is_template(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("Resources"), Mapping)


def read_template(
    document: Mapping[str, Any],
    location_of: Callable[[str], Location],
    parameters: Mapping[str, str],
    nested: Nested,
) -> Seed:
    """Returns the tables of a template and of those nested in it, with all errors.

    location_of: returns the location of a member of Resources. nested: reads a nested template.
    """
    seed = Seed()
    try:
        template = Template(document, parameters)
    except (SeedError, RecursionError) as error:
        text = error.text if isinstance(error, SeedError) else "it is nested too deeply."
        seed.errors.append(LocatedError(location_of(""), text))
        return seed
    attached = []
    for name, resource in template.resources.items():
        location = location_of(template.origins[name])
        kind = str(resource.get("Type")) if isinstance(resource, Mapping) else ""
        template.budget.reset()
        try:
            if kind not in _READ and kind not in _ATTACHED:
                _note_unread(seed, name, kind, location)
            elif not (condition := resource.get("Condition")) or template.holds(condition):
                properties = template.value(resource.get("Properties") or {})
                if not isinstance(properties, dict):
                    raise SeedError("Properties must be a map.")
                if kind in _ATTACHED:
                    attached.append((kind, name, properties, location))
                elif kind in STACKS:
                    seed.add(
                        nested(name, properties.get(STACKS[kind]), properties.get("Parameters"), location)
                    )
                else:
                    seed.tables.append(_MAKERS[kind](name, properties, location))
        except SeedError as error:
            seed.errors.append(LocatedError(location, f"{name}: {error.text}"))
        except RecursionError:
            seed.errors.append(LocatedError(location, f"{name}: it is nested too deeply."))
    for kind, name, properties, location in attached:
        _attach(seed, _ATTACHED[kind], name, properties, location)
    return seed


def _attach(seed: Seed, kind: str, name: str, properties: dict[str, Any], location: Location) -> None:
    if kind == "alarm":
        # What an alarm does is of other services, and often not known before they are deployed.
        properties = {
            each: True if each.endswith("Actions") and value else value for each, value in properties.items()
        }
    else:
        properties.pop("RoleARN", None)
        if any(
            isinstance(properties.get(each), UnknownIntrinsic) for each in ("ResourceId", "ScalingTargetId")
        ):
            return  # a resource of another service: those of tables are named by Ref, which is known
    try:
        if not any(isinstance(each, UnknownIntrinsic) for each in properties.get("Dimensions") or ()):
            if kind != "alarm" or table_of_alarm(seed, properties) is not None:
                _check_known(properties, "")
            attach(seed, kind, str(properties.get(_NAMES.get(kind, ""), name)), properties, location)
    except SeedError as error:
        seed.errors.append(LocatedError(location, f"{name}: {error.text}"))


def _note_unread(seed: Seed, name: str, kind: str, location: Location) -> None:
    """Adds a note for a resource that could be, or make, a table."""
    if kind.startswith(("AWS::DynamoDB::", "Custom::DynamoDB")):
        seed.note(location, f"{name} is ignored: {kind} is not read")
    elif name.startswith("Fn::Transform"):
        seed.note(location, "Fn::Transform is ignored: what it would include is not read")


def _table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    check_members("a table", properties, _HANDLED)
    notes = [f"{each} is ignored" for each in _IGNORED if each in properties]
    used = {each: value for each, value in properties.items() if each not in _IGNORED}
    if isinstance(used.get("TableName", ""), UnknownIntrinsic):
        notes.append(f"its name depends on {used['TableName'].expression}, so it is called {name}")
        used["TableName"] = name
    if "SSESpecification" in used:
        used["SSESpecification"] = _encryption(used["SSESpecification"], notes)
    _check_known(used, "")
    request = {"TableName": name, **select(used, *_SAME, "SSESpecification"), **_limits(used)}
    for kind, members in (("LocalSecondaryIndexes", _INDEX), ("GlobalSecondaryIndexes", _GLOBAL_INDEX)):
        if used.get(kind):
            request[kind] = [_index(each, kind, members, notes) for each in maps_of(kind, used[kind])]
    if "StreamSpecification" in used:
        stream = _map("StreamSpecification", used["StreamSpecification"])
        check_members("StreamSpecification", stream, {"StreamViewType", "ResourcePolicy"})
        request["StreamSpecification"] = {"StreamEnabled": True, **select(stream, "StreamViewType")}
    if used.get("Tags"):
        request["Tags"] = used["Tags"]
    if "ResourcePolicy" in used:
        request["ResourcePolicy"] = _policy(used)
    table = TableSeed(location, fitted("CreateTable", request), notes=notes)
    _add_later(table, used)
    return table


def _index(index: dict[str, Any], kind: str, members: tuple[str, ...], notes: list[str]) -> dict[str, Any]:
    """Returns the request of an index. Raises SeedError for a member that no index has."""
    more = (*_LIMITS, "ContributorInsightsSpecification") if kind == "GlobalSecondaryIndexes" else ()
    noted = _UNITS if more else ()
    check_members(f"an index of {kind}", index, {*members, *more, *noted})
    notes += [f"{each} of the index {index.get('IndexName')} is ignored" for each in noted if each in index]
    return {**select(index, *members), **_limits(index)}


def _limits(given: dict[str, Any]) -> dict[str, Any]:
    """Returns the limits on demand of a global table or its index, nothing without them."""
    found: dict[str, Any] = {}
    for member, limit in _LIMITS.items():
        found |= select(_map(member, given.get(member) or {}), limit)
    return {"OnDemandThroughput": found} if found else {}


def _encryption(given: Any, notes: list[str]) -> dict[str, Any]:
    """Returns the SSESpecification of CreateTable. A key that only a deployment knows is left out."""
    given = dict(_map("SSESpecification", given))
    check_members("SSESpecification", given, {"SSEEnabled", "SSEType", "KMSMasterKeyId"})
    key = given.get("KMSMasterKeyId")
    if isinstance(key, UnknownIntrinsic):
        notes.append(
            f"KMSMasterKeyId depends on {key.expression}, so the table has the key alias/aws/dynamodb"
        )
        given.pop("KMSMasterKeyId")
    enabled = given.pop("SSEEnabled", None)
    return given if enabled is None else {"Enabled": enabled, **given}


def _policy(given: dict[str, Any]) -> str:
    policy = _map("ResourcePolicy", given["ResourcePolicy"]).get("PolicyDocument")
    return policy if isinstance(policy, str) else json.dumps(policy)


def check_members(what: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises SeedError for members that are not known: an effect that is not there must not be missed."""
    unknown = sorted(map(str, given.keys() - set(known)))
    if unknown:
        raise SeedError(f"{what} has no property {', '.join(unknown)}.")


def _map(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SeedError(f"{name} must be a map.")
    return value


def maps_of(name: str, value: Any) -> list[dict[str, Any]]:
    """Returns a list of maps. Raises SeedError for another value."""
    if not isinstance(value, list):
        raise SeedError(f"{name} must be a list.")
    return [_map(name, each) for each in value]


def _add_later(table: TableSeed, properties: Mapping[str, Any]) -> None:
    """Adds the settings that need an ACTIVE table."""
    ttl = properties.get("TimeToLiveSpecification")
    if ttl and str(_map("TimeToLiveSpecification", ttl).get("Enabled", True)).lower() == "true":
        add_later(table, "UpdateTimeToLive", "TimeToLiveSpecification", ttl)
    recovery = properties.get("PointInTimeRecoverySpecification")
    if recovery and _is_on("PointInTimeRecovery", recovery):
        add_later(table, "UpdateContinuousBackups", "PointInTimeRecoverySpecification", recovery)
    for each in (properties, *(properties.get("GlobalSecondaryIndexes") or ())):
        insights = each.get("ContributorInsightsSpecification")
        if insights and _is_on("ContributorInsights", insights):
            enable_insights(table, each.get("IndexName"), insights.get("Mode"))
    stream = properties.get("StreamSpecification")
    if stream and "ResourcePolicy" in stream:
        table.later.append(("PutResourcePolicy", {"ResourceArn": STREAM, "Policy": _policy(stream)}))


def _is_on(what: str, specification: Any) -> bool:
    given = _map(f"{what}Specification", specification)
    return str(given.get(f"{what}Enabled", given.get("Enabled", False))).lower() == "true"


def _global_table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    """Returns one table instead of replicas, with the settings of the one in the template's region. It is on
    demand: provisioned throughput would need auto scaling."""
    replicas = maps_of("Replicas", properties.get("Replicas") or [])
    region = PSEUDO["AWS::Region"]
    own = next((each for each in replicas if each.get("Region") == region), replicas[0] if replicas else {})
    known = {*_OF_REPLICA, *_MERGED, "Region", "GlobalSecondaryIndexes", "GlobalTableSettingsReplicationMode"}
    check_members("a replica", own, known)
    merged = {**properties, **select(own, *_OF_REPLICA), "BillingMode": "PAY_PER_REQUEST"}
    merged.pop("Replicas", None)
    for member, target in _MERGED.items():
        if member in own and target in properties:
            merged[target] = {**_map(target, properties[target]), **_map(member, own[member])}
    kind = "GlobalSecondaryIndexes"
    settings = {str(each.get("IndexName")): each for each in maps_of(kind, own.get(kind) or [])}
    if merged.get(kind):
        merged[kind] = [
            {**each, **settings.get(str(each.get("IndexName")), {})}
            for each in maps_of(kind, properties[kind])
        ]
    table = _table(name, merged, location)
    if len(replicas) > 1:
        table.notes.append("the replicas in other regions are ignored")
    if properties.get("BillingMode", "PROVISIONED") == "PROVISIONED":
        table.notes.append("the provisioned throughput of a global table is ignored: it is on demand")
    return table


def _simple_table(name: str, properties: dict[str, Any], location: Location) -> TableSeed:
    key = _map("PrimaryKey", properties.get("PrimaryKey") or {})
    check_members("a simple table", properties, _SIMPLE)
    attribute = key.get("Name", "id")
    kind = _SIMPLE_TYPES.get(str(key.get("Type", "String")))
    if kind is None:
        raise SeedError("PrimaryKey.Type must be String, Number or Binary.")
    tags = _map("Tags", properties.get("Tags") or {})
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


_MAKERS = {TABLE: _table, GLOBAL_TABLE: _global_table, SIMPLE_TABLE: _simple_table}
_READ = frozenset({*_MAKERS, *STACKS})


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
