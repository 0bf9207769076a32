"""All tables, and the dialog that creates one."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, console_page, guarded, table_path
from faradisc.tools.console.parts import size_text
from faradisc.tools.console.queries import indexes_of, schema_of

STREAM_VIEWS = ("", "NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")
DESCRIBED_MAX = 200
"""Tables described at once; the others are listed by name until they are opened or searched for."""
_COLUMNS = (
    ("name", "Table", 240),
    ("status", "Status", 120),
    ("keys", "Keys", 160),
    ("items", "Items", 100),
    ("size", "Size", 100),
    ("mode", "Mode", 180),
    ("indexes", "Indexes", 100),
    ("stream", "Stream", 150),
    ("protected", "Protected", 110),
)


@console_page("/", "Tables")
async def tables_page(session: Session) -> None:
    names = await session.endpoint.tables()
    with ui.row().classes("w-full items-center"):
        search = ui.input(placeholder="Filter").props("dense outlined clearable aria-label='Filter tables'")
        ui.label(f"{len(names):,} tables" if len(names) != 1 else "1 table").classes("soft")
        ui.space()
        ui.button("Create table", icon="add", on_click=lambda: _create(session))
    if not names:
        ui.label("There are no tables yet. Create one here, or with any client of DynamoDB.").classes("soft")
        return
    rows: list[dict[str, Any]] = [{"name": name} for name in names]
    grid = ui.aggrid(
        {
            "columnDefs": [
                {"field": field, "headerName": title, "width": width} for field, title, width in _COLUMNS
            ],
            "defaultColDef": {"sortable": True, "resizable": True},
            "rowData": rows,
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            ":getRowId": "params => params.data.name",
        },
        auto_size_columns=False,
    ).classes("grid")
    grid.on("cellClicked", lambda event: ui.navigate.to(table_path(event.args["data"]["name"])), ["data"])
    grid.on("cellKeyDown", lambda event: _opened(event.args), ["data", "event"], throttle=0.2)
    search.on_value_change(
        lambda: grid.run_grid_method("setGridOption", "quickFilterText", search.value or "")
    )

    async def describe() -> None:
        shown = await asyncio.gather(*(_row(session, name) for name in names[:DESCRIBED_MAX]))
        for row, described in zip(rows, shown, strict=False):
            row.update(described)
        grid.options["rowData"] = rows
        grid.update()

    ui.timer(0.05, describe, once=True)


def _opened(event: dict[str, Any]) -> None:
    if event.get("event", {}).get("key") == "Enter":
        ui.navigate.to(table_path(event["data"]["name"]))


async def _row(session: Session, name: str) -> dict[str, Any]:
    try:
        described = await session.endpoint.describe(name)
    except Failure as failure:
        return {"name": name, "status": failure.code or "no answer"}
    return {
        "name": name,
        "status": described["TableStatus"],
        "keys": ", ".join(schema_of(described, "")),
        "items": described.get("ItemCount", 0),
        "size": size_text(described.get("TableSizeBytes", 0)),
        "mode": mode_text(described),
        "indexes": len(indexes_of(described)) + len(described.get("VectorIndexes", ())),
        "stream": described.get("StreamSpecification", {}).get("StreamViewType", ""),
        "protected": "yes" if described.get("DeletionProtectionEnabled") else "",
    }


def mode_text(described: dict[str, Any]) -> str:
    """Returns the billing mode with its numbers."""
    if described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        return "on demand"
    units = described.get("ProvisionedThroughput", {})
    return f"{units.get('ReadCapacityUnits', 0):,} RCU, {units.get('WriteCapacityUnits', 0):,} WCU"


# --- Create --------------------------------------------------------------------------------------


class _Index:
    """The inputs of one index in the dialog."""

    def __init__(self, remove: Any) -> None:
        with ui.card().classes("w-full") as self.card:
            with ui.row().classes("w-full items-center"):
                self.kind = ui.select(
                    {"global": "Global", "local": "Local"}, value="global", label="Index"
                ).classes("w-28")
                self.name = ui.input("Index name").classes("grow")
                ui.button(icon="delete", on_click=lambda: remove(self)).props(
                    "flat dense aria-label='Remove index'"
                )
            self.keys = _Keys()
            self.projection = ui.select(
                {"ALL": "All attributes", "KEYS_ONLY": "Keys only", "INCLUDE": "Some attributes"},
                value="ALL",
                label="Projection",
            ).classes("w-full")
            self.included = ui.input("Attributes, separated by commas").classes("w-full")
            self.included.bind_visibility_from(self.projection, "value", lambda value: value == "INCLUDE")

    def request(self) -> dict[str, Any]:
        projection: dict[str, Any] = {"ProjectionType": self.projection.value}
        if self.projection.value == "INCLUDE":
            projection["NonKeyAttributes"] = [n.strip() for n in self.included.value.split(",") if n.strip()]
        return {"IndexName": self.name.value, "KeySchema": self.keys.schema(), "Projection": projection}


class _Keys:
    """The inputs of a partition key and a sort key."""

    def __init__(self) -> None:
        self.inputs = []
        for title, kind in (("Partition key", "HASH"), ("Sort key (optional)", "RANGE")):
            with ui.row().classes("w-full no-wrap"):
                name = ui.input(title).classes("grow")
                chosen = ui.select(
                    {"S": "String", "N": "Number", "B": "Binary"}, value="S", label="Type"
                ).classes("w-28")
            self.inputs.append((name, chosen, kind))

    def schema(self) -> list[dict[str, str]]:
        return [{"AttributeName": n.value, "KeyType": kind} for n, _, kind in self.inputs if n.value]

    def types(self) -> dict[str, str]:
        return {n.value: chosen.value for n, chosen, _ in self.inputs if n.value}


def _create(session: Session) -> None:
    indexes: list[_Index] = []

    def remove(index: _Index) -> None:
        indexes.remove(index)
        index.card.delete()

    with ui.dialog() as dialog, ui.card().classes("wide"):
        ui.label("Create table").classes("text-lg")
        name = ui.input("Table name").classes("w-full").props("autofocus")
        keys = _Keys()
        mode = ui.toggle(
            {"PAY_PER_REQUEST": "On demand", "PROVISIONED": "Provisioned"}, value="PAY_PER_REQUEST"
        )
        with ui.row().bind_visibility_from(mode, "value", lambda value: value == "PROVISIONED"):
            read = ui.number("Read capacity units", value=5, min=1, format="%d")
            write = ui.number("Write capacity units", value=5, min=1, format="%d")
        stream = ui.select(
            {view: view.replace("_", " ").capitalize() or "None" for view in STREAM_VIEWS},
            value="",
            label="Stream",
        ).classes("w-full")
        protected = ui.checkbox("Protect from deletion")
        added = ui.column().classes("w-full")

        def add() -> None:
            with added:
                indexes.append(_Index(remove))

        ui.button("Add index", icon="add", on_click=add).props("flat")

        async def create() -> None:
            types = keys.types()
            request: dict[str, Any] = {
                "TableName": name.value,
                "KeySchema": keys.schema(),
                "BillingMode": mode.value,
            }
            units = {"ReadCapacityUnits": int(read.value or 0), "WriteCapacityUnits": int(write.value or 0)}
            if mode.value == "PROVISIONED":
                request["ProvisionedThroughput"] = units
            for index in indexes:
                types |= index.keys.types()
                described = index.request()
                if index.kind.value == "global" and mode.value == "PROVISIONED":
                    described["ProvisionedThroughput"] = units
                member = "GlobalSecondaryIndexes" if index.kind.value == "global" else "LocalSecondaryIndexes"
                request.setdefault(member, []).append(described)
            request["AttributeDefinitions"] = [
                {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
            ]
            if stream.value:
                request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.value}
            if protected.value:
                request["DeletionProtectionEnabled"] = True
            await session.endpoint.call("CreateTable", request)
            dialog.close()
            ui.navigate.to(table_path(name.value))

        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props("flat")
            ui.button("Create", on_click=guarded(create))
    dialog.open()
