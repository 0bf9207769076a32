"""On-demand headroom: demand against the doubling rule by the minute, and the warm throughput it needs."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from faradisc.tools.planner.report import render
from faradisc.tools.planner.results.csv_tables import tables
from faradisc.tools.planner.results.outcome import Headroom, PlanOutcome
from unit.planner.planned import outcome_of, printed, resource

STEP = """
    duration: 40m
    partition_caps: 30000/10000
    tables: {{T: {table}}}
    traffic:
      - {{operation: PutItem, item_size: 400 KB, keys: {{uniform: 100000}},
         rate: {{steps: [{{at: 0s, rate: 5}}, {{at: 10m, rate: {high}}}]}}}}
"""
"""2,000 units a second, and more after ten minutes."""


def found(high: float, table: str = "{mode: on-demand}", engine: str = "fluid") -> PlanOutcome:
    return outcome_of(STEP.format(high=high, table=table), engine)  # type: ignore[arg-type]


def room_of(outcome: PlanOutcome) -> Headroom:
    (room,) = outcome.headroom
    return room


def test_a_jump_beyond_double_the_peak() -> None:
    """4,000 units are served from the start and 6,000 are asked for, which count as the previous peak after
    half an hour: after the end of the run."""
    room = room_of(found(15))
    assert (room.resource, room.direction) == ("T", "W")
    assert (room.capacity_first, room.capacity_last) == (4000, 4000)
    assert room.demand_minute == room.demand_second == 6000
    assert (room.least_percent, room.least_at_s) == (-50, 600)
    assert (room.minutes_over, room.first_over_s) == (30, 600)
    assert room.warm_units == 6000
    assert room.words == (
        "30 minutes requested more than double the previous peak: "
        "warm throughput of 6,000 WriteUnitsPerSecond would serve it, hot keys aside"
    )


def test_random_arrivals_need_more_than_their_mean() -> None:
    room = room_of(found(15, engine="events"))
    assert (room.capacity_first, room.minutes_over, room.first_over_s) == (4000, 30, 600)
    assert room.demand_minute == pytest.approx(6000, rel=0.2)
    assert room.warm_units is not None and 8_000 < room.warm_units < 15_000


def test_the_recommended_warm_throughput_is_enough() -> None:
    room = room_of(found(15, "{mode: on-demand, warm: {write: 6000}}"))
    assert (room.capacity_first, room.minutes_over) == (6000, 0)
    assert room.first_over_s is room.warm_units is None
    assert room.words == "at least 0 % of the capacity was left: no warm throughput is needed"


def test_growth_is_seen() -> None:
    text = STEP.replace("40m", "75m").format(high=9, table="{mode: on-demand}")
    room = room_of(outcome_of(text, "fluid"))
    assert (room.capacity_first, room.capacity_last) == (4000, 7200)
    assert (room.minutes_over, room.least_percent, room.warm_units) == (0, 10, None)


def test_a_configured_maximum_is_not_lifted() -> None:
    assert room_of(found(15, "{mode: on-demand, max_write: 3000}")).warm_units is None
    assert room_of(found(15, "{mode: on-demand, max_write: 5000}")).warm_units == 5000


def test_beyond_the_quota_it_is_said() -> None:
    room = room_of(found(150))
    assert room.warm_units == 60_000
    assert room.words.endswith("hot keys aside, which is above the quota of 40,000")


def test_single_seconds_need_warm_throughput_too() -> None:
    text = """
        duration: 5m
        partition_caps: 30000/10000
        tables: {T: {mode: on-demand}}
        traffic:
          - {operation: PutItem, item_size: 400 KB, keys: {uniform: 1000},
             rate: {spikes: {base: 1, high: 13, every: 1m, lasting: 2s}}}
    """
    room = room_of(outcome_of(text, "fluid"))
    assert (room.minutes_over, room.warm_units, room.demand_second) == (0, 5200, 5200)
    assert room.words.startswith("single seconds, no minute, requested more than double the previous peak: ")


def test_only_the_time_on_demand_is_looked_at() -> None:
    table = "{mode: provisioned, read: 1, write: 6000, changes: [{at: 20m, mode: on-demand}]}"
    room = room_of(found(15, table))
    assert (room.capacity_first, room.demand_minute, room.warm_units) == (6000, 6000, None)
    assert found(5, "{mode: provisioned, read: 1, write: 3000}").headroom == ()


def test_indexes_have_rooms_of_their_own() -> None:
    table = "{mode: on-demand, indexes: {i: {}}}"
    rooms = found(5, table).headroom
    assert [(room.resource, room.direction) for room in rooms] == [("T", "W"), ("T/index/i", "W")]


def test_it_is_in_every_form_of_the_outcome() -> None:
    outcome = found(15)
    assert any(said.startswith("T: 30 minutes requested more than double") for said in outcome.verdict)
    rows = list(csv.DictReader(StringIO(tables(outcome)["headroom.csv"])))
    shown = [(row["resource"], row["minutes_over"], row["warm_units"]) for row in rows]
    assert shown == [("T", "30", "6000")]
    assert outcome.to_json()["headroom"][0]["first_over_s"] == 600
    lines = [" ".join(line.split()) for line in printed(outcome).splitlines()]
    caption = "On-demand headroom: capacity of the doubling rule against demand"
    assert f"{caption}: T" in lines
    assert any(line.startswith("writes 4,000 4,000 6,000 6,000 -50 % 0:10:00 30 6,000") for line in lines), (
        lines
    )
    page = render([outcome])
    assert caption in page
    assert "warm throughput of 6,000 WriteUnitsPerSecond" in page
    calm = found(5)
    assert "no warm throughput is needed" not in render([calm])
    assert resource(calm, "T").mode == "PAY_PER_REQUEST"
