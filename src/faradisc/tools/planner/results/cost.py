"""What a month would cost in every mode, if every day were like the run.

    on-demand          every consumed unit is paid once
    provisioned-peak   the busiest second of the run, all month
    provisioned-p99    what 99 of 100 seconds stay below, all month
    auto-scaling       the capacity that target tracking would have, worked out from the minutes' sums
    reserved           as provisioned-peak, at the plan's own prices for reserved units
    as-planned         what the plan says, integrated over the run

"Offered" units are the basis for all modes but the planned one, so that a mode is not cheap because it
refuses; what each would refuse is estimated from the seconds above its capacity, banked units left out, and
never less than what single partitions refused in the run, which no mode changes.

Money is `Decimal` to the end and rounded to cents once. Sources: capacity.md sections 3.4 (part 9) and 3.5;
vectors V140 to V146.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from faradisc.capacity.autoscaling import Policy, Tracking
from faradisc.capacity.config import MINUTE_NS, SECOND_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.capacity.throttle import Cause
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.tools.planner.plan_file.plan import Scaling
from faradisc.tools.planner.results.outcome import Costs, ModeCost, Number, ResourceCost, number
from faradisc.tools.planner.results.prices import GB, HOURS_PER_MONTH, ClassPrices, Prices
from faradisc.tools.planner.simulation.recorder import DirectionRecord, ResourceRecord

MONTH_S = HOURS_PER_MONTH * 3600
_CENT = Decimal("0.01")
_MINUTE_S = 60


@dataclass
class LaneLoad:
    """The demand of one lane, second by second, in half units: what costs are worked out from."""

    record: DirectionRecord
    seconds: Tally[int] = field(default_factory=Tally)
    """How many seconds asked for so much."""
    minutes: list[int] = field(default_factory=list)
    """Sums per minute."""
    provisioned_seconds: int = 0
    """Provisioned units times seconds; on demand not counted."""
    on_demand_half: int = 0
    """Half units consumed while on demand."""
    _minute: int = 0
    _in_minute: int = 0

    def end_second(self) -> None:
        """Call before the lane's own end_second."""
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

    def peak_units(self) -> int:
        """Whole units per second of the busiest second."""
        return max(-(-max(self.seconds, default=0) // 2), 1)

    def quantile_units(self, percent: int) -> int:
        """What so many percent of the seconds do not exceed."""
        total = self.seconds.total()
        seen = 0
        for half_units in sorted(self.seconds):
            seen += self.seconds[half_units]
            if seen * 100 >= total * percent:
                return max(-(-half_units // 2), 1)
        return 1

    def above(self, units: int) -> int:
        """Half units asked for beyond so many units per second."""
        return sum((half - 2 * units) * count for half, count in self.seconds.items() if half > 2 * units)


def scaled_minutes(minutes: list[int], settings: Scaling) -> tuple[int, int]:
    """What auto scaling would provision for these minutes' sums (half units): unit-minutes in all, and the
    half units asked for beyond it. Banked units are left out."""
    tracking = Tracking(
        settings.minimum,
        settings.maximum,
        Policy(
            settings.target_percent,
            settings.scale_out_cooldown_s,
            settings.scale_in_cooldown_s,
            settings.disable_scale_in,
        ),
    )
    first = minutes[0] if minutes else 0
    wanted = -(-first * 100 // int(2 * _MINUTE_S * settings.target_percent))
    present = max(settings.minimum, min(settings.maximum, wanted))
    log = DecreaseLog()
    unit_minutes = refused = 0
    pending: tuple[int, int] | None = None
    for number_, half_units in enumerate(minutes):
        # A minute is looked at when the next one has ended, and the change is there half a minute later.
        if number_ >= 2:
            begin = (number_ - 2) * MINUTE_NS
            decision = tracking.evaluate(begin, Fraction(minutes[number_ - 2], 2), present, log)
            if decision is not None and decision.skipped is None:
                if decision.wanted < present:
                    log.accept(decision.at_ns)
                pending = (present, decision.wanted)
                tracking.applied(decision)
                present = decision.wanted
        held = present if pending is None else sum(pending) // 2
        pending = None
        unit_minutes += held
        refused += max(half_units - 2 * _MINUTE_S * held, 0)
    return unit_minutes, refused


@dataclass(frozen=True, slots=True)
class _Sum:
    """The cost of one resource in one mode, exact."""

    read: Decimal
    write: Decimal
    throttled_half: int
    offered_half: int


def _in_mode(
    mode: str, loads: tuple[LaneLoad, LaneLoad], duration_s: int, prices: Prices, of_class: ClassPrices
) -> _Sum:
    """Read and write cost of a month, without storage."""
    months = Decimal(MONTH_S) / Decimal(duration_s)
    offered = sum(load.offered_half for load in loads)
    if mode == "on-demand":
        units = [Decimal(load.offered_half) / 2 * months for load in loads]
        return _Sum(*of_class.on_demand(units[0], units[1]), 0, offered)
    if mode == "auto-scaling":
        scaled = [scaled_minutes(load.minutes, _settings(load)) for load in loads]
        hours = [
            Decimal(unit_minutes)
            / 60
            * months
            * Decimal(duration_s)
            / Decimal(max(len(load.minutes), 1) * 60)
            for (unit_minutes, _), load in zip(scaled, loads, strict=True)
        ]
        return _Sum(*of_class.provisioned(hours[0], hours[1]), sum(refused for _, refused in scaled), offered)
    pick: Callable[[LaneLoad], int] = (
        (lambda load: load.quantile_units(99)) if mode == "provisioned-p99" else LaneLoad.peak_units
    )
    rates = [pick(load) for load in loads]
    refused = sum(load.above(rate) for load, rate in zip(loads, rates, strict=True))
    hours = [Decimal(rate) * HOURS_PER_MONTH for rate in rates]
    if mode == "reserved":
        assert prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None
        paid = (hours[0] * prices.reserved_read_unit_hour, hours[1] * prices.reserved_write_unit_hour)
        return _Sum(*paid, refused, offered)
    return _Sum(*of_class.provisioned(hours[0], hours[1]), refused, offered)


def _settings(load: LaneLoad) -> Scaling:
    """The plan's own auto scaling, or the console's: target 70, from 1 to what the quota allows."""
    rates = load.record.virtual.rates
    own = rates.write_scaling if load.record.writes else rates.read_scaling
    config = load.record.virtual.resource.config
    most = config.table_write_units if load.record.writes else config.table_read_units
    return own or Scaling.model_construct(minimum=1, maximum=most)


def _as_planned(
    loads: tuple[LaneLoad, LaneLoad], duration_s: int, of_class: ClassPrices, throttled_half: int
) -> _Sum:
    months = Decimal(MONTH_S) / Decimal(duration_s)
    hours = [Decimal(load.provisioned_seconds) / 3600 * months for load in loads]
    units = [Decimal(load.on_demand_half) / 2 * months for load in loads]
    provisioned, on_demand = of_class.provisioned(hours[0], hours[1]), of_class.on_demand(units[0], units[1])
    offered = sum(load.offered_half for load in loads)
    return _Sum(provisioned[0] + on_demand[0], provisioned[1] + on_demand[1], throttled_half, offered)


_TITLES = {
    "as-planned": "As planned",
    "on-demand": "On demand",
    "provisioned-peak": "Provisioned for the busiest second",
    "provisioned-p99": "Provisioned for 99 % of the seconds",
    "auto-scaling": "Provisioned with auto scaling",
    "reserved": "Reserved for the busiest second",
}
_WORDS = {
    "as-planned": "the rates the plan sets, integrated over the run; units consumed where it is on demand",
    "on-demand": "every offered unit, paid once",
    "provisioned-peak": "units of the busiest second, every hour of the month",
    "provisioned-p99": "units that 99 of 100 seconds stay below, every hour of the month",
    "auto-scaling": "target tracking over the run's minutes, from the plan's limits or at 70 %",
    "reserved": "units of the busiest second at the plan's price of reserved units",
}


def storage_cost(resources: list[ResourceRecord], prices: Prices) -> dict[str, tuple[Decimal, Decimal]]:
    """Storage and other monthly costs by resource, at the size of the run's end. The free part is shared by
    all in order."""
    free = prices.storage_free_gb
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for record in resources:
        member = record.virtual
        held = sum(
            part.bytes + part.items * STORAGE_OVERHEAD_BYTES for part in member.resource.partitions.partitions
        )
        gb = Decimal(held) / GB
        of_class = prices.of_class(member.table.infrequent)
        mine = min(free, gb) if of_class.storage_free_gb else Decimal(0)
        free -= mine
        recovery = (
            gb * prices.recovery_gb_month if member.table.recovery and member.index is None else Decimal(0)
        )
        found[member.name] = (of_class.storage(gb, mine), recovery)
    return found


def costs(
    resources: list[ResourceRecord],
    loads: dict[DirectionRecord, LaneLoad],
    duration_s: int,
    prices: Prices,
    throttled_half: dict[str, int],
    *,
    allowed_percent: float,
) -> Costs:
    """Returns all modes side by side, of the plan and of each resource. `throttled_half`: half units
    throttled in the run; `allowed_percent`: what the cheapest mode may throttle."""
    modes = ["as-planned", "on-demand", "provisioned-peak", "provisioned-p99", "auto-scaling"]
    if prices.reserved_read_unit_hour is not None and prices.reserved_write_unit_hour is not None:
        modes.append("reserved")
    storage = storage_cost(resources, prices)
    sums: dict[str, list[tuple[ResourceRecord, _Sum]]] = {mode: [] for mode in modes}
    for record in resources:
        both = (loads[record.directions[0]], loads[record.directions[1]])
        of_class = prices.of_class(record.virtual.table.infrequent)
        for mode in modes:
            if mode == "as-planned":
                found = _as_planned(both, duration_s, of_class, throttled_half[record.virtual.name])
            else:
                found = _in_mode(mode, both, duration_s, prices, of_class)
                found = replace(found, throttled_half=max(found.throttled_half, _by_partitions(record)))
            sums[mode].append((record, found))
    whole = _marked([_mode_cost(mode, sums[mode], storage) for mode in modes], allowed_percent)
    by_resource = []
    for position, record in enumerate(resources):
        rows = [_mode_cost(mode, [sums[mode][position]], storage) for mode in modes]
        by_resource.append(ResourceCost(record.virtual.name, _marked(rows, allowed_percent)))
    cheapest = next((mode.mode for mode in whole if mode.cheapest), "")
    return Costs(HOURS_PER_MONTH, prices.to_json(), whole, tuple(by_resource), cheapest)


def _by_partitions(record: ResourceRecord) -> int:
    """Half units that single partitions refused in the run."""
    total = 0
    for lane in record.directions:
        events = lane.events.total()
        if events:
            total += lane.throttled_half * lane.events[Cause.KEY_RANGE] // events
    return total


def _mode_cost(
    mode: str, sums: list[tuple[ResourceRecord, _Sum]], storage: dict[str, tuple[Decimal, Decimal]]
) -> ModeCost:
    read = sum((found.read for _, found in sums), Decimal(0))
    write = sum((found.write for _, found in sums), Decimal(0))
    kept = sum((storage[record.virtual.name][0] for record, _ in sums), Decimal(0))
    other = sum((storage[record.virtual.name][1] for record, _ in sums), Decimal(0))
    index = sum(
        (
            found.read + found.write + storage[record.virtual.name][0]
            for record, found in sums
            if record.virtual.index is not None
        ),
        Decimal(0),
    )
    offered = sum(found.offered_half for _, found in sums)
    refused = sum(found.throttled_half for _, found in sums)
    percent: Number = number(100 * refused / offered) if offered else 0
    return ModeCost(
        mode=mode,  # type: ignore[arg-type]
        title=_TITLES[mode],
        read_usd=_cents(read),
        write_usd=_cents(write),
        storage_usd=_cents(kept),
        other_usd=_cents(other),
        total_usd=_cents(read + write + kept + other),
        index_usd=_cents(index),
        throttled_percent=percent,
        cheapest=False,
        words=_WORDS[mode],
    )


def _marked(modes: list[ModeCost], allowed_percent: float) -> tuple[ModeCost, ...]:
    """Marks the cheapest mode among those that throttle no more than is allowed; the first of equal ones."""
    fair = [mode for mode in modes if mode.throttled_percent <= allowed_percent]
    best = min(fair, key=lambda mode: mode.total_usd, default=None)
    return tuple(replace(mode, cheapest=mode is best) for mode in modes)


def _cents(amount: Decimal) -> float:
    return float(amount.quantize(_CENT, ROUND_HALF_EVEN))


assert MINUTE_NS == _MINUTE_S * SECOND_NS
