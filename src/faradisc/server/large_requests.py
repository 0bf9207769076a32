"""Reads large request bodies on one other thread, so that the event loop serves other requests meanwhile.

One thread, because the interpreter runs one at a time anyway: several large bodies then wait for each other
and not for the event loop, and only one of them is in memory decompressed. The interpreter changes threads
every `SWITCH_INTERVAL_S` (lifecycle.py), so what runs here must not stay in one call of C code for long.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class OtherThread:
    """Runs functions on a thread of its own, one after the other. The thread starts with the first one."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "faradisc-large")

    async def run(self, work: Callable[[], T], /) -> T:
        """Returns what `work` returns; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _uncollected, work)


def _uncollected(work: Callable[[], T]) -> T:
    """Runs `work` without cyclic garbage collection, which stops all threads for as long as it takes."""
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()
