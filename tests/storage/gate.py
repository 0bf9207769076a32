"""A sync of the disk that a test holds back, for deterministic tests of who waits for it."""

from __future__ import annotations

import asyncio
import threading


class Gate:
    """A sync that stops inside until it is let through, once per `open`."""

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
        """Return once a sync has begun that no earlier call returned for."""
        await asyncio.to_thread(self.entered.acquire)
