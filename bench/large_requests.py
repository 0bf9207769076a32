"""GetItem of one client beside sixteen clients that send large requests, kind by kind."""

import http.client
import json
import multiprocessing
import threading
import time
from collections.abc import Mapping
from typing import Any

CLIENTS = 16
PAUSE_S = 0.002
"""Between two requests of the client that is measured."""
TABLE = "large-requests"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261124T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20261124/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00",
}


def _numbers(count: int) -> dict[str, Any]:
    return {"L": [{"N": "1"}] * count}


def _puts(count: int, value: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"TableName": TABLE, "Item": {"p": {"S": f"k{n}"}, "v": value}} for n in range(count)]


def _batch(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"RequestItems": {TABLE: [{"PutRequest": {"Item": put["Item"]}} for put in _puts(25, value)]}}


KINDS: dict[str, tuple[str, Any]] = {
    "one set of 1.2 million members": ("PutItem", _puts(1, {"NS": [str(n) for n in range(1_200_000)]})[0]),
    "600,000 attribute names": (
        "PutItem",
        {"TableName": TABLE, "Item": {f"n{n}": {"N": "1"} for n in range(600_000)}},
    ),
    "900,000 unknown members": (
        "PutItem",
        {**_puts(1, {"N": "1"})[0], **{f"u{n}": 1 for n in range(900_000)}},
    ),
    "a transaction of 900,000 numbers": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": put} for put in _puts(100, _numbers(9000))]},
    ),
    "a batch of 1.2 million numbers": ("BatchWriteItem", _batch(_numbers(50_000))),
    "a batch of 25 texts of 390 KB": ("BatchWriteItem", _batch({"S": "x" * 390_000})),
}
"""Operation and request of 10 to 15 MB each."""


def measure(port: int, seconds: int, kind: str | None) -> str:
    """Returns a line: percentiles of GetItem in milliseconds, and how many large requests of a kind ended."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    key = {"AttributeName": "p", "KeyType": "HASH"}
    attribute = {"AttributeName": "p", "AttributeType": "S"}
    table = {"TableName": TABLE, "KeySchema": [key], "AttributeDefinitions": [attribute]}
    _ask(connection, "CreateTable", json.dumps({**table, "BillingMode": "PAY_PER_REQUEST"}))
    time.sleep(0.5)
    _ask(connection, "PutItem", json.dumps({"TableName": TABLE, "Item": {"p": {"S": "small"}}}))
    ended = multiprocessing.Value("i", 0)
    if kind is None:
        p50, p99, most = _get(connection, seconds)
    else:
        operation, request = KINDS[kind]
        arguments = (port, operation, json.dumps(request), seconds, ended)
        load = multiprocessing.Process(target=_send, args=arguments, daemon=True)
        load.start()
        time.sleep(1)
        p50, p99, most = _get(connection, seconds)
        load.join()
    times = f"p50 {p50:6.1f}  p99 {p99:6.1f}  max {most:6.1f} ms"
    return f"{kind or 'no large requests':36} {times}; {ended.value} large requests"


def _get(connection: http.client.HTTPConnection, seconds: int) -> tuple[float, float, float]:
    body = json.dumps({"TableName": TABLE, "Key": {"p": {"S": "small"}}})
    end, took_ms = time.perf_counter() + seconds, []
    while (began := time.perf_counter()) < end:
        _ask(connection, "GetItem", body)
        took_ms.append((time.perf_counter() - began) * 1e3)
        time.sleep(PAUSE_S)
    took_ms.sort()
    return took_ms[len(took_ms) // 2], took_ms[len(took_ms) * 99 // 100], took_ms[-1]


def _ask(connection: http.client.HTTPConnection, operation: str, body: str) -> int:
    connection.request("POST", "/", body, {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _send(port: int, operation: str, body: str, seconds: int, ended: Any) -> None:
    """Keeps CLIENTS connections busy with one request for some seconds; a process of its own."""
    end = time.perf_counter() + seconds + 1

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        while time.perf_counter() < end:
            _ask(connection, operation, body)
            with ended.get_lock():
                ended.value += 1

    for _ in range(CLIENTS):
        threading.Thread(target=client, daemon=True).start()
    time.sleep(seconds + 1)
