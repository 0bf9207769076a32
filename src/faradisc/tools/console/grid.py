"""The grid of items: key attributes first, a column for each attribute, cells by type, entities as chips.

Columns are named by number, because the grid gives characters in names a meaning. Cells are text;
nothing of an item is treated as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.entities import UNNAMED, colour_of, entity_name
from faradisc.tools.console.staging import StagedRow
from faradisc.tools.console.values import Item, cell, type_of, visible

COLUMNS_MAX: Final = 60
"""Most columns; the editor shows all attributes."""
_CHIP: Final = """params => {
  if (!params.value) return "";
  const chip = document.createElement("span");
  chip.className = "entity e" + params.data.e;
  chip.textContent = params.value;
  return chip;
}"""


class ItemGrid:
    """Items in a grid."""

    def __init__(
        self,
        keys: Sequence[str],
        on_open: Callable[[int], Any],
        *,
        on_select: Callable[[list[int]], Any] | None = None,
        colours: dict[str, int] | None = None,
    ) -> None:
        """on_open: called with the number of a row that was double-clicked or entered. on_select: with the
        numbers of the selected rows. colours: of entities, which then have chips."""
        self._rows: list[StagedRow] = []
        self._keys = list(keys)
        self._colours = colours
        self._names: list[str] = []
        self._shown: tuple[Any, ...] = ()
        self._grid = ui.aggrid(
            {
                "columnDefs": [],
                "defaultColDef": {"sortable": True, "resizable": True, "width": 160},
                "rowData": [],
                "rowSelection": {"mode": "multiRow", "enableClickSelection": True},
                "selectionColumnDef": {"pinned": "left", "width": 40},
                ":getRowId": "params => String(params.data.row)",
                ":getRowClass": "params => params.data.s ? 'row-' + params.data.s : ''",
                "overlayNoRowsTemplate": "No items",
            },
            auto_size_columns=False,
        ).classes("grid")
        self._grid.set_visibility(False)
        self._grid.on("cellDoubleClicked", lambda event: on_open(event.args["data"]["row"]), ["data"])
        self._grid.on("cellKeyDown", lambda event: self._entered(event.args, on_open), ["data", "event"])
        if on_select is not None:
            picked = f"() => emit(getElement({self._grid.id}).api.getSelectedRows().map(row => row.row))"
            self._grid.on("selectionChanged", lambda event: on_select(event.args or []), js_handler=picked)

    @staticmethod
    def _entered(event: dict[str, Any], on_open: Callable[[int], Any]) -> None:
        if (event.get("event") or {}).get("key") == "Enter":
            on_open(event["data"]["row"])

    def clear(self) -> None:
        """Hides the grid and forgets its rows."""
        self._rows = []
        self._grid.set_visibility(False)

    def show_items(self, items: Sequence[Item]) -> int:
        """Shows items without changes. Returns how many attributes have no column."""
        return self.show([StagedRow(number, item, "") for number, item in enumerate(items)])

    def show(self, rows: Sequence[StagedRow], hidden: Sequence[str] = ()) -> int:
        """Shows rows. Returns how many attributes have no column."""
        self._rows = list(rows)
        self._grid.set_visibility(True)
        found = dict.fromkeys(name for row in rows for name in row.item)
        ordered = [n for n in self._keys if n in found or not found] + [
            n for n in found if n not in self._keys
        ]
        self._names = ordered[:COLUMNS_MAX]
        kinds = {entity_name(row.item, self._keys) for row in rows} if self._colours is not None else set()
        has_chips = bool(kinds - {UNNAMED})
        data = [self._row(row, chip=has_chips) for row in rows]
        self._grid.options["rowData"] = data
        shown = (tuple(self._names), tuple(hidden), has_chips)
        if shown == self._shown:
            # The same columns: the grid keeps its scroll position, order and selection.
            self._grid.run_grid_method("setGridOption", "rowData", data)
            self._grid.run_grid_method("redrawRows")
            return len(ordered) - len(self._names)
        self._shown = shown
        chips = {"field": "k", "headerName": "", "width": 104, "pinned": "left", ":cellRenderer": _CHIP}
        self._grid.options["columnDefs"] = [chips] * has_chips + [
            {
                "field": f"c{at}",
                "headerName": visible(name)[:80],
                "hide": name in hidden,
                "pinned": "left" if at == 0 and name in self._keys else None,
                ":cellClass": f"params => 'kind-' + (params.data.t{at} || 'S')",
            }
            for at, name in enumerate(self._names)
        ]
        self._grid.update()
        return len(ordered) - len(self._names)

    def _row(self, shown: StagedRow, *, chip: bool) -> dict[str, Any]:
        row: dict[str, Any] = {"row": shown.number, "s": shown.state}
        if chip and self._colours is not None:
            name = entity_name(shown.item, self._keys)
            row["k"] = visible(name) if name != UNNAMED else ""
            row["e"] = colour_of(name, self._colours)
        for at, name in enumerate(self._names):
            value = shown.item.get(name)
            if value is not None:
                row[f"c{at}"], row[f"t{at}"] = cell(value), type_of(value)
        return row

    def filter(self, text: str) -> None:
        """Shows the rows that contain a text."""
        self._grid.run_grid_method("setGridOption", "quickFilterText", text)

    @property
    def items(self) -> list[Item]:
        """The items that are shown."""
        return [row.item for row in self._rows if row.state != "deleted"]

    @property
    def names(self) -> list[str]:
        """The attributes that have columns."""
        return self._names
