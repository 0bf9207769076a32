"""Outcomes as text for a terminal, by rich: the headline first, then the tables of the report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from faradisc.charts.markup import Child, Markup, join
from faradisc.charts.tables import ChartTable, Column
from faradisc.charts.words import SPACE, elapsed
from faradisc.tools.planner.report import tables
from faradisc.tools.planner.report.compare import numbers
from faradisc.tools.planner.report.detail import Detail
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome
from faradisc.tools.planner.results.series import DirectionSeries, Number, Series

_BARS = " ▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 60
_DETAIL = Detail(_SPARK_WIDTH, 0, 12, 300)


def show(outcomes: Sequence[PlanOutcome], console: Console) -> None:
    """Prints outcomes one after the other; several begin with a comparison."""
    if len(outcomes) > 1:
        for outcome in outcomes:
            _line(console, f"{outcome.title}: {outcome.headline.text}")
        _line(console)
        _table(console, numbers(outcomes, _DETAIL))
    for outcome in outcomes:
        _show(outcome, console)


def _line(console: Console, text: str = "", style: str = "") -> None:
    """Prints one line, however long, so that programs find whole sentences."""
    console.print(Text(text, style), soft_wrap=True)


def _table(console: Console, table: ChartTable | None, of: str = "") -> None:
    """Prints a table of the whole plan, or `of` one resource."""
    if table is None:
        return
    notes = any(row.note for row in table.rows)
    columns = [*table.columns, *([Column("", words=True)] if notes else [])]
    title = f"{table.caption}: {of}" if of else table.caption
    shown = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    shown.show_edge = shown.pad_edge = False
    kept = [position for position, column in enumerate(columns) if not column.detail]
    for position in kept:
        column = columns[position]
        head = f"{column.title} {column.unit}".strip()
        shown.add_column(head, justify="left" if column.words else "right", overflow="fold")
    for row in table.rows:
        cells = [*row.cells, *([row.note] if notes else [])]
        shown.add_row(*(Text(_plain(cells[position])) for position in kept))
    console.print(shown)
    if table.left_out:
        _line(console, f"... and {table.left_out:,} more")
    _line(console)


def _plain(cell: Child) -> str:
    return Markup(join(cell)).striptags().replace(SPACE, " ")


def _show(outcome: PlanOutcome, console: Console) -> None:
    _line(console, outcome.title, "bold")
    if outcome.description:
        _line(console, outcome.description)
    length = elapsed(outcome.duration_s).replace(SPACE, " ")
    engine = f"profile {outcome.profile}, engine {outcome.engine}, seed {outcome.seed}"
    _line(console, f"{length} from {outcome.start}, {engine}\n")
    _line(console, outcome.headline.text, "bold green" if outcome.headline.holds else "bold red")
    for sentence in outcome.verdict:
        _line(console, f"- {sentence}")
    _line(console)
    for table in (tables.budgets, tables.what_if):
        _table(console, table(outcome, _DETAIL))
    for resource in outcome.resources:
        _show_resource(outcome, resource, console)
    for table in (tables.flows, tables.costs, tables.costs_by_resource):
        _table(console, table(outcome, _DETAIL))
    if outcome.skipped is not None and outcome.skipped.lines:
        skipped = outcome.skipped
        _line(console, f"Skipped {skipped.lines:,} lines of the trace ({skipped.read:,} were read):")
        for mistake in skipped.first:
            _line(console, f"  {mistake}")
        _line(console)
    _line(console, "Assumptions", "bold")
    for sentence in outcome.assumptions:
        _line(console, f"- {sentence}")
    _line(console)


def _spark(series: Series, top: float) -> str:
    """Returns a series as a line of bars; each shows the largest value of its part."""
    width = min(_SPARK_WIDTH, len(series))
    bounds = [len(series) * position // width for position in range(width + 1)] if width else []
    parts = [max(series[low:high]) for low, high in pairwise(bounds)]
    return "".join(_BARS[min(round(8 * part / top), 8) if top else 0] for part in parts)


def _show_resource(outcome: PlanOutcome, resource: ResourceOutcome, console: Console) -> None:
    mode = "on demand" if resource.mode == "PAY_PER_REQUEST" else "provisioned"
    counts = resource.partition_count or (0,)
    count = f"{counts[-1]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    _line(console, f"{resource.name}: {mode}, partitions: {count}", "bold")
    for direction, unit, series in (("reads", "RCU", resource.read), ("writes", "WCU", resource.write)):
        if any(series.offered):
            _show_series(direction, unit, series, console)
    for target in outcome.scaling:
        if target.resource == resource.name and target.provisioned:
            limits = f"{target.minimum:,} to {target.maximum:,} at {target.target_percent} %"
            bars = _spark(target.provisioned, max(target.provisioned))
            unit = "RCU" if target.direction == "R" else "WCU"
            _line(console, f"  auto scaling     {bars} {limits} {unit}")
    _line(console)
    for table in (tables.hot_keys, tables.collections, tables.split_log):
        _table(console, table(outcome, resource, _DETAIL), resource.name)
    if any(room.resource == resource.name and room.warm_units for room in outcome.headroom):
        _table(console, tables.headroom(outcome, resource, _DETAIL), resource.name)
    for target in outcome.scaling:
        if target.resource == resource.name:
            _table(console, tables.scaling_steps(target, _DETAIL))


def _show_series(direction: str, unit: str, series: DirectionSeries, console: Console) -> None:
    offered, consumed = max(series.offered), max(series.consumed)
    top = max(offered, consumed)
    limit = "capacity" if any(each is not None for each in series.burst) else "double the previous peak"
    lines: list[tuple[str, Series, Number, str]] = [
        ("requested", series.offered, top, f"up to {offered:,} {unit}/s"),
        ("served", series.consumed, top, f"up to {consumed:,} {unit}/s, {limit} {series.provisioned[-1]:,}"),
    ]
    lines += [
        ("throttled", counts, max(counts), f"{sum(counts):,} x {cause}")
        for cause, counts in series.throttled.items()
        if any(counts)
    ]
    burst = tuple(value for value in series.burst if value is not None)
    full = max((value for value in series.burst_max if value is not None), default=0)
    if burst and min(burst) < full:
        saved = tuple(max(value, 0) for value in burst)
        lines.append(("burst", saved, full, f"down to {min(burst):,} of {full:,}"))
    for name, values, most, words in lines:
        _line(console, f"  {direction:6} {name:9} {_spark(values, most)} {words}")
