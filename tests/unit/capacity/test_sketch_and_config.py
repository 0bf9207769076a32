"""The space-saving sketch, the named profiles, and alarms."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.capacity.config import PROFILES, CapacityConfig, parse_caps, profile
from faradisc.metrics.alarm_rule import AlarmRule
from faradisc.metrics.sketch import Sketch


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=300), st.integers(1, 12))
def test_a_sketch_bounds_its_error(stream: list[tuple[int, int]], size: int) -> None:
    """Weights are never too small, too large by `error` at most, and no heavy key is missed."""
    sketch: Sketch[int] = Sketch(size)
    truth: Counter[int] = Counter()
    for key, weight in stream:
        sketch.add(key, weight)
        truth[key] += weight
    held = {heavy.key: heavy for heavy in sketch.top()}
    assert len(held) <= size
    assert sketch.total == sum(truth.values()) == sum(heavy.weight for heavy in held.values())
    for key, heavy in held.items():
        assert heavy.least_weight <= truth[key] <= heavy.weight
        assert heavy.error * size <= sketch.total
    assert all(key in held for key, weight in truth.items() if weight * size > sketch.total)


def test_the_profiles_of_section_2_0() -> None:
    """Row by row: burst, first burst, debt, table bucket, EC factor, heat splits, failed conditions."""

    def row(config: CapacityConfig) -> tuple[object, ...]:
        return (
            config.enforce,
            config.burst_s,
            config.initial_burst_s,
            config.max_debt_s,
            config.table_bucket,
            config.eventual_read_factor,
            config.adaptive_delay_s,
            config.heat_split,
            config.failed_condition_charge,
        )

    assert set(PROFILES) == {"aws", "documented", "pessimistic", "classic-2017", "off"}
    assert row(profile("aws")) == (True, 300, 300, 10, True, (3, 2), None, True, "existing")
    assert row(profile("documented")) == (True, 300, 0, None, True, (1, 1), None, True, "max")
    assert row(profile("pessimistic")) == (True, 1, 0, None, True, (1, 1), None, False, "max")
    assert row(profile("classic-2017")) == (True, 300, 0, None, False, (1, 1), (300, 1800), False, "existing")
    assert profile("off").enforce is False
    assert profile("off").failed_condition_charge == "existing"


def test_names_and_caps_are_checked() -> None:
    assert parse_caps("30/10") == (30, 10, None)
    assert parse_caps("30/10/64MB") == (30, 10, 64 << 20)
    for text in ("30", "30/", "0/10", "a/b", "-1/2"):
        with pytest.raises(ValueError, match="READ/WRITE"):
            parse_caps(text)
    with pytest.raises(ValueError, match="classic-2017"):
        profile("fast")
    with pytest.raises(ValueError, match="at least 1"):
        profile("aws").with_partition_caps(0, 1)


def test_alarms() -> None:
    """Two of two points above, missing data in its four treatments."""
    rule = AlarmRule("GreaterThanThreshold", 10, 60, 2)
    assert rule.state([11, 12]) == "ALARM"
    assert rule.state([11, 10]) == "OK"
    assert rule.state([]) == "INSUFFICIENT_DATA"
    assert AlarmRule("LessThanThreshold", 10, 60, 2, missing="breaching").state([None, None]) == "ALARM"
    assert AlarmRule("LessThanThreshold", 10, 60, 2, missing="notBreaching").state([None, None]) == "OK"
    assert AlarmRule("LessThanThreshold", 10, 60, 2, missing="ignore").state([None, None], "ALARM") == "ALARM"
    assert AlarmRule("GreaterThanOrEqualToThreshold", 10, 60, 3, needed=2).state([10, 0, 10]) == "ALARM"
    assert AlarmRule("LessThanOrEqualToThreshold", 10, 60, 1).state([10]) == "ALARM"


INSUFFICIENT, RETAINED = "INSUFFICIENT_DATA", "retained"
MISSING_DATA = [
    # Datapoints to Alarm is 3, then 2; Evaluation Periods is 3.
    (3, "0-X-X", ["OK", "OK", "OK", "OK"]),
    (3, "0----", ["OK", "OK", "OK", "OK"]),
    (3, "-----", [INSUFFICIENT, RETAINED, "ALARM", "OK"]),
    (3, "0XX-X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (3, "--X--", ["ALARM", RETAINED, "ALARM", "OK"]),
    (2, "0-X-X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (2, "00X0X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (2, "0-X--", ["OK", "OK", "ALARM", "OK"]),
    (2, "----0", ["OK", "OK", "ALARM", "OK"]),
    (2, "---X-", ["ALARM", RETAINED, "ALARM", "OK"]),
]
"""Both tables of Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data"."""


@pytest.mark.parametrize(("needed", "points", "states"), MISSING_DATA)
def test_alarm_treats_missing_data_as_both_tables_of_the_service(
    needed: int, points: str, states: list[str]
) -> None:
    values = [{"0": 0, "X": 20, "-": None}[each] for each in points]
    for missing, state in zip(("missing", "ignore", "breaching", "notBreaching"), states, strict=True):
        rule = AlarmRule("GreaterThanThreshold", 10, 60, 3, needed, missing)  # type: ignore[arg-type]
        for before in ("OK", "ALARM", "INSUFFICIENT_DATA"):
            assert rule.state(values, before) == (before if state == RETAINED else state)  # type: ignore[arg-type]


@pytest.mark.parametrize("points", ["----X", "---X-"])
def test_alarm_waits_for_the_next_point_before_it_goes_to_alarm(points: str) -> None:
    values = [{"X": 20, "-": None}[each] for each in points]
    assert AlarmRule("GreaterThanThreshold", 10, 60, 3).state(values, "OK") == "OK"
