"""A design of several entities in one table: which there are, their collections, and the access patterns."""

from __future__ import annotations

from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.entities import collections, entities, entity_name
from faradisc.tools.console.frame import Session, console_page, guarded, items_path
from faradisc.tools.console.parts import heading, icon_button, note, plain_table
from faradisc.tools.console.queries import choices, schema_of
from faradisc.tools.console.values import Item, cell, visible

SAMPLE: Final = 1_000
"""Items that are read to find the entities."""
COLLECTIONS_MAX: Final = 30
ITEMS_MAX: Final = 40


@console_page("/tables/{table}/design", "Design")
async def design_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    offered = {choice.index: choice.title for choice in choices(described)}
    index = ui.select(offered, value="", label="Seen by").classes("min-w-[260px]")
    groups = ui.column().classes("w-full")
    _patterns(table, offered)
    box = ui.column().classes("w-full")

    async def draw() -> None:
        keys = schema_of(described, index.value)
        items = await _sample(session, table, index.value)
        groups.clear()
        with groups:
            _entities(items, keys)
        box.clear()
        with box:
            _collections(table, index.value, items, keys)

    index.on_value_change(guarded(draw))
    await draw()


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


def _entities(items: list[Item], keys: list[str]) -> None:
    heading("Entities")
    note(f"Of {len(items):,} items that were read, by the prefixes of their keys.")
    rows = [
        {
            "name": visible(each.name),
            "partition": visible(each.partition),
            "sort": visible(each.sort),
            "items": f"{each.items:,}",
            "attributes": visible(", ".join(sorted(each.attributes - set(keys)))[:300]),
        }
        for each in entities(items, keys)[:100]
    ]
    sort = keys[1] if len(keys) > 1 else "no sort key"
    titles = {"name": "Entity", "partition": keys[0], "sort": sort, "attributes": "Other attributes"}
    plain_table(rows, {name: visible(title) for name, title in titles.items()})


def _collections(table: str, index: str, items: list[Item], keys: list[str]) -> None:
    found = sorted(collections(items, keys), key=lambda each: -len(each.items))
    heading("Item collections")
    note(
        f"Items with the same {visible(keys[0])}: the {min(COLLECTIONS_MAX, len(found))} largest "
        f"of {len(found):,}."
    )
    for each in found[:COLLECTIONS_MAX]:
        kinds: dict[str, int] = {}
        for item in each.items:
            kinds[entity_name(item, keys)] = kinds.get(entity_name(item, keys), 0) + 1
        summary = ", ".join(f"{number} {name}" for name, number in kinds.items())
        title = visible(each.key)[:120] or "(empty)"
        with ui.expansion(title, caption=visible(summary)).classes("w-full") as expansion:
            expansion.props["toggle-aria-label"] = f"{title} {visible(summary)}"
            rows = [
                {
                    "entity": visible(entity_name(item, keys)),
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


def _patterns(table: str, offered: dict[str, str]) -> None:
    """Draws the access patterns, which the browser keeps, each with its query. offered: titles by index."""
    key = orjson.dumps(f"faradisc.patterns.{table}").decode()
    heading("Access patterns")
    note("How the application reads this table, each with its query. The browser keeps them.")
    rows = ui.column().classes("w-full")
    found: list[dict[str, str]] = []

    def store() -> None:
        ui.run_javascript(f"localStorage.setItem({key}, JSON.stringify({orjson.dumps(found).decode()}))")

    def draw() -> None:
        rows.clear()
        with rows:
            for each in found:
                with ui.row().classes("w-full items-end gap-2"):
                    ui.input("Pattern").bind_value(each, "text").on("blur", store).classes("grow")
                    ui.select(offered, label="Query of").bind_value(each, "index").on(
                        "update:model-value", store
                    ).classes("w-56")
                    for name, title in (("partition", "Partition key"), ("sort", "Sort key")):
                        ui.input(title).bind_value(each, name).on("blur", store).classes("w-32")
                    icon_button(
                        "play_arrow", "Run the query", lambda each=each: ui.navigate.to(path_of(each))
                    )
                    icon_button("close", "Remove pattern", lambda each=each: remove(each))

    def path_of(pattern: dict[str, str]) -> str:
        return items_path(table, pattern["index"], pattern["partition"], pattern["sort"])

    def remove(pattern: dict[str, str]) -> None:
        found.remove(pattern)
        store()
        draw()

    def add() -> None:
        found.append(dict(_PATTERN))
        draw()

    async def load() -> None:
        kept = await ui.run_javascript(f"return JSON.parse(localStorage.getItem({key}) || '[]')", timeout=5)
        found.extend({**_PATTERN, **each} for each in kept if each.get("index") in offered)
        draw()

    ui.button("Add pattern", icon="add", on_click=add).props("flat")
    ui.timer(0.1, load, once=True)
