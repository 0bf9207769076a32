"""A check of a running database, in steps of the background work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faradisc.clock import ManualClock
from faradisc.services.administration.checking import OnlineCheck
from faradisc.storage.api import Batch, IOFailed, ReadOnlyStore
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.check_world import START_S, fill
from fixtures.stepped import Stepped


@pytest.fixture
def process() -> Iterator[Stepped]:
    clock = ManualClock(START_S)
    made = Stepped(clock=clock)
    fill(made, clock)
    yield made
    made.close()


def checks(process: Stepped) -> OnlineCheck:
    return process.database.checks


def test_check_runs_in_the_background_between_requests(process: Stepped) -> None:
    assert checks(process).document() == {"status": "none"}
    assert checks(process).begin()
    assert not checks(process).begin()
    assert process.step()
    assert checks(process).document()["status"] == "running"
    process.call("DeleteItem", TableName="plain", Key={"id": {"B": "AA=="}})
    assert process.finish() > 10
    document = checks(process).document()
    assert (document["status"], document["clean"], document["problems"]) == ("done", True, 0)
    plain = next(each for each in document["looked_at"] if each["where"] == "table plain")
    assert plain["rows"] == 5, "it sees the state in which it began"


def test_next_check_starts_from_the_beginning(process: Stepped) -> None:
    run(process.store.commit([Batch(b"\x00\x00\x00\x63\x00", puts=[(b"k", b"")])]))
    for _ in range(2):
        assert checks(process).begin()
        process.finish()
        document = checks(process).document()
        assert (document["status"], document["problems"]) == ("done", 1)


def test_closing_the_database_ends_the_check(process: Stepped) -> None:
    checks(process).begin()
    process.step()
    found = checks(process)
    process.local.close()
    assert found.document()["status"] == "done"


class _Broken(MemoryStore):
    async def snapshot(self) -> ReadOnlyStore:
        raise IOFailed("the disk is gone")


def test_failure_of_the_store_is_reported(process: Stepped) -> None:
    check = OnlineCheck(_Broken(), ManualClock())
    assert check.begin()
    assert run(check.step())
    assert not run(check.step())
    document = check.document()
    assert (document["status"], document["reason"]) == ("failed", "the disk is gone")
    assert check.begin()
