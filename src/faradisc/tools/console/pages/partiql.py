"""PartiQL: an editor, the plan of a statement, results in the grid; writes are reviewed before they run."""

from __future__ import annotations

import re
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.copy_as import quoted
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, complain, confirmed, console_page, guarded
from faradisc.tools.console.grid import ItemGrid
from faradisc.tools.console.parts import code_editor, note
from faradisc.tools.console.queries import schema_of

_SOURCE: Final = re.compile(
    r'\bFROM\s+(?:"((?:[^"]|"")+)"|(\w[\w.-]*))(?:\s*\.\s*"((?:[^"]|"")+)")?', re.IGNORECASE
)
_STRINGS: Final = re.compile(r"'(?:[^']|'')*'")
_NAMES: Final = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'|;|[^"\';]+')


def statements(text: str) -> list[str]:
    """Returns the statements of a text; semicolons between them separate, those in strings do not."""
    found, current = [], ""
    for token in _NAMES.findall(text):
        if token == ";":
            found.append(current)
            current = ""
        else:
            current += token
    return [each.strip() for each in [*found, current] if each.strip()]


def is_write(statement: str) -> bool:
    return not re.match(r"\s*(SELECT|EXISTS)\b", statement, re.IGNORECASE)


def plan(statement: str, described: dict[str, Any]) -> str:
    """Returns how DynamoDB runs a SELECT, by the keys that its WHERE compares: GetItem, Query or Scan."""
    source = _SOURCE.search(statement)
    index = source[3] if source else None
    keys = schema_of(described, (index or "").replace('""', '"'))
    where = re.split(r"\bWHERE\b", statement, maxsplit=1, flags=re.IGNORECASE)
    tests = _STRINGS.sub("''", where[1]) if len(where) > 1 else ""

    def is_fixed(name: str) -> bool:
        return bool(re.search(rf'(?<![\w"])"?{re.escape(name)}"?\s*(=|IN\b)', tests, re.IGNORECASE))

    at = f"index {index} of {described['TableName']}" if index else described["TableName"]
    if not is_fixed(keys[0]) or re.search(r"\bOR\b", tests, re.IGNORECASE):
        return f"Scan of {at}: all of it is read, because WHERE does not fix {keys[0]}."
    if index or (len(keys) > 1 and not is_fixed(keys[1])):
        return f"Query of {at}: one item collection."
    return f"GetItem on {at}: one item."


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
        editor = code_editor(text, "SQL", dark=session.dark, height="180px", on_change=lambda _: explain())
        with ui.row().classes("w-full items-center"):
            run = ui.button("Run", icon="play_arrow")
            selection = ui.button("Run selection").props("outline")
            explained = note("")
    summary = note("")
    grid = ItemGrid([], lambda row: None)

    async def execute(text: str) -> None:
        found = statements(text)
        writes = [each for each in found if is_write(each)]
        if writes and not await confirmed("These statements write:\n" + "\n".join(writes)[:2000], "Run"):
            return
        items: list[dict[str, Any]] = []
        units = 0.0
        for statement in found:
            request: dict[str, Any] = {"Statement": statement, "ReturnConsumedCapacity": "TOTAL"}
            answer = await session.endpoint.call("ExecuteStatement", request)
            items += answer.get("Items", [])
            units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
            while "NextToken" in answer and len(items) < 1000:
                answer = await session.endpoint.call(
                    "ExecuteStatement", {**request, "NextToken": answer["NextToken"]}
                )
                items += answer.get("Items", [])
                units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        grid.show(items)
        summary.text = f"{len(items):,} items, {units:g} units, {len(found)} statements"

    async def explain() -> None:
        found = statements(editor.value or "")
        source = _SOURCE.search(found[0]) if found else None
        if source is None or is_write(found[0]):
            explained.text = ""
            return
        try:
            described = await session.endpoint.describe((source[1] or source[2]).replace('""', '"'))
            explained.text = plan(found[0], described)
        except (Failure, ValueError) as failure:
            explained.text = str(failure)

    async def run_selection() -> None:
        picked = await ui.run_javascript("return window.getSelection().toString()", timeout=5)
        if not picked.strip():
            complain(Failure("", "Select the statements to run first."))
            return
        await execute(picked)

    ui.timer(0.5, lambda: editor.set_theme("vscodeDark" if session.dark else "vscodeLight"), once=True)
    run.on_click(guarded(lambda: execute(editor.value or "")))
    selection.on_click(guarded(run_selection))
