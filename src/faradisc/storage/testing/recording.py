"""RecordingStore: forwards every call and records it as one line, for golden tests.

    commit part=users checks[k1=absent] puts[k1=7 bytes] log[1] -> [1]
    get part=users [k1] -> [v1 7 bytes]

Bytes are shown as text where printable and as hex otherwise. Versions are numbered v1, v2, ... in the order
in which they first appear, so that a recording is the same for every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Conflict, Part, ReadOnlyStore, Row, Store

SHOWN_BYTES_MAX = 24


def shown(data: bytes) -> str:
    """Returns bytes as text when printable ASCII without separators, else as hex; long ones are cut."""
    if data.isascii() and (text := data.decode()).isprintable() and not set(text) & set(" []=,") and text:
        return text if len(text) <= SHOWN_BYTES_MAX else f"{text[:SHOWN_BYTES_MAX]}...({len(data)})"
    body = data[:SHOWN_BYTES_MAX].hex()
    return f"0x{body}" if len(data) <= SHOWN_BYTES_MAX else f"0x{body}...({len(data)})"


class _RecordingReader:
    def __init__(self, inner: ReadOnlyStore, lines: list[str], versions: dict[int, str], mark: str) -> None:
        self._inner = inner
        self._versions = versions
        self._mark = mark
        self.lines = lines
        """One line per call so far."""

    def _note(self, line: str) -> None:
        self.lines.append(self._mark + line)

    def _version(self, version: int) -> str:
        if version == 0:
            return "absent"
        return self._versions.setdefault(version, f"v{len(self._versions) + 1}")

    def _row(self, row: Row | None) -> str:
        return "absent" if row is None else f"{self._version(row[0])} {len(row[1])} bytes"

    async def get(self, part: Part, keys: Sequence[bytes], **options: Any) -> list[Row | None]:
        rows = await self._inner.get(part, keys, **options)
        asked = ", ".join(map(shown, keys))
        how = "".join(f" {name}" for name, is_set in sorted(options.items()) if is_set is True)
        self._note(f"get part={shown(part)} [{asked}]{how} -> [{', '.join(map(self._row, rows))}]")
        return rows

    async def range(
        self, part: Part, lo: bytes | None, hi: bytes | None, *, limit: int, **options: Any
    ) -> list[tuple[bytes, Row]]:
        page = await self._inner.range(part, lo, hi, limit=limit, **options)
        bounds = f"{'' if lo is None else shown(lo)}..{'' if hi is None else shown(hi)}"
        max_bytes = options.get("max_bytes")
        how = " reverse" * options.get("reverse", False)
        how += f" max_bytes={max_bytes}" if max_bytes is not None else ""
        rows = ", ".join(f"{shown(key)}={self._row(row)}" for key, row in page)
        self._note(f"range part={shown(part)} {bounds} limit={limit}{how} -> [{rows}]")
        return page

    async def read_many(
        self, keys: Sequence[tuple[Part, bytes]], *, epochs: Mapping[Part, int] | None = None
    ) -> list[Row | None]:
        rows = await self._inner.read_many(keys, epochs=epochs)
        asked = ", ".join(f"{shown(part)}/{shown(key)}" for part, key in keys)
        self._note(f"read_many [{asked}] -> [{', '.join(map(self._row, rows))}]")
        return rows

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        entries = await self._inner.log(part, after, limit)
        self._note(
            f"log part={shown(part)} after={after} limit={limit} -> {[number for number, _ in entries]}"
        )
        return entries

    async def usage(self, part: Part) -> tuple[int, int]:
        usage = await self._inner.usage(part)
        self._note(f"usage part={shown(part)} -> {usage[0]} items, {usage[1]} bytes")
        return usage

    async def parts(self) -> list[tuple[Part, int]]:
        found = await self._inner.parts()
        self._note(f"parts -> [{', '.join(f'{shown(part)} log {last}' for part, last in found)}]")
        return found

    async def close(self) -> None:
        await self._inner.close()
        self._note("close")


class RecordingStore(_RecordingReader):
    """Requires: calls that do not overlap, or a recording in which their order does not matter."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, [], {}, "")
        self._store = inner
        self._snapshot_count = 0

    @property
    def shared(self) -> bool:
        return self._store.shared

    @property
    def slots(self) -> int:
        return self._store.slots

    async def sweep(self) -> bool:
        return await self._store.sweep()

    async def now_ns(self) -> int | None:
        return await self._store.now_ns()

    @property
    def failure(self) -> StorageError | None:
        return self._store.failure

    def take(self) -> list[str]:
        """Returns the lines since the last `take`."""
        taken = self.lines.copy()
        self.lines.clear()
        return taken

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        answer = await self._store.commit(batches, durable=durable)
        if isinstance(answer, Conflict):
            found = self._version(answer.found)
            outcome = f"conflict part={shown(answer.part)} {shown(answer.key)} is {found}"
        else:
            outcome = str(answer)
        how = "" if durable else "not durable "
        self._note(f"commit {how}{'; '.join(map(self._batch, batches))} -> {outcome}")
        return answer

    def _batch(self, batch: Batch) -> str:
        words = [f"part={shown(batch.part)}"]
        if batch.checks:
            checks = (f"{shown(key)}={self._version(version)}" for key, version in batch.checks)
            words.append(f"checks[{', '.join(checks)}]")
        if batch.puts:
            puts = (f"{shown(key)}={len(payload)} bytes" for key, payload in batch.puts)
            words.append(f"puts[{', '.join(puts)}]")
        if batch.deletes:
            words.append(f"deletes[{', '.join(map(shown, batch.deletes))}]")
        if batch.log:
            words.append(f"log[{len(batch.log)}]")
        if batch.items_delta or batch.bytes_delta:
            words.append(f"usage[{batch.items_delta:+} items, {batch.bytes_delta:+} bytes]")
        if batch.fence is not None:
            words.append(f"fence[{batch.fence}]")
        return " ".join(words)

    async def flush(self) -> None:
        await self._store.flush()
        self._note("flush")

    async def wait_durable(self, version: int) -> None:
        await self._store.wait_durable(version)
        self._note(f"wait_durable {self._version(version)}")

    async def trim(self, part: Part, before: int) -> None:
        await self._store.trim(part, before)
        self._note(f"trim part={shown(part)} before={before}")

    async def clear(self, part: Part) -> None:
        await self._store.clear(part)
        self._note(f"clear part={shown(part)}")

    async def snapshot(self) -> ReadOnlyStore:
        inner = await self._store.snapshot()
        self._snapshot_count += 1
        self._note(f"snapshot -> s{self._snapshot_count}")
        return _RecordingReader(inner, self.lines, self._versions, f"s{self._snapshot_count}: ")
