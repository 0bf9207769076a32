"""TransactWriteItems and TransactGetItems: what they do, and the reasons when they do not.

Sources: errors.md sections 4 and 6.8; service.md section 4; limits.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import item, plain, refused

NONE = {"Code": "None"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons "
EXISTS, ABSENT = "attribute_exists(p)", "attribute_not_exists(p)"


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


@pytest.fixture
def other(create: Callable[..., str]) -> str:
    return create("p:S", "r:N")


def put(table: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": attributes, **more}}


def delete(table: str, key: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Delete": {"TableName": table, "Key": key, **more}}


def check(table: str, key: dict[str, Any], condition: str, **more: Any) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": table, "Key": key, "ConditionExpression": condition, **more}}


def update(
    table: str, key: dict[str, Any], expression: str, values: Any = None, **more: Any
) -> dict[str, Any]:
    if values is not None:
        more["ExpressionAttributeValues"] = item(**values)
    return {"Update": {"TableName": table, "Key": key, "UpdateExpression": expression, **more}}


def get(table: str, key: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Get": {"TableName": table, "Key": key, **more}}


def reasons(dynamodb: Any, *actions: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The reasons for which this transaction is cancelled; the text names their codes in order."""
    return reasons_of(dynamodb.transact_write_items, actions, more)


def reasons_of(operation: Any, actions: Any, more: dict[str, Any]) -> list[dict[str, Any]]:
    with refused("TransactionCanceledException") as caught:
        operation(TransactItems=list(actions), **more)
    answer = caught.value.response
    got: list[dict[str, Any]] = answer["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in got)
    assert answer["Error"]["Message"] == f"{CANCELLED}[{codes}]"
    return got


def stored(dynamodb: Any, table: str) -> dict[str, dict[str, Any]]:
    """Every item of a table whose key is `p` alone, by key."""
    return {found["p"]["S"]: plain(found) for found in dynamodb.scan(TableName=table)["Items"]}


# --- What a transaction does ---------------------------------------------------------------------


def test_the_four_kinds_of_actions_in_one_transaction(dynamodb: Any, table: str) -> None:
    for name in ("updated", "deleted", "checked"):
        dynamodb.put_item(TableName=table, Item=item(p=name, n=1))
    answer = dynamodb.transact_write_items(
        TransactItems=[
            put(table, item(p="new", n=1)),
            update(table, item(p="updated"), "SET n = n + :one", {":one": 1}),
            delete(table, item(p="deleted")),
            check(table, item(p="checked"), "n = :one", ExpressionAttributeValues=item(**{":one": 1})),
        ]
    )
    assert "ConsumedCapacity" not in answer
    assert "ItemCollectionMetrics" not in answer
    assert stored(dynamodb, table) == {
        "new": {"p": "new", "n": 1},
        "updated": {"p": "updated", "n": 2},
        "checked": {"p": "checked", "n": 1},
    }


def test_several_tables_in_one_transaction(dynamodb: Any, table: str, other: str) -> None:
    dynamodb.transact_write_items(
        TransactItems=[put(table, item(p="1")), put(other, item(p="1", r=1)), put(other, item(p="1", r=2))]
    )
    assert dynamodb.scan(TableName=table)["Count"] == 1
    assert dynamodb.scan(TableName=other)["Count"] == 2


def test_a_failed_check_in_one_table_leaves_the_other_unchanged(
    dynamodb: Any, table: str, other: str
) -> None:
    got = reasons(dynamodb, put(table, item(p="1")), check(other, item(p="1", r=1), EXISTS))
    assert got == [NONE, FAILED]
    assert stored(dynamodb, table) == {}


def test_tables_may_be_named_by_arn(dynamodb: Any, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    dynamodb.transact_write_items(TransactItems=[put(arn, item(p="1")), put(table, item(p="2"))])
    assert set(stored(dynamodb, table)) == {"1", "2"}
    answer = dynamodb.transact_get_items(TransactItems=[get(arn, item(p="1")), get(table, item(p="2"))])
    assert [response["Item"] for response in answer["Responses"]] == [item(p="1"), item(p="2")]


def test_an_update_creates_an_absent_item(dynamodb: Any, table: str) -> None:
    dynamodb.transact_write_items(TransactItems=[update(table, item(p="1"), "ADD n :n", {":n": 5})])
    assert stored(dynamodb, table) == {"1": {"p": "1", "n": 5}}


def test_a_delete_of_an_absent_item_succeeds(dynamodb: Any, table: str) -> None:
    dynamodb.transact_write_items(TransactItems=[delete(table, item(p="1")), put(table, item(p="2"))])
    assert set(stored(dynamodb, table)) == {"2"}


def test_a_put_replaces_the_whole_item(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", old=1))
    dynamodb.transact_write_items(TransactItems=[put(table, item(p="1", new=1))])
    assert stored(dynamodb, table) == {"1": {"p": "1", "new": 1}}


def test_actions_see_the_state_before_the_transaction(dynamodb: Any, table: str) -> None:
    """No action sees another's effect: the check of an item that this transaction makes fails."""
    got = reasons(dynamodb, put(table, item(p="1")), check(table, item(p="2"), EXISTS))
    assert got == [NONE, FAILED]


def test_a_hundred_actions_are_one_transaction(dynamodb: Any, table: str) -> None:
    dynamodb.transact_write_items(TransactItems=[put(table, item(p=str(n))) for n in range(100)])
    assert len(stored(dynamodb, table)) == 100


def test_a_failure_of_the_hundredth_action_cancels_all(dynamodb: Any, table: str) -> None:
    actions = [put(table, item(p=str(n))) for n in range(99)]
    got = reasons(dynamodb, *actions, check(table, item(p="x"), EXISTS))
    assert got == [NONE] * 99 + [FAILED]
    assert stored(dynamodb, table) == {}


def test_a_transaction_writes_index_entries(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={"index": ("g:S", "", "ALL")})
    dynamodb.transact_write_items(
        TransactItems=[
            put(table, item(p="1", g="a")),
            put(table, item(p="2", g="a")),
            put(table, item(p="3")),
        ]
    )
    found = dynamodb.scan(TableName=table, IndexName="index")
    assert found["Count"] == 2


# --- The reasons ---------------------------------------------------------------------------------

CONDITIONAL = {
    "put": lambda table: put(table, item(p="here"), ConditionExpression=ABSENT),
    "update": lambda table: update(
        table, item(p="here"), "SET a = :a", {":a": 1}, ConditionExpression=ABSENT
    ),
    "delete": lambda table: delete(table, item(p="here"), ConditionExpression=ABSENT),
    "check": lambda table: check(table, item(p="here"), ABSENT),
}


@pytest.mark.parametrize("kind", CONDITIONAL)
def test_a_failed_condition_cancels_the_transaction(dynamodb: Any, table: str, kind: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="here", n=1))
    assert reasons(dynamodb, CONDITIONAL[kind](table), put(table, item(p="x"))) == [FAILED, NONE]
    assert stored(dynamodb, table) == {"here": {"p": "here", "n": 1}}


@pytest.mark.parametrize("kind", CONDITIONAL)
def test_a_reason_has_the_failing_item_if_requested(dynamodb: Any, table: str, kind: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="here", n=1, l=["a", {"b": 1}]))
    action = CONDITIONAL[kind](table)
    next(iter(action.values()))["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    got = reasons(dynamodb, put(table, item(p="x")), action)
    assert got == [NONE, {**FAILED, "Item": item(p="here", n=1, l=["a", {"b": 1}])}]


def test_each_action_requests_its_own_item(dynamodb: Any, table: str) -> None:
    for name in ("1", "2", "3"):
        dynamodb.put_item(TableName=table, Item=item(p=name))
    got = reasons(
        dynamodb,
        check(table, item(p="1"), ABSENT, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        check(table, item(p="2"), ABSENT),
        check(table, item(p="3"), ABSENT, ReturnValuesOnConditionCheckFailure="NONE"),
    )
    assert got == [{**FAILED, "Item": item(p="1")}, FAILED, FAILED]


def test_a_reason_of_an_absent_item_has_no_item(dynamodb: Any, table: str) -> None:
    got = reasons(dynamodb, check(table, item(p="1"), EXISTS, ReturnValuesOnConditionCheckFailure="ALL_OLD"))
    assert got == [FAILED]


def test_all_failing_conditions_are_reported_in_request_order(dynamodb: Any, table: str) -> None:
    got = reasons(
        dynamodb,
        put(table, item(p="1")),
        check(table, item(p="2"), EXISTS),
        delete(table, item(p="3")),
        update(table, item(p="4"), "SET a = :a", {":a": 1}, ConditionExpression=EXISTS),
        put(table, item(p="5"), ConditionExpression=ABSENT),
    )
    assert got == [NONE, FAILED, NONE, FAILED, NONE]


RUN_TIME = {
    "adding to a string": (
        "SET s = s + :one",
        "An operand in the update expression has an incorrect data type",
    ),
    "reading an absent attribute": (
        "SET n = gone + :one",
        "The provided expression refers to an attribute that does not exist in the item",
    ),
    "a path through nothing": (
        "SET gone.x = :one",
        "The document path provided in the update expression is invalid for update",
    ),
    "adding to a wrong type": (
        "ADD s :one",
        "An operand in the update expression has an incorrect data type",
    ),
}


@pytest.mark.parametrize("case", RUN_TIME)
def test_an_update_that_fails_on_its_item_is_a_reason(dynamodb: Any, table: str, case: str) -> None:
    expression, text = RUN_TIME[case]
    dynamodb.put_item(TableName=table, Item=item(p="1", s="text"))
    got = reasons(dynamodb, put(table, item(p="2")), update(table, item(p="1"), expression, {":one": 1}))
    assert got == [NONE, {"Code": "ValidationError", "Message": text}]


def test_a_validation_error_stops_at_the_first(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", s="text"))
    dynamodb.put_item(TableName=table, Item=item(p="2", s="text"))
    bad = [update(table, item(p=name), "ADD s :one", {":one": 1}) for name in ("1", "2")]
    got = reasons(dynamodb, put(table, item(p="3")), *bad)
    assert [reason["Code"] for reason in got] == ["None", "ValidationError", "None"]


def test_an_oversized_result_of_an_update_is_a_reason(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", a="x" * 300_000))
    got = reasons(dynamodb, update(table, item(p="1"), "SET b = :b", {":b": "x" * 200_000}))
    text = "Item size to update has exceeded the maximum allowed size"
    assert got == [{"Code": "ValidationError", "Message": text}]


MISMATCH = {"Code": "ValidationError", "Message": "The provided key element does not match the schema"}
WRONG_KEYS = {
    "a wrong type": item(p=1),
    "a missing part": {},
    "one attribute too many": item(p="1", x="1"),
    "another name": item(q="1"),
}


@pytest.mark.parametrize("kind", ["update", "delete", "check"])
@pytest.mark.parametrize("case", WRONG_KEYS)
def test_a_key_of_another_schema_is_a_reason(dynamodb: Any, table: str, case: str, kind: str) -> None:
    key = WRONG_KEYS[case]
    action = {
        "update": update(table, key, "SET a = :a", {":a": 1}),
        "delete": delete(table, key),
        "check": check(table, key, "attribute_exists(a)"),
    }[kind]
    assert reasons(dynamodb, put(table, item(p="x")), action) == [NONE, MISMATCH]
    assert stored(dynamodb, table) == {}


def test_a_put_without_its_key_is_a_reason(dynamodb: Any, table: str) -> None:
    text = "One or more parameter values were invalid: Missing the key p in the item"
    assert reasons(dynamodb, put(table, item(a=1))) == [{"Code": "ValidationError", "Message": text}]


def test_a_put_with_a_key_of_a_wrong_type_is_a_reason(dynamodb: Any, table: str) -> None:
    text = "One or more parameter values were invalid: Type mismatch for key p expected: S actual: N"
    assert reasons(dynamodb, put(table, item(p=1))) == [{"Code": "ValidationError", "Message": text}]


def test_an_index_key_of_a_wrong_type_is_a_reason(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={"index": ("g:S", "", "ALL")})
    (reason,) = reasons(dynamodb, put(table, item(p="1", g=1)))
    assert reason["Code"] == "ValidationError"
    assert reason["Message"].startswith(
        "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N"
    )


def test_wrong_keys_are_reported_before_conditions(dynamodb: Any, table: str) -> None:
    got = reasons(dynamodb, check(table, item(p="gone"), EXISTS), delete(table, item(p=1)))
    assert got == [NONE, MISMATCH]


# --- TransactGetItems ----------------------------------------------------------------------------


def test_gets_answer_in_request_order(dynamodb: Any, table: str, other: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", a=1))
    dynamodb.put_item(TableName=other, Item=item(p="1", r=2, a=2))
    answer = dynamodb.transact_get_items(
        TransactItems=[get(other, item(p="1", r=2)), get(table, item(p="gone")), get(table, item(p="1"))]
    )
    assert answer["Responses"] == [{"Item": item(p="1", r=2, a=2)}, {}, {"Item": item(p="1", a=1)}]


def test_each_get_has_its_own_projection(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item(p="1", a=1, m={"x": 1, "y": 2}))
    dynamodb.put_item(TableName=table, Item=item(p="2", a=1, b=2))
    answer = dynamodb.transact_get_items(
        TransactItems=[
            get(table, item(p="1"), ProjectionExpression="m.#x", ExpressionAttributeNames={"#x": "x"}),
            get(table, item(p="2"), ProjectionExpression="b, a"),
        ]
    )
    assert answer["Responses"] == [{"Item": item(m={"x": 1})}, {"Item": item(a=1, b=2)}]


def test_a_hundred_gets(dynamodb: Any, table: str) -> None:
    dynamodb.transact_write_items(TransactItems=[put(table, item(p=str(n))) for n in range(100)])
    answer = dynamodb.transact_get_items(TransactItems=[get(table, item(p=str(n))) for n in range(100)])
    assert [response["Item"]["p"]["S"] for response in answer["Responses"]] == [str(n) for n in range(100)]


@pytest.mark.parametrize("case", WRONG_KEYS)
def test_a_get_with_a_key_of_another_schema_is_a_reason(dynamodb: Any, table: str, case: str) -> None:
    got = reasons_of(dynamodb.transact_get_items, [get(table, item(p="x")), get(table, WRONG_KEYS[case])], {})
    assert got == [NONE, MISMATCH]


# --- Item collections ----------------------------------------------------------------------------


def test_collection_metrics_are_returned_once_per_collection(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    table = create("p:S", "r:N", lsi={"local": ("n:N", "ALL")})
    plain_table = create("p:S")
    answer = dynamodb.transact_write_items(
        TransactItems=[
            put(table, item(p="1", r=1, n=1)),
            put(table, item(p="1", r=2)),
            put(table, item(p="2", r=1)),
            put(plain_table, item(p="1")),
        ],
        ReturnItemCollectionMetrics="SIZE",
    )
    range_gb = {"SizeEstimateRangeGB": [0.0, 1.0]}
    assert answer["ItemCollectionMetrics"] == {
        table: [
            {"ItemCollectionKey": item(p="1"), **range_gb},
            {"ItemCollectionKey": item(p="2"), **range_gb},
        ]
    }


def test_no_collection_metrics_without_local_indexes(dynamodb: Any, table: str) -> None:
    answer = dynamodb.transact_write_items(
        TransactItems=[put(table, item(p="1"))], ReturnItemCollectionMetrics="SIZE"
    )
    assert "ItemCollectionMetrics" not in answer
