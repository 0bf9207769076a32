"""Values of metric math, and the operators and functions on them.

A value is a number, a series, or an array of labelled series. Operators and functions of each value work on
the times that all sides have; a number counts as the same at every time. A result that is not finite (a
division by zero) has no point; a number that is not finite becomes a series without points.

Source: CloudWatch's user guide, "Using metric math".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, NoReturn

from faradisc.capacity.config import SECOND_NS
from faradisc.errors import ValidationException
from faradisc.records import dataclass
from faradisc.services.cloudwatch.tokens import refuse

Series = dict[int, float]
"""Beginning of the period in nanoseconds -> value, oldest first."""


@dataclass(frozen=True, slots=True)
class Array:
    """An ordered list of series with their labels."""

    members: list[Series]
    labels: list[str]

    def map(self, calculation: Callable[[Series], Series]) -> Array:
        return Array([calculation(member) for member in self.members], self.labels)


Value = float | Series | Array

WORK_MAX: Final = 5_000_000
"""Values that the expressions of one request may read."""


@dataclass(slots=True)
class ValueBudget:
    """How many values the expressions of one request may still read."""

    left: int = WORK_MAX

    def spend(self, values: int) -> None:
        """Raises ValidationException when too many values were read."""
        self.left -= values + 1
        if self.left < 0:
            raise ValidationException("The expressions of this request are too large to calculate")


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


OPERATIONS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "||": lambda a, b: float(bool(a) or bool(b)),
    "&&": lambda a, b: float(bool(a) and bool(b)),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": math.pow,
}
_OF_EACH: Final[Mapping[str, Callable[[float], float]]] = {
    "ABS": abs,
    "CEIL": math.ceil,
    "FLOOR": math.floor,
    "LOG": math.log,
    "LOG10": math.log10,
}
OF_MANY: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "AVG": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "STDDEV": _deviation,
    "SUM": sum,
}
FUNCTIONS: Final = frozenset(
    {*_OF_EACH, *OF_MANY, "IF", "DIFF", "RATE", "RUNNING_SUM", "TIME_SERIES"}
    | {"DATAPOINT_COUNT", "METRIC_COUNT", "FIRST", "LAST"}
)
"""Functions whose arguments are values."""


class Calculator:
    """Calculates the parts of one expression. Every method raises ValidationException for wrong arguments."""

    def __init__(self, text: str, times: Sequence[int], work: ValueBudget) -> None:
        """times: beginnings of all periods of the request, at which a number becomes a series."""
        self._text = text
        self._times = times
        self._work = work

    def refuse(self, why: str) -> NoReturn:
        """Raises ValidationException."""
        refuse(self._text, why)

    # --- Kinds of values ---

    def series(self, value: Value) -> Series:
        if not isinstance(value, dict):
            self.refuse("a series is expected")
        return value

    def number(self, value: Value) -> float:
        if not isinstance(value, float):
            self.refuse("a number is expected")
        return value

    def array(self, value: Value) -> Array:
        if not isinstance(value, Array):
            self.refuse("an array is expected")
        return value

    # --- Operators ---

    def combine(self, calculation: Callable[[float, float], float], left: Value, right: Value) -> Value:
        """Applies an operator."""
        if isinstance(left, float) and isinstance(right, float):
            value = _finite(calculation, left, right)
            return {} if value is None else value
        if isinstance(left, Array) or isinstance(right, Array):
            return self._combine_arrays(calculation, left, right)
        if isinstance(left, float):
            number = left
            return self._each(lambda value: calculation(number, value), self.series(right))
        if isinstance(right, float):
            number = right
            return self._each(lambda value: calculation(value, number), left)
        return self._each(calculation, left, right)

    def _combine_arrays(
        self, calculation: Callable[[float, float], float], left: Value, right: Value
    ) -> Array:
        if isinstance(left, Array) and isinstance(right, Array):
            if len(left.members) != len(right.members):
                self.refuse("arrays of different lengths")
            pairs: list[tuple[Value, Value]] = list(zip(left.members, right.members, strict=True))
            labels = left.labels
        elif isinstance(left, Array):
            pairs, labels = [(member, right) for member in left.members], left.labels
        else:
            assert isinstance(right, Array)
            pairs, labels = [(left, member) for member in right.members], right.labels
        return Array([self.series(self.combine(calculation, *pair)) for pair in pairs], labels)

    def _each(self, calculation: Callable[..., float], *sides: Series) -> Series:
        """Calculates at every time that all sides have."""
        self._work.spend(sum(map(len, sides)))
        first, *rest = sides
        found: Series = {}
        for at in first:
            if all(at in side for side in rest):
                value = _finite(calculation, *(side[at] for side in sides))
                if value is not None:
                    found[at] = value
        return found

    # --- Functions ---

    def call(self, name: str, arguments: list[Value]) -> Value:
        """Calculates one of FUNCTIONS."""
        if name == "IF":
            return self._if(arguments)
        if len(arguments) != 1:
            self.refuse("one argument is expected")
        value = arguments[0]
        if name in _OF_EACH:
            return self._of_each(_OF_EACH[name], value)
        if name in OF_MANY:
            return self._of_many(OF_MANY[name], value)
        functions: dict[str, Callable[[Value], Value]] = {
            "DIFF": lambda value: self._steps(value, lambda difference, _: difference),
            "RATE": lambda value: self._steps(value, operator.truediv),
            "RUNNING_SUM": self._running_sum,
            "TIME_SERIES": self._time_series,
            "DATAPOINT_COUNT": lambda value: float(len(self.series(value))),
            "METRIC_COUNT": lambda value: float(len(value.members)) if isinstance(value, Array) else 1.0,
            "FIRST": lambda value: self._member(value, 0),
            "LAST": lambda value: self._member(value, -1),
        }
        return functions[name](value)

    def _of_each(self, calculation: Callable[[float], float], value: Value) -> Value:
        if isinstance(value, Array):
            return value.map(lambda series: self._each(calculation, series))
        if isinstance(value, dict):
            return self._each(calculation, value)
        number = _finite(calculation, value)
        return {} if number is None else number

    def _of_many(self, calculation: Callable[[Sequence[float]], float], value: Value) -> Value:
        """Returns a number for a series, and a series for an array."""
        if isinstance(value, float):
            self.refuse("a series or an array is expected")
        if isinstance(value, dict):
            self._work.spend(len(value))
            return float(calculation(list(value.values()))) if value else 0.0
        self._work.spend(sum(map(len, value.members)))
        by_time: dict[int, list[float]] = {}
        for series in value.members:
            for at, number in series.items():
                by_time.setdefault(at, []).append(number)
        return {at: float(calculation(by_time[at])) for at in sorted(by_time)}

    def _if(self, arguments: list[Value]) -> Value:
        """IF(condition, then[, else]). A time without a value of its branch has no point."""
        if len(arguments) not in (2, 3):
            self.refuse("IF takes two or three arguments")
        if all(isinstance(argument, float) for argument in arguments):
            condition, *branches = arguments
            return branches[0] if condition else branches[1] if len(branches) == 2 else {}
        spread = [
            dict.fromkeys(self._times, each) if isinstance(each, float) else self.series(each)
            for each in arguments
        ]
        self._work.spend(sum(map(len, spread)))
        condition_at, then, *otherwise = spread
        found: Series = {}
        for at, holds in condition_at.items():
            branch = then if holds else otherwise[0] if otherwise else {}
            if at in branch:
                found[at] = branch[at]
        return found

    def _steps(self, value: Value, calculation: Callable[[float, float], float]) -> Series:
        """Calculates from the difference and the seconds between each point and the point before it."""
        series = list(self.series(value).items())
        self._work.spend(len(series))
        return {
            at: calculation(after - before, (at - earlier) / SECOND_NS)
            for (earlier, before), (at, after) in pairwise(series)
        }

    def _running_sum(self, value: Value) -> Series:
        series = self.series(value)
        self._work.spend(len(series))
        return dict(zip(series, accumulate(series.values()), strict=True))

    def _time_series(self, value: Value) -> Series:
        self._work.spend(len(self._times))
        return dict.fromkeys(self._times, self.number(value))

    def _member(self, value: Value, position: int) -> Series:
        members = self.array(value).members
        if not -len(members) <= position < len(members):
            self.refuse(f"the array has {len(members)} members")
        return members[position]

    def fill(self, value: Value, filling: float | None) -> Value:
        """FILL(value, filling): a value at every time; None repeats the value before."""
        if isinstance(value, Array):
            return value.map(lambda series: self._filled(series, filling))
        return self._filled(self.series(value), filling)

    def _filled(self, series: Series, filling: float | None) -> Series:
        self._work.spend(len(self._times))
        found: Series = {}
        last = filling
        for at in self._times:
            value = series.get(at, last)
            if value is not None:
                found[at] = value
            if filling is None:
                last = value
        return found


def _finite(calculation: Callable[..., float], *arguments: float) -> float | None:
    try:
        value = float(calculation(*arguments))
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else None
