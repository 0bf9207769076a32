"""Runs a request's coroutine from callbacks, without a Task.

Most requests never wait: one `send(None)` runs their coroutine to its end, and a Task (an object, a context
and a turn of the loop) would cost more than the HTTP around it. A write waits once, for the sync that makes
it durable; then the coroutine yields that future, and the future's callback resumes it.

A coroutine may await here: asyncio futures (so tasks, `gather`, locks, events, `to_thread`) and
`asyncio.sleep(0)`. It runs in no task, so `asyncio.current_task()` is None and `asyncio.timeout` raises.

Nothing is cancelled: when the client disconnects, a write that has begun still runs to its end, as in the
service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeVar

T = TypeVar("T")


class _Mark(Enum):
    PENDING = "pending"


PENDING: Final = _Mark.PENDING
"""Returned by `start` for a coroutine that waits."""

Pending = Literal[_Mark.PENDING]


def start(
    coroutine: Coroutine[Any, Any, T], ended: Callable[[T | None, BaseException | None], None]
) -> T | Pending:
    """Runs `coroutine` until it ends or waits.

    Returns its result if it ended, otherwise PENDING; then `ended(result, None)` or `ended(None, error)` is
    called once, later, from the event loop, which must run in this thread. Raises what the coroutine raises
    before its first wait; `ended` is then not called.
    """
    try:
        waited = coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    _Waiting(coroutine, ended).park(waited)
    return PENDING


class _Waiting(Generic[T]):
    """A coroutine between two steps. The callback that resumes it keeps it alive."""

    __slots__ = ("_coroutine", "_ended")

    def __init__(
        self, coroutine: Coroutine[Any, Any, T], ended: Callable[[T | None, BaseException | None], None]
    ) -> None:
        self._coroutine = coroutine
        self._ended = ended

    def park(self, waited: Any) -> None:
        """Schedules the next step for the time when `waited`, which the coroutine yielded, is done."""
        # asyncio's protocol between a future and its driver: `await future` sets this flag on the future and
        # yields it; the driver clears the flag.
        if getattr(waited, "_asyncio_future_blocking", False):
            waited._asyncio_future_blocking = False
            waited.add_done_callback(self._resume)
        elif waited is None:  # `asyncio.sleep(0)`
            asyncio.get_running_loop().call_soon(self._step)
        else:
            mistake = RuntimeError(f"{self._coroutine!r} awaited {waited!r}, which is not a future")
            asyncio.get_running_loop().call_soon(self._step, mistake)

    def _resume(self, future: object) -> None:
        # The coroutine's own `await` returns the future's result or raises its error.
        self._step()

    def _step(self, mistake: RuntimeError | None = None) -> None:
        try:
            waited = self._coroutine.send(None) if mistake is None else self._coroutine.throw(mistake)
        except StopIteration as end:
            result: T | None = end.value
            error: BaseException | None = None
        except (KeyboardInterrupt, SystemExit) as stop:
            self._ended(None, stop)
            raise
        except BaseException as raised:
            result, error = None, raised
        else:
            self.park(waited)
            return
        try:
            self._ended(result, error)
        finally:
            del error  # whose traceback has this frame: together they would keep the request
