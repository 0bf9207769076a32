"""Accepts connections, expires them, and drains them at the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from email.utils import formatdate

from faradisc.clock import Clock
from faradisc.server.connection import HttpConnection
from faradisc.server.load import Load
from faradisc.server.shared import Handler, Shared
from faradisc.server.tls import TlsAcceptor

TICK_S = 1.0
TICKS_PER_SWEEP = 5
BACKLOG = 1024


def http_date(now_ns: int) -> bytes:
    """Returns the value of a Date header: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7)."""
    return formatdate(now_ns // 1_000_000_000, usegmt=True).encode()


class Listener:
    """All connections of one server."""

    def __init__(
        self, handle: Handler, clock: Clock, load: Load | None = None, tls: TlsAcceptor | None = None
    ) -> None:
        """tls: accepts the connections; None: over plain TCP."""
        self.shared = Shared(handle, load=load or Load())
        self._clock = clock
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = asyncio.Event()

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Accepts connections on bound sockets. Must be called in the loop that serves them."""
        loop = asyncio.get_running_loop()
        self.shared.date = http_date(self._clock.now_ns())
        self._timer = loop.call_later(TICK_S, self.tick)
        if self._tls is not None:
            for each in sockets:
                each.listen(BACKLOG)
            self._tls.start(sockets, lambda: HttpConnection(self.shared), self.shared.load)
            return
        for each in sockets:
            server = await loop.create_server(lambda: HttpConnection(self.shared), sock=each, backlog=BACKLOG)
            self._servers.append(server)

    async def drain(self, patience_s: float) -> None:
        """Accepts nothing more, answers the requests under way, closes; after `patience_s` aborts."""
        shared = self.shared
        for server in self._servers:
            server.close()
        if self._tls is not None:
            self._tls.close()
        shared.draining = True
        shared.on_quiet = self._check_quiet
        for connection in list(shared.connections):
            connection.drain()
        self._check_quiet()
        try:
            await asyncio.wait_for(self._quiet.wait(), patience_s)
        except TimeoutError:
            self.cut()
            await asyncio.sleep(0)  # the transports report that they are closed
        if self._timer is not None:
            self._timer.cancel()

    def cut(self) -> None:
        """Closes every connection at once, whatever is under way."""
        for connection in list(self.shared.connections):
            connection.abort()

    def _check_quiet(self) -> None:
        if not self.shared.connections and not self.shared.waiting:
            self._quiet.set()

    def tick(self) -> None:
        shared = self.shared
        shared.ticks += 1
        shared.date = http_date(self._clock.now_ns())
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self.tick)
        if shared.ticks % TICKS_PER_SWEEP == 0:
            for connection in list(shared.connections):
                connection.expire()
