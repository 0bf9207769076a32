"""The key space over time: one row for each partition at the end, in order of keys.

A partition that was split is as tall as all partitions that came of it, so a split is where a row divides.
The height does not show the part of the key space: a partition around one hot key has a row like any other.

A cell shows the largest share of the partition's limit that was used in its part of the time; one in which
the partition throttled is red. Where there are too many, columns and rows are joined, again by the largest
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from faradisc.charts.axes import Frame, time_axis
from faradisc.charts.markup import Markup, element, join, number
from faradisc.charts.plots import figure
from faradisc.charts.words import SPACE, brief
from faradisc.records import dataclass

LEVELS = 9
"""Shades from a little to all of the limit; level 0 is nothing."""
THROTTLED = 10
"""The level of a cell in which something was throttled."""
PERCENT_MAX = 647
"""Largest share that a cell's two characters can hold; 648 more with throttling. 36^2 - 1 = 1295."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAMED_ROW_MIN = 10
"""Pixels of a row that has its name beside it."""


@dataclass(frozen=True, slots=True)
class Life:
    """One partition from its beginning to its end, in equal samples."""

    name: str
    parent: str | None
    """The partition of which it was split."""
    first: int
    """Its first sample."""
    used: Sequence[float]
    """Percent of its limit, per sample."""
    throttled: Sequence[float] = ()
    """Throttled attempts per sample; empty: none at all."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The columns and rows of one partition in the grid, ends exclusive."""

    life: Life
    left: int
    right: int
    top: int
    bottom: int
    split: bool
    """Whether the partition was split."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Percent, and whether something was throttled, of each cell; -1 where nothing is known."""

    columns: int
    rows: int
    percents: list[list[int]]
    throttled: list[list[bool]]
    partitions: list[Cells]
    joined: int
    """How many partitions share a row at most."""


def level(percent: float) -> int:
    """Returns 0 for nothing, 1 to 8 for each begun eighth, 9 for the whole limit."""
    if percent < 0.5:
        return 0
    return min(LEVELS, 1 + int(percent * (LEVELS - 1) / 100))


def leaves(lives: Sequence[Life]) -> tuple[int, dict[str, tuple[int, int]]]:
    """Returns how many partitions were not split, and which of them (first, end) each partition became.

    Partitions come in the order of their keys, also those of one parent. A partition whose parent is not
    given is a root.
    """
    names = {life.name for life in lives}
    children: dict[str | None, list[str]] = {}
    for life in lives:
        parent = life.parent if life.parent in names and life.parent != life.name else None
        children.setdefault(parent, []).append(life.name)
    spans: dict[str, tuple[int, int]] = {}
    count = 0
    waiting = [(name, False) for name in reversed(children.get(None, []))]
    begun: dict[str, int] = {}
    while waiting:
        name, done = waiting.pop()
        if done:
            spans[name] = (begun[name], count)
            continue
        begun[name] = count
        if name in children:
            waiting.append((name, True))
            waiting += [(child, False) for child in reversed(children[name])]
        else:
            spans[name] = (count, count + 1)
            count += 1
    return count, spans


def grid(lives: Sequence[Life], samples: int, columns: int, rows: int) -> Grid:
    """Returns partitions in at most so many columns and rows. O(partitions x samples)."""
    count, spans = leaves(lives)
    count = max(count, 1)
    columns = max(1, min(columns, samples))
    rows = max(1, min(rows, count))
    percents = [[-1] * columns for _ in range(rows)]
    throttled = [[False] * columns for _ in range(rows)]
    partitions = []
    parents = {life.parent for life in lives}
    for life in sorted(lives, key=lambda each: each.first):
        top, bottom = spans[life.name]
        cells = Cells(
            life,
            life.first * columns // samples,
            min(columns, -(-(life.first + len(life.used)) * columns // samples)),
            top * rows // count,
            max(bottom * rows // count, top * rows // count + 1),
            life.name in parents,
        )
        partitions.append(cells)
        for offset, used in enumerate(life.used):
            column = min((life.first + offset) * columns // samples, columns - 1)
            percent = min(round(used), PERCENT_MAX)
            for row in range(cells.top, cells.bottom):
                percents[row][column] = max(percents[row][column], percent)
                throttled[row][column] |= bool(life.throttled and life.throttled[offset])
    return Grid(columns, rows, percents, throttled, partitions, -(-count // rows))


def heatmap(found: Grid, span_s: float, alternative: str, note: str, *, ago: bool = False) -> Markup:
    """Returns the figure. `ago`: the right end is now."""
    tall = min(18.0, max(2.0, round(220 / found.rows, 1)))
    frame = Frame(span_s, found.rows, height=max(round(tall * found.rows, 1), 64))
    tall = frame.height / found.rows
    drawing = join(
        element("rect", x=frame.left, y=frame.top, width=frame.inner, height=frame.height, class_="u0"),
        _cells(found, frame, tall),
        _borders(found, frame, tall),
        _names(found, frame, tall),
        time_axis(frame, ago=ago),
        _key(frame),
    )
    extra = {
        "data_cells": _cells_attribute(found),
        "data_parts": _partitions_attribute(found),
        "data_top": number(frame.top),
        "data_tall": number(frame.height),
        **({"data_ago": ""} if ago else {}),
    }
    return figure("Partition heat", drawing, frame, alternative, note, extra=extra)


def _cells(found: Grid, frame: Frame, tall: float) -> Markup:
    """Returns one path for each level; cells of equal level that touch are one rectangle."""
    runs = {}
    for row in range(found.rows):
        for left, right, shade in _runs(found, row):
            runs[(row, left, right)] = shade
    paths: dict[int, list[str]] = {}
    for (row, left, right), shade in runs.items():
        if runs.get((row - 1, left, right)) == shade:
            continue
        height = 1
        while runs.get((row + height, left, right)) == shade:
            height += 1
        x, end = frame.edge(left, found.columns), frame.edge(right, found.columns)
        y, below = frame.top + row * tall, frame.top + (row + height) * tall
        paths.setdefault(shade, []).append(
            f"M{number(x)} {number(y)}H{number(end)}V{number(below)}H{number(x)}z"
        )
    return join(
        element("path", d="".join(parts), class_=f"u{shade}" if shade < THROTTLED else "no")
        for shade, parts in sorted(paths.items())
    )


def _runs(found: Grid, row: int) -> list[tuple[int, int, int]]:
    """Returns (first column, end, level) of equal cells of a row, without those of level 0."""
    cells = zip(found.percents[row], found.throttled[row], strict=True)
    runs, column = [], 0
    for shade, group in groupby(THROTTLED if hurt else level(percent) for percent, hurt in cells):
        end = column + len(list(group))
        if shade:
            runs.append((column, end, shade))
        column = end
    return runs


def _borders(found: Grid, frame: Frame, tall: float) -> Markup:
    """Returns hair lines between partitions, and a stroke where one was split."""
    hairs, strokes = [], []
    for part in found.partitions:
        x, end = frame.edge(part.left, found.columns), frame.edge(part.right, found.columns)
        if part.bottom < found.rows and found.joined == 1:
            hairs.append(f"M{number(x)} {number(frame.top + part.bottom * tall)}H{number(end)}")
        if part.split:
            y, below = frame.top + part.top * tall, frame.top + part.bottom * tall
            strokes.append(f"M{number(end)} {number(y)}V{number(below)}")
    return join(
        element("path", d="".join(hairs), class_="between") if hairs else None,
        element("path", d="".join(strokes), class_="split") if strokes else None,
    )


def _names(found: Grid, frame: Frame, tall: float) -> Markup:
    """Returns the names of the partitions at the end, or where the keys begin and end."""
    x = frame.left - 6
    if tall < _NAMED_ROW_MIN or found.joined > 1:
        first = element("text", "first key", x=x, y=frame.top + 9, class_="tv")
        return join(first, element("text", "last key", x=x, y=frame.floor, class_="tv"))
    middles = [(part, frame.top + (part.top + 0.5) * tall) for part in found.partitions if not part.split]
    return join(
        element("text", brief(part.life.name), x=x, y=round(y + 4, 1), class_="tv") for part, y in middles
    )


def _key(frame: Frame) -> Markup:
    """Returns what the colours mean, in the right margin."""
    x = frame.left + frame.inner + 10
    shades = [
        element("rect", x=x + 9 * shade, y=frame.top, width=9, height=9, class_=f"u{shade}")
        for shade in range(LEVELS + 1)
    ]
    return join(
        shades,
        element("text", "0", x=x, y=frame.top + 20, class_="end"),
        element("text", f"100{SPACE}%", x=x + 90, y=frame.top + 20, class_="end last"),
        element("text", "of its limit", x=x, y=frame.top + 33, class_="end"),
        element("rect", x=x, y=frame.top + 43, width=9, height=9, class_="no"),
        element("text", "throttling", x=x + 14, y=frame.top + 51, class_="end"),
    )


def _cells_attribute(found: Grid) -> str:
    """Returns the cells for the cursor: rows apart by spaces, two characters a cell, base 36."""
    return " ".join(
        "".join(_pair(percent, hurt) for percent, hurt in zip(percents, throttled, strict=True))
        for percents, throttled in zip(found.percents, found.throttled, strict=True)
    )


def _pair(percent: int, throttled: bool) -> str:
    if percent < 0:
        return "--"
    value = percent + (PERCENT_MAX + 1 if throttled else 0)
    return _DIGITS[value // 36] + _DIGITS[value % 36]


def _partitions_attribute(found: Grid) -> str:
    """Returns name,left,right,top,bottom of each partition for the cursor; names without the separators."""
    return ";".join(
        f"{brief(p.life.name).translate({44: None, 59: None})},{p.left},{p.right},{p.top},{p.bottom}"
        for p in found.partitions
    )
