"""Where things are: addresses of pages, the entries of the rail, of the tabs and of the palette. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

PLACES: Final = (
    ("Start", "monitor_heart", "/"),
    ("Tables", "table_rows", "/tables"),
    ("PartiQL", "terminal", "/partiql"),
    ("Operations", "settings_backup_restore", "/operations"),
    ("Advice", "lightbulb", "/advice"),
    ("Servers", "hub", "/servers"),
    ("Sign in", "key", "/key"),
)
"""Pages that belong to no table: name, icon, address."""
TABS: Final = {
    "Overview": "",
    "Items": "items",
    "Design": "design",
    "Stream": "stream",
    "Throughput": "throughput",
    "Backups": "backups",
}
"""Pages of a table: the ends of their addresses, by name."""
GROUP_MIN: Final = 3
"""Fewer tables of one prefix are no group."""


def table_path(table: str, page: str = "") -> str:
    return f"/tables/{quote(table, safe='')}" + (f"/{page}" if page else "")


def items_path(table: str, index: str = "", partition: str = "", sort: str = "") -> str:
    """Returns the address of a query of a table or index."""
    chosen = {"index": index, "partition": partition, "sort": sort}
    query = urlencode({name: value for name, value in chosen.items() if value})
    return table_path(table, "items") + (f"?{query}" if query else "")


def grouped(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Returns names by prefix (what is before the first `-`, `_` or `.`), those without a group under ""."""
    by_prefix: dict[str, list[str]] = {}
    for name in sorted(names, key=str.lower):
        by_prefix.setdefault(re.split(r"[-_.]", name, maxsplit=1)[0], []).append(name)
    groups = {prefix: found for prefix, found in by_prefix.items() if len(found) >= GROUP_MIN}
    if len(groups) == 1 and len(by_prefix) == 1:
        groups = {}
    alone = [name for prefix, found in by_prefix.items() if prefix not in groups for name in found]
    return [*groups.items(), *([("", alone)] if alone else [])]


def palette_entries(actions: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Returns what the palette offers before the pages of tables: other pages, actions."""
    pages = [{"name": name, "target": target, "kind": "page"} for name, _, target in PLACES]
    return [*pages, *({"name": name, "action": name, "kind": "action"} for name in actions)]
