"""What one run of a plan yields, as plain frozen values: the report, the CSV tables and the tests read this.

Conventions, so that nobody has to guess:

- Time is seconds since the beginning of the run (`*_s`); `Outcome.start` says when that was on the calendar.
- A *sample* is a stretch of `Outcome.step_s` seconds (60 unless the run is longer than a few days). All
  series of one run have one entry per sample, in order, and are therefore equally long: `Outcome.samples`.
- Units are capacity units; series of rates are *averages per second over the sample*, unless they say "peak".
  Numbers are rounded to 3 decimals; whole ones are ints, so that equal runs give equal bytes.
- Counts are requests (or throttle events), not units, wherever the name does not say units.
- Throttle causes are keyed by the ends of the service's reasons: see `CAUSES`.

`to_json` gives dicts, lists, strings, numbers, booleans and None, in a stable order, and nothing that depends
on the machine. The version of this shape is `FORMAT`.

Source: capacity.md section 3.4 (the outputs of `plan`), each part named below by its number there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

FORMAT = 1

CAUSES = (
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
    "ProvisionedThroughputExceeded",
    "KeyRangeThroughputExceeded",
)
"""Every cause of a throttle, in the order in which the service checks them (capacity/throttle.py)."""

Number = int | float
Series = tuple[Number, ...]
Direction = Literal["R", "W"]


def number(value: float) -> Number:
    """A number as it is shown: at most 3 decimals, whole ones without any."""
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded


# --- Resources over time (3.4, parts 1, 2 and 5) ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneSeries:
    """One direction of one resource, sample by sample."""

    offered: Series
    """Units per second that were asked for, retries included."""
    consumed: Series
    """Units per second that were served."""
    consumed_peak: Series
    """Units served in the busiest second of the sample."""
    provisioned: Series
    """Units per second provisioned at the end of the sample; on demand: what the doubling rule serves."""
    throttled: Mapping[str, Series]
    """Throttle events in the sample by cause. All of `CAUSES` are there, zeros included."""
    bank: tuple[Number | None, ...]
    """Banked units at the end of the sample (negative is debt); None where there is no bank (on demand)."""
    bank_max: tuple[Number | None, ...]
    """What the bank holds when it is full: 300 seconds of the rate in most profiles."""
    maximum: Number | None = None
    """Configured on-demand maximum, units per second."""


@dataclass(frozen=True, slots=True)
class PartitionSeries:
    """One partition from its birth to its split (3.4, part 3): one row of the heat map.

    Its series begin at sample `first` and end with the sample in which it was retired, so they are shorter
    than the run for partitions that were born or retired in it.
    """

    id: str
    parent: str | None
    low: float
    """Where it begins in the hash space, 0..1."""
    high: float
    """Where it ends, 0..1; equal to `low` for a partition inside one item collection."""
    born_s: Number
    retired_s: Number | None
    first: int
    """Index of its first sample."""
    read: Series
    """Units per second that were served."""
    write: Series
    read_limit: Series
    """Units per second it may serve: its physical limit, or its share of the table's rate where that is
    smaller (profile classic-2017)."""
    write_limit: Series
    throttled: Series
    """Throttle events for this key range, both directions."""
    gib: Series
    """Size of its items at the end of the sample, GiB."""


@dataclass(frozen=True, slots=True)
class ResourceOutcome:
    """A table or a global index over the run."""

    name: str
    """"Orders" or "Orders/index/by-status"."""
    table: str
    index: str | None
    mode: Literal["PROVISIONED", "PAY_PER_REQUEST"]
    read: LaneSeries
    write: LaneSeries
    partition_count: Series
    partitions: tuple[PartitionSeries, ...]
    """In order of birth, then of place. At most `PARTITIONS_SHOWN`; see `partitions_left_out`."""
    partitions_left_out: int
    throttle_summary: ThrottleSummary


PARTITIONS_SHOWN = 400


@dataclass(frozen=True, slots=True)
class ThrottleSummary:
    """The throttling of one resource in five numbers (3.4, part 2)."""

    events: Mapping[str, int]
    """Throttle events of the whole run by cause and direction: "R ProvisionedThroughputExceeded"..."""
    first_s: Number | None
    """When the first request was refused."""
    worst_second_s: Number | None
    worst_second_events: int
    longest_stretch_s: int
    """The longest run of seconds in each of which something was refused."""


# --- Things that happened (3.4, parts 6 and 7) --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventRow:
    """A split, a refusal to split, growth on demand, an adaptive boost, a change the plan made."""

    at_s: Number
    resource: str
    kind: Literal["split-started", "split", "split-refused", "grown", "boosted", "changed"]
    partition: str | None
    """The parent of a split; None where the whole resource is meant."""
    reason: str | None
    """What a split is for: size, raise, warm, on-demand, heat; or the direction of growth or boost."""
    key: str | None
    """The key that is isolated or stands in the way, where it is known by name."""
    partitions: int | None
    """How many there are after a split."""
    words: str
    """The whole story in one sentence."""


@dataclass(frozen=True, slots=True)
class ScalingEvent:
    at_s: Number
    kind: Literal["alarm", "decision", "update", "skipped", "scheduled"]
    """`alarm`: a state changed; `decision`: the policy wants a change; `update`: the new rate took effect;
    `skipped`: the change is not allowed now; `scheduled`: the limits, or the rate itself, were set."""
    words: str
    present: int | None = None
    wanted: int | None = None


AlarmState = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]


@dataclass(frozen=True, slots=True)
class ScalingTimeline:
    """One scalable target: a direction of a resource with its policy."""

    resource: str
    direction: Direction
    minimum: int
    maximum: int
    target_percent: Number
    desired: Series
    """Units per second the policy last wanted, sample by sample."""
    provisioned: Series
    high_alarm: tuple[AlarmState, ...]
    low_alarm: tuple[AlarmState, ...]
    decreases_used: int
    """Of the decreases of the last day of the run."""
    events: tuple[ScalingEvent, ...]


# --- Item collections (3.4, part 6) -------------------------------------------------------------------

VerdictOfSize = Literal["fits", "near", "full"]


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """One of the largest item collections of a table with local indexes, with its entries there: an estimate
    (tools/planner/results/item_collections.py)."""

    resource: str
    key: str
    gib_first: Number
    """GiB in the beginning."""
    gib_last: Number
    percent: Number
    """At the end, of the 10 GB that such a collection may have."""
    full_in_days: Number | None
    """After the end, at the run's pace; None where it does not grow, or keys change with time."""
    verdict: VerdictOfSize
    """`near`: 80 % of 10 GB or more, or full within a month at this pace; `full`: 10 GB or more."""
    words: str


# --- On-demand headroom (3.4, part 8) -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Headroom:
    """One direction of a resource while it was on demand: demand, retries included, against what the doubling
    rule serves. Whole minutes on demand are looked at, and the last one of the run."""

    resource: str
    direction: Direction
    capacity_first: int
    """Units per second that it served in the first of these minutes: twice its previous peak, or what it
    begins with if that is more."""
    capacity_last: int
    """... and in the last."""
    demand_minute: Number
    """Units per second asked for in the busiest minute."""
    demand_second: Number
    """Units asked for in the busiest second."""
    least_percent: Number
    """What was left of a minute's capacity in its busiest second, percent, where that was least; negative
    where more was asked for."""
    least_at_s: int
    """When that minute began."""
    minutes_over: int
    """Minutes that asked for more than the capacity: for more than double the previous peak."""
    first_over_s: int | None
    warm_units: int | None
    """Warm throughput, units per second, with which no second would have asked for more than the capacity, a
    configured maximum aside; None where none did."""
    words: str


# --- Hot keys (3.4, part 4) ---------------------------------------------------------------------------

VerdictCode = Literal["fits", "near", "isolated", "shard"]


@dataclass(frozen=True, slots=True)
class HotKey:
    """One of the heaviest partition keys of a resource, and what is to be done about it."""

    resource: str
    key: str
    direction: Direction
    """In which it is nearer to a partition's limit."""
    share_percent: Number
    """Of the resource's offered units in that direction."""
    mean_units: Number
    """Offered units per second, mean over the run."""
    peak_units: Number
    """Offered units per second in its busiest second."""
    limit_units: int
    """What one partition serves in that direction."""
    offered: int
    """Requests, first attempts only."""
    throttled: int
    """Refused attempts at this key."""
    verdict: VerdictCode
    """`fits`: far from the limit; `near`: at 80 % of it or more; `isolated`: it will get, or has, a
    partition to itself, or to several by sort key, and then fits; `shard`: no partition can carry it."""
    ways: int | None
    """Into how many keys to divide it; for `shard` only."""
    words: str
    """The verdict with its arithmetic: "peak 3,600 WCU/s / 1,000 per partition = 3.6: shard 4 ways"."""


# --- Totals -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waits:
    """How long requests waited because of throttling: virtual time between the first attempt and the
    admitted one. What the service itself takes is not in it."""

    mean_ms: Number
    p50_ms: Number
    p90_ms: Number
    p99_ms: Number
    max_ms: Number
    attempts: tuple[int, ...]
    """Requests that were admitted at the first attempt, at the second, ..."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Of one stream of traffic, or of all. Requests, but for the units."""

    name: str
    """"all", or the stream's name in the plan."""
    offered: int
    """Requests that wanted to be made, those a cache answered left out."""
    cached: int
    """Requests that a cache in front answered."""
    attempts: int
    """Requests sent, retries included."""
    admitted: int
    throttled: int
    """Attempts that were refused."""
    lost: int
    """Requests that were refused until the client gave up, or still waited at the end of the run."""
    read_units: Number
    write_units: Number
    """Consumed, of tables and indexes."""
    throttled_percent: Number
    """Of the attempts."""
    lost_percent: Number
    """Of the offered."""
    waits: Waits


# --- Money (3.4, part 9) ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModeCost:
    """What a month would cost in one mode, if every day were like this run."""

    mode: Literal[
        "on-demand", "provisioned-peak", "provisioned-p99", "auto-scaling", "reserved", "as-planned"
    ]
    title: str
    """For people: "Provisioned for the peak"."""
    read_usd: float
    write_usd: float
    storage_usd: float
    other_usd: float
    """Streams, point-in-time recovery."""
    total_usd: float
    index_usd: float
    """How much of the total is due to global indexes."""
    throttled_percent: Number
    """Units one would see refused in this mode, percent of those offered; an estimate for all modes but
    `as-planned`, which was run."""
    cheapest: bool
    words: str
    """How it was worked out."""


@dataclass(frozen=True, slots=True)
class ResourceCost:
    resource: str
    modes: tuple[ModeCost, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """Monthly cost in US dollars, to the cent, every mode side by side."""

    month_hours: int
    prices: Mapping[str, Any]
    """The table used: region, date, source and each price (tools/planner/results/prices.py)."""
    modes: tuple[ModeCost, ...]
    """Of the whole plan."""
    resources: tuple[ResourceCost, ...]
    cheapest: str
    """The `mode` of the cheapest one that refuses nothing more than the plan does."""


# --- Verdicts -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One budget of the plan, and whether it holds."""

    name: str
    """As in the plan file: "throttled_percent"."""
    limit: Number
    value: Number
    holds: bool
    words: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be read of a trace."""

    lines: int
    read: int
    """Lines that were read well."""
    first: tuple[str, ...]
    """The first mistakes: "trace.jsonl:17: ..."."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one run yields."""

    name: str
    description: str
    file: str
    """The plan as the user named it."""
    engine: Literal["events", "fluid"]
    profile: str
    seed: int
    start: str
    """ISO 8601, UTC."""
    duration_s: int
    step_s: int
    samples: int
    assumptions: tuple[str, ...]
    """What the reader must know before believing a number; sentences."""
    totals: Totals
    flows: tuple[Totals, ...]
    resources: tuple[ResourceOutcome, ...]
    events: tuple[EventRow, ...]
    events_left_out: int
    scaling: tuple[ScalingTimeline, ...]
    hot_keys: tuple[HotKey, ...]
    costs: Costs
    budgets: tuple[BudgetResult, ...]
    verdict: tuple[str, ...]
    """The run in a few sentences, the most important first."""
    skipped: Skipped | None = None
    headroom: tuple[Headroom, ...] = ()
    """Of tables and indexes that were on demand, in order, reads first; those with demand only."""
    collections: tuple[ItemCollection, ...] = ()
    """Of tables with local indexes: the largest, largest first."""
    format: int = field(default=FORMAT)

    @property
    def holds(self) -> bool:
        """Whether every budget holds."""
        return all(budget.holds for budget in self.budgets)

    def to_json(self) -> dict[str, Any]:
        return {**_plain(self), "holds": self.holds}


def _plain(value: Any) -> Any:
    """Dataclasses as dicts in the order of their fields, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return value
