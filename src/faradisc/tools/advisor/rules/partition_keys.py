"""Partition keys of few values, by their names and by a sample of items: a review of the design, for tables
without traffic. Where traffic shows the keys, `hot-key` judges them."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.capacity.config import CapacityConfig
from faradisc.tools.advisor.definitions import Definition, IndexDefinition, KeySample
from faradisc.tools.advisor.findings import Effect, Finding, Level, count
from faradisc.tools.advisor.key_names import KeyVerdict, verdict_of
from faradisc.tools.advisor.rules.hot_keys import REQUESTS_MIN, sharding
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

FEW_MAX = 8
"""Values in a sample of `definitions.SAMPLES` items."""
ITEMS_MIN = 1000
"""With fewer items few values are chance."""
SHARDS = 10
SHOWN_MAX = 40
"""Letters of a value."""
_FOUND = KeyVerdict(False, "an attribute of few values", "")


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for index, key, items, sample in _keys(table):
        verdict = verdict_of(key)
        if sample is not None and sample.items:
            if len(sample.values) > FEW_MAX or (verdict is not None and verdict.good):
                continue
            if verdict is None and items >= ITEMS_MIN:
                verdict = _FOUND
        if verdict is not None and not verdict.good:
            yield _finding(table, index, key, verdict=verdict, sample=sample)


def good_keys(table: TableTraffic) -> list[str]:
    """Returns a sentence for each partition key without traffic whose name says that it has many values."""
    judged = ((index, key, verdict_of(key)) for index, key, _, _ in _keys(table))
    return [
        f"{table.resource(index)} is partitioned by {key}, {verdict.what}: {verdict.why}."
        for index, key, verdict in judged
        if verdict is not None and verdict.good
    ]


def _keys(table: TableTraffic) -> Iterator[tuple[str | None, str, int, KeySample | None]]:
    """Yields index, partition key, number of items and sample of what has no traffic and a key of one
    attribute."""
    definition = table.definition
    places: list[tuple[str | None, Definition | IndexDefinition]] = [(None, definition)]
    places += [(each.name, each) for each in definition.indexes if each.is_global]
    for index, place in places:
        requests = table.demand(index, "R").requests + table.demand(index, "W").requests
        if place.keys and place.hash_attributes == 1 and requests < REQUESTS_MIN:
            yield index, place.keys[0], place.items, place.sample


def _finding(
    table: TableTraffic, index: str | None, key: str, *, verdict: KeyVerdict, sample: KeySample | None
) -> Finding:
    resource, is_date = table.resource(index), "date" in verdict.what
    evidence = f"By its name {key} is {verdict.what}: {verdict.why}"
    if sample is not None and sample.items:
        values = ", ".join(each[:SHOWN_MAX] for each in sorted(sample.values))
        seen = f"{count(sample.items, 'item')} from all over {resource}"
        evidence = f"{seen} have {count(len(sample.values), 'value')} of {key}: {values}" + (
            f". {evidence}" if verdict.why else ""
        )
    level: Level = "medium" if index is None or sample is not None else "low"
    limits = CapacityConfig()
    writes, reads = limits.partition_write_units, limits.partition_read_units
    words = (
        f"one value is written {writes:,} and read {reads:,} units a second at most, whatever the capacity "
        f"is; {SHARDS} shards of it {SHARDS * writes:,} and {SHARDS * reads:,}"
    )
    if index is not None:
        words += "; an index that cannot take its writes throttles those of the table"
    code = sharding(table, index, SHARDS)
    if index is not None:
        code = f"# Leave it if few items have the attribute at a time, such as those that are open.\n{code}"
    elif not is_date:
        code = _new_table(table.definition.name, key)
    title = f"{resource} is partitioned by {key}, {verdict.what}"
    return Finding(
        "partition-key", level, table.definition.name, index, title, f"{evidence}.", Effect(words), code
    )


def _new_table(name: str, key: str) -> str:
    return f'''\
# The key of a table cannot be changed. Copy the items to a table whose key has many values, such as an
# identifier, and keep {key} as an attribute; an index on it needs shards as well.
client.create_table(
    TableName="{name}-by-id",
    AttributeDefinitions=[{{"AttributeName": "id", "AttributeType": "S"}}],
    KeySchema=[{{"AttributeName": "id", "KeyType": "HASH"}}],
    BillingMode="PAY_PER_REQUEST",
)'''
