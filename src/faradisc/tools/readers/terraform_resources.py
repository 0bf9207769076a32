"""Tables, and what belongs to them, from the arguments of Terraform's resources.

Source: the AWS provider's documentation of the resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.tools.readers.attached import attach
from faradisc.tools.readers.hcl import boolean
from faradisc.tools.readers.item_values import parse_json
from faradisc.tools.readers.seed import InlineItem, LocatedError, Location, Seed, SeedError, TableSeed
from faradisc.tools.readers.shapes import add_later, enable_insights, fitted
from faradisc.tools.readers.terraform_blocks import bodies

TABLE, ITEM, INDEX = "aws_dynamodb_table", "aws_dynamodb_table_item", "aws_dynamodb_global_secondary_index"
TAG, POLICY = "aws_dynamodb_tag", "aws_dynamodb_resource_policy"
INSIGHTS = "aws_dynamodb_contributor_insights"
TARGET, SCALING = "aws_appautoscaling_target", "aws_appautoscaling_policy"
SCHEDULED, ALARM = "aws_appautoscaling_scheduled_action", "aws_cloudwatch_metric_alarm"
BESIDE = frozenset({TARGET, SCALING, SCHEDULED, ALARM})
"""Kinds that are of tables only if they say so."""
KINDS = frozenset({TABLE, ITEM, INDEX, TAG, POLICY, INSIGHTS}) | BESIDE

_META = frozenset({"timeouts", "lifecycle", "provider", "depends_on", "region", "tags_all", "provisioner"})
ENCRYPTION, KEY = "server_side_encryption", "kms_key_arn"
_NOTED = (
    *("replica", "import_table", "global_table_witness"),
    *("restore_source_name", "restore_source_table_arn", "restore_to_latest_time", "restore_date_time"),
)
_ACTIONS = frozenset({"alarm_actions", "ok_actions", "insufficient_data_actions"})
_ARGUMENTS: dict[str, frozenset[str]] = {
    TABLE: frozenset(
        {
            "name",
            "billing_mode",
            "hash_key",
            "range_key",
            "read_capacity",
            "write_capacity",
            "attribute",
            "ttl",
        }
        | {"global_secondary_index", "local_secondary_index", "stream_enabled", "stream_view_type", "tags"}
        | {"point_in_time_recovery", "deletion_protection_enabled", "table_class", "on_demand_throughput"}
        | {"key_schema", "warm_throughput", ENCRYPTION, *_NOTED}
    ),
    ITEM: frozenset({"table_name", "hash_key", "range_key", "item"}),
    INDEX: frozenset(
        {"table_name", "index_name", "key_schema", "projection", "provisioned_throughput"}
        | {"on_demand_throughput", "warm_throughput"}
    ),
    TAG: frozenset({"resource_arn", "key", "value"}),
    POLICY: frozenset({"resource_arn", "policy", "confirm_remove_self_resource_access"}),
    INSIGHTS: frozenset({"table_name", "index_name", "mode"}),
}
_BLOCKS: dict[str, frozenset[str]] = {
    "global_secondary_index": frozenset(
        {"name", "hash_key", "range_key", "key_schema", "projection_type", "non_key_attributes"}
        | {"read_capacity", "write_capacity", "on_demand_throughput", "warm_throughput"}
    ),
    "local_secondary_index": frozenset({"name", "range_key", "projection_type", "non_key_attributes"}),
    "attribute": frozenset({"name", "type"}),
    "ttl": frozenset({"attribute_name", "enabled"}),
    "point_in_time_recovery": frozenset({"enabled", "recovery_period_in_days"}),
    "on_demand_throughput": frozenset({"max_read_request_units", "max_write_request_units"}),
    "warm_throughput": frozenset({"read_units_per_second", "write_units_per_second"}),
    ENCRYPTION: frozenset({"enabled", KEY}),
}


def unread_arguments(kind: str) -> frozenset[str]:
    """Returns the arguments whose values do not count, only that they are there."""
    return _META | frozenset(_NOTED if kind == TABLE else _ACTIONS if kind == ALARM else ())


def check_arguments(kind: str, name: str, body: Mapping[str, Any]) -> None:
    """Raises SeedError for arguments that the resource or a block of it does not have."""
    known = _ARGUMENTS.get(kind)
    unknown = sorted(body.keys() - known - _META) if known is not None else []
    if unknown:
        article = "a table" if kind == TABLE else kind
        raise SeedError(f"{name}: {article} has no argument {', '.join(unknown)}.")
    for label, members in _BLOCKS.items() if kind == TABLE else ():
        for block in bodies(body.get(label)):
            unknown = sorted(block.keys() - members)
            if unknown:
                raise SeedError(f"{name}: {label} has no argument {', '.join(unknown)}.")


class Assembly:
    """Collects the resources of a configuration or a state: a table first, then what belongs to it."""

    def __init__(self) -> None:
        self.found = Seed()
        self._others: list[tuple[str, str, Mapping[str, Any], Location]] = []

    def add(self, kind: str, name: str, body: Mapping[str, Any], location: Location) -> None:
        """Adds a resource, or its error."""
        try:
            if kind == TABLE:
                self.found.tables.append(_table(name, body, location))
            elif kind == ITEM:
                self.found.items.append(_item(body, location))
            else:
                self._others.append((kind, name, body, location))
        except SeedError as error:
            self.found.errors.append(
                LocatedError(location._replace(line=error.line or location.line), error.text)
            )

    def seed(self) -> Seed:
        """Returns what was found. Resources that name tables of other files are left for `attach_others`."""
        self.found.others = self._others
        return self.found


def attach_others(seed: Seed) -> None:
    """Adds to the tables what other resources define for them, once all tables are there."""
    for kind, name, body, location in seed.others:
        try:
            if kind in BESIDE:
                _attach_beside(seed, kind, name, body, location)
                continue
            where = body.get("table_name") or str(body.get("resource_arn", "")).partition(":table/")[2]
            table = seed.table(str(where).partition("/")[0])
            if table is None:
                seed.note(location, f"{name} is ignored: the table {where} is not defined here")
            elif kind == INDEX:
                _add_index(table, body)
            elif kind == TAG:
                tags = table.request.setdefault("Tags", [])
                tags.append({"Key": str(body.get("key")), "Value": str(body.get("value"))})
            elif kind == POLICY:
                table.request = fitted("CreateTable", {**table.request, "ResourcePolicy": body.get("policy")})
            else:
                enable_insights(table, body.get("index_name"), body.get("mode"))
        except SeedError as error:
            seed.errors.append(LocatedError(location, f"{name}: {error.text}"))
    seed.others = []


def _attach_beside(seed: Seed, kind: str, name: str, body: Mapping[str, Any], location: Location) -> None:
    given = {member: each for member, each in body.items() if member not in _META and each not in _NOTHING}
    if kind == ALARM:
        if "metric_query" in given:
            seed.note(location, f"the alarm {name} is ignored: metric_query is not read")
            return
        if not given.get("datapoints_to_alarm"):  # a state has 0 for none
            given.pop("datapoints_to_alarm", None)
        named = _camel({member: each for member, each in given.items() if member not in _ALARM_OTHERS})
        request = {_RENAMED.get(member, member): each for member, each in named.items()}
        pairs = body.get("dimensions")
        request["Dimensions"] = [
            {"Name": each, "Value": value}
            for each, value in (pairs.items() if isinstance(pairs, Mapping) else ())
        ]
        if body.get("tags"):
            request["Tags"] = [{"Key": each, "Value": value} for each, value in body["tags"].items()]
        attach(seed, "alarm", str(request.get("AlarmName", name)), request, location)
        return
    for member in ("role_arn", "tags", "id", "arn", "alarm_arns"):
        given.pop(member, None)
    request = _camel(given)
    if kind == SCHEDULED:
        action = {member: request[member] for member in request if member not in _TARGET_MEMBERS}
        action["ScheduledActionName"] = action.pop("Name", name)
        request = {member: request[member] for member in _TARGET_MEMBERS if member in request}
        request["ScheduledActions"] = [action]
    kind_of_request = "policy" if kind == SCALING else "target"
    attach(seed, kind_of_request, str(request.pop("Name", name)), request, location)


_NOTHING: tuple[Any, ...] = (None, "", [], {})
"""Arguments that a state has without a value."""
_ALARM_OTHERS = ("tags", "dimensions", "id", "arn")
_RENAMED = {
    "OkActions": "OKActions",
    "EvaluateLowSampleCountPercentiles": "EvaluateLowSampleCountPercentile",
}
_TARGET_MEMBERS = ("ServiceNamespace", "ResourceId", "ScalableDimension")
_SINGLE = frozenset(
    {
        "target_tracking_scaling_policy_configuration",
        "predefined_metric_specification",
        "scalable_target_action",
    }
    | {"customized_metric_specification", "suspended_state", "step_scaling_policy_configuration"}
)


def _camel(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments as members of the API: blocks of one become structures."""
    made: dict[str, Any] = {}
    for name, value in body.items():
        blocks = bodies(value)
        if name in _SINGLE and blocks:
            value = _camel({each: found for each, found in blocks[0].items() if found not in _NOTHING})
        made["".join(part.capitalize() for part in name.split("_"))] = value
    return made


def _add_index(table: TableSeed, body: Mapping[str, Any]) -> None:
    """Adds an index that is a resource of its own."""
    attributes = table.request["AttributeDefinitions"]
    for each in bodies(body.get("key_schema")):
        definition = {
            "AttributeName": each.get("attribute_name"),
            "AttributeType": each.get("attribute_type"),
        }
        if each.get("attribute_type") and definition not in attributes:
            attributes.append(definition)
    projection = (bodies(body.get("projection")) or [{}])[0]
    given = {each: body.get(each) for each in ("key_schema", "on_demand_throughput", "warm_throughput")}
    index = _index({**projection, **given, "name": body.get("index_name")}, {}, "", False)
    for units in bodies(body.get("provisioned_throughput")):
        index["ProvisionedThroughput"] = {
            "ReadCapacityUnits": units.get("read_capacity_units", 1),
            "WriteCapacityUnits": units.get("write_capacity_units", 1),
        }
    indexes = [*table.request.get("GlobalSecondaryIndexes", []), index]
    table.request = fitted("CreateTable", {**table.request, "GlobalSecondaryIndexes": indexes})


# --- Tables --------------------------------------------------------------------------------------

Body = Mapping[str, Any]


def _is_on(body: Body, member: str) -> bool:
    """Returns a boolean argument; a text is one too, as in Terraform. Raises SeedError for another value."""
    value = body.get(member)
    if value in (None, ""):
        return False
    found = boolean(value)
    if found is None:
        raise SeedError(f"{member} must be true or false.")
    return found


def _table(name: str, body: Body, location: Location) -> TableSeed:
    notes = [f"{each} is ignored" for each in _NOTED if body.get(each)]
    if "name" not in body:
        notes.append(f"its name is not known, so it is called {name}")
    provisioned = body.get("billing_mode", "PROVISIONED") == "PROVISIONED"
    request: dict[str, Any] = {
        "TableName": body.get("name", name),
        "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": each.get("name"), "AttributeType": each.get("type")}
            for each in bodies(body.get("attribute"))
        ],
        "KeySchema": _key_schema(body),
    }
    if provisioned:
        request["ProvisionedThroughput"] = _units(body)
    for kind, member in (
        ("GlobalSecondaryIndexes", "global_secondary_index"),
        ("LocalSecondaryIndexes", "local_secondary_index"),
    ):
        indexes = [_index(each, body, kind, provisioned) for each in bodies(body.get(member))]
        if indexes:
            request[kind] = indexes
    _add_settings(request, body)
    for encryption in bodies(body.get(ENCRYPTION)):
        if _is_on(encryption, "enabled"):
            request["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
            if encryption.get(KEY):
                request["SSESpecification"]["KMSMasterKeyId"] = encryption[KEY]
            elif encryption.get(KEY) is False:
                notes.append(f"{KEY} depends on a deployment, so the table has the key alias/aws/dynamodb")
    table = TableSeed(location, fitted("CreateTable", request), notes=notes)
    _add_later(table, body)
    return table


def _add_settings(request: dict[str, Any], body: Body) -> None:
    if _is_on(body, "stream_enabled"):
        view = body.get("stream_view_type") or "NEW_AND_OLD_IMAGES"
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if body.get("tags"):
        if not isinstance(body["tags"], Mapping):
            raise SeedError("tags must be a map.")
        request["Tags"] = [{"Key": name, "Value": value} for name, value in body["tags"].items()]
    for member, target in (
        ("deletion_protection_enabled", "DeletionProtectionEnabled"),
        ("table_class", "TableClass"),
    ):
        if body.get(member) not in (None, ""):
            request[target] = body[member]
    request.update(_limits(body))


_LIMITS = {
    "on_demand_throughput": {
        "max_read_request_units": "MaxReadRequestUnits",
        "max_write_request_units": "MaxWriteRequestUnits",
    },
    "warm_throughput": {
        "read_units_per_second": "ReadUnitsPerSecond",
        "write_units_per_second": "WriteUnitsPerSecond",
    },
}


def _limits(body: Body) -> dict[str, Any]:
    """Returns the limits on demand and the warm throughput of a table or an index, nothing without them."""
    limits: dict[str, Any] = {}
    for member, names in _LIMITS.items():
        block = next(iter(bodies(body.get(member))), {})
        found = {target: block[name] for name, target in names.items() if block.get(name) is not None}
        if found:
            limits[member.title().replace("_", "")] = found
    return limits


def _add_later(table: TableSeed, body: Body) -> None:
    for ttl in bodies(body.get("ttl")):
        if _is_on(ttl, "enabled"):
            specification = {"Enabled": True, "AttributeName": ttl.get("attribute_name")}
            add_later(table, "UpdateTimeToLive", "TimeToLiveSpecification", specification)
    for recovery in bodies(body.get("point_in_time_recovery")):
        if _is_on(recovery, "enabled"):
            specification = {"PointInTimeRecoveryEnabled": True}
            if recovery.get("recovery_period_in_days"):
                specification["RecoveryPeriodInDays"] = recovery["recovery_period_in_days"]
            add_later(table, "UpdateContinuousBackups", "PointInTimeRecoverySpecification", specification)


def _key_schema(body: Body) -> list[dict[str, Any]]:
    """Returns the key of a table or an index: from hash_key and range_key, or from key_schema blocks."""
    blocks = bodies(body.get("key_schema"))
    if blocks:
        return [
            {"AttributeName": each.get("attribute_name"), "KeyType": each.get("key_type")} for each in blocks
        ]
    key = [{"AttributeName": body.get("hash_key"), "KeyType": "HASH"}]
    if body.get("range_key"):
        key.append({"AttributeName": body["range_key"], "KeyType": "RANGE"})
    return key


def _index(body: Body, table: Body, kind: str, provisioned: bool) -> dict[str, Any]:
    is_local = kind == "LocalSecondaryIndexes"
    projection: dict[str, Any] = {"ProjectionType": body.get("projection_type")}
    if body.get("non_key_attributes"):
        projection["NonKeyAttributes"] = body["non_key_attributes"]
    index: dict[str, Any] = {
        "IndexName": body.get("name"),
        "KeySchema": _key_schema({**body, "hash_key": table.get("hash_key")} if is_local else body),
        "Projection": projection,
    }
    if provisioned and not is_local:
        index["ProvisionedThroughput"] = _units(body)
    index.update(_limits(body) if not is_local else {})
    return index


def _units(body: Body) -> dict[str, Any]:
    return {
        "ReadCapacityUnits": body.get("read_capacity", 1),
        "WriteCapacityUnits": body.get("write_capacity", 1),
    }


def _item(body: Body, location: Location) -> InlineItem:
    try:
        item = parse_json(body.get("item", ""))
    except (AttributeError, ValueError) as error:
        raise SeedError(f"item is not valid JSON: {error}") from error
    if not isinstance(item, dict) or not isinstance(body.get("table_name"), str):
        raise SeedError("an item must be an object, and table_name a string.")
    return InlineItem(location, body["table_name"], item)
