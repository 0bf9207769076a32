"""GetItem of one client beside sixteen clients that ask for too much, kind by kind: large requests, large
answers, requests that are left, and connections that never say what they want."""

import http.client
import json
import multiprocessing
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
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

ANSWER_ITEMS = 40
ANSWERS = "answers of 15 MB"
NOTHINGS = "15 MB of empty objects, connection closed"
HEADS = "half a head, opened again when it is closed"
OTHERS = (ANSWERS, NOTHINGS, HEADS)
HEADS_OF_A_CLIENT = 300


def measure(port: int, pid: int, seconds: int, kind: str | None) -> str:
    """Returns a line: percentiles of GetItem in milliseconds, how many requests of a kind ended, and the
    largest memory of the server, whose process is `pid`."""
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
        if kind == ANSWERS:
            for number in range(ANSWER_ITEMS):
                item = {"p": {"S": f"large {number}"}, "v": {"S": "x" * 380_000}}
                _ask(connection, "PutItem", json.dumps({"TableName": TABLE, "Item": item}))
        load = multiprocessing.Process(target=_load, args=(port, kind, seconds, ended), daemon=True)
        load.start()
        time.sleep(1)
        p50, p99, most = _get(connection, seconds)
        load.join()
    times = f"p50 {p50:6.1f}  p99 {p99:6.1f}  max {most:6.1f} ms"
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    memory = "" if found is None else f"; {int(found[1]) // 1024} MB"
    return f"{kind or 'no large requests':44} {times}; {ended.value} requests{memory}"


def _get(connection: http.client.HTTPConnection, seconds: int) -> tuple[float, float, float]:
    body = json.dumps({"TableName": TABLE, "Key": {"p": {"S": "small"}}})
    end, took_ms = time.perf_counter() + seconds, []
    while (began := time.perf_counter()) < end:
        try:
            _ask(connection, "GetItem", body)
        except (OSError, http.client.HTTPException):  # closed while idle; SDKs send again
            connection.close()
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


def _load(port: int, kind: str, seconds: int, ended: Any) -> None:
    """Keeps CLIENTS clients of one kind busy for some seconds; a process of its own."""
    end = time.perf_counter() + seconds + 1
    if kind in KINDS:
        operation, request = KINDS[kind]
        client = _sender(port, operation, json.dumps(request))
    elif kind == ANSWERS:
        keys = [{"p": {"S": f"large {number}"}} for number in range(ANSWER_ITEMS)]
        client = _sender(port, "BatchGetItem", json.dumps({"RequestItems": {TABLE: {"Keys": keys}}}))
    elif kind == NOTHINGS:
        client = _leaver(port)
    else:
        client = _half_heads(port)

    def run() -> None:
        step = client()
        while time.perf_counter() < end:
            with suppress(OSError, http.client.HTTPException):
                step()
                with ended.get_lock():
                    ended.value += 1

    for _ in range(CLIENTS):
        threading.Thread(target=run, daemon=True).start()
    time.sleep(seconds + 1)


Client = Callable[[], Callable[[], object]]
"""Makes a function that is called again and again; each client has its own."""


def _sender(port: int, operation: str, body: str) -> Client:
    def made() -> Callable[[], object]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        return lambda: _ask(connection, operation, body)

    return made


def _leaver(port: int) -> Client:
    body = b'{"a":[' + b"{}," * 4_900_000 + b"{}]}"
    lines = {
        **HEADERS,
        "Host": "127.0.0.1",
        "X-Amz-Target": "DynamoDB_20120810.Scan",
        "Content-Length": len(body),
    }
    head = "POST / HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"

    def send() -> None:
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(head.encode())
            connection.sendall(body)

    return lambda: send


def _half_heads(port: int) -> Client:
    def made() -> Callable[[], object]:
        opened: list[socket.socket] = []

        def step() -> None:
            connection = socket.create_connection(("127.0.0.1", port), 3)
            connection.sendall(b"POST / HTTP/1.1\r\nX: ")
            opened.append(connection)
            if len(opened) > HEADS_OF_A_CLIENT:
                opened.pop(0).close()

        return step

    return made
