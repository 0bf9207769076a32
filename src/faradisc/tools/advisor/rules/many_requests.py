"""Queries that are followed by a request for each item: a page that one Query could serve."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Finding, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

PAGES_MIN = 5
REQUESTS_MIN = 5
"""After each Query, on average."""
DEVIATION_MAX = 0.5
"""Of the mean. Independent requests between two Queries vary as much as their mean."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for followers in table.followers:
        sizes, definition = followers.sizes, table.definition
        if sizes.count < PAGES_MIN or sizes.mean < REQUESTS_MIN:
            continue
        if sizes.deviation > DEVIATION_MAX * sizes.mean:
            continue
        operation, resource = followers.operation, table.resource(followers.index)
        evidence = (
            f"{sizes.count:,} Queries of {followers.leader} were each followed at once by {sizes.mean:.0f} "
            f"{operation} requests for different keys of {resource}"
        )
        words = "of the requests that follow; one Query costs the bytes of its items, not a unit for each"
        yield Finding(
            "many-requests",
            "medium",
            definition.name,
            followers.index,
            f"A page needs {sizes.mean + 1:.0f} requests",
            f"{evidence}.",
            saved(traffic, definition, words, read_half=followers.half_units),
            f'''\
# Put what a page shows into one item collection (or project it into the index), and read it by one Query.
page = table.query(KeyConditionExpression=Key({definition.hash_key!r}).eq(page_id), Limit=25)["Items"]
# Until then, one request for 100 keys:
client.batch_get_item(RequestItems={{"{definition.name}": {{"Keys": keys}}}})''',
        )
