"""An event loop that runs callbacks in a random order that a seed determines, for repeatable simulations.

Each step runs one random callback of those that are ready, because asyncio promises no order between
strands. The loop asks for no time and starts no thread; `call_later` is not supported.

    with SeededLoop(random.Random(7)) as loop:
        loop.start("writer", write())      # a strand: a coroutine that is stepped as in server/driver.py
        loop.start("reader", read())
        while loop.step():
            ...
        loop.abandon()                     # a crash: waiting callbacks do not run

Strands have names: `running()` returns the name of the present one, through any awaits and tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

_strand: ContextVar[str] = ContextVar("strand", default="")


def running() -> str:
    """Returns the name of the strand that is being stepped; "" outside of strands."""
    return _strand.get()


class Strand:
    """A coroutine between two of its steps."""

    def __init__(self, loop: SeededLoop, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.name = name
        self.done = False
        self._loop = loop
        self._coroutine = coroutine
        self._context = copy_context()
        self._context.run(_strand.set, name)

    def step(self) -> None:
        """Runs the coroutine until its next wait, in the strand's context. Raises its exceptions."""
        try:
            waited = self._coroutine.send(None)
        except BaseException as end:
            self._end()
            if not isinstance(end, StopIteration):
                raise
            return
        if waited is None:  # `asyncio.sleep(0)`
            self._loop.call_soon(self.step, context=self._context)
            return
        # asyncio's protocol between a future and its driver; see server/driver.py.
        waited._asyncio_future_blocking = False
        waited.add_done_callback(lambda _: self.step(), context=self._context)

    def _end(self) -> None:
        self.done = True
        self._loop.strands.remove(self)

    def close(self) -> None:
        """Closes the coroutine at its present `await`; errors of its `finally` blocks are ignored."""
        self.done = True
        with contextlib.suppress(Exception, asyncio.CancelledError):
            self._context.run(self._coroutine.close)


class SeededLoop(asyncio.AbstractEventLoop):
    """Runs in one thread, with no other loop between `__enter__` and `__exit__`."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._ready: list[asyncio.Handle] = []
        self._dead = False
        self.strands: list[Strand] = []
        self.steps = 0

    def __enter__(self) -> SeededLoop:
        asyncio._set_running_loop(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()
        asyncio._set_running_loop(None)

    def start(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Strand:
        """Starts a strand with the next step."""
        strand = Strand(self, name, coroutine)
        self.strands.append(strand)
        self.call_soon(strand.step, context=strand._context)
        return strand

    def step(self) -> bool:
        """Runs one callback. Returns False when none is ready: the rest waits for ever.

        Raises the exceptions of strands.
        """
        ready = self._ready
        while ready:
            at = int(self._chance.random() * len(ready))
            handle = ready[at]
            ready[at] = ready[-1]
            ready.pop()
            if not handle.cancelled():
                self.steps += 1
                handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
                return True
        return False

    def run(self, name: str, coroutine: Coroutine[Any, Any, T]) -> T:
        """Steps until a strand of this coroutine ends. Returns its result.

        Raises its exceptions; RuntimeError when it would wait for ever.
        """
        results: list[T] = []

        async def keep() -> None:
            results.append(await coroutine)

        strand = self.start(name, keep())
        while not strand.done:
            if not self.step():
                raise RuntimeError(f"{name} waits for ever")
        return results[0]

    def abandon(self) -> None:
        """Ends all strands and drops all callbacks."""
        self._dead = True
        self._ready.clear()
        strands, self.strands = self.strands, []
        for strand in strands:
            strand.close()
        self._ready.clear()

    # --- The interface of asyncio ----------------------------------------------------------------

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if not self._dead:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there is one thread

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, **options)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Runs the function in a step of its own."""
        future: asyncio.Future[T] = self.create_future()

        def work() -> None:
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_soon(work)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Raises the error, except after `abandon`, when tasks report that they were pending."""
        if not self._dead:
            raise context.get("exception") or RuntimeError(context["message"])

    def is_running(self) -> bool:
        return not self._dead

    def is_closed(self) -> bool:
        return self._dead

    def get_debug(self) -> bool:
        return False
