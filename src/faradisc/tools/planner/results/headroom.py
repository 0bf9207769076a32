"""Compares an on-demand table or index with the capacity of the doubling rule, and finds the warm throughput
that would have sufficed.

Demand includes retries; capacity is that of the beginning of each minute. Minutes in which a resource becomes
on-demand are left out.

Source: capacity.md sections 3.4 (part 8) and 2.8 (the doubling rule, warm throughput).
"""

from __future__ import annotations

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.results.demand import MINUTE_S
from faradisc.tools.planner.results.outcome import Headroom
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.simulation.recorder import DirectionRecord


class HeadroomNote:
    """Reads or writes of one resource, second by second, in half units."""

    def __init__(self, record: DirectionRecord, start_ns: int) -> None:
        self.record = record
        self._start_ns, self._passed_s = start_ns, 0
        self._seconds: list[int] = []
        """Demand in each second of the present minute that was on demand."""
        self._capacity = self._present()
        self._minutes: list[tuple[int, int, float, int]] = []
        """Beginning, capacity, mean demand in units, and half units of the busiest second of each minute."""
        self._short = False
        """Whether any second had more demand than capacity."""

    def _present(self) -> int | None:
        """Returns units per second of the doubling rule from now on; None unless on demand."""
        resource = self.record.virtual.resource
        now = self._start_ns + self._passed_s * SECOND_NS
        return resource.capacity(now)[1 if self.record.writes else 0] if resource.on_demand else None

    def end_second(self) -> None:
        """Requires: called before the record's own end_second."""
        self._passed_s += 1
        if self._capacity is not None and self.record.virtual.resource.on_demand:
            self._seconds.append(self.record.second_offered)
        if self._passed_s % MINUTE_S == 0:
            self._end_minute(self._passed_s - MINUTE_S)
            self._capacity = self._present()

    def _end_minute(self, begin_s: int) -> None:
        if self._capacity is not None and self._seconds:
            mean, peak = sum(self._seconds) / 2 / len(self._seconds), max(self._seconds)
            self._minutes.append((begin_s, self._capacity, mean, peak))
            self._short = self._short or self._servable(peak) > 2 * self._capacity
        self._seconds = []

    def _servable(self, half_units: int) -> int:
        """Returns what warm throughput can serve of a second's demand: it does not lift a maximum."""
        maximum = self.record.limiter.maximum
        return half_units if maximum is None else min(half_units, 2 * maximum.rate)

    def finish(self) -> Headroom | None:
        """Returns the headroom of the run; None without demand while on demand."""
        if self._passed_s % MINUTE_S:
            self._end_minute(self._passed_s - self._passed_s % MINUTE_S)
        busiest_second = max((peak for _, _, _, peak in self._minutes), default=0)
        if not busiest_second:
            return None
        left, at_s = min((1 - peak / 2 / capacity, begin_s) for begin_s, capacity, _, peak in self._minutes)
        over = [begin_s for begin_s, capacity, mean, _ in self._minutes if mean > capacity]
        warm = -(-self._servable(busiest_second) // 2) if self._short else None
        return Headroom(
            resource=self.record.virtual.name,
            direction="W" if self.record.writes else "R",
            capacity_first=self._minutes[0][1],
            capacity_last=self._minutes[-1][1],
            demand_minute=number(max(mean for _, _, mean, _ in self._minutes)),
            demand_second=number(busiest_second / 2),
            least_percent=number(100 * left),
            least_at_s=at_s,
            minutes_over=len(over),
            first_over_s=over[0] if over else None,
            warm_units=warm,
            words=self._words(left, warm, len(over)),
        )

    def _words(self, left: float, warm: int | None, over: int) -> str:
        if warm is None:
            return f"at least {100 * left:.0f} % of the capacity was left: no warm throughput is needed"
        config = self.record.virtual.resource.config
        quota = config.table_write_units if self.record.writes else config.table_read_units
        minutes = f"{over:,} {'minute' if over == 1 else 'minutes'}"
        times = minutes if over else "single seconds, no minute,"
        member = "WriteUnitsPerSecond" if self.record.writes else "ReadUnitsPerSecond"
        above = f", which is above the quota of {quota:,}" if warm > quota else ""
        return (
            f"{times} requested more than double the previous peak: warm throughput of {warm:,} {member} "
            f"would serve it, hot keys aside{above}"
        )
