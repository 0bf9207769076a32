"""The numbers of outcomes as CSV: file names and texts.

Numbers are as in the JSON, absent ones empty; fields are quoted where RFC 4180 needs it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import fields
from io import StringIO
from typing import Any

from faradisc.tools.planner.results.outcome import (
    BudgetResult,
    EventRow,
    Headroom,
    HotKeyResult,
    ItemCollection,
    ModeCost,
    PlanOutcome,
    ScalingEvent,
    Totals,
    Waits,
    WhatIf,
)
from faradisc.tools.planner.results.series import CAUSES

Row = Sequence[object]

_UNITS = ("offered", "consumed", "consumed_peak", "provisioned", "burst", "burst_max")
_PARTITION = ("id", "parent", "low", "high")
_USE = ("read", "write", "read_limit", "write_limit", "throttled", "gib")
_PLANS = (
    "plan", "variant", "holds", "throttled_percent", "lost_percent", "monthly_usd", "headline", "change",
)  # fmt: skip


def tables(outcome: PlanOutcome) -> dict[str, str]:
    """Returns all tables of an outcome by file name."""
    totals, waits, money = (
        _names(Totals, "waits"),
        _names(Waits, "attempts"),
        _names(ModeCost, "title", "words"),
    )
    flows = (*outcome.flows, outcome.totals)
    costs = [("all", outcome.costs.modes), *((each.resource, each.modes) for each in outcome.costs.resources)]
    steps = [(line.resource, line.direction, event) for line in outcome.scaling for event in line.events]
    return {
        "minutes.csv": _text(("at_s", "resource", "direction", *_UNITS, *CAUSES), _minutes(outcome)),
        "partitions.csv": _text(
            ("at_s", "resource", "partition", *_PARTITION[1:], *_USE), _partitions(outcome)
        ),
        "events.csv": _plain(EventRow, outcome.events),
        "scaling.csv": _text(
            ("resource", "direction", *_names(ScalingEvent)),
            ((*target, *_row(event, _names(ScalingEvent))) for *target, event in steps),
        ),
        "headroom.csv": _plain(Headroom, outcome.headroom),
        "keys.csv": _plain(HotKeyResult, outcome.hot_keys),
        "traffic.csv": _text(
            (*totals, *waits), ((*_row(each, totals), *_row(each.waits, waits)) for each in flows)
        ),
        "collections.csv": _plain(ItemCollection, outcome.collections),
        "costs.csv": _text(
            ("resource", *money), ((name, *_row(mode, money)) for name, modes in costs for mode in modes)
        ),
        "budgets.csv": _plain(BudgetResult, outcome.budgets),
        "what_if.csv": _plain(WhatIf, outcome.what_if),
    }


def plans_table(outcomes: Iterable[PlanOutcome]) -> str:
    """Returns a row for each plan or variant."""
    rows = (
        (
            *(each.name, each.variant, each.headline.holds),
            *(each.totals.throttled_percent, each.totals.lost_percent, each.costs.planned_usd),
            *(each.headline.words, each.headline.change),
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


def _plain(kind: type, values: Iterable[object]) -> str:
    """Returns a table whose columns are the fields of a dataclass."""
    return _text(_names(kind), (_row(value, _names(kind)) for value in values))


def _names(kind: type, *but: str) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in but]


def _row(value: object, names: Iterable[str]) -> list[Any]:
    return [getattr(value, name) for name in names]


def _minutes(outcome: PlanOutcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for direction, series in (("R", resource.read), ("W", resource.write)):
            columns = [*_row(series, _UNITS), *(series.throttled[cause] for cause in CAUSES)]
            for sample, row in enumerate(zip(*columns, strict=True)):
                yield (sample * outcome.step_s, resource.name, direction, *row)


def _partitions(outcome: PlanOutcome) -> Iterable[Row]:
    for resource in outcome.resources:
        for part in resource.partitions:
            for sample, row in enumerate(zip(*_row(part, _USE), strict=True), part.first):
                yield (sample * outcome.step_s, resource.name, *_row(part, _PARTITION), *row)
