"""A plan of an endpoint: what is described, set and measured becomes a plan that runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faradisc.tools.advisor.plan_of_endpoint import plan_of
from faradisc.tools.advisor.serving import definitions_of
from faradisc.tools.advisor.traffic import ObservedDemand, TableTraffic, Traffic
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.run import run

TABLE = {
    "TableName": "Orders",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "ItemCount": 1000,
    "TableSizeBytes": 500_000,
    "ProvisionedThroughput": {"ReadCapacityUnits": 20, "WriteCapacityUnits": 10},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE"},
            "ItemCount": 10,
            "IndexSizeBytes": 2000,
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        }
    ],
}
ON_DEMAND = {
    "TableName": "Clicks",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 900},
    "WarmThroughput": {"ReadUnitsPerSecond": 24_000, "WriteUnitsPerSecond": 9_000},
}


class Endpoint:
    """Answers as the service does, read-only calls alone."""

    def __init__(self, *, forbids_scaling: bool = False) -> None:
        self.forbids_scaling = forbids_scaling
        self.called: list[str] = []

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.called.append(operation)
        tables = {"Orders": TABLE, "Clicks": ON_DEMAND}
        if operation == "ListTables":
            return {"TableNames": list(tables)}
        if operation == "DescribeTable":
            return {"Table": tables[request["TableName"]]}
        raise PermissionError(operation)

    async def service(self, service: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.called.append(operation)
        if self.forbids_scaling:
            raise PermissionError(operation)
        where = {"ResourceId": "table/Orders", "ScalableDimension": "dynamodb:table:WriteCapacityUnits"}
        if operation == "DescribeScalableTargets":
            if "NextToken" not in request:
                return {"ScalableTargets": [], "NextToken": "more"}
            return {"ScalableTargets": [{**where, "MinCapacity": 10, "MaxCapacity": 400}]}
        policy = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 55.0}}
        return {"ScalingPolicies": [{**where, **policy}]}

    async def admin(self, path: str) -> Any:
        raise PermissionError(path)


def written(endpoint: Endpoint, *names: str) -> str:
    async def ask() -> str:
        definitions = await definitions_of(endpoint.call, PermissionError)
        traffic = Traffic("aws", 3600, {name: TableTraffic(each) for name, each in definitions.items()})
        orders = traffic.tables["Orders"].demands
        # 300 units in the first minute and 60 in the last; half of the items are in the index.
        orders[None, "W"] = ObservedDemand(360, 720, minutes={0: 600, 59: 120})
        orders["by-g", "W"] = ObservedDemand(180, 360, minutes={0: 300, 59: 60})
        orders["by-g", "R"] = ObservedDemand(60, 120, minutes={1: 120})
        return await plan_of(endpoint, traffic, PermissionError, "2026-11-02T00:00:00Z", names)

    return asyncio.run(ask())


def test_tables_scaling_and_metrics_become_a_plan() -> None:
    endpoint = Endpoint()
    plan = load_plan(written(endpoint), "account")
    clicks, orders = plan.tables
    assert (orders.rates.read_units, orders.rates.write_units, orders.sort_key) == (20, 10, True)
    assert (orders.items, orders.item_bytes) == (1000, 500)
    scaling = orders.rates.write_scaling
    assert scaling is not None
    assert (scaling.minimum, scaling.maximum, scaling.target_percent) == (10, 400, 55)
    (index,) = orders.indexes
    assert (index.rates.write_units, index.entry_bytes, float(index.share)) == (6, 200, 0.5)
    assert clicks.rates.on_demand and clicks.rates.warm == (24_000, 9_000)
    assert (clicks.rates.max_read, clicks.rates.max_write) == (None, 900)
    sums = {flow.name: sum(flow.rate.micro(second) for second in range(3600)) / 1e6 for flow in plan.traffic}
    assert sums == {"Orders writes": pytest.approx(360), "Orders/index/by-g reads": pytest.approx(60)}
    assert set(endpoint.called) == {
        "ListTables", "DescribeTable", "DescribeContinuousBackups",
        "DescribeScalableTargets", "DescribeScalingPolicies",
    }  # fmt: skip
    units = {each.name: each.write_units for each in run(plan, engine="fluid").flows}
    # 360 writes of a unit, and 180 entries.
    assert units["Orders writes"] == pytest.approx(540, abs=2)


def test_an_account_that_forbids_scaling_and_tables_without_traffic_still_make_a_plan() -> None:
    plan = load_plan(written(Endpoint(forbids_scaling=True), "Clicks"), "account")
    assert [table.name for table in plan.tables] == ["Clicks"]
    assert [flow.name for flow in plan.traffic] == ["nothing"]
