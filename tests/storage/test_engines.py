"""Every engine, and two of them mirrored, pass the shipped suite."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from faradisc.storage.api import Store
from faradisc.storage.memory import MemoryPlace, MemoryStore
from faradisc.storage.rocks import open_rocks
from faradisc.storage.testing.mirror import MirrorStore
from faradisc.storage.testing.recording import RecordingStore
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite, StoreSuite


class TestMemory(StoreSuite):
    capabilities = Capabilities(reopens=False, suspends=False)

    async def open_store(self, place: Path) -> Store:
        return MemoryStore()


class TestSharedMemory(SharedStoreSuite):
    capabilities = Capabilities(reopens=True, suspends=False)
    places: ClassVar[dict[Path, MemoryPlace]] = {}

    async def open_store(self, place: Path) -> Store:
        return MemoryStore(self.places.setdefault(place, MemoryPlace()))


class TestRocksGrouped(StoreSuite):
    capabilities = Capabilities(reopens=True, suspends=True)

    async def open_store(self, place: Path) -> Store:
        return open_rocks(place / "data", durability="grouped")


class TestRocksInline(StoreSuite):
    capabilities = Capabilities(reopens=True, suspends=False)

    async def open_store(self, place: Path) -> Store:
        return open_rocks(place / "data", durability="inline")


class TestMirror(StoreSuite):
    capabilities = Capabilities(reopens=False, suspends=False)

    async def open_store(self, place: Path) -> Store:
        return MirrorStore(MemoryStore(), open_rocks(place / "data", durability="inline"))


class TestMirrorGrouped(StoreSuite):
    capabilities = Capabilities(reopens=False, suspends=True)

    async def open_store(self, place: Path) -> Store:
        return MirrorStore(open_rocks(place / "data"), MemoryStore())


class TestRecording(StoreSuite):
    """A wrapper must not change what an engine promises."""

    capabilities = Capabilities(reopens=False, suspends=False)

    async def open_store(self, place: Path) -> Store:
        return RecordingStore(MemoryStore())
