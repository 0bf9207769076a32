"""Finds the heaviest partition keys and judges each: a verdict with its arithmetic.

Source: capacity.md section 3.4, part 4; vector V137.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random

from faradisc.tools.planner.results.outcome import HotKeyResult, VerdictCode
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.simulation.key_totals import KeyTotals
from faradisc.tools.planner.simulation.recorder import DirectionRecord, RunRecorder
from faradisc.tools.planner.workload.key_distributions import ONE
from faradisc.tools.planner.workload.streams import Flow

PLACEMENTS = 100
SHARDS_MAX = 200
NEAR_PERCENT = 80
"""From here on a key is near a partition's limit."""
KEYS_SHOWN = 12
KEYS_SHOWN_PERCENT = 1
"""Lighter keys are not hot, unless they were throttled."""


def hot_keys(recorder: RunRecorder, flows: Sequence[Flow], duration_s: int) -> tuple[HotKeyResult, ...]:
    """Returns the verdicts on the heaviest keys, resources in order, reads before writes."""
    examples = list(_examples(flows))
    ordered = {
        id(stream.record) for flow in flows if flow.keys.shape(0, 0, 1).ordered for stream in flow.streams
    }
    divisible = _divisible(flows)
    # Directions whose requests all read one item by its key.
    read = {True: set[int](), False: set[int]()}
    for flow in flows:
        read[flow.plan.reads_item].update(id(stream.record) for stream in flow.streams)
    of_items = read[True] - read[False]
    started = {id(each): (of.counts or [1])[0] for of in recorder.resources for each in of.directions}
    found: list[HotKeyResult] = []
    for record in recorder.directions:
        total = record.keys.half_units or 1
        heavy = [
            key
            for key in record.keys.top(KEYS_SHOWN)
            if key.half_units * 100 >= total * KEYS_SHOWN_PERCENT or key.throttled
        ]
        for key in (*heavy, *(key for each, key in examples if each is record)):
            judged = _judged(record, key, total, duration_s, started[id(record)])
            if judged.verdict == "shard" and id(record) in ordered:
                judged = replace(judged, words=f"{judged.words}, or take one item of every key in turn")
            elif judged.verdict == "shard" and id(record) in of_items:
                remedy = f"this item; keep {judged.ways} copies of it, or a cache in front"
                judged = replace(judged, words=judged.words.partition("this key")[0] + remedy)
            elif judged.verdict == "shard" and id(record) in divisible:
                judged = replace(judged, verdict="isolated", ways=None, words=_divided(judged))
            found.append(judged)
    return tuple(found)


def _examples(flows: Sequence[Flow]) -> Iterator[tuple[DirectionRecord, KeyTotals]]:
    """Yields one key in place of each set of keys that are too many and too light to be named."""
    for flow in flows:
        shape = flow.keys.shape(0, 0, 1)
        if shape.example is None:
            continue
        name, weight = shape.example
        for stream in flow.streams:
            part = weight * stream.share / ONE
            # A key's part of a second is less than a request: rounded up, it is one.
            peak = max(round(flow.record.peak * stream.half_units * part), min(stream.half_units, 2))
            half_units = round(flow.record.offered * stream.half_units * part)
            yield stream.record, KeyTotals(name, half_units, peak, round(flow.record.offered * part), 0)


def _divisible(flows: Sequence[Flow]) -> set[int]:
    """Returns the records of directions whose item collections can be split by sort key: all of their traffic
    is spread over its collections, and nothing forbids the split."""
    spread: dict[int, bool] = {}
    for flow in flows:
        for stream in flow.streams:
            touched = [(stream.record, flow.keys), *((index.record, index.keys) for index in stream.indexes)]
            for record, model in touched:
                resource = record.virtual.resource
                divisible = (
                    model.shape(0, 0, 1).sort == "spread"
                    and resource.composite
                    and not resource.local_indexes
                    and resource.config.heat_split
                )
                spread[id(record)] = spread.get(id(record), True) and divisible
    return {identity for identity, divisible in spread.items() if divisible}


@lru_cache(maxsize=1024)
def shards(peak: float, limit: float, partitions: int) -> int:
    """Returns over how many keys a load is to be divided. Keys fall on partitions by chance: the least number
    of which no partition gets more than it serves in 95 of 100 placements; where more partitions are needed
    first, the quotient."""
    least = -int(-peak // limit)
    ways = least if peak < limit * partitions else SHARDS_MAX + 1
    while ways <= SHARDS_MAX:
        most, chance = int(limit * ways / peak), Random(ways)
        drawn = (Counter(chance.choices(range(partitions), k=ways)) for _ in range(PLACEMENTS))
        if sum(max(each.values()) <= most for each in drawn) >= PLACEMENTS * 95 // 100:
            return ways
        ways += max(ways // 12, 1)
    return least


def arithmetic(peak: float, limit: float, unit: str) -> str:
    """Returns the division of a peak, in units of one second, by what a partition serves."""
    return f"{peak:,.0f} {unit}/s / {limit:,} per partition = {peak / limit:.2f}"


def _divided(key: HotKeyResult) -> str:
    exact = arithmetic(key.peak_units, key.limit_units, "WCU" if key.direction == "W" else "RCU")
    return (
        f"{exact}: more than one partition; splits for heat divide its items by sort key, after some ten "
        "minutes of throttling"
    )


def _judged(
    record: DirectionRecord, key: KeyTotals, total: int, duration_s: int, partitions: int
) -> HotKeyResult:
    limit = record.keys.limit_units(record.virtual.resource.config, writes=record.writes)
    peak = key.peak_half / 2
    code, words = _verdict(record, key, peak, limit, partitions)
    return HotKeyResult(
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
        ways=shards(peak, limit, partitions) if code == "shard" else None,
        words=words,
    )


def _verdict(
    record: DirectionRecord, key: KeyTotals, peak: float, limit: int, partitions: int
) -> tuple[VerdictCode, str]:
    unit = "WCU" if record.writes else "RCU"
    percent = round(100 * peak / limit) if limit else 0
    summary = f"peak {peak:,.0f} {unit}/s of the {limit:,} that one partition serves"
    if peak > limit:
        ways = shards(peak, limit, partitions)
        exact = arithmetic(peak, limit, unit)
        return "shard", f"{exact}: no partition can serve this key; shard it {ways} ways"
    if key.throttled and record.virtual.resource.config.heat_split and percent >= NEAR_PERCENT // 2:
        return "isolated", f"{summary} ({percent} %): throttled beside others; alone in a partition it fits"
    if percent >= NEAR_PERCENT:
        return "near", f"{summary}: {percent} %; it fits, and growth needs sharding"
    return "fits", f"{summary}: {percent} %; it fits"
