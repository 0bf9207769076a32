"""Tables: numbers on the right with their unit in the head of the column, words on the left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.words import plural
from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    unit: str = ""
    words: bool = False
    """Whether the column has words, which are aligned left."""
    detail: bool = False
    """Whether a terminal, which is narrow, leaves the column out."""


@dataclass(frozen=True, slots=True)
class Row:
    cells: Sequence[Child]
    style: str | None = None
    note: str | None = None
    """A sentence about the row, below it."""


@dataclass(frozen=True, slots=True)
class ChartTable:
    """A table whose first column names its rows."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    left_out: int = 0
    """Rows that are not shown."""
    where: str = ""
    """Where they are."""

    def html(self) -> Markup:
        head = element("tr", [element("th", _headed(c), scope="col", class_=_style(c)) for c in self.columns])
        body = [part for row in self.rows for part in self._row(row)]
        if self.left_out:
            note = f"{plural(self.left_out, 'more row')} left out{'; ' + self.where if self.where else ''}."
            body.append(element("tr", element("td", note, colspan=len(self.columns), class_="t more")))
        caption = element("caption", self.caption)
        return element(
            "div", element("table", caption, element("thead", head), element("tbody", body)), class_="wide"
        )

    def _row(self, row: Row) -> list[Markup]:
        cells = [
            element(
                "td" if position else "th", cell, class_=_style(column), scope=None if position else "row"
            )
            for position, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True))
        ]
        if not row.note:
            return [element("tr", cells, class_=row.style)]
        style = f"over {row.style}" if row.style else "over"
        note = element("td", row.note, class_="t", colspan=len(self.columns) - 1)
        return [element("tr", cells, class_=style), element("tr", element("td"), note, class_="under")]


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Row | Sequence[Child]], *, left_out: int = 0
) -> Markup:
    return ChartTable(caption, columns, rows_of(rows), left_out).html()


def rows_of(rows: Iterable[Row | Sequence[Child]]) -> list[Row]:
    return [row if isinstance(row, Row) else Row(row) for row in rows]


def _headed(column: Column) -> Child:
    return [column.title, element("small", column.unit) if column.unit else None]


def _style(column: Column) -> str:
    return "t" if column.words else "n"


def pairs(facts: Iterable[tuple[str, Child]]) -> Markup:
    """Returns a list of terms and values."""
    return element("dl", [element("div", element("dt", term), element("dd", value)) for term, value in facts])
