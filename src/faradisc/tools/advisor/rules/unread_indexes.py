"""Global indexes that are written and never read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from faradisc.tools.advisor.definitions import IndexDefinition
from faradisc.tools.advisor.findings import Effect, Finding, cents, count, of_provisioned, saved
from faradisc.tools.advisor.traffic import ObservedDemand, TableTraffic, Traffic

WRITES_MIN = 20


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    for index in definition.indexes:
        written = table.demand(index.name, "W")
        if not is_unread(table, index):
            continue
        evidence = (
            f"{definition.name}/{index.name} was written {count(written.requests, 'time')} and not read in "
            f"{traffic.duration_s:,} s"
        )
        yield Finding(
            "unread-index",
            "medium",
            definition.name,
            index.name,
            f"Nothing reads index {index.name} of {definition.name}",
            f"{evidence}.",
            _without(traffic, table, index, written),
            f'''\
# Look for jobs that read it less often than this traffic shows; then:
client.update_table(
    TableName="{definition.name}",
    GlobalSecondaryIndexUpdates=[{{"Delete": {{"IndexName": "{index.name}"}}}}],
)''',
        )


def is_unread(table: TableTraffic, index: IndexDefinition) -> bool:
    """Returns whether a global index is written and not read: one to delete, not to raise."""
    written, read = table.demand(index.name, "W"), table.demand(index.name, "R")
    return index.is_global and not read.half_units and written.requests >= WRITES_MIN


def _without(
    traffic: Traffic, table: TableTraffic, index: IndexDefinition, written: ObservedDemand
) -> Effect:
    """Returns what deletion saves: the index's units, or all that is provisioned for it."""
    words = "without the index, and its storage"
    effect = saved(traffic, table.definition, words, write_half=written.half_units)
    if table.definition.on_demand:
        return effect
    cost = of_provisioned(table.definition, index.read_units, index.write_units)
    return replace(effect, usd=cents(cost))
