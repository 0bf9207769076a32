"""Compares an on-demand table or index with the capacity of the doubling rule, and finds the warm throughput
that would have sufficed.

Demand includes retries; capacity is that of the beginning of each minute. Minutes in which a resource becomes
on-demand are left out.

Source: capacity.md sections 3.4 (part 8) and 2.8 (the doubling rule, warm throughput).
"""

from __future__ import annotations

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.results.outcome import Headroom, number
from faradisc.tools.planner.simulation.recorder import DirectionRecord

_MINUTE_S = 60


class HeadroomNote:
    """Reads or writes of one resource, second by second, in half units."""

    def __init__(self, record: DirectionRecord, start_ns: int) -> None:
        self.record = record
        self._start_ns = start_ns
        self._passed_s = 0
        self._seconds = 0
        """Seconds of the present minute that were on demand."""
        self._sum = 0
        self._peak = 0
        # Of the run.
        self._first_capacity: int | None = None
        self._capacity = self._present()
        self._last_capacity = 0
        self._busiest_second = 0
        self._busiest_minute = 0.0
        self._least: tuple[float, int] | None = None
        """The least part of a minute's capacity that was left in its busiest second, and when."""
        self._over = 0
        self._first_over_s: int | None = None
        self._short = False
        """Whether any second had more demand than capacity."""

    def _present(self) -> int | None:
        """Returns units per second of the doubling rule from now on; None unless on demand."""
        resource = self.record.virtual.resource
        if not resource.on_demand:
            return None
        now = self._start_ns + self._passed_s * SECOND_NS
        return resource.capacity(now)[1 if self.record.writes else 0]

    def end_second(self) -> None:
        """Requires: called before the record's own end_second."""
        self._passed_s += 1
        if self._capacity is not None and self.record.virtual.resource.on_demand:
            offered = self.record.second_offered
            self._seconds += 1
            self._sum += offered
            self._peak = max(self._peak, offered)
        if self._passed_s % _MINUTE_S == 0:
            self._end_minute(self._passed_s - _MINUTE_S)
            self._capacity = self._present()

    def _end_minute(self, begin_s: int) -> None:
        capacity = self._capacity
        if capacity is not None and self._seconds:
            mean, peak = self._sum / 2 / self._seconds, self._peak
            if self._first_capacity is None:
                self._first_capacity = capacity
            self._last_capacity = capacity
            self._busiest_minute = max(self._busiest_minute, mean)
            self._busiest_second = max(self._busiest_second, peak)
            left = 1 - peak / 2 / capacity
            if self._least is None or left < self._least[0]:
                self._least = (left, begin_s)
            self._short = self._short or self._servable(peak) > 2 * capacity
            if mean > capacity:
                self._over += 1
                if self._first_over_s is None:
                    self._first_over_s = begin_s
        self._seconds = self._sum = self._peak = 0

    def _servable(self, half_units: int) -> int:
        """Returns what warm throughput can serve of a second's demand: it does not lift a maximum."""
        maximum = self.record.limiter.maximum
        return half_units if maximum is None else min(half_units, 2 * maximum.rate)

    def finish(self) -> Headroom | None:
        """Returns the headroom of the run; None without demand while on demand."""
        if self._passed_s % _MINUTE_S:
            self._end_minute(self._passed_s - self._passed_s % _MINUTE_S)
        if not self._busiest_second or self._least is None or self._first_capacity is None:
            return None
        left, at_s = self._least
        warm = -(-self._servable(self._busiest_second) // 2) if self._short else None
        return Headroom(
            resource=self.record.virtual.name,
            direction="W" if self.record.writes else "R",
            capacity_first=self._first_capacity,
            capacity_last=self._last_capacity,
            demand_minute=number(self._busiest_minute),
            demand_second=number(self._busiest_second / 2),
            least_percent=number(100 * left),
            least_at_s=at_s,
            minutes_over=self._over,
            first_over_s=self._first_over_s,
            warm_units=warm,
            words=self._words(left, warm),
        )

    def _words(self, left: float, warm: int | None) -> str:
        if warm is None:
            return f"at least {100 * left:.0f} % of the capacity was left: no warm throughput is needed"
        config = self.record.virtual.resource.config
        quota = config.table_write_units if self.record.writes else config.table_read_units
        minutes = f"{self._over:,} {'minute' if self._over == 1 else 'minutes'}"
        times = minutes if self._over else "single seconds, no minute,"
        member = "WriteUnitsPerSecond" if self.record.writes else "ReadUnitsPerSecond"
        above = f", which is above the quota of {quota:,}" if warm > quota else ""
        return (
            f"{times} requested more than double the previous peak: warm throughput of {warm:,} {member} "
            f"would serve it, hot keys aside{above}"
        )
