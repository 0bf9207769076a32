"""Reads large request bodies on one other thread, so that the event loop serves other requests meanwhile.

One thread, because the interpreter runs one at a time anyway: several large bodies then wait for each other
and not for the event loop, and only one of them is in memory decompressed. The interpreter changes threads
every `SWITCH_INTERVAL_S` (lifecycle.py), so what runs here must not stay in one call of C code for long.

The queue is bounded and fair by client, an address beyond this machine or a connection from it: a body's
place is where its client's body before it ends, plus its own bytes. So the shortest goes first, a client with
many bodies waits for itself, and none waits for more bytes of later ones than it has itself. Beyond the bound
the body that would be last gets 503 at once. Of a client that has closed its connection, or its own direction
of it, nothing is read.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from faradisc.limits import MB
from faradisc.protocol.executor import Overloaded
from faradisc.protocol.http import HttpRequest, Peer
from faradisc.records import dataclass
from faradisc.server.load import is_own

T = TypeVar("T")

WAITING_MAX = 64
WAITING_BYTES_MAX = 64 * MB


@dataclass(slots=True, eq=False)
class _Waiting:
    finish: int
    """Bytes that are read when this body is, counted from the start: its place in the queue."""
    size: int
    peer: Peer
    turn: asyncio.Future[bool]
    """Whether the body is read. No exception: a future would keep it, with its traceback, and with that the
    body, until the garbage collector comes."""


class LargeBodies:
    """Runs functions on a thread of its own, one after the other. The thread starts with the first one."""

    def __init__(self, waiting_max: int = WAITING_MAX, waiting_bytes_max: int = WAITING_BYTES_MAX) -> None:
        self._pool = ThreadPoolExecutor(1, "faradisc-large")
        self._waiting_max = waiting_max
        self._waiting_bytes_max = waiting_bytes_max
        self._waiting: list[_Waiting] = []
        self._is_busy = False
        self._read = 0
        """The place of the body that was begun last."""
        self._ends: dict[str, int] = {}
        """Where the last body of each address beyond this machine ends, if that is to come."""

    async def run(self, work: Callable[[], T], request: HttpRequest, /) -> T:
        """Returns what `work` returns. Raises what it raises; Overloaded if it was not begun."""
        if self._is_busy:
            await self._wait(len(request.body), request.peer)
        self._is_busy = True
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _uncollected, work)
        finally:
            self._begin_next()

    async def _wait(self, size: int, peer: Peer) -> None:
        """Waits until it is this body's turn. Raises Overloaded."""
        begins = self._read
        if not is_own(peer.address):
            self._ends = {address: end for address, end in self._ends.items() if end > begins}
            begins = self._ends.get(peer.address, begins)
            self._ends[peer.address] = begins + size
        own = _Waiting(begins + size, size, peer, asyncio.get_running_loop().create_future())
        self._waiting.append(own)
        self._waiting.sort(key=lambda each: each.finish)
        while (
            len(self._waiting) > self._waiting_max
            or sum(each.size for each in self._waiting) > self._waiting_bytes_max
        ):
            self._waiting.pop().turn.set_result(False)
        if not await own.turn:
            raise Overloaded

    def _begin_next(self) -> None:
        while self._waiting:
            following = self._waiting.pop(0)
            if following.peer.has_left:
                following.turn.set_result(False)
                continue
            self._read = following.finish
            following.turn.set_result(True)
            return
        self._is_busy = False


def _uncollected(work: Callable[[], T]) -> T:
    """Runs `work` without cyclic garbage collection, which stops all threads for as long as it takes."""
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


class Turns:
    """Divides the event loop between requests with long work: each turn of the loop, one of them goes on.

    So a short request waits for one step of one of them, however many there are.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Waits until it is this request's turn; returns in a later turn of the loop."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            loop.call_soon(self._grant)
        await turn

    def _grant(self) -> None:
        self._waiting[0].set_result(None)
        self._waiting.popleft()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._grant)
