"""Several plans, or variants of one, side by side: the numbers in columns, the charts on one scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faradisc.charts.axes import Frame, ticks, time_axis, value_axis
from faradisc.charts.buckets import peaks
from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import section
from faradisc.charts.plots import PlotSeries, area, figure
from faradisc.charts.tables import ChartTable, Column, Row
from faradisc.charts.words import SPACE, count, duration, money, percent, units
from faradisc.tools.planner.report.detail import Detail, cut, cut_paragraph
from faradisc.tools.planner.report.heat import Run
from faradisc.tools.planner.report.tables import result
from faradisc.tools.planner.results.outcome import PlanOutcome


def comparison(runs: Sequence[Run], detail: Detail) -> Markup:
    """Returns the headlines, the table and the small charts. Each chart has the time of its own plan."""
    outcomes = [run.outcome for run in runs]
    throttled = [_throttled(outcome) for outcome in outcomes]
    worst = max((max(each, default=0) for each in throttled), default=0)
    return section(
        "Side by side",
        element("ul", [_headline(each, detail) for each in outcomes], class_="verdicts"),
        numbers(outcomes, detail).html(),
        [_charts(run, each, worst, detail) for run, each in zip(runs, throttled, strict=True)],
    )


def numbers(outcomes: Sequence[PlanOutcome], detail: Detail) -> ChartTable:
    """Returns a column for each outcome."""
    rows: list[tuple[str, Callable[[PlanOutcome], Child]]] = [
        ("verdict", lambda o: result(o.headline.holds)),
        ("time simulated", lambda o: duration(o.duration_s)),
        ("requests", lambda o: count(o.totals.offered)),
        ("answered by a cache", lambda o: count(o.totals.cached)),
        ("attempts at the database", lambda o: count(o.totals.attempts)),
        ("attempts throttled", lambda o: percent(o.totals.throttled_percent)),
        ("requests lost", lambda o: percent(o.totals.lost_percent)),
        ("wait, 99th percentile", lambda o: f"{units(o.totals.waits.p99_ms)}{SPACE}ms"),
        ("read units", lambda o: count(o.totals.read_units)),
        ("write units", lambda o: count(o.totals.write_units)),
        ("partitions at the end", lambda o: count(sum((r.partition_count or (0,))[-1] for r in o.resources))),
        ("busiest partition", _busiest),
        ("a month as planned", lambda o: money(o.costs.planned_usd)),
        ("a month on demand", _on_demand),
        ("cheapest month", _cheapest),
    ]
    if not any(outcome.totals.cached for outcome in outcomes):
        rows = [row for row in rows if row[0] != "answered by a cache"]
    columns = [Column("", words=True), *(Column(cut(short_name(each), detail)) for each in outcomes)]
    return ChartTable(
        "In numbers", columns, [Row((name, *(of(each) for each in outcomes))) for name, of in rows]
    )


def short_name(outcome: PlanOutcome) -> str:
    return outcome.variant or outcome.name


def _headline(outcome: PlanOutcome, detail: Detail) -> Markup:
    words = f"{outcome.headline.words} {outcome.headline.change}".strip()
    name = element("b", cut(short_name(outcome), detail))
    return element("li", name, " ", result(outcome.headline.holds), ": ", cut_paragraph(words, detail))


def _busiest(outcome: PlanOutcome) -> str:
    used = max((each.busiest.percent for each in outcome.resources if each.busiest), default=0)
    return f"{percent(used)} of its limit"


def _on_demand(outcome: PlanOutcome) -> str:
    return next((money(cost.total_usd) for cost in outcome.costs.modes if cost.mode == "on-demand"), "")


def _cheapest(outcome: PlanOutcome) -> str:
    best = next((mode for mode in outcome.costs.modes if mode.cheapest), None)
    return f"{money(best.total_usd)}, {best.mode}" if best else "none"


def _throttled(outcome: PlanOutcome) -> list[float]:
    """Returns throttled attempts per second of all resources, sample by sample."""
    total = [0.0] * outcome.samples
    for resource in outcome.resources:
        for series in (*resource.read.throttled.values(), *resource.write.throttled.values()):
            for at, events in enumerate(series):
                total[at] += events / outcome.step_s
    return total


def _charts(run: Run, throttled: Sequence[float], worst: float, detail: Detail) -> Markup | None:
    """Returns the use of the busiest partition, and throttled attempts on the scale of the worst plan."""
    outcome = run.outcome
    if not outcome.samples:
        return None
    heat = PlotSeries("busiest partition", peaks(run.highest(), detail.columns), "use")
    drawn = [_chart(outcome, heat, [0.0, 50.0, 100.0], "% of its limit", detail)]
    if worst:
        series = PlotSeries("throttled", peaks(throttled, detail.columns), "no")
        drawn.append(_chart(outcome, series, ticks(worst, 2), "per s", detail))
    return element("div", drawn, class_="together")


def _chart(outcome: PlanOutcome, series: PlotSeries, scale: list[float], unit: str, detail: Detail) -> Markup:
    frame = Frame(outcome.duration_s, scale[-1], height=46)
    per_cent = unit.startswith("%")
    axis = value_axis(frame, scale, suffix=f"{SPACE}%" if per_cent else "", unit="" if per_cent else unit)
    most = max((value or 0 for value in series.values), default=0)
    title = f"{cut(short_name(outcome), detail)}: {series.name}"
    drawing = join(axis, area(frame, series), time_axis(frame))
    return figure(title, drawing, frame, f"At most {units(most)} {unit}.", readings=(series,), unit=unit)
