"""Several plans beside each other: the numbers in columns, the charts on one scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faradisc.charts.axes import Frame, percent_axis, ticks, time_axis, value_axis
from faradisc.charts.buckets import peaks
from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import section
from faradisc.charts.plots import Figure, Series, area, figure
from faradisc.charts.tables import Column, table
from faradisc.charts.words import count, duration, money, percent, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.report.heat import Run
from faradisc.tools.planner.report.overview import headline
from faradisc.tools.planner.results.outcome import Outcome


def comparison(runs: Sequence[Run], detail: Detail) -> Markup:
    """The table and the small charts. Plans may differ in length; each chart has its own time."""
    outcomes = [run.outcome for run in runs]
    rows: list[tuple[str, Callable[[Outcome], Child]]] = [
        ("verdict", lambda o: headline(o, detail)[1] or "no budget"),
        ("time simulated", lambda o: duration(o.duration_s)),
        ("requests", lambda o: count(o.totals.offered)),
        ("answered by a cache", lambda o: count(o.totals.cached)),
        ("attempts at the database", lambda o: count(o.totals.attempts)),
        ("attempts refused", lambda o: percent(o.totals.throttled_percent)),
        ("requests lost", lambda o: percent(o.totals.lost_percent)),
        ("wait, 99th percentile", lambda o: f"{units(o.totals.waits.p99_ms)}\u00a0ms"),
        ("read units", lambda o: count(o.totals.read_units)),
        ("write units", lambda o: count(o.totals.write_units)),
        (
            "partitions at the end",
            lambda o: count(sum(r.partition_count[-1] for r in o.resources if r.partition_count)),
        ),
        ("a month as planned", lambda o: _cost(o, "as-planned")),
        ("a month on demand", lambda o: _cost(o, "on-demand")),
        ("cheapest month", _cheapest),
    ]
    if not any(outcome.totals.cached for outcome in outcomes):
        rows = [row for row in rows if row[0] != "answered by a cache"]
    columns = [Column("", words=True), *(Column(cut(outcome.name, detail)) for outcome in outcomes)]
    refused = [_refused(outcome) for outcome in outcomes]
    worst = max((max(each, default=0) for each in refused), default=0)
    told: list[list[Child]] = [[name, *(tell(outcome) for outcome in outcomes)] for name, tell in rows]
    told.insert(-3, ["busiest partition", *(f"{percent(run.top)} of its limit" for run in runs)])
    return section(
        "The plans beside each other",
        table("In numbers", columns, told),
        [_charts(run, each, worst, detail) for run, each in zip(runs, refused, strict=True)],
    )


def _cost(outcome: Outcome, mode: str) -> str:
    return next((money(cost.total_usd) for cost in outcome.costs.modes if cost.mode == mode), "")


def _cheapest(outcome: Outcome) -> str:
    return next((f"{money(m.total_usd)}, {m.title.lower()}" for m in outcome.costs.modes if m.cheapest), "")


def _refused(outcome: Outcome) -> list[float]:
    """Throttle events per second of all resources, sample by sample."""
    total = [0.0] * outcome.samples
    for resource in outcome.resources:
        for lane in (resource.read, resource.write):
            for series in lane.throttled.values():
                for at, events in enumerate(series):
                    total[at] += events / outcome.step_s
    return total


def _charts(run: Run, all_refused: Sequence[float], worst: float, detail: Detail) -> Markup | None:
    """How hot the hottest partition was, and what was refused, the latter on the scale of the worst plan."""
    outcome = run.outcome
    if not outcome.samples:
        return None
    heat = peaks(run.highest(), detail.columns)
    refused = peaks(all_refused, detail.columns)
    heated = Frame(outcome.duration_s, 100, height=46)
    drawn = [
        figure(
            Figure(
                f"{cut(outcome.name, detail)}: busiest partition",
                join(percent_axis(heated), area(heated, Series("busiest", heat, "use")), time_axis(heated)),
                heated,
                f"At most {percent(max(heat, default=0))} of its limit.",
                readings=(Series("busiest partition", heat, "use"),),
                unit="% of its limit",
            )
        )
    ]
    if worst:
        scale = ticks(worst, 2)
        frame = Frame(outcome.duration_s, scale[-1], height=46)
        drawn.append(
            figure(
                Figure(
                    f"{cut(outcome.name, detail)}: refused",
                    join(
                        value_axis(frame, scale, unit="per s"),
                        area(frame, Series("refused", refused, "no")),
                        time_axis(frame),
                    ),
                    frame,
                    f"At most {units(max(refused, default=0))} refusals per second.",
                    readings=(Series("refused", refused, "no"),),
                    unit="per s",
                )
            )
        )
    return element("div", drawn, class_="together")
