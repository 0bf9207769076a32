"""Making tables, as it is drawn: a definition shown as code, a clone with or without the items."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.definition import (
    NewTable,
    boto3_definition,
    cloudformation,
    definition_of,
    terraform,
)
from faradisc.tools.console.endpoint import ServerEndpoint
from faradisc.tools.console.files import show_codes
from faradisc.tools.console.messages import guarded, notice
from faradisc.tools.console.navigation import table_path
from faradisc.tools.console.parts import dialog_end, dialog_of, note
from faradisc.tools.console.results import ResultWalk, put_all
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import go
from faradisc.tools.console.values import Item

_WAIT: Final = {"Delay": 1, "MaxAttempts": 300}


async def make(endpoint: ServerEndpoint, wanted: NewTable) -> None:
    """Makes a table, and waits until it is active where something is to follow. Raises Failure."""
    await endpoint.call("CreateTable", wanted.create)
    if wanted.later:
        await active(endpoint, wanted.create["TableName"])
    for call in wanted.later:
        await endpoint.call(*call)


async def active(endpoint: ServerEndpoint, table: str) -> None:
    """Waits until a table is active. Raises Failure."""
    asked = {"TableName": table, "WaiterConfig": _WAIT}
    await endpoint.use(lambda client: client.get_waiter("table_exists").wait(**asked))


async def make_with(endpoint: ServerEndpoint, wanted: NewTable, items: list[Item]) -> None:
    """Makes a table and puts items into it. Raises Failure."""
    await make(endpoint, wanted)
    table = wanted.create["TableName"]
    await active(endpoint, table)
    await put_all(endpoint, table, items, ResultWalk())


async def defined(session: Session, described: dict[str, Any], name: str = "") -> NewTable:
    """Returns the definition of a table with its settings and tags. name: another one. Raises Failure."""
    optional, request = session.endpoint.optional, {"TableName": described["TableName"]}
    ttl = await optional("DescribeTimeToLive", request, "TimeToLiveDescription", {})
    backups = await optional("DescribeContinuousBackups", request, "ContinuousBackupsDescription", {})
    tags = await optional("ListTagsOfResource", {"ResourceArn": described["TableArn"]}, "Tags", [])
    expiry = ttl.get("AttributeName", "") if ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else ""
    state = backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    return definition_of(described, expiry, state == "ENABLED", tags, name)


async def show_definition(session: Session, described: dict[str, Any]) -> None:
    """Shows a table's definition as code."""
    wanted = await defined(session, described)
    show_codes(
        f"{described['TableName']} as code",
        {
            "CloudFormation": cloudformation(wanted),
            "Terraform": terraform(wanted),
            "boto3": boto3_definition(wanted, session.url, session.region),
        },
    )


def clone(session: Session, described: dict[str, Any]) -> None:
    """Opens the dialog that makes another table like this one."""
    table = described["TableName"]
    with dialog_of(f"Clone {table}", narrow=True) as dialog:
        note("The same keys, indexes, capacity, stream, expiry, recovery and tags.")
        name = ui.input("Name of the new table", value=f"{table}-copy").classes("w-full").props("autofocus")
        with_items = ui.checkbox("With the items: reads and writes all of them")

        async def begin() -> None:
            walk = ResultWalk()
            button.props("loading")
            try:
                await make(session.endpoint, await defined(session, described, name.value))
                if with_items.value:
                    await active(session.endpoint, name.value)
                    scan = ("Scan", {"TableName": table, "ReturnConsumedCapacity": "TOTAL"})
                    await put_all(session.endpoint, name.value, scan, walk)
            finally:
                button.props(remove="loading")
            if with_items.value:
                notice(f"{walk.done:,} items copied")
            dialog.close()
            go(table_path(name.value))

        button = dialog_end(dialog, "Clone", guarded(begin))
