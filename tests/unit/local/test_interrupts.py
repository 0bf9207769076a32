"""Ctrl-C in a request of the in-process client: KeyboardInterrupt is raised at its end, and the
database stays usable."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from faradisc.local import LocalDatabase

KEYS = {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
STEP = 3
"""Every so manieth call within a request is interrupted."""


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["disk", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalDatabase]:
    with LocalDatabase(tmp_path / "data" if request.param == "disk" else None) as opened:
        opened.client().create_table(TableName="Things", **KEYS)
        yield opened


def interrupted(action: Callable[[], Any], at: int) -> int:
    """Interrupts an action at one of its calls. Returns the number of calls."""
    calls = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        if event == "call" and "faradisc" in frame.f_code.co_filename:
            calls += 1
            if calls == at:
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


def test_interrupt_is_deferred_to_the_end_of_a_request(database: LocalDatabase) -> None:
    client = database.client()

    def put(number: int) -> Callable[[], Any]:
        item = {"pk": {"S": f"k{number}"}, "n": {"N": "1"}}
        return lambda: client.put_item(TableName="Things", Item=item)

    put(-1)()
    calls = interrupted(put(0), 0)
    moments = range(1, calls, STEP)
    assert len(moments) > 20
    for at in moments:
        with pytest.raises(KeyboardInterrupt):
            interrupted(put(at), at)
    put(calls)()
    held = {item["pk"]["S"] for item in client.scan(TableName="Things")["Items"]}
    stored = [f"k{at}" in held for at in moments]
    # Before it begins, an interrupt stops a request; from then on it does not.
    assert stored == sorted(stored) and stored.count(True) > 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_interrupts_stay_ignored(database: LocalDatabase) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupted(lambda: database.client().list_tables(), 300)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_requests_of_other_threads_set_no_signal_handler(database: LocalDatabase) -> None:
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(database.client().list_tables()["TableNames"]))
    thread.start()
    thread.join()
    assert found == [["Things"]]
