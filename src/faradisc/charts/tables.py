"""Tables of numbers: right-aligned, the unit in the head of the column, words on the left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.words import plural


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    unit: str = ""
    words: bool = False
    """Whether it holds words, which stand on the left."""


@dataclass(frozen=True, slots=True)
class Row:
    cells: Sequence[Child]
    style: str | None = None
    note: Child = None
    """A sentence about the row, below it over all columns but the first."""


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Row | Sequence[Child]],
    *,
    left_out: int = 0,
    where: str = "",
) -> Markup:
    """A table. The first column names its rows. `left_out` rows are mentioned at the end, and `where`."""
    head = element("tr", [element("th", _headed(c), scope="col", class_=_style(c)) for c in columns])
    body = [part for row in rows for part in _rows(columns, row if isinstance(row, Row) else Row(row))]
    if left_out:
        said = f"{plural(left_out, 'more row')} left out{'; ' + where if where else ''}."
        body.append(element("tr", element("td", said, colspan=len(columns), class_="t more")))
    return element(
        "div",
        element("table", element("caption", caption), element("thead", head), element("tbody", body)),
        class_="wide",
    )


def _headed(column: Column) -> Child:
    return [column.title, element("small", column.unit) if column.unit else None]


def _style(column: Column) -> str:
    return "t" if column.words else "n"


def _rows(columns: Sequence[Column], row: Row) -> list[Markup]:
    cells = [
        element("td" if position else "th", cell, class_=_style(column), scope=None if position else "row")
        for position, (column, cell) in enumerate(zip(columns, row.cells, strict=True))
    ]
    if not row.note:
        return [element("tr", cells, class_=row.style)]
    style = f"over {row.style}" if row.style else "over"
    note = element("td", row.note, class_="t", colspan=len(columns) - 1)
    return [element("tr", cells, class_=style), element("tr", element("td"), note, class_="under")]


def pairs(facts: Iterable[tuple[str, Child]]) -> Markup:
    """Terms and what they are."""
    return element("dl", [element("div", element("dt", term), element("dd", said)) for term, said in facts])
