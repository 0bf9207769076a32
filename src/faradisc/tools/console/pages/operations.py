"""Work that runs or ran: exports, imports, background jobs, the check, the clock, the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, console_page, guarded
from faradisc.tools.console.parts import facts, heading, note, plain_table


@console_page("/operations", "Operations")
async def operations_page(session: Session) -> None:
    await _listed(
        session, "Exports", "ListExports", "ExportSummaries", ("ExportArn", "ExportStatus", "ExportType")
    )
    await _listed(
        session, "Imports", "ListImports", "ImportSummaryList", ("ImportArn", "ImportStatus", "InputFormat")
    )
    await _export(session)
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


async def _listed(session: Session, title: str, operation: str, member: str, fields: tuple[str, ...]) -> None:
    heading(title)
    try:
        found = (await session.endpoint.call(operation)).get(member, [])
    except Failure as failure:
        note(failure.message)
        return
    if not found:
        note("None yet.")
        return
    plain_table([{name: str(row.get(name, "")) for name in fields} for row in found])


async def _export(session: Session) -> None:
    with ui.expansion("Export a table").classes("w-full"):
        arn = ui.input("Table ARN").classes("w-full")
        bucket = ui.input("S3 bucket").classes("w-full")
        form = ui.toggle(["DYNAMODB_JSON", "ION"], value="DYNAMODB_JSON")

        async def export() -> None:
            request = {"TableArn": arn.value, "S3Bucket": bucket.value, "ExportFormat": form.value}
            await session.endpoint.call("ExportTableToPointInTime", request)
            ui.navigate.to("/operations")

        ui.button("Export", on_click=guarded(export))


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
            facts({name.replace("_", " ").capitalize(): _short(value) for name, value in report.items()})
        if report["status"] != "running":
            timer.deactivate()

    async def begin() -> None:
        await session.endpoint.admin("check", {})
        timer.activate()

    ui.button("Check the whole database", on_click=guarded(begin)).props("outline")
    timer = ui.timer(1.0, guarded(draw), active=False)
    await draw()


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)[:300]


async def _clock(session: Session) -> None:
    clock = await session.endpoint.admin("clock")
    if not clock["movable"]:
        return
    heading("Virtual clock")
    shown = ui.label(f"{clock['now_ns'] / 1e9:,.0f} seconds after 1970")
    seconds = ui.number("Seconds to advance", value=300, min=0)

    async def advance() -> None:
        moved = await session.endpoint.admin("clock", {"advance_s": float(seconds.value or 0)})
        shown.text = f"{moved['now_ns'] / 1e9:,.0f} seconds after 1970"

    ui.button("Advance", on_click=guarded(advance))


async def _nodes(session: Session) -> None:
    found = (await session.endpoint.admin("nodes")).get("nodes", [])
    if not found:
        return
    heading("Nodes")
    columns = [
        {"name": n, "field": n, "label": n.replace("_", " ").capitalize(), "align": "left"} for n in found[0]
    ]
    rows = [{name: _short(value) for name, value in node.items()} for node in found]
    ui.table(columns=columns, rows=rows).classes("w-full").props("dense flat wrap-cells")
