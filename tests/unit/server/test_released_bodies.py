"""Memory of requests that the server itself rejects, or whose handler fails after a wait."""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.request_reader import REJECTED, RequestReader

Run = Callable[[Coroutine[Any, Any, None]], None]
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


def test_request_whose_handler_fails_after_a_wait_is_released(
    serve: Callable[..., Any], run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0)
        raise KeyError(len(request.body))

    async def scenario() -> None:
        logging.disable(logging.CRITICAL)  # a record would keep the traceback
        gc.disable()
        try:
            async with serve(fail) as server, server.client() as client:
                before = sum(type(each) is HttpRequest for each in gc.get_objects())
                for _ in range(3):
                    answer = await client.ask(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000)
                    assert answer.status == 500
                assert sum(type(each) is HttpRequest for each in gc.get_objects()) == before
        finally:
            gc.enable()
            logging.disable(logging.NOTSET)

    gc.collect()
    run(scenario())


@pytest.mark.parametrize("end", [b"%x\r\n%b\r\n" % (1 << 16, b"x" * (1 << 16)), b"no size\r\n"])
def test_rejected_body_is_released_before_its_connection_ends(end: bytes) -> None:
    """A rejected connection lingers for seconds."""
    reader = RequestReader()
    tracemalloc.start()
    try:
        reader.feed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", 0)
        piece = b"%x\r\n%b\r\n" % (1 << 16, b"x" * (1 << 16))
        for _ in range(REQUEST_BODY_BYTES_MAX >> 16):
            reader.feed(piece, 0)
        assert tracemalloc.get_traced_memory()[0] > REQUEST_BODY_BYTES_MAX
        reader.feed(end, 0)
        assert reader.state is REJECTED
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
