"""The numbers behind every chart as CSV: one file name and one text per table.

Fields are quoted where they must be (RFC 4180); numbers are as in the JSON, absent ones empty.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from faradisc.tools.planner.results.outcome import CAUSES, Outcome

Row = Sequence[object]


def tables(outcome: Outcome) -> dict[str, str]:
    """All tables of an outcome by file name."""
    return {
        "minutes.csv": _text(_MINUTES, _minutes(outcome)),
        "partitions.csv": _text(_PARTITIONS, _partitions(outcome)),
        "events.csv": _text(_EVENTS, _events(outcome)),
        "scaling.csv": _text(_SCALING, _scaling(outcome)),
        "headroom.csv": _text(_HEADROOM, _headroom(outcome)),
        "keys.csv": _text(_KEYS, _keys(outcome)),
        "traffic.csv": _text(_TRAFFIC, _traffic(outcome)),
        "collections.csv": _text(_COLLECTIONS, _collections(outcome)),
        "costs.csv": _text(_COSTS, _costs(outcome)),
        "budgets.csv": _text(_BUDGETS, _budgets(outcome)),
    }


def _text(heads: Row, rows: Iterable[Row]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


_MINUTES = (
    "at_s", "resource", "direction", "offered", "consumed", "consumed_peak", "provisioned", "bank",
    "bank_max", *CAUSES,
)  # fmt: skip


def _minutes(outcome: Outcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for direction, lane in (("R", resource.read), ("W", resource.write)):
            for sample in range(outcome.samples):
                yield (
                    sample * outcome.step_s,
                    resource.name,
                    direction,
                    lane.offered[sample],
                    lane.consumed[sample],
                    lane.consumed_peak[sample],
                    lane.provisioned[sample],
                    lane.bank[sample],
                    lane.bank_max[sample],
                    *(lane.throttled[cause][sample] for cause in CAUSES),
                )


_PARTITIONS = (
    "at_s", "resource", "partition", "parent", "low", "high", "read", "write", "read_limit", "write_limit",
    "throttled", "gib",
)  # fmt: skip


def _partitions(outcome: Outcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for part in resource.partitions:
            for offset in range(len(part.read)):
                yield (
                    (part.first + offset) * outcome.step_s,
                    resource.name,
                    part.id,
                    part.parent,
                    part.low,
                    part.high,
                    part.read[offset],
                    part.write[offset],
                    part.read_limit[offset],
                    part.write_limit[offset],
                    part.throttled[offset],
                    part.gib[offset],
                )


_EVENTS = ("at_s", "resource", "kind", "partition", "reason", "key", "partitions", "words")


def _events(outcome: Outcome) -> Iterable[Row]:
    for event in outcome.events:
        yield tuple(getattr(event, name) for name in _EVENTS)


_SCALING = ("at_s", "resource", "direction", "kind", "present", "wanted", "words")


def _scaling(outcome: Outcome) -> Iterable[Row]:
    for line in outcome.scaling:
        for event in line.events:
            yield (
                event.at_s,
                line.resource,
                line.direction,
                event.kind,
                event.present,
                event.wanted,
                event.words,
            )


_HEADROOM = (
    "resource", "direction", "capacity_first", "capacity_last", "demand_minute", "demand_second",
    "least_percent", "least_at_s", "minutes_over", "first_over_s", "warm_units", "words",
)  # fmt: skip


def _headroom(outcome: Outcome) -> Iterable[Row]:
    for room in outcome.headroom:
        yield tuple(getattr(room, name) for name in _HEADROOM)


_COLLECTIONS = ("resource", "key", "gib_first", "gib_last", "percent", "full_in_days", "verdict", "words")


def _collections(outcome: Outcome) -> Iterable[Row]:
    for each in outcome.collections:
        yield tuple(getattr(each, name) for name in _COLLECTIONS)


_KEYS = (
    "resource", "key", "direction", "share_percent", "mean_units", "peak_units", "limit_units", "offered",
    "throttled", "verdict", "ways", "words",
)  # fmt: skip


def _keys(outcome: Outcome) -> Iterable[Row]:
    for key in outcome.hot_keys:
        yield tuple(getattr(key, name) for name in _KEYS)


_COUNTS = (
    "name", "offered", "cached", "attempts", "admitted", "throttled", "lost", "read_units", "write_units",
)  # fmt: skip
_WAITS = ("mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")
_TRAFFIC = (*_COUNTS, *_WAITS)


def _traffic(outcome: Outcome) -> Iterable[Row]:
    for total in (*outcome.flows, outcome.totals):
        yield (
            *(getattr(total, name) for name in _COUNTS),
            *(getattr(total.waits, name) for name in _WAITS),
        )


_MONEY = (
    "mode", "read_usd", "write_usd", "storage_usd", "other_usd", "total_usd", "index_usd",
    "throttled_percent", "cheapest",
)  # fmt: skip
_COSTS = ("resource", *_MONEY)


def _costs(outcome: Outcome) -> Iterable[Row]:
    for mode in outcome.costs.modes:
        yield ("all", *(getattr(mode, name) for name in _MONEY))
    for resource in outcome.costs.resources:
        for mode in resource.modes:
            yield (resource.resource, *(getattr(mode, name) for name in _MONEY))


_BUDGETS = ("name", "limit", "value", "holds")


def _budgets(outcome: Outcome) -> Iterable[Row]:
    for budget in outcome.budgets:
        yield tuple(getattr(budget, name) for name in _BUDGETS)
