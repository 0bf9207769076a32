"""Scans that are repeated, which only an administrator's task should be."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Effect, Finding, Level, count, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

RUNS_MIN = 5
"""Backfills and exports scan a table once or twice."""
SHARE_HIGH_PERCENT = 10
"""Of the read units."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for index, scans in table.scans.items():
        runs = scans.pages if scans.runs is None else scans.runs
        if runs < RUNS_MIN:
            continue
        definition, resource = table.definition, table.resource(index)
        level: Level = "medium"
        evidence = f"{resource} was scanned {count(runs, 'time')} in {traffic.duration_s:,} s"
        effect = Effect("A Query reads the items that are wanted, a Scan all of them.")
        if scans.half_units is not None:
            read = table.demand(index, "R").half_units or 1
            percent = 100 * scans.half_units / read
            level = "high" if percent >= SHARE_HIGH_PERCENT else "medium"
            evidence += f", by {count(scans.pages, 'page')} with {percent:.0f} % of its read units"
            words = "of Scans; a Query of the wanted items takes their place"
            effect = saved(traffic, definition, words, read_half=scans.half_units)
        title = f"{resource} is scanned again and again"
        yield Finding("scan", level, definition.name, index, title, f"{evidence}.", effect, _code(table))


def _code(table: TableTraffic) -> str:
    definition, throughput = table.definition, ""
    if not definition.on_demand:
        throughput = (
            '\n            "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10},'
        )
    existing = ""
    if definition.indexes:
        known = ", ".join(f"{index.name} ({', '.join(index.keys)})" for index in definition.indexes)
        existing = f"# First look whether one of its indexes answers: {known}.\n"
    return f'''\
{existing}# Name the attribute by which the Scan filters, and query an index with it as its key.
ATTRIBUTE, VALUE = "...", "..."
INDEX = f"by-{{ATTRIBUTE}}"
client.update_table(
    TableName="{definition.name}",
    AttributeDefinitions=[{{"AttributeName": ATTRIBUTE, "AttributeType": "S"}}],
    GlobalSecondaryIndexUpdates=[
        {{"Create": {{
            "IndexName": INDEX,
            "KeySchema": [{{"AttributeName": ATTRIBUTE, "KeyType": "HASH"}}],
            "Projection": {{"ProjectionType": "KEYS_ONLY"}},{throughput}
        }}}}
    ],
)
table.query(IndexName=INDEX, KeyConditionExpression=Key(ATTRIBUTE).eq(VALUE))'''
