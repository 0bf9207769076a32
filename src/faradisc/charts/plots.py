"""Areas, lines, stacks and marks in a frame, and the figure around them.

Values cover equal parts of the time and are drawn as steps: nothing is interpolated, a second without a
request is a gap. None breaks a line. Each figure describes itself in words (`alternative`) for screen
readers, and has its numbers in an attribute for the cursor of the page's script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from faradisc.charts.axes import Frame, time_axis, value_axis
from faradisc.charts.markup import Child, Markup, element, join, number
from faradisc.charts.words import units
from faradisc.records import dataclass

Value = float | None
_APART = 12
"""Least distance between names at the ends of lines, pixels."""


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """A line or an area; `style` is a class of the style sheet."""

    name: str
    values: Sequence[Value]
    style: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at a moment."""

    at_s: float
    text: str
    style: str = "mark"


def area(frame: Frame, series: PlotSeries) -> Markup:
    """Returns the filled area below the values."""
    path = []
    for first, run in _runs(series.values):
        path.append(f"M{number(frame.edge(first, len(series.values)))} {number(frame.floor)}")
        path.append(_steps(frame, run, first, len(series.values)))
        path.append(f"V{number(frame.floor)}z")
    return element("path", d="".join(path), class_=series.style)


def line(frame: Frame, series: PlotSeries) -> Markup:
    """Returns a step line through the values."""
    path = []
    for first, run in _runs(series.values):
        path.append(f"M{number(frame.edge(first, len(series.values)))} {number(frame.y(run[0]))}")
        path.append(_steps(frame, run, first, len(series.values)))
    return element("path", d="".join(path), class_=series.style)


def stack(frame: Frame, layers: Sequence[PlotSeries]) -> Markup:
    """Returns layers on top of each other, the first at the bottom. All have equally many values."""
    count = max((len(layer.values) for layer in layers), default=0)
    below = [0.0] * count
    drawn = []
    for layer in layers:
        above = [low + (value or 0) for low, value in zip(below, layer.values, strict=True)]
        drawn.append(element("path", d=_band(frame, below, above), class_=layer.style))
        below = above
    return join(drawn)


def _band(frame: Frame, below: Sequence[float], above: Sequence[float]) -> str:
    """Returns the parts where `above` is higher than `below`, as closed shapes."""
    path: list[str] = []
    count = len(above)
    position = 0
    while position < count:
        if above[position] <= below[position]:
            position += 1
            continue
        first = position
        while position < count and above[position] > below[position]:
            position += 1
        path.append(f"M{number(frame.edge(first, count))} {number(frame.y(below[first]))}")
        path.append(_steps(frame, above[first:position], first, count))
        for index in range(position - 1, first - 1, -1):
            path.append(f"V{number(frame.y(below[index]))}H{number(frame.edge(index, count))}")
        path.append("z")
    return "".join(path)


def _runs(values: Sequence[Value]) -> list[tuple[int, list[float]]]:
    """Returns the runs without a gap: the first position and the values of each."""
    runs: list[tuple[int, list[float]]] = []
    open_run = False
    for position, value in enumerate(values):
        if value is None:
            open_run = False
        elif open_run:
            runs[-1][1].append(value)
        else:
            runs.append((position, [value]))
            open_run = True
    return runs


def _steps(frame: Frame, run: Sequence[float], first: int, count: int) -> str:
    """Returns the strokes through a run of values; equal values in a row share one."""
    written = []
    for offset, value in enumerate(run):
        last = offset + 1 == len(run)
        y = frame.y(value)
        if last or frame.y(run[offset + 1]) != y:
            written.append(f"V{number(y)}H{number(frame.edge(first + offset + 1, count))}")
    return "".join(written)


def ends(frame: Frame, labels: Sequence[tuple[float, str, str]]) -> Markup:
    """Returns names at the right end of lines: (value, text, style). Names that overlap are moved apart."""
    placed = sorted((frame.y(value) + 4, text, style) for value, text, style in labels)
    heights = [y for y, _, _ in placed]
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + _APART)
    over = heights[-1] - (frame.floor + 4) if heights else 0
    if over > 0:
        heights[-1] -= over
        for index in range(len(heights) - 2, -1, -1):
            heights[index] = min(heights[index], heights[index + 1] - _APART)
    x = frame.left + frame.inner + 8
    return join(
        element("text", text, x=x, y=round(y, 1), class_=f"end {style}")
        for y, (_, text, style) in zip(heights, placed, strict=True)
    )


def marks(frame: Frame, found: Sequence[Mark]) -> Markup:
    """Returns a hair line and a small triangle above it for each mark, with its text as a title."""
    drawn = []
    for mark in found:
        x = frame.x(mark.at_s)
        thread = f"M{number(x)} {number(frame.top)}v{number(frame.height)}"
        flag = f"M{number(x - 3.5)} {number(frame.top - 6)}h7l-3.5 6z"
        paths = (
            element("path", d=thread, class_="thread"),
            element("path", d=flag, class_=f"flag {mark.style}"),
        )
        drawn.append(element("g", element("title", mark.text), *paths))
    return join(drawn)


def chart(
    title: str,
    frame: Frame,
    scale: Sequence[float],
    layers: Child,
    labels: Sequence[tuple[float, str, str]],
    *,
    note: str,
    readings: Sequence[PlotSeries],
    unit: str,
    alternative: str = "",
) -> Markup:
    """Returns a figure of layers with both axes and `labels` at the right end. `alternative`: `note` by
    default."""
    drawing = join(value_axis(frame, scale, unit=unit), layers, ends(frame, labels), time_axis(frame))
    return figure(title, drawing, frame, alternative or note, note, readings=readings, unit=unit)


def figure(
    title: str,
    drawing: Markup,
    frame: Frame,
    alternative: str,
    note: Markup | str = "",
    *,
    readings: Sequence[PlotSeries] = (),
    unit: str = "",
    extra: Mapping[str, str] = MappingProxyType({}),
) -> Markup:
    """Returns a drawing with its texts. `note`: how to read it, and what was left out; `readings`, `extra`:
    numbers and more attributes for the cursor."""
    svg = element(
        "svg",
        drawing,
        viewBox=f"0 0 {number(frame.width)} {number(frame.total)}",
        role="img",
        aria_label=f"{title}. {alternative}",
    )
    data = {
        "data_span": number(frame.span_s),
        "data_left": number(frame.left),
        "data_inner": number(frame.inner),
        "data_read": _readings(unit, readings),
    }
    plot = element("div", svg, class_="plot", **(data if readings or extra else {}), **extra)
    caption = element(
        "figcaption",
        element("b", title),
        element("span", class_="reading"),
        element("span", note, class_="note") if note else None,
    )
    return element("figure", caption, plot)


def _readings(unit: str, readings: Sequence[PlotSeries]) -> str:
    """Returns `unit;name=value,value;name=...`. Names have none of these characters."""
    written = [unit]
    for series in readings:
        values = ",".join("" if value is None else _compact(value) for value in series.values)
        written.append(f"{series.name}={values}")
    return ";".join(written)


def _compact(value: float) -> str:
    """Returns a number without separators of thousands, which the script adds."""
    return units(value).replace(",", "")


def bar(share: float, *, style: str = "bar", width: float = 120, height: float = 9) -> Markup:
    """Returns a small horizontal bar beside a number in a table cell."""
    filled = round(width * min(max(share, 0), 1), 1)
    return element(
        "svg",
        element("rect", width=width, height=height, class_="rail"),
        element("rect", width=filled, height=height, class_=style),
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        class_="spark",
        aria_hidden="true",
    )
