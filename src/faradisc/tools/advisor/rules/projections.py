"""Global indexes that project all attributes, of which reads ask for a part."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Finding, Level, count, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

PAGES_MIN = 10
NAMES_MAX = 20
"""Attributes that a projection may name: the service's limit is 100 in all indexes of a table."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    for index in definition.indexes:
        pages = table.pages.get(index.name)
        if not index.is_global or index.projection != "ALL" or pages is None:
            continue
        names = sorted(pages.attributes - {*definition.keys, *index.keys})
        if pages.whole or pages.pages < PAGES_MIN or len(names) > NAMES_MAX:
            continue
        written, read = table.demand(index.name, "W"), table.demand(index.name, "R")
        write_half = max(written.half_units - 2 * written.requests, 0)
        read_half = max(read.half_units - read.requests, 0)
        level: Level = "medium" if write_half or read_half else "low"
        asked = ", ".join(names) or "keys"
        resource = table.resource(index.name)
        evidence = f"{resource} projects ALL; each of {count(pages.pages, 'page')} asked only for {asked}"
        words = "at most, if the other attributes are most of the item; and their storage"
        projection = '{"ProjectionType": "KEYS_ONLY"}'
        if names:
            projection = f'{{"ProjectionType": "INCLUDE", "NonKeyAttributes": {names!r}}}'
        units = ""
        if not definition.on_demand:
            rates = f'{{"ReadCapacityUnits": {index.read_units}, "WriteCapacityUnits": {index.write_units}}}'
            units = f'\nnew["ProvisionedThroughput"] = {rates}'
        yield Finding(
            "projection",
            level,
            definition.name,
            index.name,
            f"Index {index.name} of {definition.name} projects attributes that nothing reads",
            f"{evidence}.",
            saved(traffic, definition, words, read_half=read_half, write_half=write_half),
            f'''\
# A projection cannot be changed: add another index, let reads use it, then delete the old one.
keys = client.describe_table(TableName="{definition.name}")["Table"]
old = next(each for each in keys["GlobalSecondaryIndexes"] if each["IndexName"] == "{index.name}")
new = {{"IndexName": "{index.name}-2", "KeySchema": old["KeySchema"], "Projection": {projection}}}{units}
client.update_table(
    TableName="{definition.name}",
    AttributeDefinitions=keys["AttributeDefinitions"],
    GlobalSecondaryIndexUpdates=[{{"Create": new}}],
)''',
        )
