"""Target tracking: alarms over consumption, and the changes of capacity that follow.

Two alarms drive a target. *High*: two one-minute sums in a row above the target. *Low*: fifteen in a row
below the target less 20 percentage points. Thresholds are set for a capacity and set again, with a new
history, after every change that the policy makes. Other changes of capacity are noticed after a quarter of an
hour (the service has two more alarms for that); until then the old alarms act, and a low alarm in state ALARM
reverts a manual raise within two minutes (V127).

A minute without data counts as 0 units.

Alarm states persist: an alarm stays in ALARM, and the policy acts again each minute.

`evaluate` returns a decision; the caller runs UpdateTable.

Source: capacity.md section 2.13; vectors V120 to V128.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from faradisc.capacity.config import MINUTE_NS, SECOND_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.metrics.alarm_rule import AlarmRule, State
from faradisc.records import asdict, dataclass, field

HIGH_POINTS = 2
LOW_POINTS = 15
LOW_GAP_PERCENT = 20
"""Percentage points from the target to the low threshold, which is a tenth of the target at least.
Assumed for targets other than 70."""
MAINTENANCE_NS = 15 * MINUTE_NS
"""Three points of five minutes until a foreign change of capacity is noticed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A target tracking policy."""

    target_percent: float
    """10 to 90."""
    scale_out_cooldown_s: int = 0
    scale_in_cooldown_s: int = 0
    disable_scale_in: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Delays the service does not publish. Assumed."""

    metric_delay_s: int = 60
    """From the end of a minute to the evaluation of its point."""
    reaction_s: int = 30
    """From an alarm's action to UpdateTable."""


@dataclass(frozen=True, slots=True)
class Rescale:
    """A change of capacity, or one that is not allowed."""

    at_ns: int
    """When UpdateTable is called."""
    present: int
    wanted: int
    why: Literal["high", "low", "minimum", "maximum"]
    skipped: str | None = None
    """Why the change is not allowed; None if it is."""
    point: Fraction = Fraction(0)
    """Units per second that caused it."""


def high_threshold(capacity: int, target_percent: float) -> Fraction:
    """Returns the units per minute above which the high alarm breaches (V120)."""
    return Fraction(capacity) * Fraction(target_percent) * 60 / 100


def low_threshold(capacity: int, target_percent: float) -> Fraction:
    """Returns the units per minute below which the low alarm breaches (V120)."""
    target = Fraction(target_percent)
    return Fraction(capacity) * max(target - LOW_GAP_PERCENT, target / 10) * 60 / 100


def wanted_capacity(units_per_s: Fraction, target_percent: float, low: int, high: int) -> int:
    """Returns the capacity of which this consumption is the target, within the limits."""
    exact = units_per_s * 100 / Fraction(target_percent)
    return max(low, min(high, -(-exact.numerator // exact.denominator)))


@dataclass(slots=True)
class Tracking:
    """One scalable target (a resource and a direction) with its policy."""

    minimum: int
    maximum: int
    policy: Policy
    timing: Timing = field(default_factory=Timing)
    drawn_for: int = 0
    """Capacity that the thresholds are set for; 0: not set yet."""
    points: list[Fraction] = field(default_factory=list)
    """Sums of the latest evaluated minutes, oldest first."""
    high_state: State = "INSUFFICIENT_DATA"
    low_state: State = "INSUFFICIENT_DATA"
    looked_ns: int = 0
    """End of the last evaluated minute."""
    foreign_since_ns: int | None = None
    """Since when the capacity is not the one that the alarms are set for."""
    scaled_out_ns: int | None = None
    scaled_in_ns: int | None = None

    def draw(self, capacity: int) -> None:
        """Sets both alarms for a capacity, with a new history."""
        self.drawn_for = capacity
        self.points = []
        self.high_state = self.low_state = "INSUFFICIENT_DATA"
        self.foreign_since_ns = None

    def rules(self) -> tuple[AlarmRule, AlarmRule]:
        """Returns the two driving alarms, high and low."""
        target = self.policy.target_percent
        high = AlarmRule("GreaterThanThreshold", high_threshold(self.drawn_for, target), 60, HIGH_POINTS)
        low = AlarmRule("LessThanThreshold", low_threshold(self.drawn_for, target), 60, LOW_POINTS)
        return high, low

    def enforce_limits(self, capacity: int, now: int) -> Rescale | None:
        """Returns the change that new limits cause at once: a capacity outside them is moved in (V126)."""
        if capacity < self.minimum:
            return Rescale(now, capacity, self.minimum, "minimum")
        if capacity > self.maximum:
            return Rescale(now, capacity, self.maximum, "maximum")
        return None

    def next_look_ns(self) -> int:
        """Returns when the next minute can be evaluated."""
        return self.looked_ns + MINUTE_NS + self.timing.metric_delay_s * SECOND_NS

    def evaluate(
        self, minute_ns: int, consumed: Fraction | int | float, capacity: int, decreases: DecreaseLog
    ) -> Rescale | None:
        """Evaluates the minute that began at `minute_ns`.

        Call once per minute in order, `metric_delay_s` after its end. `consumed`: its units, 0 without data.
        `capacity`: what is provisioned at the evaluation.
        """
        if not self.drawn_for:
            self.draw(capacity)
        end = self.looked_ns = minute_ns + MINUTE_NS
        now = end + self.timing.metric_delay_s * SECOND_NS
        self._notice_foreign_change(capacity, now)
        self.points = [*self.points, Fraction(consumed)][-LOW_POINTS:]
        high, low = self.rules()
        self.high_state = (
            high.state(self.points, self.high_state) if len(self.points) >= high.periods else "OK"
        )
        # A young history decides nothing, and the state that was there stays.
        if len(self.points) >= LOW_POINTS:
            self.low_state = low.state(self.points, self.low_state)
        if self.high_state == "ALARM":
            return self._scale_out(capacity, now)
        if self.low_state == "ALARM":
            return self._scale_in(capacity, now, decreases)
        return None

    def _notice_foreign_change(self, capacity: int, now: int) -> None:
        if capacity == self.drawn_for:
            self.foreign_since_ns = None
        elif self.foreign_since_ns is None:
            self.foreign_since_ns = now
        elif now - self.foreign_since_ns >= MAINTENANCE_NS:
            self.draw(capacity)

    def _scale_out(self, capacity: int, now: int) -> Rescale | None:
        point, wanted = self._wanted(self.points[-1])
        if wanted <= capacity:
            return None
        return Rescale(now + self.timing.reaction_s * SECOND_NS, capacity, wanted, "high", point=point)

    def _scale_in(self, capacity: int, now: int, decreases: DecreaseLog) -> Rescale | None:
        point, wanted = self._wanted(max(self.points))
        if wanted >= capacity or self.policy.disable_scale_in:
            return None
        if _cooling(self.scaled_in_ns, self.policy.scale_in_cooldown_s, now):
            return None
        at = now + self.timing.reaction_s * SECOND_NS
        skipped = None if decreases.allowed(at) else decreases.text(at)
        return Rescale(at, capacity, wanted, "low", skipped, point)

    def _wanted(self, point: Fraction) -> tuple[Fraction, int]:
        """Returns units per second of a point, and the capacity for them."""
        units_per_s = point / 60
        target = self.policy.target_percent
        return units_per_s, wanted_capacity(units_per_s, target, self.minimum, self.maximum)

    def applied(self, decision: Rescale) -> None:
        """Records that the decision's change was made: new thresholds and history, and a cooldown unless
        limits caused it."""
        self.draw(decision.wanted)
        if decision.why == "high":
            self.scaled_out_ns = decision.at_ns
            self.scaled_in_ns = None  # scaling out interrupts a scale-in cooldown
        elif decision.why == "low":
            self.scaled_in_ns = decision.at_ns

    def to_json(self) -> dict[str, Any]:
        stored = asdict(self)
        stored["points"] = [str(point) for point in self.points]
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Tracking:
        return cls(
            **{
                **stored,
                "policy": Policy(**_known(stored["policy"])),
                "timing": Timing(**stored["timing"]),
                "points": [Fraction(point) for point in stored["points"]],
            }
        )


def _known(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a stored policy without `own_metric`, which data of before November 2026 has."""
    return {name: value for name, value in policy.items() if name != "own_metric"}


def _cooling(since_ns: int | None, cooldown_s: int, now: int) -> bool:
    return since_ns is not None and now < since_ns + cooldown_s * SECOND_NS
