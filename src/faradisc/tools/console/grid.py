"""The grid of items: key attributes first, a column for each attribute, cells by type, entities as chips.

Columns are named by number, because the grid gives characters in names a meaning. Cells are text;
nothing of an item is treated as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from faradisc.records import dataclass
from faradisc.tools.console.entities import UNNAMED, colour_of, entity_name
from faradisc.tools.console.staging import StagedRow
from faradisc.tools.console.values import Item, cell, is_inline, type_of, visible

COLUMNS_MAX: Final = 60
"""Most columns; the editor shows all attributes."""
_CHIP: Final = """params => {
  if (!params.value) return "";
  const chip = document.createElement("span");
  chip.className = "entity e" + params.data.e;
  chip.textContent = params.value;
  return chip;
}"""
_OPENED: Final = "event => event.column.isCellEditable(event.node) ? undefined : event.data.row"
_KEY: Final = """event => {
  const key = event.event, copy = key.key === "c" && (key.ctrlKey || key.metaKey);
  const cell = key.target.closest(".ag-cell");
  // The key that ends an edit comes from a field that is in no cell any more.
  if (!cell || cell.classList.contains("ag-cell-inline-editing")) return undefined;
  if (!copy && key.key !== "Enter") return undefined;
  return {row: event.data.row, copy: copy, field: event.column.getColId()};
}"""
_CHANGED: Final = """event =>
  ({row: event.data.row, field: event.column.getColId(), text: event.newValue ?? ""})"""
_MENU: Final = "event => { event.node.setSelected(true, true); return event.data.row; }"
_EDITOR: Final = """params => params.data["t" + params.column.getColId().slice(1)] === "BOOL"
  ? {component: "agSelectCellEditor", params: {values: ["true", "false"]}}
  : {component: "agTextCellEditor"}"""


@dataclass(frozen=True, slots=True)
class GridActions:
    """What a grid calls; rows are meant by their numbers, attributes by their names."""

    open: Callable[[int], Any]
    """A row was double-clicked or entered."""
    select: Callable[[list[int]], Any] | None = None
    edit: Callable[[int, str, str], Any] | None = None
    """A cell was edited in place; with the text."""
    copy: Callable[[int, str], Any] | None = None
    """Ctrl C in a cell."""
    menu: Callable[[int], Any] | None = None
    """A row was clicked with the other button; it is selected now."""


def grid_of(options: dict[str, Any]) -> ui.aggrid:
    """Draws a grid of AG Grid, which the browser makes once; NiceGUI would make it twice."""
    few = {"rowBuffer": 4, "animateRows": False}
    grid = ui.aggrid(few | options, auto_size_columns=False)
    grid._update_method = None
    return grid


def on_grid(grid: ui.aggrid, event: str, sent: str, handler: Callable[[Any], Any]) -> None:
    """Handles an event of a grid; NiceGUI passes neither the key nor the node of one.

    sent: JavaScript function from the event to what the handler gets; undefined for nothing.
    """
    grid.options[f":on{event[0].upper()}{event[1:]}"] = (
        f"event => {{ const sent = ({sent})(event); "
        f"if (sent !== undefined) getElement({grid.id}).$emit('own{event}', sent); }}"
    )
    grid.on(f"own{event}", lambda emitted: handler(emitted.args))


class ItemGrid:
    """Items in a grid."""

    def __init__(
        self, keys: Sequence[str], actions: GridActions, *, colours: dict[str, int] | None = None
    ) -> None:
        """colours: of entities, which then have chips."""
        self._rows: list[StagedRow] = []
        self._keys = list(keys)
        self._colours = colours
        self._actions = actions
        self._names: list[str] = []
        self._shown: tuple[Any, ...] = ()
        self._grid: ui.aggrid | None = None
        """Made with its first rows: the browser makes it again for other columns."""
        self._place = ui.element("div").classes("grid")
        self._place.set_visibility(False)

    def _made(self, columns: list[dict[str, Any]], data: list[dict[str, Any]]) -> ui.aggrid:
        actions = self._actions
        grid = grid_of(
            {
                "columnDefs": columns,
                "defaultColDef": {
                    "sortable": True,
                    "resizable": True,
                    "width": 160,
                    "cellDataType": False,
                    # Enter opens the item; typing, F2 and a double click edit the cell.
                    ":suppressKeyboardEvent": "params => params.event.key === 'Enter' && !params.editing",
                },
                "rowData": data,
                "rowSelection": {"mode": "multiRow", "enableClickSelection": True},
                "selectionColumnDef": {"pinned": "left", "width": 40},
                "stopEditingWhenCellsLoseFocus": True,
                "preventDefaultOnContextMenu": actions.menu is not None,
                ":getRowId": "params => String(params.data.row)",
                ":getRowClass": "params => params.data.s ? 'row-' + params.data.s : ''",
                "overlayNoRowsTemplate": "No items",
            }
        )
        on_grid(grid, "cellDoubleClicked", _OPENED, actions.open)
        on_grid(grid, "cellKeyDown", _KEY, self._key)
        if actions.select is not None:
            select = actions.select
            picked = f"() => emit(getElement({grid.id}).api.getSelectedRows().map(row => row.row))"
            grid.on("selectionChanged", lambda event: select(event.args or []), js_handler=picked)
        if actions.edit is not None:
            on_grid(grid, "cellValueChanged", _CHANGED, self._edited)
        if actions.menu is not None:
            on_grid(grid, "cellContextMenu", _MENU, actions.menu)
        return grid

    def _name(self, field: str) -> str:
        """Returns the attribute of a column; empty for one that is none."""
        number = field.removeprefix("c")
        return self._names[int(number)] if number.isdecimal() and int(number) < len(self._names) else ""

    def _key(self, pressed: dict[str, Any]) -> Any:
        if not pressed["copy"]:
            return self._actions.open(pressed["row"])
        name = self._name(str(pressed["field"]))
        return self._actions.copy(pressed["row"], name) if self._actions.copy is not None and name else None

    def _edited(self, change: dict[str, Any]) -> Any:
        assert self._actions.edit is not None
        return self._actions.edit(change["row"], self._name(str(change["field"])), str(change["text"]))

    def shows(self, keys: Sequence[str], colours: dict[str, int]) -> None:
        """Says of which table the next items are. colours: of its entities."""
        self._keys, self._colours, self._shown = list(keys), colours, ()

    def clear(self) -> None:
        """Hides the grid and forgets its rows."""
        self._rows = []
        self._place.set_visibility(False)

    def show_items(self, items: Sequence[Item]) -> int:
        """Shows items without changes. Returns how many attributes have no column."""
        return self.show([StagedRow(number, item, "") for number, item in enumerate(items)])

    def show(self, rows: Sequence[StagedRow], hidden: Sequence[str] = ()) -> int:
        """Shows rows. Returns how many attributes have no column."""
        self._rows = list(rows)
        self._place.set_visibility(True)
        found = dict.fromkeys(name for row in rows for name in row.item)
        ordered = [n for n in self._keys if n in found or not found] + [
            n for n in found if n not in self._keys
        ]
        self._names = ordered[:COLUMNS_MAX]
        kinds = {entity_name(row.item, self._keys) for row in rows} if self._colours is not None else set()
        has_chips = bool(kinds - {UNNAMED})
        data = [self._row(row, chip=has_chips) for row in rows]
        shown = (tuple(self._names), tuple(hidden), has_chips)
        if self._grid is not None and shown == self._shown:
            # The same columns: the grid keeps its scroll position, order and selection.
            self._grid.options["rowData"] = data
            self._grid.run_grid_method("setGridOption", "rowData", data)
            self._grid.run_grid_method("redrawRows")
            return len(ordered) - len(self._names)
        self._shown = shown
        kinds_of = [(name, type_of(value)) for row in rows for name, value in row.item.items()]
        numbers = {name for name, kind in kinds_of if kind == "N"} - {
            n for n, kind in kinds_of if kind != "N"
        }
        chips = {"field": "k", "headerName": "", "width": 104, "pinned": "left", ":cellRenderer": _CHIP}
        columns = [chips] * has_chips + [
            {
                "field": f"c{at}",
                "headerName": visible(name)[:80],
                "hide": name in hidden,
                "headerClass": "ag-right-aligned-header" if name in numbers else "",
                "pinned": "left" if at == 0 and name in self._keys else None,
                ":cellClass": f"params => 'kind-' + (params.data.t{at} || 'S')",
                "editable": False,
            }
            | (
                {
                    ":editable": f"params => params.data.s !== 'deleted' && !params.data.x{at}",
                    ":cellEditorSelector": _EDITOR,
                }
                if self._actions.edit is not None and name not in self._keys
                else {}
            )
            for at, name in enumerate(self._names)
        ]
        if self._grid is None:
            with self._place:
                self._grid = self._made(columns, data)
        else:
            self._grid.options.update(columnDefs=columns, rowData=data)
            self._grid._update_method = "update_grid"
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
            if not is_inline(value):
                row[f"x{at}"] = 1
        return row

    def filter(self, text: str) -> None:
        """Shows the rows that contain a text."""
        if self._grid is not None:
            self._grid.run_grid_method("setGridOption", "quickFilterText", text)

    @property
    def items(self) -> list[Item]:
        """The items that are shown."""
        return [row.item for row in self._rows if row.state != "deleted"]

    @property
    def names(self) -> list[str]:
        """The attributes that have columns."""
        return self._names
