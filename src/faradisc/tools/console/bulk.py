"""Many items at once, as it is drawn: one attribute set in all, all results saved, edited or deleted."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.changes import Call
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.messages import complain, confirmed
from faradisc.tools.console.money import requests_usd, usd
from faradisc.tools.console.parts import dialog_end, heading, note
from faradisc.tools.console.queries import indexes_of, schema_of
from faradisc.tools.console.results import BulkEdit, ResultWalk, save_all, write_all
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import current_shell
from faradisc.tools.console.values import TYPES, ValueMistake, value_of

SHOWN_S: Final = 0.3
"""Seconds between two looks at the progress."""
FORMS: Final = {"jsonl": "jsonl", "plain": "jsonl", "csv": "csv"}
"""Ends of file names by form."""


async def bulk_edit_of(title: str, keys: list[str]) -> BulkEdit | None:
    """Waits for the attribute that many items get. Returns None when it was cancelled."""
    with ui.dialog() as dialog, ui.card().classes("wide narrow"):
        heading(title)
        with ui.column().classes("dialog-body"):
            how = ui.toggle({"set": "Set", "remove": "Remove"}, value="set")
            path = ui.input("Attribute, such as status or address.city").classes("w-full mono-field")
            path.props("autofocus")
            with ui.row().classes("w-full no-wrap").bind_visibility_from(how, "value", lambda v: v == "set"):
                kind = ui.select(TYPES, value="S", label="Type").classes("w-32")
                text = ui.input("Value").classes("grow mono-field")
            mistake = ui.label("").classes("removed")

        def take() -> None:
            try:
                value = value_of(kind.value, text.value or "") if how.value == "set" else None
                edit = BulkEdit((path.value or "").strip(), value)
                edit.check(keys)
            except ValueMistake as wrong:
                mistake.text = str(wrong)
                return
            dialog.submit(edit)

        dialog_end(dialog, "Apply", take)
    return await dialog  # type: ignore[no-any-return]


class AllResults:
    """What can be done with all results of a query, also with those that are not shown."""

    def __init__(self, session: Session, described: Mapping[str, Any], call: Callable[[], Call]) -> None:
        """call: returns the present query."""
        self._session = session
        self._described = described
        self._call = call
        self._keys = schema_of(described, "")

    async def save(self, form: str) -> None:
        """Reads all results and gives them to the browser as a file. form: as `results.save_all` has it."""
        call, walk = self._call(), ResultWalk()
        name = f"{self._described['TableName']}.{FORMS[form]}"
        folder = tempfile.TemporaryDirectory(prefix="faradisc-console-")
        # The file lives as long as the tab: the browser fetches it when it likes.
        current_shell().client.on_delete(folder.cleanup)
        path = Path(folder.name, name)
        if await self._watched(
            "Saving all results", "written", walk, save_all(self._session.endpoint, call, form, path, walk)
        ):
            ui.download.file(path, name)

    async def edit(self) -> bool:
        """Asks for one attribute, then writes it into all results. Returns whether something was written."""
        call = self._call()
        if self._is_partial(call):
            complain(Failure("", "The query returns some attributes only; an edit needs whole items."))
            return False
        edit = await bulk_edit_of("Edit all results of this query", self._keys)
        if edit is None or not await self._agreed("Edit", call):
            return False
        walk = ResultWalk()
        await self._watched(
            "Editing all results",
            "changed",
            walk,
            write_all(self._session.endpoint, call, self._keys, edit, walk),
        )
        return walk.done > 0

    async def delete(self) -> bool:
        """Deletes all results, once that is confirmed. Returns whether something was deleted."""
        call, walk = self._call(), ResultWalk()
        if not await self._agreed("Delete", call):
            return False
        deletion = write_all(self._session.endpoint, call, self._keys, lambda item: None, walk)
        await self._watched("Deleting all results", "deleted", walk, deletion)
        return walk.done > 0

    async def _agreed(self, word: str, call: Call) -> bool:
        table, items = self._described["TableName"], self._described.get("ItemCount", 0)
        of = "the whole table" if call[0] == "Scan" and "FilterExpression" not in call[1] else "this query"
        return await confirmed(
            f"{word} all results of {of}, shown or not? Each is written on the condition that it is as it "
            f"was read just before. The table has about {items:,} items.",
            f"{word} all",
            table,
        )

    def _is_partial(self, call: Call) -> bool:
        """Returns whether a query leaves attributes out."""
        index = call[1].get("IndexName")
        kinds = [
            i["Projection"]["ProjectionType"] for i in indexes_of(self._described) if i["IndexName"] == index
        ]
        return "ProjectionExpression" in call[1] or any(kind != "ALL" for kind in kinds)

    async def _watched(self, title: str, done: str, walk: ResultWalk, work: Awaitable[None]) -> bool:
        """Shows how far a walk is, with a button that stops it. Returns whether it came to its end."""

        def stop() -> None:
            walk.stopped = True
            button.disable()

        def show() -> None:
            cost = usd(requests_usd(walk.read_units, walk.write_units))
            said.text = walk.text(done)
            units.text = (
                f"{walk.read_units:,.1f} read and {walk.write_units:,.0f} write units, {cost} on demand"
            )

        with ui.dialog().props("persistent") as dialog, ui.card().classes("progress"):
            titled = heading(title)
            ui.linear_progress(show_value=False).props("indeterminate aria-label=Progress").classes("w-full")
            said, units = ui.label("").props("aria-live=polite"), note("")
            with ui.row().classes("w-full justify-end"):
                button = ui.button("Stop", on_click=stop).props("outline")
            timer = ui.timer(SHOWN_S, show)
        dialog.open()
        try:
            await work
        finally:
            timer.deactivate()
            dialog.close()
            show()
            over = "stopped" if walk.stopped else "ended"
            titled.text = f"{title}: {over}"
            current_shell().messages.show(f"{title} {over}", said.text, units.text, "notice")
        return not walk.stopped
