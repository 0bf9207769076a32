"""Timeouts of connections. Time is a number of ticks here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server import connection as limits
from faradisc.server.connection import HttpConnection
from faradisc.server.shared import Shared

REQUEST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


class Transport:
    """Records the calls of a connection."""

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None

    def __init__(self) -> None:
        self.written = b""
        self.unsent = 0
        self.done: list[str] = []

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return "close" in self.done

    def can_write_eof(self) -> bool:
        return True

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name not in ("close", "abort", "write_eof", "pause_reading", "resume_reading"):
            raise AttributeError(name)
        return lambda: self.done.append(name)

    @property
    def status(self) -> int:
        return int(self.written.split(b" ")[1]) if self.written else 0


class Scene:
    def __init__(self) -> None:
        self.future: asyncio.Future[None] | None = None
        self.shared = Shared(self.handle)
        self.transport = Transport()
        self.connection = HttpConnection(self.shared)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    async def handle(self, request: HttpRequest) -> HttpResponse:
        if self.future is not None:
            await self.future
        return HttpResponse(200, b"", None, None, None)

    def after(self, ticks: int) -> Transport:
        self.shared.ticks += ticks
        self.connection.expire()
        return self.transport


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_idle_connection_is_closed_without_an_answer(scene: Scene) -> None:
    assert scene.after(limits.IDLE_TICKS_MAX).done == []
    assert scene.after(1).done == ["close"]
    assert scene.transport.written == b""


def test_request_restarts_the_idle_timeout(scene: Scene) -> None:
    scene.after(limits.IDLE_TICKS_MAX)
    scene.connection.data_received(REQUEST)
    assert scene.after(limits.IDLE_TICKS_MAX).done == []
    assert scene.after(1).done == ["close"]


def test_slow_head_times_out(scene: Scene) -> None:
    for byte in REQUEST[:20]:
        scene.connection.data_received(bytes([byte]))
        scene.after(3)
    assert scene.transport.written == b""
    scene.after(1)
    assert scene.transport.status == 408
    assert b"Connection: close" in scene.transport.written
    assert scene.transport.done == ["write_eof"]


def test_stalled_body_times_out(scene: Scene) -> None:
    scene.connection.data_received(REQUEST[:-2])
    scene.after(limits.STALL_TICKS_MAX)
    scene.connection.data_received(b"d")
    assert scene.after(limits.STALL_TICKS_MAX).status == 0
    assert scene.after(1).status == 408


def test_slow_body_times_out(scene: Scene) -> None:
    scene.connection.data_received(REQUEST[:-4].replace(b": 4", b": 99999"))
    steps = limits.BODY_TICKS_MAX // limits.STALL_TICKS_MAX
    for _ in range(steps):
        assert scene.after(limits.STALL_TICKS_MAX).status == 0
        scene.connection.data_received(b"x")
    assert scene.after(1).status == 408


def test_client_that_waits_for_its_answer_does_not_time_out(scene: Scene) -> None:
    async def scenario() -> None:
        scene.future = asyncio.get_running_loop().create_future()
        scene.connection.data_received(REQUEST + REQUEST[:10])
        assert scene.after(100_000).done == []
        scene.future.set_result(None)
        await asyncio.sleep(0)
        assert scene.transport.status == 200

    asyncio.run(scenario())


def test_client_that_reads_nothing_is_disconnected(scene: Scene) -> None:
    scene.transport.unsent = 1000
    scene.connection.pause_writing()
    assert scene.after(limits.STALL_TICKS_MAX).done == []
    scene.transport.unsent = 999  # it read something
    assert scene.after(limits.STALL_TICKS_MAX).done == []
    assert scene.after(limits.STALL_TICKS_MAX).done == []
    assert scene.after(1).done == ["abort"]


def test_closing_connection_with_unsent_data_is_aborted(scene: Scene) -> None:
    scene.transport.unsent = 1000
    scene.connection.drain()
    assert scene.transport.done == ["close"]
    scene.after(1)
    assert scene.after(limits.STALL_TICKS_MAX).done == ["close"]
    assert scene.after(1).done == ["close", "abort"]


def test_connection_lingers_after_a_rejection(scene: Scene) -> None:
    scene.connection.data_received(b"nonsense\r\n\r\n")
    assert scene.transport.status == 400
    scene.connection.data_received(b"x" * 1000)
    assert scene.after(limits.LINGER_TICKS_MAX).done == ["write_eof"]
    assert scene.after(1).done == ["write_eof", "abort"]


def test_lingering_connection_is_aborted_after_too_many_bytes(scene: Scene) -> None:
    scene.connection.data_received(b"nonsense\r\n\r\n")
    megabyte = bytes(1 << 20)
    for _ in range(limits.LINGER_BYTES_MAX >> 20):
        scene.connection.data_received(megabyte)
    assert scene.transport.done == ["write_eof"]
    scene.connection.data_received(b"x")
    assert scene.transport.done == ["write_eof", "abort"]


def test_lost_connection_does_not_expire(scene: Scene) -> None:
    scene.connection.connection_lost(None)
    assert scene.after(100_000).done == []
    assert not scene.shared.connections
