"""Where seconds are alike, the fluid engine takes several in one step: it yields what short steps do."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faradisc.tools.planner import pace, singly, steady
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.results.outcome import Outcome
from faradisc.tools.planner.run import run
from unit.planner.agreement import both, differences
from unit.planner.planned import MOST_RETRIES, RETRIES
from unit.planner.random_plans import growing_plan, random_plan, wide_plan

TWO_INDEXES = """
    profile: pessimistic
    duration: 5m
    retries: {retries}
    tables:
      T:
        write: 500
        partitions: 9
        indexes:
          a: {{write: 100, partitions: 5, keys: {{zipf: {{keys: 5000, exponent: 1.0}}}}}}
          b: {{write: 80, partitions: 6, keys: {{uniform: 100000}}}}
    traffic:
      - {{operation: PutItem, rate: 200, keys: {{zipf: {{keys: 10000, exponent: 0.9}}}}, item_size: 900}}
"""
CLASSIC = """
    profile: classic-2017
    duration: 5m
    retries: {retries}
    tables:
      T:
        write: 100
        partitions: 20
        sort_key: true
        indexes: {{a: {{write: 60, partitions: 10, keys: {{zipf: {{keys: 2000, exponent: 1.0}}}}}}}}
    traffic:
      - {{operation: PutItem, rate: 200, keys: {{zipf: {{keys: 10000, exponent: 1.0}}}}, item_size: 900}}
"""


BOOSTED = """
    profile: classic-2017
    duration: 45m
    retries: {retries}
    tables:
      T:
        write: 200
        partitions: 20
        sort_key: true
        indexes: {{a: {{write: 100, partitions: 10, keys: {{zipf: {{keys: 2000, exponent: 1.0}}}}}}}}
    traffic:
      - {{operation: PutItem, rate: 200, keys: {{zipf: {{keys: 10000, exponent: 1.0}}}}, item_size: 900}}
"""


@pytest.fixture
def long_seconds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the long steps were."""
    noted: list[int] = []
    note_long = steady.Steadiness.note_long

    def record(self: steady.Steadiness, counts: steady.Counts, seconds: int, places: int) -> None:
        noted.append(seconds)
        note_long(self, counts, seconds, places)

    monkeypatch.setattr(steady.Steadiness, "note_long", record)
    return noted


def with_long_steps_from(places: int, text: str, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr(steady, "_MUCH", places)
    return run(load_plan(dedent(text), "plan.yaml"), engine="fluid")


def assert_same(text: str, monkeypatch: pytest.MonkeyPatch, percent: float) -> None:
    """Long steps wherever seconds are alike, however little work they are, yield what short ones do."""
    short = with_long_steps_from(1 << 60, text, monkeypatch)
    long = with_long_steps_from(0, text, monkeypatch)
    assert max(differences(short, long).values()) <= percent
    assert long.samples == short.samples


@pytest.mark.parametrize("retries", RETRIES)
@pytest.mark.parametrize("seed", [4, 6, 11, 14, 17])
def test_long_steps_yield_what_short_ones_do(
    seed: int, retries: str, monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    """With spikes among them, several streams that share a bucket, and the last seconds of banks: buckets
    that are charged for many seconds at once lost what flowed in during these, 12 % of what was asked for."""
    assert_same(random_plan(seed, retries), monkeypatch, 0.1)
    assert all(1 < seconds <= steady.LONGEST_S for seconds in long_seconds)


@pytest.mark.parametrize("seed", [4, 5, 7, 8])
def test_long_steps_of_wide_plans(
    seed: int, monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    assert_same(wide_plan(seed, "none"), monkeypatch, 0.2)
    assert sum(long_seconds) > 100


def test_long_steps_with_auto_scaling(monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]) -> None:
    assert_same(growing_plan(3, "standard"), monkeypatch, 0.2)
    assert sum(long_seconds) > 1000


@pytest.mark.parametrize("retries", MOST_RETRIES)
@pytest.mark.parametrize("plan", [TWO_INDEXES, CLASSIC])
def test_plans_that_are_much_work_agree_with_events(
    plan: str, retries: str, monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    """Long steps are rare where partitions serve so few requests a second that their counts never settle."""
    monkeypatch.setattr(steady, "_MUCH", 0)
    one, other = both(plan.format(retries=retries))
    assert max(differences(one, other).values()) <= 1
    assert sum(long_seconds) > 100


@pytest.mark.parametrize("retries", RETRIES)
@pytest.mark.parametrize("plan", [TWO_INDEXES, CLASSIC])
def test_steps_of_a_minute(
    plan: str, retries: str, monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    """The core looks at heat every ten seconds; where nothing splits for it, a step may last for longer."""
    text = plan.format(retries=retries)
    assert_same(text, monkeypatch, 0.1)
    assert max(long_seconds) == 60
    long_seconds.clear()
    with_long_steps_from(0, text.replace("pessimistic", "aws").replace("classic-2017", "aws"), monkeypatch)
    assert max(long_seconds) == 10


@pytest.mark.parametrize("retries", ["none", "standard"])
def test_steps_of_a_minute_while_shares_are_boosted(
    retries: str, monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    text = BOOSTED.format(retries=retries)
    assert_same(text, monkeypatch, 0.1)
    assert len(with_long_steps_from(0, text, monkeypatch).events) > 3
    assert max(long_seconds) == 60


def test_rates_that_change_a_little_do_not_end_long_steps() -> None:
    """But what they have changed since seconds were last seen to be alike adds up."""
    steadiness = steady.Steadiness()
    rates = [10.0] * 100
    steadiness.look(rates)
    for _ in range(2):
        steadiness.note_second((500,), 50)
    assert steadiness.holds
    steadiness.look([15.0] * 40 + rates[40:])
    assert steadiness.holds
    steadiness.look([15.0] * 70 + rates[70:])
    assert not steadiness.holds


def test_forgiven_debts_take_short_steps(monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]) -> None:
    """How often that happens depends on when, within a second or ten, a bucket opens. (As if there were too
    many requests for them to be run one by one: test_singly.py.)"""
    monkeypatch.setattr(singly, "SINGLE_MAX", 0)
    monkeypatch.setattr(pace, "ADMISSIONS_MAX", 1)
    text = """
        duration: 10m
        tables: {T: {read: 5, write: 5}}
        traffic: [{operation: PutItem, rate: 20, keys: {uniform: 1000}, item_size: 45 KB}]
    """
    with_long_steps_from(0, text, monkeypatch)
    assert sum(long_seconds) < 60


def test_clients_that_still_wait_are_not_left_waiting(
    monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]
) -> None:
    """A flow that has ended while another one goes on as before: who was refused comes back all the same."""
    text = """
        duration: 5m
        retries: legacy
        tables: {T: {write: 100}, U: {write: 300}}
        traffic:
          - {name: ends, table: T, operation: PutItem, rate: 200, keys: {uniform: 1000}, until: 2m}
          - {name: stays, table: U, operation: PutItem, rate: 200, keys: {uniform: 1000}}
    """
    short = with_long_steps_from(1 << 60, text, monkeypatch)
    long = with_long_steps_from(0, text, monkeypatch)
    assert max(differences(short, long).values()) <= 0.1
    assert sum(long_seconds) > 100


def test_a_bank_runs_out_in_its_second(monkeypatch: pytest.MonkeyPatch, long_seconds: list[int]) -> None:
    """Three hundred seconds of the table's rate are there, and half of it is asked for beyond it: they last
    for ten minutes and a little, and a long step would have spread the end of it over ten seconds."""
    text = """
        duration: 15m
        tables: {T: {write: 101}}
        traffic: [{operation: PutItem, rate: 150, keys: {uniform: 1000}}]
    """
    short = with_long_steps_from(1 << 60, text, monkeypatch)
    long = with_long_steps_from(0, text, monkeypatch)
    first_s = short.resources[0].throttle_summary.first_s
    assert first_s is not None
    assert first_s > 500
    assert long.resources[0].throttle_summary.first_s == first_s
    assert sum(long_seconds) > 600
