"""Metric math: reads an expression and calculates it on the way.

    + - * / ^  - (sign)  == != < <= > >=  && ||        [m1, m2]   METRICS()   METRICS("prefix")
    ABS CEIL FLOOR LOG LOG10                           of each value
    AVG MAX MIN STDDEV SUM                             of a series: a number; of an array: a series
    DIFF RATE RUNNING_SUM FILL IF TIME_SERIES          series of series
    DATAPOINT_COUNT FIRST LAST METRIC_COUNT PERIOD     numbers, or a member of an array
    SEARCH('terms', 'statistic', period)               an array of the metrics found (search.py)
    SORT(array, AVG|MAX|MIN|SUM, ASC|DESC[, count])    members in order of a function of them
    SLICE(array, first[, end])   REMOVE_EMPTY(array)   some of the members

Other functions (ANOMALY_DETECTION_BAND, SELECT ...) are rejected. The cost of an expression is bounded: its
depth, and the number of values read. What operators and functions do is in series_math.py.

Source: CloudWatch's user guide, "Using metric math"; the functions' documented meaning.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from faradisc.services.cloudwatch.series_math import (
    FUNCTIONS,
    OPERATIONS,
    Array,
    Calculator,
    Value,
    ValueBudget,
)
from faradisc.services.cloudwatch.tokens import SEARCH_PERIOD_S, tokens, whole

Search = Callable[[str, str, int], Array]
"""Finds metrics by terms, with a statistic and a period in seconds. Raises ValidationException."""

DEPTH_MAX: Final = 40

_BINDING: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/", 5),
    "^": 7,
}
_SIGN_BINDING: Final = 6


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
    """Beginnings of all periods of the request."""
    search: Search | None = None
    """None where an expression must not search: in alarms."""


def calculate(text: str, surroundings: Surroundings, work: ValueBudget) -> Value:
    """Returns the value of an expression. Raises ValidationException."""
    return _Reader(text, surroundings, work).result()


class _Reader:
    """Reads operands by the precedence of operators; each is calculated as soon as it is read."""

    def __init__(self, text: str, surroundings: Surroundings, work: ValueBudget) -> None:
        self._around = surroundings
        self._math = Calculator(text, surroundings.times, work)
        self._refuse = self._math.refuse
        self._tokens = [*tokens(text), ("end", "")]
        self._at = 0
        self._depth = 0

    def result(self) -> Value:
        value = self._expression(0)
        if self._tokens[self._at][0] != "end":
            self._refuse("unexpected " + self._tokens[self._at][1])
        return value

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
            left = self._math.combine(OPERATIONS[mark], left, self._expression(binding))
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
            return Array([self._math.series(member) for member in members], labels)
        if (kind, token) == ("mark", "-"):
            return self._math.combine(operator.mul, -1.0, self._expression(_SIGN_BINDING))
        self._refuse(f"unexpected {token or 'end'}")

    def _variable(self, name: str) -> Value:
        value = self._around.values.get(name)
        if value is None:
            self._refuse(f"{name} is unknown")
        return value

    def _labels(self, begun: int, count: int) -> list[str]:
        """Returns labels of the members of a list that began at this token: ids, if every member is one."""
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
        if name not in FUNCTIONS:
            self._refuse(f"the function {name} is not offered by this version of Faradisc")
        return self._math.call(name, self._list(")"))

    def _metrics(self) -> Array:
        kind, token = self._tokens[self._at]
        part = ""
        if kind == "text":
            part = token[1:-1]
            self._at += 1
        self._expect(")")
        ids = [id_ for id_ in self._around.metrics if part in id_]
        return Array([self._math.series(self._around.values[id_]) for id_ in ids], ids)

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
        array = self._math.array(self._expression(0))
        self._expect(",")
        _, function = self._next()
        self._expect(",")
        _, order = self._next()
        if function not in ("AVG", "MAX", "MIN", "SUM") or order not in ("ASC", "DESC"):
            self._refuse("SORT takes an array, AVG, MAX, MIN or SUM, ASC or DESC, and a count")
        count = self._whole() if self._take(",") else None
        self._expect(")")
        return self._math.sort(array, function, order, count)

    def _period(self) -> float:
        kind, name = self._next()
        self._expect(")")
        if kind != "name" or name not in self._around.periods_s:
            self._refuse("PERIOD takes the id of a metric")
        return float(self._around.periods_s[name])

    def _fill(self) -> Value:
        value = self._expression(0)
        self._expect(",")
        filling: float | None = None
        if self._tokens[self._at] == ("name", "REPEAT"):
            self._at += 1
        else:
            filling = self._math.number(self._expression(0))
        self._expect(")")
        return self._math.fill(value, filling)
