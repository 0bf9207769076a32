"""Designs that depend on chance: which partition a key falls on, how full partitions are, when requests come.

The service does not publish its hash, so the place of a key is chance in a plan. Such a plan is run with
several draws of the seed and of the places of its keys, and holds when it does in nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from faradisc.charts.words import SPACE, percent
from faradisc.tools.planner.plan_file.plan import Plan, TablePlan
from faradisc.tools.planner.results.hot_keys import NEAR_PERCENT, PLACEMENTS
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome, RunDraws
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.workload.key_distributions import ONE

HOLDS_PERCENT = 90
"""Of the draws, in which a plan that holds does so."""
DRAWS = 10
SIMULATED_S_MAX = 36_000
"""Simulated seconds that draws take together, unless their number is given: a day is not run ten times."""
USED_PERCENT = 50
"""Of the busiest partition's limit: below, other fillings do not matter."""

Rerun = Callable[[Plan], PlanOutcome]


def draws_of(plan: Plan, wanted: int | None) -> int:
    """Returns how often to draw: as often as wanted, or as is affordable."""
    return wanted or max(min(DRAWS, SIMULATED_S_MAX // max(plan.duration_s, 1)), 1)


def of_chance(plan: Plan, outcome: PlanOutcome) -> bool:
    """Returns whether other places of its keys, or another filling, might decide otherwise about a plan."""
    if not outcome.headline.holds and any(key.verdict == "shard" for key in outcome.hot_keys):
        return False  # no place serves such a key
    for resource in outcome.resources:
        table = next(each for each in plan.tables if each.name == resource.table)
        throttled = any("KeyRange" in cause for cause in resource.throttle_summary.events)
        used = resource.busiest.percent if resource.busiest is not None else 0
        filled = table.items * table.item_bytes > table.config.partition_bytes_max
        if filled and (throttled or used >= USED_PERCENT):
            return True
        for writes in (False, True):
            loads = _loads(plan, resource, writes)
            if max(loads.values(), default=1) < 0.999 and (
                throttled or _may_be_short(loads, table, resource, writes)
            ):
                return True
    return False


def _loads(plan: Plan, resource: ResourceOutcome, writes: bool) -> dict[str, float]:
    """Returns what the named keys of a resource are asked for, as parts of its requests."""
    flows = [flow for flow in plan.traffic if flow.table == resource.table and flow.writes == writes]
    pairs = [(flow.most, flow.keys) for flow in flows if flow.index == resource.index]
    if resource.index is not None and writes:
        indexes = next(each.indexes for each in plan.tables if each.name == resource.table)
        keys = next(each.keys for each in indexes if each.name == resource.index)
        pairs = [(flow.most, keys) for flow in flows if keys is not None]
    whole = sum(most for most, _ in pairs) or 1
    loads: dict[str, float] = {}
    for most, model in pairs:
        for key in model.shape(0, 0, 1).keys:
            loads[key.name] = loads.get(key.name, 0) + most / whole * key.weight / ONE
    return loads


def _may_be_short(loads: dict[str, float], table: TablePlan, resource: ResourceOutcome, writes: bool) -> bool:
    """Returns whether some placement brings a partition near its limit in the busiest second."""
    series = resource.write if writes else resource.read
    limit = table.config.partition_write_units if writes else table.config.partition_read_units
    peak, count = max(series.consumed_peak, default=0), int((resource.partition_count or (1,))[0])
    chance, weights = Random(1), list(loads.values())
    tail = (1 - sum(weights)) / count
    for _ in range(PLACEMENTS):
        parts = [tail] * count
        for part, weight in zip(chance.choices(range(count), k=len(weights)), weights, strict=True):
            parts[part] += weight
        if max(parts) * peak * 100 >= NEAR_PERCENT * limit:
            return True
    return False


def judged(
    plan: Plan, rerun: Rerun, draws: int, *, first: PlanOutcome | None = None, patient: bool = True
) -> PlanOutcome:
    """Returns the outcome of a draw that ended as nearly all did, with the range of all. `first`: that of the
    plan itself, where it was run; not `patient`: end as soon as too many draws have failed."""
    first = first or rerun(plan)
    if draws < 2 or not of_chance(plan, first):
        return first
    shown = {first.headline.holds: first}
    lost, held = [float(first.totals.lost_percent)], int(first.headline.holds)
    for draw in range(1, draws):
        found = rerun(plan.drawn(draw))
        shown.setdefault(found.headline.holds, found)
        lost.append(float(found.totals.lost_percent))
        held += found.headline.holds
        if not patient and (len(lost) - held) * 100 > (100 - HOLDS_PERCENT) * draws:
            break
    lost.sort()
    low, high = (number(lost[(len(lost) - 1) * part // 100]) for part in (5, 95))
    holds = held * 100 >= HOLDS_PERCENT * len(lost)
    outcome = shown[holds]
    said = f"It holds in {held} of {len(lost)} draws of the seed and of the places of keys"
    if high:
        said += f", which lose {percent(low)} to {percent(high)} of the requests".replace(SPACE, " ")
    shown_one = "The one shown: " if high else ""
    headline = replace(outcome.headline, holds=holds, words=f"{said}. {shown_one}{outcome.headline.words}")
    return replace(outcome, headline=headline, draws=RunDraws(len(lost), held, low, high))
