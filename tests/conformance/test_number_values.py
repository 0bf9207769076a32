"""Numbers: grammar, range, precision and the form they come back in.

Sources: limits.md section 2 ("Number", "Number grammar"), expressions.md section 8, errors.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import everything, invalid, item

ENVELOPE = "1 validation error detected: "
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
DIGITS = "Attempting to store more than 38 significant digits in a Number"


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


NINES = "9" * 38

NORMAL_FORM = {
    "0": "0",
    "-0": "0",
    "0.000": "0",
    "0.0e126": "0",
    "0e125": "0",
    "-0e-130": "0",
    "1": "1",
    "+5": "5",
    "0042.1200": "42.12",
    "1.0": "1",
    ".5": "0.5",
    "5.": "5",
    "1e0": "1",
    "1E3": "1000",
    "12e-1": "1.2",
    "-1.50e+1": "-15",
    "1E125": "1" + "0" * 125,
    "-1E-130": "-0." + "0" * 129 + "1",
    "0.1e126": "1" + "0" * 125,
    NINES: NINES,
    f"0.{NINES}": f"0.{NINES}",
    f"{NINES}e88": NINES + "0" * 88,
    "1" + "0" * 125: "1" + "0" * 125,
    f"000{NINES}000": NINES + "000",
}


@pytest.mark.parametrize(("sent", "stored"), NORMAL_FORM.items())
def test_a_number_comes_back_in_normal_form(dynamodb: Any, table: str, sent: str, stored: str) -> None:
    dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "n": {"N": sent}})
    assert dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]["n"] == {"N": stored}


REFUSED = {
    "1e126": OVERFLOW,
    "-1e126": OVERFLOW,
    "10e125": OVERFLOW,
    "0e126": OVERFLOW,
    "-0e-131": UNDERFLOW,
    "1e2147483647": OVERFLOW,
    "1e99999999999999999999": OVERFLOW,
    "1e-131": UNDERFLOW,
    "-0.1e-130": UNDERFLOW,
    "1e-99999999999999999999": UNDERFLOW,
    "1" * 39: DIGITS,
    f"1{'0' * 37}1": DIGITS,
    f"0.{'1' * 39}": DIGITS,
    **{
        text: f"The parameter cannot be converted to a numeric value: {text}"
        for text in (
            *("abc", "1a", "--1", "1-", "+", ".", "e5", "1e", "1e+", "1e1.5", "0x10", "1_000", "1,5"),
            *("NaN", "Infinity", "-Infinity", " 1", "1 ", "1\n", "١", "1.2.3"),
        )
    },
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=map(repr, REFUSED))
def test_an_invalid_number_is_rejected(dynamodb: Any, table: str, text: str, message: str) -> None:
    with invalid(ENVELOPE + message):
        dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "n": {"N": text}})


def test_1_and_1_0_and_1e0_are_one_key(dynamodb: Any, create: Callable[..., str]) -> None:
    """Source: expressions.md section 8."""
    table = create("p:N", "r:N")
    for text in ("1", "1.0", "1e0", "0.1e1", "+01"):
        dynamodb.put_item(TableName=table, Item={"p": {"N": text}, "r": {"N": text}})
    assert everything(dynamodb.scan, TableName=table) == [item(p=1, r=1)]
    assert "Item" in dynamodb.get_item(TableName=table, Key={"p": {"N": "10e-1"}, "r": {"N": "1."}})


SUMS = [
    ("1", "2", "3"),
    ("0.1", "0.2", "0.3"),
    ("-5", "5", "0"),
    (NINES[:-1] + "8", "1", NINES),
    ("1" + "0" * 37, "-1", "9" * 37),
    ("1E125", "-1E125", "0"),
    ("9E-130", "1E-130", "0." + "0" * 128 + "1"),
]


@pytest.mark.parametrize(("left", "right", "total"), SUMS)
def test_sums_are_exact(dynamodb: Any, table: str, left: str, right: str, total: str) -> None:
    dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "n": {"N": left}})
    answer = dynamodb.update_item(
        TableName=table,
        Key=item(p="1"),
        UpdateExpression="SET a = n + :n, d = n - :m ADD b :n",
        ExpressionAttributeValues={":n": {"N": right}, ":m": {"N": f"-{right}".replace("--", "")}},
        ReturnValues="ALL_NEW",
    )["Attributes"]
    assert (answer["a"], answer["d"]) == ({"N": total}, {"N": total})


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (NINES, "0.1", OVERFLOW),
        ("9E125", "9E125", OVERFLOW),
        ("1E125", "1", OVERFLOW),
        ("1E50", "1", OVERFLOW),
        ("1.1E-130", "-1E-130", UNDERFLOW),
    ],
    ids=["39 digits", "too large", "126 digits", "51 digits", "too small"],
)
def test_sums_out_of_range_are_rejected(
    dynamodb: Any, table: str, left: str, right: str, message: str
) -> None:
    """At run time, so without envelope; the item stays as it was."""
    dynamodb.put_item(TableName=table, Item={"p": {"S": "1"}, "n": {"N": left}})
    before = dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]
    for expression in ("SET n = n + :n", "ADD n :n"):
        with invalid(message):
            dynamodb.update_item(
                TableName=table,
                Key=item(p="1"),
                UpdateExpression=expression,
                ExpressionAttributeValues={":n": {"N": right}},
            )
    assert dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"] == before


def test_no_add_is_lost(dynamodb: Any, table: str) -> None:
    """Class 4 of engine-requirements.md."""
    for _ in range(100):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
    assert dynamodb.get_item(TableName=table, Key=item(p="1"))["Item"]["n"] == {"N": "100"}
