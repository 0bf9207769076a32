"""Defers Ctrl-C until the end of a request.

An interrupt raises KeyboardInterrupt between any two instructions. Within a request it would leave locks held
and counters wrong, and the database unusable until it is opened again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from faradisc.storage.immediate import run

P = ParamSpec("P")
T = TypeVar("T")


def run_whole(function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a coroutine to its end as `storage.immediate.run` does, without interruption by SIGINT."""
    with _DeferInterrupts():
        return run(function(*args, **kwargs))


class _DeferInterrupts:
    """Calls SIGINT's handler at the end of the block. Only the main thread is ever interrupted."""

    __slots__ = ("_deferred", "_handler")

    def __init__(self) -> None:
        self._handler: Any = None
        self._deferred: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._defer)

    def _defer(self, number: int, frame: FrameType | None) -> None:
        self._deferred = number, frame

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            if self._deferred is not None:
                self._handler(*self._deferred)
