"""Ctrl-C waits for the end of a request.

An interrupt raises KeyboardInterrupt between any two instructions. Within a request it would leave locks held
and counters behind what is stored, and the database unusable until it is opened again.
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
    """Call `function` and run what it returns to its end, as `storage.immediate.run` does, whatever SIGINT
    says meanwhile."""
    with _Deferred():
        return run(function(*args, **kwargs))


class _Deferred:
    """SIGINT's handler is called afterwards. Only the main thread is ever interrupted."""

    __slots__ = ("_came", "_handler")

    def __init__(self) -> None:
        self._handler: Any = None
        self._came: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = number, frame

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            if self._came is not None:
                self._handler(*self._came)
