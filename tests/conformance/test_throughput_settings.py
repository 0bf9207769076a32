"""Billing mode, provisioned units, table class: UpdateTable and its quotas.

Sources: errors.md section 6.1, limits.md sections 5 and 6, capacity.md section 2.12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, refused, schema

INVALID = "One or more parameter values were invalid: "
DAY_S = 86_400
START_OF_DAY_S = 1_700_006_400
"""A midnight in UTC, shortly after the manual clock's start."""


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def provisioned(read: int, write: int) -> dict[str, Any]:
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(read, write)}


@pytest.fixture
def client(open_process: Callable[..., InProcess], clock: ManualClock) -> Any:
    """A client at midnight UTC, transitions without delay."""
    clock.advance(START_OF_DAY_S - 1_700_000_000)
    return open_process(transition_ms=0).client()


def throughput(client: Any, name: str = "table") -> dict[str, Any]:
    return client.describe_table(TableName=name)["Table"]["ProvisionedThroughput"]


def test_an_increase_of_units_has_its_time(client: Any, clock: ManualClock) -> None:
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    clock.advance(60)
    client.update_table(TableName="table", ProvisionedThroughput=units(10, 5))
    described = throughput(client)
    assert (described["ReadCapacityUnits"], described["WriteCapacityUnits"]) == (10, 5)
    assert described["LastIncreaseDateTime"].timestamp() == START_OF_DAY_S + 60
    assert "LastDecreaseDateTime" not in described
    assert described["NumberOfDecreasesToday"] == 0


def test_a_decrease_of_one_direction_counts_even_with_an_increase_of_the_other(client: Any) -> None:
    """Source: capacity.md section 2.12: lowering one and raising the other counts as a decrease."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    client.update_table(TableName="table", ProvisionedThroughput=units(4, 6))
    described = throughput(client)
    assert described["NumberOfDecreasesToday"] == 1
    assert "LastDecreaseDateTime" in described
    assert "LastIncreaseDateTime" in described


def test_unchanged_units_are_rejected(client: Any) -> None:
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 6)})
    with invalid(
        "The provisioned throughput for the table will not change. The requested value equals the current "
        "value. Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 6. Requested WriteCapacityUnits: 6. Refer to "
        "the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    ):
        client.update_table(TableName="table", ProvisionedThroughput=units(5, 6))


def test_unchanged_units_of_an_index_are_rejected(client: Any) -> None:
    members = schema("p:S", gsi={"index": ("g:S", "", "ALL")})
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(5, 6)
    client.create_table(TableName="table", **{**members, **provisioned(50, 50)})
    update = {"Update": {"IndexName": "index", "ProvisionedThroughput": units(5, 6)}}
    with invalid(
        "The provisioned throughput for the index index will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the index: 5. Requested ReadCapacityUnits: "
        "5. Current WriteCapacityUnits provisioned for the index: 6. Requested WriteCapacityUnits: 6. Refer "
        "to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    ):
        client.update_table(TableName="table", GlobalSecondaryIndexUpdates=[update])


def warm(read: int | None = None, write: int | None = None) -> dict[str, int]:
    named = {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}
    return {name: value for name, value in named.items() if value is not None}


def test_a_raise_of_warm_throughput_is_not_taken_back_by_the_next(
    open_process: Callable[..., InProcess], clock: ManualClock
) -> None:
    """Warm throughput is never lowered (capacity.md section 2.8), and what was accepted is promised."""
    client: Any = open_process(transition_ms=1000).client()
    client.create_table(
        TableName="table",
        **{**schema("p:S", gsi={"index": ("g:S", "", "ALL")}), "BillingMode": "PAY_PER_REQUEST"},
    )
    clock.advance(1)
    for part in (warm(read=15_000), warm(write=6_000), warm(read=16_000)):
        client.update_table(TableName="table", WarmThroughput=part)
        update = {"Update": {"IndexName": "index", "WarmThroughput": part}}
        client.update_table(TableName="table", GlobalSecondaryIndexUpdates=[update])
    with invalid(
        INVALID
        + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "
        "decreasing WarmThroughput is not supported"
    ):
        client.update_table(TableName="table", WarmThroughput=warm(read=13_000))
    clock.advance(2)
    table = client.describe_table(TableName="table")["Table"]
    reached = {**warm(16_000, 6_000), "Status": "ACTIVE"}
    assert table["WarmThroughput"] == reached
    assert table["GlobalSecondaryIndexes"][0]["WarmThroughput"] == reached


def test_the_fifth_decrease_in_a_row_is_rejected(client: Any) -> None:
    """Four decreases are at hand at the start of a UTC day (limits.md section 6, capacity.md V118)."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(100, 100)})
    for read in (90, 80, 70, 60):
        client.update_table(TableName="table", ProvisionedThroughput=units(read, 100))
    with refused("LimitExceededException"):
        client.update_table(TableName="table", ProvisionedThroughput=units(50, 100))
    assert throughput(client)["ReadCapacityUnits"] == 60
    client.update_table(TableName="table", ProvisionedThroughput=units(70, 100))


def test_v118_decreases_per_day_are_limited(client: Any, clock: ManualClock) -> None:
    """V118: decreases at 0, 10, 20, 30 s pass; at 40 s and 3,629 s refused; at 3,630 s and next midnight
    allowed. Source: capacity.md section 4.6, measured: one per 3,600 s after the last accepted one."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(100, 100)})
    read = 99
    verdicts = []
    now = 0
    for at in (0, 10, 20, 30, 40, 3_629, 3_630, DAY_S):
        clock.advance(at - now)
        now = at
        try:
            client.update_table(TableName="table", ProvisionedThroughput=units(read, 100))
            verdicts.append(True)
        except client.exceptions.LimitExceededException:
            verdicts.append(False)
        read -= 1
    assert verdicts == [True, True, True, True, False, False, True, True]


def test_at_most_27_decreases_fit_into_a_day(client: Any, clock: ManualClock) -> None:
    """Source: limits.md section 6, capacity.md V118."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(1_000, 1)})
    accepted = 0
    for minute in range(0, 24 * 60, 2):
        try:
            client.update_table(TableName="table", ProvisionedThroughput=units(999 - minute // 2, 1))
            accepted += 1
        except client.exceptions.LimitExceededException:
            pass
        clock.advance(120)
    assert accepted == 27


def test_the_number_of_decreases_starts_again_at_midnight(client: Any, clock: ManualClock) -> None:
    """Source: capacity.md section 2.12: the counter resets at 00:00 UTC."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    client.update_table(TableName="table", ProvisionedThroughput=units(4, 5))
    assert throughput(client)["NumberOfDecreasesToday"] == 1
    clock.advance(DAY_S)
    assert throughput(client)["NumberOfDecreasesToday"] == 0


def test_table_and_index_count_decreases_separately(client: Any) -> None:
    members = schema("p:S", gsi={"index": ("g:S", "", "ALL")})
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(50, 50)
    client.create_table(TableName="table", **{**members, **provisioned(50, 50)})
    for read in (40, 30, 20, 10):
        client.update_table(TableName="table", ProvisionedThroughput=units(read, 50))
    update = {"Update": {"IndexName": "index", "ProvisionedThroughput": units(40, 50)}}
    client.update_table(TableName="table", GlobalSecondaryIndexUpdates=[update])
    (index,) = client.describe_table(TableName="table")["Table"]["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 40
    assert index["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1


def test_a_request_with_one_blocked_part_changes_nothing(client: Any) -> None:
    """Source: capacity.md section 2.12: a request mixing table and index changes is atomic."""
    members = schema("p:S", gsi={"index": ("g:S", "", "ALL")})
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(50, 50)
    client.create_table(TableName="table", **{**members, **provisioned(50, 50)})
    for read in (40, 30, 20, 10):
        client.update_table(TableName="table", ProvisionedThroughput=units(read, 50))
    update = {"Update": {"IndexName": "index", "ProvisionedThroughput": units(60, 60)}}
    with refused("LimitExceededException"):
        client.update_table(
            TableName="table",
            ProvisionedThroughput=units(5, 50),
            GlobalSecondaryIndexUpdates=[update],
        )
    (index,) = client.describe_table(TableName="table")["Table"]["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 50


def test_provisioned_becomes_on_demand_and_back(client: Any) -> None:
    members = schema("p:S", gsi={"index": ("g:S", "", "ALL")})
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(3, 3)
    client.create_table(TableName="table", **{**members, **provisioned(5, 5)})
    client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
    table = client.describe_table(TableName="table")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 0
    update = {"Update": {"IndexName": "index", "ProvisionedThroughput": units(7, 8)}}
    client.update_table(TableName="table", **provisioned(6, 6), GlobalSecondaryIndexUpdates=[update])
    table = client.describe_table(TableName="table")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 6
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 8


def test_provisioned_mode_needs_units(client: Any) -> None:
    client.create_table(TableName="table", **schema("p:S"))
    with invalid(INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"):
        client.update_table(TableName="table", BillingMode="PROVISIONED")


@pytest.mark.parametrize("mode", [{}, {"BillingMode": "PAY_PER_REQUEST"}], ids=["present", "requested"])
def test_on_demand_mode_rejects_units(client: Any, mode: dict[str, str]) -> None:
    client.create_table(TableName="table", **schema("p:S"))
    with invalid(
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
        "when BillingMode is PAY_PER_REQUEST"
    ):
        client.update_table(TableName="table", ProvisionedThroughput=units(1, 1), **mode)


def test_the_same_mode_again_is_no_change(client: Any) -> None:
    """Source: capacity.md section 2.12: same-mode calls are free."""
    client.create_table(TableName="table", **schema("p:S"))
    answer = client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
    assert answer["TableDescription"]["TableStatus"] == "UPDATING"  # in the answer only
    assert client.describe_table(TableName="table")["Table"]["TableStatus"] == "ACTIVE"


def test_v117_switches_to_on_demand_are_limited(client: Any) -> None:
    """V117: four in a rolling 24 h; a creation in on-demand mode uses one (capacity.md section 4.6)."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    for _ in range(4):
        client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
        client.update_table(TableName="table", **provisioned(5, 5))
    with refused("LimitExceededException"):
        client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
    client.create_table(TableName="other", **schema("p:S"))
    for _ in range(3):
        client.update_table(TableName="other", **provisioned(5, 5))
        client.update_table(TableName="other", BillingMode="PAY_PER_REQUEST")
    client.update_table(TableName="other", **provisioned(5, 5))
    with refused("LimitExceededException"):
        client.update_table(TableName="other", BillingMode="PAY_PER_REQUEST")


def test_a_switch_recovers_24_hours_after_the_oldest(client: Any, clock: ManualClock) -> None:
    """Source: capacity.md section 2.12."""
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    for _ in range(4):
        client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
        client.update_table(TableName="table", **provisioned(5, 5))
        clock.advance(60)
    clock.advance(DAY_S - 4 * 60 - 1)
    with refused("LimitExceededException"):
        client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")
    clock.advance(1)
    client.update_table(TableName="table", BillingMode="PAY_PER_REQUEST")


def test_the_table_class_changes_twice_in_30_days(client: Any, clock: ManualClock) -> None:
    """Source: limits.md section 5."""
    client.create_table(TableName="table", **schema("p:S"))
    client.update_table(TableName="table", TableClass="STANDARD_INFREQUENT_ACCESS")
    client.update_table(TableName="table", TableClass="STANDARD")
    with refused("LimitExceededException"):
        client.update_table(TableName="table", TableClass="STANDARD_INFREQUENT_ACCESS")
    clock.advance(30 * DAY_S)
    client.update_table(TableName="table", TableClass="STANDARD_INFREQUENT_ACCESS")


def test_units_of_an_unknown_index_are_rejected(client: Any) -> None:
    client.create_table(TableName="table", **{**schema("p:S"), **provisioned(5, 5)})
    update = {"Update": {"IndexName": "missing", "ProvisionedThroughput": units(1, 1)}}
    with refused("ResourceNotFoundException"):
        client.update_table(TableName="table", GlobalSecondaryIndexUpdates=[update])
