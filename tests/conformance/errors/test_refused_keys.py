"""Keys that a table does not have, and key attributes that cannot be stored. Source: errors.md 6.3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fixtures.rejections import INVALID, NOT_VALID, PAIR, Case, World, in_lots, named

Key = dict[str, Any]
MISMATCH = "The provided key element does not match the schema"
HASH_TOO_LONG = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
RANGE_TOO_LONG = INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
SOURCE = "errors.md 6.3, limits.md section 2"


def empty(name: str, kind: str = "string") -> str:
    return (
        NOT_VALID
        + f"The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}"
    )


KEYS: list[tuple[str, str, Key, str]] = [
    ("no attribute", "hash", {}, MISMATCH),
    ("another name", "hash", {"q": {"S": "x"}}, MISMATCH),
    ("one attribute too many", "hash", {"p": {"S": "x"}, "q": {"S": "x"}}, MISMATCH),
    ("a number for a string", "hash", {"p": {"N": "1"}}, MISMATCH),
    ("a binary for a string", "hash", {"p": {"B": "AA=="}}, MISMATCH),
    ("a boolean for a string", "hash", {"p": {"BOOL": True}}, MISMATCH),
    ("NULL for a string", "hash", {"p": {"NULL": True}}, MISMATCH),
    ("a set for a string", "hash", {"p": {"SS": ["x"]}}, MISMATCH),
    ("a list for a string", "hash", {"p": {"L": []}}, MISMATCH),
    ("a map for a string", "hash", {"p": {"M": {}}}, MISMATCH),
    ("a string for a number", "number", {"p": {"S": "1"}}, MISMATCH),
    ("a string for a binary", "binary", {"p": {"S": "AA=="}}, MISMATCH),
    ("half a key", "pair", {"p": {"S": "x"}}, MISMATCH),
    ("the other half", "pair", {"r": {"N": "1"}}, MISMATCH),
    ("a sort key of another type", "pair", {"p": {"S": "x"}, "r": {"S": "1"}}, MISMATCH),
    ("an index key beside", "pair", {**PAIR, "l": {"S": "x"}}, MISMATCH),
    ("an empty string", "hash", {"p": {"S": ""}}, empty("p")),
    ("an empty binary", "binary", {"p": {"B": ""}}, empty("p", "binary")),
    ("an empty sort key", "text", {"p": {"S": "x"}, "r": {"S": ""}}, empty("r")),
    ("both empty", "text", {"p": {"S": ""}, "r": {"S": ""}}, empty("p")),
    ("2,049 bytes", "hash", {"p": {"S": "x" * 2049}}, HASH_TOO_LONG),
    ("2,050 bytes in 1,025 characters", "hash", {"p": {"S": "é" * 1025}}, HASH_TOO_LONG),
    ("a sort key of 1,025 bytes", "text", {"p": {"S": "x"}, "r": {"S": "x" * 1025}}, RANGE_TOO_LONG),
    (
        "a sort key of 1,026 bytes in 342 characters",
        "text",
        {"p": {"S": "x"}, "r": {"S": "€" * 342}},
        RANGE_TOO_LONG,
    ),
    ("both too long", "text", {"p": {"S": "x" * 2049}, "r": {"S": "x" * 1025}}, HASH_TOO_LONG),
    # Two mistakes: the type of one before the emptiness of the other
    ("empty and of another type", "pair", {"p": {"S": ""}, "r": {"S": "1"}}, MISMATCH),
]

TAKERS: list[tuple[str, Callable[[str, Key], dict[str, Any]]]] = [
    ("GetItem", lambda t, k: {"TableName": t, "Key": k}),
    ("DeleteItem", lambda t, k: {"TableName": t, "Key": k}),
    ("UpdateItem", lambda t, k: {"TableName": t, "Key": k, "UpdateExpression": "REMOVE a"}),
    ("BatchGetItem", lambda t, k: {"RequestItems": {t: {"Keys": [k]}}}),
    ("BatchWriteItem", lambda t, k: {"RequestItems": {t: [{"DeleteRequest": {"Key": k}}]}}),
]


def cases() -> Iterator[Case]:
    for operation, request in TAKERS:
        for what, table, key, text in KEYS:
            yield Case(what, operation, request(table, key), text, SOURCE)


@in_lots(cases())
def test_a_key_that_the_table_does_not_have_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


def missing(name: str) -> str:
    return INVALID + f"Missing the key {name} in the item"


def wrong(name: str, expected: str, actual: str) -> str:
    return INVALID + f"Type mismatch for key {name} expected: {expected} actual: {actual}"


def wrong_index(name: str, expected: str, actual: str, index: str) -> str:
    return (
        INVALID
        + f"Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
    )


def empty_index(name: str, index: str, kind: str = "string") -> str:
    return (
        NOT_VALID
        + "A value specified for a secondary index key is not supported. The AttributeValue for a key "
        f"attribute cannot contain an empty {kind} value. IndexName: {index}, IndexKey: {name}"
    )


ITEMS: list[tuple[str, str, Key, str, str | None]] = [
    # what, table, item, PutItem's text, BatchWriteItem's text where it differs
    ("no key", "hash", {"a": {"S": "x"}}, missing("p"), MISMATCH),
    ("nothing at all", "hash", {}, missing("p"), MISMATCH),
    ("half a key", "pair", {"p": {"S": "x"}}, missing("r"), MISMATCH),
    ("the other half", "pair", {"r": {"N": "1"}}, missing("p"), MISMATCH),
    *(
        (f"{kind} for S", "hash", {"p": {kind: content}}, wrong("p", "S", kind), MISMATCH)
        for kind, content in (
            *(("N", "1"), ("B", "AA=="), ("BOOL", True), ("NULL", True), ("SS", ["a"])),
            *(("NS", ["1"]), ("BS", ["AA=="]), ("L", []), ("M", {})),
        )
    ),
    ("S for N", "number", {"p": {"S": "1"}}, wrong("p", "N", "S"), MISMATCH),
    ("S for B", "binary", {"p": {"S": "1"}}, wrong("p", "B", "S"), MISMATCH),
    ("S for a sort key N", "pair", {"p": {"S": "x"}, "r": {"S": "1"}}, wrong("r", "N", "S"), MISMATCH),
    ("an empty key", "hash", {"p": {"S": ""}}, empty("p"), None),
    ("an empty binary key", "binary", {"p": {"B": ""}}, empty("p", "binary"), None),
    ("an empty sort key", "text", {"p": {"S": "x"}, "r": {"S": ""}}, empty("r"), None),
    ("a key of 2,049 bytes", "hash", {"p": {"S": "x" * 2049}}, HASH_TOO_LONG, None),
    ("a sort key of 1,025 bytes", "text", {"p": {"S": "x"}, "r": {"S": "x" * 1025}}, RANGE_TOO_LONG, None),
    (
        "an LSI key of another type",
        "pair",
        {**PAIR, "l": {"N": "1"}},
        wrong_index("l", "S", "N", "local"),
        None,
    ),
    (
        "a GSI key of another type",
        "pair",
        {**PAIR, "h": {"S": "1"}},
        wrong_index("h", "N", "S", "global"),
        None,
    ),
    (
        "a GSI key that is a set",
        "pair",
        {**PAIR, "h": {"NS": ["1"]}},
        wrong_index("h", "N", "NS", "global"),
        None,
    ),
    (
        "the first key of several",
        "pair",
        {**PAIR, "a": {"N": "1"}},
        wrong_index("a", "S", "N", "multi"),
        None,
    ),
    (
        "the second key of several",
        "pair",
        {**PAIR, "b": {"S": "1"}},
        wrong_index("b", "N", "S", "multi"),
        None,
    ),
    (
        "the second sort key of several",
        "pair",
        {**PAIR, "d": {"S": "1"}},
        wrong_index("d", "B", "S", "multi"),
        None,
    ),
    ("an empty LSI key", "pair", {**PAIR, "l": {"S": ""}}, empty_index("l", "local"), None),
    ("an empty key of several", "pair", {**PAIR, "c": {"S": ""}}, empty_index("c", "multi"), None),
    (
        "an empty binary key of several",
        "pair",
        {**PAIR, "d": {"B": ""}},
        empty_index("d", "multi", "binary"),
        None,
    ),
    ("an LSI key of 1,025 bytes", "pair", {**PAIR, "l": {"S": "x" * 1025}}, RANGE_TOO_LONG, None),
    ("a key of several of 2,049 bytes", "pair", {**PAIR, "a": {"S": "x" * 2049}}, HASH_TOO_LONG, None),
    # Order: the table's keys before those of indexes; type before emptiness before length
    (
        "the table's key before an index's",
        "pair",
        {"p": {"S": "x"}, "r": {"S": "1"}, "l": {"N": "1"}},
        wrong("r", "N", "S"),
        MISMATCH,
    ),
    (
        "an empty key before an index's type",
        "text",
        {"p": {"S": ""}, "r": {"S": "x" * 1025}},
        empty("p"),
        None,
    ),
    ("a missing key before a wrong one", "text", {"r": {"N": "1"}}, missing("p"), MISMATCH),
]


def item_cases() -> Iterator[Case]:
    for what, table, item, put, batch in ITEMS:
        yield Case(what, "PutItem", {"TableName": table, "Item": item}, put, SOURCE)
        request = {"RequestItems": {table: [{"PutRequest": {"Item": item}}]}}
        yield Case(
            what, "BatchWriteItem", request, batch or put, SOURCE + ": every put key in BatchWriteItem"
        )


@in_lots(item_cases())
def test_an_item_whose_keys_cannot_be_stored_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


def transaction_cases() -> Iterator[Case]:
    """Wrong types cancel with a ValidationError, empty keys refuse the request (errors.md 6.8)."""
    cancelled = (
        "Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError]"
    )
    for what, table, item, put, _ in ITEMS:
        request = {"TransactItems": [{"Put": {"TableName": table, "Item": item}}]}
        if "empty" in put:
            yield Case(what, "TransactWriteItems", request, put, "errors.md 6.8")
        else:
            yield Case(what, "TransactWriteItems", request, cancelled, put, "TransactionCanceledException")


@named(transaction_cases())
def test_an_item_whose_keys_cannot_be_stored_cancels_a_transaction(world: World, case: Case) -> None:
    world.refuses(case)
    if case.code != "ValidationException":
        _, body = world.answer(case.operation, case.request)
        assert body["CancellationReasons"] == [{"Code": "ValidationError", "Message": case.source}]


@named(
    Case(what, operation, {operation: {"TableName": table, "Key": key, **more}}, text, SOURCE)
    for operation, more in (
        ("Delete", {}),
        ("ConditionCheck", {"ConditionExpression": "attribute_exists(p)"}),
        ("Get", {}),
    )
    for what, table, key, text in KEYS
)
def test_a_key_that_the_table_does_not_have_cancels_a_transaction(world: World, case: Case) -> None:
    operation = "TransactGetItems" if case.operation == "Get" else "TransactWriteItems"
    status, body = world.answer(operation, {"TransactItems": [case.request]})
    assert status == 400
    assert case.text is not None
    if "empty" in case.text:
        assert body == {"__type": "com.amazon.coral.validate#ValidationException", "message": case.text}
    elif case.what == "empty and of another type":
        assert body["message"] == MISMATCH
    else:
        assert body["CancellationReasons"] == [{"Code": "ValidationError", "Message": case.text}]


NOT_SCALAR = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed"
INTO_KEYS = [
    ("p.x", "Key: p"),
    ("#r[0]", "Key: r"),
    ("l.x", "IndexKey: l"),
    ("#h[1].y", "IndexKey: h"),
    ("d.x", "IndexKey: d"),
]
"""Paths into key attributes of table `pair`, the last one of a key of several attributes."""

CONDITION = "attribute_not_exists({})"
READERS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("GetItem", "ProjectionExpression", "s, {}", {"Key": PAIR}),
    ("PutItem", "ConditionExpression", CONDITION, {"Item": PAIR}),
    ("DeleteItem", "ConditionExpression", CONDITION, {"Key": PAIR}),
    ("UpdateItem", "ConditionExpression", CONDITION, {"Key": PAIR}),
    ("UpdateItem", "UpdateExpression", "REMOVE {}", {"Key": PAIR}),
    ("UpdateItem", "UpdateExpression", "SET s = {}", {"Key": PAIR}),
    ("Scan", "FilterExpression", CONDITION, {}),
    ("Scan", "ProjectionExpression", "{}", {}),
    ("Scan", "ProjectionExpression", "{}", {"IndexName": "multi"}),
    (
        "Query",
        "ProjectionExpression",
        "{}",
        {
            "KeyConditions": {
                "p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
            }
        },
    ),
]


def reaching(path: str, parameter: str, expression: str) -> dict[str, Any]:
    names = {step: step[1:] for step in ("#r", "#h") if path.startswith(step)}
    return {parameter: expression.format(path), **({"ExpressionAttributeNames": names} if names else {})}


@in_lots(
    Case(
        f"{parameter} {expression.format(path)}",
        operation,
        {"TableName": "pair", **more, **reaching(path, parameter, expression)},
        f"{NOT_SCALAR}: {reported}",
        SOURCE,
    )
    for operation, parameter, expression, more in READERS
    for path, reported in INTO_KEYS
)
def test_no_expression_reaches_into_a_key(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


@in_lots(
    Case(
        path,
        "BatchGetItem",
        {"RequestItems": {"pair": {"Keys": [PAIR], **reaching(path, "ProjectionExpression", "{}")}}},
        f"{NOT_SCALAR}: {reported}",
        SOURCE,
    )
    for path, reported in INTO_KEYS
)
def test_no_projection_of_a_batch_reaches_into_a_key(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


ACTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("Get", "ProjectionExpression", "{}", {"Key": PAIR}),
    ("Put", "ConditionExpression", CONDITION, {"Item": PAIR}),
    ("Delete", "ConditionExpression", CONDITION, {"Key": PAIR}),
    ("ConditionCheck", "ConditionExpression", CONDITION, {"Key": PAIR}),
    ("Update", "UpdateExpression", "REMOVE {}", {"Key": PAIR}),
]


@named(
    Case(
        path,
        kind,
        {kind: {"TableName": "pair", **more, **reaching(path, parameter, expression)}},
        f"{NOT_SCALAR}: {reported}",
        SOURCE,
    )
    for kind, parameter, expression, more in ACTIONS
    for path, reported in INTO_KEYS
)
def test_an_action_that_reaches_into_a_key_cancels_its_transaction(world: World, case: Case) -> None:
    operation = "TransactGetItems" if case.operation == "Get" else "TransactWriteItems"
    status, body = world.answer(operation, {"TransactItems": [case.request]})
    assert status == 400
    assert body["CancellationReasons"] == [{"Code": "ValidationError", "Message": case.text}]
