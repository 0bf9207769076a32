"""Consumption, throttling and burst capacity of a resource over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from faradisc.charts import words
from faradisc.charts.axes import Frame, ticks
from faradisc.charts.buckets import lows, peaks, width
from faradisc.charts.markup import Markup
from faradisc.charts.plots import PlotSeries, area, chart, line, stack
from faradisc.charts.words import count, duration, elapsed, percent, units
from faradisc.tools.planner.report.detail import Detail
from faradisc.tools.planner.results.headline import CAUSE_WORDS
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome
from faradisc.tools.planner.results.series import CAUSES, DirectionSeries

OFF_SCALE = 4
"""A line that is this many times above all others would flatten them: it is described, not drawn."""
_SHORT_NAMES = ("account", "maximum", "out of units", "hot partition")
"""In the order of `CAUSES`."""


def consumption(
    outcome: PlanOutcome, resource: ResourceOutcome, series: DirectionSeries, what: str, detail: Detail
) -> Markup:
    """Returns consumed against provisioned units. `what` is "Reads" or "Writes"."""
    provisioned = resource.mode == "PROVISIONED"
    served = peaks(series.consumed, detail.columns)
    busiest = peaks(series.consumed_peak, detail.columns)
    requested = peaks(series.offered, detail.columns)
    allowed = peaks(series.provisioned, detail.columns)
    limit_name = "provisioned" if provisioned else "double peak"
    highest = max([*busiest, *served, 0])
    limit, most_requested = max(allowed, default=0), max(requested, default=0)
    limit_drawn = 0 < limit <= OFF_SCALE * highest
    requested_drawn = most_requested > 1.01 * max(served, default=0)
    top = max(highest, limit if limit_drawn else 0)
    if requested_drawn:
        top = max(top, min(most_requested, OFF_SCALE * top))
    scale = ticks(top)
    frame = Frame(outcome.duration_s, scale[-1])
    readings = [PlotSeries("served", served, "use"), PlotSeries("busiest second", busiest, "peak")]
    layers = [area(frame, readings[1]), area(frame, readings[0])]
    labels = [(served[-1], "served", "use")] if served else []
    if requested_drawn:
        readings.append(PlotSeries("requested", requested, "ask"))
        layers.append(line(frame, readings[-1]))
        labels.append((requested[-1], "requested", "ask"))
    if limit:
        readings.append(PlotSeries(limit_name, allowed, "limit"))
    if limit_drawn:
        layers.append(line(frame, readings[-1]))
        labels.append((allowed[-1], f"{limit_name} {units(allowed[-1])}", "limit"))
    note = _grain(outcome, detail)
    if limit and not limit_drawn:
        note += f" The limit, {units(limit)} units/s, is far above and not drawn."
    if requested_drawn:
        note += " Dotted: requested, retries included"
        note += (
            f", at most {units(most_requested)}, more than is shown." if most_requested > scale[-1] else "."
        )
    if series.maximum is not None:
        note += f" A maximum of {units(series.maximum)} units/s is configured."
    return chart(
        f"{what}: consumed against {'provisioned' if provisioned else 'capacity'}",
        frame,
        scale,
        layers,
        labels,
        alternative=_alternative(outcome, series, what, limit_name),
        note=note,
        readings=readings,
        unit="units/s",
    )


def _grain(outcome: PlanOutcome, detail: Detail) -> str:
    each = words.each(outcome.step_s)
    grain = width(outcome.samples, detail.columns)
    if grain <= 1:
        return f"Strong: average of each {each}. Faint: the busiest second in it."
    return (
        f"Strong: the highest {each} average. Faint: the busiest second. "
        f"Each column is the largest value in {duration(grain * outcome.step_s)}."
    )


def _alternative(outcome: PlanOutcome, series: DirectionSeries, what: str, limit_name: str) -> str:
    top = max(series.consumed_peak, default=0)
    at = series.consumed_peak.index(top) * outcome.step_s if top else 0
    first, last = (series.provisioned[0], series.provisioned[-1]) if series.provisioned else (0, 0)
    mean = sum(series.consumed) / len(series.consumed) if series.consumed else 0
    limit = f"{limit_name} {units(first)}" + (f", at the end {units(last)}" if first != last else "")
    return (
        f"{what}: on average {units(mean)} units/s, at most {units(top)} in one second "
        f"about {elapsed(at)}; {limit}."
    )


def throttling(outcome: PlanOutcome, resource: ResourceOutcome, detail: Detail) -> Markup | None:
    """Returns throttled attempts by cause, stacked; None where nothing was throttled."""
    both = [
        [r + w for r, w in zip(resource.read.throttled[cause], resource.write.throttled[cause], strict=True)]
        for cause in CAUSES
    ]
    layers = _worst(both, detail.columns)
    drawn = [position for position, layer in enumerate(layers) if any(layer)]
    if not drawn:
        return None
    tops = [sum(column) for column in zip(*layers, strict=True)]
    scale = ticks(max(tops), 3)
    frame = Frame(outcome.duration_s, scale[-1], height=84)
    series = [PlotSeries(_SHORT_NAMES[position], layers[position], f"c{position}") for position in drawn]
    # Each name stands beside the middle of its layer where the stack is tallest.
    tallest = tops.index(max(tops))
    below, labels = 0.0, []
    for each in series:
        value = float(each.values[tallest] or 0)
        labels.append((below + value / 2, each.name, each.style))
        below += value
    sums = [f"{count(sum(both[position]))} by {CAUSE_WORDS[CAUSES[position]]}" for position in drawn]
    per = words.each(outcome.step_s)
    grain = width(outcome.samples, detail.columns) * outcome.step_s
    note = "Throttled: " + ", ".join(sums) + "."
    if grain > outcome.step_s:
        note += f" Each column is the worst {per} of {duration(grain)}."
    title, stacked = "Throttled requests by cause", stack(frame, series)
    return chart(title, frame, scale, stacked, labels, note=note, readings=series, unit=f"per {per}")


def _worst(layers: Sequence[Sequence[float]], columns: int) -> list[list[float]]:
    """Returns the sample with the largest sum of each bucket: a column is a real sample, not a mixture."""
    length = len(layers[0]) if layers else 0
    if length <= columns:
        return [list(layer) for layer in layers]
    sums = [sum(values) for values in zip(*layers, strict=True)]
    bounds = [i * length // columns for i in range(columns + 1)]
    chosen = [max(range(low, high), key=sums.__getitem__) for low, high in pairwise(bounds)]
    return [[layer[at] for at in chosen] for layer in layers]


def burst(outcome: PlanOutcome, series: DirectionSeries, what: str, detail: Detail) -> Markup | None:
    """Returns the burst capacity; None on demand, where there is none."""
    if all(value is None for value in series.burst):
        return None
    saved = [value or 0 for value in series.burst]
    full = [value or 0 for value in series.burst_max]
    lowest, most = lows(saved, detail.columns), peaks(full, detail.columns)
    scale = ticks(max([*most, *peaks(saved, 1), 1]), 3)
    frame = Frame(outcome.duration_s, scale[-1], height=70)
    poor = sum(1 for value, cap in zip(saved, full, strict=True) if cap and value < cap / 10)
    spent = sum(1 for value in saved if value <= 0)
    note = "Never below a tenth of its maximum."
    if poor:
        note = f"Below a tenth of its maximum for {duration(poor * outcome.step_s)}"
        note += f", of it empty for {duration(spent * outcome.step_s)} (red)." if spent else ", never empty."
    # A red strip along the ground where nothing is saved.
    strip = Frame(frame.span_s, frame.high, height=5, top=frame.floor - 5)
    empty = [frame.high if value <= 0 else 0 for value in lowest]
    readings = (PlotSeries("burst", lowest, "burst"), PlotSeries("maximum", most, "limit"))
    labels = [(most[-1], f"maximum {units(most[-1])}", "limit"), (lowest[-1], "burst", "use")]
    drawn = (
        area(strip, PlotSeries("empty", empty, "debt")),
        area(frame, readings[0]),
        line(frame, readings[1]),
    )
    alternative = (
        f"{note} The maximum is {units(max(most))} units, the least {units(min(saved))}, "
        f"{percent(max(min(saved), 0), max(full) or 1)} of it."
    )
    return chart(
        f"{what}: burst capacity",
        frame,
        scale,
        drawn,
        labels,
        note=note,
        readings=readings,
        unit="units",
        alternative=alternative,
    )
