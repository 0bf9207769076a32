"""How much is drawn. Each step down halves it, so that any run becomes a page of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faradisc.charts.words import SPACE
from faradisc.records import dataclass

COLUMNS_MAX = 480
"""Points of a chart over time: a day in parts of three minutes."""
_HEAT_ROWS_MAX = 120
_ROWS_MAX = 100
_TEXT_MAX = 300
_CELL_BYTES = 10
"""Approximate size of a cell of a heat map that differs from those around it."""


@dataclass(frozen=True, slots=True)
class Detail:
    """Upper bounds."""

    columns: int
    """Points of a chart over time."""
    heat_rows: int
    """Rows of a heat map."""
    rows: int
    """Rows of a table."""
    text: int
    """Characters of a name or a sentence from outside."""


def steps(heat_maps: Sequence[tuple[int, int]], bytes_max: int) -> Iterator[Detail]:
    """Yields details from the finest to the coarsest, without those whose heat maps alone are too large.

    `heat_maps`: columns and rows of each in full detail.
    """
    detail = Detail(COLUMNS_MAX, _HEAT_ROWS_MAX, _ROWS_MAX, _TEXT_MAX)
    while detail.columns >= 10:
        coarser = Detail(
            detail.columns // 2, max(detail.heat_rows // 2, 8), detail.rows // 2, max(detail.text // 2, 40)
        )
        cells = sum(min(columns, detail.columns) * min(rows, detail.heat_rows) for columns, rows in heat_maps)
        if cells * _CELL_BYTES <= bytes_max or coarser.columns < 10:
            yield detail
        detail = coarser


def cut(text: str, detail: Detail) -> str:
    """Returns at most `detail.text` characters of a text."""
    text = text.replace(" %", f"{SPACE}%")  # a number and its sign stay on one line
    return text if len(text) <= detail.text else text[: detail.text - 1] + "\u2026"


def cut_paragraph(text: str, detail: Detail) -> str:
    """Returns at most four times as many, ending with a whole word unless there is none."""
    most = 4 * detail.text
    text = text.replace(" %", f"{SPACE}%")  # a number and its sign stay on one line
    if len(text) <= most:
        return text
    words, _, _ = text[:most].rpartition(" ")
    return (words or text[: most - 2]) + " \u2026"
