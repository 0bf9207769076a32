"""The files of a finished export as they are shown, and the routes by which the browser fetches them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from nicegui import app, ui

from faradisc.tools.console.endpoint import S3_URL, Failure
from faradisc.tools.console.exports import (
    contents,
    download_name,
    exported_files,
    folder_of,
    has_buckets,
)
from faradisc.tools.console.files import code_box
from faradisc.tools.console.parts import dialog_of, note
from faradisc.tools.console.sessions import SESSIONS, Session
from faradisc.tools.console.values import counted

ROUTE: Final = "/exports/download"
SHOWN_MAX: Final = 100
"""Files that are listed one by one."""


def register_downloads() -> None:
    """Serves the files of exports to the browser."""
    app.get(ROUTE)(_download)


async def _download(request: Request) -> Response:
    """Answers with one file of an export (`file`: its key), or with all of them as one."""
    endpoint, wanted = SESSIONS.current().endpoint, request.query_params.get("file")
    asked = {"ExportArn": request.query_params.get("arn", "")}
    try:
        export = (await endpoint.call("DescribeExport", asked))["ExportDescription"]
        files = await exported_files(endpoint, export)
    except Failure as failure:
        return PlainTextResponse(str(failure), 502)
    name = download_name(export, files)
    if wanted is not None:
        files = [each for each in files if each.key == wanted]
        if not files:
            return PlainTextResponse("The export has no such file.", 404)
        name = files[0].name
    return StreamingResponse(
        contents(endpoint, export["S3Bucket"], files),
        media_type="application/gzip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def show_files(session: Session, export: dict[str, Any]) -> None:
    """Lists the files of a described export, each with a link. Raises Failure."""
    has_any = has_buckets(session.endpoint)
    files = await exported_files(session.endpoint, export) if has_any else []
    address = {"arn": export["ExportArn"]}
    with dialog_of("Files of the export", narrow=True) as dialog:
        code_box(folder_of(export))
        if not has_any:
            note(
                "Buckets that are directories are on the server's machine. Those of an S3 endpoint are "
                f"read here when {S3_URL} in the console's environment names it."
            )
        elif files:
            note(f"{counted(len(files), 'file')}, {counted(sum(f.items for f in files), 'item')}")
            with ui.element("div").classes("sheet"):
                for file in files[:SHOWN_MAX]:
                    with ui.element("div").classes("sheet-row"):
                        link = f"{ROUTE}?{urlencode({**address, 'file': file.key})}"
                        ui.link(file.name, link).classes("mono ellipsis count").props("download")
                        note(counted(file.items, "item")).classes("number")
            if len(files) > SHOWN_MAX:
                note(f"and {len(files) - SHOWN_MAX:,} more, which the download has")
        with ui.row().classes("dialog-end"):
            ui.button("Close", on_click=dialog.close).props("flat")
            if files:
                ui.button("Download all as one", icon="download").props(
                    f'href="{ROUTE}?{urlencode(address)}" download'
                )
