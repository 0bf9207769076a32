"""The rules, a file each, and their table: name, function, and the sentence of the best practices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from faradisc.records import dataclass
from faradisc.tools.advisor.findings import LEVELS, Finding
from faradisc.tools.advisor.rules import (
    capacity_mode,
    cold_data,
    hot_keys,
    index_throughput,
    large_items,
    many_requests,
    partition_keys,
    projections,
    recovery,
    scans,
    time_to_live,
    uneven_suffixes,
    unread_indexes,
    unsafe_repeats,
    wasted_units,
)
from faradisc.tools.advisor.traffic import TableTraffic, Traffic


@dataclass(frozen=True, slots=True)
class AdvisorRule:
    name: str
    find: Callable[[Traffic, TableTraffic], Iterator[Finding]]
    practice: str


RULES = (
    AdvisorRule(
        "unsafe-repeat",
        unsafe_repeats.find,
        "Repeat a write with a token or a condition that makes it safe.",
    ),
    AdvisorRule("scan", scans.find, "Do not rely on Scan for what users wait for; use Get and Query."),
    AdvisorRule("hot-key", hot_keys.find, "Do not send most of the traffic to one partition key; shard it."),
    AdvisorRule(
        "partition-key",
        partition_keys.find,
        "Partition by what has many values of equal weight, not by a status, a date or a type.",
    ),
    AdvisorRule("index-throughput", index_throughput.find, "An index must take the writes of its table."),
    AdvisorRule("large-item", large_items.find, "Keep items far below 400 KB; move large values out."),
    AdvisorRule("cold-data", cold_data.find, "Keep hot items small; separate what rarely changes."),
    AdvisorRule(
        "many-requests", many_requests.find, "Serve a page by one Query, not by a request for each item."
    ),
    AdvisorRule(
        "unread-index", unread_indexes.find, "Add an index only for an access pattern that needs it."
    ),
    AdvisorRule("projection", projections.find, "Do not copy all attributes into every index."),
    AdvisorRule(
        "uneven-suffixes", uneven_suffixes.find, "Choose suffixes that spread: a random number or a hash."
    ),
    AdvisorRule("filter", wasted_units.filters, "Read what you need by a key; a filter is paid in full."),
    AdvisorRule(
        "failed-conditions", wasted_units.failed_conditions, "A write whose condition fails is paid as well."
    ),
    AdvisorRule(
        "single-transaction", wasted_units.single_transactions, "Use transactions for several items."
    ),
    AdvisorRule(
        "consistent-reads", wasted_units.consistent_reads, "Read eventually consistently where that will do."
    ),
    AdvisorRule("recovery", recovery.find, "Do not go without point-in-time recovery."),
    AdvisorRule("time-to-live", time_to_live.find, "Let items that lose their value expire."),
    AdvisorRule(
        "capacity-mode", capacity_mode.find, "On demand for unknown traffic; provisioned for steady traffic."
    ),
)
"""In the order of this table findings of one level are shown."""


def advise(traffic: Traffic) -> list[Finding]:
    """Returns all findings, the most important ones first."""
    found = [
        (position, finding)
        for position, rule in enumerate(RULES)
        for _, table in sorted(traffic.tables.items())
        for finding in rule.find(traffic, table)
    ]
    found.sort(key=lambda pair: (-LEVELS.index(pair[1].level), pair[0], pair[1].table, pair[1].index or ""))
    return [finding for _, finding in found]
