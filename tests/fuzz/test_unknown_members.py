"""Members that the model does not have are ignored, in every structure.

What it proves: of two equal databases, one gets a request, the other the same request with unknown members in
every structure; the answers are equal. Why: the checks of shapes accept unknown members, so each operation
could fail on them, and seven once did. Source: errors.md section 5 (unknown members are ignored).
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from faradisc.protocol.http import HttpRequest
from faradisc.protocol.service_model import Shape, operation_named

from .requests import MAKERS, target_of
from .world import HEADERS, World, document_of

_FOREIGN = (
    *(
        "Unknown",
        "S",
        "Item",
        "Key",
        "UpdateExpression",
        "ConditionExpression",
        "ProjectionExpression",
        "Put",
    ),
    *("ExpressionAttributeNames", "ExpressionAttributeValues", "Statement", "IndexName", "Enabled", "Limit"),
    *("StreamEnabled", "ReadCapacityUnits", "Value", "Exists", "DeleteRequest", "PutRequest", "Update"),
    *(
        "SSESpecification",
        "GlobalSecondaryIndexes",
        "StreamSpecification",
        "Tags",
        "AttributesToGet",
        "Expected",
    ),
    *("KeyConditions", "QueryFilter", "ScanFilter", "Segment", "ReturnValues", "ConsistentRead", "Select"),
    *("ProvisionedThroughput", "BillingMode", "Projection", "KeySchema", "Parameters", "Where", "Replica"),
)
"""Names that mean something in some structure, and are put where they mean nothing."""
_CONTENTS: tuple[Any, ...] = (None, 1, True, "x", {}, [], {"S": "a"}, [{"a": {"N": "1"}}], {"a": None})


def with_unknown_members(rng: Random, shape: Shape, content: Any) -> Any:
    """A copy with one or two more members in every structure but attribute values."""
    if shape.type == "structure" and shape.name != "AttributeValue":
        known = {
            name: with_unknown_members(rng, shape.members[name], member) for name, member in content.items()
        }
        foreign = [name for name in rng.sample(_FOREIGN, 6) if name not in shape.members][:3]
        members = [*known.items(), *((name, rng.choice(_CONTENTS)) for name in foreign)]
        rng.shuffle(members)
        return dict(members)
    if shape.type == "list" and shape.element is not None:
        return [with_unknown_members(rng, shape.element, element) for element in content]
    if shape.type == "map" and shape.element is not None:
        return {name: with_unknown_members(rng, shape.element, member) for name, member in content.items()}
    return content


@pytest.mark.parametrize("requests", [15, pytest.param(120, marks=pytest.mark.slow)])
def test_unknown_members_change_no_answer(requests: int) -> None:
    plain, strange = World(), World()
    for name, make in MAKERS.items():
        operation = operation_named(name)
        assert operation is not None
        rng = Random(f"unknown/{name}")
        headers = {**HEADERS, b"x-amz-target": target_of(name)}
        for _ in range(requests):
            document = make(rng)
            answers = []
            for world, sent in (
                (plain, document),
                (strange, with_unknown_members(rng, operation.input, document)),
            ):
                world.let_time_pass(0.01)
                answer = world.send(HttpRequest("POST", b"/", headers, json.dumps(sent).encode()))
                answers.append((answer.status, document_of(answer)))
            assert answers[0] == answers[1], f"{name} {json.dumps(sent)}"
    plain.check()
    strange.check()
