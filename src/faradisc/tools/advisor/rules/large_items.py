"""Items near the largest size that the service stores."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.tools.advisor.findings import Effect, Finding, count
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

HIGH_BYTES = ITEM_SIZE_BYTES_MAX * 95 // 100


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    if not table.large_items:
        return
    name = table.definition.name
    key, size = max(table.large_items.items(), key=lambda pair: (pair[1], pair[0]))
    evidence = (
        f"{count(len(table.large_items), 'key')} of {name} had items of 320 KB or more; the largest, under "
        f"{key!r}, has {size / 1024:,.0f} KB of the 400 KB that an item may have"
    )
    words = f"each write of it costs {-(-size // 1024):,} units, each read {-(-size // 8192):,} or more"
    yield Finding(
        "large-item",
        "high" if size >= HIGH_BYTES else "medium",
        name,
        None,
        f"Items of {name} are near 400 KB",
        f"{evidence}.",
        Effect(words),
        f"""\
# Large values belong into objects, or into parts of their own under the same partition key.
s3.put_object(Bucket=bucket, Key=item_id, Body=blob)
table.put_item(Item={{{table.definition.hash_key!r}: item_id, "blob": f"s3://{{bucket}}/{{item_id}}"}})""",
    )
