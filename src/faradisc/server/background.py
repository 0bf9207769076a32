"""The server's part of background work: call the database's next step, again and again.

Steps are bounded and let requests run in between. When the store refuses writes, it does so until it is
opened again, so the work ends. Any other failure is logged and the step is tried again after a pause that
grows, so that one job's trouble neither stops the others nor fills the log.
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
FAILURE_PAUSE_S = 1.0
FAILURE_PAUSE_S_MAX = 60.0


async def keep_working(
    work: Callable[[], Awaitable[bool]],
    stop: asyncio.Event,
    refuses: Callable[[], bool] = lambda: False,
) -> None:
    """Call `work` until `stop` is set; a step that has begun runs to its end.

    work: does one bounded step; False when there was nothing to do. refuses: whether the store takes no more
    writes.
    """
    failure_pause_s = FAILURE_PAUSE_S
    while not stop.is_set():
        try:
            pause_s = 0.0 if await work() else IDLE_PAUSE_S
            failure_pause_s = FAILURE_PAUSE_S
        except Exception as error:
            if refuses() or isinstance(error, Closed):
                _log.error("background work has ended: %s", error)
                return
            if isinstance(error, StorageError):  # one damaged block, say: it is elsewhere that work goes on
                _log.error("background work failed; next try in %g s: %s", failure_pause_s, error)
            else:
                _log.exception("background work failed; next try in %g s", failure_pause_s)
            pause_s = failure_pause_s
            failure_pause_s = min(2 * failure_pause_s, FAILURE_PAUSE_S_MAX)
        if pause_s:
            await _pause(pause_s, stop)
        else:
            await asyncio.sleep(0)


async def _pause(pause_s: float, stop: asyncio.Event) -> None:
    """Until the time is over or `stop` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), pause_s)
