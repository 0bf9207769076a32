"""The access key and the region of this browser's session. They stay in the console's memory."""

from __future__ import annotations

from nicegui import ui

from faradisc.tools.console.endpoint import Failure, Key
from faradisc.tools.console.messages import complain, guarded
from faradisc.tools.console.parts import note
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page


@console_page("/key", "Sign in")
async def key_page(session: Session) -> None:
    with ui.card().classes("w-full max-w-xl"):
        note(
            f"Now in use: {session.key.key_id}"
            if session.key
            else "Now in use: the credentials of the console's environment"
        )
        address = ui.input("Endpoint (empty: Amazon DynamoDB)", value=session.url or "").classes("w-full")
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
            url = address.value.strip() or None
            if url is not None and not url.startswith(("http://", "https://")):
                complain(Failure("", f"The endpoint {url} begins with http:// or https://."))
                return
            session.connect(
                url, region.value.strip() or session.region, given if given.key_id else session.key
            )
            secret.value = token.value = ""
            try:
                await session.endpoint.call("ListTables", {"Limit": 1})
            except Failure as failure:
                if failure.code != "AccessDeniedException":
                    complain(failure)
                    return
            # A page of its own, because the header names the endpoint.
            ui.navigate.to("/")

        ui.button("Sign in", on_click=guarded(use))
        note("The console keeps the key in memory until it ends, and writes it to no file, URL or log.")
