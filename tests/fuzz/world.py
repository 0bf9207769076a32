"""The database of hostile requests, and the checks of each answer.

1. No unexpected exception: `failures.RAISE_UNEXPECTED` raises it.
2. A status of the service: 200, 400, 404 or 413, never 5xx.
3. A body that the service model allows: the operation's output, or an error it knows.
4. The checksum of the body.
5. An end: a request that runs for half a minute is interrupted.
"""

from __future__ import annotations

import gzip
import shutil
import signal
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import orjson

from faradisc.protocol import failures
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.service_model import operations_by_target
from fixtures.in_process import AUTHORIZATION, InProcess
from fixtures.shape_check import check_error, check_output

from .exchanges import BUCKETS, LINES, begin_tasks
from .tables import CANARY, TABLES

HEADERS = {
    b"host": b"localhost:8000",
    b"content-type": b"application/x-amz-json-1.0",
    b"x-amz-date": b"20261120T000000Z",
    b"authorization": AUTHORIZATION.encode(),
}
TRANSITION_MS = 2
ITEMS_PER_TABLE = 12
BACKUP_NAME = "Standing"
BACKUPS = 20
"""Requests delete them, and others want one to be there."""
FUSE_S = 30
_CANARY_ITEM = {"id": {"S": "sings"}, "n": {"N": "38"}}


class Broken(AssertionError):
    """Raised for a wrong answer."""


class World:
    """A fresh database with the standing tables, some items, and the canary."""

    def __init__(self) -> None:
        root = tempfile.mkdtemp(prefix="faradisc-fuzz-")
        weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        lines = Path(root, BUCKETS[0], "in", "lines.json")
        lines.parent.mkdir(parents=True)
        lines.write_bytes(LINES)
        self._process = InProcess(transition_ms=TRANSITION_MS, s3_root=root)
        found(self._process)
        begin_tasks(self._process)

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send one request and check its answer. Raises Broken, or whatever escaped."""
        with _fuse(), _bugs_surface():
            answer = self._process.local.answer(request)
        check(request, answer)
        return answer

    def let_time_pass(self, seconds: float) -> None:
        self._process.clock.advance(seconds)

    def check(self) -> None:
        """Checks the store and the canary after a round. Raises AssertionError."""
        self._process.check()
        found = self._process.call("GetItem", TableName=CANARY, Key={"id": _CANARY_ITEM["id"]})
        assert found.get("Item") == _CANARY_ITEM, f"the canary is {found}"

    def close(self) -> None:
        self._process.close()


def found(process: InProcess) -> None:
    """Make the standing tables, their items and the canary: the same in every world."""
    rng = Random(0)
    for table in TABLES:
        process.call("CreateTable", **table.definition())
    process.call("CreateTable", **TABLES[0].definition() | {"TableName": CANARY})
    process.clock.advance(1)
    for table in TABLES:
        for _ in range(ITEMS_PER_TABLE):
            process.call("PutItem", TableName=table.name, Item=table.item(rng))
    process.call("PutItem", TableName=CANARY, Item=_CANARY_ITEM)
    expiry = {"Enabled": True, "AttributeName": "n"}
    process.call("UpdateTimeToLive", TableName="Binary", TimeToLiveSpecification=expiry)
    for _ in range(BACKUPS):
        process.call("CreateBackup", TableName=TABLES[0].name, BackupName=BACKUP_NAME)


def check(request: HttpRequest, answer: HttpResponse) -> None:
    """Raises Broken."""
    if answer.status not in (200, 400, 404, 413):
        raise Broken(f"HTTP {answer.status}: {answer.body[:500]!r}")
    if request.method != "POST":
        return
    if answer.crc32 is not None and answer.crc32 != crc32(answer.body):
        raise Broken("x-amz-crc32 is not the checksum of the body")
    if answer.status in (404, 413):
        return
    operation = operations_by_target().get(request.headers.get(b"x-amz-target", b""))
    document = document_of(answer)
    name = operation.name if operation is not None else "ListTables"
    deviations = check_output(name, document) if answer.status == 200 else check_error(name, document)
    if deviations:
        raise Broken(f"{name}, HTTP {answer.status}: " + "; ".join(deviations)[:2000])


def document_of(answer: HttpResponse) -> Any:
    """The JSON of an answer. Raises Broken."""
    body = answer.body
    if (b"Content-Encoding", b"gzip") in answer.extra:
        body = gzip.decompress(body)
    try:
        return orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise Broken(f"the body is no JSON: {body[:500]!r}") from error


@contextmanager
def _bugs_surface() -> Iterator[None]:
    before = failures.RAISE_UNEXPECTED
    failures.RAISE_UNEXPECTED = True
    try:
        yield
    finally:
        failures.RAISE_UNEXPECTED = before


@contextmanager
def _fuse() -> Iterator[None]:
    """Stops what would run for ever. It says nothing of speed: a usual request takes a fraction of a
    millisecond."""

    def blow(*_: object) -> None:
        raise Broken(f"still running after {FUSE_S} seconds")

    before = signal.signal(signal.SIGALRM, blow)
    signal.alarm(FUSE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
