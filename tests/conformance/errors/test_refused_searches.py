"""Query and Scan: key conditions, filters, Select, indexes, start keys, segments. Source: errors.md 6.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixtures.rejections import INVALID, KEY, NOT_VALID, ONE, PAIR, Case, World, named

SOURCE = "errors.md 6.5"
OCTOBER = "errors.md section 11, recorded in October 2026"
X = {":p": {"S": "x"}}
N = {":n": {"N": "1"}}
SYNTAX = "Invalid KeyConditionExpression: Syntax error; "
OPERATOR = "Invalid operator used in KeyConditionExpression: "
CONDITION = "Invalid condition in KeyConditionExpression: "
TYPE = INVALID + "Condition parameter type does not match schema type"
MISSED = "Query condition missed key schema element: "
NESTED = "KeyConditionExpressions cannot contain nested operations"
DEEP = "KeyConditionExpressions cannot have conditions on nested attributes"
UNDEFINED = (
    "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; "
    "attribute value: "
)
PREFIX_OF_N = (
    "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
    "operator or function: begins_with, operand type: N"
)
TWICE = "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"


def too_many(count: int, attributes: int) -> str:
    return (
        f"The number of query conditions ({count}) exceeds the number of key attributes defined in the "
        f"schema ({attributes})"
    )


def key_query(table: str, expression: str, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    request = {"TableName": table, "KeyConditionExpression": expression, **more}
    if values:
        request["ExpressionAttributeValues"] = values
    return request


def key_conditions() -> Iterator[Case]:
    for what, table, expression, values, text in (
        ("empty", "hash", "", {}, "Invalid KeyConditionExpression: The expression can not be empty;"),
        ("cut off", "hash", "p =", {}, SYNTAX + 'token: "<EOF>", near: "="'),
        ("a literal", "number", "p = 1", {}, SYNTAX + 'token: "1", near: "= 1"'),
        (
            "redundant parentheses",
            "hash",
            "((p = :p))",
            X,
            "Invalid KeyConditionExpression: The expression has redundant parentheses;",
        ),
        (
            "a reserved word",
            "hash",
            "name = :p",
            X,
            "Invalid KeyConditionExpression: Attribute name is a reserved keyword; reserved keyword: name",
        ),
        (
            "an undefined name",
            "hash",
            "#p = :p",
            X,
            "Invalid KeyConditionExpression: An expression attribute name used in the document "
            "path is not defined; attribute name: #p",
        ),
        (
            "an undefined value",
            "hash",
            "p = :q",
            X,
            "Invalid KeyConditionExpression: An expression attribute value used in expression is "
            "not defined; attribute value: :q",
        ),
        (
            "an unknown function",
            "hash",
            "foo(p)",
            {},
            "Invalid KeyConditionExpression: Invalid function name; function: foo",
        ),
        ("OR", "pair", "p = :p OR r = :n", {**X, **N}, OPERATOR + "OR"),
        ("NOT", "hash", "NOT p = :p", X, OPERATOR + "NOT"),
        ("IN", "hash", "p IN (:p)", X, OPERATOR + "IN"),
        ("unequal", "hash", "p <> :p", X, OPERATOR + "<>"),
        ("attribute_exists", "hash", "attribute_exists(p)", {}, OPERATOR + "attribute_exists"),
        ("attribute_not_exists", "hash", "attribute_not_exists(p)", {}, OPERATOR + "attribute_not_exists"),
        ("contains", "hash", "contains(p, :p)", X, OPERATOR + "contains"),
        ("attribute_type", "hash", "attribute_type(p, :p)", {":p": {"S": "S"}}, OPERATOR + "attribute_type"),
        ("size", "hash", "size(p) = :n", N, NESTED),
        ("a nested attribute", "hash", "p.a = :p", X, DEEP),
        ("an element", "hash", "p[0] = :p", X, DEEP),
        ("two conditions on one key", "hash", "p = :p AND p = :p", X, TWICE),
        (
            "two names in one condition",
            "pair",
            "p = r",
            {},
            CONDITION + "Multiple attribute names used in one condition",
        ),
        ("no name in a condition", "hash", ":p = :p", X, CONDITION + "No key attribute specified"),
        (
            "BETWEEN with the key last",
            "pair",
            "p = :p AND :n BETWEEN r AND :n",
            {**X, **N},
            CONDITION + "BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "begins_with with the key last",
            "text",
            "p = :p AND begins_with(:p, r)",
            X,
            CONDITION + "begins_with operator must have the key attribute as its first operand",
        ),
        (
            "three conditions",
            "pair",
            "p = :p AND r = :n AND l = :p",
            {**X, **N},
            too_many(3, 2),
        ),
        ("two conditions of one key attribute", "hash", "p = :p AND r = :p", X, too_many(2, 1)),
        ("another attribute", "hash", "a = :p", X, MISSED + "p"),
        ("the sort key alone", "pair", "r = :n", N, MISSED + "p"),
        ("another attribute beside", "pair", "p = :p AND a = :p", X, MISSED + "r"),
        ("a range of partition keys", "hash", "p > :p", X, "Query key condition not supported"),
        ("a prefix of partition keys", "hash", "begins_with(p, :p)", X, "Query key condition not supported"),
        ("a partition key of another type", "hash", "p = :n", N, TYPE),
        ("a sort key of another type", "pair", "p = :p AND r = :p", X, TYPE),
        ("a prefix of a number", "pair", "p = :p AND begins_with(r, :p)", X, TYPE),
        (
            "an empty partition key",
            "hash",
            "p = :p",
            {":p": {"S": ""}},
            NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: p",
        ),
        (
            "reversed bounds",
            "pair",
            "p = :p AND r BETWEEN :m AND :n",
            {**X, ":m": {"N": "2"}, **N},
            "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be "
            "greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, "
            "upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "bounds of two types",
            "pair",
            "p = :p AND r BETWEEN :n AND :p",
            {**X, **N},
            "Invalid KeyConditionExpression: The BETWEEN operator requires same data type for "
            "lower and upper bounds; lower bound operand: AttributeValue: {N:1}, upper bound "
            "operand: AttributeValue: {S:x}",
        ),
        (
            "a boolean",
            "hash",
            "p < :p",
            {":p": {"BOOL": True}},
            "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
            "operator or function: <, operand type: BOOL",
        ),
        ("a boolean equality", "pair", "p = :p AND r = :t", {**X, ":t": {"BOOL": True}}, TYPE),
        (
            "an empty sort key",
            "text",
            "p = :p AND r = :r",
            {**X, ":r": {"S": ""}},
            NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: r",
        ),
        # Left to right, the first problem wins (errors.md section 4)
        (
            "an undefined value before an operand",
            "text",
            "p = :q AND begins_with(r, :n)",
            N,
            UNDEFINED + ":q",
        ),
        ("an operand before an undefined value", "text", "begins_with(r, :n) AND p = :q", N, PREFIX_OF_N),
        (
            "an operand before a third condition",
            "text",
            "p = :p AND begins_with(r, :n) AND r > :p",
            {**X, **N},
            PREFIX_OF_N,
        ),
        (
            "an operand before a missing table",
            "nothing",
            "p = :p AND begins_with(r, :n)",
            {**X, **N},
            PREFIX_OF_N,
        ),
        ("OR before IN", "pair", "p = :p OR r IN (:n)", {**X, **N}, OPERATOR + "OR"),
        ("the first of two", "pair", "p <> :p AND contains(r, :n)", {**X, **N}, OPERATOR + "<>"),
        (
            "the first of two, the other way",
            "pair",
            "contains(r, :n) AND p <> :p",
            {**X, **N},
            OPERATOR + "contains",
        ),
    ):
        yield Case(what, "Query", key_query(table, expression, values), text, SOURCE)


def of_both() -> Iterator[Case]:
    """What Query and Scan refuse alike."""
    for operation, base in (
        ("Query", key_query("pair", "p = :p", X)),
        ("Scan", {"TableName": "pair"}),
    ):
        where = SOURCE
        envelope = ONE
        for parameter, content in (("AttributesToGet", ["a"]), ("ProjectionExpression", "a")):
            for select in ("ALL_ATTRIBUTES", "COUNT", "ALL_PROJECTED_ATTRIBUTES"):
                if operation == "Query" and parameter == "AttributesToGet":
                    continue  # mixes with the key condition
                yield Case(
                    f"{parameter} with {select}",
                    operation,
                    {**base, "Select": select, parameter: content},
                    envelope
                    + f"Cannot specify the {parameter} when choosing to get "
                    + ("only the Count" if select == "COUNT" else select),
                    where,
                )
        yield Case(
            "SPECIFIC_ATTRIBUTES of nothing",
            operation,
            {**base, "Select": "SPECIFIC_ATTRIBUTES"},
            envelope + "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES",
            OCTOBER,
        )
        yield Case(
            "ALL_PROJECTED_ATTRIBUTES of a table",
            operation,
            {**base, "Select": "ALL_PROJECTED_ATTRIBUTES"},
            envelope + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
            where,
        )
        yield Case(
            "an index that is not there",
            operation,
            {**base, "IndexName": "nothing"},
            "The table does not have the specified index: nothing",
            where,
        )
        yield Case(
            "a table that is not there",
            operation,
            {**base, "TableName": "nothing"},
            "Requested resource not found",
            "errors.md 6.1",
            "ResourceNotFoundException",
        )
        for what, start in (
            ("with another name", {"q": {"S": "x"}, "r": {"N": "1"}}),
            ("of half a key", {"p": {"S": "x"}}),
            ("with one attribute too many", {**PAIR, "l": {"S": "x"}}),
        ):
            yield Case(
                f"a start key {what}",
                operation,
                {**base, "ExclusiveStartKey": start},
                "The provided starting key is invalid",
                where,
            )
        for wrong in ({"S": "1"}, {"M": {}}, {"NS": ["1"]}):
            yield Case(
                f"a start key of type {[*wrong]}",
                operation,
                {**base, "ExclusiveStartKey": {"p": {"S": "x"}, "r": wrong}},
                "The provided starting key is invalid",
                OCTOBER,
            )
    for operation, base in (
        ("Query", key_query("pair", "g = :p", X, IndexName="global")),
        ("Scan", {"TableName": "pair", "IndexName": "global"}),
    ):
        yield Case(
            "a consistent read of a global index",
            operation,
            {**base, "ConsistentRead": True},
            "Consistent reads are not supported on global secondary indexes",
            SOURCE,
        )
        yield Case(
            "all attributes of a global index that has not all",
            operation,
            {**base, "Select": "ALL_ATTRIBUTES"},
            INVALID
            + "Select type ALL_ATTRIBUTES is not supported for global secondary index global because its "
            "projection type is not ALL",
            SOURCE,
        )
        yield Case(
            "an attribute that a global index has not",
            operation,
            {**base, "ProjectionExpression": "p, zz"},
            INVALID + "Global secondary index global does not project [zz]",
            "errors.md section 8, same text",
        )


def of_query() -> Iterator[Case]:
    yield Case(
        "no key condition",
        "Query",
        {"TableName": "hash"},
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        SOURCE,
    )
    for name in ("p", "r"):
        yield Case(
            f"a filter on the key {name}",
            "Query",
            key_query("pair", "p = :p", X, FilterExpression=f"attribute_exists({name})"),
            f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}",
            SOURCE,
        )
    yield Case(
        "a filter on an index's key",
        "Query",
        key_query("pair", "g = :p", {**X, **N}, IndexName="global", FilterExpression="h > :n"),
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: h",
        SOURCE,
    )
    yield Case(
        "a QueryFilter on the key",
        "Query",
        {
            "TableName": "pair",
            "KeyConditions": {"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}},
            "QueryFilter": {"r": {"ComparisonOperator": "NOT_NULL"}},
        },
        "QueryFilter can only contain non-primary key attributes: Primary key attribute: r",
        SOURCE,
    )
    yield Case(
        "a start key of another partition",
        "Query",
        key_query("pair", "p = :p", X, ExclusiveStartKey={"p": {"S": "y"}, "r": {"N": "1"}}),
        "The provided starting key is outside query boundaries based on provided conditions",
        SOURCE,
    )
    yield Case(
        "a start key outside the sort condition",
        "Query",
        key_query(
            "pair", "p = :p AND r > :n", {**X, **N}, ExclusiveStartKey={"p": {"S": "x"}, "r": {"N": "0"}}
        ),
        "The provided starting key does not match the range key predicate",
        SOURCE,
    )
    yield Case(
        "a restart of one row",
        "Query",
        key_query("hash", "p = :p", X, ExclusiveStartKey=KEY),
        "The query can return at most one row and cannot be restarted",
        SOURCE,
    )
    unequal = (
        "RANGE key attributes c must have equality conditions specified in the query because a condition is "
        "present on key attribute d"
    )
    for what, expression, text in (
        ("not all HASH attributes", "a = :p", MISSED + "b"),
        ("a gap in the RANGE attributes", "a = :p AND b = :n AND d = :d", unequal),
        ("a range before the last attribute", "a = :p AND b = :n AND c > :p AND d = :d", unequal),
    ):
        values = {
            name: value for name, value in {**X, **N, ":d": {"B": "AA=="}}.items() if name in expression
        }
        yield Case(
            what,
            "Query",
            key_query("pair", expression, values, IndexName="multi"),
            text,
            "new-features.md section 10; errors.md section 10",
        )
    yield Case(
        "two names in one condition beside an unused name",
        "Query",
        key_query("pair", "p = r", {}, ExpressionAttributeNames={"#u": "u"}),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#u}",
        SOURCE,
    )


def of_scan() -> Iterator[Case]:
    yield Case(
        "a segment without their number",
        "Scan",
        {"TableName": "hash", "Segment": 0},
        "The TotalSegments parameter is required but was not present in the request when Segment "
        "parameter is present",
        SOURCE,
    )
    yield Case(
        "a number of segments without one",
        "Scan",
        {"TableName": "hash", "TotalSegments": 2},
        "The Segment parameter is required but was not present in the request when parameter "
        "TotalSegments is present",
        SOURCE,
    )
    for segment, total in ((1, 1), (4, 4), (7, 2)):
        yield Case(
            f"segment {segment} of {total}",
            "Scan",
            {"TableName": "hash", "Segment": segment, "TotalSegments": total},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments",
            OCTOBER,
        )
    for total, bound in (
        (0, "greater than or equal to 1"),
        (-1, "greater than or equal to 1"),
        (1_000_001, "less than or equal to 1000000"),
    ):
        yield Case(
            f"{total} segments",
            "Scan",
            {"TableName": "hash", "Segment": 0, "TotalSegments": total},
            f"{ONE}Value at 'TotalSegments' failed to satisfy constraint: Member must have value {bound}",
            OCTOBER,
        )


def cases() -> Iterator[Case]:
    yield from key_conditions()
    yield from of_both()
    yield from of_query()
    yield from of_scan()


@named(cases())
def test_a_search_that_cannot_be_made_is_refused(world: World, case: Case) -> None:
    world.refuses(case)
