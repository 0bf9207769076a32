"""Tables that only grow, and whose items never expire."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Effect, Finding, cents, of_month, prices_of
from faradisc.tools.advisor.traffic import TableTraffic, Traffic
from faradisc.tools.planner.results.prices import GB

ADDED_MIN = 100
STORED_BYTES = 100
"""The service stores so much more for each item."""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    definition = table.definition
    if definition.expiry is not False or table.added is None or table.added < ADDED_MIN or table.deletes:
        return
    gb = of_month(traffic, 2 * (table.added_bytes + STORED_BYTES * table.added)) / GB
    yield Finding(
        "time-to-live",
        "low",
        definition.name,
        None,
        f"Nothing removes items from {definition.name}",
        f"{table.added:,} items were added in {traffic.duration_s:,} s, none deleted; time to live is off.",
        Effect(
            f"storage that grows by {gb:,.2f} GB a month costs so much more every month",
            usd=cents(gb * float(prices_of(definition).storage_gb_month)),
        ),
        f'''\
client.update_time_to_live(
    TableName="{definition.name}",
    TimeToLiveSpecification={{"Enabled": True, "AttributeName": "expires"}},
)
table.put_item(Item={{**item, "expires": int(time.time()) + 90 * 86_400}})''',
    )
