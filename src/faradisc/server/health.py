"""The site behind the socket: the database, and two pages that say how the process is.

    GET /health/live     200 {"status":"live"} as long as the process answers at all
    GET /health/ready    200 {"status":"ready"}, or 503 with "starting" or "draining"

Every other request is the database's (`protocol/front.py`, which also answers `GET /` as the service
does). Until the database is open such a request gets 503, which every SDK retries.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from faradisc.auth.sigv4 import Authenticator, lenient
from faradisc.protocol.front import Executor, answer
from faradisc.protocol.http import HttpRequest, HttpResponse

LIVE_PATH = b"/health/live"
READY_PATH = b"/health/ready"


class Site:
    """Routes a request. `executor` is None until the database is open."""

    __slots__ = ("_authenticate", "draining", "executor")

    def __init__(self, authenticate: Authenticator = lenient) -> None:
        self._authenticate = authenticate
        self.executor: Executor | None = None
        self.draining = False

    def handle(self, request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        executor = self.executor
        if executor is None or len(request.target) > 1:
            path = request.target.partition(b"?")[0]
            if path in (LIVE_PATH, READY_PATH) and request.method in ("GET", "HEAD"):
                return _page(*self._status(path))
            if executor is None:
                return _unavailable()
        return answer(executor, request, self._authenticate)

    def _status(self, path: bytes) -> tuple[int, str]:
        if path == LIVE_PATH:
            return 200, "live"
        if self.draining:
            return 503, "draining"
        return (503, "starting") if self.executor is None else (200, "ready")


async def _page(status: int, word: str) -> HttpResponse:
    return HttpResponse(status, b'{"status":"%b"}\n' % word.encode(), b"application/json", None, None)


async def _unavailable() -> HttpResponse:
    return HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))
