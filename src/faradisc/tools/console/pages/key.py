"""The access key and the region of this browser's session. They stay in the console's memory."""

from __future__ import annotations

from nicegui import ui

from faradisc.tools.console.endpoint import Failure, Key
from faradisc.tools.console.frame import Session, complain, console_page
from faradisc.tools.console.parts import note


@console_page("/key", "Access key")
async def key_page(session: Session) -> None:
    with ui.card().classes("w-full max-w-xl"):
        note(
            f"Now in use: {session.key.key_id}"
            if session.key
            else "Now in use: the credentials of the console's environment"
        )
        region = ui.input("Region", value=session.region).classes("w-full")
        key_id = ui.input("Access key ID").classes("w-full").props("autocomplete=off")
        secret = ui.input("Secret access key", password=True).classes("w-full").props("autocomplete=off")
        token = (
            ui.input("Session token (of temporary keys)", password=True)
            .classes("w-full")
            .props("autocomplete=off")
        )

        async def use() -> None:
            given = Key(key_id.value.strip(), secret.value.strip(), token.value.strip() or None)
            session.connect(region.value.strip() or session.region, given if given.key_id else session.key)
            secret.value = token.value = ""
            try:
                await session.endpoint.call("ListTables", {"Limit": 1})
            except Failure as failure:
                if failure.code != "AccessDeniedException":
                    complain(failure)
                    return
            ui.navigate.to("/")

        ui.button("Use", on_click=use)
        note("The console keeps the key in memory until it ends, and writes it to no file, URL or log.")
