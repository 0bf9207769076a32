"""Models of keys, rates and retries: what they promise to both engines."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.model.codec.keyspace import HASH_BYTES, hash_of
from faradisc.tools.planner.simulation.discrete_event import even_step
from faradisc.tools.planner.workload import key_distributions, retries
from faradisc.tools.planner.workload.arrival_rates import (
    MICRO,
    Constant,
    Counter,
    Daily,
    Points,
    Rate,
    Spikes,
    Steps,
    Window,
)
from faradisc.tools.planner.workload.key_distributions import ONE, KeyModel, Shape

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
        point = (point + key_distributions.GOLDEN) % ONE
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


def test_a_second_of_keys_in_order_can_be_cut_where_they_change() -> None:
    shape = key_distributions.Sequential(100, "one").shape(0, 50, 200)
    assert [key.name for key in shape.keys] == ["U1", "U2", "U3"]
    parts = [shape.during(begin, end) for begin, end in pairwise([0, *shape.cuts, ONE])]
    assert [[key.name for key in part.keys] for part in parts] == [["U1"], ["U2"], ["U3"]]
    middle = shape.during(ONE // 8, ONE // 2)
    assert [key.name for key in middle.keys] == ["U1", "U2"]
    assert [key.weight / ONE for key in middle.keys] == pytest.approx([1 / 3, 2 / 3])
    assert sum(key.weight for key in middle.keys) == ONE
    even = key_distributions.uniform(7, "one").fixed
    assert not even.cuts and even.during(0, ONE // 2) is even


@pytest.mark.parametrize("number", range(1, 23))
def test_steps_fill_a_distribution_evenly(number: int) -> None:
    """However many points there are, every eighth of it has its part of them, but for two. One of the steps
    used to lie at 3/7, and came back to the same seven places for half a minute."""
    step = even_step(number)
    for count in (50, 300, 3000):
        places = [0] * 8
        for at in range(count):
            places[at * step % ONE * 8 // ONE] += 1
        assert max(abs(each - count / 8) for each in places) <= 2


@pytest.mark.parametrize("sort", ["one", "spread", "rising"])
def test_keys_of_a_partition_are_found_by_place(sort: key_distributions.Sort) -> None:
    """As when each key is asked for its part; some bounds lie within collections, or are where one begins."""
    shape = key_distributions.zipf(300, 1.0, 1, sort).fixed
    inside = [key.prefix + bytes(length) + b"\x80" for length, key in enumerate(shape.keys[:7])]
    bounds = [b"", *sorted([*inside, shape.keys[9].prefix, *(bytes([high]) for high in range(7, 256, 31))])]
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        shares = {key: shape.share_of_key(key, low, high) for key in shape.keys}
        assert dict(shape.keys_between(low, high)) == {key: share for key, share in shares.items() if share}


def test_a_collection_can_be_cut() -> None:
    """A key whose requests spread over its collection loads both sides of a cut inside it."""
    spread = key_distributions.single("k", 1, "spread").fixed
    prefix = spread.keys[0].prefix
    cut = prefix + (1 << 62).to_bytes(8, "big")
    assert spread.weight_between(b"", cut) == ONE // 4
    assert spread.weight_between(cut, None) == ONE - ONE // 4
    rising = key_distributions.single("k", 1, "rising").fixed
    assert (rising.weight_between(b"", cut), rising.weight_between(cut, None)) == (0, ONE)
    places = spread.sort_places(spread.keys[0], cut, None, 4, 1)
    assert all(place >= cut for place in places) and len(set(places)) == 4
    later = [rising.sort_places(rising.keys[0], b"", None, 2, turn) for turn in (1, 2)]
    assert later[0] + later[1] == sorted(later[0] + later[1])


# --- Rates --------------------------------------------------------------------------------------------

RATES: list[Rate] = [
    Constant(2_500_000),
    Steps((10, 20), (MICRO, 3 * MICRO)),
    Points((0, 100), (0, 10 * MICRO)),
    Daily(MICRO, 9 * MICRO, 14 * 3600, 0),
    Spikes(MICRO, 50 * MICRO, 60, 5),
    Window(Constant(7_777_777), 5, 50),
]


@pytest.mark.parametrize("rate", RATES, ids=lambda rate: type(rate).__name__)
def test_counts_add_up_to_the_integral(rate: Rate) -> None:
    counter = Counter(rate)
    total = sum(counter.take(second) for second in range(500))
    exact = Fraction(sum(rate.micro(second) for second in range(500)), MICRO)
    assert total == int(exact)
    assert max(rate.micro(second) for second in range(500)) <= rate.most


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_shares_of_a_rate_lose_nothing(shares: list[int]) -> None:
    rate = Constant(1_234_567)
    counters = [Counter(rate) for _ in shares]
    total = sum(
        counter.take(second, share)
        for second in range(50)
        for counter, share in zip(counters, shares, strict=True)
    )
    exact = Fraction(50 * 1_234_567 * sum(shares), MICRO * 10**9)
    assert exact - len(shares) < total <= exact


def test_a_day_has_its_peak_and_its_valley() -> None:
    day = Daily(100, 900, 14 * 3600, 0)
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
def test_steps_later_is_the_distribution_of_waits(wait: retries.Wait) -> None:
    chances = wait.steps_later(1000)
    assert sum(chances) == retries.ONE
    random = Random(1)
    count = 20_000
    seen = [0] * len(chances)
    for _ in range(count):
        at = random.random() + wait.draw_ns(random.random) / 1e9
        seen[int(at)] += 1
    for chance, times in zip(chances, seen, strict=True):
        assert times / count == pytest.approx(chance / retries.ONE, abs=0.015)


def test_an_empty_shape_is_all_tail() -> None:
    assert Shape((), ONE).draw(0, 0) == (None, b"\0" * 16)
