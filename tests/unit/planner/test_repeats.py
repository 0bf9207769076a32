"""Time that repeats itself is run once: what the rest of it counts, and when it is run all the same."""

from __future__ import annotations

from statistics import fmean

import pytest

from faradisc.tools.planner import singly
from faradisc.tools.planner.pace import STRETCH_S, Pace
from faradisc.tools.planner.repeats import Repeats
from faradisc.tools.planner.results.outcome import Outcome
from faradisc.tools.planner.run import run
from unit.planner.agreement import LIMIT_PERCENT, assert_accounted, differences
from unit.planner.planned import planned, resource

CAPS = """
    duration: {duration}
    retries: {retries}
    partition_caps: 300/100
    tables: {{T: {{mode: on-demand, partitions: 4, sort_key: true}}}}
    traffic:
      - {{name: large, operation: PutItem, rate: {large}, keys: {{uniform: 100000}}, item_size: 39 KB}}
      - {{name: small, operation: PutItem, rate: {small}, keys: {{zipf: {{keys: 10000, exponent: 1.0}}}}}}
"""
RATE = """
    profile: {profile}
    duration: {duration}
    retries: none
    tables: {{T: {{read: 5, write: 200{settings}}}}}
    traffic:
      - {{name: large, operation: PutItem, rate: {large}, keys: {{uniform: 100000}}, item_size: 20 KB}}
      - {{name: small, operation: PutItem, rate: {small}, keys: {{uniform: 100000}}}}
"""


class Repeated:
    """Runs with and without repeats, and which seconds were repeated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds: list[int] = []
        self._patch = monkeypatch
        monkeypatch.setattr(singly, "SINGLE_MAX", 0)
        play = Repeats.play_second

        def told(repeats: Repeats, second: int, came: list[int]) -> None:
            self.seconds.append(second)
            play(repeats, second, came)

        monkeypatch.setattr(Repeats, "play_second", told)

    def run(self, text: str, times: int, spare_s: int = 0) -> Outcome:
        self._patch.setattr(singly, "find_pace", lambda flows, duration_s: Pace(0.02, 20, 60, times, spare_s))
        self.seconds.clear()
        return run(planned(text), engine="fluid")

    def both(self, text: str, times: int = 4) -> tuple[Outcome, Outcome]:
        """Everything run, and one part of it."""
        return self.run(text, 0), self.run(text, times)


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> Repeated:
    return Repeated(monkeypatch)


@pytest.mark.parametrize("retries", ["none", "standard"])
def test_as_many_are_served_as_if_all_were_run(retries: str, repeated: Repeated) -> None:
    one, other = repeated.both(CAPS.format(duration="40m", retries=retries, large=9, small=200))
    assert len(repeated.seconds) > 0.7 * 2400
    assert max(differences(one, other).values()) <= LIMIT_PERCENT
    assert_accounted(other)
    assert other.totals.lost > 0.05 * other.totals.offered


@pytest.mark.parametrize("small", [7.3, 31.7, 100])
def test_every_request_is_accounted_for(small: float, repeated: Repeated) -> None:
    """Also those that no whole number of a minute has."""
    text = CAPS.format(duration="20m", retries="standard", large=0.37, small=small)
    one, other = repeated.both(text, 3)
    assert repeated.seconds
    assert_accounted(other)
    assert [flow.offered for flow in other.flows] == [flow.offered for flow in one.flows]


def test_where_nothing_is_short_all_are_admitted(repeated: Repeated) -> None:
    one, other = repeated.both(RATE.format(profile="aws", duration="20m", settings="", large=0.7, small=20.3))
    assert repeated.seconds
    assert_accounted(other)
    assert other.totals.admitted == one.totals.admitted == one.totals.offered
    assert resource(other, "T").write.bank[-1] == resource(one, "T").write.bank[-1]


def test_a_bank_runs_out_when_it_would(repeated: Repeated) -> None:
    """It has 300 seconds of the rate, and a tenth more than the rate is asked for."""
    one, other = repeated.both(RATE.format(profile="aws", duration="70m", settings="", large=4, small=140))
    first, theirs = (resource(each, "T").throttle_summary.first_s for each in (one, other))
    assert first is not None
    assert theirs is not None
    assert first == pytest.approx(3000, abs=120)
    assert theirs == pytest.approx(first, abs=120)
    assert repeated.seconds[0] < 600
    assert not any(theirs - theirs % STRETCH_S <= second <= theirs for second in repeated.seconds)
    assert max(differences(one, other).values()) <= LIMIT_PERCENT


def test_rates_that_change_are_run_anew(repeated: Repeated) -> None:
    text = CAPS.format(
        duration="20m", retries="none", large=3, small="{steps: [{at: 0s, rate: 100}, {at: 605s, rate: 300}]}"
    )
    one, other = repeated.both(text)
    assert not any(600 <= second < 660 for second in repeated.seconds)
    assert any(second < 600 for second in repeated.seconds)
    assert any(second >= 660 for second in repeated.seconds)
    assert max(differences(one, other).values()) <= LIMIT_PERCENT


def test_so_are_units_that_change(repeated: Repeated) -> None:
    text = RATE.format(
        profile="documented", duration="1h", settings=", changes: [{at: 30m, write: 400}]", large=9, small=300
    )
    one, other = repeated.both(text)
    assert max(differences(one, other).values()) <= LIMIT_PERCENT
    changed = next(at for at, units in enumerate(resource(other, "T").write.provisioned) if units == 400)
    assert 29 <= changed <= 32
    assert resource(other, "T").write.consumed[changed + 2] == pytest.approx(400, rel=0.05)
    assert resource(other, "T").write.consumed[changed - 2] == pytest.approx(200, rel=0.05)


def test_while_partitions_heat_up_seconds_are_run(repeated: Repeated) -> None:
    """A minute that is repeated is not five hot minutes."""
    text = CAPS.format(duration="40m", retries="none", large=9, small=200)
    one, other = repeated.run(text, 0), repeated.run(text, 9, spare_s=900)
    assert repeated.seconds
    for found in (one, other):
        assert found.events[0].kind == "split-started"
        assert found.events[0].at_s == pytest.approx(330, abs=60)
    counts = [resource(each, "T").partition_count[-1] for each in (one, other)]
    assert min(counts) > 4
    assert counts[1] == pytest.approx(counts[0], abs=1)


def test_keys_that_follow_one_another_are_not_repeated(repeated: Repeated) -> None:
    text = CAPS.format(duration="10m", retries="none", large=3, small=100)
    repeated.run(
        text.replace("{zipf: {keys: 10000, exponent: 1.0}}", "{sequential: {items_per_key: 400}}"), 4
    )
    assert not repeated.seconds


def test_a_cache_that_warms_up_is_not_repeated(repeated: Repeated) -> None:
    one, other = repeated.both("""
        duration: 20m
        retries: none
        partition_caps: 300/100
        tables: {T: {mode: on-demand, partitions: 2}}
        traffic:
          - {name: large, operation: Scan, rate: 4, keys: {uniform: 1000}}
          - name: small
            operation: GetItem
            rate: 600
            keys: {uniform: 100000}
            cache: {hits: 90%, warm_up: 10m}
    """)
    assert repeated.seconds
    assert repeated.seconds[0] >= 600
    assert max(differences(one, other).values()) <= LIMIT_PERCENT
    assert other.totals.cached == one.totals.cached


def test_stretches_are_whole(repeated: Repeated) -> None:
    repeated.run(CAPS.format(duration="20m", retries="standard", large=3, small=100), 4)
    starts = [second for second in repeated.seconds if second - 1 not in repeated.seconds]
    ends = [second + 1 for second in repeated.seconds if second + 1 not in repeated.seconds]
    assert starts
    assert all(second % STRETCH_S == 0 for second in starts + ends)


def test_equal_seeds_are_equal(repeated: Repeated) -> None:
    text = CAPS.format(duration="20m", retries="standard", large=3, small=100)
    assert repeated.run(text, 4) == repeated.run(text, 4)


def test_what_is_caught_up_with_is_repeated_too(repeated: Repeated) -> None:
    """Once partitions have split all is served. With a tenth more in each second that was run, hours
    of a tenth too many took turns with hours of a tenth too few."""
    found = repeated.run(
        """
        duration: 8h
        retries: legacy
        partition_caps: 60/20
        tables: {T: {mode: on-demand, partitions: 4, sort_key: true}}
        traffic:
          - {name: large, operation: PutItem, rate: 0.5, item_size: 39 KB, keys: {uniform: 100000}}
          - {name: small, operation: PutItem, rate: 200, item_size: 1 KB, keys: {uniform: 100000}}
        """,
        119,
    )
    series = resource(found, "T").write.consumed
    hours = [fmean(series[first : first + 60]) for first in range(0, len(series), 60)]
    assert max(hours[2:]) - min(hours[2:]) <= 0.04 * fmean(hours[2:])
    assert_accounted(found)
