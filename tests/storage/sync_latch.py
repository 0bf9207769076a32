"""A sync that a test blocks, for deterministic tests of waiting."""

from __future__ import annotations

import asyncio
import threading


class SyncLatch:
    """A sync that blocks until `open`."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.passes = threading.Semaphore(0)
        self.error: Exception | None = None
        self.count = 0

    def sync(self) -> None:
        self.count += 1
        self.entered.release()
        self.passes.acquire()
        if self.error is not None:
            raise self.error

    def open(self, times: int = 1) -> None:
        self.passes.release(times)

    async def under_way(self) -> None:
        """Waits for the begin of the next sync."""
        await asyncio.to_thread(self.entered.acquire)
