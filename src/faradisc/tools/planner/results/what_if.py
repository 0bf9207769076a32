"""Looks for the one change that makes a failing plan hold: each candidate is a plan that is rerun.

Candidates follow from what throttled most: suffixes for a key that no partition can serve, more capacity for
a table or an index that was out of units, warm throughput or a higher maximum on demand, another mode where
only the cost is too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, log10
from typing import Any, TypeVar, cast

from faradisc.charts.words import SPACE, money
from faradisc.tools.planner.plan_file.plan import Cache, FlowPlan, IndexPlan, Plan, Rates, Scaling, TablePlan
from faradisc.tools.planner.results.headline import DIRECTIONS
from faradisc.tools.planner.results.outcome import PlanOutcome, ResourceOutcome, WhatIf
from faradisc.tools.planner.results.series import Direction
from faradisc.tools.planner.workload.key_distributions import Fixed, KeyModel, Sequential

SUFFIXES = (2, 4, 10, 50, 200)
RERUNS_MAX = 6
_NAMES = {"R": ("read_units", "read_scaling"), "W": ("write_units", "write_scaling")}


@dataclass(frozen=True, slots=True)
class WhatIfChange:
    words: str
    plan: Plan


def explored(plan: Plan, outcome: PlanOutcome, rerun: Callable[[Plan], PlanOutcome]) -> PlanOutcome:
    """Returns the outcome with what was tried, and with the first change that held in its headline."""
    if outcome.headline.holds:
        return outcome
    tried: list[WhatIf] = []
    advice = ""
    for change in candidates(plan, outcome):
        if len(tried) == RERUNS_MAX:
            break
        found = rerun(change.plan)
        holds, cost_usd, totals = found.headline.holds, found.costs.planned_usd, found.totals
        tried.append(WhatIf(change.words, holds, totals.throttled_percent, totals.lost_percent, cost_usd))
        if holds:
            cost = money(cost_usd).replace(SPACE, " ")
            advice = f"It holds with one change: {change.words}"
            advice += f"; a month then costs {cost}." if found.costs.of_month else "."
            break
    if tried and not advice:
        changes = "changes that were tried do" if len(tried) > 1 else "change that was tried does"
        advice = f"The {changes} not make it hold."
    return replace(outcome, headline=replace(outcome.headline, change=advice), what_if=tuple(tried))


def candidates(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Yields the changes to try. Those against what throttled most come first."""
    events = Counter[str]()
    for resource in outcome.resources:
        for cause, count in resource.throttle_summary.events.items():
            events[cause.partition(" ")[2]] += count
    by_cause = {
        "KeyRangeThroughputExceeded": (_suffixes, _warm_throughput, _more_partitions, _more_capacity),
        "ProvisionedThroughputExceeded": (_more_capacity, _warm_throughput),
        "MaxOnDemandThroughputExceeded": (_higher_maximum,),
    }
    for cause, _ in events.most_common():
        for changes in by_cause.get(cause, ()):
            yield from changes(plan, outcome)
    if not events:
        yield from _other_modes(plan, outcome)


# --- Keys ---------------------------------------------------------------------------------------------


def _suffixes(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Divides the key that was throttled most, as the keys of its flows or of its index take suffixes."""
    hot = [key for key in outcome.hot_keys if key.verdict == "shard"]
    hot = hot or [key for key in outcome.hot_keys if key.throttled]
    if not hot:
        return
    key = max(hot, key=lambda key: key.throttled)
    table, _, index = key.resource.partition("/index/")
    flows = [flow for flow in plan.traffic if flow.table == table and (flow.index or "") == index]
    # Models whose keys change with time may have had the key.
    mine = [flow for flow in flows if _has_key(flow.keys, key.key)] or [
        flow for flow in flows if not isinstance(flow.keys, Fixed)
    ]
    if not index and any(isinstance(flow.keys, Sequential) for flow in mine):
        taken = [
            replace(flow, keys=Sequential(1, flow.keys.sort)) if isinstance(flow.keys, Sequential) else flow
            for flow in plan.traffic
        ]
        words = f"take one item of every key of {table} in turn"
        yield WhatIfChange(words, replace(plan, traffic=tuple(taken)))
        return
    item = key.direction == "R" and bool(mine) and all(flow.reads_item for flow in mine if not flow.writes)
    for suffixes in (each for each in SUFFIXES if each >= (key.ways or 1)):
        traffic = [_resharded(suffixes, flow, copies=item) if flow in mine else flow for flow in plan.traffic]
        changed = replace(plan, traffic=tuple(traffic))
        if index:
            changed = _with(changed, table, index, partial(_resharded, suffixes))
        if changed != plan:
            words = f"divide the key {key.key!r} of {key.resource} by {suffixes} suffixes"
            if item:
                words = (
                    f"keep {suffixes} copies of the item {key.key!r} of {key.resource}, and write them all"
                )
            yield WhatIfChange(words, changed)
    if item and key.peak_units > key.limit_units and not any(flow.cache for flow in mine):
        hits = min(5 * ceil(20 * (1 - key.limit_units / key.peak_units)) + 5, 95)
        cache = Cache.model_validate({"hits": f"{hits}%"})
        traffic = [
            replace(flow, cache=cache) if flow.reads_item and flow in mine else flow for flow in plan.traffic
        ]
        words = f"answer {hits} % of the reads of {key.resource} from a cache, which has a cost of its own"
        yield WhatIfChange(words, replace(plan, traffic=tuple(traffic)))


def _has_key(model: KeyModel, name: str) -> bool:
    return isinstance(model, Fixed) and any(key.name == name for key in model.fixed.keys)


Keyed = TypeVar("Keyed", FlowPlan, IndexPlan)


def _resharded(suffixes: int, each: Keyed, *, copies: bool = False) -> Keyed:
    """Returns traffic or an index with its keys divided; writes of `copies` are for all of them."""
    if each.resharded is None:
        return each
    divided = replace(each, keys=each.resharded(suffixes))
    if copies and isinstance(divided, FlowPlan) and divided.writes:
        return replace(divided, share=divided.share * suffixes)
    return divided


# --- Capacity -----------------------------------------------------------------------------------------


def _with(plan: Plan, table: str, index: str | None, change: Callable[[Any], Any]) -> Plan:
    """Returns the plan with a change of one table, or of one of its indexes."""

    def changed(each: TablePlan) -> TablePlan:
        if each.name != table:
            return each
        if index is None:
            return cast(TablePlan, change(each))
        return replace(each, indexes=tuple(change(i) if i.name == index else i for i in each.indexes))

    return replace(plan, tables=tuple(map(changed, plan.tables)))


def _with_rates(plan: Plan, resource: ResourceOutcome, **changes: Any) -> Plan:
    return _with(
        plan, resource.table, resource.index, lambda each: replace(each, rates=replace(each.rates, **changes))
    )


def _rates(plan: Plan, resource: ResourceOutcome) -> Rates:
    table = next(table for table in plan.tables if table.name == resource.table)
    return next((each.rates for each in table.indexes if each.name == resource.index), table.rates)


def _throttled(outcome: PlanOutcome, cause: str) -> list[tuple[ResourceOutcome, Direction]]:
    """Returns what was throttled for one cause, the most throttled first."""
    directions: tuple[Direction, ...] = ("R", "W")
    found = [
        (resource.throttle_summary.events.get(f"{direction} {cause}", 0), resource, direction)
        for resource in outcome.resources
        for direction in directions
    ]
    found.sort(key=lambda each: -each[0])
    return [(resource, direction) for events, resource, direction in found if events]


def _round_up(value: float) -> int:
    """Returns a value with two significant digits that is not lower."""
    step = 10 ** max(int(log10(max(value, 1))) - 1, 0)
    return int(ceil(value / step) * step)


def _demand(outcome: PlanOutcome, resource: ResourceOutcome, direction: Direction) -> float:
    """Returns units per second of the busiest sample, retries taken out evenly."""
    series = resource.read if direction == "R" else resource.write
    return max(series.offered) * outcome.totals.offered / max(outcome.totals.attempts, 1)


def _more_capacity(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Raises the capacity of what was throttled most, then of all. That also adds partitions."""
    causes = ("ProvisionedThroughputExceeded", "KeyRangeThroughputExceeded")
    short = next(filter(None, (_throttled(outcome, cause) for cause in causes)), [])
    short = [each for each in short if not _rates(plan, each[0]).on_demand]
    raises = [(short[:1], 1.0)] if len(short) > 1 else []
    for those, margin in (*raises, (short, 1.0), (short, 1.25)):
        changed, words = plan, []
        for resource, direction in those:
            name, scaling_name = _NAMES[direction]
            rates = _rates(changed, resource)
            scaling: Scaling | None = getattr(rates, scaling_name)
            present = getattr(rates, name) if scaling is None else scaling.minimum
            wanted = _round_up(margin * _demand(outcome, resource, direction))
            if wanted <= present:
                continue
            what = "the minimum of auto scaling" if scaling is not None else "the capacity"
            words.append(
                f"{what} for {DIRECTIONS[direction]} of {resource.title} from {present:,} to {wanted:,}"
            )
            changes: dict[str, Any] = {name: max(wanted, getattr(rates, name))}
            if scaling is not None:
                limits = {"minimum": wanted, "maximum": max(wanted, scaling.maximum)}
                changes[scaling_name] = scaling.model_copy(update=limits)
            changed = _with_rates(changed, resource, **changes)
        if words:
            yield WhatIfChange(f"raise {_listed(words)}", changed)


def _more_partitions(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Raises the capacity of what single partitions throttled most, just so far that it takes one more."""
    for resource, direction in _throttled(outcome, "KeyRangeThroughputExceeded")[:1]:
        rates, (name, scaling_name) = _rates(plan, resource), _NAMES[direction]
        if rates.on_demand or getattr(rates, scaling_name) is not None:
            return
        config = next(table.config for table in plan.tables if table.name == resource.table)
        read, write = config.partition_read_units, config.partition_write_units
        used = Fraction(rates.write_units, write) if direction == "R" else Fraction(rates.read_units, read)
        wanted = int((resource.partition_count[-1] - used) * (read if direction == "R" else write)) + 1
        if wanted > (present := getattr(rates, name)):
            what = f"the capacity for {DIRECTIONS[direction]} of {resource.title}"
            words = f"raise {what} from {present:,} to {wanted:,}, which takes another partition"
            yield WhatIfChange(words, _with_rates(plan, resource, **{name: wanted}))


def _listed(words: Sequence[str]) -> str:
    """Returns "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _higher_maximum(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    changed, words = plan, []
    for resource, direction in _throttled(outcome, "MaxOnDemandThroughputExceeded"):
        name = "max_read" if direction == "R" else "max_write"
        present = getattr(_rates(plan, resource), name)
        wanted = _round_up(_demand(outcome, resource, direction))
        if present is not None and wanted > present:
            what = f"the maximum for {DIRECTIONS[direction]} of {resource.title}"
            words.append(f"{what} from {present:,} to {wanted:,}")
            changed = _with_rates(changed, resource, **{name: wanted})
    if words:
        yield WhatIfChange(f"raise {_listed(words)}", changed)


def _warm_throughput(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    changed, words = plan, []
    for resource in outcome.resources:
        needed = {
            room.direction: room.warm_units for room in outcome.headroom if room.resource == resource.name
        }
        if not any(needed.values()) or not _rates(plan, resource).on_demand:
            continue
        read, write = (_round_up(needed.get(direction) or 0) for direction in ("R", "W"))
        read, write = max(read, 12_000), max(write, 4_000)
        words.append(f"{resource.title} to {read:,} reads and {write:,} writes a second")
        changed = _with_rates(changed, resource, warm=(read, write))
    if words:
        yield WhatIfChange(f"warm {_listed(words)} beforehand", changed)


def _other_modes(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Where only the cost is too high: a mode whose estimate is within the budget."""
    limit = next((each.limit for each in outcome.budgets if each.name == "monthly_cost"), 0)
    affordable = {mode.mode for mode in outcome.costs.modes if mode.total_usd <= limit}
    on_demand, fixed = plan, plan
    for resource in outcome.resources:
        peaks = [max(series.consumed_peak, default=0) for series in (resource.read, resource.write)]
        read, write = (max(ceil(peak), 1) for peak in peaks)
        on_demand = _with_rates(on_demand, resource, **asdict(Rates(True)))
        fixed = _with_rates(fixed, resource, **asdict(Rates(False, read_units=read, write_units=write)))
    if "on-demand" in affordable:
        yield WhatIfChange("switch to on-demand", on_demand)
    if "provisioned-peak" in affordable:
        yield WhatIfChange("provision what the busiest second takes", fixed)
