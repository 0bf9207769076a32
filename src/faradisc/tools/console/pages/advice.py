"""What to change in the tables of the endpoint, by its metrics of the last hours."""

from __future__ import annotations

from datetime import UTC, datetime

from nicegui import ui

from faradisc.clock import SystemClock
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, console_page, guarded, table_path
from faradisc.tools.console.parts import note

HOURS = {1: "last hour", 3: "last 3 hours", 24: "last day"}


@console_page("/advice", "Advice")
async def advice_page(session: Session) -> None:
    note("Scans, hot keys, indexes, recovery and modes, by metrics. A recorded trace shows more.")
    hours = ui.select(HOURS, value=3, label="Metrics of the").classes("min-w-[160px]")
    box = ui.column().classes("w-full")

    async def draw() -> None:
        await _findings(session, hours.value, box)

    hours.on_value_change(guarded(draw))
    with box:
        note("Reading metrics…")
    # After the page is shown: metrics of many tables take longer than a page may.
    ui.timer(0.1, guarded(draw), once=True)


async def _findings(session: Session, hours: int, box: ui.column) -> None:
    """Draws the findings, most important first. Raises Failure."""
    try:
        from faradisc.tools.advisor.report import effect_text  # noqa: PLC0415 - another extra
        from faradisc.tools.advisor.rules import advise  # noqa: PLC0415
        from faradisc.tools.advisor.serving import of_endpoint  # noqa: PLC0415
    except ModuleNotFoundError:
        box.clear()
        with box:
            note("Advice needs another extra: pip install 'faradisc[plan]'.")
        return
    now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
    source = session.url or "Amazon DynamoDB"
    traffic = await of_endpoint(session.endpoint, Failure, now=now, source=source, hours=hours)
    findings = advise(traffic)
    box.clear()
    with box:
        for each in traffic.notes:
            note(each)
        if not findings:
            note("Nothing to change was found.")
        for finding in findings:
            with ui.card().classes("w-full"):
                with ui.row().classes("items-center"):
                    ui.badge(finding.level).props(f"color={_COLORS[finding.level]}")
                    ui.link(finding.title, table_path(finding.table)).style(
                        "color: inherit; overflow-wrap: anywhere"
                    )
                ui.label(finding.evidence)
                ui.label(f"Effect: {effect_text(finding.effect)}")
                with ui.expansion("The change as code"):
                    ui.code(finding.code, language="python").classes("w-full")


_COLORS = {"high": "negative", "medium": "warning", "low": "secondary"}
