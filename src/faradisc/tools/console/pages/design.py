"""A design of several entities in one table: which there are, their collections, and the access patterns."""

from __future__ import annotations

from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.entities import collections, entities, entity_name
from faradisc.tools.console.frame import Session, console_page, table_path
from faradisc.tools.console.parts import plain_table
from faradisc.tools.console.queries import choices, schema_of
from faradisc.tools.console.values import Item, cell, visible

SAMPLE: Final = 1_000
"""Items that are read to find the entities."""
COLLECTIONS_MAX: Final = 30
ITEMS_MAX: Final = 40


@console_page("/tables/{table}/design", "Design")
async def design_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    index = ui.select({c.index: c.title for c in choices(described)}, value="", label="Seen by").classes(
        "min-w-[260px]"
    )
    box = ui.column().classes("w-full")

    async def draw() -> None:
        keys = schema_of(described, index.value)
        items = await _sample(session, table, index.value)
        box.clear()
        with box:
            _entities(items, keys)
            _collections(items, keys)

    index.on_value_change(draw)
    await draw()
    _patterns(table, described)


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
    ui.label("Entities").classes("text-lg")
    ui.label(f"Of {len(items):,} items that were read, by the prefixes of their keys.").classes("soft")
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


def _collections(items: list[Item], keys: list[str]) -> None:
    ui.label("Item collections").classes("text-lg")
    found = sorted(collections(items, keys), key=lambda each: -len(each.items))[:COLLECTIONS_MAX]
    for each in found:
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
                ui.label(f"and {len(each.items) - ITEMS_MAX:,} more").classes("soft")


def _patterns(table: str, described: dict[str, Any]) -> None:
    """Draws the access patterns, which the browser keeps, each with the keys it uses."""
    key = orjson.dumps(f"faradisc.patterns.{table}").decode()
    ui.label("Access patterns").classes("text-lg")
    ui.label("Note how the application reads this table. The browser keeps the notes.").classes("soft")
    rows = ui.column().classes("w-full")
    found: list[dict[str, str]] = []

    def store() -> None:
        ui.run_javascript(f"localStorage.setItem({key}, JSON.stringify({orjson.dumps(found).decode()}))")

    def draw() -> None:
        rows.clear()
        with rows:
            for each in found:
                with ui.row().classes("w-full no-wrap items-center"):
                    ui.input("Pattern").bind_value(each, "text").on("blur", store).classes("grow")
                    ui.select([c.title for c in choices(described)], label="Query of").bind_value(
                        each, "keys"
                    ).on("update:model-value", store).classes("w-64")
                    ui.button(
                        icon="grid_on", on_click=lambda: ui.navigate.to(table_path(table, "items"))
                    ).props("flat dense aria-label='Open the query'")
                    ui.button(icon="close", on_click=lambda each=each: remove(each)).props(
                        "flat dense aria-label='Remove pattern'"
                    )

    def remove(pattern: dict[str, str]) -> None:
        found.remove(pattern)
        store()
        draw()

    def add() -> None:
        found.append({"text": "", "keys": choices(described)[0].title})
        draw()

    async def load() -> None:
        found.extend(
            await ui.run_javascript(f"return JSON.parse(localStorage.getItem({key}) || '[]')", timeout=5)
        )
        draw()

    ui.button("Add pattern", icon="add", on_click=add).props("flat")
    ui.timer(0.1, load, once=True)
