"""Backups on demand through boto3: made, described, listed, deleted. Source: the service model."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.restored import UNKNOWN, backed_up, listed
from fixtures.schemas import invalid, item, refused, schema

Create = Callable[..., str]
ARN = re.compile(
    r"arn:aws:dynamodb:us-east-1:000000000000:table/[A-Za-z0-9_.-]+/backup/[0-9]{14}-[0-9a-f]{8}"
)


def test_create_backup_returns_backup_details(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    details = dynamodb.create_backup(TableName=name, BackupName="first")["BackupDetails"]
    assert ARN.fullmatch(details["BackupArn"])
    assert details["BackupArn"].startswith(f"arn:aws:dynamodb:us-east-1:000000000000:table/{name}/backup/")
    assert details["BackupName"] == "first"
    assert details["BackupStatus"] == "CREATING"
    assert details["BackupType"] == "USER"
    assert isinstance(details["BackupCreationDateTime"], datetime)
    assert "BackupExpiryDateTime" not in details


def test_describe_backup_returns_source_table(dynamodb: Any, create: Create) -> None:
    name = create(
        "p:S",
        "r:N",
        lsi={"local": ("l:S", "KEYS_ONLY")},
        gsi={"global": ("g:S", "", ["x"])},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    for number in range(5):
        dynamodb.put_item(TableName=name, Item=item(p="a", r=number, x="y" * 50))
    dynamodb.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    table = dynamodb.describe_table(TableName=name)["Table"]
    arn = backed_up(dynamodb, name)
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"]["BackupSizeBytes"] == table["TableSizeBytes"]
    source = described["SourceTableDetails"]
    for member in ("TableName", "TableId", "TableArn", "KeySchema", "ItemCount", "TableSizeBytes"):
        assert source[member] == table[member]
    assert source["TableCreationDateTime"] == table["CreationDateTime"]
    assert source["BillingMode"] == "PAY_PER_REQUEST"
    features = described["SourceTableFeatureDetails"]
    assert [each["IndexName"] for each in features["LocalSecondaryIndexes"]] == ["local"]
    (index,) = features["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "global"
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}
    assert features["StreamDescription"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert features["TimeToLiveDescription"]["AttributeName"] == "exp"


def test_a_backup_outlives_its_table(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    arn = backed_up(dynamodb, name)
    dynamodb.delete_table(TableName=name)
    assert listed(dynamodb, TableName=name) == ["backup"]
    assert dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]["SourceTableDetails"]


def test_deleted_backup_is_not_found(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    arn = backed_up(dynamodb, name)
    answer = dynamodb.delete_backup(BackupArn=arn)["BackupDescription"]
    assert answer["BackupDetails"]["BackupStatus"] == "DELETED"
    assert listed(dynamodb, TableName=name) == []
    for operation in (dynamodb.delete_backup, dynamodb.describe_backup):
        with refused("BackupNotFoundException", f"Backup not found: {arn}"):
            operation(BackupArn=arn)
    with refused("BackupNotFoundException"):
        dynamodb.restore_table_from_backup(TargetTableName=name + ".2", BackupArn=arn)


@pytest.mark.parametrize("operation", ["describe_backup", "delete_backup"])
def test_malformed_backup_arn_is_rejected(dynamodb: Any, operation: str) -> None:
    with invalid():
        getattr(dynamodb, operation)(BackupArn=UNKNOWN[:-3])
    with refused("BackupNotFoundException"):
        getattr(dynamodb, operation)(BackupArn=UNKNOWN)


def test_backup_arn_with_another_table_name_is_not_found(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    arn = backed_up(dynamodb, name)
    with refused("BackupNotFoundException"):
        dynamodb.describe_backup(BackupArn=arn.replace(name, "another"))


def test_backup_of_missing_table_raises_table_not_found(dynamodb: Any) -> None:
    with refused("TableNotFoundException", "Table not found: nowhere"):
        dynamodb.create_backup(TableName="nowhere", BackupName="backup")


def test_backup_status_follows_the_clock(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(transition_ms=5000).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    with refused("TableNotFoundException", "Table not found: table"):
        dynamodb.create_backup(TableName="table", BackupName="early")
    clock.advance(5)
    arn = dynamodb.create_backup(TableName="table", BackupName="one")["BackupDetails"]["BackupArn"]
    with refused("BackupInUseException"):
        dynamodb.delete_backup(BackupArn=arn)
    with refused("BackupInUseException"):
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    assert dynamodb.list_backups()["BackupSummaries"][0]["BackupStatus"] == "CREATING"
    clock.advance(5)
    assert dynamodb.list_backups()["BackupSummaries"][0]["BackupStatus"] == "AVAILABLE"
    dynamodb.delete_backup(BackupArn=arn)


def test_second_backup_of_a_table_waits_for_the_first(stepped: Any) -> None:
    dynamodb = stepped.client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    dynamodb.put_item(TableName="table", Item=item(p="a"))
    dynamodb.create_backup(TableName="table", BackupName="one")
    with refused("BackupInUseException"):
        dynamodb.create_backup(TableName="table", BackupName="two")
    stepped.finish()
    stepped.clock.advance(1)  # they are listed in the order of their time
    dynamodb.create_backup(TableName="table", BackupName="two")
    stepped.finish()
    assert listed(dynamodb) == ["one", "two"]


def test_listing_by_table_type_and_time(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process().client()
    start = datetime.fromtimestamp(clock.now_ns() / 1e9, UTC)
    for table in ("one", "two"):
        dynamodb.create_table(TableName=table, **schema("p:S"))
        for number in range(3):
            backed_up(dynamodb, table, f"{table}.{number}")
            clock.advance(10)
    assert listed(dynamodb) == ["one.0", "one.1", "one.2", "two.0", "two.1", "two.2"]
    assert listed(dynamodb, TableName="two") == ["two.0", "two.1", "two.2"]
    arn = dynamodb.describe_table(TableName="two")["Table"]["TableArn"]
    assert listed(dynamodb, TableName=arn) == ["two.0", "two.1", "two.2"]
    assert listed(dynamodb, TableName="three") == []
    lower, upper = start + timedelta(seconds=10), start + timedelta(seconds=40)
    assert listed(dynamodb, TimeRangeLowerBound=lower, TimeRangeUpperBound=upper) == [
        "one.1",
        "one.2",
        "two.0",
    ]
    assert listed(dynamodb, BackupType="SYSTEM") == []
    assert listed(dynamodb, BackupType="AWS_BACKUP") == []
    assert len(listed(dynamodb, BackupType="ALL")) == 6


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 100])
def test_backups_are_listed_in_pages(dynamodb: Any, create: Create, limit: int) -> None:
    name = create("p:S")
    for number in range(6):
        backed_up(dynamodb, name, f"b.{number}")
    names: list[str] = []
    request: dict[str, Any] = {"TableName": name, "Limit": limit}
    while True:
        page = dynamodb.list_backups(**request)
        assert len(page["BackupSummaries"]) <= limit
        names += [each["BackupName"] for each in page["BackupSummaries"]]
        if "LastEvaluatedBackupArn" not in page:
            break
        request["ExclusiveStartBackupArn"] = page["LastEvaluatedBackupArn"]
    assert sorted(names) == [f"b.{number}" for number in range(6)]
    assert len(set(names)) == 6


def test_two_backups_may_have_one_name(dynamodb: Any, create: Create) -> None:
    name = create("p:S")
    assert backed_up(dynamodb, name, "same") != backed_up(dynamodb, name, "same")
    assert listed(dynamodb, TableName=name) == ["same", "same"]


def test_backups_are_listed_per_region(open_process: Any) -> None:
    process = open_process(per_region=True)
    here, there = process.client("eu-west-1"), process.client("us-west-2")
    for client in (here, there):
        client.create_table(TableName="table", **schema("p:S"))
    backed_up(here, "table", "here")
    assert listed(here) == ["here"]
    assert listed(there) == []
