"""What is in memory of late reads: how much, for how long, and what clocks and failed commits do to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.tables import late
from faradisc.engine.tables.late import EarlierImages, LateReads, LateView, check_lags, parse_lags
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore

PART = b"part"
SECOND_NS = 10**9


@dataclass
class _Changed:
    row_key: bytes
    part: bytes = PART


@dataclass
class _Old:
    record: bytes | None
    item: Any = None


@dataclass
class _Written:
    change: Any
    old: Any
    entries: list[Any] = field(default_factory=list)


def written(key: bytes, before: bytes | None) -> Any:
    return _Written(_Changed(key), _Old(before))


@pytest.fixture
def images(clock: ManualClock) -> EarlierImages:
    made = EarlierImages("things", clock, Random(0))
    made.lag_ns = SECOND_NS
    return made


def test_images_are_dropped_when_no_read_can_see_them(images: EarlierImages, clock: ManualClock) -> None:
    images.keep(written(b"a", b"one"), clock.now_ns())
    clock.advance(0.999)
    assert images.moment_ns() > 0 and images.bytes > 0
    clock.advance(0.001)
    assert images.moment_ns() == 0 and images.bytes == 0 and not images.parts


def test_images_have_a_limit_and_the_oldest_go_first(
    images: EarlierImages, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "IMAGES_BYTES_MAX", 2_000)
    for number in range(20):
        images.keep(written(b"%d" % number, b"x" * 200), clock.now_ns())
    assert images.bytes <= 2_000
    before_ns = clock.now_ns() - 1
    assert images.record_at(PART, b"0", before_ns, b"now") == b"now"
    assert images.record_at(PART, b"19", before_ns, b"now") == b"x" * 200


def test_a_clock_that_was_set_back_forgets_them(images: EarlierImages, clock: ManualClock) -> None:
    images.keep(written(b"a", b"one"), clock.now_ns())
    clock._go_to(clock.now_ns() - 3600 * SECOND_NS)
    assert images.moment_ns() == 0
    images.keep(written(b"a", b"two"), clock.now_ns())
    assert images.record_at(PART, b"a", clock.now_ns() - 1, b"now") == b"two"


def test_what_a_failed_commit_would_have_replaced_is_taken_back(
    images: EarlierImages, clock: ManualClock
) -> None:
    images.keep(written(b"a", b"one"), clock.now_ns())
    clock.advance(0.1)
    images.keep(written(b"a", b"never"), clock.now_ns())
    images.take_back(written(b"a", b"never"), clock.now_ns())
    assert images.record_at(PART, b"a", clock.now_ns() - 1, b"two") == b"two"
    assert images.record_at(PART, b"a", clock.now_ns() - SECOND_NS // 5, b"two") == b"one"


def test_commits_that_cross_are_ordered_by_their_moments(images: EarlierImages, clock: ManualClock) -> None:
    now_ns = clock.now_ns()
    images.keep(written(b"a", b"two"), now_ns + 2)
    images.keep(written(b"a", b"one"), now_ns + 1)
    assert [images.record_at(PART, b"a", now_ns + at, b"three") for at in range(3)] == [
        b"one",
        b"two",
        b"three",
    ]


def test_another_seed_begins_another_sequence(clock: ManualClock) -> None:
    reads = LateReads(clock, 1000, seed=1)
    images = reads.of("id", "things")
    assert images is not None
    images.keep(written(b"a", None), clock.now_ns())
    first = [images.moment_ns() for _ in range(5)]
    reads.set(1000, {}, 1)
    assert [images.moment_ns() for _ in range(5)] == first
    reads.set(1000, {}, 2)
    assert [images.moment_ns() for _ in range(5)] != first


@pytest.mark.parametrize("seed", range(30))
def test_ranges_are_those_of_a_store_that_had_stayed_so(seed: int) -> None:
    """Any bounds, limits and budgets, in both directions."""
    chance, clock = Random(seed), ManualClock()
    images = EarlierImages("things", clock, Random(0))
    images.lag_ns = SECOND_NS
    store, earlier = MemoryStore(), MemoryStore()
    keys = [b"%02d" % number for number in range(30)]
    start = {key: b"x" * chance.randrange(1, 9) for key in chance.sample(keys, 15)}
    for each in (store, earlier):
        run(each.commit([Batch(PART, puts=list(start.items()))]))
    at_ns = clock.now_ns()
    rows: dict[bytes, bytes | None] = dict(start)
    for _ in range(25):
        clock.advance(0.001)
        key, after = chance.choice(keys), chance.choice((None, b"later" * chance.randrange(1, 4)))
        images.keep(written(key, rows.get(key)), clock.now_ns())
        run(store.commit([Batch(PART, deletes=[key]) if after is None else Batch(PART, puts=[(key, after)])]))
        rows[key] = after
    view = LateView(store, images, at_ns)
    for _ in range(40):
        low, high = sorted(chance.choices([None, *keys], k=2), key=lambda each: each or b"")
        options: dict[str, Any] = {
            "limit": chance.choice((1, 2, 5, 100)),
            "max_bytes": chance.choice((None, 1, 20, 1000)),
            "reverse": chance.random() < 0.5,
        }
        if low is not None and chance.random() < 0.2:
            high = None
        found = run(view.range(PART, low, high, **options))
        wanted = run(earlier.range(PART, low, high, **options))
        assert [(key, row[1]) for key, row in found] == [(key, row[1]) for key, row in wanted]
    shown = run(view.get(PART, keys))
    assert [row and row[1] for row in shown] == [start.get(key) for key in keys]


def test_settings_are_read_and_checked() -> None:
    assert parse_lags(" Orders=500, Logs=0,") == {"Orders": 500.0, "Logs": 0.0}
    for wrong in ("Orders", "=5", "Orders=soon"):
        with pytest.raises(ValueError, match="write TABLE=MILLISECONDS, not"):
            parse_lags(wrong)
    for lag_ms in (-1.0, float("nan"), 1e9):
        with pytest.raises(ValueError, match="between 0 and 86,400,000 ms"):
            check_lags(0, {"Orders": lag_ms})
