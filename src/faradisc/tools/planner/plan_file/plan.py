"""A plan, understood: tables, traffic, budgets. What the file says, as frozen values with nothing missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field, model_validator

from faradisc.capacity.autoscaling import Policy, Tracking
from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.schedules import Schedule, ScheduleError, parse_schedule
from faradisc.records import dataclass, field, replace
from faradisc.tools.planner.plan_file.fields import (
    Amount,
    Count,
    Example,
    Members,
    Seconds,
    Share,
    Units,
    choice,
    mistake,
    reader,
)
from faradisc.tools.planner.results.outcome import Skipped
from faradisc.tools.planner.results.prices import US_EAST_1, Prices
from faradisc.tools.planner.workload.arrival_rates import DAY_S, ArrivalRate, ConstantRate
from faradisc.tools.planner.workload.key_distributions import KeyModel, Sort
from faradisc.tools.planner.workload.retries import NO_RETRIES, Retries
from faradisc.tools.traces.rate_file import MICRO

START_S = 1_793_577_600
"""The default start: Monday, 2 November 2026, midnight UTC."""
DURATION_MAX_S = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Resharded:
    """How the keys of a model are divided, and what divides them otherwise."""

    suffixes: int
    model: Callable[[int], KeyModel]
    """Returns the model with so many suffixes."""


Mode: TypeAlias = Annotated[str, choice("provisioned", "on-demand")]

READS = ("GetItem", "Query", "Scan")
WRITES = ("PutItem", "UpdateItem", "DeleteItem")
OPERATIONS = READS + WRITES
"""Kinds of requests. A batch counts as its items, a transaction as its actions."""


def _read_schedule(text: str) -> tuple[Schedule, str]:
    try:
        return parse_schedule(text), text
    except ScheduleError as error:
        raise mistake(str(error), "Write, for example, cron(0 8 ? * MON-FRI *).") from None


def _check_limits(minimum: int, maximum: int) -> None:
    if maximum < minimum:
        raise mistake("the maximum is below the minimum", f"Write {minimum} or more.", ["max"])


class ScheduledLimits(Members):
    """A scheduled action of auto scaling: new limits at certain times."""

    at: Annotated[tuple[Schedule, str], reader(_read_schedule), Example("at: cron(0 8 ? * MON-FRI *)")]
    minimum: Annotated[Units | None, Field(alias="min")] = None
    maximum: Annotated[Units | None, Field(alias="max")] = None

    @model_validator(mode="after")
    def _check(self) -> ScheduledLimits:
        if self.minimum is None and self.maximum is None:
            raise mistake("this changes nothing", "Add min:, max: or both.")
        if self.minimum is not None and self.maximum is not None:
            _check_limits(self.minimum, self.maximum)
        return self

    @property
    def schedule(self) -> Schedule:
        return self.at[0]

    @property
    def text(self) -> str:
        return self.at[1]


class Scaling(Members):
    """Auto scaling of one direction."""

    minimum: Annotated[Units, Field(alias="min"), Example("min: 5")]
    maximum: Annotated[Units, Field(alias="max"), Example("max: 1000")]
    target_percent: Annotated[float, Field(alias="target", ge=10, le=90)] = 70.0
    scale_in_cooldown_s: Annotated[Seconds, Field(alias="scale_in_cooldown")] = 0
    scale_out_cooldown_s: Annotated[Seconds, Field(alias="scale_out_cooldown")] = 0
    disable_scale_in: bool = False
    scheduled: Annotated[tuple[ScheduledLimits, ...], Field(alias="schedule")] = ()

    @model_validator(mode="after")
    def _check(self) -> Scaling:
        _check_limits(self.minimum, self.maximum)
        return self

    def tracking(self) -> Tracking:
        cooldowns = self.scale_out_cooldown_s, self.scale_in_cooldown_s
        policy = Policy(self.target_percent, *cooldowns, self.disable_scale_in)
        return Tracking(self.minimum, self.maximum, policy)


@dataclass(frozen=True, slots=True)
class Rates:
    """Throughput settings of a table or a global index."""

    on_demand: bool
    read_units: int = 0
    write_units: int = 0
    max_read: int | None = None
    max_write: int | None = None
    warm: tuple[int, int] | None = None
    read_scaling: Scaling | None = None
    write_scaling: Scaling | None = None

    @property
    def highest(self) -> tuple[int, ...]:
        """Returns every rate that is stated."""
        scaled = (each.maximum for each in (self.read_scaling, self.write_scaling) if each is not None)
        return (self.read_units, self.write_units, *(self.warm or ()), *scaled)


class PlanChange(Members):
    """An UpdateTable call of the plan."""

    at_s: Annotated[Seconds, Field(alias="at"), Example("at: 30m")]
    index: str | None = None
    read_units: Annotated[Units | None, Field(alias="read")] = None
    write_units: Annotated[Units | None, Field(alias="write")] = None
    mode: Mode | None = None

    @model_validator(mode="after")
    def _check(self) -> PlanChange:
        if self.read_units is None and self.write_units is None and not self.to_on_demand:
            raise mistake("this changes nothing", "Add read:, write: or mode: on-demand.")
        return self

    @property
    def to_on_demand(self) -> bool:
        return self.mode == "on-demand"


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A secondary index."""

    name: str
    rates: Rates
    is_global: bool = True
    entry_bytes: int | None = None
    """Size of an entry; None: the item's (projection ALL)."""
    share: Fraction = Fraction(1)
    """Of the items that are in it: a sparse index has few."""
    keys: KeyModel | None = None
    """The keys that the table's writes touch; None: evenly spread."""
    partitions: int | None = None
    resharded: Resharded | None = None
    """None where `keys` take no suffixes."""


class Upkeep(Members):
    """What a table has beside its throughput, which costs money and throttles nothing."""

    recovery: Annotated[bool, Field(alias="point_in_time_recovery")] = False
    ttl_s: Annotated[Seconds | None, Field(alias="ttl")] = None
    """How long items live that are added."""
    replicas: Count = 0
    """In other Regions."""
    backups: Count = 0
    """That are kept, each of the whole table."""
    exports: Count = 0
    """Of the whole table, a month."""
    stream_readers: Count = 0
    """That poll its stream; triggers of functions read for free."""


NO_UPKEEP = Upkeep()


@dataclass(frozen=True, slots=True)
class TablePlan:
    name: str
    rates: Rates
    config: CapacityConfig = field(default_factory=CapacityConfig)
    sort_key: bool = True
    indexes: tuple[IndexPlan, ...] = ()
    items: int = 0
    """At the beginning of the run, evenly spread."""
    item_bytes: int = 1024
    partitions: int | None = None
    changes: tuple[PlanChange, ...] = ()
    infrequent: bool = False
    upkeep: Upkeep = NO_UPKEEP

    @property
    def index_rates(self) -> tuple[Rates, ...]:
        return tuple(index.rates for index in self.globals)

    @property
    def globals(self) -> tuple[IndexPlan, ...]:
        return tuple(index for index in self.indexes if index.is_global)

    @property
    def locals(self) -> tuple[IndexPlan, ...]:
        return tuple(index for index in self.indexes if not index.is_global)


class Cache(Members):
    """A cache in front of the table's reads."""

    hits: Annotated[Share, Example("hits: 90%")]
    warm_up_s: Annotated[Seconds, Field(alias="warm_up")] = 0
    """How long the cache takes to fill. Its hit ratio grows evenly meanwhile."""
    monthly: Amount = Decimal(0)
    """US dollars that it costs a month."""

    @classmethod
    def written_out(cls, text: str) -> Any:
        return {"hits": text}


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """One kind of request of one stream of traffic."""

    name: str
    table: str
    index: str | None
    operation: str
    rate: ArrivalRate
    share: Fraction
    """Of the rate that is this kind of request."""
    keys: KeyModel
    item_bytes: int
    old_bytes: int
    """Of the item that is replaced or removed."""
    items: int
    """Per Query."""
    consistent: bool
    transaction: bool
    effect: Literal["add", "replace", "remove", "none"]
    changes: Fraction
    """Of the writes that change what the indexes hold."""
    cache: Cache | None
    retries: Retries
    resharded: Resharded | None = None
    """None where `keys` take no suffixes."""
    sort_assumed: bool = False
    """Whether the plan does not say where in a collection requests are."""
    moves: tuple[str, ...] = ()
    """Indexes whose key these changes change: the entry moves."""
    every_s: int | None = None
    """Of an event: once in so many seconds; None: the base load."""
    half_units: int | None = None
    """Cost of a request to its table, local indexes included, or to the index that it reads; None: from the
    sizes."""

    @property
    def writes(self) -> bool:
        return self.operation in WRITES

    @property
    def reads_item(self) -> bool:
        """Returns whether a key stands for one item, which cannot be divided."""
        return self.operation == "GetItem" and self.keys.shape(0, 0, 1).sort == "one"

    @property
    def most(self) -> float:
        """Returns the most requests of any second."""
        return float(self.rate.most * self.share / MICRO)


Keyed = TypeVar("Keyed", FlowPlan, IndexPlan)
"""What has keys."""


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """What a file of rates does not say of the requests of one class."""

    keys: Mapping[Sort, KeyModel]
    """For tables without a sort key (`one`) and with one."""
    sort: Sort | None
    """None: `spread` where there is a sort key."""
    item_bytes: int | None
    """None: from the units of a write."""
    consistent: bool
    effect: Literal["add", "replace"]
    changes: Fraction
    """Of the writes that change what the indexes hold."""
    retries: Retries
    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines of its members, and of the class itself (""), for mistakes."""


BUDGETS = ("throttled_percent", "lost_percent", "p99_wait_ms", "monthly_cost", "keys_to_shard", "partitions")
"""Every budget that a plan can set; results/headline.py says what each limits."""


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    description: str
    file: str
    start_s: int
    """Epoch seconds, UTC."""
    duration_s: int
    seed: int
    tables: tuple[TablePlan, ...]
    traffic: tuple[FlowPlan, ...] = ()
    budgets: Mapping[str, Fraction] = field(default_factory=dict)
    """Limits by name of `BUDGETS`."""
    prices: Prices = US_EAST_1
    retries: Retries = NO_RETRIES
    """Of recorded requests. Streams of traffic have their own."""
    profile: str = "aws"
    assumptions: tuple[str, ...] = field(default=())
    classes: Mapping[str, ClassPlan] = field(default_factory=dict)
    """Of the requests in a file of rates."""
    variant: str = ""
    """The name of the file's variant."""
    skipped: Skipped | None = None
    """Lines of the file of rates that were skipped."""

    def drawn(self, draw: int) -> Plan:
        """Returns the plan with another seed and its keys in other places; 0 is the plan itself."""

        def placed(each: Keyed) -> Keyed:
            return each if each.keys is None else replace(each, keys=each.keys.placed(draw))

        if not draw:
            return self
        tables = (replace(each, indexes=tuple(map(placed, each.indexes))) for each in self.tables)
        traffic = tuple(map(placed, self.traffic))
        return replace(self, seed=self.seed + draw, tables=tuple(tables), traffic=traffic)

    @property
    def every_s(self) -> int | None:
        """How often the events of this run happen: once in so many seconds; None without any."""
        return next((flow.every_s for flow in self.traffic if flow.every_s is not None), None)

    def of_month(self, duration_s: int, *, traced: bool) -> bool:
        """Returns whether a month follows from the run."""
        steady = not traced and all(isinstance(flow.rate, ConstantRate) for flow in self.traffic)
        return steady or duration_s >= DAY_S or self.every_s is not None

    def within(self, limits: Mapping[str, float | None]) -> Plan:
        """Returns the plan with some budgets in place of its own; None keeps the plan's."""
        given = {name: Fraction(str(limit)) for name, limit in limits.items() if limit is not None}
        return replace(self, budgets={**self.budgets, **given})
