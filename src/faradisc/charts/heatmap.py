"""A key space over time: one row for each partition there is at the end, in order of keys.

A partition that was split is as tall as everything that became of it, so a split is seen as the place where
a row divides. The height says nothing about how much of the key space a partition holds: one that was cut
around a single hot key has a row like any other, which is what makes it visible.

A cell is coloured by the largest share of its partition's limit that was used in its stretch of time; one in
which something was refused is red. Two dimensions are made smaller where there are too many: time by the
largest value, rows by joining neighbours, again by the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faradisc.charts.axes import Frame, time_axis
from faradisc.charts.markup import Markup, element, join, number
from faradisc.charts.words import SPACE

LEVELS = 9
"""Shades from "a little" to "all of it"; level 0 is nothing."""
REFUSED = 10
"""The level of a cell in which something was refused."""
PERCENT_MAX = 647
"""Largest share a cell's two characters can tell; with refusals 648 more are added. 36^2 - 1 = 1295."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAMED_ROW_MIN = 10
"""Pixels a row must be tall to have its name beside it."""


@dataclass(frozen=True, slots=True)
class Life:
    """One partition from its beginning to its end. Samples are equal stretches of time."""

    name: str
    parent: str | None
    """Which partition it was cut from."""
    first: int
    """Its first sample."""
    used: Sequence[float]
    """Percent of its limit, per sample."""
    refused: Sequence[float] = ()
    """Refusals per sample; empty: none at all."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A partition's place in the grid: columns and rows, ends exclusive."""

    life: Life
    left: int
    right: int
    top: int
    bottom: int
    split: bool
    """Whether others took its place."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells: percent and whether something was refused; -1 where nothing is known."""

    columns: int
    rows: int
    percents: list[list[int]]
    refused: list[list[bool]]
    placed: list[Placed]
    joined: int
    """How many partitions share a row at most."""


def level(percent: float) -> int:
    """0 for nothing, 1 to 8 for each eighth that was begun, 9 for the whole limit."""
    if percent < 0.5:
        return 0
    return min(LEVELS, 1 + int(percent * (LEVELS - 1) / 100))


def leaves(lives: Sequence[Life]) -> tuple[int, dict[str, tuple[int, int]]]:
    """How many partitions nothing came of, and which of them (first, end) each partition became.

    Partitions come in the order of their keys, children of one parent among themselves too. A partition
    whose parent is not there is a root.
    """
    there = {life.name for life in lives}
    children: dict[str | None, list[str]] = {}
    for life in lives:
        parent = life.parent if life.parent in there and life.parent != life.name else None
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
    """Lay partitions out in at most so many columns and rows. O(partitions x samples)."""
    count, spans = leaves(lives)
    count = max(count, 1)
    columns = max(1, min(columns, samples))
    rows = max(1, min(rows, count))
    percents = [[-1] * columns for _ in range(rows)]
    refused = [[False] * columns for _ in range(rows)]
    placed = []
    parents = {life.parent for life in lives}
    for life in sorted(lives, key=lambda each: each.first):
        top, bottom = spans[life.name]
        place = Placed(
            life,
            life.first * columns // samples,
            min(columns, -(-(life.first + len(life.used)) * columns // samples)),
            top * rows // count,
            max(bottom * rows // count, top * rows // count + 1),
            life.name in parents,
        )
        placed.append(place)
        _fill(place, samples, columns, percents, refused)
    return Grid(columns, rows, percents, refused, placed, -(-count // rows))


def _fill(
    place: Placed, samples: int, columns: int, percents: list[list[int]], refused: list[list[bool]]
) -> None:
    """Write one partition's largest values into its cells."""
    life = place.life
    peaks: dict[int, int] = {}
    hurt: set[int] = set()
    for offset, used in enumerate(life.used):
        column = min((life.first + offset) * columns // samples, columns - 1)
        peaks[column] = max(peaks.get(column, 0), min(round(used), PERCENT_MAX))
        if life.refused and life.refused[offset]:
            hurt.add(column)
    for row in range(place.top, place.bottom):
        for column, peak in peaks.items():
            percents[row][column] = max(percents[row][column], peak)
        for column in hurt:
            refused[row][column] = True


def heatmap(found: Grid, span_s: float, *, ago: bool = False) -> tuple[Frame, Markup]:
    """The drawing and its frame. `ago`: the right end is now."""
    tall = min(18.0, max(2.0, round(220 / found.rows, 1)))
    frame = Frame(span_s, found.rows, height=max(round(tall * found.rows, 1), 64))
    tall = frame.height / found.rows
    return frame, join(
        element("rect", x=frame.left, y=frame.top, width=frame.inner, height=frame.height, class_="u0"),
        _cells(found, frame, tall),
        _divides(found, frame, tall),
        _names(found, frame, tall),
        time_axis(frame, ago=ago),
        key(frame),
    )


def _cells(found: Grid, frame: Frame, tall: float) -> Markup:
    """One path for each level; cells of equal level that touch are one rectangle."""
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
        element("path", d="".join(parts), class_=f"u{shade}" if shade < REFUSED else "no")
        for shade, parts in sorted(paths.items())
    )


def _runs(found: Grid, row: int) -> list[tuple[int, int, int]]:
    """(first column, end, level) of the stretches of a row; level 0 is the ground and needs no drawing."""
    runs: list[tuple[int, int, int]] = []
    for column in range(found.columns):
        hurt = found.refused[row][column]
        shade = REFUSED if hurt else level(found.percents[row][column])
        if runs and runs[-1][2] == shade and runs[-1][1] == column:
            runs[-1] = (runs[-1][0], column + 1, shade)
        else:
            runs.append((column, column + 1, shade))
    return [run for run in runs if run[2]]


def _divides(found: Grid, frame: Frame, tall: float) -> Markup:
    """The borders of partitions: hair lines between rows while both lived, a stroke where one was split."""
    hairs, strokes = [], []
    for place in found.placed:
        x, end = frame.edge(place.left, found.columns), frame.edge(place.right, found.columns)
        if place.bottom < found.rows and found.joined == 1:
            hairs.append(f"M{number(x)} {number(frame.top + place.bottom * tall)}H{number(end)}")
        if place.split:
            y, below = frame.top + place.top * tall, frame.top + place.bottom * tall
            strokes.append(f"M{number(end)} {number(y)}V{number(below)}")
    return join(
        element("path", d="".join(hairs), class_="between") if hairs else None,
        element("path", d="".join(strokes), class_="split") if strokes else None,
    )


def _names(found: Grid, frame: Frame, tall: float) -> Markup:
    """Rows by name where there is room; otherwise only which end of the key space is which."""
    if tall < _NAMED_ROW_MIN or found.joined > 1:
        first = element("text", "first key", x=frame.left - 6, y=frame.top + 9, class_="tv")
        last = element("text", "last key", x=frame.left - 6, y=frame.floor, class_="tv")
        return join(first, last)
    return join(
        element(
            "text",
            brief(place.life.name),
            x=frame.left - 6,
            y=round(frame.top + (place.top + 0.5) * tall + 4, 1),
            class_="tv",
        )
        for place in found.placed
        if not place.split
    )


def brief(name: str) -> str:
    """Short name of a partition: "shard-000000012" is p12."""
    head, _, tail = name.rpartition("-")
    return f"p{int(tail)}" if head and tail.isascii() and tail.isdecimal() else name[:9]


def key(frame: Frame) -> Markup:
    """What the colours mean, in the right margin."""
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
        element("text", "refusing", x=x + 14, y=frame.top + 51, class_="end"),
    )


def cells_attribute(found: Grid) -> str:
    """For the cursor: rows apart by spaces, two characters a cell, base 36. "--" where there was nothing."""
    return " ".join(
        "".join(_pair(percent, hurt) for percent, hurt in zip(percents, refused, strict=True))
        for percents, refused in zip(found.percents, found.refused, strict=True)
    )


def _pair(percent: int, hurt: bool) -> str:
    if percent < 0:
        return "--"
    value = percent + (PERCENT_MAX + 1 if hurt else 0)
    return _DIGITS[value // 36] + _DIGITS[value % 36]


def parts_attribute(found: Grid) -> str:
    """For the cursor: name,left,right,top,bottom of each partition; names lose what would divide them."""
    return ";".join(
        f"{brief(p.life.name).translate({44: None, 59: None})},{p.left},{p.right},{p.top},{p.bottom}"
        for p in found.placed
    )
