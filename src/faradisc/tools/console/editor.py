"""The editor of one item, as a form and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from faradisc.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from faradisc.model.values.size import item_size
from faradisc.tools.console.files import code_editor
from faradisc.tools.console.messages import confirmed
from faradisc.tools.console.parts import heading, note
from faradisc.tools.console.values import (
    TYPES,
    Item,
    ValueMistake,
    item_of,
    item_text,
    size_text,
    text_of,
    type_of,
    value_of,
    visible,
)

FORM_MAX: Final = 150
"""Most attributes of a form; an item with more, or larger than FORM_BYTES_MAX, is edited as JSON."""
FORM_BYTES_MAX: Final = 100_000


def cost_of(item: Item) -> str:
    """Returns the size of an item and what a read and a write of it cost."""
    size = item_size(item)
    read, write = max(1, -(-size // READ_UNIT_BYTES)), max(1, -(-size // WRITE_UNIT_BYTES))
    return (
        f"{size_text(size)}: {read:,} read units ({read / 2:g} eventually consistent), {write:,} write units"
    )


class _Form:
    """One row of inputs for each attribute."""

    def __init__(self, item: Item, keys: Sequence[str], changed: Callable[[], None]) -> None:
        self._rows: list[tuple[ui.element, ui.input, ui.select, ui.textarea]] = []
        self._changed = changed
        self._box = ui.column().classes("w-full gap-1")
        for name in [*(n for n in keys if n in item), *(n for n in item if n not in keys)]:
            self._add(name, type_of(item[name]), text_of(item[name]))
        ui.button("Add attribute", icon="add", on_click=lambda: self._add("", "S", "")).props("flat")

    def _add(self, name: str, kind: str, text: str) -> None:
        with self._box, ui.element("div").classes("form-row") as row:
            named = ui.input(value=visible(name), on_change=self._changed).props(
                f'dense outlined aria-label=Attribute title="{"" if name else "a new attribute"}"'
            )
            chosen = ui.select(TYPES, value=kind, on_change=self._changed).props(
                "dense outlined aria-label=Type"
            )
            content = ui.textarea(value=text, on_change=self._changed).props(
                "dense outlined autogrow aria-label=Value"
            )
            entry = (row, named, chosen, content)
            ui.button(icon="close", on_click=lambda: self._remove(entry)).props(
                "flat dense round aria-label='Remove attribute'"
            )
        self._rows.append(entry)

    def _remove(self, entry: tuple[ui.element, ui.input, ui.select, ui.textarea]) -> None:
        self._rows.remove(entry)
        entry[0].delete()
        self._changed()

    def item(self) -> Item:
        """Raises ValueMistake."""
        item: Item = {}
        for _, named, chosen, content in self._rows:
            if named.value in item:
                raise ValueMistake(f"The attribute {named.value} is there twice.")
            try:
                item[named.value] = value_of(chosen.value, content.value or "")
            except ValueMistake as mistake:
                raise ValueMistake(f"{named.value}: {mistake}") from None
        return item


async def edited(title: str, item: Item, keys: Sequence[str]) -> Item | None:
    """Waits for the editor. Returns the item as edited; None when it was cancelled."""
    text = item_text(item)
    in_form = len(item) <= FORM_MAX and len(text) <= FORM_BYTES_MAX and not any(visible(n) != n for n in item)
    with ui.dialog().props("persistent no-esc-dismiss") as dialog, ui.card().classes("wide"):
        with ui.row().classes("w-full items-center no-wrap"):
            heading(title).classes("ellipsis")
            ui.space()
            mode = ui.toggle({"form": "Form", "json": "JSON"}, value="form" if in_form else "json")
        cost = note("")
        body = ui.column().classes("dialog-body")
        state: dict[str, Any] = {"form": None, "json": None}

        def current() -> Item:
            return item_of(state["json"].value) if state["json"] else state["form"].item()

        def changed() -> None:
            try:
                found = current()
            except ValueMistake as wrong:
                mistake.text, cost.text = str(wrong), ""
                save.disable()
                return
            mistake.text, cost.text = "", cost_of(found)
            save.enable()

        def draw(shown: Item) -> None:
            body.clear()
            with body:
                if mode.value == "form":
                    state["json"], state["form"] = None, _Form(shown, keys, changed)
                else:
                    state["form"] = None
                    state["json"] = code_editor(item_text(shown), "JSON", height="48vh", on_change=changed)

        def switch() -> None:
            try:
                draw(current())
            except ValueMistake as wrong:
                mistake.text = f"{wrong} Mend it before the view changes."
                mode.set_value("json" if state["json"] else "form")

        async def cancel() -> None:
            try:
                is_same = current() == item
            except ValueMistake:
                is_same = False
            if is_same or await confirmed("Drop what was changed in this item?", "Drop the change"):
                dialog.submit(None)

        with ui.row().classes("dialog-end items-center"):
            mistake = ui.label("").classes("removed count")
            ui.button("Cancel", on_click=cancel).props("flat")
            save = ui.button("Stage change", on_click=lambda: dialog.submit(current()))
        dialog.on("keydown.esc", cancel)
        draw(item)
        mode.on("update:model-value", switch)
        changed()
    return await dialog  # type: ignore[no-any-return]
