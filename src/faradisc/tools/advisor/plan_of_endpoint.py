"""A plan file of a running endpoint or an account: tables as they are described, auto scaling as it is set,
and the consumed units of the last hours, minute by minute. Read-only calls make it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from faradisc.tools.advisor.serving import Asks
from faradisc.tools.advisor.traffic import Traffic
from faradisc.tools.planner.results.demand import MINUTE_S

_STREAMS = (("R", "GetItem", "reads"), ("W", "PutItem", "writes"))
_PROJECTIONS = {"ALL": "all", "KEYS_ONLY": "keys_only", "INCLUDE": "include"}
_HEAD = """\
# Written by `faradisc plan --from`. Rates are consumed units of each minute: a request stands for a unit,
# what was throttled is not in them, and neither are peaks within a minute. Metrics show no keys: say which
# ones requests are for, or the plan spreads them evenly.
"""


async def plan_of(
    asked: Asks, traffic: Traffic, failure: type[Exception], start: str, names: tuple[str, ...] = ()
) -> str:
    """Returns the text of a plan. `names`: of the tables; all without any. `start`: of the metrics, ISO
    8601."""
    tables: list[str] = []
    streams: list[str] = []
    for name, table in sorted(traffic.tables.items()):
        if names and name not in names:
            continue
        described = (await asked.call("DescribeTable", {"TableName": name}))["Table"]
        scaling: Mapping[str, Any] = {}
        with suppress(failure):  # a policy may forbid it
            scaling = await _scaling(asked, name)
        written = table.demand(None, "W").half_units
        shares = {
            index["IndexName"]: min(table.demand(index["IndexName"], "W").half_units / written, 1)
            if written
            else 1
            for index in described.get("GlobalSecondaryIndexes", ())
        }
        tables += _table(described, scaling, shares, recovery=table.definition.recovery is True)
        for (index, direction), demand in table.demands.items():
            if any(demand.minutes.values()) and not (index is not None and direction == "W"):
                rates = [
                    demand.minutes.get(at, 0) / 2 / MINUTE_S for at in range(traffic.duration_s // MINUTE_S)
                ]
                streams += _stream(name, index, direction, rates)
    head = [f"name: Tables of {traffic.source}", f"start: {start}", f"duration: {traffic.duration_s}s"]
    quiet = [f"  - {{name: nothing, table: {_first(tables)}, operation: GetItem, rate: 0, keys: single}}"]
    lines = [*head, "retries: none", "tables:", *tables, "traffic:", *(streams or quiet)]
    return _HEAD + "\n".join(lines) + "\n"


def _first(tables: list[str]) -> str:
    return tables[0].strip().rstrip(":") if tables else ""


async def _scaling(asked: Asks, name: str) -> dict[str, Any]:
    """Returns limits and targets by resource and dimension."""
    found: dict[str, Any] = {}
    for operation, member in (
        ("DescribeScalableTargets", "ScalableTargets"),
        ("DescribeScalingPolicies", "ScalingPolicies"),
    ):
        request: dict[str, Any] = {"ServiceNamespace": "dynamodb"}
        while True:
            answer = await asked.service("application-autoscaling", operation, request)
            for each in answer.get(member, ()):
                if each["ResourceId"] == f"table/{name}" or each["ResourceId"].startswith(f"table/{name}/"):
                    found.setdefault(f"{each['ResourceId']} {each['ScalableDimension']}", {}).update(each)
            if "NextToken" not in answer:
                break
            request = {**request, "NextToken": answer["NextToken"]}
    return found


def _table(
    table: Mapping[str, Any], scaling: Mapping[str, Any], shares: Mapping[str, float], *, recovery: bool
) -> Iterator[str]:
    on_demand = table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
    items, size = table.get("ItemCount", 0), table.get("TableSizeBytes", 0)
    yield f"  {table['TableName']}:"
    yield f"    mode: {'on-demand' if on_demand else 'provisioned'}"
    yield from (
        f"    {line}" for line in _rates(table, on_demand, scaling, f"table/{table['TableName']}", "table")
    )
    yield f"    sort_key: {'true' if len(table['KeySchema']) > 1 else 'false'}"
    if items:
        yield f"    items: {items}"
        yield f"    item_size: {max(size // items, 1)} B"
    if table.get("TableClassSummary", {}).get("TableClass") == "STANDARD_INFREQUENT_ACCESS":
        yield "    class: infrequent-access"
    if recovery:
        yield "    point_in_time_recovery: true"
    for member, kind in (("indexes", "GlobalSecondaryIndexes"), ("local_indexes", "LocalSecondaryIndexes")):
        if table.get(kind):
            yield f"    {member}:"
        for index in table.get(kind) or ():
            name = index["IndexName"]
            yield f"      {name}:"
            projection = _PROJECTIONS[index["Projection"]["ProjectionType"]]
            yield f"        projection: {projection}"
            if projection == "include":
                held, stored = index.get("ItemCount", 0), index.get("IndexSizeBytes", 0)
                yield f"        entry_size: {max(stored // held, 1) if held else 200} B"
            if member == "indexes":
                if 0 < shares[name] < 1:
                    yield f"        share: {shares[name]:.3f}"
                where = f"table/{table['TableName']}/index/{name}"
                yield from (f"        {line}" for line in _rates(index, on_demand, scaling, where, "index"))


def _rates(
    of: Mapping[str, Any], on_demand: bool, scaling: Mapping[str, Any], resource: str, kind: str
) -> Iterator[str]:
    if on_demand:
        limits = of.get("OnDemandThroughput", {})
        for member, name in (("max_read", "MaxReadRequestUnits"), ("max_write", "MaxWriteRequestUnits")):
            if limits.get(name, -1) > 0:
                yield f"{member}: {limits[name]}"
        warm = of.get("WarmThroughput", {})
        if warm.get("ReadUnitsPerSecond") and warm.get("WriteUnitsPerSecond"):
            yield f"warm: {{read: {warm['ReadUnitsPerSecond']}, write: {warm['WriteUnitsPerSecond']}}}"
        return
    units = of["ProvisionedThroughput"]
    yield f"read: {max(units['ReadCapacityUnits'], 1)}"
    yield f"write: {max(units['WriteCapacityUnits'], 1)}"
    both = []
    for word, member in (("Read", "read"), ("Write", "write")):
        found = scaling.get(f"{resource} dynamodb:{kind}:{word}CapacityUnits", {})
        if "MinCapacity" in found:
            target = found.get("TargetTrackingScalingPolicyConfiguration", {}).get("TargetValue", 70)
            limits = f"min: {found['MinCapacity']}, max: {found['MaxCapacity']}"
            both.append(f"{member}: {{{limits}, target: {target:g}}}")
    if both:
        yield f"auto_scaling: {{{', '.join(both)}}}"


def _stream(table: str, index: str | None, direction: str, rates: list[float]) -> Iterator[str]:
    _, operation, what = next(each for each in _STREAMS if each[0] == direction)
    where = table if index is None else f"{table}/index/{index}"
    yield f"  - name: {where} {what}"
    yield f"    table: {table}"
    if index is not None:
        yield f"    index: {index}"
        operation = "Query"
    yield f"    operation: {operation}"
    if direction == "R":
        # A unit each: half a unit per eventually consistent read would need twice as many.
        yield "    consistent: true" if index is None else "    item_size: 8 KB"
    if direction == "W" or index is None:
        yield "    item_size: 1 KB"
    yield "    keys: {uniform: 1000000}"
    yield "    rate:"
    yield "      steps:"
    last: str | None = None
    for minute, rate in enumerate(rates):
        text = f"{rate:.3f}"
        if text != last:
            yield f"        - {{at: {minute * MINUTE_S}s, rate: {text}}}"
        last = text
