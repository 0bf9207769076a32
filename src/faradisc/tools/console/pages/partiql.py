"""PartiQL: an editor, the plan of a statement, results in the grid; writes are reviewed before they run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.copy_as import quoted
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import code_editor
from faradisc.tools.console.grid import GridActions, ItemGrid
from faradisc.tools.console.messages import complain, confirmed, guarded
from faradisc.tools.console.money import MILLION, requests_usd, usd
from faradisc.tools.console.parts import from_browser, heading, note
from faradisc.tools.console.queries import schema_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page
from faradisc.tools.console.statements import (
    completions,
    is_write,
    place_of,
    plan,
    source_of,
    statements,
)
from faradisc.tools.console.values import counted

_COMPLETION: Final = (Path(__file__).parent.parent / "completion.js").read_text()
_HISTORY: Final = "return JSON.parse(localStorage.getItem('faradisc.statements') || '[]')"
_REMEMBER: Final = """{
  const text = %s, kept = JSON.parse(localStorage.getItem('faradisc.statements') || '[]');
  const others = kept.filter(each => each !== text);
  localStorage.setItem('faradisc.statements', JSON.stringify([text, ...others].slice(0, 50)));
}"""
ITEMS_MAX: Final = 1_000
"""Items of a statement that are shown."""
_RUN: Final = """(event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.stopPropagation();
  emit();
}"""


async def _example(session: Session, names: list[str]) -> str:
    """Returns a statement to begin with, of the first table."""
    keys = ["key"]
    with suppress(Failure):
        keys = schema_of(await session.endpoint.describe(names[0]), "") if names else keys
    return f"SELECT * FROM {quoted(names[0] if names else 'table')} WHERE {quoted(keys[0])} = 'value'"


@console_page("/partiql", "PartiQL")
async def partiql_page(session: Session) -> None:
    names: list[str] = []
    with suppress(Failure):
        names = await session.endpoint.tables()
    # Attributes of results, and the table whose words the editor has.
    seen: dict[str, None] = {}
    offered: list[str] = []
    text = await _example(session, names)
    with ui.card().classes("w-full gap-2"):
        editor = code_editor(text, "SQL", height="140px", on_change=lambda _: explain())
        with ui.row().classes("w-full items-center"):
            run = ui.button("Run", icon="play_arrow").props("title='Ctrl Enter'")
            selection = ui.button("Run selection").props("flat")
            kept = ui.button("History", icon="history").props("flat")
            explained = note("").classes("count")
    summary = note("")
    with ui.element("div").classes("fill"):
        grid = ItemGrid([], GridActions(lambda row: None))

    async def execute(text: str) -> None:
        found = statements(text)
        writes = [each for each in found if is_write(each)]
        if writes and not await confirmed("These statements write:\n" + "\n".join(writes), "Run"):
            return
        grid.clear()
        summary.classes(remove="removed").text = ""
        items: list[dict[str, Any]] = []
        units = 0.0
        for done, statement in enumerate(found):
            request: dict[str, Any] = {"Statement": statement, "ReturnConsumedCapacity": "TOTAL"}
            try:
                while True:
                    answer = await session.endpoint.call("ExecuteStatement", request)
                    items += answer.get("Items", [])
                    units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
                    if "NextToken" not in answer or len(items) >= ITEMS_MAX:
                        break
                    request["NextToken"] = answer["NextToken"]
            except Failure as failure:
                summary.classes(
                    add="removed"
                ).text = f"Statement {done + 1} of {len(found)} failed; {done} before it ran."
                mark(failure.message, statement)
                raise Failure(failure.code, f"{failure.message} In: {statement[:200]}") from failure
        source = source_of(found[-1]) if found else None
        if source is not None:
            with suppress(Failure):
                keys = schema_of(await session.endpoint.describe(source[0]), "")
                grid.shows(keys, session.colours.setdefault(source[0], {}))
        grid.show_items(items)
        seen.update(dict.fromkeys(name for item in items for name in item))
        read, write = (0.0, units) if writes else (units, 0.0)
        money = f", {usd(requests_usd(read, write) * MILLION)} for a million times on demand" if units else ""
        sums = (counted(len(items), "item"), counted(units, "unit"), counted(len(found), "statement"))
        summary.text = ", ".join(sums) + money
        ui.run_javascript(_REMEMBER % orjson.dumps(text.strip()).decode())

    def mark(message: str, statement: str) -> None:
        """Underlines where the error is."""
        place, text = place_of(message, statement), editor.value or ""
        begin = text.find(statement)
        if place is not None and begin >= 0:
            start = begin + place[0]
            # By the editor itself: an update of its properties loses what is typed meanwhile.
            first, last = (len(text[:at].encode("utf-16-le")) // 2 for at in (start, start + place[1]))
            ui.run_javascript(f"window.faradiscWrong({first}, {last})")
            line = text.count("\n", 0, start) + 1
            column = start - (text.rfind("\n", 0, start) + 1) + 1
            summary.text += f" Line {line}, column {column}."

    async def explain() -> None:
        text = editor.value or ""
        source = source_of(text)
        if source is not None and [source[0]] != offered:
            offered[:] = [source[0]]
            await offer(source[0])
        explanation = await explanation_of(text)
        if text == (editor.value or ""):  # an answer to an older text may come later than that to this one
            explained.text = explanation

    async def explanation_of(text: str) -> str:
        found = statements(text)
        source = source_of(found[0]) if found else None
        if source is None or is_write(found[0]):
            return "This writes: it asks before it runs." if found and is_write(found[0]) else ""
        try:
            return plan(found[0], await session.endpoint.describe(source[0]))
        except (Failure, ValueError) as failure:
            return str(failure)

    async def offer(table: str) -> None:
        """Gives the editor the words that it completes."""
        described = None
        with suppress(Failure):
            described = await session.endpoint.describe(table)
        words = completions(names, described, seen)
        ui.run_javascript(f"window.faradiscWords = {orjson.dumps(words).decode()}")

    async def history() -> None:
        found = await from_browser(_HISTORY, [])
        with ui.dialog() as dialog, ui.card().classes("wide"):
            heading("Statements that ran, newest first")
            with ui.column().classes("dialog-body gap-0"):
                for each in found:
                    ui.button(each[:300], on_click=lambda each=each: dialog.submit(each)).props(
                        "flat no-caps align=left"
                    ).classes("w-full mono")
        picked = await dialog
        if picked:
            editor.value = picked

    async def run_selection() -> None:
        picked = await from_browser("return window.getSelection().toString()", "")
        if not picked.strip():
            complain(Failure("", "Select the statements to run first."))
            return
        await execute(picked)

    async def run_all() -> None:
        await execute(editor.value or "")

    run.on_click(guarded(run_all))
    kept.on_click(guarded(history))
    selection.on_click(guarded(run_selection))
    # In the phase in which the event goes down: the editor itself breaks the line at Ctrl Enter.
    editor.on("keydown.capture", guarded(run_all), js_handler=_RUN)
    await explain()
    ui.run_javascript(f"({_COMPLETION})(getElement({editor.id}))")
