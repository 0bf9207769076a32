"""Replicas of provisioned tables: shared and own units, billing modes, and their auto scaling.

Sources: botocore's model; errors.md section 6.11; the service's documentation of global tables.
"""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.local import LocalDatabase
from fixtures.direct_client import CONFIG
from fixtures.regions import AP, EU, REGIONS, TABLE, US, Regions
from fixtures.schemas import invalid, schema

GSI = {"by-v": ("v:N", "", "ALL")}
NOT_SCALED = "should either be Pay-Per-Request or AutoScaled."


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def shown(described: dict[str, Any]) -> tuple[int, int]:
    throughput = described["ProvisionedThroughput"]
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]


def provisioned(regions: Regions, read: int = 5, write: int = 10) -> None:
    """Creates the table in US, with an index."""
    members = schema("p:S", gsi=GSI)
    members["BillingMode"] = "PROVISIONED"
    members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(read, write)
    regions.us.create_table(TableName=TABLE, **members, ProvisionedThroughput=units(read, write))


def scale(regions: Regions, *kinds: str, direction: str = "Write") -> None:
    register(regions.local.client("application-autoscaling", US, config=CONFIG), *kinds, direction=direction)


def register(scaling: Any, *kinds: str, direction: str) -> None:
    """scaling: a client of Application Auto Scaling."""
    for kind in kinds or ("table", "index"):
        names = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": f"table/{TABLE}" + ("/index/by-v" if kind == "index" else ""),
            "ScalableDimension": f"dynamodb:{kind}:{direction}CapacityUnits",
        }
        scaling.register_scalable_target(**names, MinCapacity=5, MaxCapacity=500)
        metric = {"PredefinedMetricType": f"DynamoDB{direction}CapacityUtilization"}
        scaling.put_scaling_policy(
            **names,
            PolicyName="track",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": 70.0,
                "PredefinedMetricSpecification": metric,
            },
        )


def settings(regions: Regions, region: str) -> dict[str, Any]:
    described = regions.us.describe_table_replica_auto_scaling(TableName=TABLE)
    replicas = described["TableAutoScalingDescription"]["Replicas"]
    return next(each for each in replicas if each["RegionName"] == region)


def test_writes_must_be_scaled(regions: Regions) -> None:
    provisioned(regions)
    for kind, what in (("table", "Table"), ("index", "GSI")):
        with invalid(f"{what} write capacity {NOT_SCALED}"):
            regions.update(regions.us, Create={"RegionName": EU})
        scale(regions, kind)
    regions.update(regions.us, Create={"RegionName": EU})
    regions.put(US, "a", 1)
    assert regions.values("a") == ["1", "1"]
    described = regions.describe(EU)
    assert shown(described) == (5, 10)
    assert shown(described["GlobalSecondaryIndexes"][0]) == (5, 10)


def test_reads_may_differ_and_writes_may_not(regions: Regions) -> None:
    provisioned(regions)
    scale(regions)
    own = {"ProvisionedThroughputOverride": {"ReadCapacityUnits": 7}}
    index = {"IndexName": "by-v", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 8}}
    regions.update(regions.us, Create={"RegionName": EU, "GlobalSecondaryIndexes": [index], **own})
    (replica,) = regions.describe(US)["Replicas"]
    assert replica["ProvisionedThroughputOverride"] == {"ReadCapacityUnits": 7}
    assert replica["GlobalSecondaryIndexes"] == [index]
    described = regions.describe(EU)
    assert (shown(described), shown(described["GlobalSecondaryIndexes"][0])) == ((7, 10), (8, 10))
    regions.us.update_table(TableName=TABLE, ProvisionedThroughput=units(20, 30))
    assert (shown(regions.describe(US)), shown(regions.describe(EU))) == ((20, 30), (7, 30))
    regions.eu.update_table(TableName=TABLE, ProvisionedThroughput=units(9, 40))
    assert (shown(regions.describe(US)), shown(regions.describe(EU))) == ((20, 40), (9, 40))
    regions.update(
        regions.us, Update={"RegionName": EU, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 11}}
    )
    assert shown(regions.describe(EU)) == (11, 40)
    with invalid(
        "One or more parameter values were invalid: "
        "OnDemandThroughputOverride cannot be specified when BillingMode is PROVISIONED"
    ):
        regions.update(
            regions.us, Update={"RegionName": EU, "OnDemandThroughputOverride": {"MaxReadRequestUnits": 1}}
        )


def test_all_replicas_have_one_billing_mode(regions: Regions) -> None:
    provisioned(regions)
    scale(regions)
    own = {"ProvisionedThroughputOverride": {"ReadCapacityUnits": 7}}
    regions.update(regions.us, Create={"RegionName": EU, **own})
    regions.eu.update_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST")
    for region in (US, EU):
        described = regions.describe(region)
        assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        assert shown(described) == shown(described["GlobalSecondaryIndexes"][0]) == (0, 0)
        assert all("ProvisionedThroughputOverride" not in each for each in described["Replicas"])
    index = {"Update": {"IndexName": "by-v", "ProvisionedThroughput": units(3, 6)}}
    regions.us.update_table(
        TableName=TABLE,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(4, 6),
        GlobalSecondaryIndexUpdates=[index],
    )
    for region in (US, EU):
        described = regions.describe(region)
        assert described["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
        assert (shown(described), shown(described["GlobalSecondaryIndexes"][0])) == ((4, 6), (3, 6))


def test_a_replica_on_demand_becomes_provisioned_only_if_scaled(regions: Regions) -> None:
    regions.create(EU)
    change = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(5, 5)}
    with invalid(f"Table write capacity {NOT_SCALED}"):
        regions.us.update_table(TableName=TABLE, **change)
    scale(regions, "table")
    regions.us.update_table(TableName=TABLE, **change)
    assert shown(regions.describe(EU)) == (5, 5)


def test_a_new_replica_is_scaled_like_its_source(regions: Regions) -> None:
    provisioned(regions)
    scale(regions)
    scale(regions, "table", direction="Read")
    index = {"IndexName": "by-v", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 8}}
    regions.update(regions.us, Create={"RegionName": EU, "GlobalSecondaryIndexes": [index]})
    regions.update(
        regions.us, Create={"RegionName": AP, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 7}}
    )
    policy = {"PolicyName": "track", "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0}}
    for region, reads in ((US, True), (EU, True), (AP, False)):
        of_region = settings(regions, region)
        written = of_region["ReplicaProvisionedWriteCapacityAutoScalingSettings"]
        assert (written["MinimumUnits"], written["MaximumUnits"]) == (5, 500)
        assert written["ScalingPolicies"] == [policy]
        read = of_region["ReplicaProvisionedReadCapacityAutoScalingSettings"]
        assert read["AutoScalingDisabled"] is not reads
        (of_index,) = of_region["GlobalSecondaryIndexes"]
        assert of_index["ProvisionedReadCapacityAutoScalingSettings"] == {"AutoScalingDisabled": True}
        assert not of_index["ProvisionedWriteCapacityAutoScalingSettings"]["AutoScalingDisabled"]


def test_the_scaling_of_all_replicas_changes_at_once(regions: Regions) -> None:
    provisioned(regions)
    scale(regions)
    regions.update(regions.us, Create={"RegionName": EU})
    policy = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 50.0}}
    wanted = {"MinimumUnits": 20, "MaximumUnits": 100, "ScalingPolicyUpdate": policy}
    answer = regions.us.update_table_replica_auto_scaling(
        TableName=TABLE,
        ProvisionedWriteCapacityAutoScalingUpdate=wanted,
        ReplicaUpdates=[
            {
                "RegionName": EU,
                "ReplicaProvisionedReadCapacityAutoScalingUpdate": {**wanted, "MinimumUnits": 30},
            }
        ],
    )
    described = answer["TableAutoScalingDescription"]
    assert described["TableName"] == TABLE
    assert described["Replicas"] == [settings(regions, US), settings(regions, EU)]
    for region in (US, EU):
        written = settings(regions, region)["ReplicaProvisionedWriteCapacityAutoScalingSettings"]
        (shown_policy,) = written["ScalingPolicies"]
        assert shown_policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 50
    # The limits are new: the worker moves the units of both into them.
    regions.clock.advance(60)
    regions.describe(US)
    assert (shown(regions.describe(US)), shown(regions.describe(EU))) == ((5, 20), (30, 20))
    off = {"AutoScalingDisabled": True}
    regions.us.update_table_replica_auto_scaling(
        TableName=TABLE,
        ReplicaUpdates=[{"RegionName": EU, "ReplicaProvisionedReadCapacityAutoScalingUpdate": off}],
    )
    assert settings(regions, EU)["ReplicaProvisionedReadCapacityAutoScalingSettings"] == off


def test_scaling_that_is_refused(regions: Regions) -> None:
    provisioned(regions)
    scale(regions)
    regions.update(regions.us, Create={"RegionName": EU})
    before = f"Failed to update settings for global table with name: ‘{TABLE}’: "
    policy = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 5.0}}
    limits = {"MinimumUnits": 20, "MaximumUnits": 100}
    reads = "ReplicaProvisionedReadCapacityAutoScalingUpdate"
    for members, text in (
        (
            {"ProvisionedWriteCapacityAutoScalingUpdate": limits},
            "Parameters 'ScalingPolicyUpdate' are required unless auto scaling is being disabled.",
        ),
        (
            {"ProvisionedWriteCapacityAutoScalingUpdate": {**limits, "ScalingPolicyUpdate": policy}},
            "For predefined metric type DynamoDBWriteCapacityUtilization, target value must be between "
            "'10.0' and '90.0', but was '5.0'.",
        ),
        (
            {"ReplicaUpdates": [{"RegionName": AP, reads: {"AutoScalingDisabled": True}}]},
            f"Replica not found: {AP}",
        ),
        ({}, "At least one update is required"),
    ):
        with invalid(before + text):
            regions.us.update_table_replica_auto_scaling(TableName=TABLE, **members)


def test_replicas_are_scaled_after_a_restart(tmp_path: Any) -> None:
    def opened() -> LocalDatabase:
        return LocalDatabase(tmp_path, regions=REGIONS, region=US)

    class Stored(Regions):
        def __init__(self, local: LocalDatabase) -> None:
            self.local = local
            self.us = local.client(config=CONFIG)

    with opened() as local:
        first = Stored(local)
        provisioned(first)
        scale(first)
        first.update(first.us, Create={"RegionName": EU})
    with opened() as local:
        again = settings(Stored(local), EU)["ReplicaProvisionedWriteCapacityAutoScalingSettings"]
        assert again["MinimumUnits"] == 5


@pytest.mark.parametrize("mode", ["ENABLED", "DISABLED"])
def test_the_mode_of_settings(regions: Regions, mode: str) -> None:
    """errors.md section 6.10 (finding 048): of a table of one region."""
    regions.create()
    member = "GlobalTableSettingsReplicationMode"
    regions.us.update_table(TableName=TABLE, **{member: mode})
    assert regions.describe(US)[member] == mode
    with invalid(
        f"Value 'ENABLED_WITH_OVERRIDES' at '{member}' failed to satisfy constraint: Only ENABLED and "
        "DISABLED settings replication are supported for a Regional Table."
    ):
        regions.us.update_table(TableName=TABLE, **{member: "ENABLED_WITH_OVERRIDES"})
    regions.update(regions.us, Create={"RegionName": EU})
    described = regions.describe(US)
    assert described[member] == described["Replicas"][0][member] == "ENABLED_WITH_OVERRIDES"
    with invalid(
        f"One or more parameter values were invalid: {member} cannot be changed for a Global Table replica"
    ):
        regions.us.update_table(TableName=TABLE, **{member: mode})
