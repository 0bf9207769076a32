"""A change of rates that needs more partitions acts when those are there: a minute of splits, then the second
that UpdateTable takes. Nothing else is asked of the table meanwhile. Source: capacity.md section 2.12.

Partitions of 30 read and 10 write units; the server does the same,
tests/throughput/test_raises_that_split.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import Engine
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from unit.planner.agreement import by_both, compare
from unit.planner.planned import ENGINES, outcome_of, planned

PLAN = """
    duration: {duration}
    profile: aws
    partition_caps: 30/10
    tables:
      T: {{mode: provisioned, {table}}}
    traffic: [{{operation: PutItem, rate: {rate}, keys: {{uniform: 5000}}}}]
"""


def plan(table: str, *, duration: str = "10m", rate: str = "0") -> str:
    return PLAN.format(table=table, duration=duration, rate=rate)


def reported(outcome: PlanOutcome, kinds: Sequence[str] = ("changed",)) -> list[tuple[float, str]]:
    return [(event.at_s, event.words) for event in outcome.events if event.kind in kinds]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_raise_acts_when_its_partitions_are_there(engine: Engine) -> None:
    found = outcome_of(plan("read: 1, write: 20, changes: [{at: 2m, write: 50}]"), engine)
    started = [event.at_s for event in found.events if event.kind == "split-started"]
    done = [event.at_s for event in found.events if event.kind == "split"]
    assert (set(started), set(done), len(done)) == ({120}, {180}, 3)
    assert reported(found) == [(181, "UpdateTable: 1 RCU and 50 WCU from now on, over 6 partitions")]
    (writes,) = [each.write for each in found.resources]
    assert writes.provisioned[2:5] == [20, 50, 50], "at the ends of minutes"


def test_what_needs_no_doubling_acts_a_second_later() -> None:
    found = outcome_of(plan("read: 1, write: 29, changes: [{at: 2m, write: 20}, {at: 4m, write: 29}]"))
    assert [at_s for at_s, _ in reported(found)] == [121, 241]


def test_a_change_waits_until_the_table_takes_it() -> None:
    changes = "[{at: 2m, write: 50}, {at: 150s, write: 49}]"
    found = outcome_of(plan(f"read: 1, write: 20, changes: {changes}"))
    assert [at_s for at_s, _ in reported(found)] == [181, 182]


def test_changes_of_one_moment_are_one_update() -> None:
    """The table's own needs no partitions, and waits for those of the index."""
    table = """
        read: 1, write: 20, indexes: {g: {read: 1, write: 20, projection: all}},
        changes: [{at: 2m, write: 21}, {at: 2m, index: g, write: 50}]"""
    found = outcome_of(plan(table))
    assert [at_s for at_s, _ in reported(found)] == [181, 181]
    rates = {each.name: each.write.provisioned[1:4] for each in found.resources}
    assert rates == {"T": [20, 20, 21], "T/index/g": [20, 20, 50]}


def test_a_switch_of_mode_is_as_quick_as_it_was() -> None:
    found = outcome_of(plan("read: 1, write: 20, changes: [{at: 1m, mode: on-demand}, {at: 5m, write: 50}]"))
    assert [at_s for at_s, _ in reported(found)] == [210, 380]


def slow(name: str, table: str) -> Any:
    return pytest.param(table, id=name, marks=pytest.mark.slow)


RISING = "{steps: [{at: 0s, rate: 8}, {at: 10m, rate: 17}, {at: 50m, rate: 60}, {at: 70m, rate: 26}]}"


@pytest.mark.parametrize(
    "table",
    [
        slow("changes", "read: 1, write: 20, changes: [{at: 25m, write: 50}, {at: 60m, write: 10}]"),
        slow(
            "changes that meet",
            "read: 1, write: 20, changes: [{at: 25m, write: 50}, {at: 1520s, write: 120}]",
        ),
        pytest.param(
            "read: 1, write: 20, auto_scaling: {write: {min: 10, max: 200, target: 70}}", id="auto scaling"
        ),
        slow(
            "auto scaling of an index too",
            """read: 1, write: 20, auto_scaling: {write: {min: 10, max: 200, target: 70}},
            indexes: {g: {read: 1, write: 20, projection: all, keys: {uniform: 300},
            auto_scaling: {write: {min: 10, max: 200, target: 70}}}}""",
        ),
    ],
)
@pytest.mark.parametrize("profile", ["aws", pytest.param("classic-2017", marks=pytest.mark.slow)])
def test_both_engines_see_the_same(table: str, profile: str) -> None:
    text = plan(table, duration="90m", rate=RISING).replace("profile: aws", f"profile: {profile}")
    found = by_both(text)
    assert compare(*found).percent <= 1
    raised = [[each for each in reported(outcome) if "refused" not in each[1]] for outcome in found]
    assert raised[0] == raised[1]


# --- Auto scaling --------------------------------------------------------------------------------


SCALED = """
        read: %s, write: %s,
        auto_scaling: {read: {min: %s, max: 500, target: 70}, write: {min: %s, max: 200, target: 70}}"""


def updates(outcome: PlanOutcome) -> list[list[tuple[float, str]]]:
    """When each target's capacity has changed, and how."""
    return [
        [(event.at_s, event.words) for event in target.events if event.kind == "update"]
        for target in outcome.scaling
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_auto_scaling_waits_for_the_partitions(engine: Engine) -> None:
    """Two full minutes, one for the metric, half a one to act (V121), the splits and a second."""
    _, writes = updates(outcome_of(plan(SCALED % (1, 29, 1, 5), rate="25"), engine))
    assert writes[0] == (271, "29 to 36 WCU")


def test_one_target_waits_for_the_other() -> None:
    """Both minimums are above what is provisioned; the reads' raise splits, the writes' comes after it."""
    reads, writes = updates(outcome_of(plan(SCALED % (1, 20, 100, 21))))
    assert (reads, writes) == ([(61, "1 to 100 RCU")], [(62, "20 to 21 WCU")])


def test_limits_and_changes_that_meet_an_update_hold_when_it_has_ended() -> None:
    table = """
        read: 1, write: 20, changes: [{at: 10s, write: 90}, {at: 40s, write: 60}],
        auto_scaling: {write: {min: 5, max: 200, target: 70,
        schedule: [{at: "at(2026-11-02T00:00:20)", min: 150}]}}"""
    text = plan(table).replace("duration: 10m", "duration: 10m\n    start: 2026-11-02T00:00:00Z")
    found = outcome_of(text)
    assert updates(found) == [[(133, "60 to 150 WCU")]]
    assert [at_s for at_s, _ in reported(found)] == [71, 72]


def test_the_splits_of_a_decision_begin_with_it() -> None:
    world = VirtualTables(planned(plan("read: 1, write: 20, changes: [{at: 2m, write: 50}]")))
    member = world.resource("T")
    world.advance(world.start_ns + 120 * SECOND_NS)
    assert [pending.reason for pending in member.resource.splitting.pending] == ["raise"] * 3
    assert world.updating_until(member, world.start_ns) == world.start_ns + 181 * SECOND_NS
    world.advance(world.start_ns + 180 * SECOND_NS)
    assert (len(member.resource.partitions), member.resource.write_units) == (6, 20)
    world.advance(world.start_ns + 181 * SECOND_NS)
    assert member.resource.write_units == 50
