"""Metric math: known values, rejected expressions, and bounds on the cost of an expression."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.errors import ValidationException
from faradisc.services.cloudwatch.arithmetic import DEPTH_MAX, Surroundings, calculate
from faradisc.services.cloudwatch.series_math import Array, Value, ValueBudget
from faradisc.services.cloudwatch.tokens import names_in

MINUTE = 60_000_000_000
TIMES = [minute * MINUTE for minute in range(4)]
AROUND = Surroundings(
    {
        "a": dict(zip(TIMES, (1.0, 2.0, 3.0, 4.0), strict=True)),
        "b": {TIMES[0]: 10.0, TIMES[2]: 0.0},
        "none": {},
        "ten": 10.0,
        "both": Array([{TIMES[0]: 1.0, TIMES[1]: 2.0}, {TIMES[1]: 5.0}], ["left", "right"]),
    },
    {"a": 60, "b": 60},
    TIMES,
)


def of(text: str) -> Value:
    return calculate(text, AROUND, ValueBudget())


def points(text: str) -> list[float | None]:
    """The value at each of the four minutes."""
    value = of(text)
    assert isinstance(value, dict)
    return [value.get(at) for at in TIMES]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 ^ 3 * 2", 16.0),
        ("-2 ^ 2", -4.0),
        ("8 - 3 - 2", 3.0),
        ("8 / 4 / 2", 1.0),
        ("1.5e2 + .5", 150.5),
        ("1 < 2 && 2 >= 3 || 1 == 1", 1.0),
        ("--3", 3.0),
        ("IF(0, 1, 2)", 2.0),
        ("SUM(a)", 10.0),
        ("AVG(a)", 2.5),
        ("MAX(a) - MIN(a)", 3.0),
        ("STDDEV([1 * a, 1 * a]) ", None),
        ("DATAPOINT_COUNT(b)", 2.0),
        ("METRIC_COUNT(both)", 2.0),
        ("PERIOD(a)", 60.0),
        ("SUM(none)", 0.0),
        ("ABS(-3) + CEIL(1.2) + FLOOR(1.8) + LOG10(100)", 8.0),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    found = of(text)
    assert found == value if value is not None else isinstance(found, dict)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 1", [2.0, 3.0, 4.0, 5.0]),
        ("1 - a", [0.0, -1.0, -2.0, -3.0]),
        ("a + b", [11.0, None, 3.0, None]),
        ("a / b", [0.1, None, None, None]),
        ("a > 2", [0.0, 0.0, 1.0, 1.0]),
        ("-a", [-1.0, -2.0, -3.0, -4.0]),
        ("a * ten", [10.0, 20.0, 30.0, 40.0]),
        ("IF(a > 2, a, 0)", [0.0, 0.0, 3.0, 4.0]),
        ("IF(a > 2, a)", [None, None, 3.0, 4.0]),
        ("FILL(b, 7)", [10.0, 7.0, 0.0, 7.0]),
        ("FILL(b, REPEAT)", [10.0, 10.0, 0.0, 0.0]),
        ("a + FILL(b, 0)", [11.0, 2.0, 3.0, 4.0]),
        ("SUM([a, b])", [11.0, 2.0, 3.0, 4.0]),
        ("MAX(both)", [1.0, 5.0, None, None]),
        ("SUM(both * 2)", [2.0, 14.0, None, None]),
        ("FIRST(both)", [1.0, 2.0, None, None]),
        ("LAST(both)", [None, 5.0, None, None]),
        ("DIFF(a)", [None, 1.0, 1.0, 1.0]),
        ("RATE(a) * 60", [None, 1.0, 1.0, 1.0]),
        ("RUNNING_SUM(a)", [1.0, 3.0, 6.0, 10.0]),
        ("TIME_SERIES(3)", [3.0, 3.0, 3.0, 3.0]),
        ("LOG(b - 10)", [None, None, None, None]),
        ("1 / 0", [None, None, None, None]),
        ("^".join("2" * 1000), [None, None, None, None]),
        ("a + 100 / SUM(none)", [None, None, None, None]),
    ],
)
def test_series(text: str, expected: list[float | None]) -> None:
    assert points(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("[a, b]", ["a", "b"]),
        ("[a, b + 1]", ["", ""]),
        ("both * 2 + both", ["left", "right"]),
        ("1 - both", ["left", "right"]),
        ("ABS(both)", ["left", "right"]),
        ("FILL(both, 0)", ["left", "right"]),
    ],
)
def test_labels_of_arrays(text: str, labels: list[str]) -> None:
    value = of(text)
    assert isinstance(value, Array)
    assert value.labels == labels and len(value.members) == len(labels)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a +",
        "a b",
        "(a",
        "[a, 1]",
        "unknown",
        "a $ 1",
        "SUM()",
        "SUM(a, b)",
        "SUM(1)",
        "PERIOD(ten)",
        "FIRST(a)",
        "FIRST([])",
        "LAST([])",
        "SLICE(both, 0)",
        "METRICS()",
        "TIME_SERIES(1e400)",
        "SORT(a, MAX, DESC)",
        "REMOVE_EMPTY(a)",
        "SEARCH('x')",
        "both + [a]",
        "RATE(1)",
        "IF(a)",
        "FILL(a)",
        "ANOMALY_DETECTION_BAND(a)",
        "SELECT AVG(x) FROM y",
        "(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1),
        "-" * 2000 + "1",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ValidationException, match=r"^Error in expression "):
        of(text)


def test_work_is_bounded() -> None:
    long = {minute * MINUTE: 1.0 for minute in range(1440)}
    around = Surroundings({"a": long}, {"a": 60}, list(long))
    with pytest.raises(ValidationException, match="too large"):
        calculate("+".join("a" * 1000), around, ValueBudget(1_000_000))


def test_names() -> None:
    assert names_in("SUM([a1, b]) / PERIOD(a1) + 2e3") == {"SUM", "a1", "b", "PERIOD"}


@given(st.text(alphabet="ab1.()[]+-*/^<>=&|, SUMIFETRCS\"'", max_size=60))
def test_any_text_is_calculated_or_refused(text: str) -> None:
    try:
        value = of(text)
    except ValidationException:
        return
    assert isinstance(value, (float, dict, Array))
