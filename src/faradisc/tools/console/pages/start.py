"""The first page: the health of the tables; without tables, ways to begin."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console import sample
from faradisc.tools.console.copies import copy_card, copy_of
from faradisc.tools.console.definition import NewTable
from faradisc.tools.console.definition_view import make_with
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import code_tabs
from faradisc.tools.console.health import SHOWN_MAX, TABLES_MAX, alarms, lagging, table_health
from faradisc.tools.console.import_view import drop_target, keys_of, previewed, upload
from faradisc.tools.console.importing import FileOfItems
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.pages.tables import definitions
from faradisc.tools.console.parts import dot, forbid, heading, note
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, go
from faradisc.tools.console.values import Item

POLL_S = 10.0


@console_page("/", "Start")
async def start_page(session: Session) -> None:
    try:
        names = await session.endpoint.tables()
    except Failure as failure:
        if failure.code != "AccessDeniedException":
            raise
        note(failure.message)
        _named_table()
        return
    if not names:
        _first_run(session, await session.denied("", "CreateTable", "BatchWriteItem", "ImportTable"))
        return
    health = ui.column().classes("w-full gap-3")

    async def draw() -> None:
        await _health(session, names, health)

    await draw()
    ui.timer(POLL_S, draw)


def _named_table() -> None:
    """Draws the way to a table for a key that may not list them."""
    with ui.row().classes("items-center"):
        known = ui.input("Name of a table that this key may use").classes("w-80")

        def opened() -> None:
            go(table_path(known.value))

        known.on("keydown.enter", opened)
        ui.button("Open", on_click=opened)


async def _health(session: Session, names: list[str], box: ui.column) -> None:
    endpoint, notes = session.endpoint, []
    copy = await copy_of(session)
    tables, ringing, behind = await asyncio.gather(
        table_health(endpoint, names), alarms(endpoint), lagging(endpoint, names), return_exceptions=True
    )
    for found in (tables, ringing, behind):
        if isinstance(found, Failure):
            notes.append(found.message)
        elif isinstance(found, BaseException):
            raise found
    box.clear()
    with box:
        throttled = [] if isinstance(tables, BaseException) else [t for t in tables if t.throttles]
        bells = [] if isinstance(ringing, BaseException) else ringing
        late = [] if isinstance(behind, BaseException) else behind
        total = sum(each.throttles for each in throttled)
        with ui.element("div").classes("tiles"):
            _tile("Tables", f"{len(names):,}", "", "")
            _tile("Throttled in the last hour", f"{total:,.0f}", "throttled" if total else "ok", "requests")
            _tile("Alarms", f"{len(bells):,}", "alarm" if bells else "ok", "that are on")
            _tile("Consumers behind", f"{len(late):,}", "late" if late else "ok", "shards")
            if copy:
                card = copy_card(copy)
                notes += [card.note] if card.note else []
                state = "alarm" if card.style == "bad" else card.style
                _tile(card.title, card.lines[0][1], state, "behind")
        if not isinstance(tables, BaseException) and tables:
            heading("Busiest tables of the last hour")
            with ui.element("div").classes("sheet"):
                most = max(each.units for each in tables) or 1
                for each in tables[:SHOWN_MAX]:
                    with ui.element("div").classes("sheet-row health-row"):
                        dot("throttled" if each.throttles else "ok")
                        page = "throughput" if each.throttles else ""
                        ui.link(each.table, table_path(each.table, page)).classes("mono ellipsis")
                        with ui.element("div").classes("bar"):
                            ui.element("div").classes("bar-part").style(f"width: {each.units / most:.0%}")
                        used = f"{each.read_units:,.0f} read, {each.write_units:,.0f} written units"
                        ui.label(used).classes("number soft")
                        said = f"{each.throttles:,.0f} throttled" if each.throttles else ""
                        ui.label(said).classes("number throttled-text")
            if len(names) > TABLES_MAX:
                note(f"Of the first {TABLES_MAX} tables.")
        if bells:
            heading("Alarms")
        for alarm in bells:
            with ui.element("div").classes("sheet sheet-row"):
                dot("alarm")
                ui.link(alarm.name, table_path(alarm.table, "throughput") if alarm.table else "/advice")
                ui.label(alarm.reason).classes("soft")
        if late:
            heading("Consumers behind")
        for table, position in late:
            with ui.element("div").classes("sheet sheet-row"):
                dot("late")
                ui.link(f"{position.group} of {table}", table_path(table, "stream"))
                ui.label(f"{position.behind} ({position.shard[-8:]})").classes("soft")
        for each_note in notes:
            note(each_note)
        if not total and not bells and not late and not notes:
            note("Nothing is throttled, no alarm is on, no consumer is behind.")


def _tile(title: str, number: str, state: str, unit: str) -> None:
    with ui.element("div").classes(f"tile {state}"):
        ui.label(title).classes("fact-name")
        with ui.row().classes("items-baseline gap-1"):
            ui.label(number).classes("tile-number")
            ui.label(unit).classes("soft")


def _first_run(session: Session, denied: set[str]) -> None:
    heading("No tables yet")
    note("Four ways to begin:")
    with ui.element("div").classes("tiles first"):
        with ui.card():
            heading("Look around")
            note("A shop in one table: customers, orders, lines, products, an index and a stream.")

            async def load() -> None:
                button.props("loading")
                try:
                    await sample.load(session.endpoint)
                finally:
                    button.props(remove="loading")
                go(table_path(sample.TABLE, "items"))

            button = ui.button("Load the sample shop", icon="storefront", on_click=guarded(load))
            forbid(button, denied, *_MADE_BY)
        with ui.card() as opening:
            heading("Open a file")
            note("JSON, JSON lines or CSV becomes a table; drop it here.")
            field = upload(partial(_open_file, session), "Pick a file")
            drop_target(opening, field)
            forbid(field, denied, *_MADE_BY)
        with ui.card():
            heading("Make your own")
            note("With keys and indexes; items come from a file, or from your program.")
            with ui.row():
                create = ui.button("Create table", on_click=lambda: go("/tables?create=1"))
                forbid(create.props("outline"), denied, "CreateTable")
                load_bucket = ui.button("Import from a bucket", on_click=lambda: go("/operations"))
                forbid(load_bucket.props("flat"), denied, "ImportTable")
        with ui.card():
            heading("Connect a program")
            url, region = session.url, session.region
            code_tabs(_snippets(url, region))


_MADE_BY: Final = ("CreateTable", "BatchWriteItem")
"""Operations that make a table with items."""


async def _open_file(session: Session, name: str, content: bytes) -> None:
    """Makes a table of a file's items, once its preview was seen and its keys are chosen."""
    file = FileOfItems(name, content)
    items = await previewed(file, {}, "Choose keys for {} items")
    chosen = await keys_of(file, items) if items else None
    if items is None or chosen is None:
        return
    table, types = chosen
    kinds = ("HASH", "RANGE")
    request = {
        "TableName": table,
        "KeySchema": [{"AttributeName": n, "KeyType": kind} for n, kind in zip(types, kinds, strict=False)],
        "AttributeDefinitions": definitions(types),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if await guarded(_made)(session, request, items):
        go(table_path(table, "items"))


async def _made(session: Session, request: dict[str, Any], items: list[Item]) -> bool:
    await make_with(session.endpoint, NewTable(request), items)
    return True


def _snippets(url: str | None, region: str) -> dict[str, str]:
    """Returns how programs reach the endpoint."""
    python = f", endpoint_url={url!r}" if url else ""
    option = f" --endpoint-url {url}" if url else ""
    javascript = f', endpoint: "{url}"' if url else ""
    return {
        "Shell": (f"export AWS_ENDPOINT_URL_DYNAMODB={url}\n" if url else "")
        + f"export AWS_REGION={region} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local\n",
        "boto3": f"import boto3\n\nclient = boto3.client('dynamodb', region_name={region!r}{python})\n"
        "print(client.list_tables())\n",
        "AWS CLI": f"aws dynamodb list-tables --region {region}{option}\n",
        "JavaScript": 'import { DynamoDBClient } from "@aws-sdk/client-dynamodb";\n'
        f'const client = new DynamoDBClient({{region: "{region}"{javascript}}});\n',
    }
