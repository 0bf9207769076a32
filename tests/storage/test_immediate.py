"""run(): one step, result, errors, and coroutines that wait."""

from __future__ import annotations

import asyncio

import pytest

from faradisc.storage.immediate import run


async def _answer() -> int:
    return 42


async def _fail() -> None:
    raise KeyError("mine")


async def _wait() -> None:
    await asyncio.sleep(0)


def test_the_result_comes_back() -> None:
    assert run(_answer()) == 42


def test_errors_pass_through() -> None:
    with pytest.raises(KeyError, match="mine"):
        run(_fail())


def test_a_coroutine_that_waits_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match="_wait waits for an event loop"):
        run(_wait())
