"""A front end over an executor that records calls and returns the result that a test sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from faradisc.clock import SeededEntropy
from faradisc.operations.call import Call
from faradisc.protocol import front
from faradisc.protocol.executor import Executor
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.response import RequestIds
from faradisc.protocol.service_model import operation_named
from faradisc.protocol.shapes import CheckedShape

AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=AKID/20261120/eu-west-1/dynamodb/aws4_request, "
    b"SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + b"0" * 64
)


@dataclass
class RecordingExecutor:
    region: str = "us-east-1"
    account: str = "000000000000"
    outcome: dict[str, Any] | Exception = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()
    request_ids: RequestIds = field(default_factory=lambda: RequestIds(SeededEntropy(1)))

    def knows(self, operation: str) -> bool:
        return operation not in self.unknown

    async def run_large(self, work: Callable[[], Any], request: HttpRequest) -> Any:
        return work()

    async def yield_control(self) -> None:
        pass

    async def execute(self, call: Call) -> dict[str, Any]:
        self.calls.append(call)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def _drive(executor: Executor, request: HttpRequest) -> HttpResponse:
    """Runs the front end as the in-process client does: with one `send(None)`."""
    coroutine = front.answer(executor, request)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the front end suspended")


@pytest.fixture(scope="session")
def drive_front() -> Callable[[Executor, HttpRequest], HttpResponse]:
    return _drive


@pytest.fixture(scope="session")
def make_executor() -> Callable[[], RecordingExecutor]:
    return RecordingExecutor


@pytest.fixture
def executor() -> RecordingExecutor:
    return RecordingExecutor()


@pytest.fixture
def send(executor: RecordingExecutor) -> Callable[..., HttpResponse]:
    """send("GetItem", body, header=value...) -> HttpResponse; a header of None is left out."""

    def send(
        operation: str | None = "GetItem",
        body: Any = None,
        *,
        method: str = "POST",
        target: bytes = b"/",
        headers: dict[bytes, bytes | None] | None = None,
    ) -> HttpResponse:
        all_headers: dict[bytes, bytes | None] = {
            b"host": b"localhost:8000",
            b"content-type": b"application/x-amz-json-1.0",
            b"x-amz-date": b"20261120T000000Z",
            b"authorization": AUTHORIZATION,
            b"x-amz-target": None if operation is None else b"DynamoDB_20120810." + operation.encode(),
            **(headers or {}),
        }
        sent = body if isinstance(body, bytes) else orjson.dumps({} if body is None else body)
        kept = {name: value for name, value in all_headers.items() if value is not None}
        return _drive(executor, HttpRequest(method, target, kept, sent))

    return send


@pytest.fixture(scope="session")
def shape_of() -> Callable[[str], CheckedShape]:
    """Returns the compiled input shape of an operation, cached for the session."""
    kept: dict[str, CheckedShape] = {}

    def shape_of(name: str) -> CheckedShape:
        if name not in kept:
            operation = operation_named(name)
            assert operation is not None
            kept[name] = CheckedShape(operation)
        return kept[name]

    return shape_of
