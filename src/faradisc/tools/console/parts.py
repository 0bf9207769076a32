"""Parts that several pages draw: names with values, tables, editors of code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui


def facts(pairs: Mapping[str, str]) -> None:
    """Draws names with their values."""
    with ui.element("div").classes("facts"):
        for name, value in pairs.items():
            with ui.element("div"):
                ui.label(name).classes("fact-name")
                ui.label(value).classes("fact-value")


def plain_table(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str] | None = None) -> None:
    """Draws rows, all with the same members. titles: of columns, where not the members' names."""
    names = list(rows[0]) if rows else []
    shown = {name: name.replace("_", " ").capitalize() for name in names} | dict(titles or {})
    columns = [{"name": n, "field": n, "label": shown[n], "align": "left"} for n in names]
    numbered = [{**row, "": number} for number, row in enumerate(rows)]
    ui.table(columns=columns, rows=numbered, row_key="").classes("w-full").props("dense flat wrap-cells")


def code_editor(
    text: str, language: Any, *, dark: bool | None, height: str, on_change: Callable[..., Any]
) -> ui.codemirror:
    """Returns an editor with highlighting."""
    editor = ui.codemirror(
        text,
        language=language,
        theme="vscodeDark" if dark else "vscodeLight",
        line_wrapping=True,
        indent="  ",
        on_change=on_change,
    )
    editor.classes("w-full").style(f"height: {height}")
    label = "document.querySelectorAll('.cm-content').forEach(e => e.setAttribute('aria-label', 'Editor'))"
    ui.timer(0.5, lambda: ui.run_javascript(label), once=True)
    return editor


def size_text(number: float) -> str:
    """Returns a number of bytes as people read it."""
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1024 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1024
    raise AssertionError("unreachable")
