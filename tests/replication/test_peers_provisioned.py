"""Provisioned tables with replicas at other servers: units of their own, and auto scaling.

Sources: those of test_provisioned.py, whose answers these tables give too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faradisc.local import sessions
from faradisc.local.transport import attach
from fixtures.direct_client import CONFIG
from fixtures.peers import AP, EU, TABLE, US, Servers
from fixtures.schemas import invalid, schema
from replication.test_provisioned import GSI, NOT_SCALED, register, shown, units

READS = "ReplicaProvisionedReadCapacityAutoScalingSettings"
WRITES = "ReplicaProvisionedWriteCapacityAutoScalingSettings"


class Provisioned(Servers):
    """The table is in US, with an index."""

    def __init__(self) -> None:
        super().__init__(US, EU, AP)
        members = schema("p:S", gsi=GSI)
        members["BillingMode"] = "PROVISIONED"
        members["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(5, 10)
        self.clients[US].create_table(TableName=TABLE, **members, ProvisionedThroughput=units(5, 10))

    def scale(self, *directions: str) -> None:
        """Registers the units of the table and its index in US."""
        made = sessions.make("client", "application-autoscaling", US, {"config": CONFIG})
        attach(made, self._answering(US))
        for direction in directions:
            register(made, direction=direction)

    def scaling(self, at: str, of: str) -> dict[str, Any]:
        """Returns what the server of one region shows of the scaling in another one."""
        described = self.clients[at].describe_table_replica_auto_scaling(TableName=TABLE)
        replicas = described["TableAutoScalingDescription"]["Replicas"]
        return next(each for each in replicas if each["RegionName"] == of)


@pytest.fixture
def servers() -> Iterator[Provisioned]:
    servers = Provisioned()
    yield servers
    servers.check()


def test_a_replica_has_reads_of_its_own_and_the_writes_of_all(servers: Provisioned) -> None:
    with invalid(f"Table write capacity {NOT_SCALED}"):
        servers.update(US, Create={"RegionName": EU})
    servers.scale("Write")
    own = {"ProvisionedThroughputOverride": {"ReadCapacityUnits": 7}}
    index = {"IndexName": "by-v", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 8}}
    servers.update(US, Create={"RegionName": EU, "GlobalSecondaryIndexes": [index], **own})
    servers.put(US, "a", 1)
    assert servers.values("a") == ["1", "1"]
    described = servers.describe(EU)
    assert (shown(described), shown(described["GlobalSecondaryIndexes"][0])) == ((7, 10), (8, 10))
    servers.clients[US].update_table(TableName=TABLE, ProvisionedThroughput=units(20, 30))
    assert (shown(servers.describe(US)), shown(servers.describe(EU))) == ((20, 30), (7, 30))
    servers.clients[EU].update_table(TableName=TABLE, ProvisionedThroughput=units(9, 40))
    assert (shown(servers.describe(US)), shown(servers.describe(EU))) == ((20, 40), (9, 40))
    servers.update(US, Update={"RegionName": EU, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 11}})
    assert shown(servers.describe(EU)) == (11, 40)
    servers.clients[EU].update_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST")
    for region in (US, EU):
        described = servers.describe(region)
        assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        assert shown(described) == (0, 0)
    servers.clients[US].update_table(
        TableName=TABLE,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(4, 6),
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-v", "ProvisionedThroughput": units(3, 6)}}],
    )
    assert shown(servers.describe(US)) == shown(servers.describe(EU)) == (4, 6)


def test_a_new_replica_is_scaled_like_the_one_that_fills_it(servers: Provisioned) -> None:
    servers.scale("Read", "Write")
    servers.update(US, Create={"RegionName": EU, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 7}})
    servers.update(US, Create={"RegionName": AP})
    policy = {"PolicyName": "track", "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0}}
    for at in (US, EU, AP):
        for of, reads in ((US, True), (EU, False), (AP, True)):
            seen = servers.scaling(at, of)
            written = seen[WRITES]
            assert (written["MinimumUnits"], written["MaximumUnits"]) == (5, 500)
            assert written["ScalingPolicies"] == [policy]
            assert seen[READS]["AutoScalingDisabled"] is not reads
            (index,) = seen["GlobalSecondaryIndexes"]
            assert index["ProvisionedWriteCapacityAutoScalingSettings"]["ScalingPolicies"] == [policy]


def test_the_scaling_of_replicas_at_other_servers_is_changed(servers: Provisioned) -> None:
    servers.scale("Write")
    servers.update(US, Create={"RegionName": EU})
    policy = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 50.0}}
    wanted = {"MinimumUnits": 20, "MaximumUnits": 100, "ScalingPolicyUpdate": policy}
    update = "ReplicaProvisionedReadCapacityAutoScalingUpdate"
    answer = servers.clients[US].update_table_replica_auto_scaling(
        TableName=TABLE,
        ProvisionedWriteCapacityAutoScalingUpdate=wanted,
        ReplicaUpdates=[{"RegionName": EU, update: {**wanted, "MinimumUnits": 30}}],
    )
    replicas = answer["TableAutoScalingDescription"]["Replicas"]
    assert replicas == [servers.scaling(US, US), servers.scaling(US, EU)]
    for at in (US, EU):
        assert servers.scaling(at, US)[WRITES]["MinimumUnits"] == 20
        assert servers.scaling(at, EU)[READS]["MinimumUnits"] == 30
    servers.advance(60)
    servers.work_after_a_failure()
    assert (shown(servers.describe(US)), shown(servers.describe(EU))) == ((5, 20), (30, 20))
    off = {"AutoScalingDisabled": True}
    servers.clients[US].update_table_replica_auto_scaling(
        TableName=TABLE, ReplicaUpdates=[{"RegionName": EU, update: off}]
    )
    assert servers.scaling(US, EU)[READS] == servers.scaling(EU, EU)[READS] == off


def test_a_scaling_that_the_other_server_rejects_or_does_not_get(servers: Provisioned) -> None:
    servers.scale("Write")
    servers.update(US, Create={"RegionName": EU})
    servers.work()

    def change(target: float) -> None:
        policy = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": target}}
        reads = {"MinimumUnits": 20, "MaximumUnits": 100, "ScalingPolicyUpdate": policy}
        servers.clients[US].update_table_replica_auto_scaling(
            TableName=TABLE,
            ReplicaUpdates=[{"RegionName": EU, "ReplicaProvisionedReadCapacityAutoScalingUpdate": reads}],
        )

    before = f"Failed to update settings for global table with name: ‘{TABLE}’: "
    with invalid(
        f"{before}For predefined metric type DynamoDBReadCapacityUtilization, target value must be between "
        "'10.0' and '90.0', but was '5.0'."
    ):
        change(5.0)
    servers.down = {EU}
    with invalid(f"{before}The server of {EU} does not answer."):
        change(50.0)
    servers.down = set()
    servers.work_after_a_failure()
