"""The Date header, ticks and sweeps."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.listener import TICKS_PER_SWEEP, Listener, http_date


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (784_111_777, b"Sun, 06 Nov 1994 08:49:37 GMT"),  # the example of RFC 9110 section 5.6.7
        (0, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        (951_782_400, b"Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_735_689_599, b"Tue, 31 Dec 2024 23:59:59 GMT"),
    ],
)
def test_date_header_format(seconds: int, text: bytes) -> None:
    assert http_date(seconds * 1_000_000_000 + 999_999_999) == text


async def unused(request: HttpRequest) -> HttpResponse:
    raise AssertionError("no request was sent")


def test_tick_renews_the_date_and_expires_connections() -> None:
    class Counted:
        looked_at = 0

        def expire(self) -> None:
            self.looked_at += 1

    async def scenario() -> None:
        clock = ManualClock(0)
        listener = Listener(unused, clock)
        await listener.start([])
        counted: Any = Counted()
        listener.shared.connections[counted] = None
        before = listener.shared.date
        clock.advance(1)
        for _ in range(TICKS_PER_SWEEP):
            listener.tick()
        assert listener.shared.ticks == TICKS_PER_SWEEP
        assert counted.looked_at == 1
        assert (before, listener.shared.date) == (http_date(0), http_date(1_000_000_000))
        listener.shared.connections.clear()
        await listener.drain(0.0)

    asyncio.run(scenario())
