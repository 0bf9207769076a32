"""What `python -m bench throughput` measures against: the same process, counting nothing for a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from bench import bare, bare_server

from faradisc.database import Database
from faradisc.operations.get_item import get_item
from faradisc.protocol import front
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server import admin
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
METERED = ("faradisc/metering/", "faradisc/capacity/", "faradisc/tables/charging.py", "faradisc/clock.py")
"""Metering, and the clock: neither of these requests needs the time for anything else."""


@pytest.fixture(autouse=True)
def counting_again() -> Iterator[None]:
    yield
    bare.count(True)


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
    return run(front.answer(process.local._open(), request))


def answers(process: InProcess, requests: list[tuple[str, dict[str, Any]]]) -> list[tuple[int, bytes]]:
    answered = [ask(process, *request) for request in requests]
    return [(answer.status, answer.body) for answer in answered]


def counted(process: InProcess) -> list[Any]:
    """All that a request leaves behind in the meters."""
    ((_, account),) = process.local.accounts()
    lanes = [lane for resource in account.resources.values() for lane in (resource.reads, resource.writes)]
    cells = [cell for lane in lanes for cell in lane.cells]
    partitions = [part for resource in account.resources.values() for part in resource.partitions.partitions]
    return [
        [dict(lane.tally) for lane in lanes],
        [lane.bucket.used for lane in lanes if lane.bucket is not None],
        [(cell.spent, cell.charged, cell.used) for cell in cells],
        [(part.bytes, part.items) for part in partitions],
        {meter.operation: dict(meter.recent) for meter in account.requests.meters()},
    ]


def test_answers_are_the_same_and_nothing_is_counted(process: InProcess) -> None:
    told = answers(process, REQUESTS)
    assert [status for status, _ in told] == [200] * len(REQUESTS)
    process.call("DeleteItem", TableName="Orders", Key=KEY)
    before = counted(process)

    bare.count(False)
    assert not bare.is_counting()
    assert answers(process, REQUESTS) == told
    assert counted(process) == before

    bare.count(True)
    assert bare.is_counting()
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
    bare.count(False)
    assert entered(lambda: ask(process, operation, body)) == set()


def test_background_work_of_metering_rests_too(process: InProcess) -> None:
    step = process.local._open()._backend.catalog.meter.step
    ((_, account),) = process.local.accounts()
    due = account.due
    process.clock.advance(60)  # type: ignore[attr-defined]
    bare.count(False)
    assert run(step()) is False
    assert account.due == due
    bare.count(True)
    run(step())
    assert account.due > due


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
    execute, own = Database.execute, Database.execute.__code__
    bare.count(False)
    assert Database.execute is execute
    assert execute.__code__ is not own
    assert execute.__code__.co_qualname == own.co_qualname
    bare.count(True)
    assert execute.__code__ is own


def test_a_function_that_has_changed_is_noticed() -> None:
    with pytest.raises(bare.Moved, match="get_item has no chargeable, counter"):
        bare.edited(get_item, {"counter"}, {"chargeable": "0"})


def test_the_page_changes_over() -> None:
    def post(counting: bool) -> dict[str, bool]:
        request = SimpleNamespace(body=orjson.dumps({"counting": counting}))
        answer = run(bare_server._change_over(cast(admin.Visit, SimpleNamespace(request=request))))
        assert answer.status == 200
        said: dict[str, bool] = orjson.loads(answer.body)
        return said

    assert post(False) == {"counting": False}
    assert not bare.is_counting()
    assert post(True) == {"counting": True}
    assert bare.is_counting()


def test_a_server_of_the_product_has_no_such_page() -> None:
    assert "counting" not in admin._PAGES
