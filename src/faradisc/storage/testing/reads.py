"""Reads: get, range, read_many, order, sizes."""

from __future__ import annotations

from faradisc.storage.api import Batch, Store
from faradisc.storage.testing.contract import (
    OTHER,
    PART,
    StoreContract,
    applied,
    contents,
    payload_of,
    put,
    row_of,
    scenario,
)

KEYS = [b"a", b"b", b"c", b"d", b"e"]


async def _letters(store: Store) -> None:
    await applied(store, Batch(PART, puts=[(key, key * 10) for key in KEYS]))


async def _keys(
    store: Store,
    lo: bytes | None,
    hi: bytes | None,
    limit: int = 100,
    *,
    reverse: bool = False,
    max_bytes: int | None = None,
) -> list[bytes]:
    page = await store.range(PART, lo, hi, limit=limit, reverse=reverse, max_bytes=max_bytes)
    return [key for key, _ in page]


class ReadContract(StoreContract):
    @scenario
    async def test_unwritten_part_is_empty(self, store: Store) -> None:
        assert await store.get(PART, [b"a", b""]) == [None, None]
        assert await store.range(PART, None, None, limit=10) == []
        assert await store.range(PART, None, None, limit=10, reverse=True) == []
        assert await store.read_many([(PART, b"a"), (OTHER, b"a")]) == [None, None]
        assert await store.log(PART, 0, 10) == []
        assert await store.usage(PART) == (0, 0)
        assert await store.get(PART, []) == []
        assert await store.read_many([]) == []

    @scenario
    async def test_parts_lists_parts_that_are_not_empty(self, store: Store) -> None:
        assert await store.parts() == []
        await applied(store, Batch(b"rows", puts=[(b"k", b"")]), Batch(b"\x01log", log=[b"a", b"b"]))
        await applied(store, Batch(b"\xff" * 255, bytes_delta=-1), Batch(b"rowsmore", puts=[(b"", b"")]))
        before = await store.snapshot()
        expected = [(b"\x01log", 2), (b"rows", 0), (b"rowsmore", 0), (b"\xff" * 255, 0)]
        assert await store.parts() == expected
        await store.trim(b"\x01log", 3)
        await applied(store, Batch(b"rows", deletes=[b"k"]), Batch(b"untouched", deletes=[b"k"]))
        await store.clear(b"\xff" * 255)
        assert await store.parts() == [(b"\x01log", 2), (b"rowsmore", 0)]
        assert await before.parts() == expected
        await before.close()

    @scenario
    async def test_get_returns_rows_in_the_order_of_keys(self, store: Store) -> None:
        await _letters(store)
        rows = await store.get(PART, [b"c", b"x", b"a", b"c"])
        assert [row and row[1] for row in rows] == [b"c" * 10, None, b"a" * 10, b"c" * 10]

    @scenario
    async def test_get_for_update_and_stale_reads_see_the_same_rows(self, store: Store) -> None:
        await _letters(store)
        plain = await store.get(PART, KEYS)
        assert await store.get(PART, KEYS, for_update=True) == plain
        assert await store.get(PART, KEYS, stale_ok=True) == plain

    @scenario
    async def test_empty_keys_and_payloads(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"", b"first"), (b"\x00", b""), (b"\x00\x00", b"third")]))
        assert await payload_of(store, b"") == b"first"
        assert await payload_of(store, b"\x00") == b""
        assert list(await contents(store)) == [b"", b"\x00", b"\x00\x00"]
        assert await _keys(store, b"", b"\x00") == [b""]

    @scenario
    async def test_range_includes_lo_and_excludes_hi(self, store: Store) -> None:
        await _letters(store)
        assert await _keys(store, b"b", b"d") == [b"b", b"c"]
        assert await _keys(store, b"b", b"d", reverse=True) == [b"c", b"b"]
        assert await _keys(store, None, b"c") == [b"a", b"b"]
        assert await _keys(store, b"c", None) == [b"c", b"d", b"e"]
        assert await _keys(store, None, None, reverse=True) == KEYS[::-1]

    @scenario
    async def test_range_bounds_need_not_exist(self, store: Store) -> None:
        await _letters(store)
        assert await _keys(store, b"aa", b"cc") == [b"b", b"c"]
        assert await _keys(store, b"aa", b"cc", reverse=True) == [b"c", b"b"]
        assert await _keys(store, b"f", None) == []
        assert await _keys(store, None, b"A", reverse=True) == []

    @scenario
    async def test_empty_and_inverted_ranges_are_empty(self, store: Store) -> None:
        await _letters(store)
        for reverse in (False, True):
            assert await _keys(store, b"c", b"c", reverse=reverse) == []
            assert await _keys(store, b"d", b"b", reverse=reverse) == []

    @scenario
    async def test_range_stops_at_the_limit_from_either_end(self, store: Store) -> None:
        await _letters(store)
        assert await _keys(store, None, None, 2) == [b"a", b"b"]
        assert await _keys(store, None, None, 2, reverse=True) == [b"e", b"d"]
        assert await _keys(store, b"b", b"e", 2, reverse=True) == [b"d", b"c"]

    @scenario
    async def test_range_includes_the_row_that_passes_max_bytes(self, store: Store) -> None:
        await _letters(store)  # ten payload bytes each
        assert await _keys(store, None, None, max_bytes=0) == [b"a"]
        assert await _keys(store, None, None, max_bytes=19) == [b"a", b"b"]
        assert await _keys(store, None, None, max_bytes=20) == [b"a", b"b", b"c"]
        assert await _keys(store, None, None, max_bytes=20, reverse=True) == [b"e", b"d", b"c"]
        assert await _keys(store, None, None, 2, max_bytes=1000) == [b"a", b"b"]

    @scenario
    async def test_pages_cover_a_part_without_gap_or_repeat(self, store: Store) -> None:
        keys = [b"%05d" % number for number in range(500)]
        await applied(store, Batch(PART, puts=[(key, key) for key in keys]))
        seen: list[bytes] = []
        lo: bytes | None = None
        while page := await _keys(store, lo, b"00450", 7):
            seen += page
            lo = page[-1] + b"\x00"
        assert seen == keys[:450]
        seen.clear()
        hi: bytes | None = None
        while page := await _keys(store, b"00050", hi, 7, reverse=True):
            seen += page
            hi = page[-1]
        assert seen == keys[:49:-1]

    @scenario
    async def test_keys_sort_as_unsigned_bytes(self, store: Store) -> None:
        """No byte is special, and 0x80 and above sort after 0x7f."""
        keys = sorted(
            [bytes([byte]) for byte in range(256)] + [b"\x7f\xff", b"\x80\x00", b"\xff\xff", b"a\x00b"]
        )
        await applied(store, Batch(PART, puts=[(key, b"") for key in reversed(keys)]))
        assert await _keys(store, None, None, 1000) == keys
        assert await _keys(store, None, None, 1000, reverse=True) == keys[::-1]
        assert await _keys(store, b"\xff", None) == [b"\xff", b"\xff\xff"]

    @scenario
    async def test_parts_are_separate_for_any_names(self, store: Store) -> None:
        """Part and key are not concatenated: one part's name can be a prefix of another's."""
        parts = [b"a", b"ab", b"abc", b"b", b"\x00", b"\x00\x00", b"\xff", b"\xff\xff", b"n" * 255]
        for part in parts:
            await put(store, b"bc", b"of " + part, part)
            await put(store, b"", b"empty", part)
        for part in parts:
            assert await contents(store, part) == {b"": b"empty", b"bc": b"of " + part}
            backwards = await store.range(part, None, None, limit=10, reverse=True)
            assert [key for key, _ in backwards] == [b"bc", b""]

    @scenario
    async def test_large_payloads_are_read_whole(self, store: Store) -> None:
        large = bytes(range(256)) * 1600  # 400 KB, the largest item
        await applied(store, Batch(PART, puts=[(b"%d" % number, large) for number in range(5)]))
        assert await payload_of(store, b"3") == large
        page = await store.range(PART, None, None, limit=10, max_bytes=1024 * 1024)
        assert [len(row[1]) for _, row in page] == [len(large)] * 3

    @scenario
    async def test_long_keys(self, store: Store) -> None:
        key = b"k" * 4096
        await put(store, key, b"value")
        assert await payload_of(store, key) == b"value"
        assert await payload_of(store, key[:-1]) is None

    @scenario
    async def test_read_many_returns_rows_of_several_parts_in_order(self, store: Store) -> None:
        await applied(store, Batch(PART, puts=[(b"k", b"one")]), Batch(OTHER, puts=[(b"k", b"two")]))
        rows = await store.read_many([(OTHER, b"k"), (PART, b"none"), (PART, b"k")])
        assert [row and row[1] for row in rows] == [b"two", None, b"one"]

    @scenario
    async def test_get_and_range_return_the_same_rows(self, store: Store) -> None:
        await _letters(store)
        await put(store, b"c", b"newer")
        for key, row in await store.range(PART, None, None, limit=10):
            assert await row_of(store, key) == row
