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
