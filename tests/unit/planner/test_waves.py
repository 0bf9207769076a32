"""Clients that wait for fixed times, of keys that follow one another: waves, held against runs by events."""

from __future__ import annotations

import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.simulation.recorder import RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.turnstile import Turnstile
from faradisc.tools.planner.waves import PARTS, parts_for
from faradisc.tools.planner.workload import retries
from faradisc.tools.planner.workload.streams import Flow
from unit.planner.agreement import both, differences

LONG = "{sequential: {items_per_key: 840}}"
SHORT = "{sequential: {items_per_key: 392}}"


def uploads(keys: str, write: int = 8000, indexes: str = "", more: str = "") -> str:
    """560 requests a second to partitions of 34 write units each, of which each key has one."""
    return f"""
        duration: 1m
        retries: legacy
        partition_caps: 102/34
        tables: {{T: {{read: 10, write: {write}, sort_key: true, indexes: {{{indexes}}}}}}}
        traffic:
          - {{name: a, operation: PutItem, rate: 560, keys: {keys}, sort: spread, item_size: 900}}
          {more}
    """


@pytest.mark.parametrize(
    "plan",
    [
        # By 8 %: a partition that is full serves the beginning of a wave, wherever in the second it comes.
        uploads(SHORT),
        uploads(SHORT, write=500),
        uploads(LONG),
        uploads("{uniform: 1000}", indexes=f"g: {{write: 8000, keys: {SHORT}}}"),
        uploads("{uniform: 1000}", indexes=f"g: {{write: 400, keys: {SHORT}}}"),
        uploads(SHORT, indexes="g: {write: 8000, keys: {sequential: {items_per_key: 616}}}"),
        uploads(SHORT, indexes="g: {write: 8000, keys: {uniform: 5}}"),
        uploads(
            SHORT,
            more="- {name: b, operation: PutItem, rate: 300, keys: {uniform: 3}, item_size: 900, "
            "retries: standard}",
        ),
    ],
)
def test_waves_are_as_far_from_each_other_as_clients_wait(plan: str) -> None:
    one, other = both(plan)
    assert one.totals.throttled_percent > 20
    assert max(differences(one, other).values()) <= 0.7


@pytest.mark.parametrize(
    ("keys", "mode", "parts"),
    [
        (SHORT, "legacy", PARTS),
        (LONG, "legacy", PARTS),
        ("{sequential: {items_per_key: 1680}}", "legacy", 1),
        ("{sequential: {items_per_key: 6}}", "legacy", 1),
        ("{sequential: {items_per_key: 1}}", "legacy", 1),
        ("{uniform: 5}", "legacy", 1),
        (SHORT, "standard", 1),
        (SHORT, "none", 1),
    ],
)
def test_seconds_are_divided_where_waves_are_shorter_than_a_few(keys: str, mode: str, parts: int) -> None:
    """By keys of the table, and by those of an index."""
    for of_table, of_index in (keys, "{uniform: 1000}"), ("{uniform: 1000}", keys):
        text = uploads(of_table, indexes=f"g: {{write: 80, keys: {of_index}}}")
        plan = load_plan(text.replace("legacy", mode), "plan.yaml")
        assert (
            parts_for([Flow(plan.traffic[0], plan.tables[0], RunRecorder(VirtualTables(plan), 60))]) == parts
        )


def test_attempts_of_fixed_waits_are_whole_tenths_apart_after_the_second_one() -> None:
    turnstile = Turnstile(retries.legacy().in_steps_of(100))
    found = {0: turnstile.push(1, None, 0.0, 0)[0]}
    for tick in range(1, 300):
        back = turnstile.back(tick)
        if back is not None:
            found[tick] = turnstile.push(0, back, 0.0, tick)[0]
    waits_ms = [wait.most_ms for wait in retries.legacy().waits]
    exact = [(sum(waits_ms[:number]) - 50) // 100 for number in range(1, 10)]
    assert found == {0: 2, **dict.fromkeys(exact[1:], 1)}
    assert exact == [0, 1, 3, 7, 15, 31, 63, 127, 255]


@pytest.mark.parametrize("step_ms", [100, 250, 1000])
def test_random_waits_take_as_long_on_the_average_however_long_a_step_is(step_ms: int) -> None:
    for wait in retries.standard().waits:
        chances = wait.steps_later(step_ms)
        assert sum(chances) == retries.ONE
        mean_ms = sum(later * chance for later, chance in enumerate(chances)) * step_ms / retries.ONE
        assert mean_ms == pytest.approx(wait.mean_ms, abs=1e-3)
