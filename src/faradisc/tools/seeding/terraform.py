"""Tables of Terraform configurations: aws_dynamodb_table, and aws_dynamodb_table_item with its item.

`.tf` is read by python-hcl2 (faradisc[seed]), `.tf.json` needs nothing. All files of the seed's directory
are one module, as Terraform has it, so a variable may be declared in another file than it is used in.

Source: the AWS provider's documentation of the two resources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from faradisc.tools.seeding.expressions import Module
from faradisc.tools.seeding.intrinsics import Unknown
from faradisc.tools.seeding.items import parse_json
from faradisc.tools.seeding.plan import Fault, InlineItem, Place, SeedError, TableSeed
from faradisc.tools.seeding.shapes import fitted

TABLE, ITEM = "aws_dynamodb_table", "aws_dynamodb_table_item"
NEEDS_HCL = "reading .tf needs python-hcl2: pip install 'faradisc[seed]' (.tf.json is read without it)"

_LEFT_OUT = frozenset(
    {"replica", "server_side_encryption", "import_table", "timeouts", "lifecycle", "provider"}
)
_LEFT_OUT |= {
    "depends_on",
    "region",
    "tags_all",
    "restore_date_time",
    "restore_source_name",
    "warm_throughput",
}
_LEFT_OUT |= {"restore_source_table_arn", "restore_to_latest_time", "global_table_witness"}
_TABLE_MEMBERS = frozenset(
    {"name", "billing_mode", "hash_key", "range_key", "read_capacity", "write_capacity", "attribute", "ttl"}
    | {"global_secondary_index", "local_secondary_index", "stream_enabled", "stream_view_type", "tags"}
    | {"point_in_time_recovery", "deletion_protection_enabled", "table_class", "on_demand_throughput"}
    | {"count", "for_each"}
)

Document = Mapping[str, Any]


def parse(text: str, file: str) -> Document:
    """The blocks of a .tf or .tf.json file. Raises SeedError, with the line."""
    if file.endswith(".json"):
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SeedError(f"no JSON: {error}", getattr(error, "lineno", 1)) from error
        if not isinstance(document, Mapping):
            raise SeedError("a configuration in JSON is an object.", 1)
        return document
    try:
        import hcl2  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SeedError(NEEDS_HCL, 1) from error
    options = hcl2.SerializationOptions(
        with_comments=False, explicit_blocks=False, preserve_heredocs=False, strip_string_quotes=True
    )
    try:
        loaded: Document = hcl2.loads(
            text if text.endswith("\n") else text + "\n", serialization_options=options
        )
    except Exception as error:  # lark's, of several kinds; all of them say that this is no Terraform
        reason = str(error).partition("\n")[0]
        raise SeedError(f"no Terraform: {reason}", getattr(error, "line", 1)) from error
    return loaded


class Configuration:
    """All files of one directory."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._module = Module({}, {})
        self._parameters = parameters
        self._places: dict[tuple[str, str], Place] = {}

    def add(self, document: Document, text: str, file: str) -> None:
        """Take in one file's blocks."""
        module = self._module
        for name, body in _blocks(document.get("variable")):
            default = body.get("default", Unknown(f"var.{name}"))
            module.variables.setdefault(name, self._parameters.get(name, default))
        for values in _bodies(document.get("locals")):
            module.locals.update(values)
        for kind, named in _blocks(document.get("resource")):
            for name, body in _blocks([named]):
                module.resources[(kind, name)] = body
                self._places[(kind, name)] = Place(file, _line_of(text, kind, name))

    def read(self) -> tuple[list[TableSeed], list[InlineItem], list[Fault]]:
        """The tables and items of all files."""
        tables: list[TableSeed] = []
        items: list[InlineItem] = []
        faults: list[Fault] = []
        for (kind, name), body in self._module.resources.items():
            place = self._places[(kind, name)]
            self._module.effort.renew()
            try:
                if kind == TABLE:
                    tables.append(self._table(name, body, place))
                elif kind == ITEM:
                    items.append(self._item(body, place))
            except SeedError as error:
                faults.append(Fault(place, f"{name}: {error.text}"))
            except RecursionError:
                faults.append(Fault(place, f"{name}: it is nested too deeply."))
        return tables, items, faults

    def _value(self, body: Mapping[str, Any], member: str, default: Any = None) -> Any:
        """A member of a body, worked out. Raises SeedError when it cannot be."""
        if member not in body:
            return default
        value = self._module.value(body[member])
        unknown = _unknown_in(value)
        if unknown is not None:
            raise SeedError(
                f"{member} depends on {unknown.what}, which the files do not say; give it with --parameter "
                "if it is a variable."
            )
        return default if value is None else value

    def _table(self, name: str, body: Mapping[str, Any], place: Place) -> TableSeed:
        unused = sorted(set(body) - _TABLE_MEMBERS - _LEFT_OUT - {"dynamic"})
        if unused:
            raise SeedError(f"a table has no argument {', '.join(unused)}.")
        for repeating in ("count", "for_each", "dynamic"):
            if repeating in body and not (repeating == "count" and self._value(body, "count") == 1):
                raise SeedError(f"{repeating} is not worked out; write the tables and blocks out.")
        notes = [f"{each} is left out" for each in sorted(set(body) & _LEFT_OUT - {"lifecycle", "timeouts"})]
        table_name = self._module.value(body.get("name", name))
        if isinstance(table_name, Unknown):
            notes.append(f"its name depends on {table_name.what}, so it is called {name}")
            table_name = name
        provisioned = self._value(body, "billing_mode", "PROVISIONED") == "PROVISIONED"
        request: dict[str, Any] = {
            "TableName": table_name,
            "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": self._value(each, "name"), "AttributeType": self._value(each, "type")}
                for each in _bodies(body.get("attribute"))
            ],
            "KeySchema": self._key_schema(body),
        }
        if provisioned:
            request["ProvisionedThroughput"] = self._units(body)
        for kind, member in (
            ("GlobalSecondaryIndexes", "global_secondary_index"),
            ("LocalSecondaryIndexes", "local_secondary_index"),
        ):
            indexes = [self._index(each, body, kind, provisioned) for each in _bodies(body.get(member))]
            if indexes:
                request[kind] = indexes
        self._add_settings(request, body)
        made = TableSeed(place, fitted("CreateTable", request), notes=notes)
        self._add_later(made, body)
        return made

    def _add_settings(self, request: dict[str, Any], body: Mapping[str, Any]) -> None:
        if self._value(body, "stream_enabled", False):
            request["StreamSpecification"] = {
                "StreamEnabled": True,
                "StreamViewType": self._value(body, "stream_view_type", "NEW_AND_OLD_IMAGES"),
            }
        tags = self._value(body, "tags", {})
        if tags:
            request["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
        for member, wanted in (
            ("deletion_protection_enabled", "DeletionProtectionEnabled"),
            ("table_class", "TableClass"),
        ):
            if member in body:
                request[wanted] = self._value(body, member)
        for limits in _bodies(body.get("on_demand_throughput")):
            request["OnDemandThroughput"] = {
                wanted: self._value(limits, member)
                for member, wanted in (
                    ("max_read_request_units", "MaxReadRequestUnits"),
                    ("max_write_request_units", "MaxWriteRequestUnits"),
                )
                if member in limits
            }

    def _add_later(self, made: TableSeed, body: Mapping[str, Any]) -> None:
        for ttl in _bodies(body.get("ttl")):
            if self._value(ttl, "enabled", False):
                wanted = {"Enabled": True, "AttributeName": self._value(ttl, "attribute_name")}
                request = {"TableName": made.name, "TimeToLiveSpecification": wanted}
                made.later.append(("UpdateTimeToLive", fitted("UpdateTimeToLive", request)))
        for recovery in _bodies(body.get("point_in_time_recovery")):
            if self._value(recovery, "enabled", False):
                wanted = {"PointInTimeRecoveryEnabled": True}
                if "recovery_period_in_days" in recovery:
                    wanted["RecoveryPeriodInDays"] = self._value(recovery, "recovery_period_in_days")
                request = {"TableName": made.name, "PointInTimeRecoverySpecification": wanted}
                made.later.append(("UpdateContinuousBackups", fitted("UpdateContinuousBackups", request)))

    def _key_schema(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Of a table or an index: hash_key and range_key, or blocks called key_schema."""
        blocks = list(_bodies(body.get("key_schema")))
        if blocks:
            return [
                {
                    "AttributeName": self._value(each, "attribute_name"),
                    "KeyType": self._value(each, "key_type"),
                }
                for each in blocks
            ]
        key = [{"AttributeName": self._value(body, "hash_key"), "KeyType": "HASH"}]
        if self._value(body, "range_key"):
            key.append({"AttributeName": self._value(body, "range_key"), "KeyType": "RANGE"})
        return key

    def _index(
        self, body: Mapping[str, Any], table: Mapping[str, Any], kind: str, provisioned: bool
    ) -> dict[str, Any]:
        index: dict[str, Any] = {"IndexName": self._value(body, "name")}
        is_local = kind == "LocalSecondaryIndexes"
        index["KeySchema"] = self._key_schema(
            {**body, "hash_key": table.get("hash_key")} if is_local else body
        )
        projection: dict[str, Any] = {"ProjectionType": self._value(body, "projection_type")}
        if self._value(body, "non_key_attributes"):
            projection["NonKeyAttributes"] = self._value(body, "non_key_attributes")
        index["Projection"] = projection
        if provisioned and not is_local:
            index["ProvisionedThroughput"] = self._units(body)
        return index

    def _units(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "ReadCapacityUnits": self._value(body, "read_capacity", 1),
            "WriteCapacityUnits": self._value(body, "write_capacity", 1),
        }

    def _item(self, body: Mapping[str, Any], place: Place) -> InlineItem:
        table_name = self._value(body, "table_name")
        text = self._value(body, "item")
        try:
            item = parse_json(text)
        except (AttributeError, ValueError) as error:
            raise SeedError(f"item is no JSON: {error}") from error
        if not isinstance(item, dict) or not isinstance(table_name, str):
            raise SeedError("an item is an object, and its table a name.")
        return InlineItem(place, table_name, item)


def _unknown_in(value: Any) -> Unknown | None:
    if isinstance(value, Unknown):
        return value
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((found for each in members if (found := _unknown_in(each)) is not None), None)


def _bodies(block: Any) -> list[Mapping[str, Any]]:
    """The bodies of a kind of block: .tf has a list, .tf.json may have one body."""
    found = block if isinstance(block, list) else [block]
    return [each for each in found if isinstance(each, Mapping)]


def _blocks(block: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """(label, body) of labelled blocks. Two of one label stay two."""
    return [
        (name, body)
        for labelled in _bodies(block)
        for name, each in labelled.items()
        for body in _bodies(each)
    ]


def _line_of(text: str, kind: str, name: str) -> int:
    """Where a resource begins: `resource "kind" "name"`, or its name as a member in JSON."""
    block = re.search(rf'resource\s+"?{re.escape(kind)}"?\s+"?{re.escape(name)}"?', text)
    found = block or re.search(rf'"{re.escape(name)}"\s*:', text)
    return text.count("\n", 0, found.start()) + 1 if found is not None else 1
