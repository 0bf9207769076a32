"""Backups of a table: on demand and to any second, and how to restore them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from nicegui import ui

from faradisc.clock import SystemClock
from faradisc.tools.console.messages import confirmed, guarded
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.parts import dot, forbid, heading, note
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, follow, go
from faradisc.tools.console.values import size_text


@console_page("/tables/{table}/backups", "Backups")
async def backups_page(session: Session, table: str) -> None:
    call = session.endpoint.call
    state = (await call("DescribeContinuousBackups", {"TableName": table}))["ContinuousBackupsDescription"]
    recovery = state.get("PointInTimeRecoveryDescription", {})
    enabled = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
    denied = await session.denied(table, *_OPERATIONS)
    with ui.card().classes("w-full"):
        title = ui.row().classes("w-full items-center")
        with title:
            heading("Point-in-time recovery").classes("count")

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
            _moments(session, table, recovery, denied)
        with title:
            turn = ui.button("Turn off" if enabled else "Turn on", on_click=guarded(switch)).props("outline")
            forbid(turn, denied, "UpdateContinuousBackups")
    await _on_demand(session, table, denied)


_OPERATIONS: Final = (
    "UpdateContinuousBackups",
    "CreateBackup",
    "DeleteBackup",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
)


def _moments(session: Session, table: str, recovery: dict[str, Any], denied: set[str]) -> None:
    """Draws the field and the slider of the seconds to which the table can be restored."""
    first, last = recovery["EarliestRestorableDateTime"], recovery["LatestRestorableDateTime"]
    note(f"Any second from {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC")
    begin, end = int(first.timestamp()), int(last.timestamp())
    slider = (
        ui.slider(min=begin, max=max(end, begin + 1), value=end).classes("w-full").props("aria-label=Moment")
    )

    def mistake(text: str) -> str | None:
        at = moment_of(text or "")
        return None if at is not None and begin <= at <= end else "Not between From and To"

    with ui.row().classes("w-full items-end gap-2"):
        field = ui.input("Moment (UTC)", value=moment_text(end), validation=mistake)
        field.classes("w-48 mono-field")
        for words, seconds in AGO.items():
            ui.button(
                words, on_click=lambda seconds=seconds: slider.set_value(max(begin, _now() - seconds))
            ).props("flat")
    slider.on_value_change(lambda: field.set_value(moment_text(min(int(slider.value), end))))

    with ui.row().classes("w-full items-end gap-2") as end_row:
        target = ui.input("Name of the new table", value=f"{table}-restored").classes("w-80")

    async def restore() -> None:
        request = {
            "SourceTableName": table,
            "TargetTableName": target.value,
            "RestoreDateTime": datetime.fromtimestamp(moment_of(field.value) or end, UTC),
        }
        await session.endpoint.call("RestoreTableToPointInTime", request)
        go(table_path(target.value))

    with end_row:
        restoring = ui.button("Restore to this moment", icon="history", on_click=guarded(restore))
    forbid(restoring, denied, "RestoreTableToPointInTime")
    if "RestoreTableToPointInTime" not in denied:
        field.on_value_change(lambda: restoring.set_enabled(mistake(field.value) is None))


AGO: Final = {"Latest": 0, "5 minutes ago": 300, "1 hour ago": 3_600, "1 day ago": 86_400}


def _now() -> int:
    return SystemClock().now_ns() // 10**9


def moment_text(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def moment_of(text: str) -> int | None:
    """Returns the second that a text names in UTC; None for none."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


async def _on_demand(session: Session, table: str, denied: set[str]) -> None:
    call = session.endpoint.call
    found = (await call("ListBackups", {"TableName": table}))["BackupSummaries"]
    with ui.row().classes("w-full items-end gap-2"):
        heading("Backups").classes("count")
        name = ui.input(placeholder="Name of a backup").props("dense aria-label=Name").classes("w-48")

        async def create() -> None:
            await call("CreateBackup", {"TableName": table, "BackupName": name.value})
            go(table_path(table, "backups"))

        forbid(ui.button("Back up", icon="add", on_click=guarded(create)), denied, "CreateBackup")
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
                arn, named = backup["BackupArn"], backup["BackupName"]
                restore = ui.button("Restore", on_click=partial(_restore, session, table, arn))
                forbid(restore.props("outline"), denied, "RestoreTableFromBackup")
                delete = ui.button("Delete", on_click=partial(_delete, session, table, arn, named))
                forbid(delete.props("flat"), denied, "DeleteBackup")

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
