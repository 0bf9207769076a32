"""What a run means: a verdict per hot key with its arithmetic, budgets, and the run in a few sentences.

Source: capacity.md section 3.4, parts 4 and 10; vector V137.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from faradisc.capacity.config import HALF_UNIT
from faradisc.tools.planner.plan_file.plan import BUDGETS, BudgetPlan
from faradisc.tools.planner.results.outcome import (
    BudgetResult,
    Costs,
    Headroom,
    HotKey,
    ItemCollection,
    Number,
    ResourceOutcome,
    Totals,
    VerdictCode,
    number,
)
from faradisc.tools.planner.simulation.key_totals import KeyTotals
from faradisc.tools.planner.simulation.recorder import DirectionRecord, RunRecorder
from faradisc.tools.planner.workload.streams import Flow

NEAR_PERCENT = 80
"""From here on a key is near a partition's limit."""
KEYS_SHOWN = 12
KEYS_SAID = 3
KEYS_SHOWN_PERCENT = 1
"""Lighter keys are no hot keys, unless they were refused."""


@dataclass(frozen=True, slots=True)
class Example:
    """One of very many equal keys."""

    name: str
    record: DirectionRecord
    half_units: int
    peak_half: int
    offered: int


def examples(flows: list[Flow]) -> list[Example]:
    """What stands for the keys that are too many and too light to be named."""
    found = []
    for flow in flows:
        shape = flow.keys.shape(0, 0, 1)
        if shape.example is None:
            continue
        name, weight = shape.example
        for stream in flow.streams:
            # A key's part of a second is less than a request: rounded up, it is one.
            part = weight * stream.share / 1_000_000_000 / (1 << 40)
            found.append(
                Example(
                    name,
                    stream.record,
                    round(flow.record.offered * stream.half_units * part),
                    max(round(flow.record.peak * stream.half_units * part), min(stream.half_units, 2)),
                    round(flow.record.offered * part),
                )
            )
    return found


def hot_keys(recorder: RunRecorder, flows: list[Flow], duration_s: int) -> tuple[HotKey, ...]:
    """The verdicts on the heaviest keys of every lane, resources in order, reads before writes."""
    found: list[HotKey] = []
    spoken_for = examples(flows)
    ordered = {
        id(stream.record) for flow in flows if flow.keys.shape(0, 0, 1).ordered for stream in flow.streams
    }
    divisible = _divisible(flows)
    for record in recorder.lanes:
        mine = [
            KeyTotals(each.name, each.half_units, each.peak_half, each.offered, 0)
            for each in spoken_for
            if each.record is record
        ]
        for key in (*record.keys.top(KEYS_SHOWN), *mine):
            total = record.keys.half_units or 1
            light = key.half_units * 100 < total * KEYS_SHOWN_PERCENT and not key.throttled
            if light and key not in mine:
                continue
            verdict = _verdict(record, key, total, duration_s)
            if verdict.verdict == "shard" and id(record) in ordered:
                verdict = replace(verdict, words=f"{verdict.words}, or take one item of every key in turn")
            elif verdict.verdict == "shard" and id(record) in divisible:
                verdict = replace(verdict, verdict="isolated", ways=None, words=_divided(verdict))
            found.append(verdict)
    return tuple(found)


def _divisible(flows: list[Flow]) -> set[int]:
    """Lanes whose item collections can be cut by sort key when they are hot: all of their traffic is spread
    over its collections, and nothing forbids the cut."""
    spread: dict[int, bool] = {}
    for flow in flows:
        for stream in flow.streams:
            touched = [(stream.record, flow.keys), *((index.record, index.keys) for index in stream.indexes)]
            for record, model in touched:
                resource = record.virtual.resource
                fits = (
                    model.shape(0, 0, 1).sort == "spread"
                    and resource.composite
                    and not resource.local_indexes
                    and resource.config.heat_split
                )
                spread[id(record)] = spread.get(id(record), True) and fits
    return {number for number, fits in spread.items() if fits}


def _divided(key: HotKey) -> str:
    unit = "WCU" if key.direction == "W" else "RCU"
    exact = f"{key.peak_units:,.0f} {unit}/s / {key.limit_units:,} per partition"
    return (
        f"{exact} = {key.peak_units / key.limit_units:.2f}: more than one partition; splits for heat divide "
        "its items by sort key, after some ten minutes of throttling"
    )


def _verdict(record: DirectionRecord, key: KeyTotals, total: int, duration_s: int) -> HotKey:
    config = record.virtual.resource.config
    cap = config.partition_write_units if record.writes else config.partition_read_units
    book = record.keys
    # Eventually consistent reads load a partition less, so it serves more of them.
    limit = cap * book.half_units * HALF_UNIT // book.load if book.load else cap
    peak = key.peak_half / 2
    code, ways, words = _judge(record, key, peak, limit)
    return HotKey(
        resource=record.virtual.name,
        key=key.name,
        direction="W" if record.writes else "R",
        share_percent=number(100 * key.half_units / total),
        mean_units=number(key.half_units / 2 / duration_s),
        peak_units=number(peak),
        limit_units=limit,
        offered=key.offered,
        throttled=key.throttled,
        verdict=code,
        ways=ways,
        words=words,
    )


def _judge(
    record: DirectionRecord, key: KeyTotals, peak: float, limit: int
) -> tuple[VerdictCode, int | None, str]:
    unit = "WCU" if record.writes else "RCU"
    percent = round(100 * peak / limit) if limit else 0
    sum_up = f"peak {peak:,.0f} {unit}/s of the {limit:,} one partition serves"
    if peak > limit:
        ways = -int(-peak // limit)
        exact = f"{peak:,.0f} {unit}/s / {limit:,} per partition = {peak / limit:.2f}"
        return "shard", ways, f"{exact}: no partition can carry this key; shard it {ways} ways"
    if key.throttled and record.virtual.resource.config.heat_split and percent >= NEAR_PERCENT // 2:
        words = f"{sum_up} ({percent} %): refused beside others; alone in a partition it fits"
        return "isolated", None, words
    if percent >= NEAR_PERCENT:
        words = f"{sum_up}: {percent} % of a partition; it fits, and growth needs sharding"
        return "near", None, words
    return "fits", None, f"{sum_up}: {percent} %; it fits"


# --- Budgets ------------------------------------------------------------------------------------------


def judge_budgets(
    budgets: tuple[BudgetPlan, ...],
    totals: Totals,
    costs: Costs,
    keys: tuple[HotKey, ...],
    resources: tuple[ResourceOutcome, ...],
) -> tuple[BudgetResult, ...]:
    planned = next((mode for mode in costs.modes if mode.mode == "as-planned"), None)
    values: dict[str, Number] = {
        "throttled_percent": totals.throttled_percent,
        "lost_percent": totals.lost_percent,
        "p99_wait_ms": totals.waits.p99_ms,
        "monthly_cost": planned.total_usd if planned is not None else 0,
        "keys_to_shard": sum(1 for key in keys if key.verdict == "shard"),
        "partitions": max(
            (resource.partition_count[-1] for resource in resources if resource.partition_count), default=0
        ),
    }
    results = []
    for budget in budgets:
        value, limit = values[budget.name], number(float(budget.limit))
        holds = value <= limit
        words = f"{BUDGETS[budget.name]}: {value:,} of at most {limit:,}"
        results.append(BudgetResult(budget.name, limit, value, holds, words))
    return tuple(results)


# --- The run in words ---------------------------------------------------------------------------------


def sum_up(
    totals: Totals,
    resources: tuple[ResourceOutcome, ...],
    keys: tuple[HotKey, ...],
    costs: Costs,
    *,
    collections: tuple[ItemCollection, ...],
    rooms: tuple[Headroom, ...],
) -> tuple[str, ...]:
    """The most important sentences first."""
    said = [_throttling(totals)]
    for resource in resources:
        said += _hottest_gate(resource)
    for verdict in ("shard", "isolated", "near"):
        for resource in resources:
            mine = [key for key in keys if key.resource == resource.name and key.verdict == verdict]
            said += [f"{key.resource}, key {key.key!r}: {key.words}." for key in mine[:KEYS_SAID]]
            if len(mine) > KEYS_SAID:
                said.append(f"{resource.name}: the same holds for {len(mine) - KEYS_SAID} more of its keys.")
    for resource in resources:
        sentence = _busiest_partition(resource)
        if sentence:
            said.append(sentence)
    for each in collections:
        if each.verdict != "fits":
            said.append(f"{each.resource}, item collection {each.key!r}: {each.words}.")
    said += [f"{room.resource}: {room.words}." for room in rooms if room.minutes_over]
    said += _money(costs)
    return tuple(said)


def _throttling(totals: Totals) -> str:
    if not totals.throttled:
        return f"Nothing was throttled: all {totals.admitted:,} requests were admitted at the first attempt."
    lost = (
        f"{totals.lost:,} requests ({totals.lost_percent} %) were lost"
        if totals.lost
        else "retries brought all of them through"
    )
    return (
        f"{totals.throttled:,} of {totals.attempts:,} attempts ({totals.throttled_percent} %) were "
        f"throttled; {lost}."
    )


_CAUSE_WORDS = {
    "AccountLimitExceeded": "the account's quota",
    "MaxOnDemandThroughputExceeded": "the configured on-demand maximum",
    "ProvisionedThroughputExceeded": "the provisioned rate",
    "KeyRangeThroughputExceeded": "single partitions (hot keys)",
}


def _hottest_gate(resource: ResourceOutcome) -> list[str]:
    events = resource.throttle_summary.events
    if not events:
        return []
    name = max(events, key=lambda cause: events[cause])
    direction, _, cause = name.partition(" ")
    share = 100 * events[name] // sum(events.values())
    what = "reads" if direction == "R" else "writes"
    first = resource.throttle_summary.first_s
    return [
        f"{resource.name}: first refusal after {first} s; {share} % of its throttle events are {what} "
        f"stopped by {_CAUSE_WORDS[cause]}."
    ]


def _busiest_partition(resource: ResourceOutcome) -> str | None:
    """How uneven the load is, in the direction that has more of it."""
    alive = [track for track in resource.partitions if track.retired_s is None]
    sums = {
        "reads": [sum(track.read) for track in alive],
        "writes": [sum(track.write) for track in alive],
    }
    what, loads = max(sums.items(), key=lambda pair: sum(pair[1]))
    total = sum(loads)
    if not total or len(loads) < 2:
        return None
    share = 100 * max(loads) / total
    return (
        f"{resource.name}: the busiest of its {len(loads)} partitions serves {share:.0f} % of their {what}."
    )


def _money(costs: Costs) -> list[str]:
    planned = next(mode for mode in costs.modes if mode.mode == "as-planned")
    best = next(mode for mode in costs.modes if mode.mode == costs.cheapest)
    if best.mode == planned.mode:
        return [f"As planned, a month of this costs ${planned.total_usd:,.2f}."]
    return [
        f"As planned, a month of this costs ${planned.total_usd:,.2f}; "
        f"cheapest without more throttling: {best.title.lower()}, ${best.total_usd:,.2f}."
    ]
