"""When the points of a metric put an alarm into which state.

Source: CloudWatch's evaluation rules as capacity.md section 2.13 uses them ("period x points").
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
Comparison = Literal[
    "GreaterThanThreshold",
    "GreaterThanOrEqualToThreshold",
    "LessThanThreshold",
    "LessThanOrEqualToThreshold",
]
Missing = Literal["missing", "notBreaching", "breaching", "ignore"]

Value = int | float | Fraction

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

    def state(self, points: Sequence[Value | None], before: State = "INSUFFICIENT_DATA") -> State:
        """Returns the state after these points, oldest first; None is a period without data."""
        latest = list(points)[-self.periods :]
        latest = [None] * (self.periods - len(latest)) + latest
        if all(point is None for point in latest) and self.missing in ("missing", "ignore"):
            return "INSUFFICIENT_DATA" if self.missing == "missing" else before
        needed = self.needed or self.periods
        breaching = sum(
            self.missing == "breaching" if point is None else self.breaches(point) for point in latest
        )
        if breaching >= needed:
            return "ALARM"
        undecided = sum(point is None for point in latest) if self.missing in ("missing", "ignore") else 0
        # Missing points may still arrive. While they could make the alarm breach, its state stays.
        return before if undecided and breaching + undecided >= needed and before != "ALARM" else "OK"
