"""The editor of one item: a tree, and beside it JSON, with types or without; each follows the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from faradisc.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from faradisc.model.values.size import item_size
from faradisc.tools.console.files import code_editor
from faradisc.tools.console.messages import confirmed
from faradisc.tools.console.parts import heading, note
from faradisc.tools.console.plain_json import item_of_plain, plain_text
from faradisc.tools.console.shell import current_shell
from faradisc.tools.console.values import (
    Item,
    ValueMistake,
    checked_item,
    counted,
    item_of,
    item_text,
    size_text,
    visible,
)

TREE_MAX: Final = 1_000
"""Most attributes of a tree; an item with more, or larger than TREE_BYTES_MAX, is edited as JSON."""
TREE_BYTES_MAX: Final = 100_000


def cost_of(item: Item) -> str:
    """Returns the size of an item and what a read and a write of it cost."""
    size = item_size(item)
    read, write = max(1, -(-size // READ_UNIT_BYTES)), max(1, -(-size // WRITE_UNIT_BYTES))
    return (
        f"{size_text(size)}: {counted(read, 'read unit')} ({read / 2:g} eventually consistent), "
        f"{counted(write, 'write unit')}"
    )


class ItemTree(Element, component="tree.js"):
    """An item as rows that open. Emits `edit` with the item and a name that is there twice."""

    def __init__(self, item: Item, keys: Sequence[str]) -> None:
        super().__init__()
        self._props["item"] = item
        self._props["first"] = list(keys)


class ItemEditor:
    """The tree, the JSON, and the item as both have it; where one has a mistake, the other waits."""

    def __init__(self, item: Item, keys: Sequence[str], changed: Callable[[], None]) -> None:
        """changed: called after every change, with `item` or `mistake` renewed."""
        self.item = item
        self.mistake = ""
        self._keys = keys
        self._changed = changed
        self._json: ui.codemirror | None = None
        self._tree: ItemTree | None = None
        self._is_ours = False
        """Whether the text of the JSON is being set here, not typed."""

    def draw_tree(self) -> None:
        self._tree = ItemTree(self.item, self._keys)
        self._tree.on("edit", lambda event: self._take_tree(event.args))

    def draw_json(self) -> None:
        with ui.row().classes("w-full items-center no-wrap"):
            self._form = ui.toggle({"plain": "Plain", "typed": "Typed"}, value="typed").props("dense")
            self._form.on_value_change(self._write_json)
            note("Plain keeps the types of the item").classes("ellipsis")
        self._json = code_editor(
            item_text(self.item), "JSON", height="min(46vh, 480px)", on_change=self._take_json
        )

    def _take_tree(self, edited: dict[str, Any]) -> None:
        try:
            if edited["twice"]:
                raise ValueMistake(f"The attribute {edited['twice']} is there twice.")
            self._became(checked_item(edited["item"]))
        except ValueMistake as wrong:
            self._wrong(wrong)
            return
        self._write_json()

    def _take_json(self) -> None:
        if self._is_ours or self._json is None:
            return
        text = self._json.value or ""
        try:
            self._became(item_of_plain(text, self.item) if self._form.value == "plain" else item_of(text))
        except ValueMistake as wrong:
            self._wrong(wrong)
            return
        if self._tree is not None:
            self._tree.run_method("take", self.item)

    def _write_json(self) -> None:
        if self._json is not None:
            self._is_ours = True
            self._json.value = plain_text(self.item) if self._form.value == "plain" else item_text(self.item)
            self._is_ours = False

    def _became(self, item: Item) -> None:
        self.item, self.mistake = item, ""
        self._changed()

    def _wrong(self, mistake: ValueMistake) -> None:
        self.mistake = str(mistake)
        self._changed()


async def edited(title: str, item: Item, keys: Sequence[str]) -> Item | None:
    """Waits for the editor. Returns the item as edited; None when it was cancelled."""
    is_large = len(item) > TREE_MAX or len(item_text(item)) > TREE_BYTES_MAX
    has_tree = not is_large and not any(visible(name) != name for name in item)
    panes = current_shell().session.panes if has_tree else "json"
    with ui.dialog().props("persistent no-esc-dismiss") as dialog, ui.card().classes("wide"):
        with ui.row().classes("w-full items-center no-wrap"):
            heading(title).classes("ellipsis")
            ui.space()
            shown = ui.toggle({"tree": "Tree", "both": "Both", "json": "JSON"}, value=panes).classes(
                "no-wrap"
            )
            shown.set_visibility(has_tree)
        cost = note("")

        def changed() -> None:
            mistake.text = editor.mistake
            cost.text = "" if editor.mistake else cost_of(editor.item)
            save.set_enabled(not editor.mistake)

        editor = ItemEditor(item, keys, changed)
        with ui.element("div").classes("dialog-body panes") as body:
            if has_tree:
                with ui.column().classes("pane pane-tree"):
                    editor.draw_tree()
            with ui.column().classes("pane pane-json"):
                editor.draw_json()

        def switch() -> None:
            body.classes(replace=f"dialog-body panes show-{shown.value}")
            if has_tree:
                current_shell().session.panes = shown.value

        async def cancel() -> None:
            is_same = editor.item == item and not editor.mistake
            if is_same or await confirmed("Drop what was changed in this item?", "Drop the change"):
                dialog.submit(None)

        with ui.row().classes("dialog-end items-center"):
            mistake = ui.label("").classes("removed count")
            ui.button("Cancel", on_click=cancel).props("flat")
            save = ui.button("Stage change", on_click=lambda: dialog.submit(editor.item))
        dialog.on("keydown.esc", cancel)
        shown.on_value_change(switch)
        switch()
        changed()
    return await dialog  # type: ignore[no-any-return]
