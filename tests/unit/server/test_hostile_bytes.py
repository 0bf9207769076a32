"""Mutated requests in random pieces: none raises, is logged or is answered with a 5xx.

Requests are mutated, because random bytes are rejected at the first character. A seed repeats a run.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.connection import HttpConnection
from faradisc.server.shared import Shared

SEEDS = 1500

REQUESTS = (
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
    b"POST /?a=b HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    b"POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding:chunked\r\n\r\n3\r\nabc\r\n1;y\r\nd\r\n0\r\nT: v\r\n\r\n",
    b"GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nz",
    b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
)
TOKENS = (
    b"\r\n",
    b"\n",
    b"\0",
    b" ",
    b":",
    b"99999999999",
    b"chunked",
    b"Upgrade: x\r\n",
    b"HTTP/1.1",
    b"\xff",
)
STATUS = re.compile(rb"HTTP/1\.1 (\d+) ")


class Transport:
    """Accepts everything, and records what is written."""

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None

    def __init__(self) -> None:
        self.written = b""
        self.open = True

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return not self.open

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.open = False

    abort = close

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write_eof(self) -> None:
        pass

    pause_reading = resume_reading = write_eof


async def handle(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.body, bytes)
    return HttpResponse(200, b"", None, None, None)


def mutated(chance: random.Random) -> bytes:
    data = bytearray(b"".join(chance.choices(REQUESTS, k=chance.randint(1, 4))))
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randint(1, 8)]
            case 2:
                data[at:at] = chance.choice(TOKENS)
            case 3:
                data[at:at] = data[max(0, at - 20) : at]
    return bytes(data)


@pytest.mark.parametrize("seed", range(0, SEEDS, 100))
def test_hostile_bytes_cause_no_exception(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    for each in range(seed, seed + 100):
        chance = random.Random(each)
        connection = HttpConnection(Shared(handle))
        transport: Any = Transport()
        connection.connection_made(transport)
        rest = mutated(chance)
        while rest and transport.open:
            size = chance.choice((1, 3, 20, 1000))
            connection.data_received(rest[:size])
            rest = rest[size:]
        if transport.open:
            connection.eof_received()
        connection.connection_lost(None)
        for status in STATUS.findall(transport.written):
            assert int(status) in (100, 200, 400, 413, 431), f"seed {each}"
    assert caplog.records == []
