"""Whether the other capacity mode would cost less, without throttling more."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from faradisc.limits import TABLE_CAPACITY_UNITS_MAX
from faradisc.tools.advisor.findings import Effect, Finding, cents, of_month, of_provisioned, prices_of
from faradisc.tools.advisor.traffic import ObservedDemand, TableTraffic, Traffic
from faradisc.tools.planner.plan_file.plan import Scaling
from faradisc.tools.planner.results.cost import scaled_minutes
from faradisc.tools.planner.results.prices import HOURS_PER_MONTH

DURATION_S_MIN = 1800
"""Shorter traffic says nothing of a month."""
SAVED_PERCENT = 20
SAVED_USD = 1
THROTTLED_PERCENT = 0.1
"""That auto scaling may throttle, burst capacity left out."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    if traffic.duration_s < DURATION_S_MIN or not table.requests:
        return
    definition = table.definition
    if definition.on_demand:
        present, mode = _on_demand(traffic, table), "provisioned with auto scaling"
        other, throttles = _scaled(traffic, table)
        if throttles:
            return
    else:
        present, other, mode = _provisioned(table), _on_demand(traffic, table), "on demand"
    if present - other < max(Decimal(SAVED_USD), present * SAVED_PERCENT / 100):
        return
    now = "on demand" if definition.on_demand else "provisioned"
    yield Finding(
        "capacity-mode",
        "medium",
        definition.name,
        None,
        f"{definition.name} costs less {mode}",
        f"A month like these {traffic.duration_s:,} s costs ${present:,.2f} {now} and ${other:,.2f} {mode}, "
        "global indexes included.",
        Effect("without storage", usd=cents(present - other)),
        _scaling_code(table)
        if definition.on_demand
        else f'''\
client.update_table(TableName="{definition.name}", BillingMode="PAY_PER_REQUEST")''',
    )


def _on_demand(traffic: Traffic, table: TableTraffic) -> Decimal:
    of_class = prices_of(table.definition)
    half_units = {"R": 0, "W": 0}
    for (_, direction), demand in table.demands.items():
        half_units[direction] += demand.half_units
    read, write = (Decimal(of_month(traffic, each)) for each in half_units.values())
    return sum(of_class.on_demand(read, write), Decimal(0))


def _scaled(traffic: Traffic, table: TableTraffic) -> tuple[Decimal, bool]:
    """Returns the cost of auto scaling at 70 %, and whether it would throttle too much."""
    of_class = prices_of(table.definition)
    cost, throttled, offered = Decimal(0), 0, 0
    names = [None, *(index.name for index in table.definition.indexes if index.is_global)]
    for index in names:
        hours = []
        for demand in (table.demand(index, "R"), table.demand(index, "W")):
            minutes = _minutes(traffic, demand)
            limits = Scaling.model_construct(minimum=1, maximum=TABLE_CAPACITY_UNITS_MAX)
            unit_minutes, beyond = scaled_minutes(minutes, limits)
            throttled, offered = throttled + beyond, offered + sum(minutes)
            hours.append(Decimal(unit_minutes) * HOURS_PER_MONTH / len(minutes))
        cost += sum(of_class.provisioned(*hours), Decimal(0))
    return cost, throttled * 100 > THROTTLED_PERCENT * offered


def _minutes(traffic: Traffic, demand: ObservedDemand) -> list[int]:
    wanted = -(-traffic.duration_s // 60)
    return [demand.minutes.get(minute, 0) * traffic.times for minute in range(wanted)]


def _provisioned(table: TableTraffic) -> Decimal:
    definition = table.definition
    indexes = [index for index in definition.indexes if index.is_global]
    read = definition.read_units + sum(index.read_units for index in indexes)
    write = definition.write_units + sum(index.write_units for index in indexes)
    return of_provisioned(definition, read, write)


def _scaling_code(table: TableTraffic) -> str:
    name = table.definition.name
    write = max(table.demand(None, "W").peak_half // 2, 1)
    read = max(table.demand(None, "R").peak_half // 2, 1)
    return f'''\
client.update_table(
    TableName="{name}",
    BillingMode="PROVISIONED",  # give each global index its ProvisionedThroughput too
    ProvisionedThroughput={{"ReadCapacityUnits": {read}, "WriteCapacityUnits": {write}}},
)
scaling = boto3.client("application-autoscaling")
for kind, peak in (("Read", {read}), ("Write", {write})):
    target = {{
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/{name}",
        "ScalableDimension": f"dynamodb:table:{{kind}}CapacityUnits",
    }}
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=4 * peak)
    scaling.put_scaling_policy(
        **target,
        PolicyName=f"{name}-{{kind}}",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={{
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {{
                "PredefinedMetricType": f"DynamoDB{{kind}}CapacityUtilization"
            }},
        }},
    )'''
