"""What a resource is set to, and what it has been able to serve.

An on-demand resource serves up to twice its previous peak at once. A peak, the average of one minute, counts
as previous half an hour after it was reached. What a resource serves never falls: `warm` is the one memory of
it, and the WarmThroughput of DescribeTable. No bucket limits an on-demand resource: when its capacity grows,
partitions are added, and their limits are what a client notices.

Source: capacity.md section 2.8; vectors V82, V83, V104 to V106.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from faradisc.capacity.config import SECOND_NS, UNIT, CapacityConfig
from faradisc.limits import ON_DEMAND_READ_UNITS_INITIAL, ON_DEMAND_WRITE_UNITS_INITIAL
from faradisc.records import asdict, dataclass, field

Units = tuple[int, int]
"""Read and write units per second."""


def largest(one: Units, other: Units) -> Units:
    """Returns the larger read units and the larger write units."""
    return max(one[0], other[0]), max(one[1], other[1])


@dataclass(slots=True)
class Warm:
    """WarmThroughput of a resource: what it has been able to serve. Never falls."""

    read_units: int
    write_units: int
    target: Units | None = None
    """What a running raise will reach."""
    ready_ns: int = 0
    raised: bool = False
    """Whether it was raised by request before; later raises are quick."""

    @property
    def units(self) -> Units:
        return self.read_units, self.write_units

    def reach(self, read_units: int, write_units: int) -> None:
        self.read_units, self.write_units = largest(self.units, (read_units, write_units))

    @property
    def promised(self) -> Units:
        """What is served, or will be when a running raise has ended."""
        return largest(self.units, self.target or (0, 0))

    def begin(self, read_units: int, write_units: int, ready_ns: int) -> None:
        """Begins a raise. Raises ValueError for less than is promised."""
        least_read, least_write = self.promised
        if read_units < least_read or write_units < least_write:
            raise ValueError("warm throughput is never lowered")
        self.target = (read_units, write_units)
        self.ready_ns = ready_ns

    def finish(self, now: int) -> bool:
        """Ends a raise that is ready. Returns whether there was one."""
        if self.target is None or now < self.ready_ns:
            return False
        self.reach(*self.target)
        self.target = None
        self.raised = True
        return True

    def describe(self) -> dict[str, Any]:
        """Returns the WarmThroughput member of DescribeTable."""
        return {
            "ReadUnitsPerSecond": self.read_units,
            "WriteUnitsPerSecond": self.write_units,
            "Status": "ACTIVE" if self.target is None else "UPDATING",
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Warm:
        target = stored["target"]
        return cls(**{**stored, "target": (target[0], target[1]) if target else None})


class Peaks:
    """Peaks of one direction that do not count yet: (beginning of the minute, nano-units per second).

    Only a minute above all earlier ones can matter, so both numbers ascend.
    """

    __slots__ = ("delay_ns", "quota", "waiting")

    def __init__(self, delay_ns: int, quota: int) -> None:
        self.delay_ns = delay_ns
        self.quota = quota
        """Growth alone serves no more units per second than this."""
        self.waiting: deque[tuple[int, int]] = deque()

    def observe(self, minute_ns: int, nano_per_s: int, served: int) -> None:
        """Takes in a minute's average. `served`: units per second of the resource."""
        highest = self.waiting[-1][1] if self.waiting else served * UNIT // 2
        if nano_per_s > highest:
            self.waiting.append((minute_ns, nano_per_s))

    def capacity(self, served: int, now: int) -> int:
        """Returns the units per second that are served at `now`: twice the highest peak that counts."""
        due = [nano for at_ns, nano in self.waiting if at_ns <= now - self.delay_ns]
        return max(served, min(self.quota, 2 * due[-1] // UNIT)) if due else served

    def expire(self, now: int) -> None:
        """Drops peaks that count."""
        while self.waiting and self.waiting[0][0] <= now - self.delay_ns:
            self.waiting.popleft()


@dataclass(slots=True)
class ProvisioningState:
    """Capacity mode, rates and maxima of a resource, and what it has served."""

    on_demand: bool
    read_units: int
    write_units: int
    max_read: int | None
    max_write: int | None
    """Configured maximum of an on-demand resource; None: there is none."""
    highest: Units
    """The most units that were ever provisioned, or that splits were begun for."""
    warm: Warm
    peaks: tuple[Peaks, Peaks] = field(repr=False)

    @classmethod
    def new(
        cls,
        config: CapacityConfig,
        units: Units,
        *,
        on_demand: bool,
        maximum: tuple[int | None, int | None],
    ) -> ProvisioningState:
        delay_ns = config.growth_s * SECOND_NS
        state = cls(
            on_demand,
            *units,
            *maximum,
            units,
            Warm(*units),
            (Peaks(delay_ns, config.table_read_units), Peaks(delay_ns, config.table_write_units)),
        )
        if on_demand:
            state.warm.reach(*_initial_on_demand(units))
        return state

    @property
    def rates(self) -> Units:
        return self.read_units, self.write_units

    def set_provisioned(self, units: Units) -> None:
        self.on_demand = False
        self.read_units, self.write_units = units
        self.max_read = self.max_write = None
        self.warm.reach(*units)

    def set_on_demand(self) -> None:
        """Serves the initial capacity, or the most that was ever provisioned (V106)."""
        self.on_demand = True
        self.read_units = self.write_units = 0
        self.warm.reach(*_initial_on_demand(self.highest))

    def raise_highest(self, units: Units) -> bool:
        """Returns whether these units exceed what was ever provisioned, and records them."""
        if not self.exceeds_highest(units):
            return False
        self.highest = largest(self.highest, units)
        return True

    def exceeds_highest(self, units: Units) -> bool:
        return units[0] > self.highest[0] or units[1] > self.highest[1]

    def capacity(self, now: int) -> Units:
        """Returns what an on-demand resource serves per second."""
        reads, writes = self.peaks
        return reads.capacity(self.warm.read_units, now), writes.capacity(self.warm.write_units, now)

    def end_minute(self, position: int, minute_ns: int, nano_per_s: int, at: int) -> int | None:
        """Takes in the average of an on-demand resource's minute. Returns the units that are served from now
        on if that is more than before."""
        peaks, served = self.peaks[position], self.warm.units[position]
        peaks.observe(minute_ns, nano_per_s, served)
        units = peaks.capacity(served, at)
        peaks.expire(at)
        self.warm.reach(*((units, 0) if position == 0 else (0, units)))
        return units if units > served else None

    def set_previous_peak(self, units: Units) -> None:
        """Serves twice these units, as after a peak."""
        self.warm.reach(*(min(peaks.quota, 2 * each) for peaks, each in zip(self.peaks, units, strict=True)))

    def to_json(self) -> dict[str, Any]:
        return {
            "highest": list(self.highest),
            "warm": self.warm.to_json(),
            "peaks": [[list(peak) for peak in peaks.waiting] for peaks in self.peaks],
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Takes over what was stored; the present settings stay."""
        present = self.warm.units
        before = stored["highest"], stored.get("prepared", (0, 0))
        for units in before:
            self.highest = largest(self.highest, (units[0], units[1]))
        self.warm = Warm.from_json(stored["warm"])
        self.warm.reach(*present)
        if "peaks" in stored:
            waiting = stored["peaks"]
        else:  # a row of an earlier version
            growth = stored["growth"]
            waiting = [each["waiting"] for each in growth]
            self.warm.reach(*(each["initial"] for each in growth))
            self.set_previous_peak((growth[0]["previous"] // UNIT, growth[1]["previous"] // UNIT))
        for peaks, rows in zip(self.peaks, waiting, strict=True):
            peaks.waiting = deque((at_ns, nano) for at_ns, nano in rows)


def _initial_on_demand(highest: Units) -> Units:
    return largest((ON_DEMAND_READ_UNITS_INITIAL, ON_DEMAND_WRITE_UNITS_INITIAL), highest)
