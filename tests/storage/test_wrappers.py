"""The two wrappers do what they are for: one writes down, one notices."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from faradisc.storage.api import Batch, Conflict, Part, Row, Store
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from faradisc.storage.rocks import open_rocks
from faradisc.storage.testing.contract import OTHER, PART, applied, put, version_of
from fixtures.mirror_store import Difference, MirrorStore
from fixtures.recording_store import RecordingStore, shown

GOLDEN = """\
get part=t [k1, 0xff00] for_update -> [absent, absent]
commit part=t checks[k1=absent] puts[k1=7 bytes] log[1] usage[+1 items, +7 bytes]; part=o deletes[j] -> [1, 0]
commit part=t checks[k1=absent] -> conflict part=t k1 is v1
get part=t [k1] -> [v1 7 bytes]
commit part=t checks[k1=v1] puts[k1=4 bytes, k2=0 bytes] -> [1]
range part=t k1.. limit=10 reverse max_bytes=100 -> [k2=v2 0 bytes, k1=v2 4 bytes]
range part=t ..k2 limit=1 -> [k1=v2 4 bytes]
read_many [t/k1, o/k] -> [v2 4 bytes, absent]
log part=t after=0 limit=5 -> [1]
usage part=t -> 1 items, 7 bytes
parts -> [t log 1]
wait_durable v2
commit not durable part=o puts[k=0 bytes] -> [0]
flush
snapshot -> s1
trim part=t before=1
clear part=t
s1: get part=t [k2] -> [v2 0 bytes]
s1: close
close"""


async def _story(store: Store) -> None:
    part, other = b"t", b"o"
    await store.get(part, [b"k1", b"\xff\x00"], for_update=True)
    first = Batch(
        part, checks=[(b"k1", 0)], puts=[(b"k1", b"payload")], log=[b"e"], items_delta=1, bytes_delta=7
    )
    await store.commit([first, Batch(other, deletes=[b"j"])])
    await store.commit([Batch(part, checks=[(b"k1", 0)])])
    [row] = await store.get(part, [b"k1"])
    assert row is not None
    await store.commit([Batch(part, checks=[(b"k1", row[0])], puts=[(b"k1", b"four"), (b"k2", b"")])])
    await store.range(part, b"k1", None, limit=10, reverse=True, max_bytes=100)
    await store.range(part, None, b"k2", limit=1)
    await store.read_many([(part, b"k1"), (other, b"k")])
    await store.log(part, 0, 5)
    await store.usage(part)
    await store.parts()
    await store.wait_durable(await version_of(MemoryStore(), b"") or row[0] + 1)
    await store.commit([Batch(other, puts=[(b"k", b"")])], durable=False)
    await store.flush()
    snapshot = await store.snapshot()
    await store.trim(part, 1)
    await store.clear(part)
    await snapshot.get(part, [b"k2"])
    await snapshot.close()
    await store.close()


def test_a_recording_reads_the_same_on_every_engine(tmp_path: Path) -> None:
    for inner in (MemoryStore(), open_rocks(tmp_path, durability="inline")):
        recording = RecordingStore(inner)
        run(_story(recording))
        assert recording.take() == GOLDEN.splitlines()
        assert recording.lines == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        (b"", "0x"),
        (b"two words", "0x74776f20776f726473"),
        (b"\x00", "0x00"),
        (b"n" * 30, "n" * 24 + "...(30)"),
        (b"\x00" * 30, "0x" + "00" * 24 + "...(30)"),
    ],
)
def test_bytes_are_shown_for_people(data: bytes, text: str) -> None:
    assert shown(data) == text


class Forgetful(MemoryStore):
    """An engine with errors to find."""

    error = ""

    async def get(
        self,
        part: Part,
        keys: Sequence[bytes],
        *,
        for_update: bool = False,
        stale_ok: bool = False,
        epoch: int | None = None,
    ) -> list[Row | None]:
        rows = await super().get(part, keys)
        if self.error == "payload":
            return [row and (row[0], row[1] + b"!") for row in rows]
        if self.error == "row":
            return [None for _ in rows]
        if self.error == "version":
            return [row and (7, row[1]) for row in rows]
        return rows

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        if self.error == "checks":
            return await super().commit([Batch(each.part, puts=each.puts, log=each.log) for each in batches])
        answer = await super().commit(batches)
        return [each + 1 for each in answer] if self.error == "log" and isinstance(answer, list) else answer

    async def usage(self, part: Part) -> tuple[int, int]:
        if self.error == "error":
            raise ValueError("only here")
        return await super().usage(part)


@pytest.mark.parametrize("error", ["payload", "row", "version", "checks", "log", "error"])
def test_mirror_detects_differences(error: str) -> None:
    broken = Forgetful()
    store = MirrorStore(MemoryStore(), broken)

    async def story() -> None:
        await applied(store, Batch(PART, puts=[(b"a", b"1")]))
        await applied(store, Batch(OTHER, puts=[(b"b", b"2")]))
        await version_of(store, b"a")
        broken.error = error
        await store.commit([Batch(PART, checks=[(b"a", 0)])])
        await put(store, b"c", b"3")
        await version_of(store, b"a")
        await version_of(store, b"b", OTHER)
        await store.usage(PART)

    with pytest.raises(Difference):
        asyncio.run(story())


def test_a_mirror_of_sound_engines_stays_quiet() -> None:
    run(_story(MirrorStore(MemoryStore(), Forgetful())))
