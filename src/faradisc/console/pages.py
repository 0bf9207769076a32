"""Whole pages: the list of tables, one table, an error.

Links are relative, so the pages may have any base path: the list at a path that ends with "/", a table at
"tables/<name>" below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from faradisc.charts.markup import Child, Markup, element
from faradisc.charts.page import page, paragraphs
from faradisc.charts.script import CURSOR
from faradisc.charts.tables import Column, pairs, table
from faradisc.charts.words import count, moment, units
from faradisc.console import parts
from faradisc.console.refresh import REFRESH
from faradisc.engine.metrics.heat_history import HeatHistory

CONTENT_TYPE = "text/html; charset=utf-8"
_TABLES = "tables/"


def index_page(tables: Sequence[Mapping[str, Any]], query: str = "") -> bytes:
    """Returns the page of all tables. query: added to the links, for example "region=eu-west-1"."""
    rows = [_listed(each, query) for each in tables]
    columns = (
        Column("table", words=True),
        Column("status", words=True),
        Column("mode", words=True),
        Column("throughput", words=True),
        Column("partitions"),
        Column("indexes", words=True),
    )
    listed = table("Tables", columns, rows) if rows else paragraphs("There are no tables yet.")
    return _page("Throughput, live", listed)


def _listed(described: Mapping[str, Any], query: str) -> list[Child]:
    name = described["table"]
    indexes = (f"{index} ({count(number)})" for index, number in described["indexes"].items())
    return [
        element("a", name, href=_link(f"{_TABLES}{quote(name, safe='')}", query)),
        described["status"].lower(),
        _mode(described["mode"]),
        "enforced" if described["enforced"] else "metered only",
        count(described["partitions"]),
        ", ".join(indexes),
    ]


def _link(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _mode(mode: str) -> str:
    return "provisioned" if mode == "PROVISIONED" else "on demand"


def table_page(described: Mapping[str, Any], history: HeatHistory, query: str = "") -> bytes:
    """Returns the page of one table, from the admin API's description; also adds it to the history."""
    history.observe(described["now_ns"], described["resources"].values())
    enforced = (
        "enforced"
        if described["enforced"]
        else "metered only: nothing is throttled, and the heat of partitions is not measured"
    )
    return _page(
        f"Throughput, live: {described['table']}",
        element("p", element("a", "All tables", href=_link("../", query)), class_="soft"),
        pairs(
            [
                ("profile", described["profile"]),
                ("throughput", enforced),
                ("as of", moment(described["now_ns"] / parts.SECOND_NS)),
            ]
        ),
        [_resource(described, index, history) for index in described["resources"]],
    )


def _resource(described: Mapping[str, Any], index: str, history: HeatHistory) -> Markup:
    resource = described["resources"][index]
    title = f"Index {index}" if index else f"Table {described['table']}"
    return element(
        "section",
        element("h2", title),
        pairs(_facts(resource)),
        parts.capacity(resource),
        element("div", parts.heat(resource, history), class_="together"),
        parts.hot_keys(resource),
        parts.partitions(resource, described["now_ns"]),
        parts.insights(described["insights"].get(index, {})),
        parts.splits(resource),
    )


def _facts(resource: Mapping[str, Any]) -> list[tuple[str, Child]]:
    warm, some = resource["warm"], resource["partitions"][0]
    return [
        ("mode", _mode(resource["mode"])),
        ("partitions", count(len(resource["partitions"]))),
        ("each serves", f"{units(some['read']['limit'])} / {units(some['write']['limit'])}"),
        ("items", count(sum(part["items"] for part in resource["partitions"]))),
        ("warm throughput", f"{units(warm['ReadUnitsPerSecond'])} / {units(warm['WriteUnitsPerSecond'])}"),
    ]


def error_page(text: str) -> bytes:
    """Returns a page with one sentence."""
    return _page("Throughput, live", paragraphs(text), element("p", element("a", "All tables", href="../")))


def _page(title: str, *body: Child) -> bytes:
    note = "This page updates every two seconds while it is visible."
    live = element("footer", element("span", note, class_="live"))
    return page(title, element("h1", title), *body, live, script=CURSOR + REFRESH, connect="'self'").encode()
