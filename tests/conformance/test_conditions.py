"""Conditions on writes, filters on reads: one evaluator, the same truth table everywhere.

Source: expressions.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, refused

STORED = item(
    p="1",
    n=5,
    s="hello",
    b=b"\x01\x02",
    yes=True,
    nothing=None,
    l=["a", 1, ["x"]],
    m={"k": "v", "deep": {"l": [1, 2]}},
    ss={"a", "b"},
    ns={1, 2},
    bs={b"x"},
    e="",
    **{"a.b": "dotted"},
)
VALUES = item(
    **{
        ":5": 5,
        ":6": 6,
        ":hello": "hello",
        ":hell": "hell",
        ":a": "a",
        ":v": "v",
        ":z": "z",
        ":b": b"\x01\x02",
        ":b1": b"\x01",
        ":true": True,
        ":null": None,
        ":list": ["a", 1, ["x"]],
        ":x": ["x"],
        ":map": {"k": "v", "deep": {"l": [1, 2]}},
        ":ss": {"b", "a"},
        ":ns": {2, 1},
        ":bs": {b"x"},
        ":0": 0,
        ":2": 2,
        ":1": 1,
        ":N": "N",
        ":S": "S",
        ":L": "L",
        ":NULL": "NULL",
        ":x1": b"x",
    }
)
NAMES = {"#dot": "a.b", "#size": "size"}

TRUE = [
    # = is deep and typed; sets have no order.
    *("n = :5", "s = :hello", "b = :b", "yes = :true", "nothing = :null", "l = :list", "m = :map"),
    *("ss = :ss", "ns = :ns", "bs = :bs", "m.k = :v", "l[0] = :a", "l[2] = :x", "m.deep.l[1] = :2"),
    *(":5 = n", "#dot <> s"),
    # <> is its negation, also true for another type and for a gone attribute.
    *("n <> :6", "n <> :hello", "gone <> :5", "gone <> n", "l[7] <> :5"),
    # Order needs one type among S, N, B.
    *("n < :6", "n <= :5", "n > :0", "n >= :5", "s > :hell", "b > :b1", "m.deep.l[0] < n"),
    "n BETWEEN :5 AND :6",
    "n BETWEEN :0 AND :5",
    ":5 BETWEEN :0 AND n",
    "n IN (:6, :hello, :5)",
    "l IN (:list)",
    "s IN (gone, :hello)",
    # Functions.
    *("attribute_exists(n)", "attribute_exists(m.deep.l[1])", "attribute_exists(nothing)"),
    *("attribute_not_exists(gone)", "attribute_not_exists(m.deep.l[2])", "attribute_not_exists(s.x)"),
    *("attribute_not_exists(n[0])", "attribute_type(n, :N)", "attribute_type(l, :L)"),
    *("attribute_type(nothing, :NULL)", "begins_with(s, :hell)", "begins_with(b, :b1)"),
    *("begins_with(s, s2) OR begins_with(s, e)", "contains(s, :hell)", "contains(b, :b1)"),
    *("contains(l, :a)", "contains(l, :x)", "contains(ss, :a)", "contains(ns, :2)", "contains(bs, :x1)"),
    *("size(s) = :5", "size(l) > :2", "size(m) = :2", "size(ss) = :2", "size(b) = :2", "size(e) = :0"),
    "size(s) BETWEEN :5 AND :6",
    # Precedence: NOT before AND before OR; comparators first.
    *("NOT n = :6", "NOT n = :6 AND n = :5", "n = :6 AND n = :6 OR n = :5", "n = :5 OR n = :6 AND n = :6"),
    *("NOT (n = :6 OR n = :5) OR s = :hello", "NOT NOT n = :5", "(n = :5)", "not n = :6 and n in (:5)"),
    "attribute_exists(n) AND NOT attribute_exists(gone) AND size(l) > :2 AND begins_with(s, :hell)",
]

FALSE = [
    *("n = :6", "n = :hello", "gone = :5", "gone = gone2", "l[9] = :a", "m = :list"),
    *("n <> :5", "l <> :list"),
    *("n < :5", "n > :5", "s < :hell", "gone < :6", "gone > :0", "l < n", "yes < n", "s > n"),
    *("n BETWEEN :6 AND :6", "s BETWEEN n AND l", "gone BETWEEN :0 AND :6"),
    *("n IN (:6)", "gone IN (:5)", "s IN (n, l)"),
    *("attribute_exists(gone)", "attribute_exists(m.x)", "attribute_exists(s[0])"),
    *("attribute_not_exists(n)", "attribute_type(n, :S)", "attribute_type(gone, :S)"),
    *("begins_with(s, :a)", "begins_with(gone, :a)", "begins_with(n, :a)", "begins_with(s, :b1)"),
    *("contains(s, :5)", "contains(l, :z)", "contains(ss, :5)", "contains(n, :5)", "contains(gone, :a)"),
    *("size(gone) = :0", "size(n) = :1", "size(yes) = :1", "size(s) < :5"),
    *("NOT n = :5", "n = :5 AND n = :6", "NOT (n = :5 OR gone = :5)", "NOT attribute_exists(n)"),
]


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """A table with the item STORED."""
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=STORED)
    return name


def used(expression: str) -> dict[str, Any]:
    """Placeholders the expression mentions: unused ones are refused."""
    words = "".join(c if c.isalnum() or c in ":#_" else " " for c in expression).split()
    parameters = {
        "ExpressionAttributeValues": {k: v for k, v in VALUES.items() if k in words},
        "ExpressionAttributeNames": {k: v for k, v in NAMES.items() if k in words},
    }
    return {name: content for name, content in parameters.items() if content}


@pytest.mark.parametrize("expression", TRUE)
def test_true_condition_lets_writes_and_reads_pass(dynamodb: Any, table: str, expression: str) -> None:
    parameters = used(expression)
    dynamodb.put_item(TableName=table, Item=STORED, ConditionExpression=expression, **parameters)
    dynamodb.update_item(TableName=table, Key=item(p="1"), ConditionExpression=expression, **parameters)
    assert dynamodb.scan(TableName=table, FilterExpression=expression, **parameters)["Count"] == 1
    dynamodb.delete_item(TableName=table, Key=item(p="1"), ConditionExpression=expression, **parameters)


@pytest.mark.parametrize("expression", FALSE)
def test_false_condition_fails_writes_and_filters_reads(dynamodb: Any, table: str, expression: str) -> None:
    parameters = used(expression)
    writes = {
        "put_item": {"Item": STORED},
        "update_item": {"Key": item(p="1")},
        "delete_item": {"Key": item(p="1")},
    }
    for operation, subject in writes.items():
        with refused("ConditionalCheckFailedException", "The conditional request failed"):
            getattr(dynamodb, operation)(
                TableName=table, **subject, ConditionExpression=expression, **parameters
            )
    assert dynamodb.scan(TableName=table, FilterExpression=expression, **parameters)["Count"] == 0


def test_an_absent_item_has_no_attributes(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S")
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(TableName=table, Item=item(p="1"), ConditionExpression="attribute_exists(p)")
    dynamodb.put_item(TableName=table, Item=item(p="1"), ConditionExpression="attribute_not_exists(p)")
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(TableName=table, Item=item(p="1"), ConditionExpression="attribute_not_exists(p)")


def test_a_condition_sees_the_old_item(dynamodb: Any, table: str) -> None:
    with refused("ConditionalCheckFailedException"):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="SET n = :6",
            ConditionExpression="n = :6",
            ExpressionAttributeValues={":6": {"N": "6"}},
        )


def test_a_failed_condition_is_reported_before_errors_of_the_update(dynamodb: Any, table: str) -> None:
    """The condition is evaluated on the old item first (expressions.md section 5)."""
    with refused("ConditionalCheckFailedException"):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="SET gone.x = :5",
            ConditionExpression="n = :6",
            ExpressionAttributeValues={":5": {"N": "5"}, ":6": {"N": "6"}},
        )


PREFIX = "Invalid ConditionExpression: "

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"ConditionExpression": ""}, PREFIX + "The expression can not be empty;"),
    "redundant parentheses": (
        {"ConditionExpression": "((attribute_exists(p)))"},
        PREFIX + "The expression has redundant parentheses;",
    ),
    "reserved word": (
        {"ConditionExpression": "attribute_exists(Size)"},
        PREFIX + "Attribute name is a reserved keyword; reserved keyword: Size",
    ),
    "unknown function": (
        {"ConditionExpression": "exists(p)"},
        PREFIX + "Invalid function name; function: exists",
    ),
    "function in capitals": (
        {"ConditionExpression": "ATTRIBUTE_EXISTS(p)"},
        PREFIX + "Invalid function name; function: ATTRIBUTE_EXISTS",
    ),
    "size alone": (
        {"ConditionExpression": "size(p)"},
        PREFIX + "The function is not allowed to be used this way in an expression; function: size",
    ),
    "compared truth": (
        {"ConditionExpression": "attribute_exists(p) = attribute_exists(p)"},
        PREFIX + "The function is not allowed to be used this way in an expression; "
        "function: attribute_exists",
    ),
    "undefined name": (
        {"ConditionExpression": "attribute_exists(#n)"},
        PREFIX + "An expression attribute name used in the document path is not defined; attribute name: #n",
    ),
    "undefined value": (
        {"ConditionExpression": "p = :v"},
        PREFIX + "An expression attribute value used in expression is not defined; attribute value: :v",
    ),
    "operand count": (
        {"ConditionExpression": "attribute_exists(p, q)"},
        PREFIX + "Incorrect number of operands for operator or function; "
        "operator or function: attribute_exists, number of operands: 2",
    ),
    "no path": (
        {
            "ConditionExpression": "attribute_exists(:v)",
            "ExpressionAttributeValues": {":v": {"S": "x"}},
        },
        PREFIX + "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    "type name": (
        {
            "ConditionExpression": "attribute_type(p, :v)",
            "ExpressionAttributeValues": {":v": {"S": "STRING"}},
        },
        PREFIX + "Invalid attribute type name found; type: STRING, "
        "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    "number to begin with": (
        {
            "ConditionExpression": "begins_with(p, :v)",
            "ExpressionAttributeValues": {":v": {"N": "1"}},
        },
        PREFIX + "Incorrect operand type for operator or function; "
        "operator or function: begins_with, operand type: N",
    ),
    "ordered list": (
        {"ConditionExpression": "p < :v", "ExpressionAttributeValues": {":v": {"L": []}}},
        PREFIX + "Incorrect operand type for operator or function; operator or function: <, operand type: L",
    ),
    "bounds of two types": (
        {
            "ConditionExpression": "p BETWEEN :a AND :b",
            "ExpressionAttributeValues": {":a": {"S": "1"}, ":b": {"N": "2"}},
        },
        PREFIX + "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {S:1}, upper bound operand: AttributeValue: {N:2}",
    ),
    "bounds out of order": (
        {
            "ConditionExpression": "p BETWEEN :a AND :b",
            "ExpressionAttributeValues": {":a": {"N": "2"}, ":b": {"N": "1"}},
        },
        PREFIX + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    "same operands": (
        {"ConditionExpression": "p = p"},
        PREFIX + "The first operand must be distinct from the remaining operands for this operator or "
        "function; operator: =, first operand: [p]",
    ),
    "unused value": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeValues": {":v": {"S": "x"}}},
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
    ),
    "unused name": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeNames": {"#n": "x"}},
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}",
    ),
    "values without expression": (
        {"ExpressionAttributeValues": {":v": {"S": "x"}}},
        "ExpressionAttributeValues can only be specified when using expressions",
    ),
    "names without expression": (
        {"ExpressionAttributeNames": {"#n": "x"}},
        "ExpressionAttributeNames can only be specified when using expressions",
    ),
    "empty values": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeValues": {}},
        "ExpressionAttributeValues must not be empty",
    ),
    "empty names": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeNames": {}},
        "ExpressionAttributeNames must not be empty",
    ),
    "value without colon": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeValues": {"v": {"S": "x"}}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"',
    ),
    "name without sign": (
        {"ConditionExpression": "attribute_exists(p)", "ExpressionAttributeNames": {"n": "x"}},
        'ExpressionAttributeNames contains invalid key: Syntax error; key: "n"',
    ),
}


@pytest.mark.parametrize(("parameters", "text"), REFUSED.values(), ids=REFUSED)
def test_put_rejects_the_condition_in_an_envelope(
    dynamodb: Any, table: str, parameters: dict[str, Any], text: str
) -> None:
    """Source: errors.md sections 3 (enveloped families) and 6.4."""
    with invalid("1 validation error detected: " + text):
        dynamodb.put_item(TableName=table, Item=STORED, **parameters)


def test_an_expression_has_up_to_4096_bytes(dynamodb: Any, table: str) -> None:
    """Raw text, checked before parsing (limits.md section 3)."""
    fitting = "attribute_exists(p)" + " " * (4096 - 19)
    dynamodb.put_item(TableName=table, Item=STORED, ConditionExpression=fitting)
    with invalid():
        dynamodb.put_item(TableName=table, Item=STORED, ConditionExpression=fitting + " ")


def test_an_expression_has_up_to_300_operators(dynamodb: Any, table: str) -> None:
    """The message always says 301 (limits.md section 3)."""
    values = {":v": {"S": "x"}}
    fitting = " OR ".join(["p<>:v"] * 150)
    dynamodb.put_item(
        TableName=table, Item=STORED, ConditionExpression=fitting, ExpressionAttributeValues=values
    )
    with invalid(
        "1 validation error detected: Invalid ConditionExpression: "
        "The expression contains too many operators; operator count: 301"
    ):
        dynamodb.put_item(
            TableName=table,
            Item=STORED,
            ConditionExpression=fitting + " OR p<>:v",
            ExpressionAttributeValues=values,
        )


def test_in_takes_up_to_100_operands(dynamodb: Any, table: str) -> None:
    values = {f":v{number}": {"N": str(number)} for number in range(101)}
    hundred = list(values)[:100]
    dynamodb.put_item(
        TableName=table,
        Item=STORED,
        ConditionExpression=f"n IN ({','.join(hundred)})",
        ExpressionAttributeValues={name: values[name] for name in hundred},
    )
    with invalid():
        dynamodb.put_item(
            TableName=table,
            Item=STORED,
            ConditionExpression=f"n IN ({','.join(values)})",
            ExpressionAttributeValues=values,
        )
