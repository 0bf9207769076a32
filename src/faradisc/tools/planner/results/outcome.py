"""What one run of a plan yields: the terminal, the report, CSV and JSON show these. Series are filled
while the run lasts (simulation/recorder.py); all else is frozen.

- Time is seconds since the beginning of the run (`*_s`); `Outcome.start` is that moment in the calendar.
- A *sample* is `Outcome.step_s` seconds (60, more in runs of several days). All series of a run have one
  entry per sample, in order: `Outcome.samples` entries.
- Units are capacity units. Series are averages per second over the sample, unless they say "peak". Numbers
  are rounded to 3 decimals; whole ones are ints, so that equal runs give equal bytes.
- Counts are requests or throttled attempts, unless the name says units.
- Causes of throttling are the ends of the service's reasons: `CAUSES`.
- Partitions are p0, p1, ... in order of birth.

`to_json` gives dicts (series as their mean, least, most and last value, unless all are asked for), lists,
strings, numbers, booleans and None in a stable order. The version of this shape is `FORMAT`.

Source: capacity.md section 3.4 (the outputs of `plan`); each part below names its number there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal

from faradisc.records import dataclass, field
from faradisc.tools.planner.results.series import (
    Direction,
    DirectionSeries,
    Number,
    PartitionSeries,
    Series,
    number,
)

FORMAT = 3


@dataclass(frozen=True, slots=True)
class Busiest:
    """The busiest partition: the one that used the largest share of its limit in any one sample."""

    partition: str
    direction: Direction
    percent: Number
    at_s: int
    documented_percent: Number = 0
    """Of the documented limit, of which a partition serves more where reads are eventually consistent."""


@dataclass(frozen=True, slots=True)
class ThrottleSummary:
    """The throttling of one resource."""

    events: Mapping[str, int]
    """Throttled attempts of the run by direction and cause: "R ProvisionedThroughputExceeded"..."""
    first_s: Number | None
    worst_second_s: Number | None
    worst_second_events: int
    longest_throttled_s: int
    """The longest run of seconds that all throttled something."""


@dataclass(frozen=True, slots=True)
class ResourceOutcome:
    """A table or a global index over the run."""

    name: str
    """"Orders" or "Orders/index/by-status"."""
    table: str
    index: str | None
    mode: Literal["PROVISIONED", "PAY_PER_REQUEST"]
    read: DirectionSeries
    write: DirectionSeries
    partition_count: Series
    partitions: tuple[PartitionSeries, ...]
    """In order of birth, then of keys; the first `PARTITIONS_SHOWN`."""
    partitions_left_out: int
    throttle_summary: ThrottleSummary
    busiest: Busiest | None = None

    @property
    def title(self) -> str:
        return f"table {self.table}" if self.index is None else f"index {self.index} of {self.table}"


PARTITIONS_SHOWN = 400


@dataclass(frozen=True, slots=True)
class EventRow:
    """A split, a rejected split, growth on demand, an adaptive boost, a change of the plan (3.4, part 6)."""

    at_s: Number
    resource: str
    kind: Literal["split-started", "split", "split-rejected", "grown", "boosted", "changed"]
    partition: str | None
    """The partition that splits; None for events of the whole resource."""
    reason: str | None
    """Of a split: size, raise, warm, on-demand, heat. Of growth or boost: the direction."""
    key: str | None
    """The key that is isolated or forbids the split, where its name is known."""
    partitions: int | None
    words: str


@dataclass(frozen=True, slots=True)
class ScalingEvent:
    """A step of auto scaling (3.4, part 7)."""

    at_s: Number
    kind: Literal["alarm", "decision", "update", "skipped", "scheduled"]
    """`alarm`: its state changed; `decision`: the policy decided; `update`: the new rate took effect;
    `skipped`: the change is not allowed now; `scheduled`: a scheduled action set limits or the rate."""
    words: str
    present: int | None = None
    wanted: int | None = None


AlarmState = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]


@dataclass(frozen=True, slots=True)
class ScalingTimeline:
    """One scalable target: reads or writes of a resource with the policy."""

    resource: str
    direction: Direction
    minimum: int
    maximum: int
    target_percent: Number
    desired: Series
    """Units per second of the policy's last decision, sample by sample."""
    provisioned: Series
    high_alarm: tuple[AlarmState, ...]
    low_alarm: tuple[AlarmState, ...]
    decreases_used: int
    """Decreases on the last day of the run."""
    events: tuple[ScalingEvent, ...]


VerdictOfSize = Literal["fits", "near", "full"]


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """One of the largest item collections of a table with local indexes, index entries included: an estimate
    (3.4, part 6)."""

    resource: str
    key: str
    gib_first: Number
    gib_last: Number
    percent: Number
    """At the end, of the limit of 10 GB."""
    full_in_days: Number | None
    """After the end, at the rate of the run; None where it does not grow, or keys change with time."""
    verdict: VerdictOfSize
    """`near`: 80 % of 10 GB or more, or full within a month at this rate; `full`: 10 GB or more."""
    words: str


@dataclass(frozen=True, slots=True)
class Headroom:
    """Reads or writes of a resource on demand: demand, retries included, against the capacity of the doubling
    rule, in units per second, over whole minutes on demand and the last minute of the run (3.4, part 8)."""

    resource: str
    direction: Direction
    capacity_first: int
    """In the first minute: twice the previous peak, or the initial capacity if larger."""
    capacity_last: int
    demand_minute: Number
    """In the busiest minute; below, in the busiest second."""
    demand_second: Number
    least_percent: Number
    """The least capacity left in any minute's busiest second, percent; negative where demand was larger."""
    least_at_s: int
    """Beginning of that minute."""
    minutes_over: int
    """Minutes with more demand than double the previous peak."""
    first_over_s: int | None
    warm_units: int | None
    """Warm throughput that covers every second's demand below a maximum; None where capacity sufficed."""
    words: str


VerdictCode = Literal["fits", "near", "isolated", "shard"]


@dataclass(frozen=True, slots=True)
class HotKeyResult:
    """One of the heaviest partition keys of a resource, and what to do about it (3.4, part 4)."""

    resource: str
    key: str
    direction: Direction
    share_percent: Number
    """Of the resource's requested units in that direction."""
    mean_units: Number
    peak_units: Number
    limit_units: int
    """Units per second that one partition serves in that direction."""
    offered: int
    """Requests, first attempts only."""
    throttled: int
    verdict: VerdictCode
    """`fits`: far from the limit; `near`: 80 % of it or more; `isolated`: fits once splits for heat give it a
    partition of its own, or several by sort key; `shard`: no partition can serve it."""
    ways: int | None
    """Number of keys to divide it into; for `shard` only."""
    words: str
    """The verdict with its arithmetic: "peak 3,600 WCU/s / 1,000 per partition = 3.6: shard 4 ways"."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long requests waited because of throttling: from the first attempt to the admitted one."""

    mean_ms: Number
    p50_ms: Number
    p90_ms: Number
    p99_ms: Number
    max_ms: Number
    attempts: tuple[int, ...]
    """Requests admitted at the first attempt, at the second, ..."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of one stream of traffic, or of all: requests, except for the units."""

    name: str
    offered: int
    """Without those that a cache answered."""
    cached: int
    attempts: int
    admitted: int
    throttled: int
    """Attempts that were throttled."""
    lost: int
    """Requests whose last attempt was throttled, or that still waited at the end of the run."""
    read_units: Number
    write_units: Number
    throttled_percent: Number
    """Of the attempts, those that a cache answered included."""
    lost_percent: Number
    """Of the requests, those that a cache answered included."""
    waits: Waits


@dataclass(frozen=True, slots=True)
class ModeCost:
    """The cost of a month in one mode, if every day is like this run (3.4, part 9)."""

    mode: Literal[
        "on-demand", "provisioned-peak", "provisioned-p99", "auto-scaling", "reserved", "as-planned"
    ]
    title: str
    read_usd: float
    write_usd: float
    storage_usd: float
    other_usd: float
    total_usd: float
    index_usd: float
    """The part of global indexes."""
    throttled_percent: Number
    """Units throttled in this mode, percent of those requested; an estimate, except for `as-planned`."""
    cheapest: bool
    words: str


@dataclass(frozen=True, slots=True)
class ResourceCost:
    resource: str
    modes: tuple[ModeCost, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """Monthly cost in US dollars, to the cent, in every mode."""

    month_hours: int
    prices: Mapping[str, Any]
    """Region, date, source and each price (results/prices.py)."""
    modes: tuple[ModeCost, ...]
    resources: tuple[ResourceCost, ...]
    cheapest: str
    """The cheapest `mode` that throttles no more than the budget allows; "" where all throttle more."""
    of_month: bool = True
    """Whether a month is known: the run is one of steady load, a day or longer, or says how often its events
    happen."""

    def storage_usd(self, resource: str) -> float:
        """Returns the storage of a table or index as planned."""
        modes = next((each.modes for each in self.resources if each.resource == resource), ())
        return next((mode.storage_usd for mode in modes if mode.mode == "as-planned"), 0.0)

    @property
    def planned_usd(self) -> float:
        return next((mode.total_usd for mode in self.modes if mode.mode == "as-planned"), 0.0)


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One budget of the plan, and whether it holds (3.4, part 10)."""

    name: str
    limit: Number
    value: Number
    holds: bool
    words: str


@dataclass(frozen=True, slots=True)
class Headline:
    """Whether the plan holds, why, and of a plan that fails the first change with which a rerun held."""

    holds: bool
    words: str
    change: str = ""

    @property
    def text(self) -> str:
        word = "Holds." if self.holds else "Fails."
        return " ".join(filter(None, (word, self.words, self.change)))


@dataclass(frozen=True, slots=True)
class RunDraws:
    """How a plan that depends on chance ended, over draws of the seed and of the places of its keys."""

    drawn: int
    held: int
    lost_low: Number
    """5th percentile of the requests lost, percent; below, the 95th."""
    lost_high: Number


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A rerun of the plan with one change."""

    change: str
    holds: bool
    throttled_percent: Number
    lost_percent: Number
    monthly_usd: float
    draws: RunDraws | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Lines of a trace that could not be read, how many could, and the first mistakes."""

    lines: int
    read: int
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """Everything one run yields."""

    name: str
    description: str
    file: str
    engine: Literal["events", "fluid"]
    profile: str
    seed: int
    start: str
    """ISO 8601, UTC."""
    duration_s: int
    step_s: int
    samples: int
    assumptions: tuple[str, ...]
    totals: Totals
    flows: tuple[Totals, ...]
    resources: tuple[ResourceOutcome, ...]
    events: tuple[EventRow, ...]
    events_left_out: int
    scaling: tuple[ScalingTimeline, ...]
    hot_keys: tuple[HotKeyResult, ...]
    costs: Costs
    budgets: tuple[BudgetResult, ...]
    headline: Headline
    verdict: tuple[str, ...]
    """The findings, the most important first."""
    what_if: tuple[WhatIf, ...] = ()
    """In the order in which they were tried."""
    variant: str = ""
    skipped: Skipped | None = None
    headroom: tuple[Headroom, ...] = ()
    """Of tables and indexes on demand that had demand, in order, reads first."""
    draws: RunDraws | None = None
    """None where chance does not decide, or one draw was made."""
    collections: tuple[ItemCollection, ...] = ()
    """Of tables with local indexes: the largest ones, largest first."""
    format: int = field(default=FORMAT)

    @property
    def title(self) -> str:
        return f"{self.name}: {self.variant}" if self.variant else self.name

    @property
    def holds(self) -> bool:
        """Returns whether the plan holds, as its headline says."""
        return self.headline.holds

    def to_json(self, *, series: bool = False) -> dict[str, Any]:
        """`series`: all values of all series, which are megabytes; else what a person reads of them."""
        return {**_plain(self, series), "holds": self.holds}


def _plain(value: Any, series: bool, summed: bool = False) -> Any:
    """Returns dataclasses as dicts in the order of their fields, tuples as lists; `summed`: series
    summarised."""
    if is_dataclass(value) and not isinstance(value, type):
        of_series = isinstance(value, DirectionSeries | PartitionSeries | ScalingTimeline) and not series
        return {
            each.name: _plain(
                getattr(value, each.name),
                series,
                of_series or (each.name == "partition_count" and not series),
            )
            for each in fields(value)
        }
    if isinstance(value, tuple | list):
        if summed and not any(map(is_dataclass, value)):
            return _summary(value)
        return [_plain(entry, series) for entry in value]
    if isinstance(value, Mapping):
        return {key: _plain(entry, series, summed) for key, entry in value.items()}
    return value


def _summary(values: Sequence[Any]) -> dict[str, Any] | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if isinstance(known[0], str):
        return {"last": known[-1]}
    mean = number(sum(known) / len(known))
    return {"mean": mean, "least": min(known), "most": max(known), "last": known[-1]}
