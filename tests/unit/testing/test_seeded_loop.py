"""The seeded loop: a seed determines the order, and a crash ends all strands."""

from __future__ import annotations

import asyncio
import random

import pytest

from fixtures.seeded_loop import SeededLoop, running


def order_of(seed: int) -> list[str]:
    seen: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            seen.append(name)
            assert running() == name
            await asyncio.sleep(0)

    with SeededLoop(random.Random(seed)) as loop:
        for name in "abc":
            loop.start(name, work(name))
        while loop.step():
            pass
    return seen


def test_same_seed_gives_the_same_order() -> None:
    assert order_of(1) == order_of(1)
    assert len({"".join(order_of(seed)) for seed in range(20)}) > 10


def test_locks_futures_tasks_and_threads_work() -> None:
    inside: list[str] = []

    async def guarded(lock: asyncio.Lock, name: str) -> None:
        async with lock:
            inside.append(name)
            await asyncio.sleep(0)
            assert inside[-1] == name
            inside.append(name)

    async def play() -> str:
        lock = asyncio.Lock()
        await asyncio.gather(*(guarded(lock, name) for name in "abcd"))
        assert running() == "play", "tasks work for the strand that made them"
        return await asyncio.to_thread(lambda: "done")

    for seed in range(10):
        inside.clear()
        with SeededLoop(random.Random(seed)) as loop:
            assert loop.run("play", play()) == "done"
        assert len(inside) == 8


def test_exception_of_a_strand_is_raised_by_step() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    with SeededLoop(random.Random(1)) as loop:
        loop.start("fail", fail())
        with pytest.raises(ValueError, match="mine"):
            while loop.step():
                pass


def test_wait_for_ever_raises_runtime_error() -> None:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with SeededLoop(random.Random(1)) as loop, pytest.raises(RuntimeError, match="waits for ever"):
        loop.run("wait", wait())


def test_abandon_ends_all_strands() -> None:
    went_on: list[str] = []

    async def work() -> None:
        try:
            while True:  # noqa: ASYNC110 - giving way is what is tested
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            went_on.append("after the crash")

    with SeededLoop(random.Random(1)) as loop:
        loop.start("work", work())
        loop.step()
        loop.abandon()
        assert not loop.step()
        assert loop.strands == []
    assert went_on == []
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
