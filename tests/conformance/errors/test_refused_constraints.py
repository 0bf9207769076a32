"""Declared constraints: required members, lengths, ranges, enumerations, patterns, one and several at once.

Grammar: errors.md section 3; which are reported alone: section 4; names: limits.md section 1. Old wording
echoes the value and begins members in lower case, new wording does neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixtures.rejections import INVALID, KEY, ONE, Case, World, in_lots

SOURCE = "errors.md section 3"
NOT_NULL = "Member must not be null"
NAME = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
CAPACITY = "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
METRICS = "Member must satisfy enum value set: [SIZE, NONE]"
RETURN_VALUES = "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
DELETE_VALUES = "Member must satisfy enum value set: [ALL_OLD, NONE]"
SELECT = (
    "Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, "
    "ALL_PROJECTED_ATTRIBUTES]"
)
OPERATORS = (
    "Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, "
    "BEGINS_WITH, GE, CONTAINS]"
)
CONDITIONAL = "Member must satisfy enum value set: [OR, AND]"
BARE_RETURN_VALUES = (
    "Failed to satisfy constraint: Member must satisfy enum value set: "
    "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
BARE_METRICS = "ReturnItemCollectionMetrics can only be SIZE or NONE"
BARE_CONDITIONAL = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
RECORDED = "errors.md sections 3 and 4, captured in October 2026"
OCTOBER = "errors.md section 11, recorded in October 2026"
NO_TABLE_NAME = "The parameter 'TableName' is required but was not present in the request"


def null(path: str) -> str:
    return f"Value null at '{path}' failed to satisfy constraint: {NOT_NULL}"


def old(value: str, path: str, constraint: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"


def new(path: str, constraint: str) -> str:
    return f"Value at '{path}' failed to satisfy constraint: {constraint}"


def at_least(number: int, measure: str = "length") -> str:
    return f"Member must have {measure} greater than or equal to {number}"


def at_most(number: int, measure: str = "length") -> str:
    return f"Member must have {measure} less than or equal to {number}"


MAP_KEYS = f"Map keys must satisfy constraint: [{at_most(255)}, {at_least(3)}, {NAME}]"

ITEM_WRITES: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": KEY},
    "UpdateItem": {"Key": KEY},
    "DeleteItem": {"Key": KEY},
}
BAD_NAMES: list[tuple[str, str]] = [
    ("", at_least(1)),
    ("a" * 256, at_most(255)),
    *((name, NAME) for name in ("a b", "a/b", "ab;", "äöü", "ab\n", "a:b", "$ab", "a,b", "a*b", "   ")),
    *((name, at_least(3)) for name in ("a", "ab", "a!", "ä", " ")),
]


def names() -> Iterator[Case]:
    for operation, members in ITEM_WRITES.items():
        yield Case("no table name", operation, members, ONE + null("tableName"), SOURCE)
        yield Case(
            "a null table name", operation, {**members, "TableName": None}, ONE + null("tableName"), SOURCE
        )
        for name, constraint in BAD_NAMES:
            yield Case(
                f"table name {name[:9]!r}",
                operation,
                {**members, "TableName": name},
                ONE + (old(name, "tableName", constraint) if name else new("TableName", constraint)),
                "limits.md section 1: 1..255 and the pattern on data-plane calls",
            )
    for operation, members in (
        ("GetItem", {"Key": KEY}),
        ("Query", {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}),
        ("Scan", {}),
    ):
        yield Case("no table name", operation, members, ONE + null("tableName"), OCTOBER)
        for name, constraint in BAD_NAMES:
            text = old(name, "tableName", constraint) if name else new("TableName", constraint)
            yield Case(
                f"table name {name[:9]!r}", operation, {**members, "TableName": name}, ONE + text, SOURCE
            )
    for operation in ("CreateTable", "DescribeTable", "DeleteTable", "UpdateTable"):
        for what, members in (("no", {}), ("a null", {"TableName": None})):
            yield Case(
                f"{what} table name",
                operation,
                {**members, **({"BillingMode": "x"} if operation in ("CreateTable", "UpdateTable") else {})},
                NO_TABLE_NAME,
                "errors.md section 4: missing name first and alone",
            )
    for name, constraint in (("", 3), ("a", 3), ("ab", 3)):
        yield Case(
            f"table name {name!r}",
            "CreateTable",
            {**CREATE, "TableName": name},
            (f"2 validation errors detected: {old(name, 'tableName', NAME)}; " if not name else ONE)
            + old(name, "tableName", at_least(constraint)),
            "limits.md section 1: 3..255 on CreateTable",
        )
    yield Case(
        "a table name of 256",
        "CreateTable",
        {**CREATE, "TableName": "a" * 256},
        ONE + old("a" * 256, "tableName", at_most(255)),
        "limits.md section 1",
    )
    yield Case(
        "a table name with a space",
        "CreateTable",
        {**CREATE, "TableName": "a b c"},
        ONE + old("a b c", "tableName", NAME),
        "limits.md section 1",
    )
    for operation in ("Scan", "Query"):
        base = {
            "TableName": "hash",
            **(
                {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}
                if operation == "Query"
                else {}
            ),
        }
        for name, constraint in (
            ("a", at_least(3)),
            ("ab", at_least(3)),
            ("a" * 256, at_most(255)),
            ("a b c", NAME),
        ):
            text = new("IndexName", constraint)
            yield Case(
                f"index name {name[:9]!r}",
                operation,
                {**base, "IndexName": name},
                ONE + text,
                "limits.md section 1",
            )


CREATE: dict[str, Any] = {
    "TableName": "new",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def enumerations() -> Iterator[Case]:
    for bad in ("", "all", "none", "ALL", "TOTAL ", "x"):
        for operation, base in (
            ("PutItem", {"TableName": "hash", "Item": KEY}),
            ("DeleteItem", {"TableName": "hash", "Key": KEY}),
            ("Scan", {"TableName": "hash"}),
            ("BatchWriteItem", {"RequestItems": {"hash": [{"DeleteRequest": {"Key": KEY}}]}}),
            ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "hash", "Key": KEY}}]}),
        ):
            yield Case(
                f"returnConsumedCapacity {bad!r}",
                operation,
                {**base, "ReturnConsumedCapacity": bad},
                ONE + old(bad, "returnConsumedCapacity", CAPACITY),
                SOURCE,
            )
        yield Case(
            f"returnConsumedCapacity {bad!r}",
            "UpdateItem",
            {"TableName": "hash", "Key": KEY, "ReturnConsumedCapacity": bad},
            old(bad, "returnConsumedCapacity", CAPACITY),
            OCTOBER,
        )
        for operation, base in (
            ("GetItem", {"TableName": "hash", "Key": KEY}),
            ("BatchGetItem", {"RequestItems": {"hash": {"Keys": [KEY]}}}),
            ("Query", {"TableName": "hash"}),
        ):
            yield Case(
                f"returnConsumedCapacity {bad!r}",
                operation,
                {**base, "ReturnConsumedCapacity": bad},
                ONE + old(bad, "returnConsumedCapacity", CAPACITY),
                RECORDED,
            )
    for operation, members in ITEM_WRITES.items():
        base = {"TableName": "hash", **members}
        for member, text in (
            ("ReturnValues", BARE_RETURN_VALUES),
            ("ReturnItemCollectionMetrics", BARE_METRICS),
            (
                "ReturnValuesOnConditionCheckFailure",
                old("x", "returnValuesOnConditionCheckFailure", DELETE_VALUES),
            ),
        ):
            bare = operation == "UpdateItem" and member.endswith("CheckFailure")
            yield Case(
                f"{member} of no sense",
                operation,
                {**base, member: "x"},
                ("" if bare else ONE) + text,
                OCTOBER if bare else RECORDED,
            )
        for value in ("AND", "x"):
            for count, text in (
                (0, "ConditionalOperator cannot be used without Filter or Expected"),
                (
                    1,
                    "ConditionalOperator can only be used when Filter or Expected has two or more elements",
                ),
                (2, BARE_CONDITIONAL),
            ):
                expected = {name: {"Exists": False} for name in "ab"[:count]}
                if value == "x" or count < 2:
                    yield Case(
                        f"ConditionalOperator {value} of {count}",
                        operation,
                        {**base, "Expected": expected, "ConditionalOperator": value},
                        ONE + text,
                        OCTOBER,
                    )
        yield Case(
            "ConditionalOperator beside an expression",
            operation,
            {**base, "ConditionExpression": "attribute_exists(a)", "ConditionalOperator": "x"},
            f"{ONE}Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {ConditionalOperator} Expression parameters: {ConditionExpression}",
            OCTOBER,
        )
        yield Case(
            "a comparison of no sense",
            operation,
            {**base, "Expected": {"a": {"ComparisonOperator": "eq"}}},
            ONE + INVALID + "Invalid comparison operator",
            OCTOBER,
        )
    yield Case(
        "an action of no sense",
        "UpdateItem",
        {"TableName": "hash", "Key": KEY, "AttributeUpdates": {"a": {"Action": "x"}}},
        ONE + "Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action",
        OCTOBER,
    )
    yield Case(
        "Select of no sense",
        "Scan",
        {"TableName": "hash", "Select": "x"},
        ONE + old("x", "select", SELECT),
        SOURCE,
    )
    yield Case(
        "Select of no sense",
        "Query",
        {"TableName": "hash", "Select": "x"},
        ONE + old("x", "select", SELECT),
        SOURCE,
    )
    yield Case(
        "ConditionalOperator of no sense",
        "Query",
        {"TableName": "hash", "ConditionalOperator": "x", "Select": "y"},
        "ConditionalOperator cannot be used without Filter or Expected",
        "errors.md section 4: bare, ahead of and not merged with Select",
    )
    for member, text in (
        (
            "BillingMode",
            ONE
            + old("x", "billingMode", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"),
        ),
        (
            "TableClass",
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            "[STANDARD, STANDARD_INFREQUENT_ACCESS].",
        ),
    ):
        for operation in ("CreateTable", "UpdateTable"):
            base = CREATE if operation == "CreateTable" else {"TableName": "hash"}
            yield Case(f"{member} of no sense", operation, {**base, member: "x"}, text, SOURCE)
    yield Case(
        "attributeType of no sense",
        "CreateTable",
        {**CREATE, "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "X"}]},
        ONE
        + old(
            "X",
            "attributeDefinitions.1.member.attributeType",
            "Member must satisfy enum value set: [B, N, S]",
        ),
        SOURCE,
    )
    yield Case(
        "keyType of no sense",
        "CreateTable",
        {**CREATE, "KeySchema": [{"AttributeName": "p", "KeyType": "X"}]},
        ONE + old("X", "keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]"),
        SOURCE,
    )
    index = {"IndexName": "abc", "KeySchema": CREATE["KeySchema"], "Projection": {"ProjectionType": "X"}}
    yield Case(
        "projectionType of no sense",
        "CreateTable",
        {**CREATE, "GlobalSecondaryIndexes": [index]},
        ONE
        + old(
            "X",
            "globalSecondaryIndexes.1.member.projection.projectionType",
            "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]",
        ),
        SOURCE,
    )
    short = {**index, "IndexName": "ab", "Projection": {"ProjectionType": "ALL"}}
    yield Case(
        "names of global indexes before those of local ones",
        "CreateTable",
        {**CREATE, "LocalSecondaryIndexes": [short], "GlobalSecondaryIndexes": [short]},
        "2 validation errors detected: "
        + old("ab", "globalSecondaryIndexes.1.member.indexName", at_least(3))
        + "; "
        + old("ab", "localSecondaryIndexes.1.member.indexName", at_least(3)),
        "errors.md section 4",
    )


def bounds() -> Iterator[Case]:
    for limit in (0, -1, -(2**31)):
        yield Case(
            f"limit {limit}",
            "Scan",
            {"TableName": "hash", "Limit": limit},
            ONE + new("Limit", at_least(1, "value")),
            OCTOBER,
        )
        yield Case(
            f"limit {limit}",
            "Query",
            {"TableName": "hash", "Limit": limit},
            ONE + new("Limit", at_least(1, "value")),
            "errors.md 6.5",
        )
    for limit, constraint in ((0, at_least(1, "value")), (101, at_most(100, "value"))):
        yield Case(
            f"limit {limit}",
            "ListTables",
            {"Limit": limit},
            ONE + old(str(limit), "limit", constraint),
            "limits.md section 4",
        )
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1, member: 0}
        path = f"provisionedThroughput.{member[0].lower()}{member[1:]}"
        for operation, base in (
            ("CreateTable", {**CREATE, "BillingMode": "PROVISIONED"}),
            ("UpdateTable", {"TableName": "hash"}),
        ):
            yield Case(
                f"{member} of 0",
                operation,
                {**base, "ProvisionedThroughput": units},
                ONE + old("0", path, at_least(1, "value")),
                "limits.md section 6: minimum 1 + 1",
            )
            yield Case(
                f"no {member}",
                operation,
                {**base, "ProvisionedThroughput": {n: v for n, v in units.items() if n != member}},
                ONE + null(path),
                SOURCE,
            )
    yield Case(
        "no attributes to get",
        "Scan",
        {"TableName": "hash", "AttributesToGet": []},
        ONE + new("AttributesToGet", at_least(1)),
        "limits.md section 3",
    )
    yield Case(
        "256 attributes to get",
        "GetItem",
        {"TableName": "hash", "Key": KEY, "AttributesToGet": [f"a{n}" for n in range(256)]},
        ONE + new("AttributesToGet", at_most(255)),
        "limits.md section 3",
    )
    for what, elements in (("three", 3), ("five", 5)):
        keys = [{"AttributeName": f"k{n}", "KeyType": "HASH"} for n in range(elements)]
        echo = ", ".join(f"KeySchemaElement(attributeName=k{n}, keyType=HASH)" for n in range(elements))
        yield Case(
            f"{what} keys",
            "CreateTable",
            {**CREATE, "KeySchema": keys},
            ONE + old(f"[{echo}]", "keySchema", at_most(2)),
            "new-features.md section 10",
        )
    for name, constraint in (("", at_least(1)), ("a" * 256, at_most(255))):
        yield Case(
            f"a key attribute of {len(name)} bytes",
            "CreateTable",
            {**CREATE, "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}]},
            ONE + old(name, "keySchema.1.member.attributeName", constraint),
            "limits.md section 1: reported before consistency problems of the schema",
        )


def several() -> Iterator[Case]:
    bad = {"ReturnValues": "x", "ReturnConsumedCapacity": "y"}
    capacity = old("y", "returnConsumedCapacity", CAPACITY)
    yield Case(
        "three at once",
        "PutItem",
        {"TableName": "hash", "Item": KEY, **bad, "ReturnItemCollectionMetrics": "z"},
        f"3 validation errors detected: {capacity}; {BARE_RETURN_VALUES}; {BARE_METRICS}",
        RECORDED,
    )
    yield Case(
        "two at once",
        "DeleteItem",
        {"TableName": "hash", "Key": KEY, **bad},
        f"2 validation errors detected: {capacity}; {BARE_RETURN_VALUES}",
        RECORDED,
    )
    yield Case(
        "only ReturnValues",
        "UpdateItem",
        {"TableName": "hash", "Key": KEY, **bad},
        ONE + BARE_RETURN_VALUES,
        RECORDED,
    )
    no_key = {"UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}}
    yield Case(
        "an empty name and no key",
        "UpdateItem",
        {"TableName": "", **no_key},
        f"2 validation errors detected: {old('', 'tableName', at_least(1))}; {null('key')}",
        RECORDED,
    )
    yield Case(
        "an empty name, two enumerations and no key",
        "UpdateItem",
        {"TableName": "", **no_key, **bad},
        f"4 validation errors detected: {capacity}; {old('', 'tableName', at_least(1))}; "
        f"{old('x', 'returnValues', RETURN_VALUES)}; {null('key')}",
        RECORDED,
    )
    yield Case(
        "XOR and no key",
        "UpdateItem",
        {"TableName": "hash", "Expected": {"a": {"Exists": False}}, "ConditionalOperator": "XOR"},
        f"2 validation errors detected: {old('XOR', 'conditionalOperator', CONDITIONAL)}; {null('key')}",
        RECORDED,
    )
    yield Case(
        "two at once without a key",
        "DeleteItem",
        {"TableName": "hash", "ReturnItemCollectionMetrics": "x"},
        f"2 validation errors detected: {null('key')}; {old('x', 'returnItemCollectionMetrics', METRICS)}",
        "errors.md section 4; assumed: as UpdateItem",
    )
    yield Case(
        "two at once",
        "GetItem",
        {"TableName": "hash", "ReturnConsumedCapacity": "x"},
        f"2 validation errors detected: {null('key')}; {old('x', 'returnConsumedCapacity', CAPACITY)}",
        "errors.md section 11; assumed: as UpdateItem",
    )
    yield Case(
        "at most ten",
        "CreateTable",
        {**CREATE, "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "X"}] * 12},
        "10 validation errors detected: "
        + "; ".join(
            old(
                "X",
                f"attributeDefinitions.{n}.member.attributeType",
                "Member must satisfy enum value set: [B, N, S]",
            )
            for n in range(1, 11)
        ),
        "errors.md section 3: at most 10 errors are collected",
    )


def stages() -> Iterator[Case]:
    """What is reported together, and what alone."""
    capacity = {"ReturnConsumedCapacity": "y"}
    bad_capacity = old("y", "returnConsumedCapacity", CAPACITY)
    metrics = {"ReturnItemCollectionMetrics": "z"}
    mode = {"ReturnValuesOnConditionCheckFailure": "m"}
    bad_mode = old("m", "returnValuesOnConditionCheckFailure", DELETE_VALUES)
    two, three = "2 validation errors detected: ", "3 validation errors detected: "
    for operation in ("PutItem", "DeleteItem"):
        base = {"TableName": "hash", **ITEM_WRITES[operation]}
        for what, request, text in (
            (
                "a bad name and ReturnValues",
                {"TableName": "bad!name", "ReturnValues": "x"},
                f"{two}{old('bad!name', 'tableName', NAME)}; {BARE_RETURN_VALUES}",
            ),
            (
                "a bad name and capacity",
                {"TableName": "bad!name", **capacity},
                f"{two}{old('bad!name', 'tableName', NAME)}; {bad_capacity}",
            ),
            (
                "an empty name and all",
                {"TableName": "", **capacity, **metrics, "ReturnValues": "x"},
                ONE + new("TableName", at_least(1)),
            ),
            (
                "four bad enumerations",
                {**capacity, **metrics, "ReturnValues": "x", "ConditionalOperator": "x"},
                f"{three}{bad_capacity}; {BARE_RETURN_VALUES}; {BARE_METRICS}",
            ),
            (
                "a bad failure mode and metrics",
                {**mode, **metrics},
                f"{two}{old('z', 'returnItemCollectionMetrics', METRICS)}; {bad_mode}",
            ),
            (
                "ALL_NEW and a bad name",
                {"TableName": "bad!name", "ReturnValues": "ALL_NEW"},
                f"{two}{old('bad!name', 'tableName', NAME)}; ReturnValues can only be ALL_OLD or NONE",
            ),
            (
                "UPDATED_OLD and a bad capacity",
                {**capacity, "ReturnValues": "UPDATED_OLD"},
                f"{two}{bad_capacity}; ReturnValues can only be ALL_OLD or NONE",
            ),
        ):
            yield Case(what, operation, {**base, **request}, text, OCTOBER)
    update = {"TableName": "hash", "Key": KEY}
    for what, request, text in (
        ("all but the name", {"ReturnValues": "x", **mode, **metrics, **capacity}, ONE + BARE_RETURN_VALUES),
        ("a bad mode and the rest", {**mode, **metrics, **capacity}, bad_mode),
        ("metrics and capacity", {**metrics, **capacity}, ONE + BARE_METRICS),
        ("only capacity", capacity, bad_capacity),
        (
            "a bad name and all",
            {"TableName": "ab", "ReturnValues": "x", **mode, **metrics, **capacity},
            ONE + old("ab", "tableName", at_least(3)),
        ),
        (
            "no name and ReturnValues",
            {"TableName": None, "ReturnValues": "x"},
            f"{two}{null('tableName')}; {old('x', 'returnValues', RETURN_VALUES)}",
        ),
        (
            "no key and all",
            {"Key": None, "ReturnValues": "x", **mode, **metrics, **capacity},
            f"5 validation errors detected: {bad_capacity}; {bad_mode}; "
            f"{old('x', 'returnValues', RETURN_VALUES)}; "
            f"{old('z', 'returnItemCollectionMetrics', METRICS)}; {null('key')}",
        ),
    ):
        yield Case(what, "UpdateItem", {**update, **request}, text, OCTOBER)
    for operation, members in (("GetItem", {"Key": KEY}), ("Query", {}), ("Scan", {})):
        for what, request, text in (
            (
                "a bad name and capacity",
                {"TableName": "ab", **capacity},
                f"{two}{old('ab', 'tableName', at_least(3))}; {bad_capacity}",
            ),
            (
                "an empty name and capacity",
                {"TableName": "", **capacity},
                ONE + new("TableName", at_least(1)),
            ),
        ):
            yield Case(what, operation, {**members, **request}, text, OCTOBER)
    limit = new("Limit", at_least(1, "value"))
    for operation in ("Query", "Scan"):
        base = {"TableName": "hash"}
        for what, request, text in (
            (
                "Limit, then the name, then all else",
                {"TableName": "", "Limit": 0, "Select": "s", **capacity},
                f"{two}{limit}; {new('TableName', at_least(1))}",
            ),
            ("Limit before Select", {"Limit": 0, "Select": "s"}, ONE + limit),
            (
                "a name before Select",
                {"TableName": "ab", "Select": "s"},
                ONE + old("ab", "tableName", at_least(3)),
            ),
            (
                "a number beyond 32 bits",
                {"Limit": -(2**31) - 1},
                ONE + old(str(-(2**31)), "limit", at_least(1, "value")),
            ),
            ("a fraction below 1", {"Limit": 0.5}, ONE + old("0", "limit", at_least(1, "value"))),
            (
                "no name",
                {"TableName": None, "Limit": 0, "Select": "s", **capacity},
                f"4 validation errors detected: {old('s', 'select', SELECT)}; {bad_capacity}; "
                f"{null('tableName')}; {old('0', 'limit', at_least(1, 'value'))}",
            ),
        ):
            yield Case(what, operation, {**base, **request}, text, OCTOBER)
    for what, request, text in (
        (
            "every number",
            {"Limit": 0, "Segment": -1, "TotalSegments": 0, "TableName": ""},
            f"4 validation errors detected: {limit}; {new('Segment', at_least(0, 'value'))}; "
            f"{new('TotalSegments', at_least(1, 'value'))}; {new('TableName', at_least(1))}",
        ),
        (
            "a segment beyond 32 bits",
            {"Segment": 2**31, "TotalSegments": 2},
            ONE + old(str(2**31 - 1), "segment", at_most(999_999, "value")),
        ),
        (
            "a filter without an operator",
            {"ScanFilter": {"a": {}}, "Select": "s", "Segment": -1, "TotalSegments": 0},
            f"4 validation errors detected: {old('s', 'select', SELECT)}; "
            f"{old('0', 'totalSegments', at_least(1, 'value'))}; "
            f"{null('scanFilter.a.member.comparisonOperator')}; {old('-1', 'segment', at_least(0, 'value'))}",
        ),
        (
            "an operator of no sense",
            {
                "ScanFilter": {
                    "a": {"ComparisonOperator": "NULL"},
                    "b": {"ComparisonOperator": "eq", "AttributeValueList": []},
                },
                "Select": "s",
            },
            INVALID + "Invalid comparison operator",
        ),
        (
            "ConditionalOperator without a filter, before Select",
            {"ConditionalOperator": "OR", "Select": "s"},
            "ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            "a repeated attribute before Select",
            {"AttributesToGet": ["a", "a"], "Select": "s"},
            INVALID + "Duplicate value in attribute name: a",
        ),
        (
            "an empty attribute before Select",
            {"AttributesToGet": [""], "Select": "s"},
            "Empty attribute name",
        ),
        ("Select before segments", {"Select": "s", "Segment": 0}, ONE + old("s", "select", SELECT)),
    ):
        yield Case(what, "Scan", {"TableName": "hash", **request}, text, OCTOBER)
    batch = {"RequestItems": {"hash": []}, **capacity, **metrics}
    no_writes = old("{hash=[]}", "requestItems", BATCH_SIZES)
    yield Case(
        "an empty list and bad enumerations",
        "BatchWriteItem",
        batch,
        f"{three}{no_writes}; {bad_capacity}; {old('z', 'returnItemCollectionMetrics', METRICS)}",
        OCTOBER,
    )
    yield Case(
        "a bad name with an empty list",
        "BatchWriteItem",
        {"RequestItems": {"bad!name": []}},
        ONE + old("{bad!name=[]}", "requestItems", BATCH_SIZES),
        OCTOBER,
    )
    for operation, kind in (("TransactWriteItems", "Delete"), ("TransactGetItems", "Get")):
        path = f"transactItems.1.member.{kind.lower()}"
        for what, name, more, text in (
            ("a bad name and capacity", "bad!name", capacity, ONE + bad_capacity),
            ("a short name", "ab", {}, ONE + old("ab", f"{path}.tableName", at_least(3))),
            (
                "a short bad name",
                "a!",
                {},
                f"{two}{old('a!', f'{path}.tableName', at_least(3))}; {old('a!', f'{path}.tableName', NAME)}",
            ),
        ):
            request = {"TransactItems": [{kind: {"TableName": name, "Key": KEY}}], **more}
            yield Case(what, operation, request, text, OCTOBER)
    yield Case(
        "a bad mode and a bad name",
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "bad!name", "Item": KEY, **mode}}]},
        ONE + old("m", "transactItems.1.member.put.returnValuesOnConditionCheckFailure", DELETE_VALUES),
        OCTOBER,
    )


BATCH_SIZES = f"Map value must satisfy constraint: [{at_most(25)}, {at_least(1)}]"


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


def deep_values() -> Iterator[Case]:
    """Single-item writes check requests with values of more than 62 levels in the old layer."""
    expected = {"Expected": {"a": {"Value": deep(100)}, "b": {"Exists": False}}, "ConditionalOperator": "XOR"}
    for operation, members in ITEM_WRITES.items():
        base = {"TableName": "nothing", **members}
        yield Case(
            "XOR beside 100 levels",
            operation,
            {**base, **expected},
            ONE + old("XOR", "conditionalOperator", CONDITIONAL),
            RECORDED,
        )
        for levels, text in ((62, BARE_RETURN_VALUES), (63, old("x", "returnValues", RETURN_VALUES))):
            yield Case(
                f"ReturnValues beside {levels} levels",
                operation,
                {**base, "Expected": {"d": {"Value": deep(levels)}}, "ReturnValues": "x"},
                ONE + text,
                RECORDED,
            )
    yield Case(
        "ReturnValues beside a key of 100 levels",
        "DeleteItem",
        {"TableName": "nothing", "Key": {"p": deep(100)}, "ReturnValues": "x"},
        ONE + old("x", "returnValues", RETURN_VALUES),
        RECORDED,
    )
    for operation in ("PutItem", "DeleteItem"):
        for levels, prefix in ((1, ONE), (62, ONE), (63, "")):
            yield Case(
                f"UPDATED_NEW beside {levels} levels",
                operation,
                {
                    "TableName": "nothing",
                    **ITEM_WRITES[operation],
                    "ConditionExpression": "d = :deep",
                    "ExpressionAttributeValues": {":deep": deep(levels)},
                    "ReturnValues": "UPDATED_NEW",
                },
                prefix + "ReturnValues can only be ALL_OLD or NONE",
                RECORDED,
            )


def batches() -> Iterator[Case]:
    bad_name = {"RequestItems": {"bad!name": {"Keys": [{"p": {"S": "a"}}]}}}
    echo = old('{"bad!name":{"Keys":[{"p":{"S":"a"}}]}}', "requestItems", MAP_KEYS)
    yield Case("a bad name", "BatchGetItem", bad_name, ONE + echo, RECORDED)
    yield Case(
        "a bad name and a bad enumeration",
        "BatchGetItem",
        {**bad_name, "ReturnConsumedCapacity": "x"},
        f"2 validation errors detected: {echo}; {old('x', 'returnConsumedCapacity', CAPACITY)}",
        RECORDED,
    )
    yield Case(
        "a bad name and bad enumerations",
        "BatchWriteItem",
        {
            "RequestItems": {"bad!name": [{"DeleteRequest": {"Key": KEY}}]},
            "ReturnConsumedCapacity": "x",
            "ReturnItemCollectionMetrics": "y",
        },
        f"2 validation errors detected: {old('x', 'returnConsumedCapacity', CAPACITY)}; "
        f"{old('y', 'returnItemCollectionMetrics', METRICS)}",
        RECORDED,
    )
    yield Case(
        "a long token and a bad enumeration",
        "TransactWriteItems",
        {
            "TransactItems": [{"Delete": {"TableName": "hash", "Key": KEY}}],
            "ClientRequestToken": "x" * 37,
            "ReturnConsumedCapacity": "x",
        },
        f"2 validation errors detected: {old('x' * 37, 'clientRequestToken', at_most(36))}; "
        f"{old('x', 'returnConsumedCapacity', CAPACITY)}",
        RECORDED,
    )


def before_the_rest() -> Iterator[Case]:
    """A constraint before operation rules, those before the table, the table before its keys."""
    missing = {"TableName": "nothing"}
    wrong_key = {"q": {"S": "x"}}
    for operation, members in (
        ("GetItem", {"Key": wrong_key}),
        ("DeleteItem", {"Key": wrong_key}),
        ("UpdateItem", {"Key": wrong_key}),
        ("PutItem", {"Item": wrong_key}),
    ):
        yield Case(
            "a missing table before its key",
            operation,
            {**missing, **members},
            "Requested resource not found",
            "errors.md section 4: 8 before 9",
            "ResourceNotFoundException",
        )
    yield Case(
        "a constraint before a bad value",
        "PutItem",
        {**missing, "Item": {"a": {"N": "x"}}, "ReturnConsumedCapacity": "x"},
        ONE + old("x", "returnConsumedCapacity", CAPACITY),
        "errors.md section 4: 6 before 7",
    )
    yield Case(
        "a bad value before a missing table",
        "PutItem",
        {**missing, "Item": {"a": {"N": "x"}}},
        ONE + "The parameter cannot be converted to a numeric value: x",
        "errors.md section 4: 7 before 8",
    )
    yield Case(
        "a bad expression before a missing table",
        "PutItem",
        {**missing, "Item": KEY, "ConditionExpression": "a ="},
        ONE + 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="',
        "errors.md section 4: validation precedes existence",
    )
    yield Case(
        "a bad expression before a missing table",
        "Scan",
        {**missing, "FilterExpression": "foo(a)"},
        "Invalid FilterExpression: Invalid function name; function: foo",
        "errors.md section 4",
    )
    yield Case(
        "a bad expression before a missing table",
        "GetItem",
        {**missing, "Key": KEY, "ProjectionExpression": "a, a"},
        "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or "
        "rewrite one of these paths; path one: [a], path two: [a]",
        "errors.md section 4",
    )
    yield Case(
        "a bad key condition before a missing table",
        "Query",
        {**missing, "KeyConditionExpression": "p <> :p", "ExpressionAttributeValues": {":p": {"S": "x"}}},
        "Invalid operator used in KeyConditionExpression: <>",
        "errors.md section 4: operand types before table lookup",
    )
    yield Case(
        "segments before a missing table",
        "Scan",
        {**missing, "Segment": 1},
        "The TotalSegments parameter is required but was not present in the request when Segment "
        "parameter is present",
        "errors.md section 4: 7 before 8",
    )
    yield Case(
        "mixed parameters before a bad expression",
        "Scan",
        {**missing, "FilterExpression": "foo(", "ScanFilter": {}},
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}",
        "errors.md 6.4",
    )
    yield Case(
        "a bad value before mixed parameters",
        "PutItem",
        {**missing, "Item": {"a": {}}, "Expected": {}, "ConditionExpression": "a"},
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        "assumed: the item is read before its condition",
    )
    for operation, members in (("PutItem", {"Item": {**KEY, "v": {"S": "x" * 409_600}}}),):
        yield Case(
            "a missing table before the size",
            operation,
            {**missing, **members},
            "Requested resource not found",
            "errors.md section 4: 8 before 10",
            "ResourceNotFoundException",
        )
    yield Case(
        "a key before the size",
        "PutItem",
        {"TableName": "hash", "Item": {"p": {"N": "1"}, "v": {"S": "x" * 409_600}}},
        "One or more parameter values were invalid: Type mismatch for key p expected: S actual: N",
        "errors.md section 4: 9 before 10",
    )


def cases() -> Iterator[Case]:
    yield from names()
    yield from enumerations()
    yield from bounds()
    yield from several()
    yield from stages()
    yield from deep_values()
    yield from batches()
    yield from before_the_rest()


@in_lots(cases())
def test_a_broken_constraint_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)
