"""The server's part of background work: call the database's next step, again and again.

Steps are bounded and let requests run in between. When the store refuses writes, it does so until it is
opened again, so the work ends. After any other failure it goes on after the usual pause, for all other jobs
had their step and may have much to do; of failures in a row fewer and fewer are logged. So one job's trouble
neither slows the others down for long nor fills the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from faradisc.errors import StorageError
from faradisc.storage.api import Closed

_log = logging.getLogger(__name__)

IDLE_PAUSE_S = 0.1
"""Between looks for work when there was none; bounds how long new work waits."""
FAILURES_PER_LINE_MAX = 512
"""Of failures in a row the first, second, fourth, eighth ... are logged, then every so many: one a minute."""


async def keep_working(
    work: Callable[[], Awaitable[bool]],
    stop: asyncio.Event,
    refuses: Callable[[], bool] = lambda: False,
) -> None:
    """Call `work` until `stop` is set; a step that has begun runs to its end.

    work: does one bounded step; False when there was nothing to do. refuses: whether the store takes no more
    writes.
    """
    failures = 0
    while not stop.is_set():
        try:
            pause_s = 0.0 if await work() else IDLE_PAUSE_S
            failures = 0
        except Exception as error:
            if refuses() or isinstance(error, Closed):
                _log.error("background work has ended: %s", error)
                return
            failures += 1
            if failures & (failures - 1) == 0 or failures % FAILURES_PER_LINE_MAX == 0:
                _log_failure(error, failures)
            pause_s = IDLE_PAUSE_S
        if pause_s:
            await _pause(pause_s, stop)
        else:
            await asyncio.sleep(0)


def _log_failure(error: Exception, failures: int) -> None:
    words = "background work failed %d times in a row and is tried again: %s"
    # What the disk says, of one damaged block perhaps, needs no traceback; a bug of ours does.
    _log.error(words, failures, error, exc_info=None if isinstance(error, StorageError) else error)


async def _pause(pause_s: float, stop: asyncio.Event) -> None:
    """Until the time is over or `stop` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), pause_s)
