"""Auto scaling over time: provisioned and desired capacity, alarms, and each step as a row."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.charts.axes import Frame, ticks
from faradisc.charts.buckets import peaks
from faradisc.charts.markup import Markup, element, join
from faradisc.charts.plots import Mark, PlotSeries, area, chart, line, marks
from faradisc.charts.words import plural, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.report.tables import FEW_STEPS, scaling_steps
from faradisc.tools.planner.results.outcome import PlanOutcome, ScalingTimeline
from faradisc.tools.planner.results.series import DirectionSeries

_STRIP = 8
"""Height of an alarm's strip in pixels; two of them stand below the chart."""


def timeline(
    outcome: PlanOutcome, target: ScalingTimeline, series: DirectionSeries, detail: Detail
) -> Markup:
    """Returns the figure and the table of one scalable target."""
    what = "Reads" if target.direction == "R" else "Writes"
    provisioned = peaks(target.provisioned, detail.columns)
    lines = (
        PlotSeries("served", peaks(series.consumed, detail.columns), "use"),
        PlotSeries("target", [value * target.target_percent / 100 for value in provisioned], "rule"),
        PlotSeries("desired", peaks(target.desired, detail.columns), "want"),
        PlotSeries("provisioned", provisioned, "limit"),
    )
    scale = ticks(max(value or 0 for each in lines for value in (*each.values, 1)))
    frame = Frame(outcome.duration_s, scale[-1], height=110, bottom=22 + 3 * _STRIP)
    names = {"target": f"target {units(target.target_percent)} %"}
    labels = [
        (each.values[-1] or 0, names.get(each.name, each.name), each.style) for each in lines if each.values
    ]
    changes = _changes(target)
    high, low = _raised(outcome, target)
    layers = (
        area(frame, lines[0]),
        [line(frame, each) for each in lines[1:]],
        marks(frame, [Mark(m.at_s, cut(m.text, detail), m.style) for m in changes[: detail.rows]]),
        _strip(frame, "high alarm", peaks(high, detail.columns), position=0, style="no"),
        _strip(frame, "low alarm", peaks(low, detail.columns), position=1, style="use"),
    )
    note = (
        f"Between {units(target.minimum)} and {units(target.maximum)} units/s. "
        f"{plural(len(changes), 'change')} (triangles); "
        f"{plural(target.decreases_used, 'decrease')} used of the last day's budget."
    )
    title = f"{what}: auto scaling"
    drawn = chart(title, frame, scale, layers, labels, note=note, readings=lines, unit="units/s")
    steps = scaling_steps(target, detail)
    if steps is None:
        return drawn
    if len(steps.rows) <= FEW_STEPS:
        return join(drawn, steps.html())
    summary = element("summary", f"{what}: every step of auto scaling")
    return join(drawn, element("details", summary, steps.html()))


def _changes(target: ScalingTimeline) -> list[Mark]:
    """Returns the changes that took effect, each up or down from the capacity before."""
    found = []
    before = target.provisioned[0] if target.provisioned else 0
    for event in target.events:
        if event.kind != "update" or event.wanted is None:
            # A decision has the capacity before it takes effect.
            before = before if event.present is None else event.present
            continue
        found.append(Mark(event.at_s, event.words, "up" if event.wanted > before else "down"))
        before = event.wanted
    return found


def _raised(outcome: PlanOutcome, target: ScalingTimeline) -> tuple[list[int], list[int]]:
    """Returns 1 for each sample in which the high and the low alarm was in ALARM.

    States are those of a sample's end. An alarm that was raised and acted upon within a sample is over by
    then; its event and the decision of the same moment show it.
    """
    high = [int(state == "ALARM") for state in target.high_alarm]
    low = [int(state == "ALARM") for state in target.low_alarm]
    moments = {event.at_s for event in target.events if event.kind == "alarm"}
    for event in target.events:
        decided = event.kind in ("decision", "skipped") and event.at_s in moments
        if decided and event.present is not None and event.wanted is not None:
            raised = high if event.wanted > event.present else low
            position = int(event.at_s // outcome.step_s)
            if position < len(raised):
                raised[position] = 1
    return high, low


def _strip(frame: Frame, name: str, raised: Sequence[float], *, position: int, style: str) -> Markup:
    """Returns a strip that is filled while an alarm is in ALARM."""
    top = frame.floor + 22 + position * (_STRIP + 4)
    strip = Frame(frame.span_s, 1, height=_STRIP, top=top)
    return join(
        element("rect", x=frame.left, y=top, width=frame.inner, height=_STRIP, class_="rail"),
        area(strip, PlotSeries(name, raised, style)),
        element("text", name, x=frame.left + frame.inner + 8, y=top + _STRIP, class_="end"),
    )
