"""A plan, understood: tables, traffic, budgets. What the file says, as frozen values with nothing missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from faradisc.capacity.config import CapacityConfig
from faradisc.capacity.schedules import Schedule
from faradisc.tools.planner.results.outcome import Skipped
from faradisc.tools.planner.results.prices import US_EAST_1, Prices
from faradisc.tools.planner.workload.arrival_rates import MICRO, Rate
from faradisc.tools.planner.workload.key_distributions import KeyModel, Sort
from faradisc.tools.planner.workload.retries import NO_RETRIES, Retries

READS = ("GetItem", "Query", "Scan")
WRITES = ("PutItem", "UpdateItem", "DeleteItem")
OPERATIONS = READS + WRITES
"""What traffic consists of. A batch is its items, a transaction its actions: capacity sees no more."""


@dataclass(frozen=True, slots=True)
class ScheduledLimits:
    """A scheduled action of auto scaling: new limits at certain times."""

    schedule: Schedule
    text: str
    minimum: int | None
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Scaling:
    """Auto scaling of one direction."""

    minimum: int
    maximum: int
    target_percent: float
    scale_in_cooldown_s: int = 0
    scale_out_cooldown_s: int = 0
    disable_scale_in: bool = False
    scheduled: tuple[ScheduledLimits, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Change:
    """An UpdateTable call of the plan's."""

    at_s: int
    index: str | None
    read_units: int | None
    write_units: int | None
    to_on_demand: bool = False


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A secondary index."""

    name: str
    is_global: bool
    entry_bytes: int | None
    """Size of an entry; None: the item's (projection ALL)."""
    share: Fraction
    """Of the items that are in it (a sparse index holds few)."""
    rates: Rates
    keys: KeyModel | None
    """Which of its keys the table's writes touch; None: as evenly spread as can be."""
    sort: Sort
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class TablePlan:
    name: str
    rates: Rates
    config: CapacityConfig
    sort_key: bool
    indexes: tuple[IndexPlan, ...]
    items: int
    """Already there when the run begins, evenly spread."""
    item_bytes: int
    partitions: int | None
    changes: tuple[Change, ...]
    infrequent: bool = False
    recovery: bool = False

    @property
    def globals(self) -> tuple[IndexPlan, ...]:
        return tuple(index for index in self.indexes if index.is_global)

    @property
    def locals(self) -> tuple[IndexPlan, ...]:
        return tuple(index for index in self.indexes if not index.is_global)


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache in front of the table's reads."""

    hits: Fraction
    warm_up_s: int
    """How long it takes to fill; its hit ratio grows evenly meanwhile."""


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """One kind of request of one stream of traffic."""

    name: str
    table: str
    index: str | None
    operation: str
    rate: Rate
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
    line: int = 0
    half_units: int | None = None
    """What a request costs its table, local indexes included, or the index that it reads; None: what follows
    from the sizes."""

    @property
    def writes(self) -> bool:
        return self.operation in WRITES

    @property
    def most(self) -> float:
        """No second has more requests than this."""
        return float(self.rate.most * self.share / MICRO)


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """What a file of rates does not tell of the requests of one class."""

    keys: Mapping[Sort, KeyModel]
    """By where in a collection: whether there are any hangs on the table."""
    sort: Sort | None
    """None: `spread` where there is a sort key."""
    item_bytes: int | None
    """None: as many as a write's units stand for."""
    consistent: bool
    effect: Literal["add", "replace"]
    changes: Fraction
    """Of the writes that change what the indexes hold."""
    retries: Retries
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of the members that the plan file has, and of the class itself (""): for mistakes."""


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """A limit that must hold, or the run fails."""

    name: str
    limit: Fraction


BUDGETS: dict[str, str] = {
    "throttled_percent": "attempts refused, percent of all",
    "lost_percent": "requests given up, percent of all",
    "p99_wait_ms": "wait because of throttling that 99 of 100 requests stay below, milliseconds",
    "monthly_cost": "US dollars a month as planned",
    "keys_to_shard": "keys that no partition can carry",
    "partitions": "partitions of any one table or index at the end",
}
"""Every budget a plan may set, and what it limits."""


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
    budgets: tuple[BudgetPlan, ...] = ()
    prices: Prices = US_EAST_1
    retries: Retries = NO_RETRIES
    """Of recorded requests; streams of traffic have their own."""
    profile: str = "aws"
    assumptions: tuple[str, ...] = field(default=())
    classes: Mapping[str, ClassPlan] = field(default_factory=dict)
    """What is known of the requests in a file of rates; others have no classes."""
    skipped: Skipped | None = None
    """What could not be read of the file that the traffic is from."""

    def within(self, limits: Mapping[str, float | None]) -> Plan:
        """The plan with some budgets in place of its own, by name of `BUDGETS`; None: as it has it."""
        given = {name: Fraction(str(limit)) for name, limit in limits.items() if limit is not None}
        others = [budget for budget in self.budgets if budget.name not in given]
        return replace(self, budgets=(*others, *(BudgetPlan(*pair) for pair in given.items())))
