"""Connections to PostgreSQL, each used by one statement at a time.

`connect` runs in tasks of its own, because a request's coroutine runs in none (server/driver.py), and asyncpg
needs one there. After a failed attempt one task tries again, with growing pauses, while requests wait up to
PATIENCE_S; from then on they fail at once, until it succeeds. So a server that is down costs neither memory
for waiting requests nor an attempt per request.

A connection has a deadline while it is used. A network that lost a packet for ever raises nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from faradisc.errors import StorageError
from faradisc.storage.api import Closed, IOFailed

PATIENCE_S = 2.0
PAUSES_S = (0.05, 1.0)
"""The pause between two attempts to connect: the first and, after doubling, the longest."""
WATCH_S = 1.0


class Connection(Protocol):
    """What the engine needs of a library."""

    caller: bytes | None
    """The row in kv_caller; None before the first commit."""
    request: int
    """The number of the last commit."""
    deadline_s: float
    """Time of the loop at which the use ends."""

    is_closed: Callable[[], bool]
    terminate: Callable[[], None]
    """Closes at once; a statement under way raises."""
    execute: Callable[[str], Coroutine[Any, Any, Any]]
    """Runs a script of several statements."""
    close: Callable[[], Coroutine[Any, Any, None]]

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        """Returns the rows. Raises the library's errors."""
        ...


class Pool:
    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        """connect: raises StorageError; called in a task."""
        self.failure: StorageError | None = None
        """Why there are no connections; None if there are, or if the first failure was a moment ago."""
        self.closed = False
        self._connect = connect
        self._size = size
        self._count = 0
        """Connections, and attempts to connect."""
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._callers = 0
        """Calls that have, or wait for, a connection."""
        self._no_callers = asyncio.Event()
        self._reconnecting: asyncio.Task[None] | None = None
        self._watch: asyncio.TimerHandle | None = None

    async def take(self, seconds: float) -> Connection:
        """Returns a connection to use for `seconds` at most. Waits for one. Raises StorageError."""
        if self.closed:
            raise Closed
        self._callers += 1
        try:
            connection = await self._next()
        except BaseException:
            self._left()
            raise
        loop = asyncio.get_running_loop()
        connection.deadline_s = loop.time() + seconds
        self._used.add(connection)
        if self._watch is None:
            self._watch = loop.call_later(WATCH_S, self._terminate_late)
        return connection

    def give(self, connection: Connection, *, broken: bool = False) -> None:
        """Takes back a connection. broken: it is not used again."""
        self._used.discard(connection)
        if broken or connection.is_closed():
            connection.terminate()
            while self._idle:  # mostly broken too, and the next call must not find that out
                self._idle.pop().terminate()
                self._count -= 1
            self._lost_one()
        else:
            self._offer(connection)
        self._left()

    async def close(self) -> None:
        """Waits for the calls under way, then closes all connections."""
        self.closed = True
        while self._callers:
            self._no_callers.clear()
            await self._no_callers.wait()
        if self._watch is not None:
            self._watch.cancel()
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            await asyncio.wait([self._reconnecting])
        while self._idle:
            await asyncio.ensure_future(self._idle.pop().close())

    async def _next(self) -> Connection:
        while True:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
                self._count -= 1
            if self.failure is not None:
                raise IOFailed(str(self.failure))
            if self._reconnecting is None and self._count < self._size:
                self._count += 1
                try:
                    return await asyncio.ensure_future(self._connect())
                except BaseException as error:
                    self._lost_one()
                    if not isinstance(error, StorageError):
                        raise
                    self._reconnect(error)
            future: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                offered = await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled() and (offered := future.result()) is not None:
                    self._offer(offered)
                raise
            if offered is not None:
                return offered

    def _offer(self, connection: Connection) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(connection)
                return
        self._idle.append(connection)

    def _lost_one(self) -> None:
        """Lets one caller connect in the place of a connection that has ended."""
        self._count -= 1
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _left(self) -> None:
        self._callers -= 1
        if not self._callers:
            self._no_callers.set()

    def _reconnect(self, error: StorageError) -> None:
        if self._reconnecting is None:
            self._reconnecting = asyncio.ensure_future(self._keep_connecting(error))

    async def _keep_connecting(self, error: StorageError) -> None:
        loop = asyncio.get_running_loop()
        impatient_s = loop.time() + PATIENCE_S
        pause_s = PAUSES_S[0]
        while True:
            await asyncio.sleep(pause_s)
            try:
                connection = await self._connect()
            except StorageError as again:
                error = again
                pause_s = min(2 * pause_s, PAUSES_S[1])
            else:
                break
            if loop.time() >= impatient_s:
                self.failure = error
                while self._waiting:
                    future = self._waiting.popleft()
                    if not future.done():
                        future.set_exception(IOFailed(str(error)))
        self.failure = self._reconnecting = None
        self._count += 1
        self._offer(connection)
        for future in list(self._waiting):
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def _terminate_late(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in self._used:
            if connection.deadline_s < loop.time():
                connection.terminate()
        self._watch = loop.call_later(WATCH_S, self._terminate_late) if self._used else None
