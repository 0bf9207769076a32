"""Whether the other capacity mode would cost less, without throttling more."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from faradisc.tools.advisor.findings import Effect, Finding, cents, prices_of
from faradisc.tools.advisor.traffic import TableTraffic, Traffic
from faradisc.tools.planner.results.cost import ExactCost, console_scaling, in_mode
from faradisc.tools.planner.results.prices import US_EAST_1

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
    on_demand = _month(traffic, table, "on-demand")
    if definition.on_demand:
        mode, other = "provisioned with auto scaling", _month(traffic, table, "auto-scaling")
        if other.throttled * 100 > THROTTLED_PERCENT * other.offered:
            return
        present = on_demand
    else:
        mode, other, present = "on demand", on_demand, _month(traffic, table, "as-planned")
    yield from _cheaper(traffic, table, present.read + present.write, other.read + other.write, mode)


def _cheaper(
    traffic: Traffic, table: TableTraffic, present: Decimal, other: Decimal, mode: str
) -> Iterator[Finding]:
    definition = table.definition
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


def _month(traffic: Traffic, table: TableTraffic, mode: str) -> ExactCost:
    """Returns a month of a table with its global indexes in a mode, as a plan of this traffic computes it."""
    definition, limits = table.definition, console_scaling()
    read, write, throttled, offered = Decimal(0), Decimal(0), 0, 0
    for index in (None, *(index for index in definition.indexes if index.is_global)):
        name, rates = (None, definition) if index is None else (index.name, index)
        lasted = traffic.duration_s
        reads = table.demand(name, "R").over(lasted, traffic.times)
        writes = table.demand(name, "W").over(lasted, traffic.times)
        reads.provisioned_s, writes.provisioned_s = rates.read_units * lasted, rates.write_units * lasted
        cost = in_mode(mode, (reads, writes), (limits, limits), US_EAST_1, prices_of(definition))
        read, write, throttled = read + cost.read, write + cost.write, throttled + cost.throttled
        offered += reads.offered_half + writes.offered_half
    return ExactCost(read, write, throttled=throttled, offered=offered)


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
