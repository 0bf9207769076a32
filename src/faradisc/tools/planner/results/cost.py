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

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from faradisc.capacity.config import MINUTE_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.capacity.throttle import Cause
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.tools.planner.plan_file.plan import Scaling
from faradisc.tools.planner.results.outcome import Costs, ModeCost, ResourceCost
from faradisc.tools.planner.results.prices import GB, HOURS_PER_MONTH, ClassPrices, Prices
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.simulation.recorder import DirectionRecord, ResourceRecord

MONTH_S = HOURS_PER_MONTH * 3600
_CENT = Decimal("0.01")
_MINUTE_S = 60
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


@dataclass
class DirectionDemand:
    """The demand for reads or writes of one resource, second by second, in half units."""

    record: DirectionRecord
    seconds: Counter[int] = field(default_factory=Counter)
    """Seconds by their demand."""
    minutes: list[int] = field(default_factory=list)
    """Sums per minute."""
    provisioned_seconds: int = 0
    """Provisioned units times seconds, without those on demand."""
    on_demand_half: int = 0
    """Half units consumed while on demand."""
    _minute: int = 0
    _in_minute: int = 0

    def end_second(self) -> None:
        """Requires: called before the record's own end_second."""
        record = self.record
        offered = record.second_offered
        self.seconds[offered] += 1
        self._minute += offered
        self._in_minute += 1
        if self._in_minute == _MINUTE_S:
            self.minutes.append(self._minute)
            self._minute = self._in_minute = 0
        resource = record.virtual.resource
        if resource.on_demand:
            self.on_demand_half += record.second_consumed
        else:
            self.provisioned_seconds += resource.write_units if record.writes else resource.read_units

    def finish(self) -> None:
        if self._in_minute:
            self.minutes.append(self._minute * _MINUTE_S // self._in_minute)

    @property
    def offered_half(self) -> int:
        return sum(half_units * count for half_units, count in self.seconds.items())

    def quantile_units(self, percent: int) -> int:
        """Returns the units per second that so many percent of the seconds do not exceed, at least 1."""
        total, seen = self.seconds.total(), 0
        for half_units in sorted(self.seconds):
            seen += self.seconds[half_units]
            if seen * 100 >= total * percent:
                return max(-(-half_units // 2), 1)
        return 1

    def above(self, units: int) -> int:
        """Returns the half units requested beyond so many units per second."""
        return sum((half - 2 * units) * count for half, count in self.seconds.items() if half > 2 * units)

    def scaling(self) -> Scaling:
        """Returns the plan's auto scaling, or the console's: target 70 %, from 1 to the quota."""
        virtual, writes = self.record.virtual, self.record.writes
        own = virtual.rates.write_scaling if writes else virtual.rates.read_scaling
        config = virtual.resource.config
        most = config.table_write_units if writes else config.table_read_units
        return own or Scaling.model_construct(minimum=1, maximum=most)


def scaled_minutes(minutes: Sequence[int], settings: Scaling) -> tuple[int, int]:
    """Returns what auto scaling provisions for the minutes' sums (half units): unit-minutes in all, and the
    half units requested beyond it, without burst capacity."""
    tracking = settings.tracking()
    first = minutes[0] if minutes else 0
    wanted = -(-first * 100 // int(2 * _MINUTE_S * settings.target_percent))
    present = max(settings.minimum, min(settings.maximum, wanted))
    log = DecreaseLog()
    unit_minutes = throttled = 0
    for position, half_units in enumerate(minutes):
        capacity = present
        # A minute is evaluated when the next one has ended, and the change takes effect half a minute later.
        if position >= 2:
            begin = (position - 2) * MINUTE_NS
            decision = tracking.evaluate(begin, Fraction(minutes[position - 2], 2), present, log)
            if decision is not None and decision.skipped is None:
                if decision.wanted < present:
                    log.accept(decision.at_ns)
                capacity = (present + decision.wanted) // 2
                tracking.applied(decision)
                present = decision.wanted
        unit_minutes += capacity
        throttled += max(half_units - 2 * _MINUTE_S * capacity, 0)
    return unit_minutes, throttled


@dataclass(frozen=True, slots=True)
class _Cost:
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


def _in_mode(mode: str, demands: Demands, duration_s: int, prices: Prices, of_class: ClassPrices) -> _Cost:
    """Returns the cost of reads and writes, and what the mode throttles."""
    months = Decimal(MONTH_S) / Decimal(duration_s)
    if mode == "as-planned":
        hours = [Decimal(each.provisioned_seconds) / 3600 * months for each in demands]
        units = [Decimal(each.on_demand_half) / 2 * months for each in demands]
        fixed, flexible = of_class.provisioned(*hours), of_class.on_demand(*units)
        return _Cost(fixed[0] + flexible[0], fixed[1] + flexible[1])
    if mode == "on-demand":
        return _Cost(*of_class.on_demand(*(Decimal(each.offered_half) / 2 * months for each in demands)))
    if mode == "auto-scaling":
        scaled = [scaled_minutes(each.minutes, each.scaling()) for each in demands]
        throttled = sum(throttled for _, throttled in scaled)
        hours = [
            Decimal(unit_minutes) * MONTH_S / 3600 / max(len(each.minutes), 1)
            for (unit_minutes, _), each in zip(scaled, demands, strict=True)
        ]
        return _Cost(*of_class.provisioned(*hours), throttled=throttled)
    rates = [each.quantile_units(99 if mode == "provisioned-p99" else 100) for each in demands]
    throttled = sum(each.above(rate) for each, rate in zip(demands, rates, strict=True))
    hours = [Decimal(rate) * HOURS_PER_MONTH for rate in rates]
    if mode == "reserved":
        assert prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None
        read, write = hours[0] * prices.reserved_read_unit_hour, hours[1] * prices.reserved_write_unit_hour
        return _Cost(read, write, throttled=throttled)
    return _Cost(*of_class.provisioned(*hours), throttled=throttled)


def costs(
    resources: Sequence[ResourceRecord],
    demands: dict[DirectionRecord, DirectionDemand],
    duration_s: int,
    prices: Prices,
    *,
    allowed_percent: float,
) -> Costs:
    """Returns all modes side by side, of the plan and of each resource. `allowed_percent`: what the cheapest
    mode may throttle."""
    reserved = prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None
    modes = [mode for mode in _MODES if mode != "reserved" or reserved]
    free_gb = prices.storage_free_gb
    found: dict[str, list[_Cost]] = {mode: [] for mode in modes}
    for record in resources:
        of_class = prices.of_class(record.virtual.table.infrequent)
        both = (demands[record.directions[0]], demands[record.directions[1]])
        gb = _size_gb(record)
        free = min(free_gb, gb) if of_class.storage_free_gb else Decimal(0)
        free_gb -= free
        storage = of_class.storage(gb, free)
        indexed = record.virtual.index is not None
        recovered = record.virtual.table.recovery and not indexed
        by_partitions = sum(map(_throttled_by_partitions, record.directions))
        for mode in modes:
            cost = _in_mode(mode, both, duration_s, prices, of_class)
            throttled = max(cost.throttled, by_partitions)
            if mode == "as-planned":
                throttled = sum(direction.throttled_half for direction in record.directions)
            found[mode].append(
                replace(
                    cost,
                    storage=storage,
                    other=gb * prices.recovery_gb_month if recovered else Decimal(0),
                    index=cost.read + cost.write + storage if indexed else Decimal(0),
                    throttled=throttled,
                    offered=sum(each.offered_half for each in both),
                )
            )
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


def _size_gb(record: ResourceRecord) -> Decimal:
    """Returns the size at the end of the run."""
    parts = record.virtual.resource.partitions.partitions
    return Decimal(sum(part.bytes + part.items * STORAGE_OVERHEAD_BYTES for part in parts)) / GB


def _throttled_by_partitions(direction: DirectionRecord) -> int:
    """Returns the half units that single partitions throttled in the run."""
    events = direction.events.total()
    return direction.throttled_half * direction.events[Cause.KEY_RANGE] // events if events else 0


def _mode_cost(mode: str, parts: Sequence[_Cost]) -> ModeCost:
    total = _Cost(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))
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
