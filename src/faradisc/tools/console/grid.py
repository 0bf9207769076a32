"""The grid of items: key attributes first, a column for each attribute, cells by type.

Columns are named by number, because the grid gives characters in names a meaning. Cells are text;
nothing of an item is treated as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.values import Item, cell, type_of, visible

COLUMNS_MAX: Final = 60
"""Most columns; the editor shows all attributes."""


class ItemGrid:
    """Items in a grid. `items` holds those that are shown, by the number of their row."""

    def __init__(self, keys: Sequence[str], on_open: Callable[[int], Any]) -> None:
        """on_open: called with the number of a row that was double-clicked or entered."""
        self.items: list[Item] = []
        self._keys = list(keys)
        self._names: list[str] = []
        self._grid = ui.aggrid(
            {
                "columnDefs": [],
                "defaultColDef": {"sortable": True, "resizable": True, "width": 170},
                "rowData": [],
                "rowSelection": {"mode": "multiRow", "enableClickSelection": True},
                "selectionColumnDef": {"pinned": "left"},
                ":getRowId": "params => String(params.data.row)",
                "overlayNoRowsTemplate": "No items",
            },
            auto_size_columns=False,
        ).classes("grid")
        self._grid.set_visibility(False)
        self._grid.on("cellDoubleClicked", lambda event: on_open(event.args["data"]["row"]), ["data"])
        self._grid.on("cellKeyDown", lambda event: self._entered(event.args, on_open), ["data", "event"])

    @staticmethod
    def _entered(event: dict[str, Any], on_open: Callable[[int], Any]) -> None:
        if (event.get("event") or {}).get("key") == "Enter":
            on_open(event["data"]["row"])

    def show(self, items: Sequence[Item], hidden: Sequence[str] = ()) -> int:
        """Shows items. Returns how many attributes have no column."""
        self.items = list(items)
        self._grid.set_visibility(True)
        found = dict.fromkeys(name for item in self.items for name in item)
        ordered = [n for n in self._keys if n in found or not found] + [
            n for n in found if n not in self._keys
        ]
        self._names = ordered[:COLUMNS_MAX]
        self._grid.options["columnDefs"] = [
            {
                "field": f"c{at}",
                "headerName": visible(name)[:80],
                "hide": name in hidden,
                "pinned": "left" if at == 0 and name in self._keys else None,
                ":cellClass": f"params => 'kind-' + (params.data.t{at} || 'S')",
            }
            for at, name in enumerate(self._names)
        ]
        self._grid.options["rowData"] = [self._row(number, item) for number, item in enumerate(self.items)]
        self._grid.update()
        return len(ordered) - len(self._names)

    def _row(self, number: int, item: Item) -> dict[str, Any]:
        row: dict[str, Any] = {"row": number}
        for at, name in enumerate(self._names):
            value = item.get(name)
            if value is not None:
                row[f"c{at}"], row[f"t{at}"] = cell(value), type_of(value)
        return row

    @property
    def names(self) -> list[str]:
        """The attributes that have columns."""
        return self._names

    async def selected(self) -> list[int]:
        """Returns the numbers of the selected rows."""
        return [row["row"] for row in await self._grid.get_selected_rows()]
