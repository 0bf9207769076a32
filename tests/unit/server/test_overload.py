"""Overload: the server rejects the excess with 503, serves the rest, and stays within its limits.

The limits are small here; those of a real server are in server/load.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import boto3
import pytest
from botocore.config import Config

from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.load import COUNTED_BYTES_MIN, Load, Replaceable
from faradisc.server.shared import Handler

Run = Callable[[Coroutine[Any, Any, None]], None]
Serve = Callable[..., Any]


def post(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def begun(size: int, sent: int) -> bytes:
    """Returns the beginning of a request whose body never ends."""
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (size, b"x" * sent)


@asynccontextmanager
async def bounded(serve: Serve, handle: Handler, **bounds: int) -> AsyncIterator[Any]:
    async with serve(handle) as server:
        server.listener.shared.load = Load(**bounds)
        yield server


async def until(condition: Callable[[], bool]) -> None:
    """Waits until a condition holds; the scenario has a timeout."""
    while not condition():  # noqa: ASYNC110 -- what it waits for has no event
        await asyncio.sleep(0)


def test_connections_beyond_the_limit_get_503(serve: Serve, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=3) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            inside = [await opened.enter_async_context(server.client()) for _ in range(3)]
            await until(lambda: len(shared.connections) == 3)
            outside = [await opened.enter_async_context(server.client()) for _ in range(2)]
            for client in outside:
                assert (await client.answer()).status == 503
                assert await client.at_end()
            for client in inside:
                assert (await client.ask(post(b"hello"))).body == b"5:hello"
            for client in [*outside, inside.pop()]:
                client.writer.close()
            await until(lambda: len(shared.connections) == 2)
            async with server.client() as later:
                assert (await later.ask(post(b"again"))).body == b"5:again"
            assert shared.load.shed == 2

    run(scenario())


def test_longest_idle_connection_is_closed_for_a_new_one(serve: Serve, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=3) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            clients = []
            for _ in range(3):
                client = await opened.enter_async_context(server.client())
                assert (await client.ask(post(b"hello"))).body == b"5:hello"
                clients.append(client)
                shared.ticks += 1
            assert (await clients[0].ask(post(b"again"))).body == b"5:again"
            shared.ticks += 1
            new = await opened.enter_async_context(server.client())
            assert (await new.ask(post(b"new"))).body == b"3:new"
            assert await clients[1].at_end()
            for client in (clients[0], clients[2], new):
                assert (await client.ask(post(b"hello"))).body == b"5:hello"
            assert shared.load.excess == 0

    run(scenario())


def test_flood_of_idle_connections_does_not_lock_others_out(serve: Serve, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=10) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            for _ in range(40):
                await opened.enter_async_context(server.client())
                await until(lambda: bool(shared.connections))
                shared.ticks += 1
            async with server.client() as client:
                assert (await client.ask(post(b"hello"))).body == b"5:hello"
            assert len(shared.connections) <= 11

    run(scenario())


@pytest.mark.parametrize(
    ("address", "expected"), [("192.0.2.1", True), ("127.0.0.1", False), ("::1", False), ("", False)]
)
def test_one_address_beyond_this_machine_has_a_share(address: str, expected: bool) -> None:
    load = Load(connections_max=10)
    assert not load.is_share_exceeded(address, 5)
    assert load.is_share_exceeded(address, 6) is expected


class IdleConnection:
    """A connection as Replaceable sees it."""

    def __init__(self, address: str, idle_since: int | None, connections: list[IdleConnection]) -> None:
        self.address = address
        self.rank = None if idle_since is None else (0, idle_since)
        self._connections = connections
        connections.append(self)

    def close_for_another(self) -> None:
        self._connections.remove(self)


def test_longest_idle_connection_of_an_address_is_found() -> None:
    connections: list[IdleConnection] = []
    for number, address in enumerate(["a", "b", "b", "a", "b"]):
        IdleConnection(address, 10 - number, connections)
    IdleConnection("b", None, connections)
    idle = Replaceable()
    left = [idle.close_one(connections, "b") for _ in range(4)]
    assert left == [True, True, True, False]
    assert [each.address for each in connections] == ["a", "a", "b"]
    assert idle.close_one(connections, None)
    assert [each.rank for each in connections] == [(0, 10), None]


def test_connections_far_beyond_the_limit_are_dropped(serve: Serve, run: Run, echo: Any) -> None:
    """A rejection lingers until its client has read it; their number is limited too."""

    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=2) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            for _ in range(20):
                await opened.enter_async_context(server.client())
            await until(lambda: shared.load.shed == 18)
            await until(lambda: len(shared.connections) <= 4)

    run(scenario())


def test_requests_beyond_the_limit_get_503_while_the_store_waits(serve: Serve, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with bounded(serve, latch, waiting_max=2) as server, AsyncExitStack() as opened:
            clients = [await opened.enter_async_context(server.client()) for _ in range(20)]
            for client in clients[:2]:
                await client.send(post(b"kept"))
                await latch.arrival()
            for client in clients[2:]:
                answer = await client.ask(post(b"shed"))
                assert (answer.status, answer.headers[b"connection"]) == (503, b"keep-alive")
            for client in clients[:2]:
                latch.let_go()
                assert (await client.answer()).body == b"kept"
            await clients[5].send(post(b"later"))
            await latch.arrival()
            latch.let_go()
            assert (await clients[5].answer()).body == b"later"
            assert latch.finished == [b"kept", b"kept", b"later"]

    run(scenario())


def test_health_pages_are_answered_under_overload(serve: Serve, run: Run) -> None:
    never: list[asyncio.Future[None]] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        if request.method == "POST":
            never.append(asyncio.get_running_loop().create_future())
            await never[-1]
        return HttpResponse(200, b"well", None, None, None)

    async def scenario() -> None:
        async with (
            bounded(serve, handle, waiting_max=1) as server,
            server.client() as one,
            server.client() as two,
        ):
            await one.send(post(b""))
            await until(lambda: len(never) == 1)
            assert (await two.ask(post(b""))).status == 503
            assert (await two.ask(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")).body == b"well"

    run(scenario())


def test_unfinished_bodies_stay_within_the_limit(serve: Serve, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        bound = 1_000_000
        async with bounded(serve, echo, held_bytes_max=bound) as server, AsyncExitStack() as opened:
            load = server.listener.shared.load
            slow = [await opened.enter_async_context(server.client()) for _ in range(20)]
            refused = 0
            for client in slow:
                shed = load.shed
                before = load.held_bytes
                await client.send(begun(10_000_000, 150_000))
                await until(lambda shed=shed, before=before: load.shed > shed or load.held_bytes > before)  # type: ignore[misc]
                refused += load.shed - shed
            assert refused >= 10
            async with server.client() as client:
                assert (await client.ask(post(b"small"))).body == b"5:small"
            for client in slow:
                client.reset()
            await until(lambda: not server.listener.shared.connections)
            assert load.held_bytes == 0
            async with server.client() as client:
                large = b"x" * 400_000
                assert (await client.ask(post(large))).body == b"400000:" + large
            await until(lambda: load.held_bytes == 0)

    run(scenario())


def test_unread_answers_stay_within_the_limit(serve: Serve, run: Run) -> None:
    """A socket's buffers hold some megabytes; the server holds the rest."""
    size = 12_000_000

    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b"x" * (size if request.body == b"much" else 2), None, None, None)

    async def scenario() -> None:
        async with bounded(serve, handle, held_bytes_max=3 * size) as server, AsyncExitStack() as opened:
            load = server.listener.shared.load
            for number in range(12):
                client = await opened.enter_async_context(server.client())
                client.writer.transport.pause_reading()
                held, shed = load.held_bytes, load.shed
                await client.send(post(b"much"))
                await until(lambda held=held, shed=shed: load.held_bytes > held or load.shed > shed)  # type: ignore[misc]
                await until(lambda: load.held_bytes <= load.held_bytes_max)
                async with server.client() as other:
                    assert (await other.ask(post(b"little"))).body == b"xx", number
            assert load.shed > 0
            assert load.held_bytes > 0

    run(scenario())


@pytest.mark.parametrize(
    "sent", [b"POST / HT", begun(100_000, 10), begun(10_000_000, 2 * COUNTED_BYTES_MIN)], ids=repr
)
def test_drain_does_not_wait_for_unfinished_requests(serve: Serve, run: Run, latch: Any, sent: bytes) -> None:
    """They were not begun, so 503 loses nothing; running requests are answered."""

    async def scenario() -> None:
        async with serve(latch) as server, server.client() as half, server.client() as whole:
            await half.send(sent)
            await until(lambda: any(each.state != "idle" for each in server.listener.shared.connections))
            await whole.send(post(b"begun"))
            await latch.arrival()
            ending = asyncio.create_task(server.listener.drain(1e9))
            assert (await half.answer()).status == 503
            latch.let_go()
            assert (await whole.answer()).body == b"begun"
            await ending

    run(scenario())


def test_ten_times_more_clients_than_the_limit_all_finish_with_retries(
    serve: Serve, run: Run, echo: Any
) -> None:
    clients, requests = 40, 5

    async def work(server: Any, number: int) -> None:
        for request in range(requests):
            body = b"%d %d" % (number, request)
            answered = b""
            while not answered:  # 503, or cut off where even that is too much: both mean try again
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    async with server.client() as client:
                        answered = (await client.ask(post(body))).body
            assert answered.endswith(body)

    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=4) as server:
            await asyncio.gather(*(work(server, number) for number in range(clients)))
            assert server.listener.shared.load.shed > 0
            assert len({request.body for request in echo.requests}) == clients * requests

    run(scenario())


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_sdk_retries_rejected_requests(
    serve: Serve, run: Run, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is full until the SDK's pause before its next attempt; the program sees no error."""
    pauses: list[float] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b'{"TableNames":["seen"]}', b"application/x-amz-json-1.0", None, None)

    def tables(port: int) -> list[str]:
        client = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=Config(retries={"mode": mode, "total_max_attempts": 50}),
        )
        names: list[str] = client.list_tables()["TableNames"]
        client.close()
        return names

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with bounded(serve, handle, connections_max=1) as server, server.client() as occupant:
            await until(lambda: len(server.listener.shared.connections) == 1)

            def pause(seconds: float) -> None:
                pauses.append(seconds)
                loop.call_soon_threadsafe(occupant.reset)

            monkeypatch.setattr(time, "sleep", pause)
            assert await asyncio.to_thread(tables, server.port) == ["seen"]
        assert pauses

    run(scenario())


HALF_HEAD = b"POST / HTTP/1.1\r\nX: "


def test_oldest_unfinished_head_is_closed_for_a_new_connection(serve: Serve, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with bounded(serve, echo, connections_max=3) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            clients = []
            for _ in range(12):  # within one tick
                client = await opened.enter_async_context(server.client())
                await client.send(HALF_HEAD)
                clients.append(client)
                await until(lambda: list(shared.connections)[-1].state == "head")
            async with server.client() as innocent:
                assert (await innocent.ask(post(b"hello"))).body == b"5:hello"
            assert [await client.at_end() for client in clients[:10]] == [True] * 10
            assert (shared.load.shed, shared.load.excess) == (10, 0)

    run(scenario())


def test_new_clients_are_served_beside_any_mixture_of_stalled_ones(serve: Serve, run: Run) -> None:
    """Five kinds of connections that do nothing fill all places twice over; heads go at once, the others when
    they have not moved for some seconds."""

    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, bytes(1 << 23) if request.method == "GET" else b"here", None, None, None)

    beginnings = [
        b"",
        HALF_HEAD,
        begun(1000, 10),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",  # reads nothing of its long answer
        b"nonsense\r\n\r\n",
    ]

    async def scenario() -> None:
        async with bounded(serve, handle, connections_max=20) as server, AsyncExitStack() as opened:
            shared = server.listener.shared
            for number in range(60):
                client = await opened.enter_async_context(server.client())
                client.writer.transport.pause_reading()
                await client.send(beginnings[number % len(beginnings)])
                for _ in range(20):
                    await asyncio.sleep(0)
                if number % 5 == 4:
                    shared.ticks += 1
            shared.ticks += 6
            for _ in range(30):
                async with server.client() as innocent:
                    assert (await innocent.ask(post(b"hello"))).body == b"here"
            assert len(shared.connections) - shared.load.excess <= 20

    run(scenario())


@pytest.mark.parametrize(
    ("connections", "expected"), [(0, 60), (50, 60), (75, 30), (95, 6), (100, 5), (150, 5)]
)
def test_time_of_a_head_shrinks_as_connections_run_short(connections: int, expected: int) -> None:
    assert Load(connections_max=100).shortened(60, connections) == expected


def test_growing_bodies_have_a_bound_below_that_of_answers() -> None:
    load = Load(held_bytes_max=100, body_bytes_max=50)
    assert load.hold(0, 50, is_body=True)
    assert not load.hold(0, 1, is_body=True)
    assert load.hold(0, 49)
    assert not load.hold(0, 1)
