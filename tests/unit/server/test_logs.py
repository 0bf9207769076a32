"""The server's log: its lines, and slow requests."""

from __future__ import annotations

import json
import logging

import pytest

from faradisc.clock import ManualClock
from faradisc.database import Database, Settings
from faradisc.operations.call import Call
from faradisc.server.logs import JsonLines
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema


def test_a_json_line_has_the_fields_of_its_event() -> None:
    record = logging.LogRecord("faradisc.x", logging.WARNING, "", 0, "took %d", (5,), None)
    record.created, record.msecs = 1.25, 250.0
    record.fields = {"operation": "PutItem"}
    assert json.loads(JsonLines().format(record)) == {
        "time": "1970-01-01T00:00:01.250Z",
        "level": "warning",
        "logger": "faradisc.x",
        "message": "took 5",
        "operation": "PutItem",
    }


def test_a_json_line_has_the_error() -> None:
    try:
        raise KeyError("k")
    except KeyError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "", 0, "m", None, (KeyError, error, error.__traceback__)
        )
    assert "KeyError: 'k'" in json.loads(JsonLines().format(record))["error"]


class StepClock(ManualClock):
    """Each reading is 20 ms later than the one before."""

    def now_ns(self) -> int:
        self.advance(0.02)
        return super().now_ns()


@pytest.mark.parametrize(("slow_ms", "logged"), [(0.0, False), (10.0, True), (10_000_000.0, False)])
def test_slow_requests_are_logged(slow_ms: float, logged: bool, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(slow_ms=slow_ms, transition_ms=0)
    database = run(Database.open(MemoryStore(), settings=settings, clock=StepClock()))
    table = {"TableName": "Orders", **schema("p:S")}
    run(database.execute(Call("CreateTable", table, True, "us-east-1", "000000000000")))
    caplog.clear()
    item = {"TableName": "Orders", "Item": {"p": {"S": "1"}}}
    run(database.execute(Call("PutItem", item, True, "us-east-1", "000000000000")))
    assert ("slow: PutItem on Orders took" in caplog.text) == logged
    if logged:
        assert caplog.records[0].fields["tables"] == ["Orders"]  # type: ignore[attr-defined]
