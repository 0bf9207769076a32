"""Query: key operators, order by type, both directions, limits and pages.

Sources: expressions.md section 3; limits.md section 4; engine-requirements.md, classes 1, 2 and 7.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from fixtures.schemas import everything, item, pages, plain

STRINGS = [
    *("\x00", "\x00\x00", "\x00\x01", "\x01", " ", "-", "0", "00", "01", "1", "10", "2", "A", "B", "Z"),
    *("a", "a\x00", "a\x00a", "a ", "aa", "ab", "b", "z", "~", "\x7f", "\x80", "é", "ß", "☃"),
    *("\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001d11e", "\U0010ffff", "zz"),
]
"""Astral characters sort after U+FFFF by UTF-8 bytes, but not by UTF-16 units."""

NINES = "9.9999999999999999999999999999999999999E125"
NUMBERS = [
    *(f"-{NINES}", "-1E125", "-12345678901234567890", "-100", "-99.5", "-99", "-10", "-1.5", "-1.01", "-1"),
    *("-0.5", "-0.1", "-1E-130", "0", "1E-130", "1E-129", "0.05", "0.1", "0.11", "0.5", "1", "1.01", "1.5"),
    *("2", "9", "9.9", "10", "11", "99", "100", "101", "1E20", "1E125", NINES),
]

BINARIES = [
    *(
        b"\x00",
        b"\x00\x00",
        b"\x00\x01",
        b"\x00\xff",
        b"\x01",
        b"\x7f",
        b"\x80",
        b"\xfe",
        b"\xff",
        b"\xff\x00",
    ),
    *(b"\xff\xff", b"a", b"ab"),
]

ORDERS: dict[str, tuple[str, list[Any]]] = {
    "strings by UTF-8 bytes": ("S", sorted(STRINGS, key=str.encode)),
    "numbers numerically": ("N", sorted(map(Decimal, NUMBERS))),
    "binaries as unsigned bytes": ("B", sorted(BINARIES)),
}


@pytest.mark.parametrize(("type_", "values"), ORDERS.values(), ids=ORDERS)
def test_query_returns_items_in_sort_key_order(
    dynamodb: Any, create: Callable[..., str], type_: str, values: list[Any]
) -> None:
    table = create("p:S", f"r:{type_}")
    for value in random.Random(1).sample(values, len(values)):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=value))
    parameters = {
        "TableName": table,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
    }
    ascending = everything(dynamodb.query, **parameters)
    descending = everything(dynamodb.query, ScanIndexForward=False, Limit=3, **parameters)
    assert [plain(found)["r"] for found in ascending] == values
    assert [plain(found)["r"] for found in descending] == values[::-1]


OPERATORS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "r = :a": lambda r, a, b: r == a,
    "r < :a": lambda r, a, b: r < a,
    "r <= :a": lambda r, a, b: r <= a,
    "r > :a": lambda r, a, b: r > a,
    "r >= :a": lambda r, a, b: r >= a,
    "r BETWEEN :a AND :b": lambda r, a, b: a <= r <= b,
    "begins_with(r, :a)": lambda r, a, b: r[: len(a)] == a,
}


PRESENT: dict[str, list[Any]] = {
    "S": ["a", "a\x00", "a\x00b", "ab", "b", "ba", "\U00010000"],
    "N": [Decimal(text) for text in ("-10", "-1.5", "0", "0.5", "1", "1.5", "100")],
    "B": [b"\x00", b"\x00\x00", b"\x00\xff", b"a", b"ab", b"\xff", b"\xff\xff"],
}
ABSENT: dict[str, list[Any]] = {
    "S": ["0", "aa", "z"],
    "N": [Decimal(-11), Decimal(2), Decimal(1000)],
    "B": [b"b"],
}
CASES = [
    (clause, type_)
    for clause in OPERATORS
    for type_ in "SNB"
    if not (clause.startswith("begins_with") and type_ == "N")  # expressions.md section 3
]


def ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize(("clause", "type_"), CASES)
def test_every_operator_selects_matching_items(
    dynamodb: Any, create: Callable[..., str], clause: str, type_: str
) -> None:
    """For every pair of present and absent operands, forwards and backwards, in pages of two."""
    table = create("p:S", f"r:{type_}")
    for p in ("0", "1", "2"):
        for value in PRESENT[type_]:
            dynamodb.put_item(TableName=table, Item=item(p=p, r=value))
    operands = PRESENT[type_] + ABSENT[type_]
    for a in operands:
        for b in operands if ":b" in clause else [a]:
            if ordered(b) < ordered(a):
                continue
            test = OPERATORS[clause]
            wanted = [v for v in PRESENT[type_] if test(ordered(v), ordered(a), ordered(b))]
            values = {":p": "1", ":a": a, **({":b": b} if ":b" in clause else {})}
            parameters = {
                "TableName": table,
                "KeyConditionExpression": f"p = :p AND {clause}",
                "ExpressionAttributeValues": item(**values),
            }
            forth = everything(dynamodb.query, **parameters)
            back = everything(dynamodb.query, ScanIndexForward=False, Limit=2, **parameters)
            assert [plain(found)["r"] for found in forth] == wanted, values
            assert [plain(found)["r"] for found in back] == wanted[::-1], values


@pytest.fixture
def ten(dynamodb: Any, create: Callable[..., str]) -> dict[str, Any]:
    """Query parameters over ten items, r = 0..9, parity in `odd`."""
    table = create("p:S", "r:N")
    for number in range(10):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=number, odd=bool(number % 2)))
        dynamodb.put_item(TableName=table, Item=item(p="2", r=number))
    return {
        "TableName": table,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
    }


CLAUSE_FORMS = [
    "p = :p AND r > :r",
    "r > :r AND p = :p",
    "(p = :p) AND (r > :r)",
    "(p = :p AND r > :r)",
    ":p = p AND r > :r",
    "p = :p and r > :r",
    "#p = :p AND #r > :r",
]


@pytest.mark.parametrize("expression", CLAUSE_FORMS)
def test_a_key_condition_can_be_written_in_many_ways(
    dynamodb: Any, ten: dict[str, Any], expression: str
) -> None:
    names = {"ExpressionAttributeNames": {"#p": "p", "#r": "r"}} if "#" in expression else {}
    found = dynamodb.query(
        TableName=ten["TableName"],
        KeyConditionExpression=expression,
        ExpressionAttributeValues=item(**{":p": "1", ":r": 6}),
        **names,
    )
    assert [plain(i)["r"] for i in found["Items"]] == [7, 8, 9]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", range(1, 13))
def test_pages_of_any_size_give_every_item_once(
    dynamodb: Any, ten: dict[str, Any], limit: int, forward: bool
) -> None:
    found = list(pages(dynamodb.query, Limit=limit, ScanIndexForward=forward, **ten))
    assert [plain(i)["r"] for page in found for i in page["Items"]] == list(range(10))[
        :: 1 if forward else -1
    ]
    assert all(page["Count"] == page["ScannedCount"] <= limit for page in found)
    assert all(page["Count"] == limit for page in found[:-1])


def test_a_page_ended_by_its_limit_has_a_last_evaluated_key_even_at_the_end(
    dynamodb: Any, ten: dict[str, Any]
) -> None:
    page = dynamodb.query(Limit=10, **ten)
    assert page["LastEvaluatedKey"] == item(p="1", r=9)
    rest = dynamodb.query(ExclusiveStartKey=page["LastEvaluatedKey"], **ten)
    assert (rest["Count"], rest["ScannedCount"], rest["Items"]) == (0, 0, [])
    assert "LastEvaluatedKey" not in rest
    assert "LastEvaluatedKey" not in dynamodb.query(Limit=11, **ten)


def test_the_limit_counts_before_the_filter(dynamodb: Any, ten: dict[str, Any]) -> None:
    """Class 7 of engine-requirements.md."""
    values = {**ten["ExpressionAttributeValues"], ":yes": {"BOOL": True}}
    page = dynamodb.query(
        **{**ten, "ExpressionAttributeValues": values}, FilterExpression="odd = :yes", Limit=4
    )
    assert [plain(i)["r"] for i in page["Items"]] == [1, 3]
    assert (page["Count"], page["ScannedCount"]) == (2, 4)
    assert page["LastEvaluatedKey"] == item(p="1", r=3)


def test_a_page_can_be_empty_and_not_the_last(dynamodb: Any, ten: dict[str, Any]) -> None:
    values = {**ten["ExpressionAttributeValues"], ":x": {"S": "x"}}
    page = dynamodb.query(
        **{**ten, "ExpressionAttributeValues": values}, FilterExpression="odd = :x", Limit=4
    )
    assert page["Items"] == []
    assert "LastEvaluatedKey" in page


def test_a_start_key_need_not_exist(dynamodb: Any, ten: dict[str, Any]) -> None:
    found = dynamodb.query(ExclusiveStartKey={"p": {"S": "1"}, "r": {"N": "6.5"}}, **ten)
    assert [plain(i)["r"] for i in found["Items"]] == [7, 8, 9]


def test_a_later_page_keeps_both_bounds_of_between(dynamodb: Any, ten: dict[str, Any]) -> None:
    """Class 2 of engine-requirements.md: page 2 keeps the upper bound of BETWEEN; three pages and more."""
    parameters = {
        "TableName": ten["TableName"],
        "KeyConditionExpression": "p = :p AND r BETWEEN :a AND :b",
        "ExpressionAttributeValues": item(**{":p": "1", ":a": 2, ":b": 7}),
    }
    for forward in (True, False):
        found = everything(dynamodb.query, Limit=2, ScanIndexForward=forward, **parameters)
        assert [plain(i)["r"] for i in found] == [2, 3, 4, 5, 6, 7][:: 1 if forward else -1]


def test_count_gives_no_items(dynamodb: Any, ten: dict[str, Any]) -> None:
    answer = dynamodb.query(Select="COUNT", Limit=7, **ten)
    assert "Items" not in answer
    assert (answer["Count"], answer["ScannedCount"]) == (7, 7)
    assert answer["LastEvaluatedKey"] == item(p="1", r=6)


def test_select_specific_attributes_goes_with_a_projection(dynamodb: Any, ten: dict[str, Any]) -> None:
    answer = dynamodb.query(Select="SPECIFIC_ATTRIBUTES", ProjectionExpression="r", Limit=1, **ten)
    assert answer["Items"] == [item(r=0)]


def test_a_page_ends_at_one_megabyte(dynamodb: Any, create: Callable[..., str]) -> None:
    """1 MB of evaluated data, before filter and projection (limits.md section 4)."""
    table = create("p:S", "r:N")
    for number in range(6):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=number, data="x" * 300_000))
    parameters = {
        "TableName": table,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
        "ProjectionExpression": "r",
    }
    for forward in (True, False):
        found = list(pages(dynamodb.query, ScanIndexForward=forward, **parameters))
        assert found[0]["Count"] < 6
        assert sum(page["Count"] for page in found) == 6


def test_a_query_of_a_table_without_sort_key(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:N")
    for number in range(3):
        dynamodb.put_item(TableName=table, Item=item(p=number))
    answer = dynamodb.query(
        TableName=table, KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": {"N": "1.0"}}
    )
    assert answer["Items"] == [item(p=1)]


def test_pages_of_one_item_end_on_a_table_without_sort_key(dynamodb: Any, create: Callable[..., str]) -> None:
    """Such a query cannot be restarted, so it must not offer a LastEvaluatedKey; found by the machine in
    tests/model. The service's own answer is not captured."""
    table = create("p:S")
    dynamodb.put_item(TableName=table, Item=item(p="1"))
    answer = dynamodb.query(
        TableName=table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "1"}},
        Limit=1,
    )
    assert answer["Count"] == 1
    assert "LastEvaluatedKey" not in answer


def test_query_without_matches_returns_an_empty_list(dynamodb: Any, ten: dict[str, Any]) -> None:
    answer = dynamodb.query(**{**ten, "ExpressionAttributeValues": {":p": {"S": "none"}}})
    assert (answer["Count"], answer["ScannedCount"], answer["Items"]) == (0, 0, [])
    assert "LastEvaluatedKey" not in answer
