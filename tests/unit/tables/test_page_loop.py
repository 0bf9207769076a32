"""The page loop: by count, by bytes, over several key ranges, in both directions.

What it proves: whatever the bounds, the pages together are all rows, once, in order. A small page size makes
a handful of rows cross every boundary. Source: limits.md section 4.
"""

from __future__ import annotations

from itertools import product

import pytest

from faradisc.engine.tables import reads
from faradisc.engine.tables.paging import KeyRange
from faradisc.engine.tables.reads import read_page
from faradisc.model.codec import item_record
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore

PARTS = (b"a", b"b", b"c")


def row(part: bytes, number: int, size: int) -> bytes:
    return item_record.encode({"p": {"S": f"{part.decode()}{number:02}"}, "v": {"S": "x" * size}}, size)


@pytest.fixture
def store() -> MemoryStore:
    """Ten rows in part a, none in b, five in c; sizes 1, 2, 3, ... in turn."""
    store = MemoryStore()
    for part, count in ((b"a", 10), (b"c", 5)):
        puts = [(b"%02d" % n, row(part, n, n % 5 + 1)) for n in range(count)]
        run(store.commit([Batch(part, puts=puts)]))
    return store


KEY_RANGES = [KeyRange(part, None, None) for part in PARTS]
ALL = [(part, n) for part, count in ((b"a", 10), (b"c", 5)) for n in range(count)]


def names(page: reads.Page) -> list[tuple[bytes, int]]:
    found = [item_record.decode(stored)["p"]["S"] for stored in page.records]
    return [(name[0].encode(), int(name[1:])) for name in found]


def rest_of(page: reads.Page, reverse: bool) -> list[KeyRange]:
    """Returns the key ranges after the last row of a page, in the order for read_page."""
    part, number = names(page)[-1]
    at = PARTS.index(part)
    behind = KEY_RANGES[at].starting_after(b"%02d" % number, reverse=reverse)
    return [*KEY_RANGES[:at], behind] if reverse else [behind, *KEY_RANGES[at + 1 :]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bounds", list(product([1, 3, 7, 20, 1_000], [1, 2, 3, 100])))
@pytest.mark.parametrize("limit", [None, 1, 2, 7, 15, 16])
def test_pages_together_have_every_row(
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    limit: int | None,
    bounds: tuple[int, int],
    reverse: bool,
) -> None:
    page_bytes, rows_per_read = bounds
    monkeypatch.setattr(reads, "PAGE_BYTES_MAX", page_bytes)
    monkeypatch.setattr(reads, "ROWS_PER_READ_MAX", rows_per_read)
    key_ranges, found = KEY_RANGES, []
    for _ in range(len(ALL) + 1):
        page = run(read_page(store, key_ranges, epoch=0, limit=limit, reverse=reverse))
        found += names(page)
        sizes = [item_record.size_of(stored) for stored in page.records]
        assert page.size_bytes == sum(sizes)
        # The item that reaches the page's size is the last one of the page.
        assert sum(sizes[:-1]) < page_bytes
        assert limit is None or len(sizes) <= limit
        if not page.ended_by_bound:
            break
        assert sum(sizes) >= page_bytes or len(sizes) == limit
        key_ranges = rest_of(page, reverse)
    assert found == (ALL[::-1] if reverse else ALL)


def test_a_page_stays_within_its_key_range(store: MemoryStore) -> None:
    page = run(read_page(store, [KeyRange(b"a", b"03", b"06")], epoch=0, limit=None))
    assert names(page) == [(b"a", 3), (b"a", 4), (b"a", 5)]
    assert not page.ended_by_bound


def test_an_empty_key_range_gives_an_empty_page(store: MemoryStore) -> None:
    page = run(read_page(store, [KeyRange(b"b", None, None)], epoch=0, limit=1))
    assert (page.records, page.size_bytes, page.ended_by_bound) == ([], 0, False)
