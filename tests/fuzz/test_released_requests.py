"""Rejected requests are released at once, without the garbage collector.

What it proves: no rejection leaves its request in a cycle of references. An exception that a frame keeps in a
local refers to that frame through its traceback, and so to the request and its body of up to 16 MB; the
collector runs so seldom that 160 such bodies would fill the memory. The collector is off in these tests, and
every request is an object that must be gone after its answer.
"""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest

from faradisc.auth.credentials_file import CredentialsFile
from faradisc.auth.keys import AccessKey
from faradisc.clock import ManualClock, SeededEntropy, SystemClock
from faradisc.protocol import failures
from faradisc.protocol.http import HttpRequest
from faradisc.server.access import Access
from faradisc.server.admin import AdminPages
from faradisc.server.load import Load
from faradisc.server.settings import ServerSettings
from faradisc.server.site import Site
from faradisc.storage.immediate import run
from fixtures.in_process import InProcess, headers_of

KEY = {"TableName": "tab", "Key": {"pk": {"S": "a"}}}
CONDITION = {"ConditionExpression": "attribute_exists(pk)"}
LONG = {"filler": "x" * 200_000}

REJECTED: dict[str, tuple[str, Any]] = {
    "no JSON": ("Scan", b'"' + b"x" * 200_000),
    "a small body that is no JSON": ("Scan", b'{"a'),
    "JSON that is no object": ("Scan", b"[1]"),
    "nested too deep": ("Scan", b"[" * 200_000),
    "many nothings": ("Scan", b'{"a":[' + b"{}," * 150_000 + b"{}]}"),
    "many nothings, broken off": ("Scan", b'{"a":[' + b"{}," * 150_000),
    "a wrong type": ("Scan", {"TableName": 1, **LONG}),
    "a missing member": ("Scan", LONG),
    "an unknown operation": ("Nonsense", LONG),
    "a missing table": ("Scan", {"TableName": "missing", **LONG}),
    "a key of a wrong type": ("GetItem", {"TableName": "tab", "Key": {"pk": {"N": "1"}}, **LONG}),
    "an invalid value": ("PutItem", {"TableName": "tab", "Item": {"pk": {"S": ""}}, **LONG}),
    "an item that is too large": (
        "PutItem",
        {"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "x" * 500_000}}},
    ),
    "a failed condition": ("DeleteItem", {**KEY, **CONDITION, **LONG}),
    "a malformed expression": ("DeleteItem", {**KEY, "ConditionExpression": "a = ", **LONG}),
    "two wrong operands": ("DeleteItem", {**KEY, "ConditionExpression": "a = b AND size(c, d) = e", **LONG}),
    "an unused name": ("DeleteItem", {**KEY, **CONDITION, "ExpressionAttributeNames": {"#a": "a"}, **LONG}),
    "a failed transaction": (
        "TransactWriteItems",
        {"TransactItems": [{"Delete": {**KEY, **CONDITION}}], **LONG},
    ),
    "a malformed statement": ("ExecuteStatement", {"Statement": "SELECT", **LONG}),
    "a statement of a missing table": ("ExecuteStatement", {"Statement": "SELECT * FROM none", **LONG}),
    "a failed statement": (
        "ExecuteStatement",
        {"Statement": "DELETE FROM tab WHERE pk = 'a' AND b = 1", **LONG},
    ),
    "statements that fail": (
        "BatchExecuteStatement",
        {"Statements": [{"Statement": "SELECT * FROM none WHERE pk = 'a'"}, {"Statement": "x"}], **LONG},
    ),
    "a throttled write": (
        "PutItem",
        {"TableName": "slow", "Item": {"pk": {"S": "a"}, "v": {"S": "x" * 200_000}}},
    ),
    "throttled writes": (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "slow", "Item": {"pk": {"S": "b"}, "v": {"S": "x" * 200_000}}}}
            ]
        },
    ),
}


def requests() -> Iterator[Any]:
    for name, (operation, body) in REJECTED.items():
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = headers_of(operation)
        yield pytest.param(("POST", b"/", headers, text), id=name)
        packed = headers | {b"content-encoding": b"gzip"}
        yield pytest.param(("POST", b"/", packed, gzip.compress(text)), id=f"{name}, compressed")
    unsigned = headers_of("Scan", signed=False)
    yield pytest.param(("POST", b"/", unsigned, b'{"a":"' + b"x" * 200_000 + b'"}'), id="no signature")
    broken = headers_of("Scan") | {b"content-encoding": b"gzip"}
    yield pytest.param(("POST", b"/", broken, b"x" * 200_000), id="no gzip")
    yield pytest.param(("POST", b"/", broken, gzip.compress(b" " * 20_000_000)), id="a bomb")
    yield pytest.param(("POST", b"/", headers_of("Scan"), b" " * (16 * 1024**2 + 1)), id="over the limit")
    yield pytest.param(("PUT", b"/", headers_of("Scan"), b" " * 200_000), id="another method")
    for prefix in ("AnyScaleFrontendService", "GraniteServiceVersion20100801"):
        for what, body in (("no JSON", b"x" * 200_000), ("a missing member", json.dumps(LONG).encode())):
            headers = headers_of("x") | {b"x-amz-target": f"{prefix}.PutMetricAlarm".encode()}
            yield pytest.param(("POST", b"/", headers, body), id=f"{prefix}: {what}")
    path = b"/service/GraniteServiceVersion20100801/operation/PutMetricAlarm"
    cbor = headers_of("x") | {b"content-type": b"application/cbor"}
    del cbor[b"x-amz-target"]
    for what, body in (("no CBOR", b"\xff" * 200_000), ("a missing member", cbor2.dumps(LONG))):
        yield pytest.param(("POST", path, cbor, body), id=f"CBOR: {what}")
    form = cbor | {b"content-type": b"application/x-www-form-urlencoded"}
    for version in (b"2010-08-01", b"2010-05-08", b"2011-06-15"):
        body = b"Action=PutMetricAlarm&Version=" + version + b"&x=" + b"x" * 200_000
        yield pytest.param(("POST", b"/", form, body), id=f"form of {version.decode()}")
    admin = {b"host": b"localhost", b"content-type": b"application/json"}
    for page in (b"clock", b"capacity/missing", b"check/x"):
        yield pytest.param(
            ("POST", b"/_faradisc/" + page, admin, b"{" * 200_000), id=f"admin: {page.decode()}"
        )
    elsewhere = admin | {b"origin": b"http://evil.example"}
    yield pytest.param(("POST", b"/_faradisc/clock", elsewhere, b"x" * 200_000), id="admin: another site")


@pytest.fixture(scope="module")
def database() -> Iterator[InProcess]:
    process = InProcess(clock=ManualClock(), throughput="aws")
    key = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }
    process.call("CreateTable", TableName="tab", BillingMode="PAY_PER_REQUEST", **key)
    least = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    process.call("CreateTable", TableName="slow", ProvisionedThroughput=least, **key)
    process.clock.advance(1)
    process.call("PutItem", TableName="slow", Item={"pk": {"S": "b"}, "v": {"S": "x" * 299_000}})
    yield process
    process.close()


class _Referred(HttpRequest):
    """A request to which there may be weak references."""

    __slots__ = ("__weakref__",)


def _answered(
    site: Site, method: str, target: bytes, headers: dict[bytes, bytes], body: bytes
) -> tuple[int, bool]:
    """Returns the status of a request's answer, and whether the request is gone after it."""
    run(site.handle(HttpRequest(method, target, headers, body)))  # whatever is loaded or cached at the first
    gc.disable()
    try:
        request = _Referred(method, target, headers, body)
        there = weakref.ref(request)
        answer = site.handle(request)
        del request
        return run(answer).status, there() is None
    finally:
        gc.enable()


@pytest.fixture(params=["lenient", "strict", "audited"])
def site(request: pytest.FixtureRequest, database: InProcess, tmp_path: Path) -> Iterator[Site]:
    settings: dict[str, str] = {}
    if request.param == "strict":
        CredentialsFile(tmp_path / "keys", {}).add(AccessKey("KEY", "secret"), 0, SeededEntropy(1))
        settings = {"auth": "strict", "credentials_file": str(tmp_path / "keys")}
    elif request.param == "audited":
        settings = {"audit_log": str(tmp_path / "audit")}
    access = Access(ServerSettings(**settings), SystemClock())
    site = Site(access.authenticate, AdminPages(Load(), None, ("localhost",)), None, access.audit)
    site.executor = database.database
    yield site
    access.close()


@pytest.mark.parametrize("parts", list(requests()))
def test_rejected_request_is_released(
    site: Site, parts: tuple[str, bytes, dict[bytes, bytes], bytes]
) -> None:
    status, is_gone = _answered(site, *parts)
    assert is_gone
    assert status in (200, 400, 403, 404, 405, 413)


def test_request_that_a_bug_stops_is_released(site: Site, database: InProcess, monkeypatch: Any) -> None:
    async def fail(_: Any) -> None:
        error = KeyError("a bug")
        raise error

    monkeypatch.setattr(failures, "RAISE_UNEXPECTED", False)
    monkeypatch.setattr(failures.log, "disabled", True)
    monkeypatch.setattr(database.database, "execute", fail)
    headers = headers_of("Scan")
    body = json.dumps({"TableName": "tab", **LONG}).encode()
    status, is_gone = _answered(site, "POST", b"/", headers, body)
    assert is_gone
    assert status in (400, 500)
