"""Key distributions, arrival rates, Poisson arrivals and retry policies."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from faradisc.model.codec.keyspace import HASH_BYTES, hash_of
from faradisc.tools.planner.simulation.discrete_event import KeyPoints, even_step
from faradisc.tools.planner.simulation.recorder import RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload import key_distributions, retries
from faradisc.tools.planner.workload.arrival_rates import (
    MICRO,
    ArrivalRate,
    ConstantRate,
    DailyRate,
    Points,
    SpikeRate,
    Steps,
    Window,
)
from faradisc.tools.planner.workload.key_distributions import ONE, KeyModel, KeyShape
from faradisc.tools.planner.workload.streams import Flow
from unit.planner.planned import planned

STEP = even_step(1)

MODELS: dict[str, KeyModel] = {
    "uniform, named": key_distributions.uniform(50, "one"),
    "uniform, many": key_distributions.uniform(10_000_000, "one"),
    "zipf": key_distributions.zipf(1_000_000, 1.1, 1, "spread"),
    "zipf of exponent 1": key_distributions.zipf(5_000_000, 1.0, 1, "one"),
    "zipf with suffixes": key_distributions.zipf(100, 0.8, 7, "one"),
    "single": key_distributions.single("k", 1, "rising"),
    "weighted": key_distributions.weighted(
        [("A", Fraction(97)), ("B", Fraction(2)), ("C", Fraction(1))], 1, "one"
    ),
    "date": key_distributions.Dates(1_793_577_600, "day", 200, "one"),
    "sequential": key_distributions.Sequential(30, "one"),
}


@pytest.mark.parametrize("name", MODELS)
def test_weights_add_up(name: str) -> None:
    shape = MODELS[name].shape(0, 0, 100)
    assert sum(key.weight for key in shape.keys) + shape.tail == ONE
    assert shape.weight_between(b"", None) == pytest.approx(ONE, abs=len(shape.keys) + 1)


@pytest.mark.parametrize("name", MODELS)
def test_draws_lie_where_the_weights_say(name: str) -> None:
    """What the engine of events draws is what the fluid engine divides by."""
    shape = MODELS[name].shape(0, 0, 100)
    cut = (1 << 126).to_bytes(HASH_BYTES, "big")
    count, below, point = 20_000, 0, 0
    for _ in range(count):
        point = (point + STEP) % ONE
        below += shape.draw(point, point)[1] < cut
    assert below / count == pytest.approx(shape.weight_between(b"", cut) / ONE, abs=0.003)


def test_keys_lie_where_the_server_puts_them() -> None:
    key = key_distributions.single("user-1", 1, "one").fixed.keys[0]
    assert key.prefix == hash_of(b"user-1") + b"user-1\0\0"


def test_zipf_is_zipf() -> None:
    shape = key_distributions.zipf(1_000_000, 1.2, 1, "one").fixed
    first, second, third = (key.weight for key in shape.keys[:3])
    assert first / second == pytest.approx(2**1.2, rel=1e-6)
    assert first / third == pytest.approx(3**1.2, rel=1e-6)
    exact = sum(rank**-1.2 for rank in range(1, 1_000_001))
    assert first / ONE == pytest.approx(1 / exact, rel=1e-6)


def test_suffixes_divide_a_key_evenly() -> None:
    shape = key_distributions.single("2026-11-02", 200, "one").fixed
    assert [key.name for key in shape.keys[:2]] == ["2026-11-02.1", "2026-11-02.2"]
    assert len(shape.keys) == 200
    assert max(key.weight for key in shape.keys) - min(key.weight for key in shape.keys) < 200


def test_dates_change_at_midnight() -> None:
    model = key_distributions.Dates(1_793_577_600, "day", 1, "one")
    names = [model.shape(second, 0, 1).keys[0].name for second in (0, 86_399, 86_400)]
    assert names == ["2026-11-02", "2026-11-02", "2026-11-03"]
    assert model.shape(86_401, 0, 1) is model.shape(90_000, 0, 1), "engines rely on this"


def test_sequential_keys_come_one_after_another() -> None:
    model = key_distributions.Sequential(100, "one")
    shape = model.shape(0, 150, 200)
    assert [key.name for key in shape.keys] == ["U2", "U3", "U4"]
    assert [round(200 * key.weight / ONE) for key in shape.keys] == [50, 100, 50]


@pytest.mark.parametrize("number", range(1, 23))
def test_steps_fill_a_distribution_evenly(number: int) -> None:
    """Whatever the number of points, every eighth of the distribution has its part of them, within two."""
    step = even_step(number)
    for count in (50, 300, 3000):
        places = [0] * 8
        for at in range(count):
            places[at * step % ONE * 8 // ONE] += 1
        assert max(abs(each - count / 8) for each in places) <= 2


@pytest.mark.parametrize("sort", ["one", "spread", "rising"])
def test_keys_of_a_partition_are_found_by_place(sort: key_distributions.Sort) -> None:
    """The weights are those of each key by itself. Some bounds lie within collections, or where one
    begins."""
    shape = key_distributions.zipf(300, 1.0, 1, sort).fixed
    inside = [key.prefix + bytes(length) + b"\x80" for length, key in enumerate(shape.keys[:7])]
    bounds = [b"", *sorted([*inside, shape.keys[9].prefix, *(bytes([high]) for high in range(7, 256, 31))])]
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        alone = {key: KeyShape((key,), 0, sort).weight_between(low, high) for key in shape.keys}
        assert dict(shape.keys_between(low, high)) == {key: weight for key, weight in alone.items() if weight}


def test_a_collection_can_be_cut() -> None:
    """A key whose requests spread over its collection loads both sides of a cut inside it."""
    spread = key_distributions.single("k", 1, "spread").fixed
    prefix = spread.keys[0].prefix
    cut = prefix + (1 << 62).to_bytes(8, "big")
    assert spread.weight_between(b"", cut) == ONE // 4
    assert spread.weight_between(cut, None) == ONE - ONE // 4
    rising = key_distributions.single("k", 1, "rising").fixed
    assert (rising.weight_between(b"", cut), rising.weight_between(cut, None)) == (0, ONE)
    places = spread.sample_locations(spread.keys[0], cut, None, 4, 1)
    assert all(place >= cut for place in places) and len(set(places)) == 4
    later = [rising.sample_locations(rising.keys[0], b"", None, 2, second) for second in (1, 2)]
    assert later[0] + later[1] == sorted(later[0] + later[1])


# --- Rates --------------------------------------------------------------------------------------------

RATES: list[ArrivalRate] = [
    ConstantRate(2_500_000),
    Steps((10, 20), (MICRO, 3 * MICRO)),
    Points((0, 100), (0, 10 * MICRO)),
    DailyRate(MICRO, 9 * MICRO, 14 * 3600, 0),
    SpikeRate(MICRO, 50 * MICRO, 60, 5),
    Window(ConstantRate(7_777_777), 5, 50),
]


@pytest.mark.parametrize("rate", RATES, ids=lambda rate: type(rate).__name__)
def test_no_second_has_a_higher_rate_than_the_highest(rate: ArrivalRate) -> None:
    assert max(rate.micro(second) for second in range(500)) <= rate.most


def test_a_day_has_its_peak_and_its_valley() -> None:
    day = DailyRate(100, 900, 14 * 3600, 0)
    assert (day.micro(14 * 3600), day.micro(2 * 3600), day.micro(8 * 3600)) == (900, 100, 500)


# --- Retries ------------------------------------------------------------------------------------------


def test_as_botocore_waits() -> None:
    """standard: 4 attempts, up to 1, 2, 4 seconds; legacy: 10, from 50 ms on doubling."""
    assert [wait.most_ms for wait in retries.standard().waits] == [1000, 2000, 4000]
    assert [wait.most_ms for wait in retries.standard(8).waits][-2:] == [20_000, 20_000]
    legacy = retries.legacy()
    assert legacy.attempts == 10
    assert [wait.least_ms for wait in legacy.waits][:4] == [50, 100, 200, 400]


def test_attempts_are_those_of_botocores_own_tables() -> None:
    from botocore.retries.standard import _SERVICE_MAX_ATTEMPTS  # noqa: PLC0415

    assert retries.standard().attempts == _SERVICE_MAX_ATTEMPTS["dynamodb"]


@pytest.mark.parametrize("wait", retries.standard(7).waits)
def test_seconds_later_is_the_distribution_of_waits(wait: retries.Wait) -> None:
    probabilities = wait.seconds_later()
    assert sum(probabilities) == pytest.approx(1)
    random = Random(1)
    count = 20_000
    seen = [0] * len(probabilities)
    for _ in range(count):
        at = random.random() + wait.draw_ns(random.random) / 1e9
        seen[int(at)] += 1
    for probability, times in zip(probabilities, seen, strict=True):
        assert times / count == pytest.approx(probability, abs=0.015)


def test_fixed_waits_keep_requests_together() -> None:
    """Attempts 50, 150, 350, 750, 1550, ... ms after the first are in the same second, and 1, 2, ...
    later."""
    returns = retries.legacy().returns
    assert [pairs[0][0] for pairs in returns] == [0, 0, 0, 1, 1, 1, 3, 7, 13]
    assert all(probability == 1 for pairs in returns for _, probability in pairs)


# --- Arrivals -----------------------------------------------------------------------------------------


def flow(text: str, seed: int = 1) -> Flow:
    plan = planned(text)
    return Flow(plan.traffic[0], plan.tables[0], RunRecorder(VirtualTables(plan), 60), seed)


PUTS = """
    duration: 1h
    tables: {T: {mode: on-demand, indexes: {g: {share: 30%, keys: {uniform: 9}}}}}
    traffic: [{operation: PutItem, rate: 50, keys: {uniform: 100}}]
"""


def test_arrivals_of_each_stream_are_a_poisson_process() -> None:
    """The mean number in a second is the rate, and the variance is the mean."""
    drawn = flow(PUTS)
    assert sorted(drawn.rates(0)) == pytest.approx([15, 35])
    for stream, rate in enumerate(drawn.rates(0)):
        counts = [len(drawn.draw(drawn.rates(second))[stream]) for second in range(3000)]
        mean = sum(counts) / 3000
        assert mean == pytest.approx(rate, rel=0.02)
        assert sum((count - mean) ** 2 for count in counts) / 3000 == pytest.approx(mean, rel=0.1)


def test_arrivals_depend_on_the_seed_only() -> None:
    first, again, other = (flow(PUTS, seed) for seed in (1, 1, 2))
    moments = first.draw(first.rates(0))
    assert moments == again.draw(again.rates(0)) != other.draw(other.rates(0))
    assert all(0 <= at < 1_000_000_000 for stream in moments for at in stream)
    assert all(stream == sorted(stream) for stream in moments)


def test_counts_of_the_flow_are_whole_and_add_up() -> None:
    third = flow(PUTS.replace("rate: 50", "rate: 0.3"))
    arrivals = [third.begin_second(second, third.rates(second)) for second in range(1000)]
    assert sum(each.count for each in arrivals) == third.record.offered == 300
    assert [each.first for each in arrivals[:8]] == [0, 0, 1, 1, 1, 2, 2, 2]


def test_a_cache_answers_its_part_of_the_requests() -> None:
    text = """
        duration: 1h
        tables: {T: {mode: on-demand}}
        traffic:
          - {operation: GetItem, rate: 100, keys: {uniform: 9}, cache: {hits: 80%, warm_up: 10s}}
    """
    cached = flow(text)
    assert [round(cached.rates(second)[0], 6) for second in (0, 5, 10, 11)] == [100, 60, 20, 20]
    assert cached.record.cached == 0 + 40 + 80 + 80


def test_key_points_of_a_second_are_in_random_order() -> None:
    taken = KeyPoints(Random(1), STEP).take(100)
    assert taken != sorted(taken)
    assert max(taken) < ONE and len(set(taken)) == 100


def test_an_empty_shape_is_all_tail() -> None:
    assert KeyShape((), ONE).draw(0, 0) == (None, b"\0" * 16)
