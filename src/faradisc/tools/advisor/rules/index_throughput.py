"""Global indexes that throttle the writes of their table, or have less throughput than it needs."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from faradisc.tools.advisor.findings import Effect, Finding, cents, of_provisioned
from faradisc.tools.advisor.rules.unread_indexes import is_unread
from faradisc.tools.advisor.traffic import TableTraffic, Traffic
from faradisc.tools.planner.results.prices import HOURS_PER_MONTH


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    for index in definition.indexes:
        demand = table.demand(index.name, "W")
        peak = ceil(demand.peak_half / 2 * traffic.times)
        needed = demand.over(traffic.duration_s, traffic.times).needed_units()
        short = not definition.on_demand and 0 < index.write_units < needed
        if not index.is_global or not (demand.throttled or short) or is_unread(table, index):
            continue
        if needed <= index.write_units:  # and it was throttled: saved units were not there
            needed = peak
        evidence = (
            f"{definition.name}/{index.name} was written {peak:,} units in its busiest second"
            + (
                ""
                if definition.on_demand
                else f", needs {needed:,} a second beside burst capacity and has {index.write_units:,}"
            )
            + (
                f"; {demand.throttled:,} writes of the table were throttled for it"
                if demand.throttled
                else ""
            )
        )
        if definition.on_demand:
            effect = Effect("the table accepts these writes once the index's keys are spread")
            code = "# An index on demand throttles by its keys: see hot-key, and shard the key of the index."
        else:
            more = max(needed - index.write_units, 0)
            cost = of_provisioned(definition, 0, more)
            words = f"{more:,} more write units a second"
            effect = Effect(words, write_units=-more * HOURS_PER_MONTH * 3600, usd=-cents(cost))
            code = f'''\
client.update_table(
    TableName="{definition.name}",
    GlobalSecondaryIndexUpdates=[
        {{"Update": {{
            "IndexName": "{index.name}",
            "ProvisionedThroughput": {{
                "ReadCapacityUnits": {max(index.read_units, 1)}, "WriteCapacityUnits": {max(needed, 1)}
            }},
        }}}}
    ],
)'''
        yield Finding(
            "index-throughput",
            "high" if demand.throttled else "medium",
            definition.name,
            index.name,
            f"Index {index.name} throttles writes of {definition.name}"
            if demand.throttled
            else f"Index {index.name} of {definition.name} has too few write units",
            f"{evidence}.",
            effect,
            code,
        )
