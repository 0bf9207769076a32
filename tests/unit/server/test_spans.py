"""Spans of requests: operation, tables, units, throttle reasons, the client's span as parent."""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from faradisc.local import LocalDatabase
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server import spans as module
from faradisc.server.setting import SettingsError
from faradisc.storage.immediate import run
from fixtures.clients import http_client
from fixtures.served import Server

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is missing: pip install 'faradisc[otel]'")
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

PARENT = "4bf92f3577b34da6a3ce929d0e0e4736"
TABLE: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}


class Traced:
    """A database whose requests are put into spans that are kept."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._spans = module.RequestSpans(provider)
        self._database = LocalDatabase(**options)

    def call(self, operation: str, body: Any, headers: dict[bytes, bytes] | None = None) -> HttpResponse:
        scope = b"Credential=a/20260101/us-east-1/dynamodb/aws4_request"
        request = HttpRequest(
            "POST",
            b"/",
            {
                b"host": b"localhost",
                b"content-type": b"application/x-amz-json-1.0",
                b"x-amz-date": b"20260101T000000Z",
                b"x-amz-target": f"DynamoDB_20120810.{operation}".encode(),
                b"authorization": b"AWS4-HMAC-SHA256 "
                + scope
                + b", SignedHeaders=host, Signature="
                + b"0" * 64,
                **(headers or {}),
            },
            json.dumps(body).encode(),
        )
        executor = self._database.database
        return run(self._spans.answer(executor, request, lambda each: answer(each, request)))

    def last(self) -> Any:
        return self.exporter.get_finished_spans()[-1]


def test_one_span_for_a_request() -> None:
    traced = Traced()
    traced.call("CreateTable", TABLE)
    assert traced.last().name == "DynamoDB.CreateTable"
    header = {b"traceparent": f"00-{PARENT}-00f067aa0ba902b7-01".encode()}
    item = {"id": {"S": "a"}, "text": {"S": "x" * 2000}}
    answered = traced.call("PutItem", {"TableName": "orders", "Item": item}, header)
    assert answered.body == b"{}"  # units that the span asks for are not in the answer
    span = traced.last()
    assert span.name == "DynamoDB.PutItem"
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (PARENT, "00f067aa0ba902b7")
    assert dict(span.attributes) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "PutItem",
        "aws.dynamodb.table_names": ("orders",),
        "faradisc.units": 2.0,
        "http.response.status_code": 200,
    }
    wanted = {"TableName": "orders", "Key": {"id": {"S": "a"}}, "ReturnConsumedCapacity": "TOTAL"}
    found = json.loads(traced.call("GetItem", wanted).body)
    assert found["ConsumedCapacity"]["CapacityUnits"] == 0.5
    assert traced.last().attributes["faradisc.units"] == 0.5
    traced.call("Query", {"TableName": "orders"})
    assert traced.last().attributes["error.type"] == "ValidationException"
    assert len(traced.exporter.get_finished_spans()) == 4


def test_reason_of_a_throttle() -> None:
    traced = Traced(throughput="aws")
    traced.call("CreateTable", TABLE)
    item = {"id": {"S": "a"}, "text": {"S": "x" * 300_000}}
    for _ in range(5):
        answered = traced.call("PutItem", {"TableName": "orders", "Item": item})
    assert answered.status == 400
    attributes = traced.last().attributes
    assert attributes["error.type"] == "ProvisionedThroughputExceededException"
    assert attributes["faradisc.throttling_reasons"] == ("TableWriteProvisionedThroughputExceeded",)
    assert attributes["faradisc.throttled_resources"][0].endswith("table/orders")


@pytest.mark.parametrize(
    ("otlp", "environment", "is_wanted"),
    [
        ("", {}, False),
        ("http://c:4318", {}, True),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ("http://c:4318", {"OTEL_SDK_DISABLED": "true"}, False),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_who_asks_for_spans(otlp: str, environment: dict[str, str], is_wanted: bool) -> None:
    assert module.wanted(otlp, environment) is is_wanted


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert module.spans_of("") is None
    with pytest.raises(SettingsError, match=r"pip install 'faradisc\[otel\]'"):
        module.spans_of("http://127.0.0.1:4318")


def test_a_server_sends_its_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        try:
            for name in [each for each in os.environ if each.startswith("OTEL_")]:
                monkeypatch.delenv(name)
            server = Server("--memory", "--otlp", f"http://127.0.0.1:{collector.server_port}")
            http_client(server.url).list_tables()
            assert server.stop() == 0
        finally:
            collector.shutdown()
            thread.join()
    assert {path for path, _ in received} == {"/v1/traces"}
    assert any(b"DynamoDB.ListTables" in body for _, body in received)
