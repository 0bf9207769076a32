"""keep_working: steps until it is stopped."""

from __future__ import annotations

import asyncio
import logging

import pytest

from faradisc.server import background
from faradisc.server.background import keep_working
from faradisc.storage.api import Closed, Corruption


class Work:
    """Steps with scripted outcomes; stops after the last."""

    def __init__(self, stop: asyncio.Event, *outcomes: bool | Exception) -> None:
        self.stop = stop
        self.outcomes = list(outcomes)

    async def __call__(self) -> bool:
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            self.stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []

    async def pause(pause_s: float, stop: asyncio.Event) -> None:
        taken.append(pause_s)

    monkeypatch.setattr(background, "pause", pause)
    return taken


def work(*outcomes: bool | Exception) -> list[bool | Exception]:
    """Runs until the script ends. Returns the rest of the script."""

    async def scenario() -> list[bool | Exception]:
        stop = asyncio.Event()
        script = Work(stop, *outcomes)
        await keep_working(script, stop)
        return script.outcomes

    return asyncio.run(scenario())


def test_work_continues_without_pause_until_there_is_none(pauses: list[float]) -> None:
    assert work(True, True, False, True, False) == []
    assert pauses == [background.IDLE_PAUSE_S] * 2


def test_failed_step_is_followed_by_the_usual_pause(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """The other jobs have run their step; the log has fewer and fewer of the failures."""
    mistake = ValueError("a bug")
    with caplog.at_level(logging.ERROR):
        assert work(mistake, mistake, True, *[mistake] * 1100, False) == []
    assert pauses == [background.IDLE_PAUSE_S] * 1103
    logged = [record.args[0] for record in caplog.records if isinstance(record.args, tuple)]
    assert logged == [1, 2, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert all(record.exc_info is not None for record in caplog.records)


def test_work_ends_when_the_store_rejects_writes(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    assert work(Closed(), True) == [True]
    assert [record.getMessage() for record in caplog.records] == [
        "background work has ended: the store is closed"
    ]


def test_work_ends_after_a_failed_disk_and_continues_after_a_bad_read(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(refuses: bool) -> list[bool | Exception]:
        stop = asyncio.Event()
        script = Work(stop, Corruption("a damaged block"), True)
        await keep_working(script, stop, lambda: refuses)
        return script.outcomes

    assert asyncio.run(scenario(refuses=True)) == [True]
    assert asyncio.run(scenario(refuses=False)) == []
    assert pauses == [background.IDLE_PAUSE_S]
    assert [(record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("background work has ended: a damaged block", None),
        ("background work failed 1 times in a row and is tried again: a damaged block", None),
    ]


def test_stopping_ends_a_pause() -> None:
    async def idle() -> bool:
        return False

    async def scenario() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(keep_working(idle, stop))
        await asyncio.sleep(0)
        stop.set()
        await task

    asyncio.run(scenario())
