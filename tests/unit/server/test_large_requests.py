"""The order and the bounds of large bodies that wait, the turns of long work, and long answers."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faradisc.limits import MB
from faradisc.protocol.executor import Overloaded
from faradisc.protocol.http import HttpRequest, HttpResponse, Peer
from faradisc.server.connection import WRITE_BUFFER_BYTES
from faradisc.server.large_requests import LargeBodies, Turns

Run = Callable[[Coroutine[Any, Any, None]], None]
Serve = Callable[..., Any]


class Bodies:
    """Large bodies behind one that does not end before `free` is set."""

    def __init__(self, **bounds: int) -> None:
        self.queue = LargeBodies(**bounds)
        self.begun: list[str] = []
        self.rejected: list[str] = []
        self.free = threading.Event()
        self.block: threading.Event | None = None
        """What short bodies that are begun wait for."""
        self._tasks = [
            asyncio.create_task(self._run("first", HttpRequest("POST", b"/", {}, b""), self.free.wait))
        ]

    async def _run(self, name: str, request: HttpRequest, work: Callable[[], Any]) -> None:
        def begin() -> None:
            self.begun.append(name)
            work()

        try:
            await self.queue.run(begin, request)
        except Overloaded:
            self.rejected.append(name)

    def _wait(self) -> None:
        if self.block is not None:
            self.block.wait()

    async def send(self, name: str, size: int, address: str = "") -> Peer:
        request = HttpRequest("POST", b"/", {}, bytes(size), Peer(address))
        self._tasks.append(asyncio.create_task(self._run(name, request, self._wait)))
        await asyncio.sleep(0)
        return request.peer

    async def end(self) -> None:
        self.free.set()
        await asyncio.gather(*self._tasks)


def test_shorter_bodies_go_first(run: Run) -> None:
    async def scenario() -> None:
        bodies = Bodies()
        await asyncio.sleep(0)
        for name, size in (("a", 900), ("b", 500), ("c", 100)):
            await bodies.send(name, size)
        await bodies.end()
        assert bodies.begun == ["first", "c", "b", "a"]

    run(scenario())


def test_no_body_waits_for_more_bytes_of_later_ones_than_its_own(run: Run) -> None:
    async def scenario() -> None:
        bodies = Bodies()
        await asyncio.sleep(0)
        await bodies.send("long", 1000)
        await bodies.send("short 0", 300)
        for number in range(1, 4):  # each comes while the one before is read
            before, bodies.free = bodies.free, threading.Event()
            bodies.block = bodies.free
            before.set()
            while f"short {number - 1}" not in bodies.begun:  # noqa: ASYNC110 -- another thread says so
                await asyncio.sleep(0)
            await bodies.send(f"short {number}", 300)
        bodies.block = None
        await bodies.end()
        assert bodies.begun == ["first", "short 0", "short 1", "short 2", "long", "short 3"]

    run(scenario())


def test_clients_with_many_bodies_wait_for_themselves(run: Run) -> None:
    async def scenario() -> None:
        bodies = Bodies()
        await asyncio.sleep(0)
        for number in range(3):
            await bodies.send(f"many {number}", 300, "10.0.0.1")
        await bodies.send("one", 500, "10.0.0.2")
        await bodies.send("own", 350, "127.0.0.1")
        await bodies.end()
        assert bodies.begun == ["first", "many 0", "own", "one", "many 1", "many 2"]

    run(scenario())


def test_bodies_beyond_the_bounds_are_rejected_at_once_the_last_first(run: Run) -> None:
    async def scenario() -> None:
        bodies = Bodies(waiting_max=2, waiting_bytes_max=1000)
        await asyncio.sleep(0)
        await bodies.send("long", 600)
        await bodies.send("longer", 700)
        await asyncio.sleep(0)
        assert bodies.rejected == ["longer"]
        await bodies.send("short", 100)
        await bodies.send("shorter", 50)
        await asyncio.sleep(0)
        assert bodies.rejected == ["longer", "long"]
        await bodies.end()
        assert bodies.begun == ["first", "shorter", "short"]

    run(scenario())


def test_rejected_bodies_are_released_without_the_garbage_collector(run: Run) -> None:
    async def scenario() -> None:
        def requests() -> int:
            return sum(type(each) is HttpRequest for each in gc.get_objects())

        before = requests()
        bodies = Bodies(waiting_max=1)
        await asyncio.sleep(0)
        for size in (300, 200, 100):
            await bodies.send(str(size), size)
        (await bodies.send("left", 50)).has_left = True
        await bodies.end()
        assert bodies.rejected == ["300", "200", "100", "left"]
        assert requests() == before

    gc.collect()
    gc.disable()
    try:
        run(scenario())
    finally:
        gc.enable()


def test_body_of_a_client_that_has_left_is_not_read(run: Run) -> None:
    async def scenario() -> None:
        bodies = Bodies()
        await asyncio.sleep(0)
        left = await bodies.send("left", 100)
        await bodies.send("stays", 200)
        left.has_left = True
        await bodies.end()
        assert (bodies.begun, bodies.rejected) == (["first", "stays"], ["left"])

    run(scenario())


@pytest.mark.parametrize("ends", ["closed", "half-closed", "reset"])
def test_connection_that_ends_says_so_to_its_requests(serve: Serve, run: Run, latch: Any, ends: str) -> None:
    async def scenario() -> None:
        requests: list[HttpRequest] = []

        async def handle(request: HttpRequest) -> HttpResponse:
            requests.append(request)
            response: HttpResponse = await latch(request)
            return response

        async with serve(handle) as server, server.client() as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            await latch.arrival()
            assert not requests[0].peer.has_left
            match ends:
                case "closed":
                    client.writer.close()
                case "half-closed":
                    client.writer.write_eof()
                case "reset":
                    client.reset()
            while not requests[0].peer.has_left:  # noqa: ASYNC110 -- what it waits for has no event
                await asyncio.sleep(0)
            latch.let_go()

    run(scenario())


def test_one_long_request_goes_on_in_each_turn_of_the_loop(run: Run) -> None:
    async def scenario() -> None:
        turns, steps = Turns(), []
        turn = 0

        async def work(name: str) -> None:
            for _ in range(3):
                await turns.take()
                steps.append((turn, name))

        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        while not all(task.done() for task in tasks):
            turn += 1
            await asyncio.sleep(0)
        assert [name for _, name in steps] == list("abc" * 3)
        assert len({at for at, _ in steps}) == len(steps)

    run(scenario())


def test_long_answer_leaves_in_pieces_and_in_order(serve: Serve, run: Run) -> None:
    long = b"%016d" * (5 * MB // 16) % tuple(range(5 * MB // 16))

    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, long if request.method == "POST" else b"short", None, None, None)

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            await client.send(post + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + post)
            assert [(await client.answer()).body for _ in range(3)] == [long, b"short", long]
            await client.send(
                b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
                + post.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            )
            assert (await client.answer(to_head=True)).status == 200
            assert (await client.answer()).body == long
            assert await client.at_end()
            assert server.listener.shared.load.held_bytes == 0

    run(scenario())


def test_answer_that_is_not_read_is_held_once(serve: Serve, run: Run) -> None:
    """The rest of it waits in one piece, which counts against the bytes of all connections."""
    long = bytes(8 * MB)

    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, long, None, None, None)

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            client.writer.transport.pause_reading()
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            shared = server.listener.shared
            while not shared.load.held_bytes:  # noqa: ASYNC110 -- what it waits for has no event
                await asyncio.sleep(0)
            (connection,) = shared.connections
            assert connection._transport.get_write_buffer_size() <= 2 * WRITE_BUFFER_BYTES
            assert shared.load.held_bytes <= len(long) + 1024
            client.writer.transport.resume_reading()
            assert len((await client.answer()).body) == len(long)

    run(scenario())
