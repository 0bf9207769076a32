"""UpdateTimeToLive and DescribeTimeToLive. Source: limits.md section 7; errors.md section 6.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.clock import ManualClock
from fixtures.schemas import invalid, refused, schema

SOON = "Time to live has been modified multiple times within a fixed interval"
HOUR_S = 3600


def setting(enabled: bool, attribute: str = "exp") -> dict[str, Any]:
    return {"Enabled": enabled, "AttributeName": attribute}


def status(dynamodb: Any, name: str) -> dict[str, Any]:
    described: dict[str, Any] = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return described


def test_a_new_table_has_no_time_to_live(dynamodb: Any, create: Callable[..., str]) -> None:
    assert status(dynamodb, create("p:S")) == {"TimeToLiveStatus": "DISABLED"}


def test_enabling_returns_the_setting(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    answer = dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=setting(True))
    assert answer["TimeToLiveSpecification"] == setting(True)
    described = status(dynamodb, name)
    assert described["AttributeName"] == "exp"
    assert described["TimeToLiveStatus"] in ("ENABLING", "ENABLED")


def test_states_follow_the_clock(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(transition_ms=5000).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    clock.advance(5)
    dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(True))
    assert status(dynamodb, "table") == {"AttributeName": "exp", "TimeToLiveStatus": "ENABLING"}
    clock.advance(5)
    assert status(dynamodb, "table") == {"AttributeName": "exp", "TimeToLiveStatus": "ENABLED"}
    clock.advance(HOUR_S)
    dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(False))
    assert status(dynamodb, "table") == {"AttributeName": "exp", "TimeToLiveStatus": "DISABLING"}
    clock.advance(5)
    assert status(dynamodb, "table") == {"TimeToLiveStatus": "DISABLED"}


def test_time_to_live_changes_at_most_once_an_hour(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(True))
    clock.advance(HOUR_S - 1)
    with invalid(SOON):
        dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(False))
    clock.advance(1)
    dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(False))
    with invalid(SOON):
        dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(True))
    clock.advance(HOUR_S)
    dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(True, "other"))


def test_a_setting_without_change_is_rejected(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    with invalid("TimeToLive is already disabled"):
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=setting(False))
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=setting(True))
    with invalid("TimeToLive is already enabled"):
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=setting(True))


def test_another_attribute_than_the_current_one_is_rejected(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    name = create("p:S")
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=setting(True))
    text = "TimeToLive is active on a different AttributeName: current AttributeName is exp"
    for enabled in (True, False):
        with invalid(text):
            dynamodb.update_time_to_live(
                TableName=name, TimeToLiveSpecification=setting(enabled, "something_else")
            )


def test_missing_table_raises_resource_not_found(dynamodb: Any) -> None:
    text = "Requested resource not found: Table: absent not found"
    with refused("ResourceNotFoundException", text):
        dynamodb.describe_time_to_live(TableName="absent")
    with refused("ResourceNotFoundException", text):
        dynamodb.update_time_to_live(TableName="absent", TimeToLiveSpecification=setting(True))


def test_a_table_in_transition_is_rejected(open_process: Any) -> None:
    dynamodb = open_process(transition_ms=5000).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    with refused("ResourceNotFoundException", "Requested resource not found: Table: table not found"):
        dynamodb.update_time_to_live(TableName="table", TimeToLiveSpecification=setting(True))
