"""Defers Ctrl-C until the end of a request.

An interrupt raises KeyboardInterrupt between any two instructions. Within a request it would leave locks held
and counters wrong, and the database unusable until it is opened again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from faradisc.storage.immediate import run

P = ParamSpec("P")
T = TypeVar("T")


def run_whole(function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a coroutine to its end as `storage.immediate.run` does, without interruption by SIGINT."""
    with _interrupts_deferred():
        return run(function(*args, **kwargs))


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Calls SIGINT's handler at the end of the block. Only the main thread is ever interrupted."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    if not callable(handler):
        yield
        return
    deferred: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: deferred.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if deferred:
            handler(*deferred[-1])
