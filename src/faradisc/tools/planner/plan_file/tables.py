"""The `tables:` member of a plan file: throughput, auto scaling, changes, indexes."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from faradisc.capacity.config import PROFILES, CapacityConfig, parse_caps, profile
from faradisc.limits import GSI_PER_TABLE_MAX, LSI_PER_TABLE_MAX
from faradisc.tools.planner.plan_file.document import Path
from faradisc.tools.planner.plan_file.fields import (
    Count,
    ItemSize,
    Members,
    Share,
    Size,
    Units,
    choice,
    mistake,
    reader,
)
from faradisc.tools.planner.plan_file.keys import Keys, SortField
from faradisc.tools.planner.plan_file.plan import (
    IndexPlan,
    Mode,
    PlanChange,
    Rates,
    Scaling,
    TablePlan,
    Upkeep,
)
from faradisc.tools.traces.errors import nearest

KEYS_ONLY_BYTES = 100
"""Size of an index entry without projected attributes. Assumed."""
PARTITIONS_MAX = 10_000

Partitions: TypeAlias = Annotated[int, Field(ge=1, le=PARTITIONS_MAX)]


def _read_profile(text: str) -> str:
    if text.lower() == "off":
        raise mistake("profile 'off' throttles nothing", "Choose one that does, for example aws.")
    for name in PROFILES:
        if text.lower() == name.lower():
            return name
    raise mistake(f"{text!r} is not known here", nearest(text, PROFILES))


def _read_caps(text: str) -> tuple[int, int, int | None]:
    try:
        return parse_caps(text)
    except ValueError as error:
        raise mistake(str(error), "Write, for example, 30/10.") from None


class Modelled(Members):
    """The capacity model: a profile, and partition caps for experiments with little traffic."""

    profile: Annotated[str, reader(_read_profile)] | None = None
    partition_caps: Annotated[tuple[int, int, int | None], reader(_read_caps)] | None = None

    def config(self, inherited: CapacityConfig) -> CapacityConfig:
        config = profile(self.profile) if self.profile else inherited
        return config.with_partition_caps(*self.partition_caps) if self.partition_caps else config


class WarmPlan(Members):
    read: Count = 12_000
    write: Count = 4_000


class AutoScalingPlan(Members):
    read: Scaling | None = None
    write: Scaling | None = None


class ThroughputPlan(Members):
    """Members that a table and a global index share."""

    read: Units = 1
    write: Units = 1
    max_read: Units | None = None
    max_write: Units | None = None
    warm: WarmPlan | None = None
    auto_scaling: AutoScalingPlan | None = None
    partitions: Partitions | None = None

    def check_mode(self, on_demand: bool, at: Path = ()) -> None:
        """Raises the mistake of a member that belongs to the other mode."""
        here, other = ("on-demand", "provisioned") if on_demand else ("provisioned", "on-demand")
        wrong = ("read", "write", "auto_scaling") if on_demand else ("max_read", "max_write", "warm")
        for name in wrong:
            if self.has(name):
                what = f"{name!r} belongs to mode {other}, and this is {here}"
                raise mistake(what, f"Remove it, or write mode: {other}.", [*at, name])

    def rates(self, on_demand: bool) -> Rates:
        if on_demand:
            warm = (self.warm.read, self.warm.write) if self.warm else None
            return Rates(True, max_read=self.max_read, max_write=self.max_write, warm=warm)
        both = self.auto_scaling or AutoScalingPlan()
        return Rates(
            False,
            read_units=self.read,
            write_units=self.write,
            read_scaling=both.read,
            write_scaling=both.write,
        )


class Projected(Members):
    """Members that global and local indexes share."""

    projection: Annotated[str, choice("all", "keys_only", "include")] = "all"
    entry_size: Size = KEYS_ONLY_BYTES
    share: Share = Fraction(1)

    @model_validator(mode="after")
    def _check_size(self) -> Projected:
        if self.projection == "include" and not self.has("entry_size"):
            what = "projection include needs the size of an entry"
            raise mistake(what, "Add it, for example entry_size: 300 B")
        return self

    @property
    def entry_bytes(self) -> int | None:
        """None: as large as the item."""
        return None if self.projection == "all" else self.entry_size


class GlobalIndex(ThroughputPlan, Projected):
    keys: Keys | None = None
    sort: SortField = "spread"

    def plan(self, name: str, on_demand: bool, start_s: int) -> IndexPlan:
        return IndexPlan(
            name,
            self.rates(on_demand),
            entry_bytes=self.entry_bytes,
            share=self.share,
            keys=self.keys.model(start_s, self.sort) if self.keys else None,
            partitions=self.partitions,
            resharded=self.keys.resharded(start_s, self.sort) if self.keys else None,
        )


class LocalIndex(Projected):
    def plan(self, name: str) -> IndexPlan:
        return IndexPlan(name, Rates(False), False, self.entry_bytes, self.share)


def _at_most(most: int, what: str) -> AfterValidator:
    def check(indexes: dict[str, Members]) -> dict[str, Members]:
        if len(indexes) > most:
            raise mistake(f"a table has at most {most} {what}", "Remove some.")
        return indexes

    return AfterValidator(check)


class PlanTable(Modelled, ThroughputPlan, Upkeep):
    mode: Mode | None = None
    sort_key: bool = False
    items: Count = 0
    item_size: ItemSize = 1024
    indexes: Annotated[dict[str, GlobalIndex], _at_most(GSI_PER_TABLE_MAX, "global indexes")] = {}
    local_indexes: Annotated[dict[str, LocalIndex], _at_most(LSI_PER_TABLE_MAX, "local indexes")] = {}
    changes: list[PlanChange] = []
    table_class: Annotated[str, choice("standard", "infrequent-access"), Field(alias="class")] = "standard"

    @property
    def on_demand(self) -> bool:
        if self.mode is None:
            return not self.has("read") and not self.has("write")
        return self.mode == "on-demand"

    @model_validator(mode="after")
    def _check_table(self) -> PlanTable:
        self.check_mode(self.on_demand)
        for name, index in self.indexes.items():
            index.check_mode(self.on_demand, ["indexes", name])
        for position, change in enumerate(self.changes):
            if change.index is not None and change.index not in self.indexes:
                what = f"there is no global index {change.index!r}"
                raise mistake(what, nearest(change.index, self.indexes), ["changes", position, "index"])
        return self

    def plan(self, name: str, inherited: CapacityConfig, start_s: int) -> TablePlan:
        config = self.config(inherited)
        if self.items * self.item_size > PARTITIONS_MAX * config.partition_bytes_max:
            what = f"they would fill more than {PARTITIONS_MAX:,} partitions"
            raise mistake(what, "Write fewer, or smaller ones.", ["tables", name, "items"])
        return TablePlan(
            name=name,
            rates=self.rates(self.on_demand),
            config=config,
            sort_key=self.sort_key or self.has("local_indexes"),
            indexes=(
                *(index.plan(each, self.on_demand, start_s) for each, index in self.indexes.items()),
                *(index.plan(each) for each, index in self.local_indexes.items()),
            ),
            items=self.items,
            item_bytes=self.item_size,
            partitions=self.partitions,
            changes=tuple(sorted(self.changes, key=lambda change: change.at_s)),
            infrequent=self.table_class == "infrequent-access",
            upkeep=self,
        )
