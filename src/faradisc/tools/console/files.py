"""Files of items, requests shown as code, and editors of code."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from faradisc.tools.console.messages import notice
from faradisc.tools.console.parts import dialog_of, icon_button
from faradisc.tools.console.shell import current_shell
from faradisc.tools.console.values import Item, text_of


def csv_text(items: Sequence[Item]) -> str:
    """Returns items as CSV: a column for each attribute, values without their types."""
    names = list(dict.fromkeys(name for item in items for name in item))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([text_of(item[name]) if name in item else "" for name in names] for item in items)
    return text.getvalue()


def code_editor(text: str, language: Any, *, height: str, on_change: Callable[..., Any]) -> ui.codemirror:
    """Returns an editor with highlighting, in the colours of the page."""
    shell = current_shell()

    def theme(dark: bool | None) -> Any:
        return "vscodeDark" if dark else "vscodeLight"

    editor = ui.codemirror(
        text,
        language=language,
        theme=theme(shell.session.dark),
        line_wrapping=True,
        indent="  ",
        on_change=on_change,
    )
    # Not by a property: its update would put back the text that the server knew before the latest keys.
    shell.on_dark.append(lambda dark: editor.run_method("setTheme", theme(dark)))
    editor.classes("w-full").style(f"height: {height}")
    label = "document.querySelectorAll('.cm-content').forEach(e => e.setAttribute('aria-label', 'Editor'))"
    ui.timer(0.5, lambda: ui.run_javascript(label), once=True)
    return editor


def code_tabs(codes: dict[str, str]) -> None:
    """Draws a request in several languages, each with a button that copies it."""
    with ui.tabs().classes("w-full").props("dense align=left no-caps") as tabs:
        for name in codes:
            ui.tab(name)
    with ui.tab_panels(tabs, value=next(iter(codes))).classes("w-full"):
        for name, code in codes.items():
            with ui.tab_panel(name):
                code_box(code)


def code_box(code: str) -> None:
    """Draws code with a button that copies it."""
    with ui.element("div").classes("code-box"):
        ui.label(code).classes("code")
        icon_button("content_copy", "Copy", lambda: copied(code))


def show_codes(title: str, codes: dict[str, str]) -> None:
    """Shows a request in several languages."""
    with dialog_of(title) as dialog:
        code_tabs(codes)
        with ui.row().classes("dialog-end"):
            ui.button("Close", on_click=dialog.close).props("flat")


def copied(text: str) -> None:
    """Puts text on the clipboard of the browser."""
    ui.clipboard.write(text)
    notice("Copied")
