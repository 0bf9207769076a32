"""What changes, shown whole before it is written: each path that differs; conflicts as mine, theirs, base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from nicegui import ui

from faradisc.tools.console.changes import Path, path_changes, path_text
from faradisc.tools.console.parts import heading, note
from faradisc.tools.console.staging import StagedChange, StagedConflict, Staging
from faradisc.tools.console.values import Item, Value, text_of, visible

SHOWN: Final = 50
"""Changes that are shown at once; a button shows the next ones."""
PATHS: Final = 300
"""Paths of one change that are shown at once; likewise."""
Resolution = Literal["mine", "merge", "theirs"]


def key_text(item: Item | None, keys: Sequence[str]) -> str:
    """Returns the key of an item as a person reads it."""
    return visible(" / ".join(text_of(item[name]) for name in keys if item and name in item))


def _cell(value: Value | None, style: str) -> None:
    label = ui.label(visible_lines(text_of(value)) if value is not None else "absent")
    label.classes(style if value is not None else "soft").props("tabindex=0")


def visible_lines(text: str) -> str:
    """Returns text whole, with what hides or reorders other text shown by its number, and line ends kept."""
    return "\n".join(visible(line) for line in text.split("\n"))


def draw_difference(before: Item | None, after: Item | None, first: int = 0) -> None:
    """Draws every path that differs between two items, old and new, each whole."""
    found = path_changes(before, after)
    with ui.column().classes("w-full gap-1") as box, ui.element("div").classes("difference"):
        for each in found[first : first + PATHS]:
            ui.label(visible(path_text(each.path))).classes(each.kind)
            _cell(each.before, "removed")
            _cell(each.after, "added")
    left = len(found) - first - PATHS
    if left > 0:

        def more() -> None:
            button.delete()
            with box:
                draw_difference(before, after, first + PATHS)

        button = ui.button(f"Show the other {left:,} attributes", on_click=more).props("flat dense")


async def reviewed(staging: Staging, keys: Sequence[str]) -> Literal["write", "discard"] | None:
    """Waits for the review of all staged changes. Returns what to do with them; None for neither."""
    changes = list(staging.changes.items())
    counted = f"{len(changes):,} changes" if len(changes) != 1 else "1 change"
    with ui.dialog() as dialog, ui.card().classes("wide"):
        heading(f"{counted}, each on the condition that its item is still as it was read")
        body = ui.column().classes("dialog-body")

        def show(first: int) -> None:
            with body:
                for _, change in changes[first : first + SHOWN]:
                    _draw_change(change, keys)
                left = len(changes) - first - SHOWN
                if left > 0:
                    more = ui.button(f"Show the next of {left:,} more").props("flat")

                    def go_on() -> None:
                        more.delete()
                        show(first + SHOWN)

                    more.on_click(go_on)

        show(0)
        with ui.row().classes("dialog-end"):
            ui.button("Discard all", on_click=lambda: dialog.submit("discard")).props("flat color=negative")
            ui.button("Back", on_click=lambda: dialog.submit(None)).props("flat")
            ui.button("Write", on_click=lambda: dialog.submit("write"))
    return await dialog  # type: ignore[no-any-return]


def _draw_change(change: StagedChange, keys: Sequence[str]) -> None:
    word = "New" if change.before is None else "Delete" if change.after is None else "Change"
    with ui.row().classes("w-full items-baseline gap-2"):
        ui.label(word).classes({"New": "added", "Delete": "removed"}.get(word, "changed"))
        ui.label(key_text(change.before or change.after, keys)).classes("mono font-medium")
    draw_difference(change.before, change.after)


async def settled(conflict: StagedConflict, keys: Sequence[str], left: int) -> Resolution | None:
    """Waits for what to do with a change whose item has changed since. None: it stays staged as it is.

    left: further conflicts.
    """
    with ui.dialog() as dialog, ui.card().classes("wide"):
        heading(f"{key_text(conflict.base or conflict.mine, keys)} has changed since it was read")
        if conflict.theirs is None:
            note("It was deleted meanwhile. Nothing was written.")
        elif conflict.base is None:
            note("An item with this key exists already. Nothing was written.")
        else:
            note("Nothing of this change was written. What you do next is reviewed before it is written.")
        with ui.column().classes("dialog-body"), ui.element("div").classes("difference three"):
            for title in ("Path", "As it was read", "Theirs, now", "Mine"):
                ui.label(title).classes("head")
            for path in _paths(conflict):
                ui.label(visible(path_text(path)))
                base, theirs, mine = (
                    _at(item, path) for item in (conflict.base, conflict.theirs, conflict.mine)
                )
                _cell(base, "")
                _cell(theirs, "changed" if theirs != base else "")
                _cell(mine, "added" if mine != base else "")
        with ui.row().classes("dialog-end items-center"):
            if left:
                note(f"{left:,} more conflicts").classes("count")
            ui.button("Decide later", on_click=lambda: dialog.submit(None)).props("flat")
            ui.button("Keep theirs", on_click=lambda: dialog.submit("theirs")).props("flat")
            can_merge = None not in (conflict.base, conflict.mine, conflict.theirs)
            ui.button("Write mine over it", on_click=lambda: dialog.submit("mine")).props(
                "outline" if can_merge else ""
            )
            if can_merge:
                ui.button("Apply my change to theirs", on_click=lambda: dialog.submit("merge"))
    return await dialog  # type: ignore[no-any-return]


def _paths(conflict: StagedConflict) -> list[Path]:
    """Returns the paths where mine or theirs differ from what was read."""
    found: dict[Path, None] = {}
    for other in (conflict.theirs, conflict.mine):
        for change in path_changes(conflict.base, other, lists=False):
            found[change.path] = None
    return list(found)


def _at(item: Item | None, path: Path) -> Value | None:
    value: Value | None = {"M": item or {}}
    for step in path:
        members = value.get("M") if value else None
        value = members.get(step) if isinstance(members, dict) else None
    return value
