"""A listener with any handler, and a client that sends raw bytes."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvloop

from faradisc.clock import ManualClock
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.listener import Listener
from faradisc.server.shared import Handler
from faradisc.server.tls import TlsAcceptor

PATIENCE_S = 60
"""A test that hangs fails after this; no test waits for it otherwise."""


@dataclass
class Answer:
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Client:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, *, to_head: bool = False) -> Answer:
        """Reads one answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].split(b"\r\n")
        version, status, _ = first.split(b" ", 2)
        assert version == b"HTTP/1.1"
        headers = {name.lower(): value for name, value in (line.split(b": ", 1) for line in lines)}
        size = 0 if to_head or status == b"100" else int(headers[b"content-length"])
        return Answer(int(status), headers, await self.reader.readexactly(size))

    async def ask(self, data: bytes) -> Answer:
        await self.send(data)
        return await self.answer()

    def reset(self) -> None:
        """Resets the connection, as a killed process does."""
        at_once = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        self.writer.transport.abort()

    async def at_end(self) -> bool:
        """Whether the server has closed its direction and sends nothing more."""
        return await self.reader.read() == b""


class Running:
    def __init__(self, listener: Listener, port: int) -> None:
        self.listener = listener
        self.port = port

    @asynccontextmanager
    async def client(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26, ssl=tls)
        try:
            yield Client(reader, writer)
        finally:
            writer.close()


@asynccontextmanager
async def serving(handle: Handler, tls: TlsAcceptor | None = None) -> AsyncIterator[Running]:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.setblocking(False)
    listener = Listener(handle, ManualClock(), tls=tls)
    await listener.start([bound])
    try:
        yield Running(listener, bound.getsockname()[1])
    finally:
        listener.cut()
        await listener.drain(0.0)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AbstractAsyncContextManager[Running]]:
    """Ticks pass when a test says so: however slow the machine is, nothing becomes old by itself."""
    monkeypatch.setattr("faradisc.server.listener.TICK_S", 1_000 * PATIENCE_S)
    return serving


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Runs a scenario to its end on either event loop."""
    factory = asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop

    async def bounded(scenario: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scenario

    def runner(scenario: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as loop:
            loop.run(bounded(scenario))

    return runner


class Echo:
    """Answers with the size and content of the body, and records requests."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return HttpResponse(200, b"%d:" % len(request.body) + request.body, b"text/plain", b"id", 7)


@pytest.fixture
def echo() -> Echo:
    return Echo()


class Latch:
    """A handler that waits until the test releases it, as a write waits for its sync."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.arrived = asyncio.Event()
        self.finished: list[bytes] = []

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        future = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        self.arrived.set()
        await future
        self.finished.append(request.body)
        return HttpResponse(200, request.body, None, None, None)

    async def arrival(self) -> None:
        await self.arrived.wait()
        self.arrived.clear()

    def let_go(self) -> None:
        self.waiting.pop(0).set_result(None)


@pytest.fixture
def latch() -> Latch:
    return Latch()
