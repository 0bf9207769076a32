"""Scales, ticks and the frame of a plot over time.

All plots of a report have the same left and right margins, so that a moment has the same x in each of them.
Lengths are pixels of the drawing, times are seconds since the beginning of what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from faradisc.charts.markup import Markup, element, join
from faradisc.charts.words import duration, elapsed, short
from faradisc.records import dataclass

WIDTH = 900
LEFT = 64
RIGHT = 130
"""Room for the names of lines, written at their ends."""

_STEPS_S = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)))
_STEPS_H = (*(3600 * n for n in (1, 2, 3, 6, 12)), *(86_400 * n for n in (1, 2, 5, 10, 30, 90, 365)))
TIME_STEPS_S = (*_STEPS_S, *_STEPS_H)


def ticks(high: float, wanted: int = 4) -> list[float]:
    """Returns round values from 0 to `high` or more: steps of 1, 2, 2.5 or 5 times a power of ten."""
    if high <= 0 or not math.isfinite(high):
        return [0, 1]
    rough = high / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    values = [0.0]
    while values[-1] < high * 0.999:
        values.append(round(len(values) * step, 12))
    return values


def time_ticks(span_s: float, wanted: int = 8) -> list[float]:
    """Returns round times from 0 to `span_s`, at most about `wanted`."""
    step = next((step for step in TIME_STEPS_S if span_s / step <= wanted), None)
    if step is None:
        step = 365 * 86_400 * math.ceil(span_s / (365 * 86_400) / wanted)
    return [float(at) for at in range(0, math.floor(span_s) + 1, step)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A plotting area, `span_s` seconds wide and `high` units tall."""

    span_s: float
    high: float
    height: float = 120
    top: float = 20
    bottom: float = 22
    left: float = LEFT
    right: float = RIGHT
    width: float = WIDTH

    @property
    def inner(self) -> float:
        """Width of the plotting area."""
        return self.width - self.left - self.right

    @property
    def floor(self) -> float:
        """y of zero."""
        return self.top + self.height

    @property
    def total(self) -> float:
        return self.floor + self.bottom

    def x(self, at_s: float) -> float:
        return round(self.left + self.inner * min(max(at_s / self.span_s, 0), 1), 1) if self.span_s else 0

    def y(self, value: float) -> float:
        share = value / self.high if self.high else 0
        return round(self.floor - self.height * min(max(share, 0), 1), 1)

    def edge(self, bucket: int, count: int) -> float:
        """Returns the left edge of a bucket among `count` equal ones; bucket `count` is the right end."""
        return round(self.left + self.inner * bucket / max(count, 1), 1)


def time_axis(frame: Frame, *, ago: bool = False) -> Markup:
    """Returns ticks and times below the frame, with seconds where ticks are closer than a minute.

    `ago`: the right end is now, and times say how long ago they are.
    """
    marks = time_ticks(frame.span_s)
    fine = len(marks) > 1 and marks[1] - marks[0] < 60
    xs = [(frame.x(frame.span_s - at if ago else at), at) for at in marks]
    path = "".join(f"M{x:g} {frame.floor:g}v4" for x, _ in xs)
    texts = [
        element(
            "text",
            ("now" if not at else f"{duration(at)} ago") if ago else elapsed(at, with_seconds=fine),
            x=x,
            y=frame.floor + 16,
            class_="tm",
        )
        for x, at in xs
    ]
    return join(element("path", d=path, class_="tick"), texts)


def value_axis(frame: Frame, values: Sequence[float], *, unit: str = "", suffix: str = "") -> Markup:
    """Returns hair lines across and numbers on the left; `unit` stands above the topmost."""
    lines = "".join(f"M{frame.left:g} {frame.y(v):g}h{frame.inner:g}" for v in values)
    texts = [
        element("text", f"{short(value)}{suffix}", x=frame.left - 6, y=frame.y(value) + 4, class_="tv")
        for value in values
    ]
    named = element("text", unit, x=frame.left - 6, y=frame.top - 9, class_="tv unit") if unit else None
    return join(element("path", d=lines, class_="hair"), texts, named)
