"""Contributor Insights through boto3: states, rules, and what the admin API shows of keys.

Sources: new-features.md section 8; capacity.md section 2.14, vectors V135 and V136.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

World = Any
Refused = Callable[..., dict[str, Any]]


def switch(world: World, action: str = "ENABLE", **more: str) -> dict[str, Any]:
    answer: dict[str, Any] = world.client.update_contributor_insights(
        TableName="Orders", ContributorInsightsAction=action, **more
    )
    world.clock.advance(1)
    return answer


def top(world: World, rule: str, index: str = "") -> list[tuple[list[str], float]]:
    world.clock.advance(120)
    found = world.database.capacity("Orders")["insights"][index][rule]
    return [(each["key"], each["score"]) for each in found]


def test_it_is_off_until_it_is_switched_on(world: World) -> None:
    world.create()
    described = world.client.describe_contributor_insights(TableName="Orders")
    assert described["ContributorInsightsStatus"] == "DISABLED"
    assert switch(world)["ContributorInsightsStatus"] in ("ENABLING", "ENABLED")
    described = world.client.describe_contributor_insights(TableName="Orders")
    assert described["ContributorInsightsStatus"] == "ENABLED"
    assert described["ContributorInsightsMode"] == "ACCESSED_AND_THROTTLED_KEYS"
    kinds = [rule.split("-")[1] for rule in described["ContributorInsightsRuleList"]]
    assert kinds == ["PKC", "PKT"]
    assert all("-Orders-" in rule for rule in described["ContributorInsightsRuleList"])
    switch(world, "DISABLE")
    described = world.client.describe_contributor_insights(TableName="Orders")
    assert described["ContributorInsightsStatus"] == "DISABLED"
    assert "ContributorInsightsRuleList" not in described


def test_v136_throttled_keys_only(world: World) -> None:
    world.create()
    switch(world)
    before = world.client.describe_contributor_insights(TableName="Orders")["ContributorInsightsRuleList"]
    switch(world, ContributorInsightsMode="THROTTLED_KEYS")
    rules = world.client.describe_contributor_insights(TableName="Orders")["ContributorInsightsRuleList"]
    assert rules == [rule for rule in before if "-PKT-" in rule]


def test_the_most_used_keys_are_found(world: World) -> None:
    """A write unit counts three times, a read unit once."""
    world.create()
    switch(world)
    for _ in range(5):
        world.client.put_item(TableName="Orders", Item={"p": {"S": "hot"}})
    world.client.get_item(TableName="Orders", Key={"p": {"S": "cold"}}, ConsistentRead=True)
    world.client.execute_statement(Statement="SELECT * FROM Orders WHERE p = 'unseen'")
    assert top(world, "PKC") == [(["hot"], 15.0), (["cold"], 1.0)]
    assert top(world, "PKT") == []


def test_v135_sort_keys_and_queries(world: World) -> None:
    world.create(sort_key=True)
    switch(world)
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "r": {"S": "1"}})
    world.client.query(
        TableName="Orders",
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "a"}},
        ConsistentRead=True,
    )
    assert top(world, "PKC") == [(["a"], 4.0)]
    assert top(world, "SKC") == [(["a", "1"], 3.0)]


def test_refused_keys_are_found(world: World, refused: Refused) -> None:
    world.create()
    switch(world)
    world.set(balance={"write": 0, "read": 0})
    for _ in range(3):
        refused(world.client.put_item, TableName="Orders", Item={"p": {"S": "hot"}})
    refused(world.client.get_item, TableName="Orders", Key={"p": {"S": "cold"}})
    assert top(world, "PKT") == [(["hot"], 3.0), (["cold"], 1.0)]


def test_v134_a_write_unit_weighs_as_three_read_units(world: World) -> None:
    """A key at a full partition scores alike either way, here at a thousandth: local entries are included."""
    world.create(sort_key=True, local_index=True)
    switch(world)
    world.clock.advance(1)
    for n in range(30):
        written = {"p": {"S": "written"}, "r": {"S": str(n)}, "l": {"S": "x"}}
        world.client.put_item(TableName="Orders", Item=written)
    for n in range(180):
        world.client.get_item(
            TableName="Orders", Key={"p": {"S": "read"}, "r": {"S": str(n)}}, ConsistentRead=True
        )
    assert top(world, "PKC") == [(["read"], 180.0), (["written"], 180.0)]


def test_v135_a_batch_counts_each_of_its_items(world: World) -> None:
    """A Get, a Put and a BatchWrite of 5 are seven events, and fourteen over both rules with a sort key."""
    world.create(sort_key=True)
    switch(world)

    def item(sort: int) -> dict[str, Any]:
        return {"p": {"S": "a"}, "r": {"S": str(sort)}}

    world.client.get_item(TableName="Orders", Key=item(0), ConsistentRead=True)
    world.client.put_item(TableName="Orders", Item=item(0))
    puts = [{"PutRequest": {"Item": item(n)}} for n in range(1, 6)]
    world.client.batch_write_item(RequestItems={"Orders": puts})
    assert top(world, "PKC") == [(["a"], 1.0 + 6 * 3)]
    shown = {tuple(key): score for key, score in top(world, "SKC")}
    assert shown == {("a", "0"): 4.0, **{("a", str(n)): 3.0 for n in range(1, 6)}}


def test_what_an_index_refuses_is_not_the_tables(world: World, refused: Refused) -> None:
    world.create(index=(1, 1))
    switch(world)
    world.set(index="by-g", balance={"write": 0})
    refused(world.client.put_item, TableName="Orders", Item={"p": {"S": "a"}, "g": {"S": "x"}})
    assert top(world, "PKT") == []


def test_an_index_has_rules_of_its_own(world: World) -> None:
    world.create(index=(10, 10))
    switch(world, IndexName="by-g")
    world.client.put_item(TableName="Orders", Item={"p": {"S": "a"}, "g": {"S": "x"}})
    assert top(world, "PKC", "by-g") == [(["x"], 3.0)]
    listed = world.client.list_contributor_insights()["ContributorInsightsSummaries"]
    assert [(each["TableName"], each.get("IndexName")) for each in listed] == [("Orders", "by-g")]


def test_the_list_comes_in_pages(world: World) -> None:
    for name in ("Aaa", "Bbb", "Ccc"):
        world.create(name)
        world.client.update_contributor_insights(TableName=name, ContributorInsightsAction="ENABLE")
    found, token = [], None
    while True:
        more = {"NextToken": token} if token else {}
        page = world.client.list_contributor_insights(MaxResults=2, **more)
        found += [each["TableName"] for each in page["ContributorInsightsSummaries"]]
        token = page.get("NextToken")
        if token is None:
            break
    assert found == ["Aaa", "Bbb", "Ccc"]


@pytest.mark.parametrize(
    ("request_of", "code"),
    [
        ({"TableName": "Nowhere", "ContributorInsightsAction": "ENABLE"}, "ResourceNotFoundException"),
        (
            {"TableName": "Orders", "IndexName": "none", "ContributorInsightsAction": "ENABLE"},
            "ResourceNotFoundException",
        ),
        ({"TableName": "Orders", "ContributorInsightsAction": "DISABLE"}, "ValidationException"),
    ],
)
def test_invalid_requests_are_rejected(
    world: World, refused: Refused, request_of: dict[str, str], code: str
) -> None:
    world.create()
    assert refused(world.client.update_contributor_insights, **request_of)["Code"] == code
    answer = refused(world.client.list_contributor_insights, NextToken="made up")
    assert answer["Code"] == "ValidationException"
