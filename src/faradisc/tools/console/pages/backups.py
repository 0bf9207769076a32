"""Backups of a table: on demand and to any second, and how to restore them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nicegui import ui

from faradisc.tools.console.messages import confirmed, guarded
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.parts import dot, facts, heading, note
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, follow, go
from faradisc.tools.console.values import size_text


@console_page("/tables/{table}/backups", "Backups")
async def backups_page(session: Session, table: str) -> None:
    call = session.endpoint.call
    state = (await call("DescribeContinuousBackups", {"TableName": table}))["ContinuousBackupsDescription"]
    recovery = state.get("PointInTimeRecoveryDescription", {})
    enabled = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
    with ui.card().classes("w-full"):
        heading("Point-in-time recovery")

        async def switch() -> None:
            specification = {"PointInTimeRecoveryEnabled": not enabled}
            await call(
                "UpdateContinuousBackups",
                {"TableName": table, "PointInTimeRecoverySpecification": specification},
            )
            go(table_path(table, "backups"))

        if not enabled:
            note("Off. Turned on, the table can be restored to any second of the last 35 days.")
        else:
            _moments(session, table, recovery)
        ui.button("Turn off" if enabled else "Turn on", on_click=guarded(switch)).props("outline")
    await _on_demand(session, table)


def _moments(session: Session, table: str, recovery: dict[str, Any]) -> None:
    """Draws the slider of the seconds to which the table can be restored."""
    first, last = recovery["EarliestRestorableDateTime"], recovery["LatestRestorableDateTime"]
    facts({"From": f"{first:%Y-%m-%d %H:%M:%S} UTC", "To": f"{last:%Y-%m-%d %H:%M:%S} UTC"})
    begin, end = int(first.timestamp()), int(last.timestamp())
    slider = (
        ui.slider(min=begin, max=max(end, begin + 1), value=end).classes("w-full").props("aria-label=Moment")
    )
    moment = ui.label().classes("font-medium")
    moment.bind_text_from(
        slider, "value", lambda at: f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    )
    target = ui.input("Name of the new table", value=f"{table}-restored").classes("w-full max-w-md")

    async def restore() -> None:
        request = {
            "SourceTableName": table,
            "TargetTableName": target.value,
            "RestoreDateTime": datetime.fromtimestamp(slider.value, UTC),
        }
        await session.endpoint.call("RestoreTableToPointInTime", request)
        go(table_path(target.value))

    ui.button("Restore to this moment", icon="history", on_click=guarded(restore))


async def _on_demand(session: Session, table: str) -> None:
    call = session.endpoint.call
    found = (await call("ListBackups", {"TableName": table}))["BackupSummaries"]
    with ui.row().classes("w-full items-center"):
        heading("Backups")
        ui.space()
        name = ui.input("Name").props("dense")

        async def create() -> None:
            await call("CreateBackup", {"TableName": table, "BackupName": name.value})
            go(table_path(table, "backups"))

        ui.button("Back up", icon="add", on_click=guarded(create))
    if not found:
        note("None yet.")
        return
    with ui.element("div").classes("sheet"):
        for backup in found:
            with ui.element("div").classes("sheet-row"):
                dot(backup["BackupStatus"])
                ui.label(backup["BackupName"]).classes("mono")
                note(
                    f"{backup['BackupStatus'].lower()}, {backup['BackupType'].lower()}, "
                    f"made {backup['BackupCreationDateTime']:%Y-%m-%d %H:%M:%S}, "
                    f"{size_text(backup.get('BackupSizeBytes', 0))}"
                ).classes("count")
                ui.button(
                    "Restore", on_click=lambda arn=backup["BackupArn"]: _restore(session, table, arn)
                ).props("outline")
                ui.button(
                    "Delete",
                    on_click=lambda arn=backup["BackupArn"], n=backup["BackupName"]: _delete(
                        session, table, arn, n
                    ),
                ).props("flat")

    def states(backups: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return [(each["BackupArn"], each["BackupStatus"]) for each in backups]

    if any(each["BackupStatus"] != "AVAILABLE" for each in found):

        async def listed() -> list[dict[str, Any]]:
            answer: list[dict[str, Any]] = (await call("ListBackups", {"TableName": table}))[
                "BackupSummaries"
            ]
            return answer

        follow(listed, states(found), states)


async def _restore(session: Session, table: str, arn: str) -> None:
    with ui.dialog() as dialog, ui.card():
        target = ui.input("Name of the new table", value=f"{table}-restored").classes("w-80")
        with ui.row():
            ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")
            ui.button("Restore", on_click=lambda: dialog.submit(target.value))
    name = await dialog
    request = {"BackupArn": arn, "TargetTableName": name}
    if name and await guarded(session.endpoint.call)("RestoreTableFromBackup", request) is not None:
        go(table_path(name))


async def _delete(session: Session, table: str, arn: str, name: str) -> None:
    if await confirmed(f"Delete the backup {name}?", "Delete backup"):
        await guarded(session.endpoint.call)("DeleteBackup", {"BackupArn": arn})
        go(table_path(table, "backups"))
