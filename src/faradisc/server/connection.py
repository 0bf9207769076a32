"""One client's connection: HTTP/1.0 and 1.1, answers in the order of the requests.

    bytes -> request_reader.py -> queue of whole requests -> one at a time: handler -> bytes

Invariants.
1. One request of a connection runs at a time, and its answer is written before the next one starts. So
   pipelined answers are in order, and a client reads its own writes.
2. While a whole request waits in the queue, reading is paused. A connection then holds at most the request
   that runs, the parsed requests of one chunk, one answer and the transport's buffer; while none waits, at
   most the running request and the one being read (16 MiB each). load.py limits all connections together.
3. A rejected request is answered after the whole requests before it, because the parser's callbacks run no
   request.

Rejections (bad HTTP, too large, too slow) have an empty body, as the service's own HTTP 413 has
(capacity.md 2.0). A half-close follows, and for a while the client's further bytes are read and discarded:
a close with unread bytes would reset the connection, and the client would see the reset instead of the
answer.

Times are counted in ticks of about a second, without clock or timer. TLS is the transport's (tls.py).
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import cast

from faradisc.limits import KB, MB
from faradisc.protocol.http import BUSY, CLOSED, HttpResponse, Peer
from faradisc.protocol.response import encode
from faradisc.server.driver import PENDING, start
from faradisc.server.load import COUNTED_BYTES_MIN, Rank
from faradisc.server.request_reader import (
    BODY,
    HEAD,
    IDLE,
    LAST,
    REJECTED,
    UNFINISHED,
    RequestReader,
    State,
)
from faradisc.server.shared import (
    BODY_TICKS_MAX,
    HEAD_TICKS_MAX,
    IDLE_TICKS_MAX,
    SHORT_STALL_TICKS_MAX,
    STALL_TICKS_MAX,
    Shared,
)

_log = logging.getLogger(__name__)

LINGER_TICKS_MAX = 10
LINGER_BYTES_MAX = 64 * MB
"""How long and how much is read and discarded after a rejection."""

WRITE_BUFFER_BYTES = 256 * KB
"""Above this much unsent, the connection runs no further request. A longer body is given to the transport in
pieces of this size, each in a turn of the loop and when the one before has left."""
REQUESTS_PER_TURN = 32
"""Pipelined requests answered before other connections get their turn."""

_FAILED = HttpResponse(500, b"", None, None, None)


class HttpConnection(asyncio.Protocol):
    __slots__ = (
        "_discarded",
        "_held",
        "_is_excess",
        "_is_reading",
        "_lingers",
        "_method",
        "_queue",
        "_reader",
        "_rest",
        "_running",
        "_shared",
        "_since",
        "_transport",
        "_unsent",
        "_writable",
        "address",
    )

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._transport: asyncio.Transport | None = None
        """None before the connection is made and after it is lost."""
        self._reader = RequestReader()
        self._queue = self._reader.requests
        self._running = False
        """A request waits for the store, or the queue waits for its next turn."""
        self._method = ""
        """The method of the request that waits for the store."""
        self._writable = True
        """Less than WRITE_BUFFER_BYTES are unsent."""
        self._rest: memoryview | None = None
        """Of a long answer, what the transport does not have yet."""
        self._is_reading = True
        """The transport is not paused."""
        self._lingers = False
        """The rejection is written; further bytes are discarded."""
        self._discarded = 0
        """Bytes discarded after the rejection."""
        self._since = shared.ticks
        """The tick of the last progress: a byte of a body, an answer, a part of the write buffer sent."""
        self._unsent = 0
        """Bytes that had not left at the last call of `expire`."""
        self._held = 0
        """Bytes of this connection that `Load.held_bytes` counts."""
        self._is_excess = False
        """The connection is one too many (load.py)."""
        self.address = ""
        """The client's, without its port."""

    @property
    def state(self) -> State:
        """What of the next request has arrived."""
        return self._reader.state

    # --- The transport's callbacks ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        shared = self._shared
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self._reader.peer = Peer(self.address, transport.get_extra_info("sslcontext") is not None)
        shared.connections[self] = None
        shared.by_address[self.address] += 1
        load = shared.load
        too_many = len(shared.connections) - load.excess > load.connections_max
        too_many_of_one = load.is_share_exceeded(self.address, shared.by_address[self.address])
        if (too_many or too_many_of_one) and not shared.replaceable.close_one(
            shared.connections, self.address if too_many_of_one else None
        ):
            load.shed += 1
            load.excess += 1
            self._is_excess = True
            self._reader.reject(HTTPStatus.SERVICE_UNAVAILABLE)
            if load.excess > load.connections_max:
                self.abort()  # each rejection lingers until its client has read it: these are too many
            else:
                self._end_with_rejection()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drops queued requests; a running one goes on, and its answer is dropped."""
        self._transport = self._rest = None
        self._reader.peer.has_left = True
        self._reader.close()
        self._queue.clear()
        self._hold(0)
        shared = self._shared
        shared.connections.pop(self, None)
        shared.by_address[self.address] -= 1
        if not shared.by_address[self.address]:
            del shared.by_address[self.address]
            shared.replaceable.forget(self.address)
        shared.load.excess -= self._is_excess
        self._shared.on_quiet()

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        if reader.state is LAST or reader.state is REJECTED:
            self._discard(len(data))
            return
        reader.feed(data, self._shared.ticks)
        if reader.state is BODY:
            self._check_body()
        if not self._running:
            self._run_queue()
        elif self._queue:
            self._pause_reading()

    def eof_received(self) -> bool:
        """The client sends nothing more. Returns True to keep the other direction open for answers, which
        TLS does not allow."""
        if self._lingers:
            return False
        self._reader.feed_eof()
        self._reader.peer.has_left = True
        if self._running or self._queue or self._rest is not None:
            return not self._reader.peer.is_tls
        if self._reader.state is REJECTED:
            self._run_queue()
        return False

    def pause_writing(self) -> None:
        self._writable = False
        self._unsent = 0
        self._since = self._shared.ticks
        if not self._hold(self._unsent_bytes()):
            self._shared.load.shed += 1
            self.abort()

    def resume_writing(self) -> None:
        self._writable = True
        self._hold(self._unsent_bytes() if self._rest is not None else 0)
        self._write_rest()

    # --- Reading ---------------------------------------------------------------------------------

    def _check_body(self) -> None:
        """Handles an unfinished body: counts its bytes, and sends `100 Continue` if it is awaited."""
        reader = self._reader
        self._since = self._shared.ticks
        if reader.body_bytes > COUNTED_BYTES_MIN and not self._hold(reader.body_bytes, is_body=True):
            self._shared.load.shed += 1
            reader.reject(HTTPStatus.SERVICE_UNAVAILABLE)
        elif reader.awaits_continue and not self._running and not self._queue:
            self._continue()

    def _continue(self) -> None:
        self._reader.awaits_continue = False
        if self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _discard(self, size: int) -> None:
        """Handles bytes after the last request."""
        if self._lingers:
            self._discarded += size
            if self._discarded > LINGER_BYTES_MAX:
                self.abort()
        elif self._reader.state is LAST:
            self._pause_reading()

    def _hold(self, size: int, *, is_body: bool = False) -> bool:
        """Counts the bytes that this connection holds. Returns False when all together hold too much."""
        if size == self._held:
            return True
        before, self._held = self._held, size
        return self._shared.load.hold(before, size, is_body=is_body)

    def _pause_reading(self) -> None:
        if self._is_reading and self._transport is not None and not self._transport.is_closing():
            self._is_reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._is_reading and self._transport is not None and not self._transport.is_closing():
            self._is_reading = True
            self._transport.resume_reading()

    # --- Running and answering -------------------------------------------------------------------

    def _run_queue(self) -> None:
        """Answers queued requests until one has to wait, the client reads too slowly, or none is left."""
        queue, handle, turns = self._queue, self._shared.handle, REQUESTS_PER_TURN
        while queue and self._writable and self._rest is None:
            if not turns:
                self._running = True
                asyncio.get_running_loop().call_soon(self._next_turn)
                break
            turns -= 1
            request = queue.popleft()
            if self._shared.waiting >= self._shared.load.waiting_max and request.method == "POST":
                self._shared.load.shed += 1
                self._answer(request.method, BUSY)
                continue
            try:
                response = start(handle(request), self._ended)
            except (Exception, asyncio.CancelledError):
                _log.exception("a request failed: %s %r", request.method, request.target[:200])
                response = _FAILED
            if response is PENDING:
                self._running = True
                self._method = request.method
                self._shared.waiting += 1
                break
            self._answer(request.method, response)
        if queue:
            self._pause_reading()
        elif not self._running and self._rest is None and self._transport is not None:
            self._after_queue()

    def _after_queue(self) -> None:
        """Called when every whole request is answered."""
        state = self._reader.state
        if self._held and self._writable and state not in UNFINISHED:
            self._hold(0)
        if state is REJECTED:
            self._end_with_rejection()
        elif state is LAST or (self._shared.draining and state is IDLE):
            self._close()
        else:
            if not self._is_reading:
                self._resume_reading()
            if self._reader.awaits_continue:
                self._continue()

    def _next_turn(self) -> None:
        self._running = False
        self._run_queue()

    def _ended(self, response: HttpResponse | None, error: BaseException | None) -> None:
        """Called when the request that waited for the store ends."""
        shared = self._shared
        shared.waiting -= 1
        self._running = False
        if response is None:
            _log.error("a request failed", exc_info=error)
            response = _FAILED
        if self._transport is not None:
            self._answer(self._method, response)
            self._run_queue()
        shared.on_quiet()

    def _answer(self, method: str, response: HttpResponse) -> None:
        transport = self._transport
        if transport is None:
            return
        if response.status <= 0:  # lost: by closing, or withheld until the client gives up
            self._queue.clear()
            return self._close() if response is CLOSED else None
        shared = self._shared
        keep_alive = bool(self._queue) or not (self._reader.state is LAST or shared.draining)
        is_long = len(response.body) > WRITE_BUFFER_BYTES and method != "HEAD"
        with_body = method != "HEAD" and not is_long
        transport.write(encode(response, keep_alive=keep_alive, date=shared.date, with_body=with_body))
        self._since = shared.ticks
        if is_long:
            self._rest = memoryview(response.body)
            self._write_rest()

    def _write_rest(self) -> None:
        """Writes the next piece of a long answer; after the last one, runs the queue."""
        transport, rest = self._transport, self._rest
        if transport is None or not self._writable:
            return
        if rest is not None:
            self._rest = rest[WRITE_BUFFER_BYTES:] if len(rest) > WRITE_BUFFER_BYTES else None
            transport.write(rest[:WRITE_BUFFER_BYTES])
            self._since = self._shared.ticks
            if self._writable:
                asyncio.get_running_loop().call_soon(self._write_rest)
        elif not self._running:
            self._hold(0)
            self._run_queue()

    def _unsent_bytes(self) -> int:
        """Returns how much of the answers has not left."""
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return waiting if self._rest is None else waiting + len(self._rest)

    # --- Ends ------------------------------------------------------------------------------------

    def _end_with_rejection(self) -> None:
        """Writes the rejection, half-closes the connection and begins to linger."""
        transport = self._transport
        if transport is None or self._lingers:
            return
        rejection = HttpResponse(self._reader.rejection, b"", None, None, None)
        transport.write(encode(rejection, keep_alive=False, date=self._shared.date))
        self._lingers = True
        self._since = self._shared.ticks
        if self._shared.draining:
            transport.close()
            return
        self._resume_reading()
        if transport.can_write_eof():
            transport.write_eof()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # --- The listener's calls --------------------------------------------------------------------

    def expire(self) -> None:
        """Ends this connection if it was idle, unfinished or unread for too long. Called every few ticks."""
        transport = self._transport
        if transport is None:
            return
        now, reader, shared = self._shared.ticks, self._reader, self._shared
        head_ticks_max = shared.load.shortened(HEAD_TICKS_MAX, len(shared.connections))
        stalled = now - self._since
        if self._lingers:
            if stalled > LINGER_TICKS_MAX:
                transport.abort()
        elif not self._writable or self._rest is not None or transport.is_closing():
            unsent = self._unsent_bytes()
            if unsent != self._unsent:
                self._unsent = unsent
                self._since = now
            elif stalled > STALL_TICKS_MAX:
                transport.abort()
        elif self._running:
            pass  # the client waits for the store
        elif reader.state is IDLE:
            if stalled > IDLE_TICKS_MAX:
                transport.close()
        elif (reader.state is HEAD and now - reader.head_began > head_ticks_max) or (
            reader.state is BODY and (stalled > STALL_TICKS_MAX or now - reader.body_began > BODY_TICKS_MAX)
        ):
            reader.reject(HTTPStatus.REQUEST_TIMEOUT)
            self._run_queue()

    def drain(self) -> None:
        """Closes at once if no request runs or waits, otherwise after the answers.

        An unfinished request is rejected: it was not begun, so its client may send it again, and a client
        that never sends the rest must not delay the end.
        """
        if self._reader.state in UNFINISHED:
            self._reader.reject(HTTPStatus.SERVICE_UNAVAILABLE)
        if self._lingers:
            self._close()
        elif not self._running and not self._queue and self._rest is None:
            if self._reader.state is REJECTED:
                self._end_with_rejection()
            else:
                self._close()

    @property
    def rank(self) -> Rank | None:
        """How soon this connection is closed for a new one, the lowest first; None: not at all.

        Idle and rejected ones, unfinished heads, bodies and answers that do not move. One that had a request
        in this tick is not idle: its client may be about to send more.
        """
        now, reader = self._shared.ticks, self._reader
        if self._is_excess:
            return None
        if not self._writable or self._rest is not None:
            return (3, self._since) if now - self._since > SHORT_STALL_TICKS_MAX else None
        if self._running or self._queue:
            return None
        if self._lingers or reader.state is IDLE:
            return (int(self._lingers), self._since) if self._since < now else None
        if reader.state is HEAD:
            return 2, reader.head_began
        return (3, self._since) if now - self._since > SHORT_STALL_TICKS_MAX else None

    def close_for_another(self) -> None:
        """Closes this connection because a new one needs its place."""
        self._shared.load.shed += 1
        self._shared.connections.pop(self, None)
        if self._writable and self._rest is None:
            self._close()
        else:
            self.abort()

    def abort(self) -> None:
        """Closes at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()
