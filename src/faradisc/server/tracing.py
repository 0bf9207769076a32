"""`--record-trace FILE`: records traffic, for `faradisc plan --trace` (docs/formats/trace.md)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from faradisc.capacity.admission import Charge
from faradisc.server.background import pause
from faradisc.tools.planner.traces.trace_writer import TraceCharge, TraceWriter

log = logging.getLogger("faradisc.trace")

BUFFER_BYTES = 1 << 20
FLUSH_S = 1.0
"""Greatest age of unwritten requests, for readers during the run and in case the server is killed."""


class TraceFile:
    """Writes a trace to a file. When a write fails, recording ends and the server goes on."""

    def __init__(self, path: str, now_ns: int) -> None:
        """Raises OSError."""
        self._path = path
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
        self, now_ns: int, operation: str, table: str, charges: Sequence[Charge], **more: Any
    ) -> None:
        self._writer.request(now_ns, operation, table, [_traced(charge) for charge in charges], **more)

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
