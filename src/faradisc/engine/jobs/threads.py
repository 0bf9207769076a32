"""Threads that wait for the network, so that the database's thread never does."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class WaitingThreads:
    """Runs functions on a few threads, which are started when they are first needed."""

    def __init__(self, name: str, count: int) -> None:
        """name: of the threads."""
        self._name = name
        self._count = count
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def run(self, work: Callable[[], T]) -> Future[T]:
        """Returns what `work` will return, or raise."""
        done: Future[T] = Future()

        def run() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:
                    done.set_exception(error)

        self._jobs.put(run)
        if len(self._threads) < self._count:
            # Daemon threads: an endpoint that answers slowly must not block the end of the process.
            thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return done

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def close(self, timeout_s: float) -> bool:
        """Forgets what has not begun, and waits up to `timeout_s` for the rest; returns whether it ended."""
        with contextlib.suppress(Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout_s)
            if thread.is_alive():
                timeout_s = 0.0  # the other threads have had the same time
        return not any(thread.is_alive() for thread in self._threads)
