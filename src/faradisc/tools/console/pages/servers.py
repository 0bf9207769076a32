"""Servers, places and regions as one picture that follows; links between regions are cut and healed here."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.copies import copy_of
from faradisc.tools.console.endpoint import ADMIN, Failure
from faradisc.tools.console.messages import confirmed, guarded
from faradisc.tools.console.parts import Diagram, heading, note, plain_table
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page
from faradisc.tools.console.topology import topology
from faradisc.tools.console.values import visible

POLL_S: Final = 2.0


@console_page("/servers", "Servers")
async def servers_page(session: Session) -> None:
    if not await session.has_admin():
        is_denied = (ADMIN, "") in session.endpoint.refused
        note(
            "Servers, places and regions are shown to keys that may use the admin API: those of the account."
            if is_denied
            else "Servers, places and regions are shown for a server of Faradisc, whose admin API says them."
        )
        return
    diagram = Diagram("Servers, places and regions")
    heading("Links between regions")
    links_box = ui.column().classes("w-full")
    shown: list[Any] = []

    async def draw() -> None:
        nodes, places, links, copy = await asyncio.gather(
            session.endpoint.admin("nodes"),
            _places(session),
            session.endpoint.admin("replication"),
            copy_of(session),
        )
        found = [nodes, places, links, copy]
        if found == shown:
            return
        shown[:] = found
        diagram.show(topology(nodes, places, links, session.url or "", session.region, copy=copy))
        links_box.clear()
        with links_box:
            _links(session, links, draw)

    await draw()
    ui.timer(POLL_S, guarded(draw))


async def _places(session: Session) -> dict[str, Any]:
    try:
        found: dict[str, Any] = await session.endpoint.admin("places")
    except Failure:
        # Only a store at several PostgreSQLs has places.
        return {}
    return found


def _links(session: Session, links: list[dict[str, Any]], draw: Any) -> None:
    if not links:
        note("No table has replicas in other regions.")
        return
    plain_table(
        [
            {
                "table": visible(each["table"]),
                "way": f"{each['from']} → {each['to']}",
                "state": "cut" if each["cut"] else "open",
                "waiting": f"{each['waiting']:,}",
                "lag": f"{each['lag_ms'] / 1000:,.1f} s",
                "delivered": f"{each['delivered']:,}",
                "conflicts": f"{each['conflicts']:,}",
            }
            for each in links
        ]
    )
    pairs = dict.fromkeys(tuple(sorted((each["from"], each["to"]))) for each in links)
    cut = {tuple(sorted((each["from"], each["to"]))) for each in links if each["cut"]}

    async def change(pair: tuple[str, str], how: str) -> None:
        one, other = pair
        if how == "heal" or await confirmed(f"Cut the link between {one} and {other}?", "Cut"):
            await session.endpoint.admin("replication", {how: [one, other]})
            await draw()

    with ui.row():
        for pair in pairs:
            how = "heal" if pair in cut else "cut"
            words = f"{how.capitalize()} {pair[0]} – {pair[1]}"
            ui.button(words, on_click=guarded(partial(change, pair, how))).props("outline")
