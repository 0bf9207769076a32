"""A walk over the service model: every member of every operation, with every kind of wrong value.

For each member of each input, at any depth, a request is valid except for that member: absent, null, of a
wrong JSON type, too short, too long, out of range, not in its enumeration, against its pattern. The answer
must be a modelled error with exactly the text of errors.md sections 3 and 5; where no text is predicted (an
optional member is absent), it must be an answer of the model, and never a 500.

The texts are predicted from the model and the tables below, not with the code under test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.service_model import ModelOperation, Shape, operation_named
from fixtures.in_process import InProcess
from fixtures.schemas import schema

Request = dict[str, Any]
Wrap = Callable[[Any], Any]
ABSENT: Any = object()

# --- What errors.md and limits.md say beyond the model ---------------------------------------------

NEW_LAYER = {
    *("GetItem", "BatchGetItem", "Query", "Scan", "SearchVectors"),
    *("PutItem", "UpdateItem", "DeleteItem"),
}
"""errors.md section 11: lengths and bounds without echo, with member names as in the model; enumerations and
forms of names as in the older layer, and absences, except for some."""
REPORTS_NULLS = {"BatchGetItem"}
CHECKED_LATER = {"Select", "ConditionalOperator", "ComparisonOperator", "AttributeAction"}
"""Enumerations that the operations of the newer layer check in words of their own (errors.md section 11)."""

REPORTED_ALONE = {
    **{
        (operation, "TableName"): "The parameter 'TableName' is required but was not present in the request"
        for operation in (
            *("CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"),
            *("DescribeTimeToLive", "UpdateTimeToLive"),
        )
    },
    ("BatchWriteItem", "RequestItems"): "The requestItems parameter is required for BatchWriteItem",
}
"""Absence in words of its own: errors.md sections 4 and 6.7."""

BARE = {
    ("SearchVectors", "TableName"),
    ("SearchVectors", "ReturnConsumedCapacity"),
    ("UpdateItem", "ReturnValuesOnConditionCheckFailure"),
    ("UpdateItem", "ReturnConsumedCapacity"),
}
"""Without the envelope, but for lengths and bounds: errors.md section 11."""

UNECHOED = {("GetShardIterator", "SequenceNumber")}
"""streams.md section 4."""
ITEM_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
OWN_TEXTS = {
    "ReturnValues": (
        "Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    ),
    "ReturnItemCollectionMetrics": "ReturnItemCollectionMetrics can only be SIZE or NONE",
}
"""Of the single-item writes: errors.md section 4."""

CONTROL_TEXTS = {
    **{
        (operation, member): f"{name} must be at least 3 characters long and at most 255 characters long"
        for operation, member, name in (
            ("UpdateContributorInsights", "IndexName", "IndexName"),
            ("DescribeContributorInsights", "IndexName", "IndexName"),
            ("RestoreTableFromBackup", "TargetTableName", "TableName"),
            ("RestoreTableToPointInTime", "TargetTableName", "TableName"),
            ("DescribeGlobalTable", "GlobalTableName", "TableName"),
            ("DescribeGlobalTableSettings", "GlobalTableName", "TableName"),
        )
    },
    **dict.fromkeys(
        [("CreateTable", "TableClass"), ("UpdateTable", "TableClass")],
        "Invalid table-class parameter provided. Please try again with a valid table-class value: "
        "[STANDARD, STANDARD_INFREQUENT_ACCESS].",
    ),
}
"""errors.md section 6.10."""
NAME = "[a-zA-Z0-9_.-]+"
BOUNDS: dict[tuple[str, str], tuple[int | None, int | None]] = {
    ("CreateTableInput", "TableName"): (3, 255),
    ("CreateTableInput", "KeySchema"): (1, 2),
    ("LocalSecondaryIndex", "KeySchema"): (1, 2),
    ("GetItemInput", "AttributesToGet"): (1, 255),
    ("QueryInput", "AttributesToGet"): (1, 255),
    ("ScanInput", "AttributesToGet"): (1, 255),
    ("KeysAndAttributes", "AttributesToGet"): (1, 255),
    ("ListStreamsInput", "Limit"): (1, 100),
    ("DescribeStreamInput", "Limit"): (1, 100),
    ("GetRecordsInput", "Limit"): (1, 1000),
    ("Tag", "Key"): (None, None),
    ("Tag", "Value"): (None, None),
    ("TagKeyList", "member"): (None, None),
    ("ExportTableToPointInTimeInput", "TableArn"): (None, 255),
}
"""limits.md sections 1, 3 and 4; new-features.md section 10; errors.md section 6.10."""

PRINTED = {
    "ReturnConsumedCapacity": "INDEXES, TOTAL, NONE",
    "ReturnItemCollectionMetrics": "SIZE, NONE",
    "ReturnValue": "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW",
    "Select": "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES",
    "ScalarAttributeType": "B, N, S",
    "KeyType": "HASH, RANGE",
    "ProjectionType": "ALL, INCLUDE, KEYS_ONLY",
    "BillingMode": "PROVISIONED, PAY_PER_REQUEST",
    "InputCompressionType": "ZSTD, NONE, GZIP",
    "ContributorInsightsMode": "THROTTLED_KEYS, ACCESSED_AND_THROTTLED_KEYS",
    "ComparisonOperator": (
        "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS"
    ),
    "ConditionalOperator": "OR, AND",
    "AttributeAction": "ADD, PUT, DELETE",
    "VectorDistanceFunction": "DOT_PRODUCT, COSINE, EUCLIDEAN",
}
"""errors.md section 3."""

LENGTHS = ("string", "list", "map", "blob")
JAVA = {"string": "String", "boolean": "Boolean", "integer": "Integer", "long": "Long", "double": "Double"}
ECHOED_MAX = 60_000
"""Longer values are not sent: what of them is repeated is not known."""

# --- Right requests ----------------------------------------------------------------------------------

TABLE = "walked"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"


def example(shape: Shape, owner: str = "", member: str = "") -> Any:
    """Returns the smallest valid value of a shape."""
    if shape.name == "AttributeValue":
        return {"S": "x"}
    low = BOUNDS.get((owner, member), (shape.minimum, None))[0] or 0
    match shape.type:
        case "structure":
            return {name: example(shape.members[name], shape.name, name) for name in shape.required}
        case "list":
            assert shape.element is not None
            return [example(shape.element) for _ in range(max(low, 1))]
        case "map":
            assert shape.element is not None
            return {TABLE: example(shape.element)}
        case "string":
            if shape.enum:
                return shape.enum[0]
            if "Arn" in shape.name and shape.name != "TableArn":
                return ARN
            return TABLE.ljust(shape.minimum or 0, "x")
        case "boolean":
            return True
        case "blob":
            return "AA=="
        case _:
            return max(low, 1)


@dataclass(frozen=True)
class Place:
    """One member or element of an input, at any depth."""

    path: str
    shape: Shape
    owner: str
    member: str
    required: bool
    in_collection: bool
    wrap: Wrap
    """The right request with another value here."""
    in_map: bool = False


def places(operation: ModelOperation) -> Iterator[Place]:
    yield from _members(operation.input, "", lambda value: value, operation.name in NEW_LAYER)


def _members(shape: Shape, path: str, wrap: Wrap, new: bool) -> Iterator[Place]:
    for name, member in shape.members.items():

        def wrap_member(value: Any, name: str = name) -> Any:
            made = example(shape)
            made.pop(name, None)
            return wrap(made if value is ABSENT else {**made, name: value})

        here = path + (name if new else name[0].lower() + name[1:])
        place = Place(here, member, shape.name, name, name in shape.required, False, wrap_member)
        yield place
        yield from _inside(place, new)


def _inside(place: Place, new: bool) -> Iterator[Place]:
    shape, wrap = place.shape, place.wrap
    if shape.name == "AttributeValue":
        return
    if shape.type == "structure":
        yield from _members(shape, place.path + ".", wrap, new)
    elif shape.type == "list":
        assert shape.element is not None
        rest = example(shape, place.owner, place.member)[1:]
        inner = Place(
            f"{place.path}.1.member",
            shape.element,
            shape.name,
            "member",
            False,
            True,
            lambda value: wrap([value, *rest]),
        )
        yield inner
        yield from _inside(inner, new)
    elif shape.type == "map":
        assert shape.element is not None
        inner = Place(
            f"{place.path}.{TABLE}.member",
            shape.element,
            "",
            "",
            False,
            True,
            lambda value: wrap({TABLE: value}),
            in_map=True,
        )
        yield inner
        yield from _inside(inner, new)


# --- Wrong values, and what is said of them ----------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    what: str
    request: Request
    code: str = ""
    """"" when any answer of the model will do."""
    text: str = ""
    """Exactly, or its end where the value in front of it is a container's text."""
    exact: bool = True


def mistakes(operation: ModelOperation) -> Iterator[Mistake]:
    for place in places(operation):
        yield from _absences(operation, place)
        yield from _wrong_types(place)
        yield from _broken_constraints(operation, place)


def _invalid(operation: str, place: Place, value: Any, constraint: str) -> tuple[str, bool]:
    """Returns the error text, and whether it is complete."""
    newer = operation in NEW_LAYER
    is_sized = constraint.startswith("Member must have") or place.member == "IndexName"
    if place.shape.name == "TableArn" and value is not None and len(value) > 255:
        is_sized = False  # it belongs to the form of a name
    bare = (operation, place.member) in BARE and not is_sized
    envelope = "" if bare else "1 validation error detected: "
    own = OWN_TEXTS.get(place.member)
    if own is not None and operation in ITEM_WRITES:
        return envelope + own, True
    path, echo = place.path, (operation, place.member) not in UNECHOED
    if newer and (is_sized or (value is None and operation in REPORTS_NULLS)):
        echo = False
    elif newer:
        path = ".".join(each[0].lower() + each[1:] for each in path.split("."))
    rest = f"at '{path}' failed to satisfy constraint: {constraint}"
    if not echo:
        return f"{envelope}Value {rest}", True
    if value is None:
        return f"{envelope}Value null {rest}", True
    if isinstance(value, list | dict):
        return f"' {rest}", False
    return f"{envelope}Value '{value}' {rest}", True


def _absences(operation: ModelOperation, place: Place) -> Iterator[Mistake]:
    top_level = "." not in place.path
    for what, value in (("absent", ABSENT), ("null", None)):
        if place.in_collection:
            if what == "null" and place.shape.name != "AttributeValue":
                text, exact = _invalid(operation.name, place, None, "Member must not be null")
                yield Mistake(f"{place.path} null", place.wrap(None), "ValidationException", text, exact)
            continue
        if place.owner == "Tag":
            continue  # the operation reports it (control_plane/settings.script)
        request = place.wrap(value)
        if not place.required:
            alone = REPORTED_ALONE.get((operation.name, place.member)) if top_level else None
            yield Mistake(
                f"{place.path} {what}", request, "ValidationException" if alone else "", alone or ""
            )
            continue
        if operation.name == "SearchVectors":
            # errors.md section 7; the columns have tests of their own.
            code, text = "ValidationException", f"missing field `{place.member}` at line 1 column "
            if what == "null":
                code, text = "SerializationException", "invalid type: null, expected "
            yield Mistake(f"{place.path} {what}", request, code, text, False)
            continue
        text, exact = _invalid(operation.name, place, None, "Member must not be null")
        if top_level:
            text = REPORTED_ALONE.get((operation.name, place.member), text)
        yield Mistake(f"{place.path} {what}", request, "ValidationException", text, exact)


def _wrong_types(place: Place) -> Iterator[Mistake]:
    kind = place.shape.type
    field = "Unexpected value type in payload" if place.in_collection else "Unexpected field type"
    wrong: list[tuple[Any, str]]
    match kind:
        case "string":
            wrong = [
                (7, "NUMBER_VALUE cannot be converted to String"),
                (7.5, "DECIMAL_VALUE cannot be converted to String"),
                (False, "FALSE_VALUE cannot be converted to String"),
                ([], "Unrecognized collection type class java.lang.String"),
                ({}, "Start of structure or map found where not expected"),
            ]
        case "boolean":
            wrong = [
                (7, "NUMBER_VALUE cannot be converted to Boolean"),
                ("perhaps", "Unexpected token received from parser"),
                ([], "Unrecognized collection type class java.lang.Boolean"),
                ({}, "Start of structure or map found where not expected"),
            ]
        case "integer" | "long" | "double":
            wrong = [
                ("7", f"STRING_VALUE cannot be converted to {JAVA[kind]}"),
                (True, f"TRUE_VALUE cannot be converted to {JAVA[kind]}"),
                ([], f"Unrecognized collection type class java.lang.{JAVA[kind]}"),
                ({}, "Start of structure or map found where not expected"),
            ]
        case "list":
            wrong = [(raw, "Unexpected field type") for raw in ("a", 7, True)]
            wrong.append(({}, "Start of structure or map found where not expected"))
        case "map":
            wrong = [(raw, "Unexpected field type") for raw in ("a", 7, True)]
            wrong.append(([], "Unrecognized collection type java.util.Map<java.lang.String, "))
        case "structure":
            wrong = [(raw, field) for raw in ("a", 7, True)]
            wrong.append(
                (
                    [],
                    f"Unrecognized collection type class com.amazonaws.dynamodb.v20120810.{place.shape.name}",
                )
            )
        case _:
            wrong = [(raw, "") for raw in ("x", True, [], {})]
    for raw, text in wrong:
        exact = not text.endswith(" ")
        yield Mistake(
            f"{place.path} = {raw!r}",
            place.wrap(raw),
            "SerializationException",
            text if exact else "",
            exact and text != "",
        )


def _broken_constraints(operation: ModelOperation, place: Place) -> Iterator[Mistake]:
    shape = place.shape
    if shape.type == "structure" or shape.name == "AttributeValue":
        return
    for what, value, constraint in _violations(place):
        if shape.name in CHECKED_LATER and operation.name in NEW_LAYER:
            yield Mistake(f"{place.path} {what}", place.wrap(value), "ValidationException", "", False)
            continue
        own = CONTROL_TEXTS.get((operation.name, place.member))
        if own is not None and (shape.enum or not 3 <= len(value) <= 255):
            yield Mistake(f"{place.path} {what}", place.wrap(value), "ValidationException", own, True)
            continue
        if place.in_map and shape.type != "structure":
            # Reported at the map, with all constraints of its values (errors.md section 3).
            path = place.path.rpartition(f".{TABLE}.member")[0]
            frame = f"at '{path}' failed to satisfy constraint: Map value must satisfy constraint: ["
            yield Mistake(f"{place.path} {what}", place.wrap(value), "ValidationException", frame, False)
            continue
        text, exact = _invalid(operation.name, place, value, constraint)
        if value == {} and (operation.name, place.member) in REPORTED_ALONE:
            text, exact = REPORTED_ALONE[(operation.name, place.member)], True
        if exact and value == "" and shape.pattern is not None and shape.name != "TableArn":
            exact = False  # an empty string breaks its pattern too
            text = constraint
        yield Mistake(f"{place.path} {what}", place.wrap(value), "ValidationException", text, exact)


def _violations(place: Place) -> Iterator[tuple[str, Any, str]]:
    """Returns (what, value, constraint)."""
    shape = place.shape
    here = (place.owner, place.member)
    low, high, pattern = shape.minimum, shape.maximum, shape.pattern
    if shape.name == "TableArn":
        low, high, pattern = 1, 255, NAME
    low, high = BOUNDS.get(here, (low, high))
    measure = "length" if shape.type in LENGTHS else "value"
    at_least = f"Member must have {measure} greater than or equal to {low}"
    at_most = f"Member must have {measure} less than or equal to {high}"
    if shape.enum:
        printed = PRINTED.get(shape.name) or ", ".join(shape.enum)
        for value in ("nonsense", "", shape.enum[0].lower()):
            yield f"= {value!r}", value, f"Member must satisfy enum value set: [{printed}]"
        return
    if pattern == NAME:
        for value in ("with space", "sl/ash", "ümlaut", "new\nline"):
            yield f"= {value!r}", value, f"Member must satisfy regular expression pattern: {NAME}"
    if low and _fits(pattern, _sized(shape, low - 1)):
        yield "too short", _sized(shape, low - 1), at_least
    if high is not None and high <= ECHOED_MAX and _fits(pattern, _sized(shape, high + 1)):
        yield "too long", _sized(shape, high + 1), at_most
    elif high is not None and shape.type not in LENGTHS:
        yield "too large", high + 1, at_most


def _fits(pattern: str | None, value: Any) -> bool:
    """Returns whether a value of a wrong size violates no other constraint."""
    # The empty string breaks its pattern too; that case is distinguished where mistakes are made.
    if pattern is None or pattern == NAME or value == "":
        return True
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:  # some patterns of the model are Java's
        return False


def _sized(shape: Shape, size: int) -> Any:
    match shape.type:
        case "string":
            return "a" * size
        case "list":
            assert shape.element is not None
            return [example(shape.element) for _ in range(size)]
        case "map":
            assert shape.element is not None
            return {f"key{n}": example(shape.element) for n in range(size)}
        case "blob":
            return "AAAA" * size
        case _:
            return size


# --- The walk ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walked() -> Iterator[InProcess]:
    process = InProcess()
    yield process
    process.check()
    process.close()


# SearchVectors has a deserialiser of its own: tests/unit/protocol/test_search_body.py.
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "SearchVectors"])
def test_every_member_in_every_wrong_way(walked: InProcess, bugs_surface: None, name: str) -> None:
    """`InProcess.post` checks every answer against the model, and raises unexpected errors."""
    operation = operation_named(name)
    assert operation is not None
    if "KeySchema" not in operation.input.members:
        walked.local.reset()
        walked.call("CreateTable", TableName=TABLE, **schema("p:S"))
    deviations = []
    count = 0
    for mistake in mistakes(operation):
        count += 1
        answer = walked.post(name, orjson.dumps(mistake.request), {"x-amz-target": operation.target.decode()})
        assert answer.status in (200, 400), (mistake.what, answer)
        if not mistake.code:
            continue
        body = orjson.loads(answer.body)
        code = body.get("__type", "").rpartition("#")[2]
        text = body.get("message", body.get("Message", ""))
        right = text == mistake.text if mistake.exact else mistake.text in text
        if code != mistake.code or not right:
            deviations.append((mistake.what, mistake.code, mistake.text, code, text[-300:]))
    assert not deviations, "\n".join(map(str, deviations[:20]))
    assert count >= 6 * len(operation.input.members)
