"""What `python -m bench throughput` measures against: a server that counts nothing, or only counts."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import pytest
from bench import bare

from faradisc.operations.backend import Backend
from faradisc.operations.get_item import get_item
from faradisc.protocol import front
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.storage.immediate import run
from fixtures.in_process import InProcess, headers_of

UNITS = {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100}
TABLE = {
    "TableName": "Orders",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "r", "g", "l")],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
    "ProvisionedThroughput": UNITS,
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": UNITS,
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-l",
            "KeySchema": [
                {"AttributeName": "p", "KeyType": "HASH"},
                {"AttributeName": "l", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
KEY = {"p": {"S": "1"}, "r": {"S": "1"}}
ASKED = {"TableName": "Orders", "ReturnConsumedCapacity": "INDEXES"}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {**ASKED, "Item": {**KEY, "g": {"S": "a"}, "l": {"S": "b"}}}),
    (
        "PutItem",
        {**ASKED, "Item": {**KEY, "g": {"S": "c"}, "text": {"S": "x" * 3000}}, "ReturnValues": "ALL_OLD"},
    ),
    ("GetItem", {**ASKED, "Key": KEY}),
    ("GetItem", {**ASKED, "Key": KEY, "ConsistentRead": True, "ProjectionExpression": "g"}),
    ("GetItem", {**ASKED, "Key": {**KEY, "p": {"S": "2"}}}),
]
METERED = (
    "faradisc/engine/throughput/",
    "faradisc/capacity/",
    "faradisc/engine/tables/charging.py",
    "faradisc/clock.py",
)
"""Metering, and the clock: neither of these requests needs the time for anything else."""


@pytest.fixture(autouse=True)
def counting_again() -> Iterator[None]:
    yield
    bare.become("whole")


@pytest.fixture(params=["off", "aws"])
def process(request: pytest.FixtureRequest, bugs_surface: None) -> Iterator[InProcess]:
    made = InProcess(throughput=request.param)
    made.call("CreateTable", **TABLE)
    yield made
    made.check()
    made.close()


def ask(process: InProcess, operation: str, body: dict[str, Any]) -> HttpResponse:
    """One request, and no background work around it."""
    request = HttpRequest("POST", b"/", headers_of(operation), orjson.dumps(body))
    return run(front.answer(process.database, request))


def answers(process: InProcess, requests: list[tuple[str, dict[str, Any]]]) -> list[tuple[int, bytes]]:
    answered = [ask(process, *request) for request in requests]
    return [(answer.status, answer.body) for answer in answered]


def counted(process: InProcess) -> list[Any]:
    """All that a request leaves behind in the meters."""
    ((_, registry),) = process.local.accounts()
    limiters = [
        limiter for resource in registry.resources.values() for limiter in (resource.reads, resource.writes)
    ]
    buckets = [bucket for limiter in limiters for bucket in limiter.buckets]
    partitions = [part for resource in registry.resources.values() for part in resource.partitions.partitions]
    return [
        [dict(limiter.tally) for limiter in limiters],
        [limiter.table_bucket.used for limiter in limiters if limiter.table_bucket is not None],
        [(bucket.spent, bucket.charged, bucket.used) for bucket in buckets],
        [(part.bytes, part.items) for part in partitions],
        {meter.operation: list(meter.recent) for meter in registry.requests.operations()},
    ]


def test_answers_are_the_same_and_nothing_is_counted(process: InProcess) -> None:
    expected = answers(process, REQUESTS)
    assert [status for status, _ in expected] == [200] * len(REQUESTS)
    process.call("DeleteItem", TableName="Orders", Key=KEY)
    before = counted(process)

    bare.become("bare")
    assert not bare.is_whole()
    assert answers(process, REQUESTS) == expected
    assert counted(process) == before

    bare.become("whole")
    assert bare.is_whole()
    for request in REQUESTS:
        before = counted(process)
        answers(process, [request])
        after = counted(process)
        assert after[0] != before[0], "units"
        assert after[-1] != before[-1], "latencies"


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request[0])
def test_no_code_of_metering_runs(
    process: InProcess, request_: tuple[str, dict[str, Any]], entered: Callable[..., set[str]]
) -> None:
    operation, body = request_
    body = {name: value for name, value in body.items() if name != "ReturnConsumedCapacity"}
    assert entered(lambda: ask(process, operation, body)), "the profile sees it where it runs"
    bare.become("bare")
    assert entered(lambda: ask(process, operation, body)) == set()


def test_background_work_of_metering_rests_too(process: InProcess) -> None:
    step = process.backend.catalog.throughput.step
    ((_, registry),) = process.local.accounts()
    due = registry.due
    process.clock.advance(60)  # type: ignore[attr-defined]
    bare.become("bare")
    assert run(step()) is False
    assert registry.due == due
    bare.become("whole")
    run(step())
    assert registry.due > due


@pytest.fixture
def entered() -> Iterator[Callable[..., set[str]]]:
    """The functions of metering that are entered while something runs."""

    def watch(action: Callable[[], object]) -> set[str]:
        seen: set[str] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and any(part in code.co_filename for part in METERED):
                seen.add(f"{code.co_filename}:{code.co_qualname}")

        sys.setprofile(note)
        try:
            action()
        finally:
            sys.setprofile(None)
        return seen

    yield watch
    sys.setprofile(None)


def test_the_functions_stay_the_same_objects() -> None:
    execute, own = Backend.execute, Backend.execute.__code__
    bare.become("bare")
    assert Backend.execute is execute
    assert execute.__code__ is not own
    assert execute.__code__.co_qualname == own.co_qualname
    bare.become("whole")
    assert execute.__code__ is own


def test_a_function_that_has_changed_is_noticed() -> None:
    with pytest.raises(bare.Moved, match="get_item has no chargeable, counter"):
        bare.edited(get_item, {"counter"}, {"chargeable": "0"})


def test_what_only_counts_refuses_nothing_and_counts_as_much(process: InProcess) -> None:
    (meter,) = process.backend.catalog.throughput.tables()
    limiters = [
        limiter for each in (meter.resource, *meter.indexes.values()) for limiter in (each.reads, each.writes)
    ]

    def costs() -> Counter[int]:
        """Of all charges so far, by half units."""
        return sum((Counter(limiter.tally) for limiter in limiters), Counter())

    # Of a server that enforces, and has run out of units, reads: writes with index entries go another way.
    requests = [each for each in REQUESTS if not meter.enforced or each[0] == "GetItem"]
    none = costs()
    expected = answers(process, requests)
    asked = costs() - none
    process.call("DeleteItem", TableName="Orders", Key=KEY)
    for limiter in limiters:
        if limiter.table_bucket is not None:
            limiter.table_bucket.set_balance(process.clock.now_ns(), 0)

    before = costs()
    bare.become("counting")
    assert not bare.is_whole()
    assert answers(process, requests) == expected
    assert costs() - before == asked
    bare.become("whole")
    assert {status for status, _ in answers(process, requests)} == {400 if meter.enforced else 200}


def test_copies_in_every_state_start_and_stop() -> None:
    """As `python -m bench throughput` has them, of the package as it is."""
    states = ("bare", "counting", "off", "enforced")
    command = (sys.executable, "-m", "bench.side_by_side", "-", *states)
    root = Path(bare.__file__).parents[1]
    ended = subprocess.run(command, cwd=root, input=b"", capture_output=True, timeout=60, check=False)
    assert (ended.returncode, len(orjson.loads(ended.stdout or b"[]"))) == (0, len(states)), ended.stderr
