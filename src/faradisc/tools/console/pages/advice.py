"""What to change in the tables of the endpoint, by its metrics of the last hours, worst first."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from nicegui import ui

from faradisc.clock import SystemClock
from faradisc.tools.console.changes import Call
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import code_box
from faradisc.tools.console.messages import confirmed, guarded, notice
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.parts import forbid, from_browser, note
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page

HOURS = {1: "last hour", 3: "last 3 hours", 24: "last day"}
SAME_MAX = 3
"""Findings of one rule that are shown before the others are folded."""


@console_page("/advice", "Advice")
async def advice_page(session: Session) -> None:
    with ui.row().classes("w-full items-end"):
        hours = ui.select(HOURS, value=3, label="Metrics of the").style("min-width: 160px")
        note("Scans, hot keys, indexes, recovery and modes, by metrics. A recorded trace shows more.")
    box = ui.column().classes("w-full")

    async def draw() -> None:
        try:
            await _findings(session, hours.value, box, draw)
        except Failure as failure:
            box.clear()
            with box:
                note(failure.message)

    hours.on_value_change(guarded(draw))
    with box:
        note("Reading metrics…")
    # After the page is shown: metrics of many tables take longer than a page may.
    ui.timer(0.1, guarded(draw), once=True)


def leave_out_scans(tables: Mapping[str, Any], own: Callable[[str], int]) -> None:
    """Subtracts Scans that the application did not cause. own: how many this console made of a table."""
    for name, table in tables.items():
        if None in table.scans:
            table.scans[None].pages -= own(name)


async def _findings(
    session: Session, hours: int, box: ui.column, draw: Callable[[], Awaitable[None]]
) -> None:
    """Draws the findings. draw: does that again. Raises Failure."""
    try:
        from faradisc.tools.advisor.findings import LEVELS  # noqa: PLC0415 - another extra
        from faradisc.tools.advisor.report import effect_text  # noqa: PLC0415
        from faradisc.tools.advisor.rules import RULES, advise  # noqa: PLC0415
        from faradisc.tools.advisor.serving import of_endpoint  # noqa: PLC0415
    except ModuleNotFoundError:
        box.clear()
        with box:
            note("Advice needs another extra: pip install 'faradisc[plan]'.")
        return
    now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
    source = session.url or "Amazon DynamoDB"
    traffic = await of_endpoint(session.endpoint, Failure, now=now, source=source, hours=hours)
    leave_out_scans(traffic.tables, lambda name: session.endpoint.reads_since("Scan", name, hours))
    findings = advise(traffic)
    practices = {rule.name: rule.practice for rule in RULES}

    async def show() -> None:
        """Draws what was found, without what is dismissed."""
        dismissed = set(await from_browser(_DISMISSED, []))
        box.clear()
        with box:
            for each in traffic.notes:
                note(each)
            if not findings:
                note("Nothing to change was found.")
                return
            counts = [f"{sum(f.level == level for f in findings)} {level}" for level in reversed(LEVELS)]
            saved = sum(f.effect.usd for f in findings if f.effect.usd is not None and f.effect.usd > 0)
            note(f"{', '.join(counts)}" + (f"; up to ${saved:,.2f} a month" if saved else ""))
            # By rule, in the order of the worst finding of each.
            groups: dict[tuple[str, str], list[Any]] = {}
            for finding in findings:
                if dismissal(finding) not in dismissed:
                    groups.setdefault((finding.level, finding.rule), []).append(finding)
            for (level, rule), group in groups.items():
                with ui.element("div").classes("sheet"):
                    with ui.element("div").classes("sheet-row"):
                        ui.badge(level).props(f"color={_COLOURS[level]}")
                        ui.label(practices[rule]).classes("count font-medium")
                        note(f"{len(group)}×" if len(group) > 1 else "")
                    for finding in group[:SAME_MAX]:
                        _line(session, finding, effect_text(finding.effect), draw, show)
                    if len(group) > SAME_MAX:
                        with ui.expansion(f"{len(group) - SAME_MAX} more").classes("w-full"):
                            for finding in group[SAME_MAX:]:
                                _line(session, finding, effect_text(finding.effect), draw, show)
            if hidden := sum(dismissal(each) in dismissed for each in findings):

                async def restore() -> None:
                    await from_browser("localStorage.removeItem('faradisc.dismissed'); return 1", 1)
                    await show()

                with ui.row().classes("items-center"):
                    note(f"{hidden} dismissed in this browser.")
                    ui.button("Show them again", on_click=guarded(restore)).props("flat")

    await show()


_DISMISSED = "return JSON.parse(localStorage.getItem('faradisc.dismissed') || '[]')"


def dismissal(finding: Any) -> str:
    """Returns what a finding is remembered by, whatever its numbers are."""
    return f"{finding.rule}|{finding.table}|{finding.index or ''}"


def _line(
    session: Session,
    finding: Any,
    effect: str,
    draw: Callable[[], Awaitable[None]],
    show: Callable[[], Awaitable[None]],
) -> None:
    """Draws a finding as a line that opens. draw: reads all again; show: draws what was read."""
    call = call_of(finding.code)

    async def apply() -> None:
        assert call is not None
        if await confirmed(f"{finding.title}.\n\n{finding.code}", "Apply"):
            await session.endpoint.call(*call)
            notice("Applied")
            await draw()

    async def dismiss() -> None:
        name = orjson.dumps(dismissal(finding)).decode()
        kept = f"[...JSON.parse(localStorage.getItem('faradisc.dismissed') || '[]'), {name}]"
        script = f"localStorage.setItem('faradisc.dismissed', JSON.stringify({kept})); return 1"
        await from_browser(script, 1)
        await show()

    async def opened() -> None:
        if call is not None and applying is not None:
            forbid(applying, await session.denied(finding.table, call[0]), call[0])

    applying: ui.button | None = None
    with ui.expansion(finding.title, caption=effect).classes("w-full advice-line") as line:
        ui.label(finding.evidence)
        ui.link(f"Open {finding.table}", table_path(finding.table, _PAGES.get(finding.rule, "")))
        code_box(finding.code)
        with ui.row():
            if call is not None:
                applying = ui.button("Apply", icon="check", on_click=guarded(apply)).props("outline")
            ui.button("Dismiss", icon="visibility_off", on_click=guarded(dismiss)).props("flat")
    line.on_value_change(opened)


APPLIED = frozenset(("update_table", "update_continuous_backups", "update_time_to_live"))
"""Methods that Apply calls: settings of a table, nothing of its items."""


def call_of(code: str) -> Call | None:
    """Returns the request of code that is one call with literal arguments; None for other code."""
    statements = ast.parse(code).body
    if len(statements) != 1 or not isinstance(statements[0], ast.Expr):
        return None
    match statements[0].value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="client"), attr=method), args=[], keywords=found):
            if method not in APPLIED:
                return None
            try:
                request = {str(each.arg): ast.literal_eval(each.value) for each in found}
            except ValueError:
                return None
            return "".join(word.capitalize() for word in method.split("_")), request
    return None


_COLOURS = {"high": "negative", "medium": "warning", "low": "secondary"}
_PAGES = {"hot-key": "throughput", "recovery": "backups", "scan": "items", "large-item": "items"}
"""The page of the table where a finding is seen."""
