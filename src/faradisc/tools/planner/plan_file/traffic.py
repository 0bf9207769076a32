"""The `traffic:` member of a plan file: streams of requests, their rates, keys and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.tools.planner.errors import nearest
from faradisc.tools.planner.plan_file.document import Members, Value
from faradisc.tools.planner.plan_file.keys import Setting, load_keys, load_sort
from faradisc.tools.planner.plan_file.plan import OPERATIONS, Cache, FlowPlan, TablePlan
from faradisc.tools.planner.workload import arrival_rates
from faradisc.tools.planner.workload.arrival_rates import DAY_S, Rate
from faradisc.tools.planner.workload.key_distributions import Sort
from faradisc.tools.planner.workload.retries import Retries

RATE_MAX = 10_000_000
_RATES = ("steps", "points", "ramp", "daily", "spikes")
LoadRetries = Callable[[Value | None, Retries], Retries]


def load_traffic(
    value: Value,
    tables: Mapping[str, TablePlan],
    setting: Setting,
    client: Retries,
    load_retries: LoadRetries,
) -> tuple[FlowPlan, ...]:
    """All kinds of requests of all streams. Raises: PlanError."""
    flows: list[FlowPlan] = []
    names: set[str] = set()
    for entry in value.entries():
        for flow in _stream(entry, tables, setting, client, load_retries):
            if flow.name in names:
                raise entry.mistake(f"two streams are called {flow.name!r}", "Give each a name: of its own.")
            names.add(flow.name)
            flows.append(flow)
    if not flows:
        raise value.mistake("there is no traffic", "Add a stream with table, operation, rate and keys.")
    return tuple(flows)


def _stream(
    entry: Value,
    tables: Mapping[str, TablePlan],
    setting: Setting,
    client: Retries,
    load_retries: LoadRetries,
) -> list[FlowPlan]:
    members = entry.members(
        "name", "table", "index", "operation", "operations", "rate", "from", "until", "keys", "sort",
        "item_size", "old_size", "items", "consistent", "transaction", "effect", "changes", "cache",
        "retries",
    )  # fmt: skip
    table = _table(members, tables)
    index = _index(members, table)
    mix = _operations(members)
    sorted_here = table.sort_key if index is None else True
    sort: Sort = load_sort(members.get("sort"), "spread" if sorted_here else "one")
    if sort != "one" and not sorted_here:
        raise members.need("sort", "").mistake(
            f"table {table.name!r} has no sort key", "Add sort_key: true to the table, or leave sort out."
        )
    size = members.size("item_size", table.item_bytes, ITEM_SIZE_BYTES_MAX)
    base = FlowPlan(
        name=members.text("name", f"{table.name} traffic"),
        table=table.name,
        index=index,
        operation="",
        rate=_window(members, load_rate(members.need("rate", "rate: 100"), setting.start_s)),
        share=Fraction(1),
        keys=load_keys(members.need("keys", "keys: {uniform: 100000}"), setting, sort),
        item_bytes=size,
        old_bytes=members.size("old_size", size, ITEM_SIZE_BYTES_MAX),
        items=members.integer("items", 1),
        consistent=members.flag("consistent", False),
        transaction=members.flag("transaction", False),
        effect="none",
        changes=members.ratio("changes", Fraction(1)),
        cache=_cache(members.get("cache")),
        retries=load_retries(members.get("retries"), client),
        line=entry.line,
    )
    flows = []
    _check_mix(members, [operation for operation, _ in mix])
    for operation, share in mix:
        name = base.name if len(mix) == 1 else f"{base.name}: {operation}"
        flow = replace(base, name=name, operation=operation, share=share)
        flows.append(_fit(flow, members, table))
    return flows


def _table(members: Members, tables: Mapping[str, TablePlan]) -> TablePlan:
    value = members.get("table")
    if value is None and len(tables) == 1:
        return next(iter(tables.values()))
    named = members.need("table", f"table: {next(iter(tables))}") if value is None else value
    table = tables.get(named.text())
    if table is None:
        raise named.mistake(f"there is no table {named.text()!r}", nearest(named.text(), tables))
    return table


def _index(members: Members, table: TablePlan) -> str | None:
    value = members.get("index")
    if value is None:
        return None
    known = [index.name for index in table.indexes]
    if value.text() not in known:
        remedy = nearest(value.text(), known) if known else "The table has none; leave index out."
        raise value.mistake(f"there is no index {value.text()!r}", remedy)
    return value.text()


def _operations(members: Members) -> list[tuple[str, Fraction]]:
    one, mix = members.get("operation"), members.get("operations")
    if one is not None and mix is not None:
        raise mix.mistake("operation and operations exclude each other", "Keep one of them.")
    if mix is None:
        return [(members.need("operation", "operation: PutItem").choice(*OPERATIONS), Fraction(1))]
    weights = [
        (operation, weight.amount("a share")) for operation, weight in mix.members(*OPERATIONS).items()
    ]
    total = sum((weight for _, weight in weights), Fraction(0))
    if not total:
        raise mix.mistake("the mix is empty", "Write, for example, {GetItem: 80, PutItem: 20}.")
    return [(operation, weight / total) for operation, weight in weights if weight]


_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
_MEANT_FOR = {
    "cache": ("GetItem", "Query", "Scan"),
    "consistent": ("GetItem", "Query", "Scan"),
    "items": ("Query", "Scan"),
    "effect": ("PutItem", "UpdateItem"),
    "old_size": _WRITES,
    "changes": _WRITES,
}
"""Members that mean something to some operations only. In a mix one of them must be there."""


def _check_mix(members: Members, operations: list[str]) -> None:
    if "operations" not in members:
        return
    for name, meant in _MEANT_FOR.items():
        value = members.get(name)
        if value is not None and not set(operations) & set(meant):
            what = f"{name!r} means nothing to {', '.join(operations)}"
            raise value.mistake(what, f"Leave it out, or add {' or '.join(meant)} to the mix.")


def _fit(flow: FlowPlan, members: Members, table: TablePlan) -> FlowPlan:
    """Settle what depends on the kind of request, and refuse what does not go with it."""

    def refuse(name: str, why: str, remedy: str) -> None:
        value = members.get(name)
        if value is not None:
            raise value.mistake(why, remedy)

    if flow.writes:
        if flow.index is not None:
            refuse("index", "an index is not written to", "Write to its table; the index follows.")
        if flow.cache is not None and "operation" in members:
            refuse("cache", "a cache answers reads only", "Leave cache out.")
        flow = replace(flow, cache=None, effect=_effect(flow.operation, members))
    elif "operation" in members:
        refuse("effect", "a read leaves no trace", "Leave effect out.")
        refuse("old_size", "a read replaces nothing", "Leave old_size out.")
    if flow.operation not in ("Query", "Scan") and "operation" in members:
        refuse("items", f"{flow.operation} is for one item", "Leave items out, or use Query.")
    if flow.consistent and any(index.name == flow.index for index in table.globals):
        refuse("consistent", "a global index is read eventually consistent only", "Leave consistent out.")
    if flow.transaction and flow.operation in ("Query", "Scan"):
        refuse("transaction", "a transaction reads items, not queries", "Use GetItem.")
    return flow


def _effect(operation: str, members: Members) -> Literal["add", "replace", "remove"]:
    value = members.get("effect")
    if operation == "DeleteItem":
        return "remove"
    return "add" if value is not None and value.choice("add", "replace") == "add" else "replace"


def _cache(value: Value | None) -> Cache | None:
    if value is None:
        return None
    if not value.is_mapping():
        return Cache(value.ratio("the hit ratio"), 0)
    members = value.members("hits", "warm_up")
    return Cache(members.need("hits", "hits: 90%").ratio("the hit ratio"), members.duration("warm_up", 0))


def _window(members: Members, rate: Rate) -> Rate:
    until = members.get("until")
    if "from" not in members and until is None:
        return rate
    begin = members.duration("from", 0)
    end = until.duration("until") if until is not None else None
    if end is not None and end <= begin:
        assert until is not None
        raise until.mistake("the stream ends before it begins", "Write a later moment.")
    return arrival_rates.Window(rate, begin, end)


# --- Rates --------------------------------------------------------------------------------------------


def load_rate(value: Value, start_s: int) -> Rate:
    """A rate: a number of requests per second, or a curve. Raises: PlanError."""
    if not value.is_mapping():
        return arrival_rates.Constant(_micro(value))
    members = value.any_members()
    chosen = list(members)
    if len(chosen) != 1:
        raise value.mistake("a rate is one number or one curve", "Write, for example, rate: 100.")
    name = chosen[0]
    curve = members.need(name, "")
    if name not in _RATES:
        raise curve.mistake(f"there is no curve {name!r}", nearest(name, _RATES))
    return _CURVES[name](curve, start_s)


def _micro(value: Value) -> int:
    amount = value.amount("a rate")
    if amount > RATE_MAX:
        raise value.mistake(f"a rate is at most {RATE_MAX} requests per second", "Write a smaller one.")
    return arrival_rates.micro(amount)


def _timed(value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The moments and rates of a list of {at, rate}."""
    times: list[int] = []
    values: list[int] = []
    for entry in value.entries():
        members = entry.members("at", "rate")
        at = members.need("at", "at: 10m")
        moment = at.duration("the moment")
        if times and moment <= times[-1]:
            raise at.mistake("the moments do not ascend", "Sort the list by time.")
        times.append(moment)
        values.append(_micro(members.need("rate", "rate: 100")))
    if not times:
        raise value.mistake("the list is empty", "Add an entry: {at: 0s, rate: 100}.")
    return tuple(times), tuple(values)


def _steps(value: Value, start_s: int) -> Rate:
    return arrival_rates.Steps(*_timed(value))


def _points(value: Value, start_s: int) -> Rate:
    return arrival_rates.Points(*_timed(value))


def _ramp(value: Value, start_s: int) -> Rate:
    members = value.members("from", "to", "over")
    over = members.need("over", "over: 10m")
    seconds = over.duration("over")
    if not seconds:
        raise over.mistake("a ramp takes time", "Write, for example, over: 10m.")
    ends = (_micro(members.need("from", "from: 0")), _micro(members.need("to", "to: 1000")))
    return arrival_rates.Points((0, seconds), ends)


def _daily(value: Value, start_s: int) -> Rate:
    members = value.members("low", "high", "peak")
    low, high = _micro(members.need("low", "low: 100")), _micro(members.need("high", "high: 1000"))
    if high < low:
        raise members.need("high", "").mistake("high is below low", "Exchange them.")
    peak = members.get("peak")
    hours, colon, minutes = (peak.text() if peak is not None else "14:00").partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and colon and int(hours) < 24 and int(minutes) < 60):
        assert peak is not None
        raise peak.mistake(f"{peak.text()!r} is not a time of day", 'Write, in quotes, "14:00" (UTC).')
    return arrival_rates.Daily(low, high, int(hours) * 3600 + int(minutes) * 60, start_s % DAY_S)


def _spikes(value: Value, start_s: int) -> Rate:
    members = value.members("base", "high", "every", "lasting")
    every, lasting = members.need("every", "every: 10m"), members.need("lasting", "lasting: 30s")
    if not 0 < lasting.duration("lasting") <= every.duration("every"):
        raise lasting.mistake("a spike is shorter than the time between two", "Write a shorter one.")
    return arrival_rates.Spikes(
        _micro(members.need("base", "base: 100")),
        _micro(members.need("high", "high: 1000")),
        every.duration("every"),
        lasting.duration("lasting"),
    )


_CURVES: dict[str, Callable[[Value, int], Rate]] = {
    "steps": _steps,
    "points": _points,
    "ramp": _ramp,
    "daily": _daily,
    "spikes": _spikes,
}
