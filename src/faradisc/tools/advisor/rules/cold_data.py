"""Large items of which writes change a small part: the rest is paid with every write."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.limits import WRITE_UNIT_BYTES
from faradisc.tools.advisor.findings import Finding, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

UPDATES_MIN = 10
CHANGED_PERCENT = 25
KEY_BYTES = 100
"""Of the separate item, beside what changes."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    updates, name = table.updates, table.definition.name
    if updates.count < UPDATES_MIN or updates.changed_bytes * 100 > CHANGED_PERCENT * updates.item_bytes:
        return
    size, changed = updates.item_bytes / updates.count, updates.changed_bytes / updates.count
    needed = 2 * updates.count * -(-(changed + KEY_BYTES) // WRITE_UNIT_BYTES)
    evidence = (
        f"{updates.count:,} writes to items of {size / 1024:,.1f} KB on average changed "
        f"{changed / 1024:,.2f} KB of them"
    )
    words = "with the changing attributes in an item of their own"
    key, sort = (*table.definition.keys, "sk")[:2] if table.definition.keys else ("pk", "sk")
    yield Finding(
        "cold-data",
        "medium",
        name,
        None,
        f"Writes to {name} pay for data that they do not change",
        f"{evidence}.",
        saved(traffic, table.definition, words, write_half=max(updates.half_units - needed, 0)),
        f"""\
# The large attributes stay in one item, the changing ones are another of the same collection.
table.put_item(Item={{{key!r}: item_id, {sort!r}: "CONTENT", "body": body}})
table.update_item(
    Key={{{key!r}: item_id, {sort!r}: "STATE"}},
    UpdateExpression="SET seen = :seen",
    ExpressionAttributeValues={{":seen": now}},
)""",
    )
