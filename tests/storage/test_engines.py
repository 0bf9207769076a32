"""Every engine, and two of them mirrored, pass the shipped suite."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from faradisc.clock import SystemEntropy
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.engine.sealing.sealer import Sealer
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import SealState
from faradisc.storage.api import Store
from faradisc.storage.memory import MemoryPlace, MemoryStore
from faradisc.storage.rocks import open_rocks
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite, StoreSuite
from fixtures.mirror_store import MirrorStore
from fixtures.recording_store import RecordingStore


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


class _SealsAll(dict[bytes, Sealer]):
    """Every part is one of an encrypted table."""

    def __init__(self, sealer: Sealer) -> None:
        super().__init__()
        self.sealer = sealer

    def get(self, key: bytes, default: object = None) -> Sealer:  # type: ignore[override]
        return self.sealer

    def __contains__(self, key: object) -> bool:
        return True

    def items(self) -> list[tuple[bytes, Sealer]]:  # type: ignore[override]
        return []


class TestSealed(StoreSuite):
    """Encryption must not change what an engine promises."""

    capabilities = Capabilities(reopens=True, suspends=False)

    async def open_store(self, place: Path) -> Store:
        sealers = Sealers(entropy=SystemEntropy())
        sealers.know("wrapped", bytes(32))
        sealer = sealers.attach("all", SealState("arn", {}, ["wrapped"]), ())
        sealers.by_resource = _SealsAll(sealer)
        return SealedStore(open_rocks(place / "data", durability="inline"), sealers)
