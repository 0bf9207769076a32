"""Point-in-time recovery through boto3. Source: the service model; limits.md section 10."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.restored import UNKNOWN, listed, rows
from fixtures.schemas import invalid, item, new_name, refused, schema

Create = Callable[..., str]
DAY_S = 86_400


def switch(dynamodb: Any, table: str, enabled: bool = True, **more: Any) -> dict[str, Any]:
    specification = {"PointInTimeRecoveryEnabled": enabled, **more}
    answer = dynamodb.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification=specification
    )
    described: dict[str, Any] = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    return described


def described(dynamodb: Any, table: str) -> dict[str, Any]:
    answer = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    assert answer["ContinuousBackupsStatus"] == "ENABLED"
    recovery: dict[str, Any] = answer["PointInTimeRecoveryDescription"]
    return recovery


def now(clock: ManualClock) -> datetime:
    return datetime.fromtimestamp(clock.now_ns() / 1e9, UTC)


def restored(dynamodb: Any, source: str, **request: Any) -> str:
    name = new_name()
    dynamodb.restore_table_to_point_in_time(TargetTableName=name, SourceTableName=source, **request)
    dynamodb.get_waiter("table_exists").wait(TableName=name)
    return name


# --- On and off ----------------------------------------------------------------------------------


def test_a_new_table_has_no_recovery(dynamodb: Any, create: Create) -> None:
    assert described(dynamodb, create("p:S")) == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_recovery_can_be_enabled_and_disabled(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    answer = switch(dynamodb, name)
    assert answer["PointInTimeRecoveryStatus"] == "ENABLED"
    assert answer["RecoveryPeriodInDays"] == 35
    assert answer["EarliestRestorableDateTime"] <= answer["LatestRestorableDateTime"]
    earliest = answer["EarliestRestorableDateTime"]
    assert switch(dynamodb, name, RecoveryPeriodInDays=7)["RecoveryPeriodInDays"] == 7
    assert described(dynamodb, name)["EarliestRestorableDateTime"] == earliest
    assert switch(dynamodb, name)["RecoveryPeriodInDays"] == 35
    assert switch(dynamodb, name, enabled=False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert described(dynamodb, name) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert switch(dynamodb, name, enabled=False) == {"PointInTimeRecoveryStatus": "DISABLED"}


@pytest.mark.parametrize("days", [0, 36, -1])
def test_invalid_periods_are_rejected(dynamodb: Any, create: Create, days: int) -> None:
    name = create("p:S")
    with invalid():
        switch(dynamodb, name, RecoveryPeriodInDays=days)
    assert described(dynamodb, name) == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_a_period_is_set_only_when_enabling(dynamodb: Any, create: Create) -> None:
    with invalid():
        switch(dynamodb, create("p:S"), enabled=False, RecoveryPeriodInDays=3)


def test_missing_table_raises_table_not_found(dynamodb: Any) -> None:
    with refused("TableNotFoundException", "Table not found: nowhere"):
        described(dynamodb, "nowhere")
    with refused("TableNotFoundException"):
        switch(dynamodb, "nowhere")
    with refused("TableNotFoundException"):
        restored(dynamodb, "nowhere", UseLatestRestorableTime=True)


def test_a_creating_table_is_rejected(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(transition_ms=5000).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    with refused("ContinuousBackupsUnavailableException"):
        switch(dynamodb, "table")
    clock.advance(5)
    switch(dynamodb, "table")


def test_the_window_follows_the_clock(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(restorable_lag_s=300).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    enabled = now(clock)
    switch(dynamodb, "table", RecoveryPeriodInDays=2)
    shown = described(dynamodb, "table")
    assert shown["EarliestRestorableDateTime"] == shown["LatestRestorableDateTime"] == enabled
    clock.advance(DAY_S)
    shown = described(dynamodb, "table")
    assert shown["EarliestRestorableDateTime"] == enabled
    assert shown["LatestRestorableDateTime"] == now(clock) - timedelta(seconds=300)
    clock.advance(2 * DAY_S)
    assert described(dynamodb, "table")["EarliestRestorableDateTime"] == now(clock) - timedelta(days=2)


# --- Restoring -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_every_second_can_be_restored(open_process: Any, clock: ManualClock, seed: int) -> None:
    rng = random.Random(seed)
    dynamodb = open_process().client()
    dynamodb.create_table(
        TableName="table",
        **schema("p:S", "r:N", lsi={"local": ("x:S", "KEYS_ONLY")}, gsi={"global": ("x:S", "r:N", "ALL")}),
    )
    for number in range(20):
        dynamodb.put_item(TableName="table", Item=item(p=f"p{number % 3}", r=number, x="before"))
    switch(dynamodb, "table")
    states = [(now(clock), rows(dynamodb, "table"))]
    for _ in range(60):
        clock.advance(rng.choice((1, 1, 60, 3600, DAY_S // 2)))
        key = {"p": f"p{rng.randrange(3)}", "r": rng.randrange(20)}
        match rng.randrange(3):
            case 0:
                dynamodb.delete_item(TableName="table", Key=item(**key))
            case 1:
                dynamodb.put_item(TableName="table", Item=item(**key, x=f"x{rng.randrange(3)}"))
            case 2:
                puts = [
                    {"Put": {"TableName": "table", "Item": item(p=f"p{each}", r=key["r"], x="together")}}
                    for each in range(3)
                ]
                dynamodb.transact_write_items(TransactItems=puts)
        states.append((now(clock), rows(dynamodb, "table")))
    for at, state in rng.sample(states, 8):
        target = restored(dynamodb, "table", RestoreDateTime=at)
        assert rows(dynamodb, target) == state
    latest = restored(dynamodb, "table", UseLatestRestorableTime=True)
    for index in (None, "local", "global"):
        assert rows(dynamodb, latest, index) == rows(dynamodb, "table", index)


def test_the_second_before_and_the_second_of_a_write(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    switch(dynamodb, "table")
    clock.advance(100)
    dynamodb.put_item(TableName="table", Item=item(p="a"))
    written = now(clock)
    clock.advance(100)
    assert rows(dynamodb, restored(dynamodb, "table", RestoreDateTime=written)) == [item(p="a")]
    before = written - timedelta(seconds=1)
    assert rows(dynamodb, restored(dynamodb, "table", RestoreDateTime=before)) == []


def test_restore_returns_a_summary(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    arn = dynamodb.describe_table(TableName="source")["Table"]["TableArn"]
    switch(dynamodb, "source")
    at = now(clock)
    clock.advance(50)
    answer = dynamodb.restore_table_to_point_in_time(
        TargetTableName="target", SourceTableArn=arn, RestoreDateTime=at
    )["TableDescription"]
    assert answer["TableStatus"] == "CREATING"
    summary = {"SourceTableArn": arn, "RestoreDateTime": at}
    assert _utc(answer["RestoreSummary"]) == summary | {"RestoreInProgress": True}
    table = dynamodb.describe_table(TableName="target")["Table"]
    assert "RestoreSummary" not in table  # only while it is restored
    assert described(dynamodb, "target") == {"PointInTimeRecoveryStatus": "DISABLED"}


def _utc(summary: dict[str, Any]) -> dict[str, Any]:
    return summary | {"RestoreDateTime": summary["RestoreDateTime"].astimezone(UTC)}


def test_times_outside_the_window_are_rejected(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(restorable_lag_s=60).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    clock.advance(1000)
    switch(dynamodb, "table", RecoveryPeriodInDays=1)
    enabled = now(clock)
    text = (
        "An invalid restore time was specified. RestoreDateTime must be between "
        "EarliestRestorableDateTime and LatestRestorableDateTime."
    )
    clock.advance(3600)
    for at in (enabled - timedelta(seconds=1), now(clock) - timedelta(seconds=59), now(clock)):
        with refused("InvalidRestoreTimeException", text):
            restored(dynamodb, "table", RestoreDateTime=at)
    for at in (enabled, now(clock) - timedelta(seconds=60)):
        restored(dynamodb, "table", RestoreDateTime=at)
    clock.advance(2 * DAY_S)
    with refused("InvalidRestoreTimeException"):
        restored(dynamodb, "table", RestoreDateTime=enabled)
    assert len(dynamodb.list_tables()["TableNames"]) == 3


def test_enabling_again_starts_a_new_history(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    switch(dynamodb, "table")
    dynamodb.put_item(TableName="table", Item=item(p="a"))
    first = now(clock)
    clock.advance(10)
    switch(dynamodb, "table", enabled=False)
    with refused(
        "PointInTimeRecoveryUnavailableException",
        "Point in time recovery is not enabled for table 'table'",
    ):
        restored(dynamodb, "table", RestoreDateTime=first)
    dynamodb.put_item(TableName="table", Item=item(p="b"))
    clock.advance(10)
    switch(dynamodb, "table")
    with refused("InvalidRestoreTimeException"):
        restored(dynamodb, "table", RestoreDateTime=first)
    target = restored(dynamodb, "table", UseLatestRestorableTime=True)
    assert rows(dynamodb, target) == rows(dynamodb, "table")


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"SourceTableName": "table"},
        {"SourceTableName": "table", "UseLatestRestorableTime": False},
        {"SourceTableName": "table", "UseLatestRestorableTime": True, "RestoreDateTime": 1_700_000_000},
        {"UseLatestRestorableTime": True},
        {"SourceTableName": "table", "SourceTableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/table"},
        {"SourceTableArn": "arn:none", "UseLatestRestorableTime": True},
        {"SourceTableArn": UNKNOWN, "UseLatestRestorableTime": True},
    ],
)
def test_source_table_and_time_must_be_named(open_process: Any, request_: dict[str, Any]) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    switch(dynamodb, "table")
    with invalid():
        dynamodb.restore_table_to_point_in_time(TargetTableName="target", **request_)


def test_restore_to_an_existing_name_is_rejected(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    switch(dynamodb, name)
    with refused("TableAlreadyExistsException"):
        dynamodb.restore_table_to_point_in_time(
            TargetTableName=name, SourceTableName=name, UseLatestRestorableTime=True
        )


def test_a_history_that_is_read_cannot_be_dropped(stepped: Any, clock: ManualClock) -> None:
    dynamodb = stepped.client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    switch(dynamodb, "source", RecoveryPeriodInDays=1)
    for number in range(200):
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", x="x" * 5000))
    before = rows(dynamodb, "source")
    at = now(clock)
    clock.advance(10)
    for number in range(0, 200, 2):
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", x="new"))
    dynamodb.restore_table_to_point_in_time(
        TargetTableName="target", SourceTableName="source", RestoreDateTime=at
    )
    stepped.step()
    with refused("ResourceInUseException"):
        dynamodb.delete_table(TableName="source")
    with refused("ContinuousBackupsUnavailableException"):
        switch(dynamodb, "source", enabled=False)
    clock.advance(5 * DAY_S)  # the period has passed, and waits
    for number in range(1, 200, 2):
        dynamodb.delete_item(TableName="source", Key=item(p=f"p{number}"))
    stepped.finish()
    assert rows(dynamodb, "target") == before
    switch(dynamodb, "source", enabled=False)
    dynamodb.delete_table(TableName="source")


# --- What is kept --------------------------------------------------------------------------------


def test_a_deleted_table_leaves_a_system_backup(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S", gsi={"global": ("x:S", "", "ALL")}))
    switch(dynamodb, "table")
    for number in range(50):
        dynamodb.put_item(TableName="table", Item=item(p=f"p{number}", x="x"))
    before = [rows(dynamodb, "table", index) for index in (None, "global")]
    deleted = now(clock)
    dynamodb.delete_table(TableName="table")
    dynamodb.create_table(TableName="table", **schema("p:S"))
    assert rows(dynamodb, "table") == []
    assert listed(dynamodb) == []
    (backup,) = dynamodb.list_backups(BackupType="SYSTEM")["BackupSummaries"]
    assert backup["BackupName"] == "table$DeletedTableBackup"
    assert (backup["BackupType"], backup["BackupStatus"]) == ("SYSTEM", "AVAILABLE")
    assert backup["BackupExpiryDateTime"] == deleted + timedelta(days=35)
    dynamodb.restore_table_from_backup(TargetTableName="again", BackupArn=backup["BackupArn"])
    assert [rows(dynamodb, "again", index) for index in (None, "global")] == before
    clock.advance(35 * DAY_S - 1)
    assert listed(dynamodb, BackupType="ALL") == ["table$DeletedTableBackup"]
    clock.advance(1)
    assert listed(dynamodb, BackupType="ALL") == []
    with refused("BackupNotFoundException"):
        dynamodb.describe_backup(BackupArn=backup["BackupArn"])


def test_without_recovery_a_deleted_table_leaves_no_backup(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    dynamodb.delete_table(TableName=name)
    assert listed(dynamodb, TableName=name, BackupType="ALL") == []


def test_a_restore_contains_items_that_have_expired_since(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    switch(dynamodb, "table")
    dynamodb.update_time_to_live(
        TableName="table", TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    found = item(p="a", exp=clock.now_ns() // 10**9 + 100)
    dynamodb.put_item(TableName="table", Item=found)
    clock.advance(10)
    at = now(clock)
    clock.advance(1000)
    assert rows(dynamodb, "table") == []
    assert rows(dynamodb, restored(dynamodb, "table", RestoreDateTime=at)) == [found]
