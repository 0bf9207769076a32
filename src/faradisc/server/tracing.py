"""`--record-trace FILE`: records traffic, for `faradisc plan --trace` (docs/formats/trace.md)."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from faradisc.capacity.admission import Charge
from faradisc.clock import SystemEntropy
from faradisc.server.background import pause
from faradisc.tools.traces.trace_writer import TraceCharge, TraceWriter

log = logging.getLogger("faradisc.trace")

BUFFER_BYTES = 1 << 20
_SECRET_BYTES = 32
_HASH_BYTES = 16
FLUSH_S = 1.0
"""Greatest age of unwritten requests, for readers during the run and in case the server is killed."""


class TraceFile:
    """Writes a trace to a file. When a write fails, recording ends and the server goes on."""

    def __init__(self, path: str, now_ns: int, *, hashed: bool = False) -> None:
        """hashed: write hashes of all keys, and not only of those of encrypted tables. Raises OSError."""
        self._path = path
        self._hashed = hashed
        self._secret = SystemEntropy().token_bytes(_SECRET_BYTES)
        """Without it a guessed key cannot be tried; it is in no file."""
        self._file: IO[bytes] | None = Path(path).open("wb", buffering=BUFFER_BYTES)  # noqa: SIM115 - see close
        self._writer = TraceWriter(self._write, now_ns)

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line)
        except OSError as failure:
            self._end(failure)

    def flush(self) -> None:
        if self._file is None:
            return
        try:
            self._file.flush()
        except OSError as failure:
            self._end(failure)

    async def keep_flushing(self, stop: asyncio.Event) -> None:
        """Flushes every second until `stop` is set; `close` writes the rest."""
        while not stop.is_set():
            await pause(FLUSH_S, stop)
            self.flush()

    def _end(self, failure: OSError) -> None:
        log.error("recording to %s has ended: %s", self._path, failure)
        self._file = None

    def describe(self, table: str, **settings: Any) -> None:
        self._writer.describe(table, **settings)

    def request(
        self,
        now_ns: int,
        operation: str,
        table: str,
        charges: Sequence[Charge],
        *,
        key: str | None,
        encrypted: bool,
        **more: Any,
    ) -> None:
        traced = [_traced(charge) for charge in charges]
        if encrypted or self._hashed:
            key = None if key is None else self._hash(key.encode()).hex()
            traced = [replace(charge, place=self._place(charge.place)) for charge in traced]
        self._writer.request(now_ns, operation, table, traced, key=key, **more)

    def _hash(self, key: bytes) -> bytes:
        return hmac.digest(self._secret, key, "sha256")[:_HASH_BYTES]

    def _place(self, place: bytes) -> bytes:
        """Returns a location in the key space: the hash that says where it is, and no key after it."""
        return place[:_HASH_BYTES] + (self._hash(place[_HASH_BYTES:]) if len(place) > _HASH_BYTES else b"")

    def close(self) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as failure:
                log.error("the end of the trace %s was not written: %s", self._path, failure)


def _traced(charge: Charge) -> TraceCharge:
    limiter = charge.limiter
    index = limiter.arn.rpartition("/")[2] if limiter.kind == "Index" else None
    return TraceCharge(index, limiter.direction, charge.key, charge.half_units, charge.eventual)
