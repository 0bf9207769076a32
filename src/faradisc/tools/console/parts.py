"""Parts that several pages draw: headings, dialogs, names with values, tables, charts, editors of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.dialog import Dialog
from nicegui.elements.mixins.disableable_element import DisableableElement

from faradisc.tools.console.drawing import Drawing
from faradisc.tools.console.entities import colour_of
from faradisc.tools.console.values import visible

CHART_TEXT: Final = {"color": "#868e96"}
"""Style of text in charts, readable on light and on dark pages."""


class Diagram(Element, component="diagram.js"):
    """A drawing of cards and arrows."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._props["label"] = label

    def show(self, drawing: Drawing) -> None:
        self._props.update(drawing.props())
        self.update()


def heading(text: str) -> ui.label:
    return ui.label(text).classes("text-lg").props("role=heading aria-level=2")


def note(text: str = "") -> ui.label:
    """Returns a label of less importance."""
    return ui.label(text).classes("soft")


def dot(state: str) -> ui.element:
    """Draws the state of something as a coloured dot, with its word for screen readers."""
    return ui.element("span").classes(f"dot {state.lower()}").props(f'role=img aria-label="{state.lower()}"')


def entity_chip(name: str, colours: dict[str, int]) -> ui.label:
    """Draws the name of an entity in its colour. colours: those of the table."""
    return ui.label(visible(name)).classes(f"entity e{colour_of(name, colours)}")


def icon_button(icon: str, label: str, action: Callable[..., Any]) -> ui.button:
    """Returns a button without text. label: what it does, for a tooltip and for screen readers."""
    return ui.button(icon=icon, on_click=action).props(f"flat dense aria-label='{label}'").tooltip(label)


@contextmanager
def dialog_of(title: str, *, narrow: bool = False) -> Iterator[Dialog]:
    """Opens a dialog; what is drawn in the context is its content. narrow: for forms."""
    with ui.dialog() as dialog, ui.card().classes("wide narrow" if narrow else "wide") as card:
        heading(title)
        # At once: what is drawn after a wait comes into the open dialog.
        dialog.open()
        with ui.column().classes("dialog-body"):
            yield dialog
    ends = [each for each in card.descendants() if "dialog-end" in each.classes]
    for end in ends:
        end.move(card)


def dialog_end(dialog: Dialog, action: str, run: Callable[..., Any]) -> ui.button:
    """Draws the buttons that end a dialog, which stay in view. Returns the one that acts."""
    with ui.row().classes("dialog-end"):
        ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")
        return ui.button(action, on_click=run)


def forbid(control: DisableableElement, denied: set[str], *operations: str) -> None:
    """Turns a button off when one of its operations is denied, and says which."""
    lacking = [each for each in operations if each in denied]
    if lacking:
        control.disable()
        # No tooltip of Quasar: it needs events that browsers do not send to a button that is off.
        control.props(f'title="This key may not use {" and ".join(lacking)} here"')


async def from_browser(script: str, default: Any) -> Any:
    """Returns what a script of the page returns. default: where no browser answers, such as a closed tab."""
    try:
        return await ui.run_javascript(script, timeout=10)
    except TimeoutError:
        return default


def facts(pairs: Mapping[str, str]) -> None:
    """Draws names with their values."""
    with ui.element("div").classes("facts"):
        for name, value in pairs.items():
            with ui.element("div"):
                ui.label(name).classes("fact-name")
                ui.label(value).classes("fact-value")


def plain_table(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str] | None = None) -> ui.table:
    """Draws rows, all with the same members. titles: of columns, where not the members' names."""
    names = list(rows[0] if rows else titles or ())
    shown = {name: name.replace("_", " ").capitalize() for name in names} | dict(titles or {})
    columns = [
        {
            "name": n,
            "field": n,
            "label": shown[n],
            "align": "right" if rows and all(_NUMBER.fullmatch(str(row[n])) for row in rows) else "left",
        }
        for n in names
    ]
    table = ui.table(columns=columns, rows=[], row_key="").classes("w-full").props("dense flat wrap-cells")
    set_rows(table, rows)
    return table


_NUMBER: Final = re.compile(r"-?[\d,.]{1,15}( (%|s|ms|B|KB|MB|GB|µs))?")


def set_rows(table: ui.table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Shows other rows in a table of `plain_table`."""
    table.rows = [{**row, "": number} for number, row in enumerate(rows)]
