"""Metric math: an expression over series, calculated while it is read.

A value is a number, a series (time -> number), or an array of labelled series. Operators and element-wise
functions work on the times that both sides have; a number is the same at every time. What has no finite value
at a time (a division by zero) has no point there; a number that is none is a series without points.

    + - * / ^  - (sign)  == != < <= > >=  && ||        [m1, m2]   METRICS()   METRICS("prefix")
    ABS CEIL FLOOR LOG LOG10                           of each value
    AVG MAX MIN STDDEV SUM                             of a series: a number; of an array: a series
    DIFF RATE RUNNING_SUM FILL IF TIME_SERIES          series of series
    DATAPOINT_COUNT FIRST LAST METRIC_COUNT PERIOD     numbers, or a member of an array
    SEARCH('terms', 'statistic', period)               an array of what is found (search.py)
    SORT(array, AVG|MAX|MIN|SUM, ASC|DESC[, count])    members by what the function says of them
    SLICE(array, first[, end])   REMOVE_EMPTY(array)   some of the members

Other functions (ANOMALY_DETECTION_BAND, SELECT ...) are refused. Everything an expression may cost is
bounded: its depth, and the number of values touched.

Source: CloudWatch's user guide, "Using metric math"; the functions' documented meaning.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NoReturn

from faradisc.errors import ValidationException
from faradisc.services.cloudwatch.tokens import SEARCH_PERIOD_S, refuse, tokens, whole

Series = dict[int, float]
"""Beginning of the period in nanoseconds -> value, oldest first."""


@dataclass(frozen=True, slots=True)
class Array:
    """An ordered list of series with their labels."""

    members: list[Series]
    labels: list[str]

    def map(self, calculation: Callable[[Series], Series]) -> Array:
        return Array([calculation(member) for member in self.members], self.labels)

    def pick(self, positions: Iterable[int]) -> Array:
        chosen = list(positions)
        return Array([self.members[at] for at in chosen], [self.labels[at] for at in chosen])


Value = float | Series | Array
Search = Callable[[str, str, int], Array]
"""What finds metrics: terms, statistic and period in seconds -> their series. Raises: ValidationException."""

DEPTH_MAX: Final = 40
WORK_MAX: Final = 5_000_000
"""Values that the expressions of one request may touch."""

_BINDING: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/", 5),
    "^": 7,
}
_SIGN_BINDING: Final = 6

_OPERATIONS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "||": lambda a, b: float(bool(a) or bool(b)),
    "&&": lambda a, b: float(bool(a) and bool(b)),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
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


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


_OF_MANY: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "AVG": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "STDDEV": _deviation,
    "SUM": sum,
}


_FUNCTIONS: Final = frozenset(
    {*_OF_EACH, *_OF_MANY, "IF", "DIFF", "RATE", "RUNNING_SUM", "TIME_SERIES"}
    | {"DATAPOINT_COUNT", "METRIC_COUNT", "FIRST", "LAST", "SLICE", "REMOVE_EMPTY"}
)


@dataclass(slots=True)
class Work:
    """What the expressions of one request may still touch."""

    left: int = WORK_MAX

    def spend(self, values: int) -> None:
        """Raises: ValidationException."""
        self.left -= values + 1
        if self.left < 0:
            raise ValidationException("The expressions of this request are too large to calculate")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an expression can name."""

    values: Mapping[str, Value]
    """By id, those of expressions included."""
    metrics: Sequence[str]
    """The ids that are metrics, in the request's order."""
    periods_s: Mapping[str, int]
    """Of metrics."""
    times: Sequence[int]
    """Beginnings of all periods asked for: where a number becomes a series."""
    search: Search | None = None
    """None where an expression must not search: in alarms."""


def calculate(text: str, surroundings: Surroundings, work: Work) -> Value:
    """Raises: ValidationException for what is no expression, or has no meaning."""
    return _Reader(text, surroundings, work).result()


class _Reader:
    """Reads by binding strength; each operand is calculated as soon as it is read."""

    def __init__(self, text: str, surroundings: Surroundings, work: Work) -> None:
        self._text = text
        self._around = surroundings
        self._work = work
        self._tokens = [*tokens(text), ("end", "")]
        self._at = 0
        self._depth = 0

    def result(self) -> Value:
        value = self._expression(0)
        if self._tokens[self._at][0] != "end":
            self._refuse("unexpected " + self._tokens[self._at][1])
        return value

    def _refuse(self, why: str) -> NoReturn:
        refuse(self._text, why)

    def _next(self) -> tuple[str, str]:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _take(self, mark: str) -> bool:
        if self._tokens[self._at] == ("mark", mark):
            self._at += 1
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            self._refuse(f"{mark} expected")

    def _expression(self, least: int) -> Value:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._refuse("nested too deeply")
        left = self._operand()
        while True:
            kind, mark = self._tokens[self._at]
            binding = _BINDING.get(mark, 0) if kind == "mark" else 0
            if binding <= least:
                break
            self._at += 1
            left = self._combine(_OPERATIONS[mark], left, self._expression(binding))
        self._depth -= 1
        return left

    def _operand(self) -> Value:
        kind, token = self._next()
        if kind == "number":
            number = float(token)
            return number if math.isfinite(number) else self._refuse(f"{token} is too large")
        if kind == "name":
            return self._function(token) if self._take("(") else self._variable(token)
        if (kind, token) == ("mark", "("):
            value = self._expression(0)
            self._expect(")")
            return value
        if (kind, token) == ("mark", "["):
            begun = self._at
            members = self._list("]")
            labels = self._labels(begun, len(members))
            return Array([self._series(member) for member in members], labels)
        if (kind, token) == ("mark", "-"):
            return self._combine(operator.mul, -1.0, self._expression(_SIGN_BINDING))
        self._refuse(f"unexpected {token or 'end'}")

    def _variable(self, name: str) -> Value:
        value = self._around.values.get(name)
        if value is None:
            self._refuse(f"{name} is unknown")
        return value

    def _labels(self, begun: int, count: int) -> list[str]:
        """Of the members of a list that began at this token: what was written, where that is but an id."""
        written = self._tokens[begun : self._at - 1]
        ids = [
            token for position, (kind, token) in enumerate(written) if kind == "name" and position % 2 == 0
        ]
        return ids if len(ids) == count and len(written) == 2 * count - 1 else [""] * count

    def _list(self, end: str) -> list[Value]:
        if self._take(end):
            return []
        members = [self._expression(0)]
        while self._take(","):
            members.append(self._expression(0))
        self._expect(end)
        return members

    # --- Values ---

    def _series(self, value: Value) -> Series:
        """Raises: ValidationException for anything but a series."""
        if not isinstance(value, dict):
            self._refuse("a series is expected")
        return value

    def _number(self, value: Value) -> float:
        if not isinstance(value, float):
            self._refuse("a number is expected")
        return value

    def _spread(self, number: float) -> Series:
        return dict.fromkeys(self._around.times, number)

    def _each(self, calculation: Callable[..., float], *sides: Series) -> Series:
        """A calculation at every time that all sides have."""
        self._work.spend(sum(map(len, sides)))
        first, *rest = sides
        found: Series = {}
        for at in first:
            if all(at in side for side in rest):
                value = _finite(calculation, *(side[at] for side in sides))
                if value is not None:
                    found[at] = value
        return found

    def _combine(self, calculation: Callable[[float, float], float], left: Value, right: Value) -> Value:
        if isinstance(left, float) and isinstance(right, float):
            value = _finite(calculation, left, right)
            return {} if value is None else value
        if isinstance(left, Array) or isinstance(right, Array):
            return self._combine_arrays(calculation, left, right)
        if isinstance(left, float):
            number = left
            return self._each(lambda value: calculation(number, value), self._series(right))
        if isinstance(right, float):
            number = right
            return self._each(lambda value: calculation(value, number), left)
        return self._each(calculation, left, right)

    def _combine_arrays(
        self, calculation: Callable[[float, float], float], left: Value, right: Value
    ) -> Array:
        if isinstance(left, Array) and isinstance(right, Array):
            if len(left.members) != len(right.members):
                self._refuse("arrays of different lengths")
            pairs: list[tuple[Value, Value]] = list(zip(left.members, right.members, strict=True))
            labels = left.labels
        elif isinstance(left, Array):
            pairs, labels = [(member, right) for member in left.members], left.labels
        else:
            assert isinstance(right, Array)
            pairs, labels = [(left, member) for member in right.members], right.labels
        return Array([self._series(self._combine(calculation, *pair)) for pair in pairs], labels)

    # --- Functions ---

    def _function(self, name: str) -> Value:
        if name == "METRICS":
            return self._metrics()
        if name == "SEARCH":
            return self._search()
        if name == "SORT":
            return self._sort()
        if name == "PERIOD":
            return self._period()
        if name == "FILL":
            return self._fill()
        if name not in _FUNCTIONS:
            self._refuse(f"the function {name} is not offered by this version of Faradisc")
        arguments = self._list(")")
        if name in _OF_EACH:
            return self._of_each(_OF_EACH[name], self._only(arguments))
        if name in _OF_MANY:
            return self._of_many(_OF_MANY[name], self._only(arguments))
        if name == "IF":
            return self._if(arguments)
        if name == "SLICE":
            return self._slice(arguments)
        functions: dict[str, Callable[[Value], Value]] = {
            "DIFF": self._diff,
            "RATE": self._rate,
            "RUNNING_SUM": self._running_sum,
            "TIME_SERIES": self._time_series,
            "DATAPOINT_COUNT": lambda value: float(len(self._series(value))),
            "METRIC_COUNT": lambda value: float(len(value.members)) if isinstance(value, Array) else 1.0,
            "FIRST": lambda value: self._member(value, 0),
            "LAST": lambda value: self._member(value, -1),
            "REMOVE_EMPTY": self._remove_empty,
        }
        return functions[name](self._only(arguments))

    def _only(self, arguments: list[Value]) -> Value:
        if len(arguments) != 1:
            self._refuse("one argument is expected")
        return arguments[0]

    def _metrics(self) -> Array:
        kind, token = self._tokens[self._at]
        part = ""
        if kind == "text":
            part = token[1:-1]
            self._at += 1
        self._expect(")")
        ids = [id_ for id_ in self._around.metrics if part in id_]
        return Array([self._series(self._around.values[id_]) for id_ in ids], ids)

    def _quoted(self) -> str:
        kind, token = self._next()
        if kind != "text":
            self._refuse("a text in quotes is expected")
        return token[1:-1]

    def _whole(self) -> int:
        number = whole(self._next()[1])
        if number is None:
            self._refuse("a whole number is expected")
        return number

    def _search(self) -> Array:
        """SEARCH('terms', 'statistic'[, period])"""
        if self._around.search is None:
            self._refuse("an alarm cannot watch what a SEARCH finds")
        terms = self._quoted()
        self._expect(",")
        statistic = self._quoted()
        period_s = self._whole() if self._take(",") else SEARCH_PERIOD_S
        self._expect(")")
        return self._around.search(terms, statistic, period_s)

    def _sort(self) -> Array:
        """SORT(array, function, ASC|DESC[, count]); members without points come last."""
        array = self._array(self._expression(0))
        self._expect(",")
        _, function = self._next()
        self._expect(",")
        _, order = self._next()
        if function not in ("AVG", "MAX", "MIN", "SUM") or order not in ("ASC", "DESC"):
            self._refuse("SORT takes an array, AVG, MAX, MIN or SUM, ASC or DESC, and a count")
        count = self._whole() if self._take(",") else len(array.members)
        self._expect(")")
        self._work.spend(sum(map(len, array.members)))
        sign = 1 if order == "ASC" else -1

        def position(at: int) -> tuple[bool, float]:
            values = list(array.members[at].values())
            return not values, sign * _OF_MANY[function](values) if values else 0.0

        return array.pick(sorted(range(len(array.members)), key=position)[:count])

    def _slice(self, arguments: list[Value]) -> Value:
        """SLICE(array, first[, end]); without an end, one series."""
        if len(arguments) not in (2, 3):
            self._refuse("SLICE takes two or three arguments")
        array = self._array(arguments[0])
        first, *ends = (int(self._number(argument)) for argument in arguments[1:])
        if not ends:
            return self._member(array, first)
        return array.pick(range(len(array.members))[first : ends[0]])

    def _remove_empty(self, value: Value) -> Array:
        array = self._array(value)
        return array.pick(at for at, member in enumerate(array.members) if member)

    def _array(self, value: Value) -> Array:
        if not isinstance(value, Array):
            self._refuse("an array is expected")
        return value

    def _period(self) -> float:
        kind, name = self._next()
        self._expect(")")
        if kind != "name" or name not in self._around.periods_s:
            self._refuse("PERIOD takes the id of a metric")
        return float(self._around.periods_s[name])

    def _fill(self) -> Value:
        value = self._expression(0)
        self._expect(",")
        if self._tokens[self._at] == ("name", "REPEAT"):
            self._at += 1
            filling: float | None = None
        else:
            filling = self._number(self._expression(0))
        self._expect(")")
        if isinstance(value, Array):
            return value.map(lambda each: self._filled(each, filling))
        return self._filled(self._series(value), filling)

    def _filled(self, series: Series, filling: float | None) -> Series:
        """With a value at every time; None repeats the one before it."""
        self._work.spend(len(self._around.times))
        found: Series = {}
        last = filling
        for at in self._around.times:
            value = series.get(at, last)
            if value is not None:
                found[at] = value
            if filling is None:
                last = value
        return found

    def _of_each(self, calculation: Callable[[float], float], value: Value) -> Value:
        if isinstance(value, Array):
            return value.map(lambda series: self._each(calculation, series))
        if isinstance(value, dict):
            return self._each(calculation, value)
        number = _finite(calculation, value)
        return {} if number is None else number

    def _of_many(self, calculation: Callable[[Sequence[float]], float], value: Value) -> Value:
        if isinstance(value, float):
            self._refuse("a series or an array is expected")
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
        """IF(condition, then[, else]): times where neither is meant have no point."""
        if len(arguments) not in (2, 3):
            self._refuse("IF takes two or three arguments")
        if all(isinstance(argument, float) for argument in arguments):
            condition, *branches = arguments
            return branches[0] if condition else branches[1] if len(branches) == 2 else {}
        spread = [self._spread(each) if isinstance(each, float) else self._series(each) for each in arguments]
        self._work.spend(sum(map(len, spread)))
        condition_at, then, *otherwise = spread
        found: Series = {}
        for at, holds in condition_at.items():
            branch = then if holds else otherwise[0] if otherwise else {}
            if at in branch:
                found[at] = branch[at]
        return found

    def _diff(self, value: Value) -> Series:
        return self._steps(value, lambda difference, _: difference)

    def _rate(self, value: Value) -> Series:
        return self._steps(value, lambda difference, seconds: difference / seconds)

    def _steps(self, value: Value, calculation: Callable[[float, float], float]) -> Series:
        """From each point to the next."""
        series = list(self._series(value).items())
        self._work.spend(len(series))
        return {
            at: calculation(after - before, (at - earlier) / 1_000_000_000)
            for (earlier, before), (at, after) in pairwise(series)
        }

    def _running_sum(self, value: Value) -> Series:
        total = 0.0
        found: Series = {}
        for at, number in self._series(value).items():
            total += number
            found[at] = total
        self._work.spend(len(found))
        return found

    def _time_series(self, value: Value) -> Series:
        self._work.spend(len(self._around.times))
        return self._spread(self._number(value))

    def _member(self, value: Value, position: int) -> Series:
        members = self._array(value).members
        if not -len(members) <= position < len(members):
            self._refuse(f"the array has {len(members)} members")
        return members[position]


def _finite(calculation: Callable[..., float], *arguments: float) -> float | None:
    try:
        value = float(calculation(*arguments))
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else None
