"""The numbers of outcomes as CSV: file names and texts.

Numbers are as in the JSON, absent ones empty; fields are quoted where RFC 4180 needs it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from faradisc.tools.planner.results.outcome import CAUSES, Outcome

Row = Sequence[object]

_MINUTES = (
    "at_s", "resource", "direction", "offered", "consumed", "consumed_peak", "provisioned", "burst",
    "burst_max", *CAUSES,
)  # fmt: skip
_PARTITIONS = (
    "at_s", "resource", "partition", "parent", "low", "high", "read", "write", "read_limit", "write_limit",
    "throttled", "gib",
)  # fmt: skip
_EVENTS = ("at_s", "resource", "kind", "partition", "reason", "key", "partitions", "words")
_SCALING = ("at_s", "kind", "present", "wanted", "words")
_HEADROOM = (
    "resource", "direction", "capacity_first", "capacity_last", "demand_minute", "demand_second",
    "least_percent", "least_at_s", "minutes_over", "first_over_s", "warm_units", "words",
)  # fmt: skip
_COLLECTIONS = ("resource", "key", "gib_first", "gib_last", "percent", "full_in_days", "verdict", "words")
_KEYS = (
    "resource", "key", "direction", "share_percent", "mean_units", "peak_units", "limit_units", "offered",
    "throttled", "verdict", "ways", "words",
)  # fmt: skip
_COUNTS = (
    "name", "offered", "cached", "attempts", "admitted", "throttled", "lost", "read_units", "write_units",
)  # fmt: skip
_WAITS = ("mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")
_MONEY = (
    "mode", "read_usd", "write_usd", "storage_usd", "other_usd", "total_usd", "index_usd",
    "throttled_percent", "cheapest",
)  # fmt: skip
_BUDGETS = ("name", "limit", "value", "holds")
_WHAT_IF = ("change", "holds", "throttled_percent", "lost_percent", "monthly_usd")
_PLANS = (
    "plan", "variant", "holds", "throttled_percent", "lost_percent", "monthly_usd", "headline", "change",
)  # fmt: skip


def tables(outcome: Outcome) -> dict[str, str]:
    """Returns all tables of an outcome by file name."""
    flows = (*outcome.flows, outcome.totals)
    costs = [("all", outcome.costs.modes), *((each.resource, each.modes) for each in outcome.costs.resources)]
    steps = [(line, event) for line in outcome.scaling for event in line.events]
    return {
        "minutes.csv": _text(_MINUTES, _minutes(outcome)),
        "partitions.csv": _text(_PARTITIONS, _partitions(outcome)),
        "events.csv": _text(_EVENTS, _rows(outcome.events, _EVENTS)),
        "scaling.csv": _text(
            ("at_s", "resource", "direction", *_SCALING[1:]),
            (
                (event.at_s, line.resource, line.direction, *_row(event, _SCALING[1:]))
                for line, event in steps
            ),
        ),
        "headroom.csv": _text(_HEADROOM, _rows(outcome.headroom, _HEADROOM)),
        "keys.csv": _text(_KEYS, _rows(outcome.hot_keys, _KEYS)),
        "traffic.csv": _text(
            (*_COUNTS, *_WAITS), ((*_row(each, _COUNTS), *_row(each.waits, _WAITS)) for each in flows)
        ),
        "collections.csv": _text(_COLLECTIONS, _rows(outcome.collections, _COLLECTIONS)),
        "costs.csv": _text(
            ("resource", *_MONEY), ((name, *_row(mode, _MONEY)) for name, modes in costs for mode in modes)
        ),
        "budgets.csv": _text(_BUDGETS, _rows(outcome.budgets, _BUDGETS)),
        "what_if.csv": _text(_WHAT_IF, _rows(outcome.what_if, _WHAT_IF)),
    }


def plans_table(outcomes: Iterable[Outcome]) -> str:
    """Returns a row for each plan or variant."""
    rows = (
        (
            each.name,
            each.variant,
            each.headline.holds,
            each.totals.throttled_percent,
            each.totals.lost_percent,
            each.costs.planned_usd,
            each.headline.words,
            each.headline.change,
        )
        for each in outcomes
    )
    return _text(_PLANS, rows)


def _text(heads: Row, rows: Iterable[Row]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def _row(value: object, names: Iterable[str]) -> Row:
    return [getattr(value, name) for name in names]


def _rows(values: Iterable[object], names: Sequence[str]) -> Iterable[Row]:
    return (_row(value, names) for value in values)


def _minutes(outcome: Outcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for direction, series in (("R", resource.read), ("W", resource.write)):
            columns = [getattr(series, name) for name in _MINUTES[3 : -len(CAUSES)]]
            columns += [series.throttled[cause] for cause in CAUSES]
            for sample, row in enumerate(zip(*columns, strict=True)):
                yield (sample * outcome.step_s, resource.name, direction, *row)


def _partitions(outcome: Outcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for part in resource.partitions:
            columns = [getattr(part, name) for name in _PARTITIONS[6:]]
            for sample, row in enumerate(zip(*columns, strict=True), part.first):
                yield (
                    sample * outcome.step_s,
                    resource.name,
                    part.id,
                    part.parent,
                    part.low,
                    part.high,
                    *row,
                )
