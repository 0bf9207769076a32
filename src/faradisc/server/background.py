"""Runs the database's background work, step by step.

Steps are bounded, and requests run between them. A store that rejects writes does so until it is opened
again, so the work ends. After any other failure the work continues after the usual pause, because all other
jobs have run their step and may have more to do. Of failures in a row fewer and fewer are logged. So a
failing job neither slows the others down for long nor fills the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from faradisc.errors import ApiError, StorageError
from faradisc.storage.api import Closed

_log = logging.getLogger(__name__)

IDLE_PAUSE_S = 0.1
"""The pause when there was no work; new work waits at most this long."""
FAILURES_PER_LINE_MAX = 512
"""Of failures in a row the first, second, fourth, eighth ... are logged, then every 512th: one a minute."""


async def keep_working(
    work: Callable[[], Awaitable[bool]],
    stop: asyncio.Event,
    rejects_writes: Callable[[], bool] = lambda: False,
) -> None:
    """Calls `work` until `stop` is set; a step that has begun runs to its end.

    work: does one bounded step; False when there was nothing to do. rejects_writes: whether the store does.
    """
    failures = 0
    while not stop.is_set():
        try:
            pause_s = 0.0 if await work() else IDLE_PAUSE_S
            failures = 0
        except Exception as error:
            if rejects_writes() or isinstance(error, Closed):
                _log.error("background work has ended: %s", error)
                return
            failures += 1
            if failures & (failures - 1) == 0 or failures % FAILURES_PER_LINE_MAX == 0:
                _log_failure(error, failures)
            pause_s = IDLE_PAUSE_S
        if pause_s:
            await pause(pause_s, stop)
        else:
            await asyncio.sleep(0)


def _log_failure(error: Exception, failures: int) -> None:
    words = "background work failed %d times in a row and is tried again: %s"
    # An error of the disk, such as a damaged block, needs no traceback, nor a denied key; a bug does.
    is_bug = not isinstance(error, StorageError | ApiError)
    _log.error(words, failures, error, exc_info=error if is_bug else None)


async def pause(pause_s: float, stop: asyncio.Event) -> None:
    """Waits until the time is over or `stop` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), pause_s)
