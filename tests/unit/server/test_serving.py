"""A server's database, opened again once a full disk has space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.errors import StorageError
from faradisc.server import serving
from faradisc.server.site import Site
from faradisc.storage.api import Full, IOFailed


class Opened:
    """The part of a database that is needed here."""

    def __init__(self, failure: StorageError | None = None) -> None:
        self.store = self
        self.failure = failure
        self.closed = 0

    async def work(self) -> bool:
        return False

    async def close(self) -> None:
        self.closed += 1


def run(
    monkeypatch: pytest.MonkeyPatch,
    directory: Path | None,
    answers: list[Opened | StorageError],
    until: Callable[[list[Opened | StorageError], Site], bool],
    first: Opened,
) -> tuple[Site, int, serving.Serving]:
    """Serves until a condition holds; each attempt to open takes the next of `answers`. Returns also the
    number of drains."""
    monkeypatch.setattr(serving, "CHECK_EVERY_S", 0.001)
    monkeypatch.setattr(serving, "PAUSES_S", (0.001, 0.002))
    site, drained = Site(), 0

    async def open_again() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, StorageError):
            raise answer
        return answer

    async def drain() -> None:
        nonlocal drained
        drained += 1

    async def serve() -> serving.Serving:
        stop = asyncio.Event()

        def look() -> None:
            if until(answers, site):
                stop.set()
            else:
                loop.call_later(0.001, look)

        loop = asyncio.get_running_loop()
        loop.call_soon(look)
        database: Any = first
        mine = serving.Serving(site, database, open_again, drain)
        await mine.until(stop, directory)
        await mine.close()
        return mine

    mine = asyncio.run(serve())
    return site, drained, mine


def test_database_is_opened_again_until_it_succeeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, last = Opened(Full("full")), Opened()
    site, drained, mine = run(
        monkeypatch,
        tmp_path,
        [Full("still"), IOFailed("odd"), last],
        lambda _, site: site.executor is last,
        first,
    )
    assert (first.closed, last.closed, drained, mine.database) == (1, 1, 1, last)
    assert site.executor is last


def test_disk_that_is_full_again_is_waited_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    databases = [Opened(Full("full")) for _ in range(3)]
    last = Opened()
    first, *more = databases
    run(monkeypatch, tmp_path, [*more, last], lambda _, site: site.executor is last, first)
    assert [each.closed for each in (*databases, last)] == [1, 1, 1, 1]


def test_a_server_can_be_stopped_while_its_database_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = Opened(Full("full"))
    failures: list[Opened | StorageError] = [Full("still") for _ in range(1000)]
    site, drained, _ = run(monkeypatch, tmp_path, failures, lambda left, _: len(left) < 997, first)
    assert (first.closed, drained, site.executor) == (1, 1, None)


@pytest.mark.parametrize("failure", [None, IOFailed("odd")])
@pytest.mark.parametrize("in_memory", [True, False])
def test_database_is_not_opened_again_after_other_failures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: StorageError | None, in_memory: bool
) -> None:
    first, looks = Opened(failure), iter(range(20))
    directory = None if in_memory else tmp_path
    site, drained, _ = run(monkeypatch, directory, [], lambda *_: next(looks) == 15, first)
    assert (first.closed, drained, site.executor) == (1, 1, first)


def test_a_disk_that_is_still_full_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(serving, "ROOM_BYTES", 1 << 62)
    first, looks = Opened(Full("full")), iter(range(20))
    site, _, _ = run(monkeypatch, tmp_path, [], lambda *_: next(looks) == 15, first)
    assert site.executor is first
