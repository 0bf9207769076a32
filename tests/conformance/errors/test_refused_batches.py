"""Batches and transactions whose shape or contents cannot be. Source: errors.md sections 4, 6.7 and 6.8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixtures.rejections import INVALID, KEY, ONE, PAIR, Case, World, in_lots

SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
DUPLICATES = "Provided list of item keys contains duplicates"
TWICE = "Transaction request cannot include multiple operations on one item"
NO_ACTION = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
ONE_ACTION = "TransactItems can only contain one of Check, Put, Update or Delete"
CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons "
NOT_FOUND = "Requested resource not found"
AT_LEAST_1 = "Member must have length greater than or equal to 1"
AT_MOST_100 = "Member must have length less than or equal to 100"


def key(number: int) -> dict[str, Any]:
    return {"p": {"S": f"k{number}"}}


def put(number: int) -> dict[str, Any]:
    return {"PutRequest": {"Item": key(number)}}


def batches() -> Iterator[Case]:
    for what, request, constraint in (
        ("absent", {}, "Member must not be null"),
        ("null", {"RequestItems": None}, "Member must not be null"),
        ("empty", {"RequestItems": {}}, "Member must have length greater than or equal to 1"),
    ):
        yield Case(
            f"RequestItems {what}",
            "BatchGetItem",
            request,
            ONE + f"Value at 'RequestItems' failed to satisfy constraint: {constraint}",
            "errors.md 6.7",
        )
        yield Case(
            f"RequestItems {what}",
            "BatchWriteItem",
            request,
            "The requestItems parameter is required for BatchWriteItem",
            "errors.md 6.7",
        )
    yield Case(
        "no keys",
        "BatchGetItem",
        {"RequestItems": {"hash": {"Keys": []}}},
        ONE + f"Value at 'RequestItems.hash.member.Keys' failed to satisfy constraint: {AT_LEAST_1}",
        "errors.md section 3 and 6.7",
    )
    yield Case(
        "101 keys of one table",
        "BatchGetItem",
        {"RequestItems": {"hash": {"Keys": [key(n) for n in range(101)]}}},
        ONE + f"Value at 'RequestItems.hash.member.Keys' failed to satisfy constraint: {AT_MOST_100}",
        "errors.md 6.7",
    )
    yield Case(
        "101 keys of two tables",
        "BatchGetItem",
        {"RequestItems": {t: {"Keys": [key(n) for n in range(51)]} for t in ("hash", "other")}},
        "Too many items requested for the BatchGetItem call",
        "errors.md 6.7",
    )
    yield Case(
        "one key twice",
        "BatchGetItem",
        {"RequestItems": {"hash": {"Keys": [KEY, KEY]}}},
        DUPLICATES,
        "errors.md 6.7",
    )
    yield Case(
        "one number written twice",
        "BatchGetItem",
        {"RequestItems": {"number": {"Keys": [{"p": {"N": "1"}}, {"p": {"N": "1.0"}}]}}},
        DUPLICATES,
        "errors.md 6.7; expressions.md section 8: one key",
    )
    yield Case(
        "one key twice in a missing table",
        "BatchGetItem",
        {"RequestItems": {"nothing": {"Keys": [KEY, KEY]}}},
        DUPLICATES,
        "errors.md section 4: duplicates before the table lookup",
    )
    for operation, content in (("BatchGetItem", {"Keys": [KEY]}), ("BatchWriteItem", [put(1)])):
        yield Case(
            "a missing table",
            operation,
            {"RequestItems": {"nothing": content}},
            NOT_FOUND,
            "errors.md 6.1",
            "ResourceNotFoundException",
        )
    yield Case(
        "26 requests of two tables",
        "BatchWriteItem",
        {"RequestItems": {t: [put(n) for n in range(13)] for t in ("hash", "other")}},
        "Too many items requested for the BatchWriteItem call",
        "errors.md 6.7",
    )
    for what, request in (
        ("neither put nor delete", {}),
        ("both put and delete", {**put(1), "DeleteRequest": {"Key": key(1)}}),
        ("both null", {"PutRequest": None, "DeleteRequest": None}),
    ):
        yield Case(
            f"a request with {what}",
            "BatchWriteItem",
            {"RequestItems": {"hash": [request]}},
            SEVERAL,
            "errors.md 6.7",
        )
    for what, requests in (
        ("two puts", [put(1), put(1)]),
        ("a put and a delete", [put(1), {"DeleteRequest": {"Key": key(1)}}]),
        ("two deletes", [{"DeleteRequest": {"Key": key(1)}}] * 2),
    ):
        yield Case(
            f"{what} of one item",
            "BatchWriteItem",
            {"RequestItems": {"hash": requests}},
            DUPLICATES,
            "errors.md 6.7",
        )
    yield Case(
        "one item too large",
        "BatchWriteItem",
        {"RequestItems": {"hash": [{"PutRequest": {"Item": {**KEY, "v": {"S": "x" * 409_600}}}}]}},
        "Item size has exceeded the maximum allowed size",
        "errors.md 6.2, limits.md section 2",
    )
    for field in ("Item", "Key"):
        request = {"PutRequest": {}} if field == "Item" else {"DeleteRequest": {}}
        kind = "putRequest.item" if field == "Item" else "deleteRequest.key"
        yield Case(
            f"a request without {field}",
            "BatchWriteItem",
            {"RequestItems": {"hash": [request]}},
            ONE + f"Value null at 'requestItems.hash.member.1.member.{kind}' failed to satisfy constraint: "
            "Member must not be null",
            "errors.md section 3, grammar of paths",
        )


def transactions() -> Iterator[Case]:
    for operation, action in (
        ("TransactWriteItems", {"Delete": {"TableName": "hash", "Key": KEY}}),
        ("TransactGetItems", {"Get": {"TableName": "hash", "Key": KEY}}),
    ):
        for what, request in (("absent", {}), ("null", {"TransactItems": None})):
            yield Case(
                f"TransactItems {what}",
                operation,
                request,
                ONE + "Value null at 'transactItems' failed to satisfy constraint: Member must not be null",
                "errors.md section 3 and 6.8",
            )
        yield Case(
            "no action",
            operation,
            {"TransactItems": []},
            ONE + f"Value '[]' at 'transactItems' failed to satisfy constraint: {AT_LEAST_1}",
            "errors.md 6.8",
        )
        yield Case(
            f"{operation} of one item twice",
            operation,
            {"TransactItems": [action, action]},
            TWICE,
            "errors.md 6.8",
        )
        kind = next(iter(action))
        missing = {kind: {**action[kind], "TableName": "nothing"}}
        yield Case(
            "a missing table",
            operation,
            {"TransactItems": [action, missing]},
            NOT_FOUND,
            "errors.md section 4",
            "ResourceNotFoundException",
        )
        yield Case(
            "a missing table before one item twice",
            operation,
            {"TransactItems": [action, action, missing]},
            NOT_FOUND,
            "errors.md section 4: then missing table, duplicate target",
            "ResourceNotFoundException",
        )
        yield Case(
            "a wrong enumeration, reported before all else",
            operation,
            {"TransactItems": [missing], "ReturnConsumedCapacity": "ALL"},
            ONE + "Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: "
            "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]",
            "errors.md section 4",
        )
    for what, element in (
        ("no kind", {}),
        (
            "two kinds",
            {"Put": {"TableName": "hash", "Item": KEY}, "Delete": {"TableName": "hash", "Key": KEY}},
        ),
        ("all kinds null", {"Put": None, "Update": None}),
    ):
        yield Case(
            f"an action of {what}",
            "TransactWriteItems",
            {"TransactItems": [element]},
            ONE_ACTION if what == "two kinds" else NO_ACTION,
            "errors.md 6.8",
        )
    yield Case(
        "a token of 37 characters",
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "hash", "Item": KEY}}], "ClientRequestToken": "t" * 37},
        ONE + f"Value '{'t' * 37}' at 'clientRequestToken' failed to satisfy constraint: "
        "Member must have length less than or equal to 36",
        "errors.md 6.8",
    )
    yield Case(
        "an empty token",
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "hash", "Item": KEY}}], "ClientRequestToken": ""},
        ONE + f"Value '' at 'clientRequestToken' failed to satisfy constraint: {AT_LEAST_1}",
        "errors.md 6.8",
    )
    yield Case(
        "a check without a condition",
        "TransactWriteItems",
        {"TransactItems": [{"ConditionCheck": {"TableName": "hash", "Key": KEY}}]},
        ONE + "Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy "
        "constraint: Member must not be null",
        "expressions.md section 2: ConditionCheck requires a condition",
    )
    yield Case(
        "an update without an expression",
        "TransactWriteItems",
        {"TransactItems": [{"Update": {"TableName": "hash", "Key": KEY}}]},
        ONE + "Value null at 'transactItems.1.member.update.updateExpression' failed to satisfy "
        "constraint: Member must not be null",
        "errors.md section 3; the model requires it",
    )
    yield Case(
        "a wrong mode of one action",
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "hash", "Item": KEY, "ReturnValuesOnConditionCheckFailure": "ALL_NEW"}}
            ]
        },
        ONE + "Value 'ALL_NEW' at 'transactItems.1.member.put.returnValuesOnConditionCheckFailure' failed to "
        "satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]",
        "new-features.md section 1: a top-level ValidationException even for a per-action member",
    )
    yield Case(
        "an expression error before a missing table",
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "nothing", "Item": KEY}},
                {"Delete": {"TableName": "hash", "Key": KEY, "ConditionExpression": "a ="}},
            ]
        },
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="',
        "errors.md section 4: before any table lookup, expression syntax",
    )
    yield Case(
        "the first of two expression errors",
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Delete": {"TableName": "hash", "Key": KEY, "ConditionExpression": "foo(a)"}},
                {"Delete": {"TableName": "hash", "Key": KEY, "ConditionExpression": "a ="}},
            ]
        },
        "Invalid ConditionExpression: Invalid function name; function: foo",
        "errors.md section 4: first action in request order",
    )
    yield Case(
        "a put too large",
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "hash", "Item": {**KEY, "v": {"S": "x" * 409_600}}}}]},
        "Item size has exceeded the maximum allowed size",
        "errors.md 6.8: oversized puts are top-level",
    )
    yield Case(
        "an update too large",
        "TransactWriteItems",
        {
            "TransactItems": [
                {
                    "Update": {
                        "TableName": "hash",
                        "Key": KEY,
                        "UpdateExpression": "SET v = :v",
                        "ExpressionAttributeValues": {":v": {"S": "x" * 409_600}},
                    }
                }
            ]
        },
        CANCELLED + "[ValidationError]",
        "errors.md 6.8: oversized updates cancel",
        "TransactionCanceledException",
    )
    yield Case(
        "two failed conditions of three",
        "TransactWriteItems",
        {
            "TransactItems": [
                {
                    "Delete": {
                        "TableName": "hash",
                        "Key": KEY,
                        "ConditionExpression": "attribute_not_exists(p)",
                    }
                },
                {"Put": {"TableName": "hash", "Item": key(1)}},
                {"Delete": {"TableName": "pair", "Key": PAIR, "ConditionExpression": "attribute_exists(zz)"}},
            ]
        },
        CANCELLED + "[ConditionalCheckFailed, None, ConditionalCheckFailed]",
        "errors.md 6.8: all failing conditions are reported",
        "TransactionCanceledException",
    )
    yield Case(
        "one wrong key of two, both wrong",
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "hash", "Item": {"p": {"N": str(n)}}}} for n in (1, 2)]},
        CANCELLED + "[ValidationError, None]",
        "errors.md 6.8: validation errors stop at the first",
        "TransactionCanceledException",
    )


def conditions() -> Iterator[Case]:
    failed = "The conditional request failed"
    for operation, members in (
        ("PutItem", {"Item": KEY}),
        ("DeleteItem", {"Key": KEY}),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": "REMOVE zz"}),
    ):
        yield Case(
            "a condition that does not hold",
            operation,
            {"TableName": "hash", **members, "ConditionExpression": "attribute_not_exists(p)"},
            failed,
            "errors.md 6.4",
            "ConditionalCheckFailedException",
        )
        if operation != "UpdateItem":
            yield Case(
                "an Expected that does not hold",
                operation,
                {"TableName": "hash", **members, "Expected": {"p": {"Exists": False}}},
                failed,
                "errors.md 6.4",
                "ConditionalCheckFailedException",
            )
    yield Case(
        "a condition before an update that does not fit",
        "UpdateItem",
        {
            "TableName": "hash",
            "Key": KEY,
            "UpdateExpression": "SET a = zz",
            "ConditionExpression": "attribute_not_exists(p)",
        },
        failed,
        "errors.md section 4: 11 condition; the update is evaluated after it",
        "ConditionalCheckFailedException",
    )
    yield Case(
        "an item too large before its condition",
        "PutItem",
        {
            "TableName": "hash",
            "Item": {**KEY, "v": {"S": "x" * 409_600}},
            "ConditionExpression": "attribute_not_exists(p)",
        },
        "Item size has exceeded the maximum allowed size",
        "errors.md section 4: 10 size, 11 condition",
    )
    yield Case(
        "a mismatch of types with the key",
        "PutItem",
        {"TableName": "hash", "Item": {"p": {"N": "1"}}, "ConditionExpression": "attribute_not_exists(p)"},
        INVALID + "Type mismatch for key p expected: S actual: N",
        "errors.md section 4: 9 schema, 11 condition",
    )


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


def order_of_errors() -> Iterator[Case]:
    """Errors of actions that need no table, in the order of the request; the table is missing."""
    nesting = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
        "supported limit"
    )
    empty = "Empty attribute name"
    syntax = 'Invalid ConditionExpression: Syntax error; token: "=", near: "= = b"'
    unnamed = {"Put": {"Item": {**KEY, "": {"S": "x"}}}}
    malformed = {"ConditionExpression": "a = = b"}
    long_condition = "a = :v" + " AND a = :v" * 373
    long_update = "SET " + ", ".join(f"a{n} = :v" for n in range(500))
    value = {"ExpressionAttributeValues": {":v": {"S": "x"}}}
    unused = {
        "UpdateExpression": "SET a = :v",
        "ExpressionAttributeValues": {":v": {"S": "x"}, ":u": {"S": "y"}},
    }

    def delete(levels: int, **more: Any) -> dict[str, Any]:
        return {"Delete": {"Key": {"p": deep(levels)}, **more}}

    for what, actions, text in (
        ("40 levels, then an empty name", [{"Put": {"Item": {**KEY, "d": deep(40)}}}, unnamed], nesting),
        ("an empty name, then 100 levels", [unnamed, {"Put": {"Item": {**KEY, "d": deep(100)}}}], empty),
        (
            "100 levels beside an empty name",
            [{"Put": {"Item": {**KEY, "d": deep(100), "": {"S": "x"}}}}],
            empty,
        ),
        ("40 levels, then a syntax error", [delete(40), {"Put": {"Item": KEY, **malformed}}], nesting),
        ("a syntax error, then 100 levels", [{"Put": {"Item": KEY, **malformed}}, delete(100)], syntax),
        ("a syntax error beside 100 levels", [delete(100, **malformed)], syntax),
        (
            "a long condition beside 100 levels",
            [delete(100, ConditionExpression=long_condition, **value)],
            "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; "
            f"expression size: {len(long_condition)}",
        ),
        (
            "a long update, then 100 levels",
            [{"Update": {"Key": KEY, "UpdateExpression": long_update, **value}}, delete(100)],
            "Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;",
        ),
        (
            "an unused value, then 100 levels",
            [{"Update": {"Key": KEY, **unused}}, delete(100)],
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}",
        ),
    ):
        named_actions = [
            {kind: {"TableName": "nothing", **members}}
            for action in actions
            for kind, members in action.items()
        ]
        yield Case(
            what,
            "TransactWriteItems",
            {"TransactItems": named_actions},
            text,
            "errors.md section 4, captured",
        )


def cases() -> Iterator[Case]:
    yield from order_of_errors()
    yield from batches()
    yield from transactions()
    yield from conditions()


@in_lots(cases())
def test_a_batch_or_transaction_that_cannot_be_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


def test_26_requests_of_one_table_repeat_all_of_them(world: World) -> None:
    """The new layer dumps the map; errors.md 6.7 shows its frame and the two constraints."""
    status, body = world.answer("BatchWriteItem", {"RequestItems": {"hash": [put(n) for n in range(26)]}})
    assert status == 400
    text = body["message"]
    assert text.startswith(
        ONE + "Value '{hash=[WriteRequest(putRequest=PutRequest(item={p=AttributeValue(s=k0, "
    )
    assert text.endswith(
        "' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than "
        "or equal to 1]"
    )


def test_101_actions_repeat_all_of_them(world: World) -> None:
    """Source: errors.md 6.8."""
    actions = [{"Delete": {"TableName": "hash", "Key": key(n)}} for n in range(101)]
    status, body = world.answer("TransactWriteItems", {"TransactItems": actions})
    assert status == 400
    assert body["message"].startswith(ONE + "Value '[TransactWriteItem(")
    assert body["message"].endswith(f"' at 'transactItems' failed to satisfy constraint: {AT_MOST_100}")


def test_the_failed_item_comes_back_where_it_is_asked_for(world: World) -> None:
    """Source: new-features.md section 1."""
    condition = {
        "ConditionExpression": "attribute_not_exists(p)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    for operation, members in (
        ("PutItem", {"Item": KEY}),
        ("DeleteItem", {"Key": KEY}),
        ("UpdateItem", {"Key": KEY}),
    ):
        _, body = world.answer(operation, {"TableName": "hash", **members, **condition})
        assert body["message"] == "The conditional request failed"
        assert body["Item"]["s"] == {"S": "text"}
    delete = {"Delete": {"TableName": "hash", "Key": KEY, **condition}}
    _, body = world.answer("TransactWriteItems", {"TransactItems": [delete]})
    (reason,) = body["CancellationReasons"]
    assert reason["Code"] == "ConditionalCheckFailed"
    assert reason["Item"]["s"] == {"S": "text"}
