"""Reads and changes a table's throughput: rates, burst balances, partitions, hot keys.

Source: capacity.md section 2.16, "Admin API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faradisc.capacity import inspect
from faradisc.capacity.config import UNIT, CapacityConfig
from faradisc.capacity.events import to_json
from faradisc.capacity.resource import Resource
from faradisc.engine.tables.table import Table
from faradisc.engine.throughput.settings import parse_config
from faradisc.engine.throughput.throughput import Throughput
from faradisc.model.codec.keyspace import Placement
from faradisc.records import dataclass
from faradisc.services.administration.hot_keys import hot_keys
from faradisc.storage.api import ReadOnlyStore

PARTITIONS_MAX = 10_000
PEAK_MAX = 1_000_000_000
"""Units per second. In nano-units, which 64 bits hold, as states are stored."""

_LEVERS = frozenset({"index", "profile", "balance", "partition", "partitions", "previous_peak"})
_Pair = tuple[int | None, int | None]
"""Of reads and of writes; None: no change."""


class AdminError(Exception):
    """The request is invalid; the text is one sentence."""


class NoSuchTable(AdminError):
    """The table does not exist."""


async def describe(store: ReadOnlyStore, table: Table) -> dict[str, Any]:
    """Returns the throughput of a table and its global indexes, as of now."""
    meter = table.meter
    now = meter.now()
    placements: dict[str | None, Placement] = {None: table.placement}
    placements |= {index.name: index.placement for index in table.global_indexes}
    return {
        "table": table.name,
        "now_ns": now,
        "profile": meter.config.text,
        "override": meter.override,
        "enforced": meter.enforced,
        "resources": {
            index or "": await _resource(store, meter.resource_of(index), placements[index], now)
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


async def _resource(
    store: ReadOnlyStore, resource: Resource, placement: Placement, now: int
) -> dict[str, Any]:
    described = inspect.describe(resource, now)
    for shown, part in zip(described["partitions"], resource.partitions.partitions, strict=True):
        shown["hot_keys"] = await hot_keys(store, part, placement)
    return described


async def change(throughput: Throughput, table: Table, wanted: Mapping[str, Any]) -> None:
    """Changes a table, or with "index" one of its global indexes.

    - profile: "aws:30/10", or null for the server's own
    - balance: {"read": units, "write": units}, the burst balance or the balance of an on-demand maximum
    - partition: {"id": ..., "read": units, "write": units}, the balances of one partition
    - partitions: a count; splits at once until there are so many
    - previous_peak: {"read": units, "write": units}; on-demand capacity is twice as much

    Changes everything, or nothing if one member is invalid. Raises AdminError.
    """
    levers = _read(table, wanted, _config(throughput, table, wanted))
    if "profile" in wanted:
        await throughput.configure(table.meter, wanted["profile"])
    resource = table.meter.resource_of(levers.index)
    now = table.meter.now()
    if levers.balance is not None:
        _set_balances(resource, levers.balance, now)
    if levers.partition is not None:
        _set_partition(resource, *levers.partition, now)
    events = []
    if levers.partitions is not None:
        events += resource.set_partitions(levers.partitions, now)
    if levers.previous_peak is not None:
        events += resource.set_previous_peak(*levers.previous_peak, now)
    table.meter.changed(resource)
    throughput.recent.extend(map(to_json, events))
    await throughput.save(table.meter)


@dataclass(frozen=True, slots=True)
class _Levers:
    """The changes, without the profile."""

    index: str | None
    balance: _Pair | None
    partition: tuple[str, _Pair] | None
    partitions: int | None
    previous_peak: tuple[int, int] | None


def _config(throughput: Throughput, table: Table, wanted: Mapping[str, Any]) -> CapacityConfig:
    """Returns the profile of the table after the change. Raises AdminError."""
    text = wanted.get("profile", table.meter.override)
    if text is None:
        return throughput.settings.of(table.name)
    try:
        return parse_config(text if isinstance(text, str) else repr(text))
    except ValueError as mistake:
        raise AdminError(f"The profile cannot be used: {mistake}.") from mistake


def _read(table: Table, wanted: Mapping[str, Any], config: CapacityConfig) -> _Levers:
    """Returns the changes. config: the profile after them. Raises AdminError."""
    unknown = sorted(set(wanted) - _LEVERS)
    if unknown:
        raise AdminError(f"There is nothing called {unknown[0]!r} to change.")
    index = wanted.get("index")
    if index is not None and (not isinstance(index, str) or index not in table.meter.indexes):
        raise AdminError(f"The table {table.name} has no global index {index!r}.")
    resource = table.meter.resource_of(index)
    balance = _pair(wanted["balance"], "balance") if "balance" in wanted else None
    if balance is not None:
        _check_balances(resource, balance, config)
    partitions = _number(wanted["partitions"], "partitions", 1) if "partitions" in wanted else None
    if partitions is not None and partitions > PARTITIONS_MAX:
        raise AdminError(f"More than {PARTITIONS_MAX:,} partitions are not made.")
    if partitions is not None and partitions < len(resource.partitions):
        raise AdminError(f"There are {len(resource.partitions):,} partitions, and none is ever merged.")
    return _Levers(
        index,
        balance,
        _partition(resource, wanted["partition"]) if "partition" in wanted else None,
        partitions,
        _peak(wanted["previous_peak"]) if "previous_peak" in wanted else None,
    )


def _check_balances(resource: Resource, balance: _Pair, config: CapacityConfig) -> None:
    """Raises AdminError if there is no bucket for the balance."""
    for units, maximum in zip(balance, (resource.state.max_read, resource.state.max_write), strict=True):
        if units is None:
            continue
        if resource.on_demand and maximum is None:
            raise AdminError("There is no burst balance: the table is on demand and has no maximum.")
        if not resource.on_demand and not config.table_bucket:
            raise AdminError(f"There is no burst balance: {config.profile} gives each partition its own.")


def _set_balances(resource: Resource, balance: _Pair, now: int) -> None:
    for limiter, units in zip(resource.limiters, balance, strict=True):
        bucket = limiter.table_bucket or limiter.maximum
        if units is not None and bucket is not None:
            bucket.set_balance(now, units * UNIT)


def _partition(resource: Resource, wanted: Any) -> tuple[str, _Pair]:
    """Returns a partition's id and its balances. Raises AdminError."""
    part = resource.partitions.by_id(str(wanted.get("id"))) if isinstance(wanted, Mapping) else None
    if part is None:
        raise AdminError("Name a partition by the id it is shown with.")
    return part.id, _pair({name: units for name, units in wanted.items() if name != "id"}, "partition")


def _set_partition(resource: Resource, part_id: str, balances: _Pair, now: int) -> None:
    part = resource.partitions.by_id(part_id)
    assert part is not None
    for bucket, units in zip(part.buckets, balances, strict=True):
        if units is not None:
            bucket.set_balance(now, units * UNIT)


def _peak(wanted: Any) -> tuple[int, int]:
    """Returns read and write units. Raises AdminError."""
    read, write = _pair(wanted, "previous_peak")
    if read is None or write is None:
        raise AdminError("A previous peak has both a read and a write number.")
    if not 0 <= min(read, write) <= max(read, write) <= PEAK_MAX:
        raise AdminError(f"A previous peak is between 0 and {PEAK_MAX:,} units per second.")
    return read, write


def _pair(given: Any, what: str) -> _Pair:
    """Returns read and write numbers, either of which may be missing. Raises AdminError."""
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
