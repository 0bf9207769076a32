"""The `traffic:` and `classes:` members of a plan file: streams of requests, their rates, keys and sizes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from faradisc.tools.planner.plan_file.document import Path
from faradisc.tools.planner.plan_file.fields import (
    Amount,
    Count,
    Example,
    ItemSize,
    Members,
    Period,
    Seconds,
    Share,
    Text,
    choice,
    members_of,
    mistake,
    reader,
)
from faradisc.tools.planner.plan_file.keys import Keys, SortField
from faradisc.tools.planner.plan_file.plan import (
    OPERATIONS,
    READS,
    WRITES,
    Cache,
    ClassPlan,
    FlowPlan,
    TablePlan,
)
from faradisc.tools.planner.workload import arrival_rates
from faradisc.tools.planner.workload.arrival_rates import DAY_S, ArrivalRate
from faradisc.tools.planner.workload.key_distributions import KeyModel, Sort
from faradisc.tools.planner.workload.retries import ATTEMPTS_MAX, NO_RETRIES, Retries, legacy, standard
from faradisc.tools.traces.errors import nearest

RATE_MAX = 10_000_000

Effect: TypeAlias = Annotated[Literal["add", "replace"], choice("add", "replace")]
Keyed: TypeAlias = Annotated[Keys, Example("keys: {uniform: 100000}")]


class RetriesMember(Members):
    mode: Annotated[str, choice("none", "standard", "legacy"), Example("mode: standard")]
    attempts: Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)] | None = None

    @classmethod
    def written_out(cls, text: str) -> Any:
        return {"mode": text}

    def retries(self) -> Retries:
        if self.mode == "none":
            return NO_RETRIES
        make = standard if self.mode == "standard" else legacy
        return make() if self.attempts is None else make(self.attempts)


# --- Rates --------------------------------------------------------------------------------------------


PerSecond: TypeAlias = Annotated[Decimal, Field(ge=0, le=RATE_MAX, max_digits=40)]


class Moment(Members):
    at: Annotated[Seconds, Example("at: 10m")]
    rate: Annotated[PerSecond, Example("rate: 100")]


def _check_moments(moments: list[Moment]) -> list[Moment]:
    for position in range(1, len(moments)):
        if moments[position].at <= moments[position - 1].at:
            raise mistake("the moments do not ascend", "Sort the list by time.", [position, "at"])
    if not moments:
        raise mistake("the list is empty", "Add an entry: {at: 0s, rate: 100}.")
    return moments


Moments: TypeAlias = Annotated[list[Moment], AfterValidator(_check_moments)]


class Ramp(Members):
    start: Annotated[PerSecond, Field(alias="from"), Example("from: 0")]
    to: Annotated[PerSecond, Example("to: 1000")]
    over: Annotated[Seconds, Example("over: 10m")]

    @model_validator(mode="after")
    def _check_length(self) -> Ramp:
        if not self.over:
            raise mistake("a ramp takes time", "Write, for example, over: 10m.", ["over"])
        return self


def _time_of_day(text: str) -> int:
    hours, colon, minutes = text.partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and colon and int(hours) < 24 and int(minutes) < 60):
        raise mistake(f"{text!r} is not a time of day", 'Write, in quotes, "14:00" (UTC).')
    return int(hours) * 3600 + int(minutes) * 60


class DailyPlan(Members):
    low: Annotated[PerSecond, Example("low: 100")]
    high: Annotated[PerSecond, Example("high: 1000")]
    peak: Annotated[int, reader(_time_of_day)] = 14 * 3600

    @model_validator(mode="after")
    def _check_order(self) -> DailyPlan:
        if self.high < self.low:
            raise mistake("high is below low", "Exchange them.", ["high"])
        return self


class SpikesPlan(Members):
    base: Annotated[PerSecond, Example("base: 100")]
    high: Annotated[PerSecond, Example("high: 1000")]
    every: Annotated[Seconds, Example("every: 10m")]
    lasting: Annotated[Seconds, Example("lasting: 30s")]

    @model_validator(mode="after")
    def _check_length(self) -> SpikesPlan:
        if not 0 < self.lasting <= self.every:
            raise mistake("a spike is shorter than the time between two", "Write a shorter one.", ["lasting"])
        return self


class RateMember(Members):
    """A number of requests per second, or a curve."""

    kind: ClassVar[str] = "curve"
    alternatives: ClassVar[tuple[str, str] | None] = ("a rate is one number or one curve", "rate: 100.")

    constant: PerSecond | None = None
    steps: Moments | None = None
    points: Moments | None = None
    ramp: Ramp | None = None
    daily: DailyPlan | None = None
    spikes: SpikesPlan | None = None

    @classmethod
    def written_out(cls, text: str) -> Any:
        return {"constant": text}

    def rate(self, start_s: int) -> ArrivalRate:
        """Returns the rate of a run that begins at `start_s`, epoch seconds."""
        if self.steps is not None:
            return arrival_rates.Steps(*_timed(self.steps))
        if self.points is not None:
            return arrival_rates.Points(*_timed(self.points))
        if (ramp := self.ramp) is not None:
            return arrival_rates.Points((0, ramp.over), (_micro(ramp.start), _micro(ramp.to)))
        if (daily := self.daily) is not None:
            return arrival_rates.DailyRate(_micro(daily.low), _micro(daily.high), daily.peak, start_s % DAY_S)
        if (spikes := self.spikes) is not None:
            ends = _micro(spikes.base), _micro(spikes.high)
            return arrival_rates.SpikeRate(*ends, spikes.every, spikes.lasting)
        return arrival_rates.ConstantRate(_micro(self.constant or Decimal(0)))


def _micro(rate: Decimal) -> int:
    return arrival_rates.micro(Fraction(rate))


def _timed(moments: list[Moment]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rates = tuple(_micro(moment.rate) for moment in moments)
    return tuple(moment.at for moment in moments), rates


# --- Streams ------------------------------------------------------------------------------------------

_QUERIES = ("Query", "Scan")
_MEANT_FOR = {
    "cache": READS,
    "consistent": READS,
    "items": _QUERIES,
    "effect": ("PutItem", "UpdateItem"),
    "old_size": WRITES,
    "changes": WRITES,
    "moves": ("PutItem", "UpdateItem"),
}
"""Members that mean something to some operations only. A mix has one of these operations."""
_REJECTED = (
    ("cache", WRITES, "a cache answers reads only", "Leave cache out."),
    ("items", ("GetItem", *WRITES), "{operation} is for one item", "Leave items out, or use Query."),
    ("effect", READS, "a read leaves no trace", "Leave effect out."),
    ("moves", (*READS, "DeleteItem"), "only a change of an item moves it in an index", "Leave moves out."),
    ("old_size", READS, "a read replaces nothing", "Leave old_size out."),
)
"""Members that single operations do not take."""


class Requests(Members):
    """Members that streams and classes share."""

    keys: Keyed
    sort: SortField | None = None
    item_size: ItemSize | None = None
    consistent: bool = False
    effect: Effect = "replace"
    changes: Share = Fraction(1)
    retries: RetriesMember | None = None


class StreamPlan(Requests):
    """One stream of requests."""

    name: Text = ""
    table: Text = ""
    index: Text | None = None
    operation: Annotated[str, choice(*OPERATIONS)] | None = None
    operations: Annotated[dict[str, Amount], members_of(OPERATIONS)] = {}
    rate: Annotated[RateMember, Example("rate: 100")]
    begin: Annotated[Seconds, Field(alias="from")] = 0
    until: Seconds | None = None
    every: Period | None = None
    old_size: ItemSize | None = None
    items: Count = 1
    moves: tuple[Text, ...] = ()
    transaction: bool = False
    cache: Cache | None = None

    @property
    def mix(self) -> dict[str, Decimal]:
        """The operations and their weights."""
        return {self.operation: Decimal(1)} if self.operation else self.operations

    @model_validator(mode="after")
    def _check_operations(self) -> StreamPlan:
        if self.operation and self.has("operations"):
            raise mistake("operation and operations exclude each other", "Keep one of them.", ["operations"])
        if not self.operation and not self.has("operations"):
            raise mistake("'operation' is missing", "Add it, for example: operation: PutItem")
        if not any(self.mix.values()):
            what = "the mix is empty"
            raise mistake(what, "Write, for example, {GetItem: 80, PutItem: 20}.", ["operations"])
        for name, meant in _MEANT_FOR.items():
            if self.has("operations") and self.has(name) and not self.mix.keys() & set(meant):
                what = f"{name!r} means nothing to {', '.join(self.mix)}"
                raise mistake(what, f"Leave it out, or add {' or '.join(meant)} to the mix.", [name])
        for name, operations, what, remedy in _REJECTED:
            if self.operation in operations and self.has(name):
                raise mistake(what.format(operation=self.operation), remedy, [name])
        if self.transaction and self.mix.keys() & set(_QUERIES):
            raise mistake("a transaction reads items, not queries", "Use GetItem.", ["transaction"])
        if self.until is not None and self.until <= self.begin:
            raise mistake("the stream ends before it begins", "Write a later moment.", ["until"])
        return self

    def check(self, tables: dict[str, TablePlan], at: Path) -> None:
        """Raises the mistake of a stream that does not go with the tables."""
        if not self.table and len(tables) > 1:
            raise mistake("'table' is missing", f"Add it, for example: table: {next(iter(tables))}", at)
        if self.table and self.table not in tables:
            what = f"there is no table {self.table!r}"
            raise mistake(what, nearest(self.table, tables), [*at, "table"])
        table = self.table_of(tables)
        indexes = [index.name for index in table.indexes]
        named = [("index", self.index)] if self.index else []
        for member, name in (*named, *(("moves", name) for name in self.moves)):
            if name not in indexes:
                remedy = nearest(name, indexes) if indexes else f"The table has none; leave {member} out."
                raise mistake(f"there is no index {name!r}", remedy, [*at, member])
        if self.index and self.mix.keys() & set(WRITES):
            what = "an index is not written to"
            raise mistake(what, "Write to its table; the index follows.", [*at, "index"])
        if self.sort not in (None, "one") and not self._sorted(table):
            what = f"table {table.name!r} has no sort key"
            raise mistake(what, "Add sort_key: true to the table, or leave sort out.", [*at, "sort"])
        if self.consistent and any(index.name == self.index for index in table.globals):
            what = "a global index is read eventually consistent only"
            raise mistake(what, "Leave consistent out.", [*at, "consistent"])

    def table_of(self, tables: dict[str, TablePlan]) -> TablePlan:
        return tables[self.table] if self.table else next(iter(tables.values()))

    def _sorted(self, table: TablePlan) -> bool:
        return table.sort_key or self.index is not None

    def flows(self, table: TablePlan, start_s: int, client: Retries) -> list[FlowPlan]:
        """Returns a flow for each operation. Requires: `check`."""
        sort: Sort = self.sort or ("spread" if self._sorted(table) else "one")
        name = self.name or f"{table.name} traffic"
        total = sum(map(Fraction, self.mix.values()))
        item_bytes = table.item_bytes if self.item_size is None else self.item_size
        rate = self.rate.rate(start_s)
        if self.begin or self.until is not None:
            rate = arrival_rates.Window(rate, self.begin, self.until)
        effects: dict[str, Any] = {"PutItem": self.effect, "UpdateItem": self.effect, "DeleteItem": "remove"}
        return [
            FlowPlan(
                name=name if self.operation else f"{name}: {operation}",
                table=table.name,
                index=self.index,
                operation=operation,
                rate=rate,
                share=Fraction(weight) / total,
                keys=self.keys.model(start_s, sort),
                item_bytes=item_bytes,
                old_bytes=item_bytes if self.old_size is None else self.old_size,
                items=self.items,
                consistent=self.consistent,
                transaction=self.transaction,
                effect=effects.get(operation, "none"),
                changes=self.changes,
                moves=self.moves,
                every_s=self.every,
                sort_assumed=self.sort is None and sort == "spread",
                cache=None if operation in WRITES else self.cache,
                retries=self.retries.retries() if self.retries else client,
                resharded=self.keys.resharded(start_s, sort),
            )
            for operation, weight in self.mix.items()
            if weight
        ]


class ClassMember(Requests):
    """What a file of rates does not say of the requests of one class.

    Source: capacity.md section 3.3 (a key model per class).
    """

    def plan(self, start_s: int, client: Retries, lines: dict[str, int]) -> ClassPlan:
        choices: tuple[Sort, ...] = ("one", "spread") if self.sort is None else (self.sort,)
        models: dict[Sort, KeyModel] = {sort: self.keys.model(start_s, sort) for sort in choices}
        return ClassPlan(
            keys=models,
            sort=self.sort,
            item_bytes=self.item_size,
            consistent=self.consistent,
            effect=self.effect,
            changes=self.changes,
            retries=self.retries.retries() if self.retries else client,
            lines=lines,
        )
