"""How much is drawn. Each step down halves it, so that any run ends in a page of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COLUMNS_MAX = 480
"""Points of a chart over time: a day in stretches of three minutes."""
_HEAT_ROWS_MAX = 120
_ROWS_MAX = 100
_TEXT_MAX = 300
_CELL_BYTES = 10
"""What a cell of a heat map costs about, where neighbours differ."""


@dataclass(frozen=True, slots=True)
class Detail:
    columns: int
    """Points of a chart over time, at most."""
    heat_rows: int
    """Rows of a heat map, at most."""
    rows: int
    """Rows of a table, at most."""
    text: int
    """Characters of a name or of a sentence that came from outside, at most."""

    @property
    def paragraph(self) -> int:
        """Characters of a description, at most."""
        return 4 * self.text


def steps(heat_maps: Sequence[tuple[int, int]], bytes_max: int) -> Iterator[Detail]:
    """From the finest to the coarsest, without those whose heat maps alone would be too large.

    `heat_maps`: columns and rows of each, were nothing left out.
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
    """A text that is not longer than a page can bear."""
    return text if len(text) <= detail.text else text[: detail.text - 1] + "\u2026"


def cut_paragraph(text: str, detail: Detail) -> str:
    """Likewise for several sentences, which end with a whole word unless there is none."""
    most = detail.paragraph
    if len(text) <= most:
        return text
    words, _, _ = text[:most].rpartition(" ")
    return (words or text[: most - 2]) + " \u2026"
