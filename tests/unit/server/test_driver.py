"""driver.start: a coroutine run from callbacks."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from faradisc.server.driver import PENDING, start

Run = Callable[[Coroutine[Any, Any, None]], None]


class Outcome:
    """The calls of `ended`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, BaseException | None]] = []
        self._called = asyncio.Event()

    def __call__(self, result: Any, error: BaseException | None) -> None:
        self.calls.append((result, error))
        self._called.set()

    async def wait(self) -> tuple[Any, BaseException | None]:
        await self._called.wait()
        assert len(self.calls) == 1
        return self.calls[0]


def refuse(result: Any, error: BaseException | None) -> None:
    raise AssertionError("a coroutine that never waits must not be reported")


def test_a_coroutine_that_never_waits_ends_at_once_without_a_loop() -> None:
    async def inner() -> int:
        return 42

    async def outer() -> int:
        return await inner() + 1

    assert start(outer(), refuse) == 43


def test_an_error_before_the_first_wait_is_raised() -> None:
    async def failing() -> int:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        start(failing(), refuse)


def test_a_done_future_is_not_waited_for(run: Run) -> None:
    async def scenario() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        future.set_result("there")

        async def waits() -> str:
            return await future

        assert start(waits(), refuse) == "there"

    run(scenario())


def test_coroutine_continues_when_its_future_is_done(run: Run) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        first: asyncio.Future[int] = loop.create_future()
        second: asyncio.Future[int] = loop.create_future()
        outcome = Outcome()

        async def waits() -> int:
            return await first + await second

        assert start(waits(), outcome) is PENDING
        first.set_result(1)
        await asyncio.sleep(0)
        assert outcome.calls == []
        second.set_result(2)
        assert await outcome.wait() == (3, None)

    run(scenario())


def test_many_coroutines_share_one_future(run: Run) -> None:
    """A group commit: one sync resumes all coroutines that wait for it, in their order."""

    async def scenario() -> None:
        sync: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ended: list[int] = []

        async def commit(number: int) -> int:
            await sync
            return number

        for number in range(5):
            assert start(commit(number), lambda result, error: ended.append(result)) is PENDING
        sync.set_result(None)
        await asyncio.sleep(0)
        assert ended == [0, 1, 2, 3, 4]

    run(scenario())


def test_a_futures_error_is_raised_inside_and_can_be_handled(run: Run) -> None:
    async def scenario() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        outcome = Outcome()

        async def waits() -> str:
            try:
                await future
            except OSError as error:
                return str(error)
            return "no error"

        assert start(waits(), outcome) is PENDING
        future.set_exception(OSError("sync failed"))
        assert await outcome.wait() == ("sync failed", None)

    run(scenario())


def test_an_unhandled_error_is_reported(run: Run) -> None:
    async def scenario() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        outcome = Outcome()

        async def waits() -> None:
            await future

        start(waits(), outcome)
        failure = OSError("sync failed")
        future.set_exception(failure)
        assert await outcome.wait() == (None, failure)

    run(scenario())


def test_a_cancelled_future_ends_the_coroutine_with_cancellation(run: Run) -> None:
    async def scenario() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        outcome = Outcome()
        cleaned: list[bool] = []

        async def waits() -> None:
            try:
                await future
            finally:
                cleaned.append(True)

        start(waits(), outcome)
        future.cancel()
        _, error = await outcome.wait()
        assert isinstance(error, asyncio.CancelledError)
        assert cleaned == [True]

    run(scenario())


def test_tasks_locks_gather_threads_and_sleep_zero_can_be_awaited(run: Run) -> None:
    async def scenario() -> None:
        outcome = Outcome()
        lock = asyncio.Lock()
        await lock.acquire()

        async def value(number: int) -> int:
            await asyncio.sleep(0)
            return number

        async def waits() -> list[int]:
            await asyncio.sleep(0)
            async with lock:
                gathered = await asyncio.gather(value(1), value(2))
            return [*gathered, await asyncio.create_task(value(3)), await asyncio.to_thread(lambda: 4)]

        assert start(waits(), outcome) is PENDING
        lock.release()
        assert await outcome.wait() == ([1, 2, 3, 4], None)

    run(scenario())


def test_awaiting_something_else_is_an_error_of_the_coroutine(run: Run) -> None:
    @types.coroutine
    def odd() -> Generator[Any, None, None]:
        yield "not a future"

    async def scenario() -> None:
        outcome = Outcome()

        async def waits() -> None:
            await odd()

        assert start(waits(), outcome) is PENDING
        _, error = await outcome.wait()
        assert isinstance(error, RuntimeError)
        assert "'not a future'" in str(error)

    run(scenario())
