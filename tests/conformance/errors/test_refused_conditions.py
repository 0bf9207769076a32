"""Conditions and filters that mean nothing, in each of the places where one may stand.

One list of mistakes, seven places: PutItem, UpdateItem and DeleteItem put the envelope around (errors.md
section 3), Query, Scan and the actions of a transaction say the same bare. Texts: errors.md section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fixtures.rejections import KEY, ONE, Case, World, in_lots

NAMES = {"#a": "a", "#b": "b", "#dot": "a.b"}
VALUES: dict[str, Any] = {
    ":s": {"S": "x"},
    ":t": {"S": "y"},
    ":n": {"N": "1"},
    ":m": {"N": "2"},
    ":b": {"B": "AQI="},
    ":o": {"BOOL": True},
    ":u": {"NULL": True},
    ":ss": {"SS": ["a", "b"]},
    ":ns": {"NS": ["1"]},
    ":bs": {"BS": ["AA=="]},
    ":l": {"L": []},
    ":d": {"M": {}},
}


def syntax(token: str, near: str) -> str:
    return f'Syntax error; token: "{token}", near: "{near}"'


def reserved(word: str) -> str:
    return f"Attribute name is a reserved keyword; reserved keyword: {word}"


def no_name(name: str) -> str:
    return f"An expression attribute name used in the document path is not defined; attribute name: {name}"


def no_value(name: str) -> str:
    return f"An expression attribute value used in expression is not defined; attribute value: {name}"


def of_updates(name: str) -> str:
    return f"The function is not allowed in a condition expression; function: {name}"


def no_function(name: str) -> str:
    return f"Invalid function name; function: {name}"


def misused(name: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {name}"


def count(operator: str, number: int) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {operator}, number of operands: {number}"
    )


def operand(operator: str, kind: str) -> str:
    return (
        "Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {kind}"
    )


def path_wanted(operator: str) -> str:
    return f"Operator or function requires a document path; operator or function: {operator}"


def not_distinct(operator: str, path: str) -> str:
    return (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {path}"
    )


def two_types(lower: str, upper: str) -> str:
    return (
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: "
        f"AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


def reversed_bounds(lower: str, upper: str) -> str:
    return (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound "
        f"operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


EMPTY = "The expression can not be empty;"
REDUNDANT = "The expression has redundant parentheses;"
TOO_LONG = "Expression size has exceeded the maximum allowed size; expression size: "
TOO_MANY = "The expression contains too many operators; operator count: 301"
TYPES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"

MISTAKES: list[tuple[str, str, str]] = [
    # The text
    ("empty", "", EMPTY),
    ("a path alone", "a", syntax("<EOF>", "a")),
    ("no right side", "a =", syntax("<EOF>", "=")),
    ("no left side", "= :s", syntax("=", "= :s")),
    ("a number literal", "a = 1", syntax("1", "= 1")),
    ("a string literal", "a = 'x'", syntax("'", "= 'x")),
    ("an unknown character", "a ! :s", syntax("!", "a ! :s")),
    ("not equal as in C", "a != :s", syntax("!", "a !=")),
    ("doubled equals", "a == :s", syntax("=", "== :s")),
    ("an unclosed parenthesis", "(a = :s", syntax("<EOF>", ":s")),
    ("a parenthesis too many", "a = :s)", syntax(")", ":s)")),
    ("a name that begins with a digit", "1a = :s", syntax("1", "1a")),
    ("BETWEEN without AND", "a BETWEEN :n", syntax("<EOF>", ":n")),
    ("IN without parentheses", "a IN :s", syntax(":s", "IN :s")),
    ("IN of nothing", "a IN ()", syntax(")", "()")),
    ("two conditions without AND", "a = :s b = :s", syntax("b", ":s b =")),
    ("NOT of nothing", "NOT", syntax("<EOF>", "NOT")),
    # Size and count (limits.md section 3)
    ("4,097 bytes", "a = :s" + " " * 4091, TOO_LONG + "4097"),
    ("4,097 bytes that are no expression", "!" * 4097, TOO_LONG + "4097"),
    ("301 operators", " OR ".join(["a = :s"] * 151), TOO_MANY),
    ("301 operators with NOT", " AND ".join(["NOT a = :s"] * 101), TOO_MANY),
    # Parentheses
    ("doubled parentheses", "((a = :s))", REDUNDANT),
    ("doubled parentheses inside", "a = :s AND ((b = :s))", REDUNDANT),
    ("doubled parentheses around AND", "((a = :s AND b = :s))", REDUNDANT),
    ("doubled parentheses around an operand", "((a)) = :s", REDUNDANT),
    # Reserved words
    *(
        (f"reserved word {word}", f"{word} = :s", reserved(word))
        for word in (
            "name",
            "STATUS",
            "Size",
            "value",
            "count",
            "user",
            "year",
            "Key",
            "hash",
            "ttl",
            "items",
        )
    ),
    ("a reserved word in a path", "a.name = :s", reserved("name")),
    ("a reserved word behind an index", "a[0].Values = :s", reserved("Values")),
    # Names and values
    ("an undefined name", "#x = :s", no_name("#x")),
    ("an undefined name in a path", "a.#x = :s", no_name("#x")),
    ("an undefined value", "a = :x", no_value(":x")),
    ("an undefined value in a function", "contains(a, :x)", no_value(":x")),
    ("an undefined value in IN", "a IN (:s, :x)", no_value(":x")),
    ("an undefined value in BETWEEN", "a BETWEEN :n AND :x", no_value(":x")),
    # Functions
    ("an unknown function", "foo(a)", no_function("foo")),
    ("a function in capitals", "ATTRIBUTE_EXISTS(a)", no_function("ATTRIBUTE_EXISTS")),
    ("a function in mixed case", "Begins_With(a, :s)", no_function("Begins_With")),
    ("an update's function", "if_not_exists(a, :s)", of_updates("if_not_exists")),
    ("another update's function", "list_append(a, :l) = :l", of_updates("list_append")),
    ("size as a condition", "size(a)", misused("size")),
    ("a boolean function compared", "attribute_exists(a) = :o", misused("attribute_exists")),
    ("a boolean function nested", "contains(a, begins_with(b, :s))", misused("begins_with")),
    ("contains as an operand", "a = contains(a, :s)", misused("contains")),
    # Operands
    ("attribute_exists of nothing", "attribute_exists()", syntax(")", "()")),
    ("attribute_exists of two", "attribute_exists(a, b)", count("attribute_exists", 2)),
    ("attribute_not_exists of two", "attribute_not_exists(a, b)", count("attribute_not_exists", 2)),
    ("attribute_type of one", "attribute_type(a)", count("attribute_type", 1)),
    ("begins_with of one", "begins_with(a)", count("begins_with", 1)),
    ("begins_with of three", "begins_with(a, :s, :t)", count("begins_with", 3)),
    ("contains of one", "contains(a)", count("contains", 1)),
    ("size of two", "size(a, b) = :n", count("size", 2)),
    ("101 operands of IN", f"a IN ({', '.join([':s'] * 101)})", count("IN", 101)),
    ("attribute_exists of a value", "attribute_exists(:s)", path_wanted("attribute_exists")),
    ("attribute_not_exists of a value", "attribute_not_exists(:s)", path_wanted("attribute_not_exists")),
    ("attribute_exists of size", "attribute_exists(size(a))", path_wanted("attribute_exists")),
    ("a path equal to itself", "a = a", not_distinct("=", "[a]")),
    ("a path equal to its alias", "a <> #a", not_distinct("<>", "[a]")),
    ("a deep path less than itself", "a.b[1] < #a.#b[1]", not_distinct("<", "[a, b, [1]]")),
    ("contains of a path in itself", "contains(a, a)", not_distinct("contains", "[a]")),
    (
        "a type that is none",
        "attribute_type(a, :t)",
        f"Invalid attribute type name found; type: y, valid types: {TYPES}",
    ),
    ("a type that is no string", "attribute_type(a, :n)", operand("attribute_type", "N")),
    *(
        (f"begins_with of {k}", f"begins_with(a, {v})", operand("begins_with", k))
        for k, v in (
            ("N", ":n"),
            ("BOOL", ":o"),
            ("NULL", ":u"),
            ("SS", ":ss"),
            ("NS", ":ns"),
            ("BS", ":bs"),
            ("L", ":l"),
            ("M", ":d"),
        )
    ),
    *(
        (f"less than {k}", f"a < {v}", operand("<", k))
        for k, v in (
            ("BOOL", ":o"),
            ("NULL", ":u"),
            ("SS", ":ss"),
            ("NS", ":ns"),
            ("BS", ":bs"),
            ("L", ":l"),
            ("M", ":d"),
        )
    ),
    *((f"{op} of a boolean", f"a {op} :o", operand(op, "BOOL")) for op in ("<=", ">", ">=")),
    ("BETWEEN two booleans", "a BETWEEN :o AND :o", operand("BETWEEN", "BOOL")),
    ("BETWEEN a string and a number", "a BETWEEN :s AND :n", two_types("{S:x}", "{N:1}")),
    ("BETWEEN numbers the wrong way round", "a BETWEEN :m AND :n", reversed_bounds("{N:2}", "{N:1}")),
    ("BETWEEN strings the wrong way round", "a BETWEEN :t AND :s", reversed_bounds("{S:y}", "{S:x}")),
    *(
        (f"size of {k}", f"size({v}) = :n", operand("size", k))
        for k, v in (("N", ":n"), ("BOOL", ":o"), ("NULL", ":u"))
    ),
    # Several mistakes (errors.md section 6.4, "Priority inside one expression")
    ("parentheses before a function", "((foo(a)))", REDUNDANT),
    ("a function before a reserved word", "foo(name)", no_function("foo")),
    ("a misused function before a reserved word", "size(name)", misused("size")),
    ("a reserved word before an undefined value", "name = :x", reserved("name")),
    ("an undefined name before a count", "attribute_exists(#x, b)", no_name("#x")),
    ("a count before distinctness", "contains(a, a, a)", count("contains", 3)),
    ("syntax before everything", "((foo(name = :x", syntax("=", "name = :x")),
    ("the first of two undefined values", "a = :y OR b = :x", no_value(":y")),
    ("an undefined value behind a type", "begins_with(a, :n) AND b = :x", no_value(":x")),
    ("an undefined name behind a count", "attribute_exists(a, b) OR #x = :s", no_name("#x")),
    ("a count behind distinctness", "a = a AND NOT attribute_exists(a, b)", count("attribute_exists", 2)),
    ("distinctness behind a type", "begins_with(a, :n) OR b = b", not_distinct("=", "[b]")),
    ("the first of two types", "begins_with(a, :n) OR a < :o", operand("begins_with", "N")),
]


@dataclass(frozen=True)
class Place:
    operation: str
    kind: str
    enveloped: bool
    request: Callable[[dict[str, Any]], dict[str, Any]]
    """From the expression's members."""


PLACES = [
    Place("PutItem", "ConditionExpression", True, lambda e: {"TableName": "hash", "Item": KEY, **e}),
    Place("DeleteItem", "ConditionExpression", True, lambda e: {"TableName": "hash", "Key": KEY, **e}),
    Place("UpdateItem", "ConditionExpression", True, lambda e: {"TableName": "hash", "Key": KEY, **e}),
    Place("Scan", "FilterExpression", False, lambda e: {"TableName": "hash", **e}),
    Place(
        "Query",
        "FilterExpression",
        False,
        lambda e: {
            "TableName": "hash",
            **e,
            "KeyConditionExpression": "p = :key",
            "ExpressionAttributeValues": {**e["ExpressionAttributeValues"], ":key": {"S": "x"}},
        },
    ),
    Place(
        "TransactWriteItems",
        "ConditionExpression",
        False,
        lambda e: {"TransactItems": [{"ConditionCheck": {"TableName": "hash", "Key": KEY, **e}}]},
    ),
    Place(
        "TransactWriteItems",
        "ConditionExpression",
        False,
        lambda e: {"TransactItems": [{"Put": {"TableName": "hash", "Item": KEY, **e}}]},
    ),
]


def request_of(place: Place, expression: str) -> dict[str, Any]:
    return place.request(
        {place.kind: expression, "ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
    )


def cases() -> Iterator[Case]:
    for place in PLACES:
        for what, expression, text in MISTAKES:
            whole = f"{ONE if place.enveloped else ''}Invalid {place.kind}: {text}"
            yield Case(
                what,
                place.operation,
                request_of(place, expression),
                whole,
                "errors.md 6.4, limits.md section 3",
            )


@in_lots(cases())
def test_a_condition_that_means_nothing_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


UNTYPED: list[tuple[str, str]] = [
    ("300 operators", " OR ".join(["a = :s"] * 150)),
    ("100 operands of IN", f"a IN ({', '.join([':s'] * 100)})"),
    ("4,096 bytes", "a = :s" + " " * 4090),
    ("single parentheses", "(a = :s) AND (b = :s)"),
    ("parentheses in parentheses", "((a = :s) AND b = :s)"),
    ("keywords of any case", "a = :s aNd nOt b bEtWeEn :n AND :m or a In (:s)"),
]


@pytest.mark.parametrize(("what", "expression"), UNTYPED, ids=[what for what, _ in UNTYPED])
def test_an_expression_at_the_limit_is_taken(world: World, what: str, expression: str) -> None:
    """Source: limits.md section 3; expressions.md section 2."""
    used = {
        name: value
        for name, value in VALUES.items()
        if f"{name} " in f"{expression} ".replace(")", " ").replace(",", " ")
    }
    world.accepts(
        "Scan", {"TableName": "hash", "FilterExpression": expression, "ExpressionAttributeValues": used}
    )
