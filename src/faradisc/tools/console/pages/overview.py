"""One table: its keys, indexes, settings, capacity and cost at a glance, and the ways to change it."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from faradisc.tools.console.definition_view import clone, show_definition
from faradisc.tools.console.messages import confirmed, guarded
from faradisc.tools.console.money import is_on_demand, month_text
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.pages.tables import STREAM_VIEWS, mode_text, recovery_text
from faradisc.tools.console.parts import dialog_end, dialog_of, dot, facts, forbid, heading, icon_button, note
from faradisc.tools.console.queries import indexes_of, schema_of, types_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, follow, go
from faradisc.tools.console.values import size_text


@console_page("/tables/{table}", "Overview")
async def overview_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    optional, request = session.endpoint.optional, {"TableName": table}
    ttl = await optional("DescribeTimeToLive", request, "TimeToLiveDescription", {})
    backups = await optional("DescribeContinuousBackups", request, "ContinuousBackupsDescription", {})
    types = types_of(described)
    denied = await session.denied(table, "UpdateTable", "DeleteTable", "CreateTable")
    with ui.row().classes("w-full items-center gap-1"):
        dot(described["TableStatus"])
        ui.label(described["TableStatus"].lower()).classes("soft")
        ui.space()
        ui.button(
            "As code", icon="code", on_click=guarded(partial(show_definition, session, described))
        ).props("flat")
        copy = ui.button("Clone", icon="file_copy", on_click=lambda: clone(session, described))
        forbid(copy.props("flat"), denied, "CreateTable")
        change = ui.button("Change", icon="tune", on_click=lambda: _change(session, described, ttl))
        forbid(change.props("outline"), denied, "UpdateTable")
        delete = ui.button("Delete", icon="delete", on_click=lambda: _delete(session, table))
        forbid(delete.props("flat color=negative"), denied, "DeleteTable")
    with ui.card().classes("w-full"):
        facts(
            {
                "Partition key": _key(schema_of(described, "")[0], types),
                "Sort key": _key(schema_of(described, "")[1], types)
                if len(schema_of(described, "")) > 1
                else "none",
                "Items": f"{described.get('ItemCount', 0):,}",
                "Size": size_text(described.get("TableSizeBytes", 0)),
                "Capacity": mode_text(described),
                "Cost": month_text(described),
                "Stream": _words(described.get("StreamSpecification", {}).get("StreamViewType", "off")),
                "Time to live": ttl.get("AttributeName", "off")
                if ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
                else "off",
                "Point-in-time recovery": recovery_text(backups),
                "Deletion protection": "on" if described.get("DeletionProtectionEnabled") else "off",
                "Encryption": described.get("SSEDescription", {}).get("SSEType", "owned by the service"),
            }
        )
        note(described["TableArn"]).classes("mono")
    _indexes(session, described, types, denied)
    if not is_settled(described):
        follow(lambda: session.endpoint.describe(table), states_of(described), states_of)


def states_of(described: dict[str, Any]) -> tuple[str, ...]:
    """Returns the states of a table and its indexes."""
    return (
        described["TableStatus"],
        *(f"{each['IndexName']} {each.get('IndexStatus', '')}" for each in indexes_of(described)),
    )


def is_settled(described: dict[str, Any]) -> bool:
    """Returns whether neither the table nor an index is being made, changed or deleted."""
    found = [described["TableStatus"], *(each.get("IndexStatus", "ACTIVE") for each in indexes_of(described))]
    return all(state == "ACTIVE" for state in found)


def _words(view: str) -> str:
    return view.replace("_", " ").lower()


def _key(name: str, types: dict[str, str]) -> str:
    return f"{name} ({types[name]})"


def _indexes(session: Session, described: dict[str, Any], types: dict[str, str], denied: set[str]) -> None:
    indexes = indexes_of(described)
    heading("Indexes")
    if not indexes:
        note("None. An index lets a Query use other keys than those of the table.")
    for index in indexes:
        keys = ", ".join(_key(name, types) for name in schema_of(described, index["IndexName"]))
        is_global = index in described.get("GlobalSecondaryIndexes", ())
        projection = index.get("Projection", {})
        with ui.card().classes("w-full"):
            with ui.row().classes("w-full items-center"):
                ui.label(index["IndexName"]).classes("font-medium")
                note("global" if is_global else "local")
                ui.space()
                if is_global:
                    delete = icon_button(
                        "delete",
                        "Delete index",
                        lambda name=index["IndexName"]: _delete_index(session, described, name),
                    )
                    forbid(delete, denied, "UpdateTable")
            facts(
                {
                    "Keys": keys,
                    "State": index.get("IndexStatus", "ACTIVE").lower()
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
        go(table_path(table))


async def _delete(session: Session, table: str) -> None:
    agreed = await confirmed(f"Delete the table {table} with all its items?", "Delete table", table)
    if agreed and await guarded(session.endpoint.call)("DeleteTable", {"TableName": table}) is not None:
        go("/tables")


def _change(session: Session, described: dict[str, Any], ttl: dict[str, Any]) -> None:
    table = described["TableName"]
    units = described.get("ProvisionedThroughput", {})
    on_demand = is_on_demand(described)
    viewed = described.get("StreamSpecification", {}).get("StreamViewType", "")
    expiring = ttl.get("AttributeName", "") if ttl.get("TimeToLiveStatus") == "ENABLED" else ""
    with dialog_of(f"Change {table}", narrow=True) as dialog:
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
            go(table_path(table))

        dialog_end(dialog, "Change", guarded(change))
