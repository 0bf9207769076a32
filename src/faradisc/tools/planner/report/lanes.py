"""Consumption, refusals and banks of one direction of a resource, over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from faradisc.charts import words
from faradisc.charts.axes import Frame, ticks, time_axis, value_axis
from faradisc.charts.buckets import lows, peaks, width
from faradisc.charts.markup import Markup, join
from faradisc.charts.plots import Figure, Series, area, ends, figure, line, stack
from faradisc.charts.words import count, duration, elapsed, percent, units
from faradisc.tools.planner.report.detail import Detail
from faradisc.tools.planner.results.outcome import CAUSES, LaneSeries, Outcome, ResourceOutcome

OFF_SCALE = 4
"""A line this many times above everything that happened would flatten it; it is then told, not drawn."""

CAUSE_NAMES = {
    "AccountLimitExceeded": "the account was at its limit",
    "MaxOnDemandThroughputExceeded": "the configured maximum was reached",
    "ProvisionedThroughputExceeded": "the table or index was out of units",
    "KeyRangeThroughputExceeded": "a partition was at its limit",
}
_SHORT_NAMES = ("account", "maximum", "out of units", "hot partition")
"""In the order of `CAUSES`."""


def consumption(
    outcome: Outcome, resource: ResourceOutcome, lane: LaneSeries, what: str, detail: Detail
) -> Markup:
    """Consumed against provisioned. `what` is "Reads" or "Writes"."""
    served = peaks(lane.consumed, detail.columns)
    busiest = peaks(lane.consumed_peak, detail.columns)
    asked = peaks(lane.offered, detail.columns)
    allowed = peaks(lane.provisioned, detail.columns)
    happened = max([*busiest, *served, 0])
    shown = [happened]
    line_name = "provisioned" if resource.mode == "PROVISIONED" else "can serve"
    drawn_limit = 0 < max(allowed, default=0) <= OFF_SCALE * happened
    if drawn_limit:
        shown.append(max(allowed))
    wanted = max(asked, default=0)
    drawn_asked = wanted > 1.01 * max(served, default=0)
    if drawn_asked:
        shown.append(min(wanted, OFF_SCALE * max(shown)))
    scale = ticks(max(shown))
    frame = Frame(outcome.duration_s, scale[-1])
    readings = [Series("served", served, "use"), Series("busiest second", busiest, "peak")]
    layers: list[Markup] = [
        value_axis(frame, scale, unit="units/s"),
        area(frame, Series("busiest second", busiest, "peak")),
        area(frame, Series("served", served, "use")),
    ]
    labels = [(served[-1], "served", "use")] if served else []
    if drawn_asked:
        readings.append(Series("asked for", asked, "ask"))
        layers.append(line(frame, readings[-1]))
        labels.append((asked[-1], "asked for", "ask"))
    if max(allowed, default=0) > 0:
        readings.append(Series(line_name, allowed, "limit"))
    if drawn_limit:
        layers.append(line(frame, readings[-1]))
        labels.append((allowed[-1], f"{line_name} {units(allowed[-1])}", "limit"))
    layers += [ends(frame, labels), time_axis(frame)]
    note = _grain(outcome, detail)
    if not drawn_limit and max(allowed, default=0) > 0:
        note += f" The limit, {units(max(allowed))} units/s, is far above and not drawn."
    if drawn_asked:
        note += " Dotted: asked for, retries included"
        note += f", at most {units(wanted)}, more than is shown." if wanted > scale[-1] else "."
    if lane.maximum is not None:
        note += f" A maximum of {units(lane.maximum)} units/s is configured."
    return figure(
        Figure(
            f"{what}: consumed against {'provisioned' if resource.mode == 'PROVISIONED' else 'capacity'}",
            join(layers),
            frame,
            _told(outcome, lane, what, line_name),
            note,
            tuple(readings),
            "units/s",
        )
    )


def _grain(outcome: Outcome, detail: Detail) -> str:
    each = words.each(outcome.step_s)
    grain = width(outcome.samples, detail.columns)
    if grain <= 1:
        return f"Strong: average of each {each}. Faint: the busiest second in it."
    return (
        f"Strong: the highest {each} average. Faint: the busiest second. "
        f"Each column is the largest value in {duration(grain * outcome.step_s)}."
    )


def _told(outcome: Outcome, lane: LaneSeries, what: str, line_name: str) -> str:
    """The chart in a sentence."""
    top = max(lane.consumed_peak, default=0)
    at = lane.consumed_peak.index(top) * outcome.step_s if top else 0
    first, last = (lane.provisioned[0], lane.provisioned[-1]) if lane.provisioned else (0, 0)
    mean = sum(lane.consumed) / len(lane.consumed) if lane.consumed else 0
    went = (
        f"{line_name} {units(first)}"
        if first == last
        else f"{line_name} {units(first)}, at the end {units(last)}"
    )
    return (
        f"{what}: on average {units(mean)} units/s, at most {units(top)} in one second "
        f"about {elapsed(at)}; {went}."
    )


def refusals(outcome: Outcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """Throttle events by cause, stacked; None where nothing was refused."""
    both = {
        cause: [
            r + w
            for r, w in zip(resource.read.throttled[cause], resource.write.throttled[cause], strict=True)
        ]
        for cause in CAUSES
    }
    layers = _worst([both[cause] for cause in CAUSES], detail.columns)
    drawn = [
        (position, cause, layers[position]) for position, cause in enumerate(CAUSES) if any(layers[position])
    ]
    if not drawn:
        return None
    tops = [sum(column) for column in zip(*layers, strict=True)]
    scale = ticks(max(tops), 3)
    frame = Frame(outcome.duration_s, scale[-1], height=84)
    series = [Series(_SHORT_NAMES[position], values, f"c{position}") for position, _, values in drawn]
    # Each name stands beside the middle of its layer where the stack is tallest.
    tallest = tops.index(max(tops))
    below, labels = 0.0, []
    for each in series:
        middle = below + float(each.values[tallest] or 0) / 2
        labels.append((middle, each.name, each.style))
        below += float(each.values[tallest] or 0)
    sums = [f"{count(sum(both[cause]))} because {CAUSE_NAMES[cause]}" for _, cause, _ in drawn]
    per = words.each(outcome.step_s)
    grain = width(outcome.samples, detail.columns) * outcome.step_s
    note = "Refused: " + ", ".join(sums) + "."
    if grain > outcome.step_s:
        note += f" Each column is the worst {per} of {duration(grain)}."
    return figure(
        Figure(
            "Refused requests by reason",
            join(
                value_axis(frame, scale, unit=f"per {per}"),
                stack(frame, series),
                ends(frame, labels),
                time_axis(frame),
            ),
            frame,
            note,
            note,
            tuple(series),
            f"per {per}",
        )
    )


def _worst(layers: Sequence[Sequence[float]], columns: int) -> list[list[float]]:
    """Of each bucket the sample with the largest sum, so that a column is a real sample and not a mixture."""
    length = len(layers[0]) if layers else 0
    if length <= columns:
        return [list(layer) for layer in layers]
    sums = [sum(values) for values in zip(*layers, strict=True)]
    bounds = [i * length // columns for i in range(columns + 1)]
    chosen = [max(range(low, high), key=sums.__getitem__) for low, high in pairwise(bounds)]
    return [[layer[at] for at in chosen] for layer in layers]


def bank(outcome: Outcome, lane: LaneSeries, what: str, detail: Detail) -> Markup | None:
    """The burst balance; None where there is no bank."""
    if all(value is None for value in lane.bank):
        return None
    held = [value if value is not None else 0 for value in lane.bank]
    full = [value if value is not None else 0 for value in lane.bank_max]
    lowest, most = lows(held, detail.columns), peaks(full, detail.columns)
    scale = ticks(max([*most, *peaks(held, 1), 1]), 3)
    frame = Frame(outcome.duration_s, scale[-1], height=70)
    empty = [frame.high if value <= 0 else 0 for value in lowest]
    poor = sum(1 for value, cap in zip(held, full, strict=True) if cap and value < cap / 10)
    spent = sum(1 for value in held if value <= 0)
    if poor:
        note = f"Below a tenth of the full bank for {duration(poor * outcome.step_s)}"
        note += f", of it empty for {duration(spent * outcome.step_s)} (red)." if spent else ", never empty."
    else:
        note = "Never below a tenth of the full bank."
    series = Series("banked", lowest, "bank")
    return figure(
        Figure(
            f"{what}: burst balance",
            join(
                value_axis(frame, scale, unit="units"),
                _red_floor(frame, empty),
                area(frame, series),
                line(frame, Series("full", most, "limit")),
                ends(frame, [(most[-1], f"full {units(most[-1])}", "limit"), (lowest[-1], "banked", "use")]),
                time_axis(frame),
            ),
            frame,
            f"{note} Full, the bank holds {units(max(most))} units; least {units(min(held))}, "
            f"{percent(max(min(held), 0), max(full) or 1)} of it.",
            note,
            (series, Series("full", most, "limit")),
            "units",
        )
    )


def _red_floor(frame: Frame, empty: Sequence[float]) -> Markup:
    """A strip along the ground where the bank is empty."""
    strip = Frame(frame.span_s, frame.high, height=5, top=frame.floor - 5)
    return area(strip, Series("empty", empty, "debt"))
