"""Markup, words, buckets, axes, plots and heat maps, by what a reader sees of them."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.charts import words
from faradisc.charts.axes import Frame, ticks, time_ticks
from faradisc.charts.buckets import lows, peaks
from faradisc.charts.heatmap import PERCENT_MAX, Life, grid, heatmap, leaves, level
from faradisc.charts.markup import element, escape, join
from faradisc.charts.page import page
from faradisc.charts.plots import PlotSeries, area, ends, figure, line, stack

FRAME = Frame(span_s=100, high=10, height=100, left=0, right=0, top=0, width=100)
"""One pixel a second across, ten a unit up, zero at y 100."""


def path_of(markup: str) -> str:
    return re.findall(r' d="([^"]*)"', markup)[0]


# --- Markup ---------------------------------------------------------------------------------------


@given(st.text())
def test_text_survives_parsing_except_for_characters_that_xml_forbids(text: str) -> None:
    written = element("td", text, title=text)
    parsed = ElementTree.fromstring(written)
    kept = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    # A parser of XML makes every line end a "\n", and in attributes a space.
    assert parsed.text == (re.sub("\r\n?", "\n", kept) or None)
    assert parsed.get("title") == re.sub("[\t\n]", " ", re.sub("\r\n?", "\n", kept))


def test_markup_is_escaped_once() -> None:
    assert element("b", element("i", "a < b")) == "<b><i>a &lt; b</i></b>"
    assert escape(escape("&")) == "&amp;"
    assert join("<", None, ["x", [2.5]]) == "&lt;x2.5"


def test_attributes_are_named_as_in_python() -> None:
    written = element("rect", class_="a", data_x=1.26, hidden=True, x=None, y=False)
    assert written == '<rect class="a" data-x="1.3" hidden=""/>'


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (words.units(1234567), "1,234,567"),
        (words.units(12.5), "12.5"),
        (words.units(0.125), "0.12"),
        (words.units(-3), "\u22123"),
        (words.short(12_000), "12k"),
        (words.short(2_500_000), "2.5M"),
        (words.percent(1, 3), "33 %"),
        (words.percent(0.00001), "< 0.01 %"),
        (words.percent(99.9999), "> 99.99 %"),
        (words.percent(100), "100 %"),
        (words.percent(3, 0), "0 %"),
        (words.money(3.575), "$3.58"),
        (words.money(12_345.6), "$12,346"),
        (words.size(10 * 2**30), "10 GiB"),
        (words.size(912), "912 B"),
        (words.duration(3_900), "1 h 5 min"),
        (words.duration(86_400 * 2 + 60), "2 d"),
        (words.duration(0.5), "0.5 s"),
        (words.each(60), "minute"),
        (words.each(600), "10 min"),
        (words.elapsed(93_784), "1d 02:03:04"),
        (words.elapsed(65, with_seconds=False), "0:01"),
        (words.plural(1, "split"), "1 split"),
        (words.plural(2, "split"), "2 splits"),
    ],
)
def test_words(said: str, expected: str) -> None:
    assert said.replace(words.SPACE, " ") == expected


# --- Buckets and axes -----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=400), st.integers(1, 50))
def test_buckets_keep_the_peak_and_the_low(values: list[int], count: int) -> None:
    assert max(peaks(values, count)) == max(values)
    assert min(lows(values, count)) == min(values)
    assert len(peaks(values, count)) == min(count, len(values))


@given(st.floats(1e-6, 1e12))
def test_ticks_reach_the_highest_value_and_are_few(high: float) -> None:
    values = ticks(high)
    assert values[0] == 0
    assert values[-1] >= high * 0.999
    assert 2 <= len(values) <= 6


@given(st.floats(1, 1e10))
def test_time_ticks_are_few_and_within(span: float) -> None:
    values = time_ticks(span)
    assert 1 <= len(values) <= 9
    assert values[-1] <= span


def test_ticks_of_nothing() -> None:
    assert ticks(0) == [0, 1]
    assert time_ticks(0) == [0]


# --- Plots ----------------------------------------------------------------------------------------


def test_area_is_drawn_in_steps() -> None:
    drawn = area(FRAME, PlotSeries("a", [2, 2, 5, 0], "use"))
    assert path_of(drawn) == "M0 100V80H50V50H75V100H100V100z"


def test_line_breaks_at_none() -> None:
    drawn = line(FRAME, PlotSeries("a", [None, 1, None, 3], "limit"))
    assert path_of(drawn) == "M25 90V90H50M75 70V70H100"


def test_stack_draws_layers_on_top_of_each_other() -> None:
    drawn = stack(FRAME, [PlotSeries("a", [2, 0], "c0"), PlotSeries("b", [3, 4], "c1")])
    lower, upper = re.findall(r' d="([^"]*)"', drawn)
    assert lower == "M0 100V80H50V100H0z"
    assert upper == "M0 80V50H50V60H100V100H50V80H0z"


def test_line_names_do_not_overlap() -> None:
    drawn = ends(FRAME, [(0, "a", "use"), (0.1, "b", "use"), (0.2, "c", "use")])
    heights = [float(y) for y in re.findall(r' y="([^"]*)"', drawn)]
    assert heights == sorted(heights)
    assert min(b - a for a, b in pairwise(heights)) >= 12
    assert heights[-1] <= FRAME.floor + 4


def test_figure_has_title_alternative_text_and_numbers() -> None:
    drawn = figure(
        "Reads",
        element("g"),
        FRAME,
        "Five at most.",
        "how",
        readings=(PlotSeries("served", [1, None, 5000], "use"),),
        unit="u",
    )
    parsed = ElementTree.fromstring(drawn)
    svg = parsed.find(".//svg")
    assert svg is not None
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == "Reads. Five at most."
    assert parsed.findtext("figcaption/b") == "Reads"
    plot = parsed.find("div")
    assert plot is not None
    assert plot.get("data-read") == "u;served=1,,5000"
    assert plot.get("data-span") == "100"


# --- Heat maps ------------------------------------------------------------------------------------

A = Life("shard-000000000", None, 0, [50, 50, 50, 50])
B = Life("shard-000000001", None, 0, [100, 100], [0, 3])
B1 = Life("shard-000000002", "shard-000000001", 2, [10, 10])
B2 = Life("shard-000000003", "shard-000000001", 2, [90, 0])
SPLIT = [A, B, B1, B2]


def test_parent_is_as_tall_as_its_children() -> None:
    count, spans = leaves(SPLIT)
    assert count == 3
    assert spans == {A.name: (0, 1), B.name: (1, 3), B1.name: (1, 2), B2.name: (2, 3)}


def drawn_heatmap() -> ElementTree.Element:
    return ElementTree.fromstring(heatmap(grid(SPLIT, 4, 100, 100), 240, "One split.", "how"))


def test_cells_have_use_and_throttling() -> None:
    found = grid(SPLIT, 4, 100, 100)
    assert (found.columns, found.rows, found.joined) == (4, 3, 1)
    assert found.percents == [[50, 50, 50, 50], [100, 100, 10, 10], [100, 100, 90, 0]]
    assert found.throttled == [[False] * 4, [False, True, False, False], [False, True, False, False]]
    plot = drawn_heatmap().find("div")
    assert plot is not None
    cells = plot.get("data-cells", "").split(" ")
    rows = [[row[i : i + 2] for i in range(0, len(row), 2)] for row in cells]
    assert [[int(cell, 36) for cell in row] for row in rows] == [
        [50, 50, 50, 50],
        [100, 100 + PERCENT_MAX + 1, 10, 10],
        [100, 100 + PERCENT_MAX + 1, 90, 0],
    ]
    assert plot.get("data-parts") == "p0,0,4,0,1;p1,0,2,1,3;p2,2,4,1,2;p3,2,4,2,3"


def test_split_is_a_stroke_where_the_row_divides() -> None:
    parsed = drawn_heatmap()
    strokes = [path.get("d") for path in parsed.iter("path") if path.get("class") == "split"]
    frame = Frame(240, 3, height=64)
    assert strokes == [f"M{frame.edge(2, 4):g} {frame.top + frame.height / 3:.1f}V{frame.floor:g}"]
    names = [text.text for text in parsed.iter("text")]
    assert names[:3] == ["p0", "p2", "p3"]
    assert [path.get("class") for path in parsed.iter("path") if path.get("class") == "no"] == ["no"]


def test_reduced_heat_map_keeps_the_hottest_cell() -> None:
    lives = [
        Life(f"p-{i}", None, 0, [100 if (i, j) == (77, 301) else 1 for j in range(600)]) for i in range(100)
    ]
    found = grid(lives, 600, 60, 10)
    assert (found.columns, found.rows, found.joined) == (60, 10, 10)
    assert [(r, c) for r in range(10) for c in range(60) if found.percents[r][c] == 100] == [(7, 30)]


def test_children_without_parent_are_roots() -> None:
    count, spans = leaves([B1, B2])
    assert count == 2
    assert spans == {B1.name: (0, 1), B2.name: (1, 2)}


def test_levels_rise_with_use() -> None:
    levels = [level(percent) for percent in range(700)]
    assert levels == sorted(levels)
    assert (levels[0], levels[1], levels[99], levels[100], levels[699]) == (0, 1, 8, 9, 9)


# --- Page -----------------------------------------------------------------------------------------


def test_page_is_complete_and_loads_nothing() -> None:
    written = page("T & co", element("p", "x"))
    parsed = ElementTree.fromstring(written.removeprefix("<!DOCTYPE html>\n"))
    assert parsed.findtext("head/title") == "T & co"
    assert "http://" not in written.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in written
    assert "url(" not in written
    assert "@import" not in written


def test_policy_of_page_allows_only_its_own_script() -> None:
    written = page("T")
    for kind in ("script", "style"):
        inside = re.findall(f"<{kind}>(.*)</{kind}>", written, re.S)
        assert len(inside) == 1
        digest = b64encode(sha256(inside[0].encode()).digest()).decode()
        assert f"{kind}-src &#39;sha256-{digest}&#39;" in written
