"""Metric math: reads an expression and calculates it on the way.

    + - * / ^  - (sign)  == != < <= > >=  && ||        [m1, m2]
    ABS CEIL FLOOR LOG LOG10                           of each value
    AVG MAX MIN STDDEV SUM                             of a series: a number; of an array: a series
    DIFF RATE RUNNING_SUM FILL IF TIME_SERIES          series of series
    DATAPOINT_COUNT FIRST LAST METRIC_COUNT PERIOD     numbers, or a member of an array

Other functions (SEARCH, SORT, METRICS, ANOMALY_DETECTION_BAND ...) are rejected: an expression names its
metrics. The cost of an expression is bounded: its depth, and the number of values read. What operators and
functions do is in series_math.py.

Source: CloudWatch's user guide, "Using metric math"; the functions' documented meaning.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Final

from faradisc.records import dataclass
from faradisc.services.cloudwatch.series_math import (
    FUNCTIONS,
    OPERATIONS,
    Array,
    Calculator,
    Value,
    ValueBudget,
)
from faradisc.services.cloudwatch.tokens import tokens

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
    periods_s: Mapping[str, int]
    """Of metrics."""
    times: Sequence[int]
    """Beginnings of all periods of the request."""


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
        if name == "PERIOD":
            return self._period()
        if name == "FILL":
            return self._fill()
        if name not in FUNCTIONS:
            self._refuse(f"the function {name} is not offered by this version of Faradisc")
        return self._math.call(name, self._list(")"))

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
