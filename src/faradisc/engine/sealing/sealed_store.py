"""A store around a store: payloads and log entries of sealed resources are opened when they are read, and
sealed when they are committed. Row keys, versions and usage stay as they are.

Every path of the database to its rows goes through here: requests, indexes, streams, history, backups,
exports, jobs and the check. While no resource is sealed the methods are those of the engine itself, so a
database without encryption pays nothing; with it, the calls for other resources pay one look-up.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Unpack

from faradisc import errors
from faradisc.engine.sealing.sealer import OVERHEAD_BYTES, KeyDenied, Sealer
from faradisc.engine.sealing.sealers import Sealers
from faradisc.storage.api import Batch, Conflict, Epochs, GetOptions, Keys, Part, ReadOnlyStore, Row, Store

_Rows = Coroutine[Any, Any, list[Row | None]]
_Pairs = Coroutine[Any, Any, list[tuple[bytes, Row]]]
_Entries = Coroutine[Any, Any, list[tuple[int, bytes]]]


class SealedView:
    """A ReadOnlyStore around another one."""

    def __init__(self, inner: ReadOnlyStore, sealers: Sealers) -> None:
        self._reads = inner
        self._sealers = sealers
        self._by_resource = sealers.by_resource

    def get(self, part: Part, keys: Sequence[bytes], **options: Unpack[GetOptions]) -> _Rows:
        rows = self._reads.get(part, keys, **options)
        sealer = self._by_resource.get(part[:4])
        return rows if sealer is None else self._opened(sealer, part, keys, rows)

    async def _opened(
        self, sealer: Sealer, part: Part, keys: Sequence[bytes], got: _Rows
    ) -> list[Row | None]:
        rows = await got
        if sealer.strict and len(rows) == 1:
            (row,) = rows
            return rows if row is None else [(row[0], sealer.open(row[1], part + keys[0]))]
        if not sealer.is_ready:
            await self._require(sealer)
        plain_ok = self._accepts_plain(sealer, part)
        return [
            None if row is None else (row[0], sealer.open(row[1], part + key, plain_ok=plain_ok))
            for key, row in zip(keys, rows, strict=True)
        ]

    def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
        epoch: int | None = None,
    ) -> _Pairs:
        sealer = self._by_resource.get(part[:4])
        # Sealed payloads are longer: with this much more, no page ends before plain ones would end it.
        more = OVERHEAD_BYTES * limit if sealer is not None else 0
        budget = None if max_bytes is None else max_bytes + more
        rows = self._reads.range(part, lo, hi, limit=limit, reverse=reverse, max_bytes=budget, epoch=epoch)
        return rows if sealer is None else self._page(sealer, part, max_bytes, rows)

    async def _page(
        self, sealer: Sealer, part: Part, max_bytes: int | None, got: _Pairs
    ) -> list[tuple[bytes, Row]]:
        rows = await got
        if not sealer.is_ready:
            await self._require(sealer)
        plain_ok = self._accepts_plain(sealer, part)
        found: list[tuple[bytes, Row]] = []
        size = 0
        for key, (version, stored) in rows:
            plain = sealer.open(stored, part + key, plain_ok=plain_ok)
            found.append((key, (version, plain)))
            size += len(plain)
            if max_bytes is not None and size > max_bytes:
                break
        return found

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        rows = await self._reads.read_many(keys, epochs=epochs, loose=loose)
        for at, ((part, key), row) in enumerate(zip(keys, rows, strict=True)):
            sealer = self._by_resource.get(part[:4])
            if sealer is not None and row is not None:
                if not sealer.is_ready:
                    await self._require(sealer)
                plain_ok = self._accepts_plain(sealer, part)
                rows[at] = (row[0], sealer.open(row[1], part + key, plain_ok=plain_ok))
        return rows

    def log(self, part: Part, after: int, limit: int) -> _Entries:
        sealer = self._by_resource.get(part[:4])
        return (
            self._reads.log(part, after, limit) if sealer is None else self._log(sealer, part, after, limit)
        )

    async def _log(self, sealer: Sealer, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        if not sealer.is_ready:
            await self._require(sealer)
        state = sealer.state
        plain_ok = not state.enabled or self._sealers.clock.now_ns() < state.plain_entries_until_ns
        entries = await self._reads.log(part, after, limit)
        return [(number, sealer.open(entry, part, plain_ok=plain_ok)) for number, entry in entries]

    def _accepts_plain(self, sealer: Sealer, part: Part) -> bool:
        """Whether rows of a part may still be, or be again, as they are without encryption."""
        return sealer.state.converting or not sealer.state.enabled

    async def _require(self, sealer: Sealer) -> None:
        """Unwraps the keys. Raises KeyDenied, unless only a few log entries need them."""
        try:
            await self._sealers.ready(sealer)
        except KeyDenied:
            if sealer.is_needed:
                raise

    async def usage(self, part: Part) -> tuple[int, int]:
        return await self._reads.usage(part)

    async def parts(self) -> list[tuple[Part, int]]:
        return await self._reads.parts()

    async def close(self) -> None:
        await self._reads.close()


class SealedStore(SealedView):
    """A Store around another one."""

    def __init__(self, inner: Store, sealers: Sealers) -> None:
        super().__init__(inner, sealers)
        self.inner = inner
        self.shared = inner.shared
        self.is_loose = inner.is_loose
        self.slots = inner.slots
        # What handles no payload is the engine's own.
        self.sweep, self.now_ns, self.trim = inner.sweep, inner.now_ns, inner.trim
        self.flush, self.wait_durable, self.clear = inner.flush, inner.wait_durable, inner.clear
        if sealers.is_empty():
            for name in ("get", "range", "read_many", "log", "commit", "snapshot"):
                setattr(self, name, getattr(inner, name))
            sealers.on_first = self._begin

    def _begin(self) -> None:
        """Uses the methods of this class instead of the engine's."""
        for name in ("get", "range", "read_many", "log", "commit", "snapshot"):
            self.__dict__.pop(name, None)

    @property
    def failure(self) -> errors.StorageError | None:
        return self.inner.failure

    def commit(
        self, batches: Sequence[Batch], *, durable: bool = True
    ) -> Coroutine[Any, Any, list[int] | Conflict]:
        by_resource = self._by_resource
        for batch in batches:
            if batch.part[:4] in by_resource:
                return self._commit(batches, durable)
        return self.inner.commit(batches, durable=durable)

    async def _commit(self, batches: Sequence[Batch], durable: bool) -> list[int] | Conflict:
        sealed = []
        for batch in batches:
            sealer = self._by_resource.get(batch.part[:4])
            if sealer is not None and sealer.state.enabled and (batch.puts or batch.log):
                if not sealer.is_ready:
                    await self._require(sealer)
                seal, part = sealer.seal, batch.part
                puts = [(key, seal(payload, part + key)) for key, payload in batch.puts]
                log = [seal(entry, part) for entry in batch.log]
                batch = replace(batch, puts=puts, log=log)
            sealed.append(batch)
        return await self.inner.commit(sealed, durable=durable)

    async def snapshot(self) -> ReadOnlyStore:
        return _Snapshot(await self.inner.snapshot(), self._sealers)


class _Snapshot(SealedView):
    """A fixed state. Rows that were not sealed yet at its time are not sealed in it later."""

    def __init__(self, inner: ReadOnlyStore, sealers: Sealers) -> None:
        super().__init__(inner, sealers)
        self._sealed = frozenset(
            resource
            for resource, sealer in sealers.by_resource.items()
            if sealer.state.enabled and not sealer.state.converting
        )

    def _accepts_plain(self, sealer: Sealer, part: Part) -> bool:
        return part[:4] not in self._sealed
