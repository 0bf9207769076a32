"""Auto scaling over time: provisioned and desired capacity, alarms, and each step as a row."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.charts.axes import Frame, ticks, time_axis, value_axis
from faradisc.charts.buckets import peaks
from faradisc.charts.markup import Markup, element, join
from faradisc.charts.plots import Figure, Mark, Series, area, ends, figure, line, marks
from faradisc.charts.tables import Column, Table, rows_of
from faradisc.charts.words import count, elapsed, plural, units
from faradisc.tools.planner.report.detail import Detail, cut
from faradisc.tools.planner.results.outcome import DirectionSeries, Outcome, ScalingTimeline

_OPEN_ROWS_MAX = 12
_STRIP = 8
"""Height of an alarm's strip in pixels; two of them stand below the chart."""


def timeline(outcome: Outcome, target: ScalingTimeline, series: DirectionSeries, detail: Detail) -> Markup:
    """Returns the figure and the table of one scalable target."""
    what = "Reads" if target.direction == "R" else "Writes"
    served = peaks(series.consumed, detail.columns)
    wanted = peaks(target.desired, detail.columns)
    provisioned = peaks(target.provisioned, detail.columns)
    aim = [value * target.target_percent / 100 for value in provisioned]
    scale = ticks(max([*served, *wanted, *provisioned, 1]))
    frame = Frame(outcome.duration_s, scale[-1], height=110, bottom=22 + 3 * _STRIP)
    lines = (
        Series("served", served, "use"),
        Series("target", aim, "rule"),
        Series("desired", wanted, "want"),
        Series("provisioned", provisioned, "limit"),
    )
    labels = [
        (
            each.values[-1] or 0,
            each.name if each.name != "target" else f"target {units(target.target_percent)} %",
            each.style,
        )
        for each in lines
        if each.values
    ]
    changes = _changes(target)
    high, low = _raised(outcome, target)
    drawing = join(
        value_axis(frame, scale, unit="units/s"),
        area(frame, lines[0]),
        [line(frame, each) for each in lines[1:]],
        marks(frame, [Mark(m.at_s, cut(m.text, detail), m.style) for m in changes[: detail.rows]]),
        ends(frame, labels),
        time_axis(frame),
        _strip(frame, "high alarm", peaks(high, detail.columns), position=0, style="no"),
        _strip(frame, "low alarm", peaks(low, detail.columns), position=1, style="use"),
    )
    note = (
        f"Between {units(target.minimum)} and {units(target.maximum)} units/s. "
        f"{plural(len(changes), 'change')} (triangles); "
        f"{plural(target.decreases_used, 'decrease')} used of the last day's budget."
    )
    return join(
        figure(Figure(f"{what}: auto scaling", drawing, frame, note, note, lines, "units/s")),
        events(target, what, detail),
    )


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


def _raised(outcome: Outcome, target: ScalingTimeline) -> tuple[list[int], list[int]]:
    """Returns 1 for each sample in which the high and the low alarm was in ALARM.

    States are those of a sample's end. An alarm that was raised and acted upon within a sample is over by
    then; its event and the decision of the same moment show it.
    """
    high = [int(state == "ALARM") for state in target.high_alarm]
    low = [int(state == "ALARM") for state in target.low_alarm]
    moments = {event.at_s for event in target.events if event.kind == "alarm"}
    for event in target.events:
        if event.kind not in ("decision", "skipped") or event.at_s not in moments:
            continue
        if event.present is None or event.wanted is None:
            continue
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
        area(strip, Series(name, raised, style)),
        element("text", name, x=frame.left + frame.inner + 8, y=top + _STRIP, class_="end"),
    )


def events(target: ScalingTimeline, what: str, detail: Detail) -> Markup | None:
    """Returns the steps of the policy. Many are folded away, without the alarms, which the strips show."""
    shown = list(target.events)
    if len(shown) > _OPEN_ROWS_MAX:
        shown = [event for event in shown if event.kind != "alarm"]
    if not shown:
        return None
    rows = [
        (
            elapsed(event.at_s),
            event.kind,
            count(event.present) if event.present not in (None, event.wanted) else "",
            count(event.wanted) if event.wanted is not None else "",
            cut(event.words, detail),
        )
        for event in shown[: detail.rows]
    ]
    listed = Table(
        f"{what}: steps of auto scaling",
        (
            Column("at"),
            Column("step", words=True),
            Column("from", "units/s"),
            Column("to", "units/s"),
            Column("why", words=True),
        ),
        rows_of(rows),
        len(shown) - len(rows),
        "all of them are in the CSV tables",
    ).html()
    if len(rows) <= _OPEN_ROWS_MAX:
        return listed
    return element("details", element("summary", f"{what}: every step of auto scaling"), listed)
