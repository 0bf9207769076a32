"""Servers, places and regions as one drawing: who serves, where tables are, what waits between regions. Pure.

The documents are those of the admin pages nodes, places, replication and copy (docs/guide/administration.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from faradisc.tools.console.copies import copy_card
from faradisc.tools.console.drawing import Arrow, Card, Drawing
from faradisc.tools.console.values import size_text, visible

TABLES_SHOWN: Final = 6
LATE_MS: Final = 10_000
"""A link with more lag is drawn as late."""


def topology(
    nodes: Sequence[Mapping[str, Any]],
    places: Mapping[str, Any],
    links: Sequence[Mapping[str, Any]],
    endpoint: str,
    region: str,
    *,
    copy: Mapping[str, Any] | None = None,
) -> Drawing:
    """Returns the drawing. endpoint, region: what the console is connected to. copy: the server's, if any."""
    drawing = Drawing({"Regions": _regions(links, region), "Servers": [], "Stores": []})
    servers, stores = drawing.columns["Servers"], drawing.columns["Stores"]
    for node in nodes:
        state = "ok" if node["status"] == "alive" else "bad"
        lines = [("version", str(node["version"])), ("heartbeat", f"{node['age_s']:g} s ago")]
        jobs = ", ".join(map(str, node["leases"]))
        servers.append(
            Card(
                f"n:{node['id']}",
                visible(str(node["address"])),
                node["status"],
                state,
                lines=lines,
                note=jobs,
            )
        )
    if not nodes:
        servers.append(
            Card(
                "n:",
                visible(endpoint.partition("://")[2] or endpoint),
                "alive",
                "ok",
                note="alone on its store",
            )
        )
    for place in places.get("places", ()):
        state = {"up": "ok", "down": "bad"}.get(place["status"], "late")
        here = [each for each in places["tables"] if place["place"] in each["places"]]
        lines = [("tables", f"{place['tables']:,}"), ("size", size_text(place["bytes"]))]
        lines += [("load", f"{place['load']:g} units/s")]
        title = f"{place['place']}: {place['address']}" + (" (home)" if place["place"] == 0 else "")
        note = place["reason"] or _names(here)
        stores.append(
            Card(
                f"p:{place['place']}", visible(title), place["status"], state, lines=lines, note=visible(note)
            )
        )
    if not stores:
        stores.append(Card("p:", "One store", "", "ok", note="one PostgreSQL" if nodes else "of this server"))
    moving = [each for each in places.get("tables", ()) if each.get("moving")]
    for start in drawing.columns["Regions"]:
        drawing.arrows += [Arrow(start.id, server.id) for server in servers]
    drawing.arrows += [
        Arrow(server.id, store.id, style=store.style if store.style == "bad" else "")
        for server in servers
        for store in stores
        if server.style == "ok"
    ]
    for each in moving:
        for target in each["moving"]["to"]:
            label = f"{each['table']} {each['moving']['done']:.0%}"
            drawing.arrows.append(Arrow(f"p:{each['places'][0]}", f"p:{target}", visible(label), "late"))
    if copy:
        stores.append(copy_card(copy))
        drawing.arrows += [Arrow(stores[0].id, "c:", style=stores[-1].style)]
    drawing.arrows += _links(links)
    return drawing


def _regions(links: Sequence[Mapping[str, Any]], region: str) -> list[Card]:
    names = dict.fromkeys([region, *(each[end] for each in links for end in ("from", "to"))])
    cards = []
    for name in names:
        into = [each for each in links if each["to"] == name]
        waiting = sum(each["waiting"] for each in into)
        lag = max((each["lag_ms"] for each in into), default=0)
        lines = [("waiting", f"{waiting:,} changes"), ("lag", f"{lag / 1000:,.1f} s")] if into else []
        tables = _names([{"table": table} for table in dict.fromkeys(each["table"] for each in into)])
        cards.append(Card(f"r:{name}", visible(name), "", "ok", lines=lines, note=tables))
    return cards


def _names(tables: Sequence[Mapping[str, Any]]) -> str:
    shown = ", ".join(visible(str(each["table"])) for each in tables[:TABLES_SHOWN])
    return shown + (f" and {len(tables) - TABLES_SHOWN:,} more" if len(tables) > TABLES_SHOWN else "")


def _links(links: Sequence[Mapping[str, Any]]) -> list[Arrow]:
    """Returns an arrow for each way between two regions: the worst of its tables."""
    ways: dict[tuple[str, str], str] = {}
    for each in links:
        state = "bad" if each["cut"] else "late" if each["lag_ms"] > LATE_MS else "ok"
        way = each["from"], each["to"]
        order = ("ok", "late", "bad")
        ways[way] = max(ways.get(way, "ok"), state, key=order.index)
    return [Arrow(f"r:{start}", f"r:{end}", style=state) for (start, end), state in ways.items()]
