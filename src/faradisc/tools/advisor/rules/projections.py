"""Global indexes that project all attributes, of which reads ask for a part, whose items are read again, or
whose need no traffic shows."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.definitions import Definition, IndexDefinition
from faradisc.tools.advisor.findings import Effect, Finding, Level, count, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

PAGES_MIN = 10
NAMES_MAX = 20
"""Attributes that a projection may name: the service's limit is 100 in all indexes of a table."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    for index in definition.indexes:
        pages = table.pages.get(index.name)
        if not index.is_global or index.projection != "ALL":
            continue
        if pages is None:
            if not table.requests:
                yield _not_known(table, index)
            continue
        again = [
            each
            for each in table.followers
            if each.index is None and each.leader == table.resource(index.name)
        ]
        if pages.pages >= PAGES_MIN and any(each.sizes.count >= PAGES_MIN for each in again):
            yield _read_again(traffic, table, index)
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
        yield Finding(
            "projection",
            level,
            definition.name,
            index.name,
            f"Index {index.name} of {definition.name} projects attributes that nothing reads",
            f"{evidence}.",
            saved(traffic, definition, words, read_half=read_half, write_half=write_half),
            _another(definition, index, projection),
        )


def _another(definition: Definition, index: IndexDefinition, projection: str) -> str:
    """Returns the code that adds the same index with another projection, given as Python."""
    units = ""
    if not definition.on_demand:
        rates = f'{{"ReadCapacityUnits": {index.read_units}, "WriteCapacityUnits": {index.write_units}}}'
        units = f'\nnew["ProvisionedThroughput"] = {rates}'
    return f'''\
# A projection cannot be changed: add another index, let reads use it, then delete the old one.
keys = client.describe_table(TableName="{definition.name}")["Table"]
old = next(each for each in keys["GlobalSecondaryIndexes"] if each["IndexName"] == "{index.name}")
new = {{"IndexName": "{index.name}-2", "KeySchema": old["KeySchema"], "Projection": {projection}}}{units}
client.update_table(
    TableName="{definition.name}",
    AttributeDefinitions=keys["AttributeDefinitions"],
    GlobalSecondaryIndexUpdates=[{{"Create": new}}],
)'''


def _not_known(table: TableTraffic, index: IndexDefinition) -> Finding:
    """Returns the finding of an index with all attributes of a table without traffic."""
    definition = table.definition
    return Finding(
        "projection",
        "low",
        definition.name,
        index.name,
        f"Index {index.name} of {definition.name} projects ALL, and no traffic shows that it needs to",
        f"{table.resource(index.name)} has a copy of every attribute, and there is no traffic of "
        f"{definition.name} to tell which are read. Leave it if its pages are shown whole.",
        Effect(
            "an index with the keys alone stores them, and costs a write unit for a write of an item of any "
            "size, none for one that changes no key; with ALL every write of the item is paid again"
        ),
        "# Keys, or the attributes that its pages need: "
        "INCLUDE with NonKeyAttributes.\n" + _another(definition, index, '{"ProjectionType": "KEYS_ONLY"}'),
    )


def _read_again(traffic: Traffic, table: TableTraffic, index: IndexDefinition) -> Finding:
    """Returns the finding of an index with all attributes whose items are then read from the table."""
    written, name = table.demand(index.name, "W"), table.definition.name
    again = sum(each.half_units for each in table.followers if each.leader == table.resource(index.name))
    return Finding(
        "projection",
        "medium",
        name,
        index.name,
        f"Index {index.name} of {name} projects ALL, and its items are read again",
        f"Queries of {table.resource(index.name)} are followed by reads of the same items in {name}: one of "
        "both has the attributes in vain.",
        saved(
            traffic,
            table.definition,
            "at most: by KEYS_ONLY the writes, or by using what the index has the reads",
            read_half=again,
            write_half=max(written.half_units - 2 * written.requests, 0),
        ),
        f"""\
# The page has every attribute already:
items = table.query(IndexName="{index.name}", KeyConditionExpression=condition)["Items"]""",
    )
