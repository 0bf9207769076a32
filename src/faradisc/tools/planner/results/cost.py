"""The cost of a month in every mode, if every day is like the run.

    on-demand          every requested unit is paid once
    provisioned-peak   capacity for the busiest second of the run, all month
    provisioned-p99    capacity that 99 of 100 seconds stay below, all month
    auto-scaling       the capacity of target tracking, from the sums of minutes
    reserved           as provisioned-peak, at the plan's own prices for reserved units
    as-planned         the plan's capacity, integrated over the run

All modes but the planned one start from requested units, so that a mode is not cheap because it throttles.
What each would throttle is estimated from the seconds above its capacity, without burst capacity, and is
never less than what single partitions throttled in the run, which no mode changes.

Money is `Decimal` and rounded to cents once, at the end. Sources: capacity.md sections 3.4 (part 9) and 3.5;
vectors V140 to V146.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from decimal import ROUND_HALF_EVEN, Decimal

from faradisc.capacity.throttle import Cause
from faradisc.limits import TABLE_CAPACITY_UNITS_MAX
from faradisc.records import dataclass
from faradisc.tools.planner.plan_file.plan import Scaling
from faradisc.tools.planner.results.demand import MINUTE_S, DirectionDemand
from faradisc.tools.planner.results.outcome import Costs, ModeCost, ResourceCost
from faradisc.tools.planner.results.prices import GB, HOURS_PER_MONTH, ClassPrices, Prices
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.simulation.recorder import DirectionRecord, ResourceRecord

MONTH_S = HOURS_PER_MONTH * 3600
_CENT = Decimal("0.01")
_MODES = {
    "as-planned": ("As planned", "the plan's rates, integrated over the run; consumed units while on demand"),
    "on-demand": ("On demand", "every requested unit, paid once"),
    "provisioned-peak": (
        "Provisioned for the busiest second",
        "units of the busiest second, every hour of the month",
    ),
    "provisioned-p99": (
        "Provisioned for 99 % of the seconds",
        "units that 99 of 100 seconds stay below, every hour of the month",
    ),
    "auto-scaling": (
        "Provisioned with auto scaling",
        "target tracking over the run's minutes, from the plan's limits or at 70 %",
    ),
    "reserved": (
        "Reserved for the busiest second",
        "units of the busiest second at the plan's price of reserved units",
    ),
}
"""Titles, and how each mode is computed."""


class DemandRecord:
    """Notes the demand of one direction, second by second."""

    def __init__(self, record: DirectionRecord) -> None:
        self.record, self.demand = record, DirectionDemand()
        self._minute = self._in_minute = 0

    def end_second(self) -> None:
        """Requires: called before the record's own end_second."""
        record, demand = self.record, self.demand
        offered = record.second_offered
        demand.seconds[offered] += 1
        self._minute += offered
        self._in_minute += 1
        if self._in_minute == MINUTE_S:
            demand.minutes.append(self._minute)
            self._minute = self._in_minute = 0
        resource = record.virtual.resource
        if resource.on_demand:
            demand.on_demand_half += record.second_consumed
        else:
            demand.provisioned_s += resource.write_units if record.writes else resource.read_units

    def finish(self) -> DirectionDemand:
        demand = self.demand
        if self._in_minute:
            demand.minutes.append(self._minute * MINUTE_S // self._in_minute)
        demand.throttled_half = self.record.throttled_half
        return demand


def scaling_of(record: DirectionRecord) -> Scaling:
    """Returns the plan's auto scaling, or the console's: target 70 %, from 1 to the quota."""
    virtual, config = record.virtual, record.virtual.resource.config
    own = virtual.rates.write_scaling if record.writes else virtual.rates.read_scaling
    return own or console_scaling(config.table_write_units if record.writes else config.table_read_units)


def console_scaling(most: int = TABLE_CAPACITY_UNITS_MAX) -> Scaling:
    """Returns the auto scaling that the service's console proposes."""
    return Scaling.model_construct(minimum=1, maximum=most)


@dataclass(frozen=True, slots=True)
class ExactCost:
    """The exact cost of a month, and the half units throttled and requested in the run."""

    read: Decimal
    write: Decimal
    storage: Decimal = Decimal(0)
    other: Decimal = Decimal(0)
    index: Decimal = Decimal(0)
    throttled: int = 0
    offered: int = 0


Demands = tuple[DirectionDemand, DirectionDemand]
"""Reads and writes of one resource."""


def in_mode(
    mode: str, demands: Demands, scalings: tuple[Scaling, Scaling], prices: Prices, of_class: ClassPrices
) -> ExactCost:
    """Returns the cost of a month's reads and writes, and what the mode throttles."""
    months = [Decimal(MONTH_S) / each.lasted_s for each in demands]
    if mode == "as-planned":
        hours = [Decimal(each.provisioned_s) / 3600 * of for each, of in zip(demands, months, strict=True)]
        units = [Decimal(each.on_demand_half) / 2 * of for each, of in zip(demands, months, strict=True)]
        fixed, flexible = of_class.provisioned(*hours), of_class.on_demand(*units)
        throttled = round(sum(each.throttled_half for each in demands))
        return ExactCost(fixed[0] + flexible[0], fixed[1] + flexible[1], throttled=throttled)
    if mode == "on-demand":
        units = [Decimal(each.offered_half) / 2 * of for each, of in zip(demands, months, strict=True)]
        return ExactCost(*of_class.on_demand(*units))
    if mode == "auto-scaling":
        scaled = [each.scaled(settings) for each, settings in zip(demands, scalings, strict=True)]
        throttled = sum(throttled for _, throttled in scaled)
        hours = [Decimal(average) * HOURS_PER_MONTH for average, _ in scaled]
        return ExactCost(*of_class.provisioned(*hours), throttled=throttled)
    rates = [each.quantile_units(99 if mode == "provisioned-p99" else 100) for each in demands]
    throttled = sum(each.above(rate) for each, rate in zip(demands, rates, strict=True))
    hours = [Decimal(rate) * HOURS_PER_MONTH for rate in rates]
    if mode == "reserved":
        assert prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None
        read, write = hours[0] * prices.reserved_read_unit_hour, hours[1] * prices.reserved_write_unit_hour
        return ExactCost(read, write, throttled=throttled)
    return ExactCost(*of_class.provisioned(*hours), throttled=throttled)


def costs(
    resources: Sequence[ResourceRecord],
    demands: Mapping[DirectionRecord, DirectionDemand],
    prices: Prices,
    *,
    allowed_percent: float,
    caches: Decimal,
) -> Costs:
    """Returns all modes side by side, of the plan and of each resource. `allowed_percent`: what the cheapest
    mode may throttle; `caches`: what they cost a month, in every mode."""
    reserved = prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None
    modes = [mode for mode in _MODES if mode != "reserved" or reserved]
    free_gb = prices.storage_free_gb
    found: dict[str, list[ExactCost]] = {mode: [] for mode in modes}
    for record in resources:
        of_class = prices.of_class(record.virtual.table.infrequent)
        reads, writes = record.directions
        both, scalings = (demands[reads], demands[writes]), (scaling_of(reads), scaling_of(writes))
        gb = _size_gb(record, both[1].lasted_s)
        free = min(free_gb, gb) if of_class.storage_free_gb else Decimal(0)
        free_gb -= free
        storage = of_class.storage(gb, free)
        indexed = record.virtual.index is not None
        by_partitions = sum(map(_throttled_by_partitions, record.directions))
        for mode in modes:
            cost = in_mode(mode, both, scalings, prices, of_class)
            found[mode].append(
                replace(
                    cost,
                    storage=storage,
                    other=_upkeep(record, cost, gb, prices, of_class),
                    index=cost.read + cost.write + storage if indexed else Decimal(0),
                    throttled=cost.throttled if mode == "as-planned" else max(cost.throttled, by_partitions),
                    offered=sum(each.offered_half for each in both),
                )
            )
    for mode in modes:
        found[mode].append(ExactCost(Decimal(0), Decimal(0), other=caches))
    whole = _marked([_mode_cost(mode, found[mode]) for mode in modes], allowed_percent)
    by_resource = tuple(
        ResourceCost(
            record.virtual.name,
            _marked([_mode_cost(mode, [found[mode][position]]) for mode in modes], allowed_percent),
        )
        for position, record in enumerate(resources)
    )
    cheapest = next((mode.mode for mode in whole if mode.cheapest), "")
    return Costs(HOURS_PER_MONTH, prices.to_json(), whole, by_resource, cheapest)


def _size_gb(record: ResourceRecord, lasted_s: int) -> Decimal:
    """Returns the size at the end of the run; where items expire, what then is there for good: as much as is
    added in their time."""
    ttl_s, gained = record.virtual.table.upkeep.ttl_s, record.stored_bytes - record.first_bytes
    if ttl_s is None or gained <= 0:
        return Decimal(record.stored_bytes) / GB
    return Decimal(gained) * ttl_s / lasted_s / GB


def _upkeep(
    record: ResourceRecord, cost: ExactCost, gb: Decimal, prices: Prices, of_class: ClassPrices
) -> Decimal:
    """Returns what a month costs beside reads, writes and storage: replicas with the same writes and data,
    and of the table itself recovery, backups, exports and readers of its stream."""
    upkeep, partitions = record.virtual.table.upkeep, len(record.virtual.resource.partitions)
    total = upkeep.replicas * (cost.write + of_class.storage(gb, Decimal(0)))
    if record.virtual.index is not None:
        return total
    total += gb * (prices.recovery_gb_month if upkeep.recovery else 0)
    total += gb * (upkeep.backups * prices.backup_gb_month + upkeep.exports * prices.export_gb)
    return total + upkeep.stream_readers * partitions * MONTH_S * prices.stream_reads_100k / 100_000


def _throttled_by_partitions(direction: DirectionRecord) -> int:
    """Returns the half units that single partitions throttled in the run."""
    events = direction.events.total()
    return direction.throttled_half * direction.events[Cause.KEY_RANGE] // events if events else 0


def _mode_cost(mode: str, parts: Sequence[ExactCost]) -> ModeCost:
    total = ExactCost(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))
    title, words = _MODES[mode]
    return ModeCost(
        mode=mode,  # type: ignore[arg-type]
        title=title,
        read_usd=_cents(total.read),
        write_usd=_cents(total.write),
        storage_usd=_cents(total.storage),
        other_usd=_cents(total.other),
        total_usd=_cents(total.read + total.write + total.storage + total.other),
        index_usd=_cents(total.index),
        throttled_percent=number(100 * total.throttled / total.offered) if total.offered else 0,
        cheapest=False,
        words=words,
    )


def _marked(modes: list[ModeCost], allowed_percent: float) -> tuple[ModeCost, ...]:
    """Marks the cheapest mode among those that throttle no more than is allowed; the first of equal ones."""
    fair = [mode for mode in modes if mode.throttled_percent <= allowed_percent]
    best = min(fair, key=lambda mode: mode.total_usd, default=None)
    return tuple(replace(mode, cheapest=mode is best) for mode in modes)


def _cents(amount: Decimal) -> float:
    return float(amount.quantize(_CENT, ROUND_HALF_EVEN))
