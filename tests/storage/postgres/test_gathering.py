"""Calls that are gathered: how they are grouped, and that each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from faradisc.errors import StorageError
from faradisc.storage.postgres.gathering import CALLS_MAX, Gathering


class _Engine:
    """Answers each number with its double, when it is let go."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.released = asyncio.Event()
        self.error: Exception | None = None

    async def run(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append(list(numbers))
        await self.released.wait()
        if self.error is not None:
            raise self.error
        return [2 * number for number in numbers]


async def _turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def _calls_while_groups_run() -> None:
    engine = _Engine()
    gathering = Gathering(engine.run, 2)
    asked = [gathering.call(1)]
    await _turns()
    asked += [gathering.call(number) for number in (2, 3)]
    await _turns()
    asked += [gathering.call(4)]
    await _turns()
    asked += [gathering.call(number) for number in (5, 6)]
    await _turns()
    assert engine.groups == [[1], [2, 3]]
    engine.released.set()
    assert await asyncio.gather(*asked) == [2, 4, 6, 8, 10, 12]
    assert engine.groups == [[1], [2, 3], [4, 5, 6]]
    assert await gathering.call(7) == 14  # at once, although the tasks have only just ended


async def _many_calls_of_one_turn() -> None:
    engine = _Engine()
    engine.released.set()
    gathering = Gathering(engine.run, 2)
    answers = await asyncio.gather(*map(gathering.call, range(CALLS_MAX + 1)))
    assert answers == [2 * number for number in range(CALLS_MAX + 1)]
    assert list(map(len, engine.groups)) == [CALLS_MAX, 1]


async def _a_group_that_fails() -> None:
    engine = _Engine()
    gathering = Gathering(engine.run, 1)
    first, cancelled, third = (gathering.call(number) for number in (1, 2, 3))
    await _turns()
    cancelled.cancel()
    engine.error = StorageError("no connection")
    engine.released.set()
    for future in (first, third):
        with pytest.raises(StorageError, match="no connection"):
            await future
    engine.error = None
    assert await gathering.call(4) == 8


@pytest.mark.parametrize("case", [_calls_while_groups_run, _many_calls_of_one_turn, _a_group_that_fails])
def test_gathered_calls(case: object) -> None:
    asyncio.run(case())  # type: ignore[operator]
