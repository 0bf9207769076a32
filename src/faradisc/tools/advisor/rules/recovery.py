"""Tables without point-in-time recovery."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from faradisc.tools.advisor.findings import Effect, Finding, cents
from faradisc.tools.advisor.traffic import TableTraffic, Traffic
from faradisc.tools.planner.results.prices import GB, US_EAST_1


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    if definition.recovery is not False:
        return
    cost = Decimal(definition.size_bytes) / GB * US_EAST_1.recovery_gb_month
    yield Finding(
        "recovery",
        "medium",
        definition.name,
        None,
        f"{definition.name} has no point-in-time recovery",
        f"Continuous backups of {definition.name} are off; it has {definition.items:,} items.",
        Effect("what recovery costs for the size of today", usd=-cents(cost)),
        f'''\
client.update_continuous_backups(
    TableName="{definition.name}",
    PointInTimeRecoverySpecification={{"PointInTimeRecoveryEnabled": True}},
)''',
    )
