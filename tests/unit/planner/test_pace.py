"""How finely admissions are run, and how much of the time: what a plan's size and traffic allow."""

from __future__ import annotations

import pytest

from faradisc.tools.planner import pace
from faradisc.tools.planner.pace import Pace, find_pace
from faradisc.tools.planner.simulation.recorder import RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.streams import Flow
from unit.planner.planned import planned

FINEST = pace.PACKET_S[0]


def pace_of(
    duration: str = "24h",
    *,
    partitions: int = 4,
    large: str = "100",
    small: float = 1000,
    keys: str = "{uniform: 100000}",
    retries: str = "standard",
) -> Pace | None:
    plan = planned(f"""
        duration: {duration}
        retries: {retries}
        tables: {{T: {{mode: on-demand, partitions: {partitions}, sort_key: true}}}}
        traffic:
          - {{name: large, operation: PutItem, rate: {large}, item_size: 100 KB, keys: {{uniform: 100000}}}}
          - {{name: small, operation: PutItem, rate: {small}, item_size: 1 KB, keys: {keys}}}
    """)
    recorder = RunRecorder(VirtualTables(plan), 60)
    return find_pace([Flow(flow, plan.tables[0], recorder) for flow in plan.traffic], plan.duration_s)


def times_of(**settings: object) -> int:
    found = pace_of(**settings)  # type: ignore[arg-type]
    assert found is not None
    return found.times


def test_a_small_plan_is_run_as_finely_as_can_be() -> None:
    found = pace_of("30m", partitions=1)
    assert found is not None
    assert (found.packet_s, found.slices, found.times) == (FINEST, pace.SLICES[1], 0)


def test_a_long_one_is_run_in_part() -> None:
    """A day of four partitions, each with 200 admissions a second, or 8 groups in 20 slices of each."""
    found = pace_of()
    assert found is not None
    assert found.packet_s == FINEST
    times = 4 * 86_400 / FINEST / pace.ADMISSIONS_MAX
    assert times - 1 <= found.times <= times


def test_where_partitions_have_split_blocks_are_repeated_more_often() -> None:
    found, grown = pace_of(), pace_of(partitions=40)
    assert found is not None
    assert grown is not None
    assert found.times_with(8) == found.times
    assert found.times < found.times_with(80) == grown.times
    small = pace_of("30m", partitions=1)
    assert small is not None
    assert small.times_with(2) == 0
    assert 0 < small.times_with(200) <= small.most_times


@pytest.mark.parametrize("partitions", [16, 100, 200])
def test_more_partitions_are_run_for_less_time_and_more_coarsely(partitions: int) -> None:
    found = pace_of(partitions=partitions)
    assert found is not None
    run = 86_400 / (found.times + 1)
    assert min(partitions / found.packet_s, 1100) * run <= pace.ADMISSIONS_MAX * 1.01
    assert min(2 * partitions * found.slices, 1100 * 4) * run <= pace.SLICES_MAX * 1.01


def test_no_more_is_run_than_is_asked_for() -> None:
    """Ten requests an hour to 100 partitions are a few hundred a day, however many slices a day has."""
    found = pace_of(partitions=100, large="0.0002", small=0.003)
    assert found is not None
    assert (found.packet_s, found.slices, found.times) == (FINEST, pace.SLICES[1], 0)


def test_some_more_attempts_than_can_be_run_are_no_reason_to_be_rough() -> None:
    """Ten attempts of each request would be 2.5 million. Told roughly, such a plan was 3.5 % off."""
    found = pace_of("200m", partitions=20, large="1", small=20, retries="legacy")
    assert found is not None
    assert (found.slices, found.times) == (pace.SLICES[0], 0)


def test_too_many_are_too_much() -> None:
    assert pace_of(partitions=3000) is None


@pytest.mark.parametrize(("large", "times"), [("0.5", 14), ("20", 42)])
def test_so_much_is_run_that_large_ones_are_many(large: str, times: int) -> None:
    """Whether one of a handful passes tells nothing of others, if they take a good part of what there is."""
    found = pace_of(large=large, partitions=16)
    assert found is not None
    assert found.times == times
    run = 86_400 / (found.times + 1)
    assert run * (1000 + 100 * float(large)) >= pace.LARGE_MIN * 100


def test_a_block_has_some_of_every_flow() -> None:
    found = pace_of(large="0.1")
    assert found is not None
    assert found.block_s == 240
    assert found.block_with(pace.MANY_GROUPS) == 240
    assert found.block_with(pace.MANY_GROUPS + 1) == 210


def test_a_block_of_many_groups_is_shorter() -> None:
    found = pace_of(large="100")
    assert found is not None
    assert found.block_with(pace.MANY_GROUPS) == pace.BLOCK_S
    assert found.block_with(pace.MANY_GROUPS + 1) == pace.SHORT_BLOCK_S


@pytest.mark.parametrize(
    "rate", ["{daily: {low: 50, high: 100, peak: '14:00'}}", "{ramp: {from: 50, to: 100, over: 24h}}"]
)
def test_rates_that_change_slowly_are_repeated_less_often(rate: str) -> None:
    steady, changing = (times_of(large=each, partitions=64) for each in ("100", rate))
    assert 0 < changing < 0.6 * steady


@pytest.mark.parametrize(
    ("large", "keys"),
    [
        ("{spikes: {base: 50, high: 100, every: 47s, lasting: 10s}}", "{uniform: 100000}"),
        ("100", "{sequential: {items_per_key: 400}}"),
    ],
)
def test_what_is_never_the_same_is_not_repeated(large: str, keys: str) -> None:
    assert times_of(large=large, keys=keys, partitions=1) == 0


def test_who_does_not_come_back_needs_few_slices() -> None:
    found = pace_of(retries="none")
    assert found is not None
    assert found.slices == pace.SLICES[0]
