"""Looks for the smallest change that makes a failing plan hold: each candidate is a plan that is rerun.

Candidates follow from what throttled most: suffixes for a key that no partition can serve, more capacity for
a table or an index that was out of units, warm throughput or a higher maximum on demand, another mode where
only the cost is too high. Where no single change helps, a second one is added to the best of them. Where
chance decides, a change helps when it does in nearly all draws (chance.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, log10
from typing import Any, cast

from faradisc.charts.words import SPACE, money
from faradisc.limits import TABLE_CAPACITY_UNITS_MAX
from faradisc.records import asdict, dataclass, replace
from faradisc.tools.planner.plan_file.plan import Cache, FlowPlan, Keyed, Plan, Rates, Scaling, TablePlan
from faradisc.tools.planner.results.chance import Rerun, judged
from faradisc.tools.planner.results.demand import MINUTE_S, DirectionDemand
from faradisc.tools.planner.results.headline import DIRECTIONS
from faradisc.tools.planner.results.hot_keys import shards
from faradisc.tools.planner.results.outcome import HotKeyResult, PlanOutcome, ResourceOutcome, WhatIf
from faradisc.tools.planner.results.series import Direction
from faradisc.tools.planner.workload.key_distributions import Fixed, KeyModel, Sequential

SUFFIXES_MAX = 10_000
RERUNS_MAX = 8
SECOND_MAX = 5
"""Second changes that are tried."""
_NAMES = {"R": ("read_units", "read_scaling"), "W": ("write_units", "write_scaling")}


@dataclass(frozen=True, slots=True)
class WhatIfChange:
    words: str
    plan: Plan
    ways: int | None = None
    """Into how many keys it divides the hot one."""


def explored(plan: Plan, outcome: PlanOutcome, rerun: Rerun, draws: int = 1) -> PlanOutcome:
    """Returns the outcome with what was tried, and with the first change that held in its headline."""
    if outcome.headline.holds:
        return outcome
    tried: list[WhatIf] = []
    best: tuple[float, WhatIfChange, PlanOutcome] | None = None
    for second in (False, True):
        base, said, seen = plan, "", outcome
        if second:
            if best is None or outcome.totals.lost_percent <= best[0]:
                break
            base, said, seen = best[1].plan, f"{best[1].words}, and ", best[2]
        for number, change in enumerate(candidates(base, seen)):
            if number == (SECOND_MAX if second else RERUNS_MAX):
                break
            found = judged(change.plan, rerun, draws, patient=False)
            lost = float(found.draws.lost_high if found.draws else found.totals.lost_percent)
            tried.append(_tried(said + change.words, found))
            if found.headline.holds:
                return _advised(outcome, tried, change, found, "two changes" if second else "one change")
            if not second and (best is None or lost < best[0]):
                best = (lost, change, found)
    advice = ""
    if tried:
        changes = "changes that were tried do" if len(tried) > 1 else "change that was tried does"
        advice = f"The {changes} not make it hold."
    return replace(outcome, headline=replace(outcome.headline, change=advice), what_if=tuple(tried))


def _tried(words: str, found: PlanOutcome) -> WhatIf:
    totals = found.totals
    percents = totals.throttled_percent, totals.lost_percent
    return WhatIf(words, found.headline.holds, *percents, found.costs.planned_usd, found.draws)


def _advised(
    outcome: PlanOutcome, tried: list[WhatIf], change: WhatIfChange, found: PlanOutcome, how_many: str
) -> PlanOutcome:
    """Returns the outcome with a change that held, whose number of keys stands in the findings as well."""
    held = tried[-1]
    advice = f"It holds with {how_many}: {held.change}"
    if held.draws is not None:
        advice += f" (in {held.draws.held} of {held.draws.drawn} draws)"
    if found.costs.of_month:
        advice += f"; a month then costs {money(held.monthly_usd).replace(SPACE, ' ')}"
    headline = replace(outcome.headline, change=f"{advice}.")
    outcome = replace(outcome, headline=headline, what_if=tuple(tried))
    if change.ways is None or (hot := _hottest(outcome)) is None or hot.ways is None:
        return outcome
    words = hot.words.replace(f"shard it {hot.ways} ways", f"shard it {change.ways} ways")
    words = words.replace(f"keep {hot.ways} copies", f"keep {change.ways} copies")
    keys = (replace(key, ways=change.ways, words=words) if key is hot else key for key in outcome.hot_keys)
    findings = (each.replace(hot.words, words) for each in outcome.verdict)
    return replace(outcome, hot_keys=tuple(keys), verdict=tuple(findings))


def candidates(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Yields the changes to try. Those against what throttled most come first."""
    events = Counter[str]()
    for resource in outcome.resources:
        for cause, count in resource.throttle_summary.events.items():
            events[cause.partition(" ")[2]] += count
    alone = any(key.verdict == "shard" for key in outcome.hot_keys)
    places = (_warm_throughput, _warmer, _more_partitions)
    by_cause = {
        "KeyRangeThroughputExceeded": (
            *((_suffixes, *places) if alone else (*places, _suffixes)),
            _more_capacity,
        ),
        "ProvisionedThroughputExceeded": (_more_capacity, _warm_throughput),
        "MaxOnDemandThroughputExceeded": (_higher_maximum,),
    }
    for cause, _ in events.most_common():
        for changes in by_cause.get(cause, ()):
            yield from changes(plan, outcome)
    if not events:
        yield from _other_modes(plan, outcome)


# --- Keys ---------------------------------------------------------------------------------------------


def _hottest(outcome: PlanOutcome) -> HotKeyResult | None:
    hot = [key for key in outcome.hot_keys if key.verdict == "shard"]
    hot = hot or [key for key in outcome.hot_keys if key.throttled]
    return max(hot, key=lambda key: key.throttled, default=None)


def _suffixes(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Divides the key that was throttled most, as the keys of its flows or of its index take suffixes."""
    key = _hottest(outcome)
    if key is None:
        return
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
    indexes = [each for of in plan.tables if of.name == table for each in of.indexes if each.name == index]
    divisions = (*(flow.resharded for flow in mine), *(each.resharded for each in indexes))
    present = max((each.suffixes for each in divisions if each is not None), default=1)
    name = key.key.rpartition(".")[0] if present > 1 else key.key
    partitions = next(each.partition_count[0] for each in outcome.resources if each.name == key.resource)
    least = shards(float(key.peak_units * present), float(key.limit_units), int(partitions))
    least = max(least, present + 1)
    for suffixes in (least * 2**power // 2 for power in range(1, 6)):
        if suffixes > SUFFIXES_MAX:
            break
        traffic = [_resharded(suffixes, flow, copies=item) if flow in mine else flow for flow in plan.traffic]
        changed = replace(plan, traffic=tuple(traffic))
        if index:
            changed = _with(changed, table, index, partial(_resharded, suffixes))
        if changed != plan:
            now = f", now {present}" if present > 1 else ""
            words = f"divide the key {name!r} of {key.resource} by {suffixes} suffixes{now}"
            if item:
                words = f"keep {suffixes} copies of the item {name!r} of {key.resource}, and write them all"
            yield WhatIfChange(words, changed, suffixes)
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


def _resharded(suffixes: int, each: Keyed, *, copies: bool = False) -> Keyed:
    """Returns traffic or an index with its keys divided; writes of `copies` are for all of them."""
    if each.resharded is None:
        return each
    division = replace(each.resharded, suffixes=suffixes)
    divided = replace(each, keys=division.model(suffixes), resharded=division)
    if copies and isinstance(divided, FlowPlan) and divided.writes:
        return replace(divided, share=divided.share * suffixes / each.resharded.suffixes)
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
    return max(_first_attempts(outcome, resource, direction))


def _first_attempts(outcome: PlanOutcome, resource: ResourceOutcome, direction: Direction) -> list[float]:
    series = resource.read if direction == "R" else resource.write
    return [each * outcome.totals.offered / max(outcome.totals.attempts, 1) for each in series.offered]


def _needed(outcome: PlanOutcome, resource: ResourceOutcome, direction: Direction) -> int:
    """Returns the units that serve the demand with burst capacity, as `advise` computes them."""
    minutes = [
        round(2 * MINUTE_S * each)
        for each in _first_attempts(outcome, resource, direction)
        for _ in range(outcome.step_s // MINUTE_S)
    ]
    return DirectionDemand(minutes=minutes).needed_units()


def _more_capacity(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Raises the capacity of what was throttled most, then of all. That also adds partitions."""
    causes = ("ProvisionedThroughputExceeded", "KeyRangeThroughputExceeded")
    short = next(filter(None, (_throttled(outcome, cause) for cause in causes)), [])
    short = [each for each in short if not _rates(plan, each[0]).on_demand]
    raises = [(short[:1], 0.0), (short[:1], 1.0)] if len(short) > 1 else []
    tried = set[str]()
    for those, margin in (*raises, (short, 0.0), (short, 1.0), (short, 1.25)):
        changed, words = plan, []
        for resource, direction in those:
            name, scaling_name = _NAMES[direction]
            rates = _rates(changed, resource)
            scaling: Scaling | None = getattr(rates, scaling_name)
            present = getattr(rates, name) if scaling is None else scaling.minimum
            wanted = _round_up(margin * _demand(outcome, resource, direction))
            if not margin:
                wanted = _needed(outcome, resource, direction)
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
        if words and f"raise {_listed(words)}" not in tried:
            tried.add(f"raise {_listed(words)}")
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


def _warmer(plan: Plan, outcome: PlanOutcome) -> Iterator[WhatIfChange]:
    """Warms what single partitions throttled most to 2, 4 or 8 times its partitions, over which keys
    spread."""
    for resource, direction in _throttled(outcome, "KeyRangeThroughputExceeded")[:1]:
        rates = _rates(plan, resource)
        present = rates.warm or (12_000, 4_000)
        if not rates.on_demand:
            return
        for times in (2, 4, 8):
            read, write = present[0] * (times if direction == "R" else 1), present[1]
            write *= times if direction == "W" else 1
            if write > TABLE_CAPACITY_UNITS_MAX or read > TABLE_CAPACITY_UNITS_MAX:
                return
            words = f"warm {resource.title} to {read:,} reads and {write:,} writes a second beforehand"
            yield WhatIfChange(words, _with_rates(plan, resource, warm=(read, write)))


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
    for table in plan.tables:
        if not table.infrequent and outcome.costs.storage_usd(table.name) * 2 > outcome.costs.planned_usd:
            changed = _with(plan, table.name, None, lambda each: replace(each, infrequent=True))
            yield WhatIfChange(f"keep table {table.name} in the class infrequent-access", changed)
    if "on-demand" in affordable:
        yield WhatIfChange("switch to on-demand", on_demand)
    if "provisioned-peak" in affordable:
        yield WhatIfChange("provision what the busiest second takes", fixed)
