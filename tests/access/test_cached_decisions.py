"""Decisions are cached, and a cached decision is what an evaluation would say now."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.auth.policy.evaluate import evaluate
from faradisc.auth.policy.model import Decision, Request
from faradisc.operations.access import authorizer
from faradisc.operations.call import Call
from fixtures.access import AccessWorld, arn, denial, document, statement

GAMES = arn("Games")
OWN = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions that have been evaluated."""
    actions: list[str] = []

    def counted(*arguments: Any) -> Decision:
        actions.append(arguments[0].action)
        return evaluate(*arguments)

    monkeypatch.setattr(authorizer, "evaluate", counted)
    return actions


def create(world: AccessWorld, key: str = "UserId", kind: str = "S") -> None:
    world.client().create_table(
        TableName="Games",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind}],
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def gets(client: Any, *users: str) -> list[bool]:
    """Returns whether each item may be read."""
    return [denial(client.get_item, TableName="Games", Key={"UserId": {"S": user}}) is None for user in users]


def test_a_decision_without_conditions_is_made_once(world: AccessWorld, evaluations: list[str]) -> None:
    create(world)
    user = world.user(statement("GetItem", GAMES))
    assert gets(user, "a", "b", "c") == [True] * 3
    assert [denial(user.list_tables) is None for _ in range(3)] == [False] * 3
    assert evaluations == ["dynamodb:GetItem", "dynamodb:ListTables"]


def test_a_decision_is_made_once_for_each_value_that_it_asks_for(
    world: AccessWorld, evaluations: list[str]
) -> None:
    create(world)
    user = world.user(statement("GetItem", GAMES, OWN))
    assert gets(user, *["alice", "bob", "carol"] * 4) == [True, False, False] * 4
    assert len(evaluations) == 3


def test_conditions_on_several_keys_are_each_asked_again(world: AccessWorld, evaluations: list[str]) -> None:
    create(world)
    condition = {**OWN, "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    user = world.user(statement("GetItem", GAMES, condition))
    for _ in range(3):
        for name, more, own in (
            ("alice", {"ProjectionExpression": "x"}, True),
            ("alice", {}, False),
            ("bob", {"ProjectionExpression": "x"}, False),
            ("bob", {}, False),
        ):
            get = {"TableName": "Games", "Key": {"UserId": {"S": name}}, **more}
            assert (denial(user.get_item, **get) is None) is own
    assert len(evaluations) <= 4


def test_the_time_is_asked_again(world: AccessWorld) -> None:
    create(world)
    before = {"DateLessThan": {"aws:CurrentTime": "2023-11-14T22:30:00Z"}}
    user = world.user(statement("GetItem", GAMES, before))
    assert gets(user, "a", "a") == [True, True]
    world.process.clock.advance(3600)  # type: ignore[attr-defined]
    assert gets(user, "a", "a") == [False, False]


def test_another_table_of_the_same_name_is_another_resource(world: AccessWorld) -> None:
    """Its partition key is another attribute, or of another type."""
    create(world)
    user = world.user(statement(["GetItem", "PutItem"], GAMES, OWN))
    assert gets(user, "alice", "bob", "alice") == [True, False, True]
    world.client().delete_table(TableName="Games")
    create(world, "Owner")
    for owner, own in (("alice", True), ("bob", False)):
        item = {"Owner": {"S": owner}, "UserId": {"S": "alice"}}
        assert (denial(user.put_item, TableName="Games", Item=item) is None) is own
    assert gets(user, "alice") == [False]
    world.client().delete_table(TableName="Games")
    assert gets(user, "alice") == [False]
    create(world, kind="B")
    assert denial(user.get_item, TableName="Games", Key={"UserId": {"B": b"alice"}}) is not None


def test_a_changed_tag_changes_the_decision(world: AccessWorld) -> None:
    create(world)
    user = world.user(statement("GetItem", GAMES, {"StringEquals": {"aws:ResourceTag/Stage": "test"}}))
    admin = world.client()
    for value, own in (("test", True), ("live", False), ("test", True)):
        admin.tag_resource(ResourceArn=GAMES, Tags=[{"Key": "Stage", "Value": value}])
        assert gets(user, "a", "a") == [own, own]
    admin.untag_resource(ResourceArn=GAMES, TagKeys=["Stage"])
    assert gets(user, "a") == [False]


def test_a_changed_resource_policy_changes_the_decision(world: AccessWorld) -> None:
    create(world)
    user, admin = world.user(statement("GetItem", GAMES, OWN)), world.client()
    stop = statement(
        "GetItem", GAMES, principal={"AWS": "arn:aws:iam::000000000000:user/alice"}, effect="Deny"
    )
    for _ in range(2):
        assert gets(user, "alice", "alice") == [True, True]
        admin.put_resource_policy(ResourceArn=GAMES, Policy=document(stop))
        assert gets(user, "alice", "alice") == [False, False]
        admin.delete_resource_policy(ResourceArn=GAMES)


def test_a_full_cache_is_emptied(world: AccessWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorizer, "_CACHED_MAX", 8)
    create(world)
    key = world.user_key(statement("GetItem", GAMES, OWN))
    user = world.client(key)
    for number in range(40):
        assert gets(user, "alice", f"bob{number}") == [True, False]
    credential = world.keys[-1]
    assert credential.identity is not None
    assert len(credential.identity.decided) <= 10


def test_long_values_are_not_cached(world: AccessWorld, evaluations: list[str]) -> None:
    create(world)
    user = world.user(statement("GetItem", GAMES, OWN))
    long = "a" * 300
    assert gets(user, long, long, "alice", long) == [False, False, True, False]
    assert len(evaluations) == 4


def test_an_observer_sees_every_decision_also_a_cached_one(world: AccessWorld) -> None:
    create(world)
    user = world.user(statement("GetItem", GAMES, OWN))
    assert gets(user, "alice", "alice") == [True, True]
    seen: list[tuple[str, str, bool, str]] = []

    def observe(call: Call, request: Request, decision: Decision) -> None:
        seen.append((request.action, request.resource, decision.allowed, decision.policy))

    world.process.database.authorizer.observer = observe
    assert gets(user, "alice", "bob", "alice") == [True, False, True]
    allowed = ("dynamodb:GetItem", GAMES, True, "test")
    assert seen == [allowed, ("dynamodb:GetItem", GAMES, False, ""), allowed]
