"""Prints the functions that a request passes, from the bytes of its connection to the store and back.

    python tools/trip.py            PutItem, GetItem and Query in the order of their calls, and how many
    python tools/trip.py PutItem    one of them

A request is sent over a `Connection` without a network, to a database on RocksDB that syncs at once. What is
counted is one warm request: caches are filled, nothing is imported or compiled. The numbers of a PutItem are
held by tests/unit/server/test_trip.py.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

import faradisc
from faradisc.database import Database
from faradisc.server.connection import HttpConnection, Shared
from faradisc.server.site import Site
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks

SOURCE = str(Path(faradisc.__file__).parent) + "/"
TABLE = {
    "TableName": "Orders",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "s", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"p": {"S": "customer"}, "s": {"S": "2026"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "PutItem": {
        "TableName": "Orders",
        "Item": {**KEY, "total": {"N": "12"}},
        "ConditionExpression": "#t = :total",
        "ExpressionAttributeNames": {"#t": "total"},
        "ExpressionAttributeValues": {":total": {"N": "12"}},
    },
    "GetItem": {"TableName": "Orders", "Key": KEY},
    "Query": {
        "TableName": "Orders",
        "KeyConditionExpression": "p = :p",
        "FilterExpression": "#t > :n",
        "ExpressionAttributeNames": {"#t": "total"},
        "ExpressionAttributeValues": {":p": KEY["p"], ":n": {"N": "1"}},
    },
}
"""PutItem has a condition that is true, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    file: str
    function: str
    depth: int
    """Of the stack, the bytes' arrival being 0."""


class _Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is no buffer."""


class World:
    """A database on RocksDB, and one connection to it."""

    def __init__(self, directory: Path) -> None:
        self.database = run(Database.open(open_rocks(directory, durability="inline")))
        site = Site()
        site.executor = self.database
        self._connection = HttpConnection(Shared(site.handle))
        self._transport = _Transport()
        self._connection.connection_made(self._transport)

    def send(self, operation: str, request: dict[str, Any]) -> bytes:
        """Returns the answer. Raises AssertionError unless it is a success."""
        self._transport.written = b""
        self._connection.data_received(_bytes_of(operation, request))
        assert self._transport.written.startswith(b"HTTP/1.1 200"), self._transport.written
        return self._transport.written

    def steps(self, operation: str, request: dict[str, Any]) -> list[Step]:
        """Returns the calls of functions of faradisc that a warm request makes, in order."""
        for _ in range(10):
            self.send(operation, request)
        data, found = _bytes_of(operation, request), list[Step]()
        depth = 0

        def profile(frame: FrameType, event: str, _: object) -> None:
            nonlocal depth
            if frame.f_code.co_filename.startswith(SOURCE):
                if event == "call":
                    file = frame.f_code.co_filename.removeprefix(SOURCE)
                    found.append(Step(file, frame.f_code.co_name, depth))
                    depth += 1
                elif event == "return":
                    depth -= 1

        sys.setprofile(profile)
        try:
            self._connection.data_received(data)
        finally:
            sys.setprofile(None)
        return found


def _bytes_of(operation: str, request: dict[str, Any]) -> bytes:
    body = orjson.dumps(request)
    head = (
        f"POST / HTTP/1.1\r\nHost: localhost:8000\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/dynamodb/aws4_request, "
        f"SignedHeaders=host, Signature={'0' * 64}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as directory:
        made = World(Path(directory))
        try:
            made.send("CreateTable", TABLE)
            made.send("PutItem", {key: REQUESTS["PutItem"][key] for key in ("TableName", "Item")})
            yield made
        finally:
            run(made.database.close())


def main() -> None:
    with world() as made:
        for operation in sys.argv[1:] or REQUESTS:
            steps = made.steps(operation, REQUESTS[operation])
            file = ""
            for step in steps:
                print(f"{'' if step.file == file else step.file:45} {'  ' * step.depth}{step.function}")
                file = step.file
            print(f"{operation}: {len(steps)} calls, {len({step.file for step in steps})} files\n")


if __name__ == "__main__":
    main()
