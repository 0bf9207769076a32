"""Routes every request of the socket: to the database, the health pages or the administrator's pages.

    GET /health/live     200 {"status":"live"} as long as the process answers
    GET /health/ready    200 {"status":"ready"}, or 503 with "starting", "draining", or "failed" and a reason:
                         a write or a sync failed, and the store rejects writes until it is opened
                         again (after a full disk by the server itself: server/serving.py)

`/_faradisc/...` and `/metrics` are the administrator's (server/admin.py). Every other request goes to the
database (`protocol/front.py`, which also answers `GET /` as the service does). Until the database is open
such a request gets 503, after which every SDK tries again.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from faradisc.auth.sigv4 import Authenticator, lenient
from faradisc.database import Database
from faradisc.protocol.front import answer
from faradisc.protocol.http import BUSY, HttpRequest, HttpResponse
from faradisc.server.admin import METRICS_PATH, PREFIX, AdminPages
from faradisc.server.origins import OriginPolicy

if TYPE_CHECKING:
    from faradisc.server.audit import AuditLog
    from faradisc.server.spans import RequestSpans

LIVE_PATH = b"/health/live"
READY_PATH = b"/health/ready"


class Site:
    """Routes requests. `executor` is None until the database is open."""

    __slots__ = ("_audit", "_authenticate", "_origins", "_spans", "draining", "executor", "pages")

    def __init__(
        self,
        authenticate: Authenticator = lenient,
        pages: AdminPages | None = None,
        origins: OriginPolicy | None = None,
        audit: AuditLog | None = None,
        spans: RequestSpans | None = None,
    ) -> None:
        """pages: the administrator's; None: administration is off. origins: whose requests the database
        answers; None: any, because signatures are verified."""
        self._authenticate = authenticate
        self._origins = origins
        self._audit = audit
        self._spans = spans
        self.pages = pages
        self.executor: Database | None = None
        self.draining = False

    def handle(self, request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        executor = self.executor
        if executor is None or len(request.target) > 1:
            path = request.target.partition(b"?")[0]
            if path == METRICS_PATH or path.startswith(PREFIX):
                return self._administration(request)
            if path in (LIVE_PATH, READY_PATH) and request.method in ("GET", "HEAD"):
                ready = path == READY_PATH
                return _page(
                    *self._status(path),
                    reason=self._reason() if ready else "",
                    problems=executor.problems() if ready and executor is not None else (),
                )
            if executor is None:
                return _unavailable()
        rejection = self._origins.rejection(request) if self._origins is not None else None
        if rejection is not None:
            return _page(403, "rejected", reason=rejection)
        if self._spans is not None:
            return self._spans.answer(executor, request, partial(self._answer, request=request))
        return self._answer(executor, request)

    def _answer(self, executor: Database, request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        if self._audit is not None:
            return self._audit.answer(executor, request, self._authenticate)
        return answer(executor, request, self._authenticate)

    def _administration(self, request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        if self.pages is None:
            return _page(404, "administration is off; --admin on allows it beyond this machine")
        return _unavailable() if self.executor is None else self.pages.answer(self.executor, request)

    def _status(self, path: bytes) -> tuple[int, str]:
        if path == LIVE_PATH:
            return 200, "live"
        if self.draining:
            return 503, "draining"
        if self.executor is None:
            return 503, "starting"
        return (503, "failed") if self._reason() else (200, "ready")

    def _reason(self) -> str:
        """Returns why the database rejects writes; "" when it accepts them."""
        failure = self.executor.store.failure if self.executor is not None else None
        return "" if failure is None else str(failure)


async def _page(status: int, word: str, *, reason: str = "", problems: Sequence[str] = ()) -> HttpResponse:
    document: dict[str, Any] = {"status": word}
    if reason:
        document["reason"] = reason
    if problems:
        document["problems"] = problems
    return HttpResponse(status, orjson.dumps(document) + b"\n", b"application/json", None, None)


async def _unavailable() -> HttpResponse:
    return BUSY
