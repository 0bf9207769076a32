"""All tables, and the dialog that creates one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.definition import NewTable
from faradisc.tools.console.definition_view import make
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.grid import grid_of, on_grid
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.money import is_on_demand
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.parts import dialog_end, dialog_of, forbid, icon_button, note
from faradisc.tools.console.queries import indexes_of, schema_of
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, go

STREAM_VIEWS = ("", "NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")
BATCH: Final = 40
"""Tables that are described at the same time."""
_COLUMNS: Final = (
    ("status", "", 34),
    ("name", "Table", 190),
    ("keys", "Keys", 110),
    ("items", "Items", 70),
    ("bytes", "Size", 80),
    ("mode", "Mode", 126),
    ("indexes", "Indexes", 74),
    ("stream", "Stream", 100),
    ("expiry", "Expiry", 80),
    ("backups", "Backups", 134),
)
_STATE: Final = """params => {
  if (!params.value) return "";
  const dot = document.createElement("span");
  dot.className = "dot " + params.value.toLowerCase();
  dot.title = params.value;
  dot.setAttribute("role", "img");
  dot.setAttribute("aria-label", params.value);
  return dot;
}"""
_SIZE: Final = """params => {
  if (params.value === undefined) return "";
  let size = params.value, at = 0;
  while (size >= 1024 && at < 3) { size /= 1024; at++; }
  return size.toFixed(at ? 1 : 0) + " " + ["B", "KB", "MB", "GB"][at];
}"""
_RENDERED: Final[dict[str, dict[str, str]]] = {
    "status": {":cellRenderer": _STATE},
    "bytes": {":valueFormatter": _SIZE},
    "items": {":valueFormatter": "params => params.value?.toLocaleString('en') ?? ''"},
}
"""How the grid shows a column; it orders by the value behind that."""

_NUMBERS: Final = ("items", "bytes", "indexes")
_NUMBER: Final = "params => params.value ? 'number' : 'number none'"
_ENTERED: Final = "event => event.event.key === 'Enter' ? event.data.name : undefined"


@console_page("/tables", "Tables")
async def tables_page(session: Session, query: list[tuple[str, str]]) -> None:
    """query: `create` opens the dialog that creates one."""
    names, denied = await asyncio.gather(session.endpoint.tables(), session.denied("", "CreateTable"))
    with ui.row().classes("w-full items-center"):
        search = ui.input(placeholder="Filter").props(
            "dense outlined clearable data-quick aria-label='Filter tables'"
        )
        note(f"{len(names):,} tables" if len(names) != 1 else "1 table")
        ui.space()
        making = ui.button("Create table", icon="add", on_click=lambda: create_table(session))
        forbid(making, denied, "CreateTable")
    if ("create", "1") in query:
        create_table(session)
    if not names:
        note("There are no tables yet. Create one here, or with any client of DynamoDB.")
        return
    rows: dict[str, dict[str, Any]] = {name: {"name": name} for name in names}
    grid = (
        grid_of(
            {
                "columnDefs": [
                    {
                        "field": field,
                        "headerName": title,
                        "width": width,
                        "flex": width if field not in ("status", "items", "bytes", "indexes") else None,
                        "minWidth": width,
                        "headerClass": "ag-right-aligned-header" if field in _NUMBERS else "",
                        "sortable": field not in _LATER,
                        ":cellClass": _NUMBER if field in _NUMBERS else None,
                    }
                    | _RENDERED.get(field, {})
                    for field, title, width in _COLUMNS
                ],
                "defaultColDef": {"resizable": True},
                "rowData": list(rows.values()),
                "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
                ":getRowId": "params => params.data.name",
            }
        )
        .classes("grid")
        .style(f"height: min(calc(100vh - 110px), {32 + 28 * len(names)}px); min-height: 0")
    )
    grid.on("cellClicked", lambda event: go(table_path(event.args["data"]["name"])), ["data"])
    on_grid(grid, "cellKeyDown", _ENTERED, lambda name: go(table_path(name)))
    search.on_value_change(
        lambda: grid.run_grid_method("setGridOption", "quickFilterText", search.value or "")
    )
    described: set[str] = set()
    completed: set[str] = set()

    async def fill(wanted: Sequence[str], known: set[str], describe: _Describe) -> None:
        new = [name for name in wanted if name not in known]
        known.update(new)
        for at in range(0, len(new), BATCH):
            batch = new[at : at + BATCH]
            found = await asyncio.gather(*(describe(session, name) for name in batch))
            for name, columns in zip(batch, found, strict=True):
                rows[name].update(columns)
            grid.run_grid_method("applyTransaction", {"update": [rows[name] for name in batch]})

    async def rendered(event: Any) -> None:
        await fill(event.args, described, _row)
        await fill(event.args, completed, _later)

    shown = f"() => emit(getElement({grid.id}).api.getRenderedNodes().map(node => node.data.name))"
    for event in ("firstDataRendered", "modelUpdated", "bodyScrollEnd"):
        grid.on(event, rendered, js_handler=shown, throttle=0.2, leading_events=False)
    # An order by another column than the name needs all tables.
    grid.on("sortChanged", lambda: fill(names, described, _row), args=[])


_Describe = Callable[[Session, str], Awaitable[dict[str, Any]]]


async def _row(session: Session, name: str) -> dict[str, Any]:
    """Returns the columns that DescribeTable has."""
    try:
        described = await session.endpoint.describe(name)
    except Failure as failure:
        return {"status": failure.code or "no answer"}
    view = described.get("StreamSpecification", {}).get("StreamViewType", "")
    return {
        "status": described["TableStatus"],
        "keys": ", ".join(schema_of(described, "")),
        "items": described.get("ItemCount", 0),
        "bytes": described.get("TableSizeBytes", 0),
        "mode": mode_text(described),
        "indexes": len(indexes_of(described)) + len(described.get("VectorIndexes", ())),
        "stream": view.replace("_IMAGES", "").replace("_IMAGE", "").replace("_", " ").lower(),
    }


_LATER: Final = ("expiry", "backups")
"""Columns of shown rows only: these requests of Amazon DynamoDB have low limits."""


async def _later(session: Session, name: str) -> dict[str, Any]:
    optional, request = session.endpoint.optional, {"TableName": name}
    expiry = await optional("DescribeTimeToLive", request, "TimeToLiveDescription", {})
    recovery = await optional("DescribeContinuousBackups", request, "ContinuousBackupsDescription", {})
    backups = await optional("ListBackups", request, "BackupSummaries", [])
    parts = [recovery_text(recovery)] if recovery_text(recovery) != "off" else []
    parts += [f"{len(backups)} kept"] if backups else []
    return {"expiry": expiry.get("AttributeName", ""), "backups": ", ".join(parts)}


def recovery_text(backups: dict[str, Any]) -> str:
    """Returns for how long a table can be restored to any second."""
    state = backups.get("PointInTimeRecoveryDescription", {})
    is_on = state.get("PointInTimeRecoveryStatus") == "ENABLED"
    return f"{state.get('RecoveryPeriodInDays', 35)} days" if is_on else "off"


def mode_text(described: dict[str, Any]) -> str:
    """Returns the billing mode with its numbers."""
    if is_on_demand(described):
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
                icon_button("delete", "Remove index", lambda: remove(self))
            self.keys = KeyInputs()
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


class KeyInputs:
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


def definitions(types: dict[str, str]) -> list[dict[str, str]]:
    """Returns AttributeDefinitions of types by attribute."""
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def create_table(session: Session) -> None:
    indexes: list[_Index] = []

    def remove(index: _Index) -> None:
        indexes.remove(index)
        index.card.delete()

    with dialog_of("Create table", narrow=True) as dialog:
        name = ui.input("Table name").classes("w-full").props("autofocus")
        keys = KeyInputs()
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
        expiry = ui.input("Time-to-live attribute (empty: off)").classes("w-full")
        tags = ui.input("Tags, such as team=shop, stage=test").classes("w-full")
        recovery = ui.checkbox("Point-in-time recovery")
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
            request["AttributeDefinitions"] = definitions(types)
            if stream.value:
                request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.value}
            if protected.value:
                request["DeletionProtectionEnabled"] = True
            given = [each.partition("=") for each in tags.value.split(",") if each.strip()]
            if given:
                request["Tags"] = [{"Key": key.strip(), "Value": value.strip()} for key, _, value in given]
            button.props("loading")
            try:
                await make(session.endpoint, NewTable(request, expiry.value.strip(), bool(recovery.value)))
            finally:
                button.props(remove="loading")
            dialog.close()
            go(table_path(name.value))

        button = dialog_end(dialog, "Create", guarded(create))
