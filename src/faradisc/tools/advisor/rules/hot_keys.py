"""Partition keys with more traffic than one partition serves, and keys that concentrate it."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.capacity.config import Direction
from faradisc.tools.advisor.findings import Effect, Finding, Level
from faradisc.tools.advisor.traffic import KeyLoad, ObservedDemand, TableTraffic, Traffic
from faradisc.tools.planner.results.hot_keys import NEAR_PERCENT, arithmetic, shards

SHARE_PERCENT = 30
REQUESTS_MIN = 200
"""With fewer requests a share is chance."""
FIRST_SHARDS = 4
"""Of a key that does not need them yet."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for (index, direction), demand in table.demands.items():
        for key in demand.keys:
            finding = _judged(traffic, table, index, direction=direction, demand=demand, key=key)
            if finding is not None:
                yield finding


def _judged(
    traffic: Traffic,
    table: TableTraffic,
    index: str | None,
    *,
    direction: Direction,
    demand: ObservedDemand,
    key: KeyLoad,
) -> Finding | None:
    peak = key.peak_units * traffic.times
    unit, verb = ("WCU", "written") if direction == "W" else ("RCU", "read")
    resource = table.resource(index)
    share = f"key {key.name!r} of {resource} has {key.share_percent:.0f} % of the {verb} units"
    partitions = table.definition.partitions(index)
    level: Level
    if peak > key.limit_units:
        ways = shards(peak, key.limit_units, partitions)
        level = "high"
        title = f"Key {key.name!r} of {resource} needs {ways} shards"
        evidence = f"In its busiest second {share}: {arithmetic(peak, key.limit_units, unit)}"
    elif key.throttled or peak * 100 >= NEAR_PERCENT * key.limit_units:
        # What is throttled is not consumed: a throttled key needs more than its peak shows.
        ways = max(2, shards(2 * peak, key.limit_units, partitions))
        level = "high" if key.throttled else "medium"
        at = "is throttled at" if key.throttled else "is near"
        title = f"Key {key.name!r} of {resource} {at} the limit of a partition"
        exact = arithmetic(peak, key.limit_units, unit)
        evidence = f"In its busiest second {share}: {exact}; {ways} shards serve twice that"
    elif key.share_percent >= SHARE_PERCENT and demand.requests >= REQUESTS_MIN:
        whole = key.limit_units * 100 / key.share_percent
        ways = FIRST_SHARDS
        level = "low"
        title = f"Key {key.name!r} limits what {resource} can serve"
        evidence = f"The {share}, so {resource} serves at most {whole:,.0f} {unit}/s; shards serve more"
    else:
        return None
    if key.throttled:
        evidence += f"; {key.throttled:,} of its requests were throttled"
    lost = max(peak - key.limit_units, 0)
    words = f"{lost:,.0f} {unit}/s beyond one partition are throttled" if lost else "the load may grow"
    code = sharding(table, index, ways) if direction == "W" else _caching(table)
    return Finding("hot-key", level, table.definition.name, index, title, f"{evidence}.", Effect(words), code)


def sharding(table: TableTraffic, index: str | None, ways: int) -> str:
    """Returns the code that divides the keys of a table or an index among so many shards."""
    known = table.definition.index(index) if index is not None else None
    key = known.keys[0] if known is not None and known.keys else table.definition.hash_key
    named = f", IndexName={index!r}" if index is not None else ""
    return f"""\
SHARDS = {ways}

def sharded(key: str, item_id: str) -> str:
    return f"{{key}}.{{zlib.crc32(item_id.encode()) % SHARDS}}"

table.put_item(Item={{**item, {key!r}: sharded(item[{key!r}], item["id"])}})
found = []
for shard in range(SHARDS):
    condition = Key({key!r}).eq(f"{{key}}.{{shard}}")
    found += table.query(KeyConditionExpression=condition{named})["Items"]"""


def _caching(table: TableTraffic) -> str:
    return f"""\
# One item that is read often: keep it for some seconds. A collection: shard its key as for writes.
cache = cachetools.TTLCache(maxsize=10_000, ttl=5)

@cachetools.cached(cache)
def popular(key: str):
    return table.get_item(Key={{{table.definition.hash_key!r}: key}}).get("Item")"""
