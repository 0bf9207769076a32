"""ExpressionAttributeNames and -Values, and expressions beside legacy parameters. Source: errors.md 6.4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.rejections import KEY, ONE, Case, World, in_lots

S = {"S": "x"}
BASES: dict[str, tuple[dict[str, Any], str, str, bool]] = {
    # operation: members, its expression, one that uses :v, whether it envelopes
    "PutItem": ({"TableName": "hash", "Item": KEY}, "ConditionExpression", "a = :v", True),
    "DeleteItem": ({"TableName": "hash", "Key": KEY}, "ConditionExpression", "a = :v", True),
    "UpdateItem": ({"TableName": "hash", "Key": KEY}, "UpdateExpression", "SET a = :v", True),
    "Scan": ({"TableName": "hash"}, "FilterExpression", "a = :v", False),
    "Query": ({"TableName": "hash"}, "KeyConditionExpression", "p = :v", False),
    "GetItem": ({"TableName": "hash", "Key": KEY}, "ProjectionExpression", "a", False),
}
SOURCE = "errors.md 6.4"
NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"

KEY_MISTAKES: list[tuple[str, str, str]] = [
    ("no sigil", NAMES, "a"),
    ("the other sigil", NAMES, ":a"),
    ("a sigil alone", NAMES, "#"),
    ("a hyphen", NAMES, "#a-b"),
    ("a dot", NAMES, "#a.b"),
    ("a space", NAMES, "#a "),
    ("an umlaut", NAMES, "#ä"),
    ("an empty key", NAMES, ""),
    ("no sigil", VALUES, "v"),
    ("the other sigil", VALUES, "#v"),
    ("a sigil alone", VALUES, ":"),
    ("a hyphen", VALUES, ":a-b"),
    ("an empty key", VALUES, ""),
]


def cases() -> Iterator[Case]:
    for operation, (base, parameter, expression, enveloped) in BASES.items():
        envelope = ONE if enveloped else ""
        members = {**base, parameter: expression}
        takes_values = operation != "GetItem"
        good = {VALUES: {":v": S}} if takes_values else {}
        for what, kind, key in KEY_MISTAKES:
            if kind == VALUES and not takes_values:
                continue
            content: Any = "b" if kind == NAMES else S
            also = good if kind == NAMES else {}
            yield Case(
                f"{what} in {kind}",
                operation,
                {**members, **also, kind: {key: content}},
                f'{envelope}{kind} contains invalid key: Syntax error; key: "{key}"',
                SOURCE,
            )
        for kind in (NAMES, VALUES) if takes_values else (NAMES,):
            also = good if kind == NAMES else {}
            yield Case(
                f"empty {kind}",
                operation,
                {**members, **also, kind: {}},
                f"{envelope}{kind} must not be empty",
                SOURCE,
            )
        yield Case(
            "an unused name",
            operation,
            {**members, **good, NAMES: {"#x": "b"}},
            f"{envelope}Value provided in {NAMES} unused in expressions: keys: {{#x}}",
            SOURCE,
        )
        yield Case(
            "two unused names",
            operation,
            {**members, **good, NAMES: {"#x": "b", "#y": "c"}},
            f"{envelope}Value provided in {NAMES} unused in expressions: keys: {{#x, #y}}",
            SOURCE,
        )
        if takes_values:
            yield Case(
                "an unused value",
                operation,
                {**members, VALUES: {":v": S, ":x": S}},
                f"{envelope}Value provided in {VALUES} unused in expressions: keys: {{:x}}",
                SOURCE,
            )
            yield Case(
                "an unused name before an unused value",
                operation,
                {**members, NAMES: {"#x": "b"}, VALUES: {":v": S, ":x": S}},
                f"{envelope}Value provided in {NAMES} unused in expressions: keys: {{#x}}",
                SOURCE,
            )
            yield Case(
                "an undefined value before an unused one",
                operation,
                {**members, VALUES: {":x": S}},
                f"{envelope}Invalid {parameter}: An expression attribute value used in expression "
                "is not defined; attribute value: :v",
                SOURCE,
            )
        if operation != "Query":
            yield Case(
                "names without an expression",
                operation,
                {**base, NAMES: {"#x": "b"}},
                f"{envelope}{NAMES} can only be specified when using expressions",
                SOURCE,
            )
    without = "ExpressionAttributeValues can only be specified when using expressions"
    yield Case(
        "values without an expression",
        "PutItem",
        {**BASES["PutItem"][0], VALUES: {":v": S}},
        f"{ONE}{without}",
        SOURCE,
    )
    yield Case(
        "values without an expression",
        "UpdateItem",
        {**BASES["UpdateItem"][0], VALUES: {":v": S}},
        f"{ONE}{without}",
        SOURCE,
    )
    yield Case(
        "values without an expression",
        "DeleteItem",
        {**BASES["DeleteItem"][0], VALUES: {":v": S}},
        f"{ONE}{without}",
        SOURCE + ": in 2026 DeleteItem names none",
    )
    # Mixed with legacy parameters
    for what, operation, members, legacy, expression in (
        (
            "Expected",
            "PutItem",
            {"Expected": {"a": {"Exists": False}}, "ConditionExpression": "a = a"},
            "Expected",
            "ConditionExpression",
        ),
        (
            "Expected",
            "DeleteItem",
            {"Expected": {}, "ConditionExpression": "a = :x"},
            "Expected",
            "ConditionExpression",
        ),
        (
            "AttributeUpdates",
            "UpdateItem",
            {"AttributeUpdates": {"a": {"Value": S}}, "UpdateExpression": "SET name = :x"},
            "AttributeUpdates",
            "UpdateExpression",
        ),
        (
            "Expected beside an update",
            "UpdateItem",
            {"Expected": {"a": {"Exists": False}}, "UpdateExpression": "REMOVE b"},
            "Expected",
            "UpdateExpression",
        ),
        (
            "ScanFilter",
            "Scan",
            {"ScanFilter": {}, "FilterExpression": "a = :v"},
            "ScanFilter",
            "FilterExpression",
        ),
        (
            "AttributesToGet",
            "GetItem",
            {"AttributesToGet": ["a"], "ProjectionExpression": "b"},
            "AttributesToGet",
            "ProjectionExpression",
        ),
        (
            "AttributesToGet",
            "Scan",
            {"AttributesToGet": ["a"], "ProjectionExpression": "b"},
            "AttributesToGet",
            "ProjectionExpression",
        ),
    ):
        base, _, _, enveloped = BASES[operation]
        yield Case(
            f"{what} with {expression}",
            operation,
            {**base, **members},
            f"{ONE if enveloped else ''}Can not use both expression and non-expression parameters "
            f"in the same "
            f"request: Non-expression parameters: {{{legacy}}} Expression parameters: {{{expression}}}",
            SOURCE,
        )


@in_lots(cases())
def test_placeholders_that_fit_no_expression_are_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


def test_a_placeholder_used_in_any_of_the_expressions_counts_as_used(world: World) -> None:
    """Source: expressions.md section 1."""
    found = world.accepts(
        "Query",
        {
            "TableName": "hash",
            "KeyConditionExpression": "#p = :p",
            "FilterExpression": "#n > :n",
            "ProjectionExpression": "#s",
            NAMES: {"#p": "p", "#n": "n", "#s": "s"},
            VALUES: {":p": {"S": "x"}, ":n": {"N": "4"}},
        },
    )
    assert found["Items"] == [{"s": {"S": "text"}}]


TOO_MANY_BYTES = (
    "One or more parameter values were invalid: The total size of all substitution variables "
    "in the expression exceeds the limit of 2 MB"
)
TWO_MB = 2 * 1024 * 1024


def with_values(operation: str, size: int) -> dict[str, Any]:
    """A request whose values have so many bytes in sum, and its name one more."""
    base, parameter, expression, _ = BASES[operation]
    filtering = "FilterExpression" if operation in ("Query", "Scan") else "ConditionExpression"
    half = size // 2
    return {
        **base,
        **({parameter: expression} if operation == "Query" else {}),
        filtering: "a = :v AND #x = :w",
        NAMES: {"#x": "y"},
        VALUES: {":v": {"S": "x"}, ":w": {"L": [{"S": "y" * half}, {"S": "z" * (size - half - 6)}]}},
    }


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem", "UpdateItem", "Scan", "Query"])
def test_names_and_values_have_up_to_2_mb(world: World, operation: str) -> None:
    """Source: limits.md section 3; the text is assumed."""
    envelope = ONE if BASES[operation][3] else ""
    world.refuses(
        Case("2 MB", operation, with_values(operation, TWO_MB), envelope + TOO_MANY_BYTES, "limits.md 3")
    )
    status, body = world.answer(operation, with_values(operation, TWO_MB - 1))
    assert status == 200 or TOO_MANY_BYTES not in body["message"]
