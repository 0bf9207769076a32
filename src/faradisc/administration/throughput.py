"""A table's throughput from inside: rates, banks, partitions with heat and bytes, hot keys; and its levers.

Source: capacity.md section 2.16, "Admin API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.capacity import inspect
from faradisc.capacity.config import UNIT
from faradisc.capacity.events import to_json
from faradisc.capacity.partitions import Cell, Partition
from faradisc.capacity.resource import Resource
from faradisc.codec.keyspace import key_of_row
from faradisc.metering.meter import Meter
from faradisc.tables.noting import shown_key
from faradisc.tables.table import Table
from faradisc.values.schema import KeySchema

HOT_KEYS_SHOWN = 5

_LEVERS = frozenset({"index", "profile", "balance", "partition", "partitions", "previous_peak"})


class AdminError(Exception):
    """A request that cannot be done; the text is one sentence for people."""


class NoSuchTable(AdminError):
    """What it is about is not there."""


def describe(table: Table) -> dict[str, Any]:
    """The throughput of a table and its global indexes, as of now."""
    meter = table.meter
    now = meter.now()
    keys = {index.name: index.placement.key for index in table.global_indexes}
    return {
        "table": table.name,
        "now_ns": now,
        "profile": meter.override or meter.config.profile,
        "enforced": meter.enforced,
        "resources": {
            index or "": _resource(meter.resource_of(index), table.key if index is None else keys[index], now)
            for index in meter.provisions
        },
        "insights": {
            index or "": {
                rule: [{"key": list(each.key), "score": each.score} for each in insights.top(rule, 0, now)]
                for rule in insights.rules
            }
            for index, insights in meter.insights.items()
        },
    }


def _resource(resource: Resource, key: KeySchema, now: int) -> dict[str, Any]:
    described = inspect.describe(resource, now)
    for shown, part in zip(described["partitions"], resource.partitions.partitions, strict=True):
        shown["hot_keys"] = _hot_keys(part, key)
    return described


def _hot_keys(part: Partition, key: KeySchema) -> list[dict[str, Any]]:
    """The heaviest keys of a partition while it is hot; nobody watches cold ones."""
    found: list[dict[str, Any]] = []
    for direction, cell in (("read", part.reads), ("write", part.writes)):
        watch = cell.watch
        if watch is None or not watch.keys.total:
            continue
        for heavy in watch.keys.top(HOT_KEYS_SHOWN):
            partition_key, sort_key = shown_key(key_of_row(heavy.key, key), key)
            share = round(heavy.weight * 100 / watch.keys.total, 1)
            found.append(
                {"direction": direction, "key": partition_key, "sort_key": sort_key, "percent": share}
            )
    return found


async def change(meter: Meter, table: Table, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Pull levers of a table, or with "index" of one of its global indexes; what it is like afterwards.

        profile         "aws:30/10", or null for the server's own
        balance         {"read": units, "write": units}    what is banked, or left of an on-demand maximum
        partition       {"id": ..., "read": units, "write": units}    what one partition has left
        partitions      count    split at once until there are so many
        previous_peak   {"read": units, "write": units}    what on-demand capacity doubles

    Raises: AdminError.
    """
    unknown = sorted(set(wanted) - _LEVERS)
    if unknown:
        raise AdminError(f"There is nothing called {unknown[0]!r} to change.")
    index = wanted.get("index")
    if index is not None and index not in table.meter.indexes:
        raise AdminError(f"The table {table.name} has no global index {index!r}.")
    if "profile" in wanted:
        try:
            await meter.configure(table.meter, wanted["profile"])
        except (ValueError, AttributeError) as mistake:
            raise AdminError(f"The profile cannot be used: {mistake}.") from mistake
    resource = table.meter.resource_of(index)
    now = table.meter.now()
    if "balance" in wanted:
        for lane, units in zip(resource.lanes, _pair(wanted["balance"], "balance"), strict=True):
            bank = lane.bucket or lane.maximum
            if units is not None and bank is None:
                raise AdminError("There is no bank: the table is on demand and has no maximum.")
            if units is not None and bank is not None:
                bank.set_balance(now, units * UNIT)
    if "partition" in wanted:
        _set_partition(resource, wanted["partition"], now)
    events = []
    if "partitions" in wanted:
        count = _number(wanted["partitions"], "partitions", 1)
        if count > 10_000:
            raise AdminError("More than 10,000 partitions are not made.")
        events += resource.set_partitions(count, now)
    if "previous_peak" in wanted:
        read, write = _pair(wanted["previous_peak"], "previous_peak")
        if read is None or write is None:
            raise AdminError("A previous peak has both a read and a write number.")
        events += resource.set_previous_peak(read, write, now)
    table.meter.account.changed(resource)
    meter.recent.extend(map(to_json, events))
    await meter.save(table.meter)
    return describe(table)


def _set_partition(resource: Resource, wanted: Any, now: int) -> None:
    part = resource.partitions.by_id(str(wanted.get("id"))) if isinstance(wanted, Mapping) else None
    if part is None:
        raise AdminError("Name a partition by the id it is shown with.")
    cells: tuple[Cell, Cell] = (part.reads, part.writes)
    balances = {name: units for name, units in wanted.items() if name != "id"}
    for cell, units in zip(cells, _pair(balances, "partition"), strict=True):
        if units is not None:
            cell.set_balance(now, units * UNIT)


def _pair(given: Any, what: str) -> tuple[int | None, int | None]:
    """Read and write numbers, either of which may be missing. Raises AdminError."""
    if not isinstance(given, Mapping) or not given or set(given) - {"read", "write"}:
        raise AdminError(f'{what} is {{"read": units, "write": units}}, or one of them.')
    read, write = (
        None if name not in given else _number(given[name], f"{what}.{name}", None)
        for name in ("read", "write")
    )
    return read, write


def _number(given: Any, what: str, least: int | None) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or (least is not None and given < least):
        raise AdminError(f"{what} is a whole number{'' if least is None else f' of at least {least}'}.")
    return given
