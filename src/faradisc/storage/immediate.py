"""Runs coroutines that never suspend, without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs `coroutine` to its end in this thread with one step. Returns its result.

    Raises: what the coroutine raises; RuntimeError when it waits for something, because there is no event
    loop to wake it. A memory store and a RocksDB store opened with inline durability never wait.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    coroutine.close()
    name = getattr(coroutine, "__qualname__", "this coroutine")
    raise RuntimeError(
        f"{name} waits for an event loop, so it cannot be run in place; open the store with inline "
        "durability or await it in a loop"
    )
