"""A design of several entities in one table, drawn; access patterns, also from traffic; item collections."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.drawing import Proposal, drawing_of, placed, proposals
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.entities import collections, entity_name
from faradisc.tools.console.health import table_reads
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.navigation import items_path
from faradisc.tools.console.parts import Diagram, from_browser, heading, icon_button, note, plain_table
from faradisc.tools.console.queries import choices, schema_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, go
from faradisc.tools.console.values import Item, cell, visible

SAMPLE: Final = 1_000
"""Items that are read to find the entities."""
COLLECTIONS_MAX: Final = 30
ENTITIES_MAX: Final = 40
PROPOSALS_MAX: Final = 12
HOURS: Final = 3
"""Of traffic, from which access patterns are proposed."""
ITEMS_MAX: Final = 40


@console_page("/tables/{table}/design", "Design")
async def design_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    offered = {choice.index: choice.title for choice in choices(described)}
    base = schema_of(described, "")
    items = await _sample(session, table, "")
    found = placed(described, items)
    note(f"Of {len(items):,} items that were read, by the prefixes of their keys in the table.")
    colours = session.colours.setdefault(table, {})
    Diagram(f"Design of {table}").show(drawing_of(described, found, colours, ENTITIES_MAX))
    patterns = Patterns(table, offered)
    patterns.draw()
    proposed = ui.column().classes("w-full gap-1")
    heading("Item collections")
    index = ui.select(offered, value="", label="View by").style("min-width: 260px")
    box = ui.column().classes("w-full")

    async def draw() -> None:
        seen = await _sample(session, table, index.value) if index.value else items
        box.clear()
        with box:
            _collections(table, index.value, seen, base, schema_of(described, index.value))

    index.on_value_change(guarded(draw))
    await draw()
    with suppress(Failure):
        reads = await table_reads(session.endpoint, described, HOURS)
        with proposed:
            _proposed(patterns, proposals(reads, found, described))


def _proposed(patterns: Patterns, found: list[Proposal]) -> None:
    """Draws the access patterns that traffic shows."""
    note(f"{'Seen' if found else 'No reads'} in the last {HOURS} hours")
    if not found:
        return
    with ui.element("div").classes("sheet"):
        for each in found[:PROPOSALS_MAX]:
            with ui.element("div").classes("sheet-row"):
                ui.label(each.text)
                note(each.evidence).classes("count")
                add = ui.button("Add", icon="add").props("flat")
                add.on_click(partial(patterns.add, each))
                add.on_click(add.disable)


async def _sample(session: Session, table: str, index: str) -> list[Item]:
    request: dict[str, Any] = {"TableName": table, "Limit": 250}
    if index:
        request["IndexName"] = index
    items: list[Item] = []
    async for page in session.endpoint.pages("Scan", request):
        items += page["Items"]
        if len(items) >= SAMPLE:
            break
    return items


def _collections(table: str, index: str, items: list[Item], base: list[str], keys: list[str]) -> None:
    found = sorted(collections(items, keys), key=lambda each: -len(each.items))
    note(
        f"Items with the same {visible(keys[0])}: the {min(COLLECTIONS_MAX, len(found))} largest "
        f"of {len(found):,}."
    )
    for each in found[:COLLECTIONS_MAX]:
        kinds: dict[str, int] = {}
        for item in each.items:
            kinds[entity_name(item, base)] = kinds.get(entity_name(item, base), 0) + 1
        summary = ", ".join(f"{number} {name}" for name, number in kinds.items())
        title = visible(each.key)[:120] or "(empty)"
        with ui.expansion(title, caption=visible(summary)).classes("w-full") as expansion:
            expansion.props["toggle-aria-label"] = f"{title} {visible(summary)}"
            rows = [
                {
                    "entity": visible(entity_name(item, base)),
                    "sort": cell(item.get(keys[1])) if len(keys) > 1 else "",
                    "rest": ", ".join(
                        f"{visible(n)}: {cell(v)[:60]}" for n, v in item.items() if n not in keys
                    )[:400],
                }
                for item in each.items[:ITEMS_MAX]
            ]
            plain_table(rows, {"sort": visible(keys[1]) if len(keys) > 1 else "", "rest": "Attributes"})
            if len(each.items) > ITEMS_MAX:
                note(f"and {len(each.items) - ITEMS_MAX:,} more")
            ui.link("Query these items", items_path(table, index, each.key))


_PATTERN: Final = {"text": "", "index": "", "partition": "", "sort": ""}


class Patterns:
    """The access patterns of a table, which the browser keeps, each with its query."""

    def __init__(self, table: str, offered: dict[str, str]) -> None:
        """offered: titles of the table and its indexes."""
        self._table = table
        self._offered = offered
        self._key = orjson.dumps(f"faradisc.patterns.{table}").decode()
        self._found: list[dict[str, str]] = []

    def draw(self) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            heading("Access patterns")
            note("how the application reads this table, each with its query; the browser keeps them")
            ui.space()
            ui.button("Add pattern", icon="add", on_click=lambda: self.add(None)).props("outline")
        self._rows = ui.column().classes("w-full gap-2").style("min-height: 0")
        ui.timer(0.1, self._load, once=True)

    def add(self, proposal: Proposal | None) -> None:
        """Adds a pattern: a proposed one, or an empty one to fill in."""
        if proposal is None:
            self._found.append(dict(_PATTERN))
        else:
            query = {"index": proposal.index, "partition": proposal.partition, "sort": proposal.sort}
            self._found.append({"text": proposal.text, **query})
            self._store()
        self._draw_rows()

    def _store(self) -> None:
        kept = orjson.dumps(self._found).decode()
        ui.run_javascript(f"localStorage.setItem({self._key}, JSON.stringify({kept}))")

    def _draw_rows(self) -> None:
        self._rows.clear()
        with self._rows:
            for each in self._found:
                with ui.row().classes("w-full items-end gap-2"):
                    ui.input("Pattern").bind_value(each, "text").on("blur", self._store).classes("grow")
                    ui.select(self._offered, label="Query of").bind_value(each, "index").on(
                        "update:model-value", self._store
                    ).classes("w-56")
                    for name, title in (("partition", "Partition key"), ("sort", "Sort key")):
                        ui.input(title).bind_value(each, name).on("blur", self._store).classes("w-40")
                    icon_button("play_arrow", "Run the query", partial(self._run, each))
                    icon_button("close", "Remove pattern", partial(self._remove, each))

    def _run(self, pattern: dict[str, str], _: Any) -> None:
        go(items_path(self._table, pattern["index"], pattern["partition"], pattern["sort"]))

    def _remove(self, pattern: dict[str, str], _: Any) -> None:
        self._found.remove(pattern)
        self._store()
        self._draw_rows()

    async def _load(self) -> None:
        script = f"return JSON.parse(localStorage.getItem({self._key}) || '[]')"
        kept = await from_browser(script, [])
        self._found = [{**_PATTERN, **each} for each in kept if each.get("index") in self._offered]
        self._draw_rows()
