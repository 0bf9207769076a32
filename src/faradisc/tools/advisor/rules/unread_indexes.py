"""Global indexes that are written and never read."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Finding, count, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

WRITES_MIN = 20


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    for index in definition.indexes:
        written = table.demand(index.name, "W")
        if not index.is_global or table.demand(index.name, "R").half_units or written.requests < WRITES_MIN:
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
            saved(traffic, definition, "without the index, and its storage", write_half=written.half_units),
            f'''\
# Look for jobs that read it less often than this traffic shows; then:
client.update_table(
    TableName="{definition.name}",
    GlobalSecondaryIndexUpdates=[{{"Delete": {{"IndexName": "{index.name}"}}}}],
)''',
        )
