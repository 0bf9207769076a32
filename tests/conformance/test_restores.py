"""Tables restored from backups: what they contain, what they do not, and every error.

Source: the service's documentation of RestoreTableFromBackup, as the service model has it; limits.md
section 7 (time to live).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.restored import backed_up, rows
from fixtures.schemas import invalid, item, new_name, refused, schema

Create = Callable[..., str]
PROVISIONED = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}


def restored(dynamodb: Any, arn: str, **overrides: Any) -> str:
    name = new_name()
    dynamodb.restore_table_from_backup(TargetTableName=name, BackupArn=arn, **overrides)
    dynamodb.get_waiter("table_exists").wait(TableName=name)
    return name


def filled(dynamodb: Any, create: Create, **members: Any) -> str:
    name = create(
        "p:S",
        "r:N",
        lsi={"local": ("l:S", "KEYS_ONLY")},
        gsi={"global": ("g:S", "r:N", ["x"]), "other": ("x:S", "", "ALL")},
        **members,
    )
    for number in range(60):
        attributes = {"p": f"p{number % 7}", "r": number, "x": f"x{number % 3}"}
        if number % 2:
            attributes["l"] = f"l{number}"
        if number % 5:
            attributes["g"] = f"g{number % 4}"
        dynamodb.put_item(TableName=name, Item=item(**attributes))
    return name


def test_a_restore_contains_items_and_indexes(dynamodb: Any, create: Create) -> None:
    source = filled(dynamodb, create)
    arn = backed_up(dynamodb, source)
    dynamodb.delete_item(TableName=source, Key=item(p="p1", r=1))
    target = restored(dynamodb, arn)
    dynamodb.put_item(TableName=source, Item=item(p="p1", r=1, x="x1", l="l1", g="g1"))
    for index in (None, "local", "global", "other"):
        assert rows(dynamodb, target, index) == rows(dynamodb, source, index)
    before, after = (dynamodb.describe_table(TableName=name)["Table"] for name in (source, target))
    for member in ("KeySchema", "ItemCount", "TableSizeBytes", "AttributeDefinitions"):
        assert after[member] == before[member]
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for one, other in zip(after[member], before[member], strict=True):
            for name in ("IndexName", "KeySchema", "Projection", "IndexSizeBytes", "ItemCount"):
                assert one[name] == other[name]
    assert after["TableId"] != before["TableId"]
    assert after["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_a_restore_contains_vector_indexes(dynamodb: Any, create: Create) -> None:
    vectors = {
        "IndexName": "near",
        "VectorAttribute": {"AttributeName": "v"},
        "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "ALL"},
    }
    source = create("p:S", VectorIndexes=[vectors])
    for number in range(20):
        vector = {"L": [{"N": str(number)}, {"N": "0"}]}
        dynamodb.put_item(TableName=source, Item={"p": {"S": f"p{number}"}, "v": vector})
    arn = backed_up(dynamodb, source)
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]["SourceTableFeatureDetails"]
    assert described["VectorIndexes"] == [vectors]
    (index,) = dynamodb.describe_table(TableName=restored(dynamodb, arn))["Table"]["VectorIndexes"]
    assert (index["IndexName"], index["ItemCount"], index["IndexStatus"]) == ("near", 20, "ACTIVE")
    with_override = restored(dynamodb, arn, VectorIndexOverride=[vectors])
    assert dynamodb.describe_table(TableName=with_override)["Table"]["VectorIndexes"][0]["ItemCount"] == 20
    without = restored(dynamodb, arn, VectorIndexOverride=[])
    assert "VectorIndexes" not in dynamodb.describe_table(TableName=without)["Table"]
    with invalid():
        restored(dynamodb, arn, VectorIndexOverride=[vectors | {"Dimensions": 3}])
    with invalid():
        restored(dynamodb, arn, BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=PROVISIONED)


def test_a_restore_leaves_out_stream_ttl_and_tags(dynamodb: Any, create: Create) -> None:
    source = create(
        "p:S",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        Tags=[{"Key": "k", "Value": "v"}],
        DeletionProtectionEnabled=True,
    )
    dynamodb.update_time_to_live(
        TableName=source, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    dynamodb.update_continuous_backups(
        TableName=source, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    target = restored(dynamodb, backed_up(dynamodb, source))
    table = dynamodb.describe_table(TableName=target)["Table"]
    assert "StreamSpecification" not in table
    assert "LatestStreamArn" not in table
    assert not table["DeletionProtectionEnabled"]
    assert dynamodb.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"] == []
    ttl = dynamodb.describe_time_to_live(TableName=target)["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "DISABLED"}
    recovery = dynamodb.describe_continuous_backups(TableName=target)["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_the_summary_of_a_restore(dynamodb: Any, create: Create) -> None:
    source = filled(dynamodb, create)
    arn = backed_up(dynamodb, source)
    target = new_name()
    answer = dynamodb.restore_table_from_backup(TargetTableName=target, BackupArn=arn)["TableDescription"]
    assert answer["TableStatus"] == "CREATING"
    details = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
    assert answer["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": dynamodb.describe_table(TableName=source)["Table"]["TableArn"],
        "RestoreDateTime": details["BackupCreationDateTime"],
        "RestoreInProgress": True,
    }
    dynamodb.get_waiter("table_exists").wait(TableName=target)
    assert "RestoreSummary" not in dynamodb.describe_table(TableName=target)["Table"]


def test_a_table_being_restored_cannot_be_used(stepped: Any) -> None:
    dynamodb = stepped.client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    for number in range(30):
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", x="x" * 5000))
    arn = dynamodb.create_backup(TableName="source", BackupName="backup")["BackupDetails"]["BackupArn"]
    stepped.finish()
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    steps = 0
    while dynamodb.describe_table(TableName="target")["Table"]["TableStatus"] == "CREATING":
        with refused("ResourceNotFoundException"):
            dynamodb.get_item(TableName="target", Key=item(p="p1"))
        with refused("ResourceInUseException"):
            dynamodb.delete_table(TableName="target")
        with refused("BackupInUseException"):
            dynamodb.delete_backup(BackupArn=arn)
        with refused("BackupInUseException", f"Backup is being used to restore another table: {arn}"):
            dynamodb.restore_table_from_backup(TargetTableName="other", BackupArn=arn)
        with refused("TableNotFoundException", "Table not found: target"):
            dynamodb.update_continuous_backups(
                TableName="target", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
        assert stepped.step()
        steps += 1
    assert steps >= 3
    assert rows(dynamodb, "target") == rows(dynamodb, "source")
    dynamodb.delete_backup(BackupArn=arn)


def test_restore_to_an_existing_name_is_rejected(dynamodb: Any, create: Create) -> None:
    source = create("p:S")
    arn = backed_up(dynamodb, source)
    with refused("TableAlreadyExistsException", f"Table already exists: {source}"):
        dynamodb.restore_table_from_backup(TargetTableName=source, BackupArn=arn)
    assert "RestoreSummary" not in dynamodb.describe_table(TableName=source)["Table"]


def test_restore_to_a_deleting_name_is_rejected(open_process: Any, clock: ManualClock) -> None:
    dynamodb = open_process(transition_ms=5000).client()
    dynamodb.create_table(TableName="table", **schema("p:S"))
    clock.advance(5)
    arn = dynamodb.create_backup(TableName="table", BackupName="backup")["BackupDetails"]["BackupArn"]
    clock.advance(5)
    dynamodb.delete_table(TableName="table")
    with refused("TableInUseException", "Table is being deleted: table"):
        dynamodb.restore_table_from_backup(TargetTableName="table", BackupArn=arn)
    clock.advance(5)
    dynamodb.restore_table_from_backup(TargetTableName="table", BackupArn=arn)


# --- Overrides -----------------------------------------------------------------------------------


def test_a_provisioned_table_keeps_its_units(dynamodb: Any, create: Create) -> None:
    index = {
        "IndexName": "global",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
    }
    source = create(
        "p:S",
        gsi={"global": ("g:S", "", "ALL")},
        BillingMode="PROVISIONED",
        ProvisionedThroughput=PROVISIONED,
        GlobalSecondaryIndexes=[index],
    )
    arn = backed_up(dynamodb, source)
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
    assert described["SourceTableDetails"]["ProvisionedThroughput"] == PROVISIONED
    shown = described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert shown == index["ProvisionedThroughput"]

    def units(described: dict[str, Any]) -> tuple[int, int]:
        throughput = described["ProvisionedThroughput"]
        return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]

    same = dynamodb.describe_table(TableName=restored(dynamodb, arn))["Table"]
    assert units(same) == (7, 8)
    assert units(same["GlobalSecondaryIndexes"][0]) == (3, 4)
    other_units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    overridden = restored(
        dynamodb,
        arn,
        ProvisionedThroughputOverride=other_units,
        GlobalSecondaryIndexOverride=[index | {"ProvisionedThroughput": other_units}],
    )
    table = dynamodb.describe_table(TableName=overridden)["Table"]
    assert units(table) == units(table["GlobalSecondaryIndexes"][0]) == (1, 2)
    on_demand = restored(dynamodb, arn, BillingModeOverride="PAY_PER_REQUEST")
    table = dynamodb.describe_table(TableName=on_demand)["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert units(table) == units(table["GlobalSecondaryIndexes"][0]) == (0, 0)


def test_the_maximum_of_an_on_demand_table(dynamodb: Any, create: Create) -> None:
    maximum = {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60}
    source = create("p:S", OnDemandThroughput=maximum)
    arn = backed_up(dynamodb, source)
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]["SourceTableDetails"]
    assert described["OnDemandThroughput"] == maximum
    same = dynamodb.describe_table(TableName=restored(dynamodb, arn))["Table"]
    assert same["OnDemandThroughput"] == maximum
    other = {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6}
    overridden = restored(dynamodb, arn, OnDemandThroughputOverride=other)
    assert dynamodb.describe_table(TableName=overridden)["Table"]["OnDemandThroughput"] == other
    units = {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": PROVISIONED}
    provisioned = dynamodb.describe_table(TableName=restored(dynamodb, arn, **units))["Table"]
    assert "OnDemandThroughput" not in provisioned


def test_indexes_can_be_left_out(dynamodb: Any, create: Create) -> None:
    source = filled(dynamodb, create)
    arn = backed_up(dynamodb, source)
    table = dynamodb.describe_table(TableName=source)["Table"]
    index = table["GlobalSecondaryIndexes"][0]
    kept = {member: index[member] for member in ("IndexName", "KeySchema", "Projection")}
    target = restored(dynamodb, arn, LocalSecondaryIndexOverride=[], GlobalSecondaryIndexOverride=[kept])
    described = dynamodb.describe_table(TableName=target)["Table"]
    assert "LocalSecondaryIndexes" not in described
    assert [each["IndexName"] for each in described["GlobalSecondaryIndexes"]] == [kept["IndexName"]]
    names = {each["AttributeName"] for each in described["AttributeDefinitions"]}
    assert names == {"p", "r", "g"}
    assert rows(dynamodb, target) == rows(dynamodb, source)


@pytest.mark.parametrize(
    "change",
    [
        {"KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}]},
        {"Projection": {"ProjectionType": "ALL"}},
        {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["y"]}},
        {"ProvisionedThroughput": PROVISIONED},
    ],
)
def test_overrides_with_unknown_indexes_are_rejected(
    dynamodb: Any, create: Create, change: dict[str, Any]
) -> None:
    source = filled(dynamodb, create)
    arn = backed_up(dynamodb, source)
    index = dynamodb.describe_table(TableName=source)["Table"]["GlobalSecondaryIndexes"][0]
    wanted = {member: index[member] for member in ("IndexName", "KeySchema", "Projection")} | change
    target = new_name()
    with invalid():
        dynamodb.restore_table_from_backup(
            TargetTableName=target, BackupArn=arn, GlobalSecondaryIndexOverride=[wanted]
        )
    with refused("ResourceNotFoundException"):
        dynamodb.describe_table(TableName=target)


@pytest.mark.parametrize(
    "override",
    [
        {"BillingModeOverride": "PROVISIONED"},
        {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": PROVISIONED},  # the indexes
        {"ProvisionedThroughputOverride": PROVISIONED},
        {
            "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": PROVISIONED,
            "GlobalSecondaryIndexOverride": [],
            "OnDemandThroughputOverride": {"MaxReadRequestUnits": 5},
        },
        {"OnDemandThroughputOverride": {"MaxReadRequestUnits": 0}},
    ],
)
def test_conflicting_overrides_are_rejected(dynamodb: Any, create: Create, override: dict[str, Any]) -> None:
    restore_is_rejected(dynamodb, create, override)


def restore_is_rejected(dynamodb: Any, create: Create, override: dict[str, Any]) -> None:
    arn = backed_up(dynamodb, filled(dynamodb, create))
    target = new_name()
    with invalid():
        dynamodb.restore_table_from_backup(TargetTableName=target, BackupArn=arn, **override)
    with refused("ResourceNotFoundException"):
        dynamodb.describe_table(TableName=target)


def test_an_index_in_backfill_is_restored_complete(stepped: Any) -> None:
    dynamodb = stepped.client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    for number in range(20):
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", g="g"))
    dynamodb.update_table(
        TableName="source",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "late",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    arn = dynamodb.create_backup(TableName="source", BackupName="backup")["BackupDetails"]["BackupArn"]
    stepped.finish()
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    stepped.finish()
    (index,) = dynamodb.describe_table(TableName="target")["Table"]["GlobalSecondaryIndexes"]
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", 20)


def test_a_backup_has_the_state_of_its_request_time(stepped: Any) -> None:
    dynamodb = stepped.client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    for number in range(100):
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", x="x" * 3000))
    before = rows(dynamodb, "source")
    arn = dynamodb.create_backup(TableName="source", BackupName="backup")["BackupDetails"]["BackupArn"]
    number = 0
    while stepped.step():
        dynamodb.put_item(TableName="source", Item=item(p=f"p{number}", x="new"))
        dynamodb.delete_item(TableName="source", Key=item(p=f"p{99 - number}"))
        dynamodb.put_item(TableName="source", Item=item(p=f"q{number}", x="new"))
        number += 1
    assert number > 3
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    stepped.finish()
    assert rows(dynamodb, "target") == before
