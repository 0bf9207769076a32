"""Units that requests need not have used: conditions that fail, filters that drop nearly everything, strong
consistency everywhere, transactions of one item.
"""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Finding, count, saved
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

REQUESTS_MIN = 20
FAILED_PERCENT = 20
"""Of the writes."""
CONSISTENT_PERCENT = 90
"""Of the reads: single ones that need it are no pattern."""
LEFT_PERCENT = 10
"""Of the items that a filter is given."""
GIVEN_MIN = 200
SINGLE_PERCENT = 10
"""Of the writes."""


def failed_conditions(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    failed, name = table.failed, table.definition.name
    if failed.count < REQUESTS_MIN or failed.count * 100 < FAILED_PERCENT * failed.of:
        return
    percent = 100 * failed.count / failed.of
    yield Finding(
        "failed-conditions",
        "medium",
        name,
        None,
        f"{percent:.0f} % of the writes of {name} fail their condition",
        f"{count(failed.count, 'write')} of {failed.of:,} were rejected by their condition, and charged.",
        saved(traffic, table.definition, "of writes that fail", write_half=failed.half_units),
        f"""\
# Look first where a failure is likely: an eventually consistent read costs half a unit.
if "Item" not in table.get_item(Key=key):
    table.put_item(Item=item, ConditionExpression="attribute_not_exists({table.definition.hash_key})")""",
    )


def filters(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for index, found in table.filtered.items():
        if found.given < GIVEN_MIN or found.left * 100 > LEFT_PERCENT * found.given:
            continue
        resource, definition = table.resource(index), table.definition
        wasted = found.half_units * (found.given - found.left) // found.given
        yield Finding(
            "filter",
            "medium",
            definition.name,
            index,
            f"Filters drop nearly all that is read of {resource}",
            f"Filters left {found.left:,} of {count(found.given, 'item')} on {count(found.pages, 'page')}.",
            saved(traffic, definition, "of items that filters drop", read_half=wasted),
            f"""\
# A filter is applied after the read is charged. Make what it compares part of a key:
table.put_item(Item={{**item, "state_day": f"{{item['state']}}#{{item['day']}}"}})
table.query(
    IndexName="by-state",
    KeyConditionExpression=Key({definition.hash_key!r}).eq(value) & Key("state_day").begins_with("OPEN#"),
)""",
        )


def consistent_reads(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    strong, name = table.consistent, table.definition.name
    if strong.count < REQUESTS_MIN or strong.count * 100 < CONSISTENT_PERCENT * strong.of:
        return
    yield Finding(
        "consistent-reads",
        "medium",
        name,
        None,
        f"Nearly all reads of {name} are strongly consistent",
        f"{strong.count:,} of {count(strong.of, 'read')} asked for ConsistentRead, at twice the units.",
        saved(
            traffic, table.definition, "of reads that may be a second late", read_half=strong.half_units // 2
        ),
        "# Only where a reader must see its own last write:\ntable.get_item(Key=key, ConsistentRead=False)",
    )


def single_transactions(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    single, name = table.single_transactions, table.definition.name
    if single.count < REQUESTS_MIN or single.count * 100 < SINGLE_PERCENT * single.of:
        return
    yield Finding(
        "single-transaction",
        "medium",
        name,
        None,
        f"Transactions of {name} write one item",
        f"{count(single.count, 'transaction')} wrote a single item, at twice the units of the write alone.",
        saved(traffic, table.definition, "of single writes in transactions", write_half=single.half_units),
        """\
# One write is atomic by itself; its condition and its token of repetition are a condition of the write.
values = {":read": version}
table.put_item(Item=item, ConditionExpression="version = :read", ExpressionAttributeValues=values)""",
    )
