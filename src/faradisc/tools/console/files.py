"""Files of items, and requests shown as code."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

import orjson
from nicegui import ui

from faradisc.tools.console.values import Item, ValueMistake, item_of, text_of, value_of

FILE_ITEMS_MAX: Final = 10_000
"""Most items of a file that are staged at once."""


def csv_text(items: Sequence[Item]) -> str:
    """Returns items as CSV: a column for each attribute, values without their types."""
    names = list(dict.fromkeys(name for item in items for name in item))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([text_of(item[name]) if name in item else "" for name in names] for item in items)
    return text.getvalue()


def loaded(name: str, content: str, types: dict[str, str]) -> list[Item]:
    """Returns the items of a file. In CSV, key attributes have their types and others are strings.

    Raises ValueMistake.
    """
    if name.endswith(".csv"):
        rows = csv.DictReader(io.StringIO(content))
        items = [
            {n: value_of(types.get(n, "S"), text) for n, text in row.items() if n and text} for row in rows
        ]
    else:
        try:
            found = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ValueMistake(f"This is not JSON: {error}.") from None
        if not isinstance(found, list):
            raise ValueMistake("The file is not a list of items.")
        items = [item_of(orjson.dumps(each).decode()) for each in found]
    if len(items) > FILE_ITEMS_MAX:
        raise ValueMistake(
            f"It has {len(items):,} items; `faradisc import` takes more than {FILE_ITEMS_MAX:,}."
        )
    return items


def show_codes(codes: dict[str, str]) -> None:
    """Shows a request in several languages, each with a button that copies it."""
    with ui.dialog() as dialog, ui.card().classes("wide"):
        with ui.tabs().classes("w-full") as tabs:
            for name in codes:
                ui.tab(name)
        with ui.tab_panels(tabs, value=next(iter(codes))).classes("w-full"):
            for name, code in codes.items():
                with ui.tab_panel(name):
                    ui.label(code).classes("code")
                    ui.button("Copy", icon="content_copy", on_click=lambda code=code: _copied(code)).props(
                        "flat"
                    )
        ui.button("Close", on_click=dialog.close).props("flat")
    dialog.open()


def _copied(code: str) -> None:
    ui.clipboard.write(code)
    ui.notify("Copied")
