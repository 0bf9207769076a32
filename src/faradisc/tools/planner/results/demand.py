"""What the reads or the writes of one table or index ask for, and what serves them: one model for `plan`,
which runs the demand, and for `advise`, which observes it. In half units, before throttling.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from faradisc.capacity.config import MINUTE_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.capacity.partitions import AWS
from faradisc.records import dataclass, field
from faradisc.tools.planner.plan_file.plan import Scaling

MINUTE_S = 60
_SETTLED = 1440
"""Minutes after an event for which auto scaling is followed: a day, in which it returns to the base load."""


@dataclass(slots=True)
class DirectionDemand:
    """The demand for reads or writes of one table or index over a run or a recording."""

    seconds: Counter[int] = field(default_factory=Counter)
    """How many seconds asked for so many half units."""
    minutes: list[int] = field(default_factory=list)
    """Sums per minute, those without demand included."""
    provisioned_s: float = 0
    """Provisioned units times seconds, without those on demand."""
    on_demand_half: float = 0
    """Half units consumed while on demand."""
    throttled_half: float = 0
    """Half units that were asked for and not served."""
    repeated: DirectionDemand | None = None
    """The base load that lasts for the rest of the period of an event."""
    base_minutes: int = 0
    """How long it lasts."""

    @property
    def offered_half(self) -> int:
        return sum(half_units * count for half_units, count in self.seconds.items())

    @property
    def lasted_s(self) -> int:
        return max(self.seconds.total(), 1)

    def over(self, base: DirectionDemand, period_s: int) -> DirectionDemand:
        """Returns the demand of a period in which this one occurs once, and for the rest the base load."""
        rest_s = max(period_s - self.lasted_s, 0)
        times = rest_s / base.lasted_s
        seconds = Counter(self.seconds)
        seconds.update({half: round(count * times) for half, count in base.seconds.items()})
        return DirectionDemand(
            seconds,
            self.minutes,
            self.provisioned_s + base.provisioned_s * times,
            self.on_demand_half + base.on_demand_half * times,
            self.throttled_half + base.throttled_half * times,
            base,
            rest_s // MINUTE_S,
        )

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

    def scaled(self, settings: Scaling) -> tuple[float, int]:
        """Returns what auto scaling provisions on average, units, and the half units requested beyond it."""
        base, rest = self.repeated, self.base_minutes
        if base is None or not base.minutes:
            unit_minutes, beyond = scaled_minutes(self.minutes, settings)
            return unit_minutes / max(len(self.minutes), 1), beyond
        shown = min(rest, max(_SETTLED, len(base.minutes)))
        cycle = [base.minutes[minute % len(base.minutes)] for minute in range(shown)]
        unit_minutes, beyond = scaled_minutes([*self.minutes, *cycle], settings)
        steady, steadily_beyond = scaled_minutes(base.minutes, settings)
        times = (rest - shown) / len(base.minutes)
        return (
            (unit_minutes + steady * times) / max(len(self.minutes) + rest, 1),
            beyond + round(steadily_beyond * times),
        )

    def needed_units(self) -> int:
        """Returns the least units per second with which burst capacity, full at first, serves this demand
        minute by minute, and which serve it for good: its mean at least. Of its busiest second where minutes
        are not known."""
        if not self.minutes:
            return -(-max(self.seconds, default=0) // 2)
        most = -(-max(self.minutes) // (2 * MINUTE_S))
        mean = -(-sum(self.minutes) // (2 * MINUTE_S * len(self.minutes)))
        return mean + bisect_left(range(mean, most), True, key=self._is_served)

    def _is_served(self, rate: int) -> bool:
        gained, most = 2 * MINUTE_S * rate, 2 * AWS.burst_s * rate
        saved = most
        for half_units in self.minutes:
            saved = min(saved, most) + gained - half_units
            if saved < 0:
                return False
        return True


def scaled_minutes(minutes: Sequence[int], settings: Scaling) -> tuple[int, int]:
    """Returns what auto scaling provisions for the minutes' sums (half units): unit-minutes in all, and the
    half units requested beyond it, without burst capacity."""
    tracking = settings.tracking()
    first = minutes[0] if minutes else 0
    wanted = -(-first * 100 // int(2 * MINUTE_S * settings.target_percent))
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
        throttled += max(half_units - 2 * MINUTE_S * capacity, 0)
    return unit_minutes, throttled
