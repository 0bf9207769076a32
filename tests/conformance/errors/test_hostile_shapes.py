"""Documents and expressions made to exhaust a reader: each gets a rejection, in bounded memory.

Peers crash or hang on these. There is no stopwatch here: most cases are far beyond what anything
worse than linear in the size of the request would finish in the patience of a test run. Memory is measured.
"""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import orjson
import pytest

from fixtures.rejections import KEY, World

MB = 1024 * 1024
OVERHEAD_BYTES = 4 * MB
PER_BYTE = 40
"""Python objects per byte of JSON: `[` is one byte, an empty list behind it 64, and it is held but once."""


def nested(opening: bytes, inner: bytes, closing: bytes, levels: int) -> bytes:
    return opening * levels + inner + closing * levels


def item(value: bytes) -> bytes:
    return b'{"TableName":"hash","Item":{"p":{"S":"x"},"v":' + value + b"}}"


TOO_DEEP_FOR_JSON = "SerializationException"
INVALID = "ValidationException"


@cache
def documents(count: int) -> list[tuple[str, str, bytes, str]]:
    """Returns documents with `count` equal parts: what, operation, body, exception."""
    return [
        *(
            (f"{levels} nested {what}", "PutItem", item(nested(opening, inner, closing, levels)), code)
            for what, opening, inner, closing in (
                ("maps", b'{"M":{"k":', b'{"S":"x"}', b"}}"),
                ("lists", b'{"L":[', b'{"S":"x"}', b"]}"),
            )
            for levels, code in (
                *((32, INVALID), (100, INVALID), (400, INVALID)),
                *((1_000, INVALID), (count, INVALID)),
                # More tokens than a request of items can have.
                (1_000_000, TOO_DEEP_FOR_JSON if what == "maps" else INVALID),
            )
        ),
        ("brackets without end", "PutItem", b"[" * 5_000_000, TOO_DEEP_FOR_JSON),
        ("braces without end", "PutItem", b'{"a":' * 2_000_000, TOO_DEEP_FOR_JSON),
        (
            "nested lists where a name should be",
            "PutItem",
            b'{"TableName":' + nested(b"[", b"", b"]", 1000) + b"}",
            TOO_DEEP_FOR_JSON,
        ),
        (
            "nested objects where a list should be",
            "TransactWriteItems",
            b'{"TransactItems":' + nested(b'{"a":', b"1", b"}", 900) + b"}",
            TOO_DEEP_FOR_JSON,
        ),
        ("nested nulls", "PutItem", item(nested(b'{"M":{"k":', b"null", b"}}", 30)), INVALID),
        ("a half-formed map", "PutItem", item(b'{"M":{"k":{"M":{}}'), TOO_DEEP_FOR_JSON),
        (
            f"{count:,} members",
            "PutItem",
            item(b'{"M":{' + b",".join(b'"%d":1' % n for n in range(count)) + b"}}"),
            TOO_DEEP_FOR_JSON,
        ),
        (f"{count:,} elements", "PutItem", item(b'{"L":[' + b"{}," * count + b"{}]}"), INVALID),
        (
            f"{count:,} equal members of a set",
            "PutItem",
            item(b'{"SS":["a"' + b',"a"' * count + b"]}"),
            INVALID,
        ),
        (f"{count:,} equal numbers", "PutItem", item(b'{"NS":["1"' + b',"1.0"' * count + b"]}"), INVALID),
        (f"a number of {count:,} digits", "PutItem", item(b'{"N":"' + b"9" * count + b'"}'), INVALID),
        (f"an exponent of {count:,} digits", "PutItem", item(b'{"N":"1e' + b"9" * count + b'"}'), INVALID),
        (f"{count:,} zeros and no number", "PutItem", item(b'{"N":"' + b"0" * count + b'x"}'), INVALID),
        (f"a bare number of {count:,} digits", "PutItem", item(b"9" * count), TOO_DEEP_FOR_JSON),
        (
            "base64 of 10 MB that ends wrong",
            "PutItem",
            item(b'{"B":"' + b"A" * (10 * MB - 1) + b'"}'),
            TOO_DEEP_FOR_JSON,
        ),
        (
            "an enumeration of 10 MB",
            "PutItem",
            b'{"TableName":"hash","Item":{},"ReturnValues":"' + b"x" * 10 * MB + b'"}',
            INVALID,
        ),
        ("a table name of 10 MB", "GetItem", b'{"TableName":"' + b"x" * 10 * MB + b'","Key":{}}', INVALID),
        (
            f"{count:,} keys",
            "BatchGetItem",
            b'{"RequestItems":{"hash":{"Keys":[' + b"{}," * count + b"{}]}}}",
            INVALID,
        ),
        (
            f"{count:,} requests",
            "BatchWriteItem",
            b'{"RequestItems":{"hash":[' + b"{}," * count + b"{}]}}",
            INVALID,
        ),
        (
            f"{count:,} actions",
            "TransactWriteItems",
            b'{"TransactItems":[' + b"{}," * count + b"{}]}",
            INVALID,
        ),
        (
            f"{count:,} key elements",
            "CreateTable",
            b'{"TableName":"new","KeySchema":[' + b"{}," * count + b"{}]}",
            INVALID,
        ),
        (
            f"{count:,} unused names",
            "Scan",
            b'{"TableName":"hash","FilterExpression":"a = :v","ExpressionAttributeValues":{":v":{"S":"x"}},'
            b'"ExpressionAttributeNames":{' + b",".join(b'"#%d":"a"' % n for n in range(count)) + b"}}",
            INVALID,
        ),
    ]


FEW, MANY = 20_000, 100_000


@pytest.mark.parametrize("at", range(len(documents(FEW))), ids=[what for what, *_ in documents(FEW)])
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_hostile_document_is_refused_in_bounded_memory(world: World, at: int, count: int) -> None:
    """Memory is bounded per byte, which fewer parts prove too: tracemalloc makes large documents slow."""
    _, operation, body, code = documents(count)[at]
    tracemalloc.start()
    try:
        status, answer = world.answer(operation, body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert status == 400
    assert answer["__type"].rpartition("#")[2] == code
    assert len(orjson.dumps(answer)) < 20 * MB
    assert peak < OVERHEAD_BYTES + PER_BYTE * len(body)


def fill(head: str, unit: str, tail: str = "", size: int = 4096) -> str:
    """`unit` repeated until the expression has at most `size` bytes."""
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


EXPRESSIONS: list[tuple[str, str]] = [
    ("opening parentheses", fill("", "(")),
    ("parentheses around a condition", "(" * 2000 + "a = :v" + ")" * 2000),
    ("closing parentheses", fill("a = :v", ")")),
    ("NOT without end", fill("", "NOT ")),
    ("NOT of a condition", fill("", "NOT ", "a = :v")),
    ("NOT and parentheses", fill("", "NOT(", "a = :v") + ")"),
    ("NOT and parentheses, closed", "NOT (" * 600 + "a = :v" + ")" * 600),
    ("AND without end", fill("a = :v", " AND a = :v")),
    ("OR without end", fill("a = :v", " OR a = :v")),
    ("parentheses to the right", "a = :v OR (" * 300 + "a = :v" + ")" * 300),
    ("a function in itself", fill("", "size(")),
    ("a function in itself, closed", "size(" * 600 + "a" + ")" * 600 + " = :v"),
    ("contains in itself", "contains(" * 300 + "a" + ", a)" * 300),
    ("an unknown function in itself", "f(" * 1000 + "a" + ")" * 1000),
    ("a path without end", fill("a", ".a", "[")),
    ("indexes without end", fill("a", "[0]", " =")),
    ("an index of 4,000 digits", "a[" + "9" * 4000 + "] = :v"),
    ("IN without end", fill("a IN (:v", ", :v")),
    ("BETWEEN in BETWEEN", fill("a ", "BETWEEN :v AND ")),
    ("operators alone", fill("", "= ")),
    ("commas", fill("", ",")),
    ("spaces", " " * 4096),
    ("sigils", "#" * 4096),
    ("colons", ":" * 4096),
    ("unicode", "é" * 2048),
    ("nul bytes", "\0" * 4096),
    ("a megabyte", "(" * MB),
]
PLACES: list[tuple[str, str, dict[str, Any]]] = [
    ("Scan", "FilterExpression", {"TableName": "hash"}),
    ("Query", "KeyConditionExpression", {"TableName": "hash"}),
    ("PutItem", "ConditionExpression", {"TableName": "hash", "Item": KEY}),
    ("UpdateItem", "UpdateExpression", {"TableName": "hash", "Key": KEY}),
    ("GetItem", "ProjectionExpression", {"TableName": "hash", "Key": KEY}),
]
PREFIXES = {"UpdateExpression": "SET x = "}


@pytest.mark.parametrize("place", PLACES, ids=[place[1] for place in PLACES])
@pytest.mark.parametrize(
    "expression", [expression for _, expression in EXPRESSIONS], ids=[what for what, _ in EXPRESSIONS]
)
def test_a_hostile_expression_is_refused(
    world: World, place: tuple[str, str, dict[str, Any]], expression: str
) -> None:
    """Only its syntax, its size or its operators can be reported; nothing overflows a stack."""
    operation, parameter, base = place
    for text in (expression, PREFIXES.get(parameter, "") + expression):
        request = {**base, parameter: text}
        if operation != "GetItem":
            request["ExpressionAttributeValues"] = {":v": {"S": "x"}}
        status, answer = world.answer(operation, request)
        assert (status, answer["__type"].rpartition("#")[2]) == (400, INVALID)
        assert len(answer["message"]) < 10_000


@pytest.mark.parametrize("operation", ["PutItem", "Query", "TransactWriteItems", "CreateTable", "ListTables"])
@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'"{}"', b"true", b"[[[]]]", b"{}" * 100_000, b""])
def test_what_is_no_object_is_refused_without_a_text(world: World, operation: str, body: bytes) -> None:
    status, answer = world.answer(operation, body)
    assert status == 400
    assert answer == {"__type": "com.amazon.coral.service#SerializationException"}
