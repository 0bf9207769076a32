"""HTTP over real sockets: valid and invalid requests, and their answers."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import CLOSED, WITHHELD, HttpRequest, HttpResponse, Peer
from faradisc.server import request_reader as limits
from faradisc.server.connection import REQUESTS_PER_TURN

Run = Callable[[Coroutine[Any, Any, None]], None]


def post(body: bytes, *headers: bytes, target: bytes = b"/", version: bytes = b"1.1") -> bytes:
    head = [b"POST " + target + b" HTTP/" + version, b"Host: x", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


# --- Requests that are in order ------------------------------------------------------------------


def test_a_request_reaches_the_handler_whole(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            answer = await client.ask(post(b"hello", b"X-Amz-Target: T", b"x-a: 1", target=b"/p?q=1"))
            assert (answer.status, answer.body) == (200, b"5:hello")
            assert answer.headers == {
                b"server": b"Server",
                b"date": b"Tue, 14 Nov 2023 22:13:20 GMT",
                b"content-type": b"text/plain",
                b"content-length": b"7",
                b"connection": b"keep-alive",
                b"x-amzn-requestid": b"id",
                b"x-amz-crc32": b"7",
            }
        assert echo.requests == [
            HttpRequest(
                "POST",
                b"/p?q=1",
                {b"host": b"x", b"content-length": b"5", b"x-amz-target": b"T", b"x-a": b"1"},
                b"hello",
                Peer("127.0.0.1"),
            )
        ]

    run(scenario())


def test_request_in_single_bytes_is_answered(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            for byte in post(b"slow", b"x-long: a-longer-value", target=b"/a/longer/target"):
                await client.send(bytes([byte]))
                await asyncio.sleep(0)
            assert (await client.answer()).body == b"4:slow"
        assert echo.requests[0].target == b"/a/longer/target"
        assert echo.requests[0].headers[b"x-long"] == b"a-longer-value"

    run(scenario())


def test_keep_alive_serves_many_requests(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            for number in range(10):
                body = b"%d" % number
                assert (await client.ask(post(body, b"x-%d: 1" % number))).body == b"1:" + body
        assert all(len(request.headers) == 3 for request in echo.requests)  # none of an earlier request

    run(scenario())


@pytest.mark.parametrize("count", [2, REQUESTS_PER_TURN * 3 + 1])
def test_pipelined_requests_are_answered_in_order(serve: Any, run: Run, echo: Any, count: int) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(b"".join(post(b"%d" % number) for number in range(count)))
            for number in range(count):
                assert (await client.answer()).body.split(b":")[1] == b"%d" % number

    run(scenario())


def test_pipelined_requests_wait_for_each_other(serve: Any, run: Run, latch: Any) -> None:
    """The second starts only after the first was answered, so a client reads its own writes."""

    async def scenario() -> None:
        async with serve(latch) as server, server.client() as client:
            await client.send(post(b"1") + post(b"2"))
            await client.send(post(b"3"))
            for number in (b"1", b"2", b"3"):
                await latch.arrival()
                assert len(latch.waiting) == 1
                latch.let_go()
                assert (await client.answer()).body == number

    run(scenario())


def test_other_connections_are_served_while_a_request_waits(
    serve: Any, run: Run, latch: Any, echo: Any
) -> None:
    def handle(request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        return latch(request) if request.target == b"/wait" else echo(request)  # type: ignore[no-any-return]

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as slow, server.client() as quick:
            await slow.send(post(b"w", target=b"/wait"))
            await latch.arrival()
            assert (await quick.ask(post(b"q"))).body == b"1:q"
            latch.let_go()
            assert (await slow.answer()).body == b"w"

    run(scenario())


def test_chunked_bodies(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with serve(echo) as server, server.client() as client:
            answer = await client.ask(head + b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: dropped\r\n\r\n")
            assert answer.body == b"5:abcde"
            await client.send(head + b"1\r\nx")
            await client.send(b"\r\n0\r\n\r\n")
            assert (await client.answer()).body == b"1:x"
        assert [list(request.headers) for request in echo.requests] == [[b"host", b"transfer-encoding"]] * 2

    run(scenario())


def test_http_1_0_closes_without_keep_alive(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server:
            async with server.client() as client:
                answer = await client.ask(post(b"a", version=b"1.0"))
                assert answer.headers[b"connection"] == b"close"
                assert await client.at_end()
            async with server.client() as client:
                for _ in range(2):
                    answer = await client.ask(post(b"a", b"Connection: keep-alive", version=b"1.0"))
                    assert answer.headers[b"connection"] == b"keep-alive"

    run(scenario())


def test_connection_close_ends_after_the_answer(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(post(b"1") + post(b"2", b"Connection: close") + post(b"ignored"))
            assert (await client.answer()).headers[b"connection"] == b"keep-alive"
            last = await client.answer()
            assert (last.body, last.headers[b"connection"]) == (b"1:2", b"close")
            assert await client.at_end()
        assert len(echo.requests) == 2

    run(scenario())


def test_gzip_passes_through_both_ways(serve: Any, run: Run) -> None:
    packed = gzip.compress(b"x" * 1000)
    seen: list[HttpRequest] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(200, packed, b"text/plain", None, None, ((b"Content-Encoding", b"gzip"),))

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            answer = await client.ask(post(packed, b"Content-Encoding: gzip"))
            assert answer.body == packed
            assert answer.headers[b"content-encoding"] == b"gzip"
        assert seen[0].body == packed

    run(scenario())


def test_head_has_the_length_and_no_body(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + post(b"next"))
            assert (await client.answer(to_head=True)).headers[b"content-length"] == b"2"
            assert (await client.answer()).body == b"4:next"

    run(scenario())


def test_expect_100_continue(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
            )
            assert (await client.answer()).status == 100
            assert (await client.ask(b"ok")).body == b"2:ok"
            # A client that does not wait for leave gets none.
            assert (await client.ask(post(b"at once", b"Expect: 100-continue"))).body == b"7:at once"

    run(scenario())


def test_100_continue_comes_after_earlier_answers(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server, server.client() as client:
            await client.send(
                post(b"first")
                + b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
            )
            await latch.arrival()
            latch.let_go()
            assert (await client.answer()).body == b"first"
            assert (await client.answer()).status == 100
            await client.send(b"ok")
            await latch.arrival()
            latch.let_go()
            assert (await client.answer()).body == b"ok"

    run(scenario())


@pytest.mark.parametrize("keep", [True, False])
def test_upgrade_is_ignored_and_the_body_is_read(serve: Any, run: Run, echo: Any, keep: bool) -> None:
    """Java's HttpClient sends this with every first request on a plain connection."""

    async def scenario() -> None:
        connection = b"Connection: Upgrade, HTTP2-Settings" + (b"" if keep else b", close")
        async with serve(echo) as server, server.client() as client:
            request = post(b"body", connection, b"Upgrade: h2c", b"HTTP2-Settings: AAEA", b"x-amz-target: T")
            answer = await client.ask(request + (post(b"next") if keep else b""))
            assert (answer.status, answer.body) == (200, b"4:body")
            assert echo.requests[0].headers[b"x-amz-target"] == b"T"
            if keep:
                assert (await client.answer()).body == b"4:next"
            else:
                assert await client.at_end()

    run(scenario())


def test_half_closed_connection_still_gets_its_answers(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server, server.client() as client:
            await client.send(post(b"1") + post(b"2"))
            client.writer.write_eof()
            for number in (b"1", b"2"):
                await latch.arrival()
                latch.let_go()
                assert (await client.answer()).body == number
            assert await client.at_end()

    run(scenario())


def test_the_largest_body_is_accepted(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(post(bytes(REQUEST_BODY_BYTES_MAX)))
            assert len((await client.answer()).body) == REQUEST_BODY_BYTES_MAX + 9
            assert (await client.ask(post(b"next"))).body == b"4:next"

    run(scenario())


# --- Requests that are refused -------------------------------------------------------------------


async def assert_refused(client: Any, status: int) -> None:
    answer = await client.answer()
    assert (answer.status, answer.body) == (status, b"")
    assert answer.headers[b"connection"] == b"close"
    assert await client.at_end()


MALFORMED = {
    "no HTTP": b"hello\r\n\r\n",
    "bad version": b"POST / HTTP/9.9\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "length is no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
    "empty length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n",
    "negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "overflowing length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "length and chunks": b"PUT / HTTP/1.1\r\nHost:\r\nContent-Length:1\r\nTransfer-Encoding:chunked\r\n\r\n0",
    "unknown transfer coding": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n",
    "bad chunk size": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "space in header name": b"POST / HTTP/1.1\r\nHost: x\r\nbad name: x\r\n\r\n",
    "control in header value": b"POST / HTTP/1.1\r\nHost: x\r\nx: a\x00b\r\n\r\n",
    "bare line feeds": b"POST / HTTP/1.1\nHost: x\n\n",
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_http_is_rejected_with_400(
    serve: Any, run: Run, echo: Any, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serve(echo) as server:
            async with server.client() as client:
                await client.send(data)
                await assert_refused(client, 400)
            async with server.client() as other:
                assert (await other.ask(post(b"fine"))).status == 200
        assert len(echo.requests) == 1

    run(scenario())
    assert caplog.records == []


def test_requests_before_the_malformed_one_are_answered(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server, server.client() as client:
            await client.send(post(b"good") + b"bad\r\n\r\n")
            await latch.arrival()
            await client.send(b"more, which stays unread")
            latch.let_go()
            assert (await client.answer()).body == b"good"
            await assert_refused(client, 400)

    run(scenario())


def test_declared_body_over_16_mib_is_rejected_before_it_is_read(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (REQUEST_BODY_BYTES_MAX + 1)
            )
            await assert_refused(client, 413)
        assert echo.requests == []

    run(scenario())


def test_client_that_sends_17_mb_anyway_reads_the_rejection(serve: Any, run: Run, echo: Any) -> None:
    """Further bytes are read and discarded; closing at once would reset the connection."""

    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(post(bytes(17_000_000)))
            await assert_refused(client, 413)

    run(scenario())


def test_chunked_body_over_16_mib_is_rejected(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        async with serve(echo) as server, server.client() as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 17
            )
            await assert_refused(client, 413)

    run(scenario())


def test_a_body_in_chunks_of_one_byte(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"1\r\nx\r\n" * 20_000
                + b"0\r\n\r\n"
            )
            assert (await client.answer()).body == b"20000:" + b"x" * 20_000

    run(scenario())


OVERSIZED_HEADS = {
    "one long header": (b"x: " + b"a" * limits.HEAD_BYTES_MAX + b"\r\n", 431),
    "one endless header": (b"x: " + b"a" * (1 << 20), 431),
    "many headers": (
        b"".join(b"x%d: 1\r\n" % number for number in range(limits.HEADERS_MAX + 1)),
        431,
    ),
    "one name many times": (b"x: 1\r\n" * limits.HEAD_BYTES_MAX, 431),
}


@pytest.mark.parametrize(("headers", "status"), OVERSIZED_HEADS.values(), ids=OVERSIZED_HEADS.keys())
def test_oversized_heads_are_rejected(serve: Any, run: Run, echo: Any, headers: bytes, status: int) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n")
            await assert_refused(client, status)
        assert echo.requests == []

    run(scenario())


def test_long_target_is_rejected(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server:
            async with server.client() as client:
                await client.send(post(b"", target=b"/" + b"a" * limits.TARGET_BYTES_MAX))
                await assert_refused(client, 414)
            async with server.client() as client:
                answer = await client.ask(post(b"", target=b"/" + b"a" * (limits.TARGET_BYTES_MAX - 1)))
                assert answer.status == 200

    run(scenario())


def test_endless_trailers_are_rejected(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
            await client.send(b"".join(b"x%d: 1\r\n" % number for number in range(100_000)))
            await assert_refused(client, 431)

    run(scenario())


def test_unfinished_request_at_the_end_of_input_is_rejected(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server:
            for part in (b"POST / HT", post(b"whole")[:-1]):
                async with server.client() as client:
                    await client.send(part)
                    client.writer.write_eof()
                    await assert_refused(client, 400)
            async with server.client() as client:
                client.writer.write_eof()
                assert await client.at_end()
        assert echo.requests == []

    run(scenario())


# --- Failures and departures ---------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_failed_handler_is_answered_with_500_and_logged(
    serve: Any, run: Run, late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        if late:
            await asyncio.sleep(0)
        if request.body == b"bad":
            raise LookupError("a bug")
        return HttpResponse(200, b"fine", None, None, None)

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            answer = await client.ask(post(b"bad"))
            assert (answer.status, answer.body) == (500, b"")
            assert (await client.ask(post(b"good"))).body == b"fine"

    with caplog.at_level(logging.ERROR):
        run(scenario())
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert "a bug" in caplog.text


def test_write_completes_after_its_client_disconnects(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server:
            async with server.client() as client:
                await client.send(post(b"begun") + post(b"never whole")[:-1])
                await latch.arrival()
                gone = asyncio.Event()
                server.listener.shared.on_quiet = gone.set
                client.reset()
            await gone.wait()
            assert not server.listener.shared.connections
            assert server.listener.shared.waiting == 1
            latch.let_go()
            await server.listener.drain(10.0)
        assert latch.finished == [b"begun"]

    run(scenario())


def test_client_that_reads_slowly_delays_only_its_own_requests(serve: Any, run: Run) -> None:
    """While the client does not read, the server neither reads nor answers more than a bounded amount."""
    size = 1 << 20
    begun = 0

    async def handle(request: HttpRequest) -> HttpResponse:
        nonlocal begun
        begun += 1
        return HttpResponse(200, bytes(size), None, None, None)

    async def scenario() -> None:
        count = 300
        async with serve(handle) as server, server.client() as slow, server.client() as other:
            # More than the socket buffers of both ends hold, asked for in one go.
            slow.writer.write(post(b"") * count)
            slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(50):
                assert len((await other.ask(post(b""))).body) == size
            assert begun - 50 < count
            slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
            for _ in range(count):
                assert len((await slow.answer()).body) == size
        assert begun == count + 50

    run(scenario())


def test_many_connections(serve: Any, run: Run, echo: Any) -> None:
    async def scenario() -> None:
        async with serve(echo) as server:

            async def call(number: int) -> None:
                async with server.client() as client:
                    assert (await client.ask(post(b"%03d" % number))).body == b"3:%03d" % number

            await asyncio.gather(*(call(number) for number in range(200)))

    run(scenario())


# --- Draining ------------------------------------------------------------------------------------


def test_drain_answers_running_requests_and_closes_idle_connections(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server, server.client() as idle, server.client() as busy:
            await busy.send(post(b"1") + post(b"2"))
            await latch.arrival()
            drained = asyncio.create_task(server.listener.drain(10.0))
            assert await idle.at_end()
            with pytest.raises(ConnectionError):
                async with server.client() as late:
                    await late.ask(post(b""))
            latch.let_go()
            assert (await busy.answer()).headers[b"connection"] == b"keep-alive"
            await latch.arrival()
            assert not drained.done()
            latch.let_go()
            assert (await busy.answer()).headers[b"connection"] == b"close"
            assert await busy.at_end()
            await drained

    run(scenario())


def test_drain_aborts_a_request_that_never_ends(serve: Any, run: Run, latch: Any) -> None:
    async def scenario() -> None:
        async with serve(latch) as server, server.client() as client:
            await client.send(post(b"stuck"))
            await latch.arrival()
            await server.listener.drain(0.0)
            assert not server.listener.shared.connections
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await client.answer()

    run(scenario())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200),
    ],
)
def test_request_has_one_host(serve: Any, run: Any, echo: Any, head: bytes, status: int) -> None:
    async def scenario() -> None:
        async with serve(echo) as server, server.client() as client:
            assert (await client.ask(head)).status == status

    run(scenario())


# --- Answers that are lost -----------------------------------------------------------------------


def test_a_connection_is_closed_without_an_answer(serve: Any, run: Run, echo: Any) -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        return CLOSED if request.target == b"/lost" else await echo(request)

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            assert (await client.ask(post(b"1"))).status == 200
            await client.send(post(b"2", target=b"/lost") + post(b"3"))
            assert await client.at_end()
        assert len(echo.requests) == 1

    run(scenario())


def test_an_answer_is_withheld_until_the_client_leaves(serve: Any, run: Run, echo: Any) -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        return WITHHELD if request.target == b"/lost" else await echo(request)

    async def scenario() -> None:
        async with serve(handle) as server, server.client() as client:
            await client.send(post(b"1", target=b"/lost"))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.answer(), 0.05)
            async with server.client() as other:  # nothing else is held up, the end of the server included
                assert (await other.ask(post(b"2"))).status == 200

    run(scenario())
