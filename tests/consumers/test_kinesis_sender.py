"""Sends to Kinesis from threads; the endpoint answers, fails, or does not answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from faradisc.engine.kinesis import sender
from faradisc.engine.kinesis.sender import Outgoing, Rejected, ThreadedSender

RECORDS = (Outgoing("a", b"1"),)


def sending(monkeypatch: pytest.MonkeyPatch, put: Any) -> ThreadedSender:
    monkeypatch.setattr(sender, "TIMEOUT_S", 0.05)
    made = ThreadedSender("http://127.0.0.1:9")
    monkeypatch.setattr(made.inline, "put", put)
    return made


def test_each_request_has_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def put(region: str, stream: str, records: Sequence[Outgoing]) -> list[int]:
        if stream == "rejected":
            raise Rejected(stream)
        return [len(records)]

    made = sending(monkeypatch, put)
    sent = [made.send("us-east-1", stream, RECORDS) for stream in ("s", "rejected", *"s" * 20)]
    assert isinstance(sent[1].exception(5), Rejected)
    assert [each.result(5) for each in (sent[0], *sent[2:])] == [[1]] * 21
    made.close()


def test_silent_endpoint_does_not_block_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that arrives byte by byte causes no timeout of a read."""
    answers = threading.Event()

    def put(*_: object) -> list[int]:
        answers.wait()
        return []

    made = sending(monkeypatch, put)
    sent = [made.send("us-east-1", "s", RECORDS) for _ in range(10)]
    made.close()
    assert not any(each.done() for each in sent)
    threads = [thread for thread in threading.enumerate() if thread.name == "faradisc-kinesis"]
    assert threads and all(thread.daemon for thread in threads)
    answers.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
