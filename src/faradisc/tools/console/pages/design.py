"""A design of several entities in one table: which there are, their collections, and the access patterns."""

from __future__ import annotations

from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.entities import collections, colour_of, entities, entity_name
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.navigation import items_path
from faradisc.tools.console.parts import entity_chip, heading, icon_button, note, plain_table
from faradisc.tools.console.queries import choices, schema_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, go
from faradisc.tools.console.values import Item, cell, visible

SAMPLE: Final = 1_000
"""Items that are read to find the entities."""
COLLECTIONS_MAX: Final = 30
ENTITIES_MAX: Final = 60
ITEMS_MAX: Final = 40


@console_page("/tables/{table}/design", "Design")
async def design_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    offered = {choice.index: choice.title for choice in choices(described)}
    index = ui.select(offered, value="", label="View by").classes("min-w-[260px]")
    groups = ui.column().classes("w-full")
    _patterns(table, offered)
    box = ui.column().classes("w-full")

    async def draw() -> None:
        keys, base = schema_of(described, index.value), schema_of(described, "")
        items = await _sample(session, table, index.value)
        groups.clear()
        with groups:
            _entities(session, table, items, base, keys)
        box.clear()
        with box:
            _collections(table, index.value, items, base, keys)

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


def _entities(session: Session, table: str, items: list[Item], base: list[str], keys: list[str]) -> None:
    """base: keys of the table. keys: of what it is viewed by."""
    heading("Entities")
    note(f"Of {len(items):,} items that were read, by the prefixes of their keys in the table.")
    colours = session.colours.setdefault(table, {})
    shown = list(dict.fromkeys((*keys, *base)))
    with ui.element("div").classes("entities"):
        for each in entities(items, base, keys)[:ENTITIES_MAX]:
            with ui.card().classes(f"entity-card c-e{colour_of(each.name, colours)}"):
                with ui.row().classes("w-full items-center no-wrap"):
                    entity_chip(each.name, colours)
                    ui.space()
                    ui.label(f"{each.items:,}").classes("number soft")
                for name in shown:
                    with ui.row().classes("w-full no-wrap gap-2 items-baseline"):
                        ui.label(visible(name)).classes("fact-name entity-key")
                        ui.label(visible(each.patterns.get(name, "–"))).classes("mono")
                others = sorted(each.attributes - set(shown))
                note(visible(", ".join(others)[:300]))


def _collections(table: str, index: str, items: list[Item], base: list[str], keys: list[str]) -> None:
    found = sorted(collections(items, keys), key=lambda each: -len(each.items))
    heading("Item collections")
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
                    icon_button("play_arrow", "Run the query", lambda each=each: go(path_of(each)))
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
