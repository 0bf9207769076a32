"""When the points of a metric put an alarm into which state.

Sources: CloudWatch's evaluation rules as capacity.md section 2.13 uses them ("period x points"); Amazon
CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data": two tables, and the rule that
avoids premature transitions. By it an alarm whose points are breaching or missing goes to ALARM when the
oldest breaching one is as old as the points it needs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Literal

from faradisc.records import dataclass

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
Comparison = Literal[
    "GreaterThanThreshold",
    "GreaterThanOrEqualToThreshold",
    "LessThanThreshold",
    "LessThanOrEqualToThreshold",
]
Missing = Literal["missing", "notBreaching", "breaching", "ignore"]

Value = int | float | Fraction

BEYOND: Final = 2
"""Points retrieved beyond the periods of an alarm. Both tables have 5 for 3; assumed for other numbers."""

_COMPARE: dict[Comparison, Callable[[Value, Value], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


@dataclass(frozen=True, slots=True)
class AlarmRule:
    """An alarm whose state is ALARM when `needed` of the last `periods` points breach the threshold."""

    comparison: Comparison
    threshold: Value
    period_s: int
    periods: int
    needed: int | None = None
    """None: all of them."""
    missing: Missing = "missing"

    def breaches(self, value: Value) -> bool:
        return _COMPARE[self.comparison](value, self.threshold)

    @property
    def range(self) -> int:
        """How many of the latest points are retrieved, as some of the last `periods` may be missing."""
        return self.periods + BEYOND

    def evaluated(self, points: Sequence[Value | None]) -> list[Value]:
        """Returns the real ones among the latest points, oldest first: `periods` at most."""
        return [point for point in points[-self.range :] if point is not None][-self.periods :]

    def state(self, points: Sequence[Value | None], before: State = "INSUFFICIENT_DATA") -> State:
        """Returns the state after these points, oldest first; None is a period without data."""
        real = self.evaluated(points)
        filled = self.periods - len(real)
        needed = self.needed or self.periods
        breaching = sum(map(self.breaches, real))
        if filled and self.missing == "breaching":
            breaching += filled
        if breaching >= needed:
            return "ALARM"
        if filled and self.missing in ("missing", "ignore") and breaching == len(real):
            # Only missing points speak against ALARM.
            if self.missing == "ignore":
                return before
            if not real:
                return "INSUFFICIENT_DATA"
            latest = list(points)[-self.range :]
            age = len(latest) - next(at for at, point in enumerate(latest) if point is not None)
            return "ALARM" if age >= needed else "OK"
        return "OK"
