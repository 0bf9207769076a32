"""Tables of Terraform: aws_dynamodb_table, and aws_dynamodb_table_item with its item.

Two forms are read: the output of `terraform show -json`, for a plan or a state, in which Terraform has
evaluated all expressions; and configurations (.tf by python-hcl2, `faradisc[seed]`; .tf.json) whose tables
have literal values only. An expression in a table is an error that names the remedy.

Source: the AWS provider's documentation of the two resources; Terraform's "JSON Output Format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from faradisc.tools.seeding.items import parse_json
from faradisc.tools.seeding.seed import (
    InlineItem,
    LocatedError,
    Location,
    Seed,
    SeedError,
    TableSeed,
    line_of,
    parsed_json,
)
from faradisc.tools.seeding.shapes import add_later, fitted

TABLE, ITEM = "aws_dynamodb_table", "aws_dynamodb_table_item"
NEEDS_HCL = "reading .tf needs python-hcl2: pip install 'faradisc[seed]' (.tf.json is read without it)"
REMEDY = "only literal values are read; put the output of `terraform show -json` into the directory instead"

_NOTED = ("replica", "server_side_encryption", "import_table", "warm_throughput", "global_table_witness")
_IGNORED = frozenset(
    {*_NOTED, "timeouts", "lifecycle", "provider", "depends_on", "region", "tags_all", "restore_date_time"}
    | {"restore_source_name", "restore_source_table_arn", "restore_to_latest_time"}
)
_TABLE_MEMBERS = frozenset(
    {"name", "billing_mode", "hash_key", "range_key", "read_capacity", "write_capacity", "attribute", "ttl"}
    | {"global_secondary_index", "local_secondary_index", "stream_enabled", "stream_view_type", "tags"}
    | {"point_in_time_recovery", "deletion_protection_enabled", "table_class", "on_demand_throughput"}
)
_REPEATING = ("count", "for_each", "dynamic")

Document = Mapping[str, Any]
Body = Mapping[str, Any]


def _add(found: Seed, kind: str, name: str, body: Body, location: Location) -> None:
    """Adds the table or the item of a resource, or its error."""
    try:
        if kind == TABLE:
            found.tables.append(_table(name, body, location))
        else:
            found.items.append(_item(body, location))
    except SeedError as error:
        found.errors.append(LocatedError(location._replace(line=error.line or location.line), error.text))


# --- terraform show -json ------------------------------------------------------------------------


def is_shown(document: Any) -> bool:
    """Returns whether a JSON document is the output of `terraform show -json`."""
    return isinstance(document, Mapping) and "format_version" in document and "terraform_version" in document


def read_shown(document: Document, text: str, file: str) -> Seed:
    """Reads the resources of a plan or a state in all its modules."""
    found = Seed()
    values = document.get("planned_values") or document.get("values") or {}
    for resource in _resources(values.get("root_module") or {}):
        if resource.get("type") in (TABLE, ITEM) and resource.get("mode") == "managed":
            line = line_of(text, rf'"address"\s*:\s*{re.escape(json.dumps(resource.get("address")))}')
            body = {name: each for name, each in resource["values"].items() if each is not None}
            _add(found, resource["type"], resource["name"], body, Location(file, line))
    return found


def _resources(module: Document) -> Iterator[Document]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)


# --- Configurations ------------------------------------------------------------------------------


def read_configuration(text: str, file: str) -> Seed:
    """Reads a .tf or .tf.json file. Raises SeedError with the line when the file cannot be parsed."""
    found = Seed()
    for kind, named in _blocks(_parsed(text, file).get("resource")):
        for name, body in _blocks([named]):
            if kind not in (TABLE, ITEM):
                continue
            location = Location(file, line_of(text, rf'"?{re.escape(kind)}"?\s+"?{re.escape(name)}"?'))
            if location.line == 1 and file.endswith(".json"):
                location = Location(file, line_of(text, rf'"{re.escape(name)}"\s*:'))
            try:
                literal = _literal_body(kind, name, body, text, location.line)
            except SeedError as error:
                found.errors.append(LocatedError(Location(file, error.line or location.line), error.text))
            else:
                _add(found, kind, name, literal, location)
    return found


def _parsed(text: str, file: str) -> Document:
    if file.endswith(".json"):
        document = parsed_json(text)
        if not isinstance(document, Mapping):
            raise SeedError("a configuration in JSON must be an object.", 1)
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
    except Exception as error:  # several types, of hcl2 and of its parser
        reason = str(error).partition("\n")[0]
        raise SeedError(f"not valid Terraform: {reason}", getattr(error, "line", 1)) from error
    return loaded


def _literal_body(kind: str, name: str, body: Body, text: str, line: int) -> Body:
    """Returns the members of a resource that count. Raises SeedError when one has an expression."""
    if kind == TABLE:
        unknown = sorted(set(body) - _TABLE_MEMBERS - _IGNORED - {*_REPEATING})
        if unknown:
            raise SeedError(f"{name}: a table has no argument {', '.join(unknown)}.")
    literal = {}
    for member, value in body.items():
        found = _line_of_member(text, member, line)
        if member in _REPEATING and value != 1:
            raise SeedError(f"{name}: {member} is an expression; {REMEDY}.", found)
        if member not in _IGNORED:
            expression = _expression_in(value)
            if expression is not None:
                raise SeedError(f"{name}: {member} has the expression {expression}; {REMEDY}.", found)
            literal[member] = _unescaped(value)
        elif member in _NOTED:
            literal[member] = True
    return literal


def _expression_in(value: Any) -> str | None:
    """Returns the beginning of an expression in a value, None for a literal value."""
    if isinstance(value, str):
        match = re.search(r"(?<!\$)\$\{.*|(?<!%)%\{.*", value)
        return match[0][:60] if match is not None else None
    members = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    for each in members if isinstance(members, list) else ():
        found = _expression_in(each)
        if found is not None:
            return found
    return None


def _unescaped(value: Any) -> Any:
    """Replaces the escapes `$${` and `%%{` of templates."""
    if isinstance(value, str):
        return value.replace("$${", "${").replace("%%{", "%{")
    if isinstance(value, Mapping):
        return {name: _unescaped(each) for name, each in value.items()}
    return [_unescaped(each) for each in value] if isinstance(value, list) else value


def _bodies(block: Any) -> list[Body]:
    """Returns the bodies of a kind of block: a list in .tf, perhaps one body in .tf.json."""
    found = block if isinstance(block, list) else [block]
    return [each for each in found if isinstance(each, Mapping)]


def _blocks(block: Any) -> list[tuple[str, Body]]:
    """Returns (label, body) of labelled blocks, also of several with one label."""
    return [
        (name, body)
        for labelled in _bodies(block)
        for name, each in labelled.items()
        for body in _bodies(each)
    ]


def _line_of_member(text: str, member: str, line: int) -> int:
    """Returns the line of a member of the resource at `line`: of all with that name the least indented one,
    since those of nested blocks have more indentation. Returns `line` without a match."""
    pattern = re.compile(rf'(\s*)"?{re.escape(member)}"?\s*[=:{{"]')
    found = []
    for number, content in enumerate(text.split("\n")[line - 1 :], line):
        match = pattern.match(content)
        if match is not None:
            found.append((len(match[1]), number))
        if content.startswith("}"):
            break
    return min(found, default=(0, line))[1]


# --- Resources -----------------------------------------------------------------------------------


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
            for each in _bodies(body.get("attribute"))
        ],
        "KeySchema": _key_schema(body),
    }
    if provisioned:
        request["ProvisionedThroughput"] = _units(body)
    for kind, member in (
        ("GlobalSecondaryIndexes", "global_secondary_index"),
        ("LocalSecondaryIndexes", "local_secondary_index"),
    ):
        indexes = [_index(each, body, kind, provisioned) for each in _bodies(body.get(member))]
        if indexes:
            request[kind] = indexes
    _add_settings(request, body)
    table = TableSeed(location, fitted("CreateTable", request), notes=notes)
    _add_later(table, body)
    return table


def _add_settings(request: dict[str, Any], body: Body) -> None:
    if body.get("stream_enabled"):
        view = body.get("stream_view_type") or "NEW_AND_OLD_IMAGES"
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if body.get("tags"):
        request["Tags"] = [{"Key": name, "Value": value} for name, value in body["tags"].items()]
    for member, target in (
        ("deletion_protection_enabled", "DeletionProtectionEnabled"),
        ("table_class", "TableClass"),
    ):
        if body.get(member) not in (None, ""):
            request[target] = body[member]
    for limits in _bodies(body.get("on_demand_throughput")):
        request["OnDemandThroughput"] = {
            target: limits[member]
            for member, target in (
                ("max_read_request_units", "MaxReadRequestUnits"),
                ("max_write_request_units", "MaxWriteRequestUnits"),
            )
            if limits.get(member) is not None
        }


def _add_later(table: TableSeed, body: Body) -> None:
    for ttl in _bodies(body.get("ttl")):
        if ttl.get("enabled"):
            specification = {"Enabled": True, "AttributeName": ttl.get("attribute_name")}
            add_later(table, "UpdateTimeToLive", "TimeToLiveSpecification", specification)
    for recovery in _bodies(body.get("point_in_time_recovery")):
        if recovery.get("enabled"):
            specification = {"PointInTimeRecoveryEnabled": True}
            if recovery.get("recovery_period_in_days"):
                specification["RecoveryPeriodInDays"] = recovery["recovery_period_in_days"]
            add_later(table, "UpdateContinuousBackups", "PointInTimeRecoverySpecification", specification)


def _key_schema(body: Body) -> list[dict[str, Any]]:
    """Returns the key of a table or an index: from hash_key and range_key, or from key_schema blocks."""
    blocks = _bodies(body.get("key_schema"))
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
