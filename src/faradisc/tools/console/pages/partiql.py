"""PartiQL: an editor, the plan of a statement, results in the grid; writes are reviewed before they run."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.copy_as import quoted
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import code_editor
from faradisc.tools.console.grid import GridActions, ItemGrid
from faradisc.tools.console.messages import complain, confirmed, guarded
from faradisc.tools.console.parts import note
from faradisc.tools.console.queries import schema_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page
from faradisc.tools.console.statements import is_write, plan, source_of, statements

ITEMS_MAX: Final = 1_000
"""Items of a statement that are shown."""
_RUN: Final = """(event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.stopPropagation();
  emit();
}"""


async def _example(session: Session) -> str:
    """Returns a statement to begin with, of the first table."""
    try:
        names = (await session.endpoint.call("ListTables", {"Limit": 1}))["TableNames"]
        keys = schema_of(await session.endpoint.describe(names[0]), "") if names else ["key"]
    except Failure:
        names, keys = [], ["key"]
    return f"SELECT * FROM {quoted(names[0] if names else 'table')} WHERE {quoted(keys[0])} = 'value'"


@console_page("/partiql", "PartiQL")
async def partiql_page(session: Session) -> None:
    with ui.card().classes("w-full"):
        text = await _example(session)
        editor = code_editor(text, "SQL", height="140px", on_change=lambda _: explain())
        with ui.row().classes("w-full items-center"):
            run = ui.button("Run", icon="play_arrow").tooltip("Ctrl Enter")
            selection = ui.button("Run selection").props("flat")
            explained = note("").classes("count")
    summary = note("")
    grid = ItemGrid([], GridActions(lambda row: None))

    async def execute(text: str) -> None:
        found = statements(text)
        writes = [each for each in found if is_write(each)]
        if writes and not await confirmed("These statements write:\n" + "\n".join(writes), "Run"):
            return
        grid.clear()
        summary.text = ""
        items: list[dict[str, Any]] = []
        units, done = 0.0, 0
        for statement in found:
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
                summary.text = f"Statement {done + 1} of {len(found)} failed; {done} before it ran."
                raise Failure(failure.code, f"{failure.message} In: {statement[:200]}") from failure
            done += 1
        grid.show_items(items)
        summary.text = f"{len(items):,} items, {units:g} units, {done} statements"

    async def explain() -> None:
        text = editor.value or ""
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

    async def run_selection() -> None:
        picked = await ui.run_javascript("return window.getSelection().toString()", timeout=5)
        if not picked.strip():
            complain(Failure("", "Select the statements to run first."))
            return
        await execute(picked)

    async def run_all() -> None:
        await execute(editor.value or "")

    run.on_click(guarded(run_all))
    selection.on_click(guarded(run_selection))
    # In the phase in which the event goes down: the editor itself breaks the line at Ctrl Enter.
    editor.on("keydown.capture", guarded(run_all), js_handler=_RUN)
    await explain()
