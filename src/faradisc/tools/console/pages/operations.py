"""Work that runs or ran: exports, imports, background jobs, the check, the clock, the nodes of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.export_view import show_files
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.pages.tables import KeyInputs, definitions
from faradisc.tools.console.parts import dialog_end, dialog_of, dot, facts, forbid, heading, note, plain_table
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, go
from faradisc.tools.console.values import counted, visible

TRANSFERS_MAX: Final = 25
"""Exports, and imports, that are listed; each is described."""
POLL_S: Final = 2.0


@console_page("/operations", "Operations")
async def operations_page(session: Session) -> None:
    heading("Exports and imports")
    with ui.row():
        denied = await session.denied("", "ExportTableToPointInTime", "ImportTable")
        export = ui.button("Export a table", icon="upload", on_click=guarded(lambda: _export(session)))
        forbid(export.props("outline"), denied, "ExportTableToPointInTime")
        load = ui.button("Import a table", icon="download", on_click=lambda: _import(session))
        forbid(load.props("outline"), denied, "ImportTable")
    await _transfers(session, "Export", "ExportSummaries", "ExportDescription")
    await _transfers(session, "Import", "ImportSummaryList", "ImportTableDescription")
    if not await session.has_admin():
        note("Background jobs, the check and the clock are shown where this key may use the admin API.")
        return
    for draw in (_jobs, _check, _clock, _nodes):
        await _section(draw, session)


async def _section(draw: Callable[[Session], Awaitable[None]], session: Session) -> None:
    try:
        await draw(session)
    except Failure as failure:
        if failure.code != "404":
            ui.label(str(failure)).classes("removed")


async def _transfers(session: Session, kind: str, summaries: str, description: str) -> None:
    """Draws exports or imports; the list follows while one of them is running."""
    box = ui.column().classes("w-full")

    async def described(summary: dict[str, Any]) -> dict[str, Any]:
        arn = {f"{kind}Arn": summary[f"{kind}Arn"]}
        found: dict[str, Any] = await session.endpoint.optional(f"Describe{kind}", arn, description, summary)
        return found

    async def draw() -> None:
        rows: list[dict[str, Any]] = []
        empty = f"No {kind.lower()}s yet."
        try:
            found = (await session.endpoint.call(f"List{kind}s"))[summaries][:TRANSFERS_MAX]
            rows = await asyncio.gather(*map(described, found))
        except Failure as failure:
            empty = failure.message
        box.clear()
        with box:
            if rows:
                with ui.element("div").classes("sheet"):
                    for each in rows:
                        _transfer(session, kind, each)
            else:
                note(empty)
        timer.active = any(each[f"{kind}Status"] == "IN_PROGRESS" for each in rows)

    timer = ui.timer(POLL_S, draw, active=False)
    await draw()


def _transfer(session: Session, kind: str, one: dict[str, Any]) -> None:
    """Draws an export or an import as a line."""
    state = str(one[f"{kind}Status"])
    bucket = one.get("S3Bucket") or one.get("S3BucketSource", {}).get("S3Bucket", "")
    began = one.get("ExportTime") or one.get("StartTime")
    said = [
        f"{kind.lower()} {state.lower().replace('_', ' ')}",
        counted(one.get("ImportedItemCount", one.get("ItemCount", 0)), "item"),
        f"bucket {bucket}",
        *([f"{one['ErrorCount']:,} rejected"] if one.get("ErrorCount") else []),
        *([f"{began:%Y-%m-%d %H:%M:%S}"] if began else []),
        str(one.get("FailureMessage", "")),
    ]
    with ui.element("div").classes("sheet-row"):
        dot(state)
        ui.label(str(one.get("TableArn", "")).rpartition("/")[2]).classes("mono")
        note(visible(", ".join(filter(None, said)))).classes("count")
        if kind == "Export" and state == "COMPLETED" and one.get("ExportManifest"):
            ui.button("Files", icon="download", on_click=guarded(partial(show_files, session, one))).props(
                "flat"
            )


async def _export(session: Session) -> None:
    names = await session.endpoint.tables()
    with dialog_of("Export a table to a bucket", narrow=True) as dialog:
        note("The table needs point-in-time recovery (Backups). It stays in use meanwhile.")
        table = ui.select(names, label="Table", with_input=True).classes("w-full")
        bucket = ui.input("S3 bucket").classes("w-full")
        prefix = ui.input("Prefix (optional)").classes("w-full")
        form = ui.toggle({"DYNAMODB_JSON": "DynamoDB JSON", "ION": "Ion"}, value="DYNAMODB_JSON")

        async def export() -> None:
            described = await session.endpoint.describe(table.value or "")
            request = {
                "TableArn": described["TableArn"],
                "S3Bucket": bucket.value,
                "ExportFormat": form.value,
            }
            request |= {"S3Prefix": prefix.value} if prefix.value else {}
            await session.endpoint.call("ExportTableToPointInTime", request)
            go("/operations")

        dialog_end(dialog, "Export", guarded(export))


def _import(session: Session) -> None:
    with dialog_of("Import a new table from a bucket", narrow=True) as dialog:
        bucket = ui.input("S3 bucket").classes("w-full")
        prefix = ui.input("Prefix (optional)").classes("w-full")
        with ui.row().classes("w-full no-wrap"):
            forms = {"DYNAMODB_JSON": "DynamoDB JSON", "ION": "Ion", "CSV": "CSV"}
            form = ui.select(forms, value="DYNAMODB_JSON", label="Format").classes("grow")
            packings = {"NONE": "not packed", "GZIP": "gzip", "ZSTD": "zstd"}
            packed = ui.select(packings, value="GZIP", label="Packed with").classes("grow")
        name = ui.input("Name of the new table").classes("w-full")
        keys = KeyInputs()

        async def begin() -> None:
            source = {"S3Bucket": bucket.value} | ({"S3KeyPrefix": prefix.value} if prefix.value else {})
            request = {
                "S3BucketSource": source,
                "InputFormat": form.value,
                "InputCompressionType": packed.value,
                "TableCreationParameters": {
                    "TableName": name.value,
                    "KeySchema": keys.schema(),
                    "AttributeDefinitions": definitions(keys.types()),
                    "BillingMode": "PAY_PER_REQUEST",
                },
            }
            await session.endpoint.call("ImportTable", request)
            go("/operations")

        dialog_end(dialog, "Import", guarded(begin))


async def _jobs(session: Session) -> None:
    heading("Background jobs")
    found = (await session.endpoint.admin("jobs")).get("index_backfill", [])
    if not found:
        note("No index is being filled.")
    for job in found:
        share = job["items_seen"] / job["items"] if job["items"] else 0.0
        ui.label(f"{job['table']}, index {job['index']}: {job['items_seen']:,} of {job['items']:,} items")
        ui.linear_progress(share, show_value=False).classes("w-full").props("aria-label=Progress")


async def _check(session: Session) -> None:
    heading("Check")
    box = ui.column().classes("w-full")

    async def draw() -> None:
        report = await session.endpoint.admin("check")
        box.clear()
        with box:
            if report["status"] == "none":
                note("Not checked yet.")
            else:
                facts({name.replace("_", " ").capitalize(): said(value) for name, value in report.items()})
        if report["status"] != "running":
            timer.deactivate()

    async def begin() -> None:
        await session.endpoint.admin("check", {})
        timer.activate()

    ui.button("Check the whole database", on_click=guarded(begin)).props("outline")
    timer = ui.timer(1.0, guarded(draw), active=False)
    await draw()


def said(value: Any) -> str:
    """Returns a value of a report as people read it."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,}"
        case dict():
            return (
                "; ".join(f"{name.replace('_', ' ')} {said(each)}" for name, each in value.items()) or "none"
            )
        case list():
            return "; ".join(map(said, value)) or "none"
        case _:
            return str(value)


async def _clock(session: Session) -> None:
    clock = await session.endpoint.admin("clock")
    if not clock["movable"]:
        return
    heading("Virtual clock")
    shown = ui.label(_moment(clock))
    seconds = ui.number("Seconds to advance", value=300, min=0)

    async def advance() -> None:
        moved = await session.endpoint.admin("clock", {"advance_s": float(seconds.value or 0)})
        shown.text = _moment(moved)

    ui.button("Advance", on_click=guarded(advance))


def _moment(clock: dict[str, Any]) -> str:
    return f"{datetime.fromtimestamp(clock['now_ns'] / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"


async def _nodes(session: Session) -> None:
    found: list[dict[str, Any]] = await session.endpoint.admin("nodes")
    if not found:
        return
    heading("Nodes")
    plain_table([{name: said(value) for name, value in node.items()} for node in found])
