"""How much is drawn. Each step down halves it, so that any run ends in a page of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


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


def steps() -> Iterator[Detail]:
    """From the finest to the coarsest."""
    columns, heat_rows, rows, text = 360, 120, 100, 300
    while columns >= 8:
        yield Detail(columns, heat_rows, rows, text)
        columns, heat_rows, rows, text = columns // 2, heat_rows // 2, rows // 2, max(text // 2, 40)


def cut(text: str, detail: Detail) -> str:
    """A text that is not longer than a page can bear."""
    return text if len(text) <= detail.text else text[: detail.text - 1] + "\u2026"
