"""The dialog of a file of items: what was read of it, how its columns are typed, what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.importing import FileOfItems, attributes, guessed_keys, summary
from faradisc.tools.console.messages import complain
from faradisc.tools.console.parts import dialog_end, heading, note, plain_table
from faradisc.tools.console.values import Item, ValueMistake, type_of, visible

SHOWN_MAX: Final = 60
"""Attributes of a preview."""
DROP: Final = """(event) => {
  event.preventDefault();
  const files = [...(event.dataTransfer?.files || [])];
  if (files.length) getElement(%d).$refs.qRef.addFiles(files);
}"""
"""Gives dropped files to the upload whose id it has."""


def upload(taken: Callable[[str, bytes], Any], label: str) -> ui.upload:
    """Returns a field that takes a file of items. taken: called with its name and content."""

    # FastAPI keeps the route of every upload: what it leads to is let go with the page.
    takers = [taken]
    ui.context.client.on_delete(takers.clear)

    async def read(event: Any) -> None:
        content = await event.file.read()
        field.reset()
        for take in takers:
            await take(event.file.name, content)

    field = ui.upload(on_upload=read, auto_upload=True, max_file_size=64 * 2**20)
    field.props(f"accept='.json,.jsonl,.ndjson,.csv' label='{label}' flat bordered").classes("w-full")
    return field


def drop_target(element: ui.element, field: ui.upload) -> None:
    """Lets files be dropped on an element."""
    element.on("dragover.prevent", lambda: None, js_handler="() => {}")
    element.on("drop", lambda: None, js_handler=DROP % field.id)


async def previewed(file: FileOfItems, key_types: Mapping[str, str], action: str) -> list[Item] | None:
    """Waits for the preview of a file. Returns its items; None when it was cancelled, or is none.

    action: the word of the button, with {} for the number of items.
    """
    try:
        file.read(key_types)
        file.guess_types()
        file.read(key_types)
    except ValueMistake as mistake:
        complain(Failure("", f"{file.name}: {mistake}"))
        return None
    with ui.dialog() as dialog, ui.card().classes("wide"):
        heading(visible(file.name)).classes("ellipsis")
        body = ui.column().classes("dialog-body")
        take = dialog_end(dialog, "", lambda: dialog.submit(file.items))

        def draw() -> None:
            take.text = action.format(f"{len(file.items):,}")
            take.set_enabled(bool(file.items))
            body.clear()
            with body:
                counted = f"{len(file.items):,} items"
                note(counted + (f"; {file.wrong:,} cannot be read" if file.wrong else ""))
                for error in file.errors:
                    ui.label(visible(error)).classes("removed")
                if file.is_csv:
                    _typed(file, key_types, retype)
                rows = [{n: visible(v)[:120] for n, v in row.items()} for row in summary(file.items)]
                plain_table(rows[:SHOWN_MAX])

        def retype(name: str, kind: str) -> None:
            file.types[name] = kind
            file.read(key_types)
            draw()

        draw()
    return await dialog  # type: ignore[no-any-return]


def _typed(file: FileOfItems, key_types: Mapping[str, str], retype: Callable[[str, str], None]) -> None:
    """Draws the types of the columns of CSV."""
    note("Columns are text, but for what is chosen here; a header such as age:N says it in the file.")
    with ui.row().classes("w-full gap-2"):
        for name in attributes(file.items)[:SHOWN_MAX]:
            chosen = ui.select(
                {"S": "String", "N": "Number", "BOOL": "Boolean"},
                value=key_types.get(name) or file.types.get(name, "S"),
                label=visible(name)[:40],
                on_change=lambda event, name=name: retype(name, event.value),
            ).classes("w-28")
            chosen.set_enabled(name not in key_types)


async def keys_of(file: FileOfItems, items: list[Item]) -> tuple[str, dict[str, str]] | None:
    """Waits for the name and the keys of a new table for items. Returns the types of its keys by name."""
    names = [
        n for n in attributes(items) if all(type_of(i.get(n, {"": ""})) in ("S", "N", "B") for i in items)
    ]
    partition, sort = guessed_keys(items)
    title = "".join(each if each.isalnum() or each in "-_." else "-" for each in file.name.rpartition(".")[0])
    with ui.dialog() as dialog, ui.card().classes("wide narrow"):
        heading("A new table for these items")
        table = ui.input("Table name", value=(title or "items").ljust(3, "-")).classes("w-full")
        hash_key = ui.select(names, value=partition or None, label="Partition key").classes("w-full")
        range_key = ui.select(["", *names], value=sort, label="Sort key (optional)").classes("w-full")
        note("Proposed: the first attribute, or pair, that is different for every item.")
        dialog_end(
            dialog, "Create and load", lambda: dialog.submit((table.value, hash_key.value, range_key.value))
        )
    given = await dialog
    if not given or not given[1]:
        return None
    return given[0], {n: type_of(items[0][n]) for n in given[1:] if n}
