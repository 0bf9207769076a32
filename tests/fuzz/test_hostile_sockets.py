"""Hostile bytes over real sockets against a real server process.

What it proves: the server answers or rejects any bytes, in any pieces, never with a 5xx; other connections
are served meanwhile; its log has no traceback; and its exit code is 0.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import HttpRequest

from .campaign import hostile
from .mutations import mutate_bytes
from .world import HEADERS

FUSE_S = 60.0
SEED = 1
QUICK_MUTATIONS = 300
SLOW_MUTATIONS = 20_000

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
LIST_TABLES = HttpRequest("POST", b"/", {**HEADERS, b"x-amz-target": b"DynamoDB_20120810.ListTables"}, b"{}")


class Target:
    """The server under test, a child of this process."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        port_file = folder / "port"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "faradisc", "serve", "--memory"),
                    *("--port", "0", "--port-file", str(port_file)),
                ],
                stdout=log,
                stderr=log,
            )
        self.port = self._wait_for_port(port_file)

    def _wait_for_port(self, port_file: Path) -> int:
        for _ in range(600):
            if port_file.exists() and (text := port_file.read_text().strip()):
                return int(text)
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError("the server did not write its port")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=FUSE_S)

    def exchange(self, *pieces: bytes) -> bytes:
        """Sends the pieces, half-closes, and reads until the server closes."""
        with self.connect() as client:
            # Refused before everything was sent, it has still said something.
            with contextlib.suppress(OSError):
                for piece in pieces:
                    client.sendall(piece)
                client.shutdown(socket.SHUT_WR)
            return _read_all(client)

    def statuses(self, *pieces: bytes) -> list[int]:
        found = [int(status) for status in _STATUS.findall(self.exchange(*pieces))]
        assert all(status < 500 for status in found), found
        return found

    def serves(self) -> bool:
        return self.statuses(http(LIST_TABLES)) == [200]

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(FUSE_S) == 0
        log = self.log.read_text(errors="replace")
        assert "Traceback" not in log, log
        assert "ERROR" not in log, log


def _read_all(client: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionResetError):  # what was read before counts
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def http(request: HttpRequest, *more: bytes, length: int | None = None) -> bytes:
    """A request as bytes; `more` are further header lines."""
    given = {name: value for name, value in request.headers.items() if name != b"content-length"}
    lines = [request.method.encode() + b" " + request.target + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in given.items()]
    lines += more
    if not any(line.lower().startswith((b"transfer-encoding", b"content-length")) for line in more):
        lines.append(b"content-length: %d" % (len(request.body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + request.body


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("server"))
    yield target
    if target.process.poll() is None:
        target.end()


@pytest.fixture(autouse=True)
def _other_clients_are_served(target: Target) -> Iterator[None]:
    yield
    assert target.serves()


WHOLE = http(LIST_TABLES)
HEAD = http(LIST_TABLES, length=2)[: -len(LIST_TABLES.body)]

BROKEN = {
    "nothing": b"",
    "a_line_end": b"\r\n",
    "noise": bytes(range(256)) * 40,
    "nulls": b"\x00" * 5000,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x42" * 500,
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 60,
    "http09": b"GET /\r\n",
    "unknown_method": b"BREW / HTTP/1.1\r\nhost: x\r\n\r\n",
    "unknown_version": b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
    "half_a_line": WHOLE[:9],
    "half_a_head": WHOLE[:100],
    "no_body": HEAD,
    "half_a_body": HEAD + b"{",
    "a_long_target": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    "a_long_header": b"GET / HTTP/1.1\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "many_headers": b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 100_000 + b"\r\n",
    "a_header_without_end": b"GET / HTTP/1.1\r\nx: " + b"a" * 3_000_000,
    "a_folded_header": b"GET / HTTP/1.1\r\nx: y\r\n z\r\n\r\n",
    "a_space_before_the_colon": b"GET / HTTP/1.1\r\nhost : x\r\n\r\n",
    "a_null_in_a_header": b"GET / HTTP/1.1\r\nhost: x\x00y\r\n\r\n",
    "a_negative_length": HEAD.replace(b"content-length: 2", b"content-length: -2") + b"{}",
    "a_huge_length": HEAD.replace(b"content-length: 2", b"content-length: " + b"9" * 30) + b"{}",
    "a_length_in_words": HEAD.replace(b"content-length: 2", b"content-length: two") + b"{}",
    "two_lengths": http(LIST_TABLES, b"content-length: 2", b"content-length: 3"),
    "length_and_chunks": http(LIST_TABLES, b"content-length: 2", b"transfer-encoding: chunked"),
    "a_length_beyond_the_limit": HEAD.replace(b"content-length: 2", b"content-length: 17000000"),
    "chunks_of_no_number": http(LIST_TABLES, b"transfer-encoding: chunked")[:-2] + b"zz\r\n{}\r\n0\r\n\r\n",
    "chunks_of_a_huge_number": http(LIST_TABLES, b"transfer-encoding: chunked")[:-2] + b"f" * 40 + b"\r\n{}",
    "chunks_without_end": http(LIST_TABLES, b"transfer-encoding: chunked")[:-2] + b"2\r\n{}\r\n",
    "a_long_chunk_extension": http(LIST_TABLES, b"transfer-encoding: chunked")[:-2]
    + b"2;"
    + b"x" * 1_000_000
    + b"\r\n{}\r\n0\r\n\r\n",
    "an_unknown_transfer_encoding": http(LIST_TABLES, b"transfer-encoding: gzip"),
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_broken_http(target: Target, raw: bytes) -> None:
    target.statuses(raw)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_chunked_body(target: Target, size: int) -> None:
    head = http(LIST_TABLES, b"transfer-encoding: chunked")[: -len(LIST_TABLES.body)]
    body = json.dumps({"Limit": 5, "unknown": "x" * 2000}).encode()
    assert target.statuses(head + chunked(body, size)) == [200]


def test_byte_by_byte(target: Target) -> None:
    assert target.statuses(*(WHOLE[at : at + 1] for at in range(len(WHOLE)))) == [200]


def test_pipelined_requests_are_answered_in_order(target: Target) -> None:
    broken = HttpRequest("POST", b"/", LIST_TABLES.headers, b'{"Limit":')
    unknown = HttpRequest("PUT", b"/nowhere", {b"host": b"localhost"}, b"")
    sent = [(LIST_TABLES, 200), (broken, 400), (unknown, 404)] * 30
    assert target.statuses(b"".join(http(request) for request, _ in sent)) == [status for _, status in sent]


def test_a_body_over_the_limit(target: Target) -> None:
    body = b"{" + b" " * (REQUEST_BODY_BYTES_MAX + 1_000_000) + b"}"
    assert target.statuses(http(HttpRequest("POST", b"/", LIST_TABLES.headers, body))) == [413]
    head = http(LIST_TABLES, b"transfer-encoding: chunked")[: -len(LIST_TABLES.body)]
    assert target.statuses(head + chunked(body, 1 << 20)) == [413]


def test_missing_body_delays_no_other_request(target: Target) -> None:
    """Two hundred clients stop in the middle of a request, and one does not."""
    idle = [target.connect() for _ in range(200)]
    for number, client in enumerate(idle):
        client.sendall(WHOLE[: number % len(WHOLE)])
    assert target.serves()
    for client in idle:
        client.close()


def test_server_survives_clients_that_disconnect(target: Target) -> None:
    """A reset in the middle of a request, and one right after it."""
    for sent in (WHOLE[:-1], WHOLE, WHOLE * 50):
        for _ in range(20):
            client = target.connect()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(sent)
            client.close()
    assert target.serves()


def test_server_survives_a_client_that_does_not_read(target: Target) -> None:
    """It asks for more than any buffer holds; the server stops reading it, and serves the others."""
    with target.connect() as client:
        client.setblocking(False)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += client.send(WHOLE * 100)
        except BlockingIOError:
            pass
        assert sent < 64 << 20
        assert target.serves()


PRESIGNED = (
    b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261120T000000Z&X-Amz-Expires=900"
    b"&X-Amz-Credential=AKIDEXAMPLE%2F20261120%2Fus-east-1%2Fmonitoring%2Faws4_request"
    b"&X-Amz-SignedHeaders=host&X-Amz-Signature=" + b"0" * 64
)
FORM = HttpRequest(
    "POST",
    PRESIGNED,
    {b"host": b"localhost", b"content-type": b"application/x-www-form-urlencoded"},
    b"Action=ListMetrics&Version=2010-08-01",
)
"""What a page can send without a preflight."""


def _with(request: HttpRequest, **headers: bytes) -> bytes:
    more = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return http(HttpRequest(request.method, request.target, {**request.headers, **more}, request.body))


FOREIGN = {
    "a_host": _with(LIST_TABLES, host=b"evil.example"),
    "a_host_with_a_port": _with(LIST_TABLES, host=b"localhost.evil.example:8000"),
    "an_origin": _with(LIST_TABLES, origin=b"https://evil.example"),
    "a_sandbox": _with(LIST_TABLES, origin=b"null"),
    "a_preflight": http(
        HttpRequest("OPTIONS", b"/", {b"host": b"localhost", b"origin": b"http://a.example"}, b"")
    ),
    "a_form": _with(FORM, origin=b"https://evil.example"),
    "a_form_without_origin": _with(FORM, sec_fetch_site=b"cross-site"),
    "a_form_for_another_host": _with(FORM, host=b"evil.example"),
}


@pytest.mark.parametrize("raw", FOREIGN.values(), ids=FOREIGN)
def test_requests_of_other_sites_are_rejected(target: Target, raw: bytes) -> None:
    assert target.statuses(raw) == [403]


def test_the_form_is_served_to_local_programs(target: Target) -> None:
    assert target.statuses(http(FORM)) == [200]


def _mutated(number: int) -> bytes:
    rng = Random(f"{SEED}/socket/{number}")
    if rng.random() < 0.1:
        return mutate_bytes(rng, rng.choice((http(FORM), *FOREIGN.values())))
    raw = http(hostile(rng), *rng.choice(((), (b"connection: close",), (b"expect: 100-continue",))))
    return mutate_bytes(rng, raw[:200_000]) if rng.random() < 0.7 else raw[:200_000]


def _attack(target: Target, numbers: range) -> None:
    for number in numbers:
        try:
            target.statuses(_mutated(number))
        except AssertionError as error:
            raise AssertionError(f"mutation {number} of seed {SEED}: {error}") from error


def test_mutated_bytes(target: Target) -> None:
    _attack(target, range(QUICK_MUTATIONS))


@pytest.mark.slow
def test_many_mutated_bytes(target: Target) -> None:
    _attack(target, range(QUICK_MUTATIONS, QUICK_MUTATIONS + SLOW_MUTATIONS))


@pytest.mark.slow
def test_server_stops_during_an_unfinished_request(tmp_path: Path) -> None:
    """The fixture checks the end of the fuzzed server; this server waits for a client for a limited time."""
    target = Target(tmp_path)
    client = target.connect()
    client.sendall(WHOLE[:50])
    assert target.serves()
    target.end()
    client.close()
