"""Judges a run: its budgets, whether it holds, and the findings in sentences.

Source: capacity.md section 3.4, part 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from faradisc.charts.words import SPACE, count, money, percent, plural, units
from faradisc.tools.planner.results.event_rows import clock
from faradisc.tools.planner.results.outcome import (
    BudgetResult,
    Busiest,
    Costs,
    Headline,
    Headroom,
    HotKeyResult,
    ItemCollection,
    ResourceOutcome,
    Totals,
)
from faradisc.tools.planner.results.series import Direction, PartitionSeries, Series, number

LOST_PERCENT_MAX = 0.1
"""What a plan without a budget for throttling may lose and still hold."""
KEYS_SAID = 3
_THROTTLING = ("throttled_percent", "lost_percent", "p99_wait_ms")

DIRECTIONS = {"R": "reads", "W": "writes"}
CAUSE_WORDS = {
    "AccountLimitExceeded": "the account's quota",
    "MaxOnDemandThroughputExceeded": "the configured on-demand maximum",
    "ProvisionedThroughputExceeded": "the capacity of the table or index",
    "KeyRangeThroughputExceeded": "the limit of single partitions",
}
"""What throttles, for each of `CAUSES`."""

_BUDGETS: dict[str, tuple[str, Callable[[float], str]]] = {
    "throttled_percent": ("{} of the attempts were throttled, at most {} allowed", percent),
    "lost_percent": ("{} of the requests were lost, at most {} allowed", percent),
    "p99_wait_ms": (
        "one request in a hundred waited {} or longer, at most {} allowed",
        lambda value: f"{units(value)} ms",
    ),
    "monthly_cost": ("a month costs {}, at most {} allowed", money),
    "keys_to_shard": ("keys that no partition can serve: {}, at most {} allowed", count),
    "partitions": ("partitions of one table or index: {}, at most {} allowed", count),
}
"""What each budget of a plan file limits: the sentence, and how both numbers are written."""


def judge_budgets(
    budgets: Mapping[str, Fraction],
    totals: Totals,
    costs: Costs,
    keys: Sequence[HotKeyResult],
    resources: Sequence[ResourceOutcome],
) -> tuple[BudgetResult, ...]:
    counts = [resource.partition_count[-1] for resource in resources if resource.partition_count]
    values = {
        "throttled_percent": totals.throttled_percent,
        "lost_percent": totals.lost_percent,
        "p99_wait_ms": totals.waits.p99_ms,
        "monthly_cost": costs.planned_usd,
        "keys_to_shard": sum(key.verdict == "shard" for key in keys),
        "partitions": max(counts, default=0),
    }
    results = []
    for name, exact in budgets.items():
        value, limit = values[name], number(float(exact))
        sentence, written = _BUDGETS[name]
        words = sentence.format(written(value), written(limit)).replace(SPACE, " ")
        results.append(BudgetResult(name, limit, value, value <= limit, words))
    return tuple(results)


def allowed_percent(budgets: Mapping[str, Fraction]) -> float:
    """Returns what a plan may throttle, percent of its units, by its budgets."""
    return float(budgets.get("throttled_percent", budgets.get("lost_percent", LOST_PERCENT_MAX)))


def headline(
    totals: Totals,
    budgets: Sequence[BudgetResult],
    keys: Sequence[HotKeyResult],
    resources: Sequence[ResourceOutcome],
    costs: Costs,
) -> Headline:
    """Returns whether the plan holds: every budget does, and without one for throttling nearly all requests
    get through."""
    broken = [budget.words for budget in budgets if not budget.holds]
    if totals.lost_percent > LOST_PERCENT_MAX and not any(each.name in _THROTTLING for each in budgets):
        broken.insert(0, f"{percent(totals.lost_percent)} of the requests were lost".replace(SPACE, " "))
    if broken:
        sentences = [*map(sentence, broken), main_cause(keys, resources)]
        return Headline(False, " ".join(filter(None, sentences)))
    relying = next((said for each in resources if (said := _relying(each))), "")
    cost = f"A month costs {money(costs.planned_usd)}." if costs.modes and costs.of_month else ""
    return Headline(True, " ".join(filter(None, (throttling(totals), relying, cost))))


def _relying(resource: ResourceOutcome) -> str:
    """Returns what a plan that holds rests on beyond the documented limits; "" without."""
    most = resource.busiest
    if most is None or most.documented_percent <= 100 or most.documented_percent <= most.percent:
        return ""
    used = percent(most.documented_percent).replace(SPACE, " ")
    return (
        f"It relies on a partition of {resource.name} that serves {used} of the documented limit: eventually "
        "consistent reads are taken to have 1.5 times as much (profile documented: not)."
    )


def sentence(words: str) -> str:
    """Returns words with a capital and a full stop."""
    text = words.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "\u2026")) or not text else f"{text}."


def main_cause(keys: Sequence[HotKeyResult], resources: Sequence[ResourceOutcome]) -> str:
    """Returns what throttled most: a key that no partition can serve, or a limit; "" without throttling."""
    hot = [key for key in keys if key.verdict == "shard" and key.ways]
    if hot:
        worst = max(hot, key=lambda key: key.throttled)
        needs = plural(-int(-worst.peak_units // worst.limit_units), "partition").replace(SPACE, " ")
        return f"The key {worst.key!r} of {worst.resource} alone needs {needs}."
    causes = [
        (events, resource.title, cause)
        for resource in resources
        for cause, events in resource.throttle_summary.events.items()
    ]
    if not causes:
        return ""
    _, title, cause = max(causes)
    direction, _, name = cause.partition(" ")
    return f"Most was throttled at {title}: {DIRECTIONS[direction]}, by {CAUSE_WORDS[name]}."


def busiest(partitions: Sequence[PartitionSeries], step_s: int, eventual: float) -> Busiest | None:
    """Returns the busiest partition; None where nothing was served. `eventual`: how many times its documented
    limit a partition serves of these reads, of which some are eventually consistent."""
    best, highest = None, 0.0
    for part in partitions:
        reads: tuple[Direction, Series, Series] = ("R", part.read, part.read_limit)
        writes: tuple[Direction, Series, Series] = ("W", part.write, part.write_limit)
        for direction, served, limits in (reads, writes):
            shares = [100 * used / most if most else 0 for used, most in zip(served, limits, strict=True)]
            if max(shares, default=0) > highest:
                highest = max(shares)
                at_s = (part.first + shares.index(highest)) * step_s
                times = eventual if direction == "R" else 1
                best = Busiest(part.id, direction, number(highest), at_s, number(highest * times))
    return best


def findings(
    totals: Totals,
    resources: Sequence[ResourceOutcome],
    keys: Sequence[HotKeyResult],
    costs: Costs,
    *,
    collections: Sequence[ItemCollection],
    rooms: Sequence[Headroom],
) -> tuple[str, ...]:
    """Returns the run in sentences, the most important first."""
    found = [throttling(totals)]
    for resource in resources:
        found += _main_limit(resource)
    for verdict in ("shard", "isolated", "near"):
        for resource in resources:
            mine = [key for key in keys if key.resource == resource.name and key.verdict == verdict]
            found += [f"{key.resource}, key {key.key!r}: {key.words}." for key in mine[:KEYS_SAID]]
            if len(mine) > KEYS_SAID:
                found.append(f"{resource.name}: the same holds for {len(mine) - KEYS_SAID} more of its keys.")
    for resource in resources:
        found += _busiest_partition(resource)
    found += [
        f"{each.resource}, item collection {each.key!r}: {each.words}."
        for each in collections
        if each.verdict != "fits"
    ]
    found += [f"{room.resource}: {room.words}." for room in rooms if room.minutes_over]
    return (*found, *_cheapest(costs))


def throttling(totals: Totals) -> str:
    if not totals.offered:
        return "There were no requests."
    if not totals.throttled:
        return f"Nothing was throttled: all {totals.admitted:,} requests were admitted at the first attempt."
    lost = (
        f"{totals.lost:,} requests ({totals.lost_percent} %) were lost"
        if totals.lost
        else "retries brought all requests through"
    )
    cached = " (with those that the cache answered)" if totals.cached else ""
    return (
        f"{totals.throttled:,} of {totals.attempts + totals.cached:,} attempts{cached} "
        f"({totals.throttled_percent} %) were throttled; {lost}."
    )


def _main_limit(resource: ResourceOutcome) -> Iterator[str]:
    events = resource.throttle_summary.events
    if events:
        name = max(events, key=lambda cause: events[cause])
        direction, _, cause = name.partition(" ")
        share = 100 * events[name] // sum(events.values())
        first = clock(resource.throttle_summary.first_s or 0)
        yield (
            f"{resource.name}: first throttled at {first}; {share} % of its throttled attempts are "
            f"{DIRECTIONS[direction]} stopped by {CAUSE_WORDS[cause]}."
        )


def _busiest_partition(resource: ResourceOutcome) -> Iterator[str]:
    most = resource.busiest
    if most is not None and resource.partition_count and max(resource.partition_count) > 1:
        used = percent(most.percent).replace(SPACE, " ")
        direction = "read" if most.direction == "R" else "write"
        yield (
            f"{resource.name}: its busiest partition, {most.partition}, used {used} of its {direction} limit "
            f"at {clock(most.at_s)}."
        )


def _cheapest(costs: Costs) -> Iterator[str]:
    if not costs.modes:
        return
    planned = f"As planned, a month of this costs ${costs.planned_usd:,.2f}"
    if not costs.of_month:
        planned = f"If every hour were like this run, a month would cost ${costs.planned_usd:,.2f} as planned"
    as_planned = next((mode for mode in costs.modes if mode.mode == "as-planned"), None)
    best = next((mode for mode in costs.modes if mode.cheapest), None)
    if as_planned is not None and as_planned.throttled_percent > 0.1:
        planned += f", without the {as_planned.throttled_percent:g} % of the units that were throttled"
    if best is None:
        yield f"{planned}; every mode throttles more than the budget allows."
    elif best.mode == "as-planned":
        yield f"{planned}."
    else:
        yield f"{planned}; cheapest within the budget: {best.title.lower()}, ${best.total_usd:,.2f}."
    if not costs.of_month:
        yield (
            "No month follows from a run of less than a day whose load changes: say how often its events "
            "happen over the base load (every: month), or let it run for a day."
        )
