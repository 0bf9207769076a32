"""Transactions that are rejected as a whole, and which of several errors is reported first.

The order: member constraints together -> values and expressions, first action first -> tables ->
empty keys and oversized puts -> one target twice -> (as reasons) keys -> conditions.
Sources: errors.md sections 4 and 6.8; limits.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_transactions import ABSENT, EXISTS, check, delete, get, put, reasons, update

from fixtures.schemas import invalid, item, refused

TWICE = "Transaction request cannot include multiple operations on one item"
TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items "
    "in the transaction exceeding the 4MB limit"
)
ONE_KIND = "TransactItems can only contain one of Check, Put, Update or Delete"
EMPTY_KEY = (
    "One or more parameter values are not valid. The AttributeValue for a key attribute "
    "cannot contain an empty string value. Key: p"
)
NOT_FOUND = "Requested resource not found"


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def write(dynamodb: Any, *actions: dict[str, Any], **more: Any) -> Any:
    return dynamodb.transact_write_items(TransactItems=list(actions), **more)


def read(dynamodb: Any, *gets: dict[str, Any], **more: Any) -> Any:
    return dynamodb.transact_get_items(TransactItems=list(gets), **more)


# --- Member constraints --------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["transact_write_items", "transact_get_items"])
@pytest.mark.parametrize(
    ("count", "bound"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")]
)
def test_a_transaction_has_one_to_a_hundred_actions(
    dynamodb: Any, table: str, operation: str, count: int, bound: str
) -> None:
    make = get if operation == "transact_get_items" else delete
    actions = [make(table, item(p=str(n))) for n in range(count)]
    with invalid() as caught:
        getattr(dynamodb, operation)(TransactItems=actions)
    text = caught.value.response["Error"]["Message"]
    assert text.startswith("1 validation error detected: Value ")
    assert text.endswith(f"failed to satisfy constraint: Member must have length {bound}")


def test_a_token_has_up_to_36_characters(dynamodb: Any, table: str) -> None:
    write(dynamodb, put(table, item(p="1")), ClientRequestToken="x" * 36)
    with invalid() as caught:
        write(dynamodb, put(table, item(p="1")), ClientRequestToken="x" * 37)
    text = caught.value.response["Error"]["Message"]
    assert text.endswith("failed to satisfy constraint: Member must have length less than or equal to 36")


def test_constraint_errors_are_reported_together(dynamodb: Any, table: str) -> None:
    with invalid() as caught:
        write(
            dynamodb,
            put("a", item(p="1")),
            ReturnConsumedCapacity="SOME",
            ReturnItemCollectionMetrics="SOME",
        )
    text = caught.value.response["Error"]["Message"]
    assert "validation errors detected: " in text
    assert "[INDEXES, TOTAL, NONE]" in text
    assert "[SIZE, NONE]" in text


def test_a_check_needs_its_condition(dynamodb: Any, table: str) -> None:
    with invalid() as caught:
        write(dynamodb, {"ConditionCheck": {"TableName": table, "Key": item(p="1")}})
    assert "onditionExpression" in caught.value.response["Error"]["Message"]


def test_an_update_needs_its_expression(dynamodb: Any, table: str) -> None:
    with invalid() as caught:
        write(dynamodb, {"Update": {"TableName": table, "Key": item(p="1")}})
    assert "pdateExpression" in caught.value.response["Error"]["Message"]


@pytest.mark.parametrize("kinds", [("Put", "Delete"), ("Put", "Update", "ConditionCheck")])
def test_an_element_has_one_kind(dynamodb: Any, table: str, kinds: tuple[str, ...]) -> None:
    whole = {
        **put(table, item(p="1")),
        **delete(table, item(p="1")),
        **update(table, item(p="1"), "SET a = :a", {":a": 1}),
        **check(table, item(p="1"), EXISTS),
    }
    with invalid(ONE_KIND):
        write(dynamodb, {kind: whole[kind] for kind in kinds})
    with invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"):
        write(dynamodb, {})


# --- Expressions, before any table is looked up --------------------------------------------------

BAD_EXPRESSIONS: dict[str, tuple[Callable[[str], dict[str, Any]], str]] = {
    "syntax of a condition": (
        lambda table: check(table, item(p="1"), "a ="),
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="',
    ),
    "syntax of an update": (
        lambda table: update(table, item(p="1"), "SET a"),
        'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "a"',
    ),
    "an undefined value": (
        lambda table: put(table, item(p="1"), ConditionExpression="a = :gone"),
        "Invalid ConditionExpression: An expression attribute value used in expression is not defined; "
        "attribute value: :gone",
    ),
    "an unused value": (
        lambda table: check(table, item(p="1"), EXISTS, ExpressionAttributeValues=item(**{":unused": 1})),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}",
    ),
    "an unused name": (
        lambda table: delete(
            table, item(p="1"), ConditionExpression=EXISTS, ExpressionAttributeNames={"#unused": "x"}
        ),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}",
    ),
}


@pytest.mark.parametrize("case", BAD_EXPRESSIONS)
def test_a_bad_expression_rejects_the_request(dynamodb: Any, table: str, case: str) -> None:
    action, text = BAD_EXPRESSIONS[case]
    with invalid(text):
        write(dynamodb, put(table, item(p="x")), action(table))


@pytest.mark.parametrize("case", BAD_EXPRESSIONS)
def test_a_bad_expression_comes_before_a_missing_table(dynamodb: Any, case: str) -> None:
    action, text = BAD_EXPRESSIONS[case]
    with invalid(text):
        write(dynamodb, put("missing.table", item(p="x")), action("missing.table"))


def test_the_first_bad_action_is_reported(dynamodb: Any, table: str) -> None:
    first, text = BAD_EXPRESSIONS["syntax of an update"]
    second, _ = BAD_EXPRESSIONS["an unused name"]
    with invalid(text):
        write(dynamodb, first(table), second(table))


def test_bad_values_come_before_a_missing_table(dynamodb: Any) -> None:
    with invalid("The parameter cannot be converted to a numeric value: abc"):
        write(dynamodb, put("missing.table", {"p": {"S": "1"}, "n": {"N": "abc"}}))


def test_a_bad_projection_comes_before_a_missing_table(dynamodb: Any) -> None:
    with invalid('Invalid ProjectionExpression: Syntax error; token: "<EOF>", near: ","'):
        read(dynamodb, get("missing.table", item(p="1"), ProjectionExpression="a,"))


# --- Tables, empty keys, sizes, one target twice -------------------------------------------------


@pytest.mark.parametrize("position", [0, 1])
def test_a_missing_table_rejects_the_request(dynamodb: Any, table: str, position: int) -> None:
    actions = [put(table, item(p="1"))]
    actions.insert(position, put("missing.table", item(p="1")))
    with refused("ResourceNotFoundException", NOT_FOUND):
        write(dynamodb, *actions)
    assert dynamodb.scan(TableName=table)["Count"] == 0


def test_a_missing_table_comes_before_wrong_keys_and_failed_conditions(dynamodb: Any, table: str) -> None:
    with refused("ResourceNotFoundException", NOT_FOUND):
        write(
            dynamodb,
            delete(table, item(p=1)),
            check(table, item(p="gone"), EXISTS),
            put("missing.table", item(p="1")),
        )


def test_a_missing_table_comes_before_one_target_twice(dynamodb: Any, table: str) -> None:
    with refused("ResourceNotFoundException", NOT_FOUND):
        write(dynamodb, put(table, item(p="1")), put(table, item(p="1")), put("missing.table", item(p="1")))


def test_gets_of_a_missing_table_are_rejected(dynamodb: Any, table: str) -> None:
    with refused("ResourceNotFoundException", NOT_FOUND):
        read(dynamodb, get(table, item(p="1")), get("missing.table", item(p="1")))


EMPTY = {
    "put": lambda table: put(table, item(p="")),
    "update": lambda table: update(table, item(p=""), "SET a = :a", {":a": 1}),
    "delete": lambda table: delete(table, item(p="")),
    "check": lambda table: check(table, item(p=""), ABSENT),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_key_rejects_the_request(dynamodb: Any, table: str, kind: str) -> None:
    with invalid(EMPTY_KEY):
        write(dynamodb, put(table, item(p="1")), EMPTY[kind](table))


def test_a_get_of_an_empty_key_rejects_the_request(dynamodb: Any, table: str) -> None:
    with invalid(EMPTY_KEY):
        read(dynamodb, get(table, item(p="1")), get(table, item(p="")))


def test_an_oversized_put_rejects_the_request(dynamodb: Any, table: str) -> None:
    with invalid("Item size has exceeded the maximum allowed size"):
        write(dynamodb, put(table, item(p="1")), put(table, item(p="2", v="x" * 409_600)))
    assert dynamodb.scan(TableName=table)["Count"] == 0


SAME = {
    "two puts": lambda table: [put(table, item(p="1")), put(table, item(p="1", a=1))],
    "a check and a delete": lambda table: [check(table, item(p="1"), EXISTS), delete(table, item(p="1"))],
    "two checks": lambda table: [check(table, item(p="1"), EXISTS), check(table, item(p="1"), EXISTS)],
    "an update and a put": lambda table: [
        update(table, item(p="1"), "SET a = :a", {":a": 1}),
        put(table, item(p="0")),
        put(table, item(p="1")),
    ],
}


@pytest.mark.parametrize("case", SAME)
def test_one_target_twice_rejects_the_request(dynamodb: Any, table: str, case: str) -> None:
    with invalid(TWICE):
        write(dynamodb, *SAME[case](table))


def test_one_target_by_name_and_by_arn_is_one_target(dynamodb: Any, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    with invalid(TWICE):
        write(dynamodb, put(table, item(p="1")), delete(arn, item(p="1")))


def test_equal_numbers_are_one_target(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:N")
    with invalid(TWICE):
        write(dynamodb, delete(table, {"p": {"N": "1.0"}}), delete(table, {"p": {"N": "10e-1"}}))


def test_one_key_in_two_tables_is_two_targets(dynamodb: Any, table: str, create: Callable[..., str]) -> None:
    write(dynamodb, put(table, item(p="1")), put(create("p:S"), item(p="1")))


def test_one_get_twice_rejects_the_request(dynamodb: Any, table: str) -> None:
    with invalid(TWICE):
        read(dynamodb, get(table, item(p="1")), get(table, item(p="1")))


def test_one_target_twice_comes_before_failed_conditions(dynamodb: Any, table: str) -> None:
    with invalid(TWICE):
        write(dynamodb, check(table, item(p="x"), EXISTS), put(table, item(p="1")), put(table, item(p="1")))


def test_one_target_twice_comes_before_keys_that_do_not_fit(dynamodb: Any, table: str) -> None:
    """errors.md section 4: duplicate target, then per-action failures; of reads as of writes."""
    with invalid(TWICE):
        write(dynamodb, delete(table, item(p=1)), delete(table, item(p="1")), delete(table, item(p="1")))
    with invalid(TWICE):
        read(dynamodb, get(table, item(p=1)), get(table, item(p="1")), get(table, item(p="1")))
    statements = [{"Statement": f'SELECT * FROM "{table}" WHERE p = {p}'} for p in ("1", "'1'", "'1'")]
    with invalid(TWICE):
        dynamodb.execute_transaction(TransactStatements=statements)


def test_an_empty_key_is_reported_before_one_that_does_not_fit(dynamodb: Any, table: str) -> None:
    """A read says it as a write does: the empty one refuses the request."""
    with invalid(EMPTY_KEY):
        read(dynamodb, get(table, item(p=1)), get(table, item(p="")))


def big(name: str, size: int = 400_000) -> dict[str, Any]:
    return item(p=name, v="x" * (size - 3))


def test_4_mb_of_items_can_be_written_and_read_at_once(dynamodb: Any, table: str) -> None:
    names = "0123456789"
    write(dynamodb, *(put(table, big(name)) for name in names))
    answer = read(dynamodb, *(get(table, item(p=name)) for name in names))
    assert len(answer["Responses"]) == 10


def test_more_than_4_mb_of_items_cannot_be_written_at_once(dynamodb: Any, table: str) -> None:
    with invalid(TOO_LARGE):
        write(dynamodb, *(put(table, big(name)) for name in "0123456789a"))


def test_more_than_4_mb_of_values_cannot_be_sent_at_once(dynamodb: Any, table: str) -> None:
    """The limit is on the payload of the request (limits.md section 4), whatever the actions are."""
    value = {":v": "x" * 400_000}
    with invalid(TOO_LARGE):
        write(dynamodb, *(update(table, item(p=name), "SET v = :v", value) for name in "0123456789a"))
    assert dynamodb.scan(TableName=table)["Count"] == 0


def test_more_than_4_mb_of_items_can_be_deleted_at_once(dynamodb: Any, table: str) -> None:
    """limits.md section 4, captured."""
    names = "0123456789a"
    for name in names:
        dynamodb.put_item(TableName=table, Item=big(name))
    write(dynamodb, *(delete(table, item(p=name)) for name in names))
    assert dynamodb.scan(TableName=table)["Count"] == 0


def test_more_than_4_mb_of_items_cannot_be_read_at_once(dynamodb: Any, table: str) -> None:
    names = "0123456789a"
    for name in names:
        dynamodb.put_item(TableName=table, Item=big(name))
    with invalid(TOO_LARGE):
        read(dynamodb, *(get(table, item(p=name)) for name in names))


def test_wrong_keys_are_cancellation_reasons_although_other_errors_reject_the_request(
    dynamodb: Any, table: str
) -> None:
    """An empty key in the second action refuses the request; a wrong type in the first would cancel it."""
    with invalid(EMPTY_KEY):
        write(dynamodb, delete(table, item(p=1)), delete(table, item(p="")))


def test_a_key_attribute_cannot_be_updated(dynamodb: Any, table: str) -> None:
    got = reasons(dynamodb, update(table, item(p="1"), "SET p = :p", {":p": "2"}))
    text = (
        "One or more parameter values were invalid: "
        "Cannot update attribute p. This attribute is part of the key"
    )
    assert got == [{"Code": "ValidationError", "Message": text}]
