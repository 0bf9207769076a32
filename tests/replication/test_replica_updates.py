"""UpdateTable with ReplicaUpdates, what descriptions show of replicas, and what all replicas have in common.

Sources: errors.md section 6.11; new-features.md section 12.
"""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.local import LocalDatabase
from fixtures.regions import AP, EU, TABLE, US, Regions
from fixtures.schemas import invalid, refused, schema

DAY_S = 86_400
IN_USE = "The resource which you are attempting to change is in use."


def test_a_replica_has_the_items_and_is_shown_by_both(regions: Regions) -> None:
    regions.create()
    for number in range(450):
        regions.put(US, f"k{number}", number)
    described = regions.update(regions.us, Create={"RegionName": EU})
    assert described["TableStatus"] == "UPDATING"
    mode = {"GlobalTableSettingsReplicationMode": "ENABLED_WITH_OVERRIDES"}
    assert described["Replicas"] == [{"RegionName": EU, "ReplicaStatus": "CREATING", **mode}]
    for region, other in ((US, EU), (EU, US)):
        shown = regions.describe(region)
        assert shown["TableStatus"] == "ACTIVE"
        assert shown["Replicas"] == [{"RegionName": other, "ReplicaStatus": "ACTIVE", **mode}]
        assert shown["GlobalTableVersion"] == "2019.11.21"
        assert shown["TableArn"] == f"arn:aws:dynamodb:{region}:000000000000:table/{TABLE}"
        assert shown["StreamSpecification"] == {
            "StreamEnabled": True,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
    assert regions.items(EU) == regions.items(US)
    assert regions.eu.list_tables()["TableNames"] == [TABLE]
    assert regions.ap.list_tables()["TableNames"] == []


def test_writes_arrive_in_every_region(regions: Regions) -> None:
    regions.create(EU, AP)
    regions.put(EU, "a", 1)
    regions.put(AP, "b", 2)
    regions.put(US, "a", 3)
    regions.delete(EU, "b")
    assert regions.values("a") == ["3", "3", "3"]
    assert regions.values("b") == [None, None, None]


def test_a_write_that_arrives_is_in_the_stream_once(regions: Regions) -> None:
    regions.create(EU)
    regions.put(EU, "a", 1)
    (record,) = regions.records(US)
    assert (record["eventName"], record["awsRegion"]) == ("INSERT", US)


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        (
            [{"Create": {"RegionName": EU}}, {"Create": {"RegionName": AP}}],
            "Update table operation with more than one create or delete replica actions not allowed",
        ),
        (
            [{"Create": {"RegionName": EU}}, {"Delete": {"RegionName": AP}}],
            "Update table operation with more than one type of replica actions not allowed.",
        ),
        (
            [{"Delete": {"RegionName": AP}}],
            "Update global table operation failed because one or more replicas were not part of the global "
            f"table. Please retry the request without these replicas: [{AP}].",
        ),
        (
            [{"Create": {"RegionName": US}}],
            "Cannot add or delete the local region through ReplicaUpdates. "
            "Use CreateTable, DeleteTable, or UpdateTable as required.",
        ),
        (
            [{"Create": {"RegionName": "sa-east-1"}}],
            "Region sa-east-1 is not supported. The latest version of global tables are only supported in "
            f"the following regions: [{US}, {EU}, {AP}]",
        ),
        ([{}], "There are no actions specified in the Replica Update Action of the request."),
        (
            [{"Create": {"RegionName": EU, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 5}}}],
            "One or more parameter values were invalid: ProvisionedThroughputOverride cannot be specified "
            "when BillingMode is PAY_PER_REQUEST",
        ),
    ],
)
def test_actions_that_are_rejected(regions: Regions, updates: list[Any], text: str) -> None:
    regions.create()
    with invalid(text):
        regions.us.update_table(TableName=TABLE, ReplicaUpdates=updates)
    assert "Replicas" not in regions.describe(US)


def test_a_table_of_the_name_is_no_replica(regions: Regions) -> None:
    regions.create()
    regions.eu.create_table(TableName=TABLE, **schema("p:S"))
    with invalid(
        f"Failed to create a the new replica of table with name: ‘{TABLE}’ because one or more "
        "replicas already existed as tables."
    ):
        regions.update(regions.us, Create={"RegionName": EU})


def test_without_regions_apart_there_are_no_replicas() -> None:
    with LocalDatabase(region=US) as local:
        local.client().create_table(TableName=TABLE, **schema("p:S"))
        with pytest.raises(Exception, match="start it with --per-region"):
            local.client().update_table(TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": EU}}])


def test_any_region_exists_without_a_list() -> None:
    with LocalDatabase(region=US, per_region=True) as local:
        local.client().create_table(TableName=TABLE, **schema("p:S"))
        local.client().update_table(TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": "sa-east-1"}}])
        table = local.client(region_name="sa-east-1").describe_table(TableName=TABLE)["Table"]
        assert table["TableStatus"] == "ACTIVE"


def test_the_stream_of_a_replica_stays_on(regions: Regions) -> None:
    regions.create(EU)
    off = {"StreamEnabled": False}
    with invalid(
        "One or more parameter values were invalid: "
        "Disabling Stream is not allowed for a Global Table replica."
    ):
        regions.eu.update_table(TableName=TABLE, StreamSpecification=off)


def test_a_source_region_stays_for_a_day(regions: Regions) -> None:
    regions.create(EU)
    text = (
        "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to "
        "the table in the last 24 hours."
    )
    with invalid(text):
        regions.update(regions.eu, Delete={"RegionName": US})
    with invalid(text):
        regions.us.delete_table(TableName=TABLE)
    regions.clock.advance(DAY_S)
    regions.update(regions.eu, Delete={"RegionName": US})
    assert regions.us.list_tables()["TableNames"] == []
    assert "Replicas" not in regions.describe(EU)
    regions.put(EU, "a", 1)
    assert list(regions.items(EU)) == ["a"]


def test_a_deleted_table_leaves_its_group(regions: Regions) -> None:
    regions.create(EU, AP)
    regions.ap.delete_table(TableName=TABLE)
    assert regions.statuses(US) == {EU: "ACTIVE"}
    regions.put(US, "a", 1)
    assert list(regions.items(EU)) == ["a"]
    regions.update(regions.us, Create={"RegionName": AP})
    assert regions.values("a") == ["1", "1", "1"]


def test_a_protected_replica_cannot_be_removed(regions: Regions) -> None:
    regions.create(EU)
    regions.eu.update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    assert not regions.describe(US)["DeletionProtectionEnabled"]
    with invalid(
        f"Cannot delete table {TABLE} in region {EU} because it has deletion protection enabled. "
        "Disable deletion protection first."
    ):
        regions.update(regions.us, Delete={"RegionName": EU})


def test_a_group_that_changes_is_in_use(regions: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    regions.create(EU)
    database = regions.local.database
    assert regions.statuses(US) == {EU: "ACTIVE"}
    monkeypatch.setattr(database.backend.replicas, "_live", _nothing)
    regions.update(regions.us, Create={"RegionName": AP})
    assert regions.statuses(US) == {EU: "ACTIVE", AP: "CREATING"}
    for client in (regions.us, regions.eu):
        with refused("ResourceInUseException", IN_USE):
            client.update_table(TableName=TABLE, TableClass="STANDARD_INFREQUENT_ACCESS")
        with refused("ResourceInUseException", IN_USE):
            regions.update(client, Delete={"RegionName": AP})


async def _nothing(*arguments: Any) -> bool:
    return False


def test_all_replicas_get_indexes_expiry_and_class(regions: Regions) -> None:
    regions.create(EU, gsi={"by-v": ("v:N", "", "ALL")})
    regions.put(EU, "a", 7)
    regions.eu.update_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "w", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-w",
                    "KeySchema": [{"AttributeName": "w", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    regions.eu.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
    )
    regions.eu.update_table(TableName=TABLE, TableClass="STANDARD_INFREQUENT_ACCESS")
    shown = regions.describe(US)
    assert [(each["IndexName"], each["IndexStatus"]) for each in shown["GlobalSecondaryIndexes"]] == [
        ("by-v", "ACTIVE"),
        ("by-w", "ACTIVE"),
    ]
    assert shown["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    ttl = regions.us.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    assert ttl == {"AttributeName": "exp", "TimeToLiveStatus": "ENABLED"}
    found = regions.us.query(
        TableName=TABLE,
        IndexName="by-v",
        KeyConditionExpression="v = :v",
        ExpressionAttributeValues={":v": {"N": "7"}},
    )
    assert found["Count"] == 1
    regions.us.update_table(TableName=TABLE, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-w"}}])
    assert [each["IndexName"] for each in regions.describe(EU)["GlobalSecondaryIndexes"]] == ["by-v"]


def test_a_replica_may_have_settings_of_its_own(regions: Regions) -> None:
    regions.create(gsi={"by-v": ("v:N", "", "ALL")})
    units = {"MaxReadRequestUnits": 5}
    override = {
        "RegionName": EU,
        "TableClassOverride": "STANDARD_INFREQUENT_ACCESS",
        "OnDemandThroughputOverride": units,
        "GlobalSecondaryIndexes": [{"IndexName": "by-v", "OnDemandThroughputOverride": units}],
    }
    regions.update(regions.us, Create=override)
    (shown,) = regions.describe(US)["Replicas"]
    assert shown["ReplicaTableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert shown["OnDemandThroughputOverride"] == units
    assert shown["GlobalSecondaryIndexes"] == override["GlobalSecondaryIndexes"]
    own = regions.describe(EU)
    assert own["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert own["OnDemandThroughput"]["MaxReadRequestUnits"] == 5
    assert "OnDemandThroughput" not in regions.describe(US)
    regions.update(
        regions.us, Update={"RegionName": EU, "OnDemandThroughputOverride": {"MaxReadRequestUnits": 9}}
    )
    assert regions.describe(EU)["OnDemandThroughput"]["MaxReadRequestUnits"] == 9
    assert regions.statuses(US) == {EU: "ACTIVE"}
    with invalid(
        "One or more parameter values were invalid: The table does not have the specified index: no-index"
    ):
        regions.update(
            regions.us,
            Update={"RegionName": EU, "GlobalSecondaryIndexes": [{"IndexName": "no-index"}]},
        )


def test_what_is_not_supported_says_so(regions: Regions) -> None:
    regions.create()
    for members in (
        {
            "ReplicaUpdates": [
                {"Disassociate": {"RegionName": US, "DisassociationMode": "WAIT_FOR_REPLICATION"}}
            ]
        },
    ):
        with pytest.raises(Exception, match="this version of Faradisc"):
            regions.us.update_table(TableName=TABLE, **members)


def test_operations_of_version_2017_find_nothing(regions: Regions) -> None:
    legacy = "global tables version 2017.11.29 is not supported"
    for call, members in (
        (regions.us.create_global_table, {"ReplicationGroup": []}),
        (regions.us.update_global_table, {"ReplicaUpdates": [{"Create": {"RegionName": EU}}]}),
    ):
        with pytest.raises(Exception, match=legacy):
            call(GlobalTableName=TABLE, **members)
    with refused("GlobalTableNotFoundException", f"Global table with name: '{TABLE}' does not exist."):
        regions.us.update_global_table(GlobalTableName=TABLE, ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    with refused("GlobalTableNotFoundException", f"Global table with name: '{TABLE}' does not exist."):
        regions.us.update_global_table_settings(GlobalTableName=TABLE)


def test_replicas_on_demand_have_no_auto_scaling(regions: Regions) -> None:
    regions.create()
    with refused("ResourceNotFoundException", f"Global table with name: '{TABLE}' does not exist."):
        regions.us.describe_table_replica_auto_scaling(TableName=TABLE)
    regions.update(regions.us, Create={"RegionName": EU})
    shown = regions.us.describe_table_replica_auto_scaling(TableName=TABLE)["TableAutoScalingDescription"]
    assert [each["RegionName"] for each in shown["Replicas"]] == [US, EU]


def test_a_restored_table_is_no_replica(regions: Regions) -> None:
    regions.create(EU)
    regions.put(US, "a", 1)
    arn = regions.eu.create_backup(TableName=TABLE, BackupName="name")["BackupDetails"]["BackupArn"]
    regions.eu.restore_table_from_backup(TargetTableName="restored", BackupArn=arn)
    shown = regions.eu.describe_table(TableName="restored")["Table"]
    assert "Replicas" not in shown
    assert regions.eu.scan(TableName="restored")["Count"] == 1
