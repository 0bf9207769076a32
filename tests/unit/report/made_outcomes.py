"""Outcomes made by hand, as large or as small as a test wants them. No engine has run for them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from faradisc.tools.planner.results.outcome import (
    AlarmState,
    BudgetResult,
    Costs,
    EventRow,
    Headline,
    Headroom,
    HotKeyResult,
    ItemCollection,
    ModeCost,
    PlanOutcome,
    ResourceCost,
    ResourceOutcome,
    ScalingEvent,
    ScalingTimeline,
    ThrottleSummary,
    Totals,
    Waits,
    WhatIf,
)
from faradisc.tools.planner.results.series import CAUSES, DirectionSeries, PartitionSeries, number

PROVISIONED, KEY_RANGE = "ProvisionedThroughputExceeded", "KeyRangeThroughputExceeded"
WAITS = Waits(2, 0, 0, 150, 900, (99_000, 900, 100))


def series(
    samples: int, *, busy: float = 0, throttled: dict[str, tuple[float, ...]] | None = None
) -> DirectionSeries:
    """A day's wave of `busy` units per second on average; `throttled`: attempts by cause."""
    wave = tuple(
        number(busy * (1 - 0.6 * math.cos(i * 2 * math.pi / max(samples, 1)))) for i in range(samples)
    )
    served = tuple(number(min(value, busy * 1.2)) for value in wave)
    zeros = (0,) * samples
    full = number(busy * 1.25 * 300)
    return DirectionSeries(
        offered=wave,
        consumed=served,
        consumed_peak=tuple(number(value * (1.1 + 0.2 * (i % 3))) for i, value in enumerate(served)),
        provisioned=tuple(number(busy * 1.25) for _ in range(samples)),
        throttled={cause: (throttled or {}).get(cause, zeros) for cause in CAUSES},
        burst=tuple(number(max(0, full - busy * 600 * max(0, i - samples / 3))) for i in range(samples)),
        burst_max=(full,) * samples,
    )


def partition(
    identity: str, samples: int, *, first: int = 0, end: int | None = None, **changes: Any
) -> PartitionSeries:
    last = samples if end is None else end
    length = last - first
    heat = changes.pop("heat", 0.4)
    part = PartitionSeries(
        id=identity,
        parent=None,
        low=0,
        high=1,
        born_s=first * 60,
        retired_s=None if end is None else end * 60,
        first=first,
        read=(0,) * length,
        write=tuple(number(1000 * min(1, heat * (0.7 + 0.3 * math.sin(i / 9)))) for i in range(length)),
        read_limit=(3000,) * length,
        write_limit=(1000,) * length,
        throttled=(0,) * length,
        gib=(2,) * length,
    )
    return replace(part, **changes)


def split_map(samples: int) -> tuple[PartitionSeries, ...]:
    """Four partitions; the third is hot, throttles, and is split into three around one key."""
    at = max(samples // 2, 1)
    hot = tuple(40 if i > at // 3 else 0 for i in range(at))
    roots = [
        partition("p0", samples, low=0, high=0.25, heat=0.3),
        partition("p1", samples, low=0.25, high=0.5, heat=0.55),
        partition("p2", samples, low=0.5, high=0.75, heat=1.4, end=at, throttled=hot),
        partition("p3", samples, low=0.75, high=1, heat=0.15),
    ]
    kin = {"parent": "p2", "first": at}
    children = [
        partition("p4", samples, low=0.5, high=0.61, heat=0.2, **kin),
        partition("p5", samples, low=0.61, high=0.61, heat=1.3, **kin),
        partition("p6", samples, low=0.61, high=0.75, heat=0.25, **kin),
    ]
    return (*roots, *(children if samples > at else []))


def resource(name: str = "Orders", samples: int = 240, **changes: Any) -> ResourceOutcome:
    table, _, index = name.partition("/index/")
    hot = tuple(number(40 * 60 if samples / 6 < i < samples / 2 else 0) for i in range(samples))
    short = tuple(number(25 * 60 if samples / 3 < i < samples / 2 else 0) for i in range(samples))
    parts = split_map(samples)
    found = ResourceOutcome(
        name=name,
        table=table,
        index=index or None,
        mode="PROVISIONED",
        read=series(samples, busy=400),
        write=series(samples, busy=1600, throttled={KEY_RANGE: hot, PROVISIONED: short}),
        partition_count=tuple(4 if i < samples // 2 else 6 for i in range(samples)),
        partitions=parts,
        partitions_left_out=0,
        throttle_summary=ThrottleSummary(
            {f"W {KEY_RANGE}": int(sum(hot)), f"W {PROVISIONED}": int(sum(short))}, 2460, 5100, 77, 4800
        ),
    )
    return replace(found, **changes)


def quiet_resource(name: str, samples: int) -> ResourceOutcome:
    return resource(
        name,
        samples,
        read=series(samples),
        write=series(samples, busy=10),
        partitions=(partition("p0", samples, heat=0.01),),
        partition_count=(1,) * samples,
        throttle_summary=ThrottleSummary({}, None, None, 0, 0),
    )


def mode(name: Any, title: str, total: float, *, cheapest: bool = False, throttled: float = 0) -> ModeCost:
    return ModeCost(
        name,
        title,
        round(total * 0.1, 2),
        round(total * 0.7, 2),
        round(total * 0.18, 2),
        round(total * 0.02, 2),
        total,
        round(total * 0.2, 2),
        throttled,
        cheapest,
        "units of every hour at the unit's price",
    )


MODES = (
    mode("on-demand", "On demand", 2611.4),
    mode("provisioned-peak", "Provisioned for the peak", 1904.12),
    mode("provisioned-p99", "Provisioned for the 99th percentile", 1633.9, throttled=0.31),
    mode("auto-scaling", "Auto scaled", 1210.55, throttled=0.05, cheapest=True),
    mode("as-planned", "As planned", 1290, throttled=3.4),
)
PRICES = {
    "region": "us-east-1",
    "date": "2026-08-15",
    "source": "public price list",
    "write_unit": 0.000000625,
}


def totals(name: str = "all", *, cached: int = 0) -> Totals:
    return Totals(
        name,
        1_440_000,
        cached,
        1_489_000,
        1_391_250,
        48_960,
        12_003,
        5_760_000,
        23_040_000,
        3.288,
        0.834,
        WAITS,
    )


ROOMS = (
    Headroom("Orders", "R", 12_000, 12_000, 400, 640.5, 94.663, 720, 0, None, None, "95 % was left"),
    Headroom("Orders", "W", 4000, 8000, 4400, 4800, -20, 5100, 3, 4980, 4800, "3 minutes were over"),
)


COLLECTIONS = (
    ItemCollection("Orders", "2014-07-09", 8, 10.5, 105, None, "full", "10.50 GiB are 105 %: writes fail"),
    ItemCollection("Orders", "2014-07-08", 8, 8.2, 82, 3.5, "near", "8.20 GiB are 82 %; full in 3.5 days"),
)


def scaling(samples: int, name: str = "Orders") -> ScalingTimeline:
    steps = tuple(
        1000 if i < samples // 3 else 2400 if i < samples * 3 // 4 else 1500 for i in range(samples)
    )
    high: tuple[AlarmState, ...] = tuple(
        "ALARM" if samples // 4 < i < samples // 3 + 4 else "OK" for i in range(samples)
    )
    low: tuple[AlarmState, ...] = tuple("ALARM" if i > samples * 2 // 3 else "OK" for i in range(samples))
    up, down = samples // 3 * 60, samples * 3 // 4 * 60
    return ScalingTimeline(
        name,
        "W",
        500,
        3000,
        70,
        tuple(steps[min(i + 2, samples - 1)] for i in range(samples)),
        steps,
        high,
        low,
        1,
        (
            ScalingEvent(up - 150, "alarm", "high alarm: two minutes above 42,000 units"),
            ScalingEvent(up - 60, "decision", "1,680 units/s are 70 % of 2,400", 1000, 2400),
            ScalingEvent(up, "update", "the table now has 2,400", 1000, 2400),
            ScalingEvent(down, "update", "the table now has 1,500", 2400, 1500),
        ),
    )


def hot_key(
    key: str = "2014-07-09", *, verdict: Literal["fits", "near", "isolated", "shard"] = "shard"
) -> HotKeyResult:
    return HotKeyResult(
        "Orders",
        key,
        "W",
        92.5,
        1480,
        3600,
        1000,
        1_332_000,
        48_000,
        verdict,
        4 if verdict == "shard" else None,
        "busiest second 3,600 WCU/s over 1,000 per partition is 3.6: shard 4 ways",
    )


def outcome(name: str = "date-key", samples: int = 240, **changes: Any) -> PlanOutcome:
    middle = samples // 2 * 60
    made = PlanOutcome(
        name=name,
        description="Orders keyed by the day they were placed: every write of a day goes to one key.",
        file="plans/date-key.yaml",
        engine="events",
        profile="aws",
        seed=7,
        start="2026-03-01T00:00:00Z",
        duration_s=samples * 60,
        step_s=60,
        samples=samples,
        assumptions=(
            "partition limits are 3,000 read and 1,000 write units per second",
            "what the service does not publish is taken from the profile aws.",
        ),
        totals=totals(),
        flows=(totals("writes"), totals("reads")),
        resources=(resource(samples=samples), quiet_resource("Orders/index/by-status", samples)),
        events=(
            EventRow(
                middle - 300,
                "Orders",
                "split-started",
                "p2",
                "heat",
                "2014-07-09",
                None,
                "p2 has been at its limit for 5 min; the key 2014-07-09 will be isolated",
            ),
            EventRow(middle, "Orders", "split", "p2", "heat", "2014-07-09", 6, "p2 became p4, p5, p6"),
            EventRow(
                middle + 900,
                "Orders",
                "split-rejected",
                "p5",
                "heat",
                "2014-07-09",
                None,
                "one key alone is the heat of p5: a single key cannot be divided",
            ),
        ),
        events_left_out=0,
        scaling=(scaling(samples),),
        hot_keys=(hot_key(), hot_key("2014-07-08", verdict="near"), hot_key("2014-07-07", verdict="fits")),
        costs=Costs(
            730,
            PRICES,
            MODES,
            (ResourceCost("Orders", MODES), ResourceCost("Orders/index/by-status", MODES)),
            "auto-scaling",
        ),
        budgets=(
            BudgetResult(
                "throttled_percent",
                1,
                3.288,
                False,
                "3.29 % of the attempts were throttled, at most 1 % allowed",
            ),
            BudgetResult("monthly_cost", 2000, 1290, True, "$1,290 a month, at most $2,000"),
        ),
        headline=Headline(
            False,
            "3.29 % of the attempts were throttled, at most 1 % allowed. "
            "The key '2014-07-09' of Orders alone needs 4 partitions.",
            "It holds with one change: divide the key '2014-07-09' of Orders by 4 suffixes.",
        ),
        what_if=(
            WhatIf("divide the key '2014-07-09' of Orders by 2 suffixes", False, 1.5, 0.4, 1300),
            WhatIf("divide the key '2014-07-09' of Orders by 4 suffixes", True, 0, 0, 1300),
        ),
        verdict=(
            "3.29 % of the attempts were throttled, most of them because one key needs four partitions.",
            "The key 2014-07-09 takes 92 % of the writes; shard it 4 ways.",
        ),
    )
    return replace(made, headroom=ROOMS, collections=COLLECTIONS, **changes)


def empty() -> PlanOutcome:
    """A run without requests and tables."""
    nothing = Totals("all", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Waits(0, 0, 0, 0, 0, ()))
    return outcome(
        samples=0,
        totals=nothing,
        flows=(),
        resources=(),
        events=(),
        scaling=(),
        hot_keys=(),
        costs=Costs(730, {}, (), (), ""),
        budgets=(),
        headline=Headline(True, "There were no requests."),
        what_if=(),
        verdict=(),
        assumptions=(),
    )
