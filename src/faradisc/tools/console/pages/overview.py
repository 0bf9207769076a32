"""One table: its keys, indexes, settings, capacity and cost at a glance, and the ways to change it."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, confirmed, console_page, guarded, table_path
from faradisc.tools.console.pages.tables import STREAM_VIEWS, mode_text
from faradisc.tools.console.parts import facts, size_text
from faradisc.tools.console.queries import indexes_of, schema_of, types_of

HOURS_PER_MONTH: Final = 730
PRICE_PER_HOUR: Final = {"read": 0.00013, "write": 0.00065}
PRICE_PER_GB_MONTH: Final = 0.25
"""List prices in US dollars of us-east-1, standard table class."""


@console_page("/tables/{table}", "Overview")
async def overview_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    ttl = await _optional(session, "DescribeTimeToLive", {"TableName": table}, "TimeToLiveDescription")
    backups = await _optional(
        session, "DescribeContinuousBackups", {"TableName": table}, "ContinuousBackupsDescription"
    )
    types = types_of(described)
    with ui.row().classes("w-full"):
        ui.button("Items", icon="grid_on", on_click=lambda: ui.navigate.to(table_path(table, "items")))
        ui.button("Change", icon="tune", on_click=lambda: _change(session, described, ttl)).props("outline")
        ui.button("Delete", icon="delete", on_click=lambda: _delete(session, table)).props(
            "outline color=negative"
        )
    with ui.card().classes("w-full"):
        facts(
            {
                "Status": described["TableStatus"],
                "Partition key": _key(schema_of(described, "")[0], types),
                "Sort key": _key(schema_of(described, "")[1], types)
                if len(schema_of(described, "")) > 1
                else "none",
                "Items": f"{described.get('ItemCount', 0):,}",
                "Size": size_text(described.get("TableSizeBytes", 0)),
                "Capacity": mode_text(described),
                "Cost": cost_text(described),
                "Stream": described.get("StreamSpecification", {}).get("StreamViewType", "off"),
                "Time to live": ttl.get("AttributeName", "off")
                if ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
                else "off",
                "Point-in-time recovery": _recovery(backups),
                "Deletion protection": "on" if described.get("DeletionProtectionEnabled") else "off",
                "Encryption": described.get("SSEDescription", {}).get("SSEType", "owned by the service"),
            }
        )
        ui.label(described["TableArn"]).classes("soft")
    _indexes(session, described, types)


async def _optional(session: Session, operation: str, request: dict[str, Any], member: str) -> dict[str, Any]:
    """Returns a member of an answer; nothing where the endpoint or the key does not allow the request."""
    try:
        found: dict[str, Any] = (await session.endpoint.call(operation, request)).get(member, {})
        return found
    except Failure:
        return {}


def _key(name: str, types: dict[str, str]) -> str:
    return f"{name} ({types[name]})"


def _recovery(backups: dict[str, Any]) -> str:
    state = backups.get("PointInTimeRecoveryDescription", {})
    return (
        f"on, {state.get('RecoveryPeriodInDays', 35)} days"
        if state.get("PointInTimeRecoveryStatus") == "ENABLED"
        else "off"
    )


def cost_text(described: dict[str, Any]) -> str:
    """Returns what provisioned capacity and storage cost a month at list prices, if this were Amazon's."""
    storage = (
        PRICE_PER_GB_MONTH
        * sum(
            each.get("TableSizeBytes", each.get("IndexSizeBytes", 0))
            for each in (described, *indexes_of(described))
        )
        / 2**30
    )
    units = [each.get("ProvisionedThroughput", {}) for each in (described, *indexes_of(described))]
    hourly = sum(
        each.get("ReadCapacityUnits", 0) * PRICE_PER_HOUR["read"]
        + each.get("WriteCapacityUnits", 0) * PRICE_PER_HOUR["write"]
        for each in units
    )
    requests = "" if hourly else " and requests"
    return f"${hourly * HOURS_PER_MONTH + storage:,.2f} a month{requests}"


def _indexes(session: Session, described: dict[str, Any], types: dict[str, str]) -> None:
    indexes = indexes_of(described)
    ui.label("Indexes").classes("text-lg")
    if not indexes:
        ui.label("None. An index lets a Query use other keys than those of the table.").classes("soft")
    for index in indexes:
        keys = ", ".join(_key(name, types) for name in schema_of(described, index["IndexName"]))
        is_global = index in described.get("GlobalSecondaryIndexes", ())
        projection = index.get("Projection", {})
        with ui.card().classes("w-full"):
            with ui.row().classes("w-full items-center"):
                ui.label(index["IndexName"]).classes("font-medium")
                ui.label("global" if is_global else "local").classes("soft")
                ui.space()
                if is_global:
                    ui.button(
                        icon="delete",
                        on_click=lambda name=index["IndexName"]: _delete_index(session, described, name),
                    ).props("flat dense aria-label='Delete index'")  # fmt: skip
            facts(
                {
                    "Keys": keys,
                    "Status": index.get("IndexStatus", "ACTIVE")
                    + (" (being filled)" if index.get("Backfilling") else ""),
                    "Projection": ", ".join(
                        [projection.get("ProjectionType", ""), *projection.get("NonKeyAttributes", ())]
                    ),
                    "Items": f"{index.get('ItemCount', 0):,}",
                    "Size": size_text(index.get("IndexSizeBytes", 0)),
                }
            )


async def _delete_index(session: Session, described: dict[str, Any], index: str) -> None:
    table = described["TableName"]
    if await confirmed(f"Delete the index {index}? Queries that use it will fail.", "Delete index", index):
        change = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}
        await guarded(session.endpoint.call)("UpdateTable", {"TableName": table, **change})
        ui.navigate.to(table_path(table))


async def _delete(session: Session, table: str) -> None:
    agreed = await confirmed(f"Delete the table {table} with all its items?", "Delete table", table)
    if agreed and await guarded(session.endpoint.call)("DeleteTable", {"TableName": table}) is not None:
        ui.navigate.to("/")


def _change(session: Session, described: dict[str, Any], ttl: dict[str, Any]) -> None:
    table = described["TableName"]
    units = described.get("ProvisionedThroughput", {})
    on_demand = described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
    viewed = described.get("StreamSpecification", {}).get("StreamViewType", "")
    expiring = ttl.get("AttributeName", "") if ttl.get("TimeToLiveStatus") == "ENABLED" else ""
    with ui.dialog() as dialog, ui.card().classes("wide"):
        ui.label(f"Change {table}").classes("text-lg")
        mode = ui.toggle(
            {"PAY_PER_REQUEST": "On demand", "PROVISIONED": "Provisioned"},
            value="PAY_PER_REQUEST" if on_demand else "PROVISIONED",
        )
        with ui.row().bind_visibility_from(mode, "value", lambda value: value == "PROVISIONED"):
            read = ui.number(
                "Read capacity units", value=units.get("ReadCapacityUnits") or 5, min=1, format="%d"
            )
            write = ui.number(
                "Write capacity units", value=units.get("WriteCapacityUnits") or 5, min=1, format="%d"
            )
        stream = ui.select(
            {view: view or "off" for view in STREAM_VIEWS}, value=viewed, label="Stream"
        ).classes("w-full")
        expiry = ui.input("Time-to-live attribute (empty: off)", value=expiring).classes("w-full")
        protected = ui.checkbox(
            "Protect from deletion", value=bool(described.get("DeletionProtectionEnabled"))
        )

        async def change() -> None:
            request: dict[str, Any] = {}
            chosen = {"ReadCapacityUnits": int(read.value or 0), "WriteCapacityUnits": int(write.value or 0)}
            now = {name: units.get(name, 0) for name in chosen}
            if (mode.value == "PAY_PER_REQUEST") != on_demand or (
                mode.value == "PROVISIONED" and chosen != now
            ):
                request["BillingMode"] = mode.value
                if mode.value == "PROVISIONED":
                    request["ProvisionedThroughput"] = chosen
            if protected.value != bool(described.get("DeletionProtectionEnabled")):
                request["DeletionProtectionEnabled"] = protected.value
            if stream.value != viewed:
                view = {"StreamViewType": stream.value} if stream.value else {}
                request["StreamSpecification"] = {"StreamEnabled": bool(stream.value), **view}
            if request:
                await session.endpoint.call("UpdateTable", {"TableName": table, **request})
            if expiry.value.strip() != expiring:
                specification = {
                    "Enabled": bool(expiry.value.strip()),
                    "AttributeName": expiry.value.strip() or expiring,
                }
                await session.endpoint.call(
                    "UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": specification}
                )
            dialog.close()
            ui.navigate.to(table_path(table))

        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props("flat")
            ui.button("Change", on_click=guarded(change))
    dialog.open()
