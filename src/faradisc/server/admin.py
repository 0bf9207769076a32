"""The administrator's pages: `/_faradisc/...` and `/metrics`. Documented in docs/guide/administration.md.

    GET  /_faradisc/                     the console, for a browser
    GET  /_faradisc/tables               all tables, a line each
    GET  /_faradisc/capacity/TABLE       rates, banks, partitions, heat, splits of a table and its indexes
    POST /_faradisc/capacity/TABLE       pull its levers (administration/throughput.py)
    GET  /_faradisc/events               splits, refusals to split, growth
    GET  /_faradisc/clock                the database's time;  POST {"advance_s": 300} moves a virtual one
    GET  /_faradisc/jobs                 how far background work has come
    POST /_faradisc/expire               delete now what has expired
    GET  /_faradisc/check                the last check of the whole database;  POST begins one
    GET  /metrics                        for Prometheus

They are served on loopback addresses, elsewhere only when asked for, and then to signed requests if
signatures are verified. A page of another site that a browser has open cannot use them: a request that names
a foreign Origin is refused, and so is a POST that is not declared JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import orjson

from faradisc.administration.throughput import AdminError
from faradisc.auth.sigv4 import Authenticator
from faradisc.database import Database
from faradisc.errors import ApiError
from faradisc.protocol.http import HttpRequest, HttpResponse

PREFIX: Final = b"/_faradisc"
METRICS_PATH: Final = b"/metrics"
_JSON: Final = b"application/json"
_HTML: Final = b"text/html; charset=utf-8"

Page = Callable[["Visit"], Awaitable[HttpResponse]]


class Visit:
    """One request of an administrator."""

    __slots__ = ("account", "database", "name", "query", "region", "request")

    def __init__(self, database: Database, request: HttpRequest, name: str) -> None:
        self.database = database
        self.request = request
        self.name = name
        """What follows the page's path: the name of a table."""
        query = request.target.partition(b"?")[2].decode("latin-1")
        self.query = {name: values[-1] for name, values in parse_qs(query).items()}
        self.region = self.query.get("region", database.region)
        self.account = database.account

    def body(self) -> dict[str, Any]:
        """Raises: AdminError."""
        try:
            document = orjson.loads(self.request.body or b"{}")
        except orjson.JSONDecodeError as mistake:
            raise AdminError(f"The body is not JSON: {mistake}.") from mistake
        if not isinstance(document, dict):
            raise AdminError("The body is not a JSON object.")
        return document


class AdminPages:
    """Answers what lies under PREFIX, and METRICS_PATH."""

    __slots__ = ("_authenticate",)

    def __init__(self, authenticate: Authenticator | None) -> None:
        """authenticate: verifies signatures; None: whoever reaches the address is trusted."""
        self._authenticate = authenticate

    async def answer(self, database: Database, request: HttpRequest) -> HttpResponse:
        refusal = _foreign(request)
        if refusal is not None:
            return _failure(403, refusal)
        if self._authenticate is not None:
            try:
                self._authenticate(request)
            except ApiError as error:
                return _failure(403, error.message or error.wire_name())
        path = unquote(request.target.partition(b"?")[0].decode("latin-1"))
        word, _, name = path.removeprefix(PREFIX.decode()).strip("/").partition("/")
        methods = _PAGES.get(word)
        if methods is None or bool(name) != (word in _NAMED):
            return _failure(404, "There is no such page; GET /_faradisc/ has links to all of them.")
        page = methods.get("GET" if request.method == "HEAD" else request.method)
        if page is None:
            return _failure(405, f"This page takes {' and '.join(methods)}.")
        try:
            return await page(Visit(database, request, name))
        except AdminError as mistake:
            return _failure(400, str(mistake))


def _foreign(request: HttpRequest) -> str | None:
    """Why a request must not be served though it comes from this machine; None when it may."""
    headers = request.headers
    origin, host = headers.get(b"origin"), headers.get(b"host", b"")
    if origin is not None and origin.partition(b"://")[2] != host:
        return "Pages of other sites may not use this one."
    if request.method == "POST" and headers.get(b"content-type", b"").partition(b";")[0].strip() != _JSON:
        return "Declare what you POST as application/json."
    return None


def _answer(document: Any, status: int = 200) -> HttpResponse:
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return HttpResponse(status, body, _JSON, None, None)


def _failure(status: int, sentence: str) -> HttpResponse:
    return _answer({"error": sentence}, status)


async def _console(visit: Visit) -> HttpResponse:
    from faradisc.console import page  # noqa: PLC0415 - drawing is for the few who look

    desk = visit.database.desk
    if not visit.name:
        return HttpResponse(200, page.tables(desk.tables(visit.region, visit.account)), _HTML, None, None)
    shown = desk.capacity(visit.name, visit.region, visit.account)
    return HttpResponse(200, page.table(shown), _HTML, None, None)


async def _tables(visit: Visit) -> HttpResponse:
    return _answer(visit.database.desk.tables(visit.region, visit.account))


async def _capacity(visit: Visit) -> HttpResponse:
    return _answer(visit.database.desk.capacity(visit.name, visit.region, visit.account))


async def _change_capacity(visit: Visit) -> HttpResponse:
    desk = visit.database.desk
    return _answer(await desk.change_capacity(visit.name, visit.region, visit.account, visit.body()))


async def _events(visit: Visit) -> HttpResponse:
    return _answer(visit.database.desk.events())


async def _clock(visit: Visit) -> HttpResponse:
    return _answer(visit.database.desk.clock())


async def _advance(visit: Visit) -> HttpResponse:
    return _answer(await visit.database.desk.advance(visit.body().get("advance_s")))


async def _jobs(visit: Visit) -> HttpResponse:
    return _answer(await visit.database.desk.jobs(visit.region, visit.account))


async def _expire(visit: Visit) -> HttpResponse:
    return _answer(await visit.database.desk.expire_now())


async def _check(visit: Visit) -> HttpResponse:
    return _answer(visit.database.checks.document())


async def _begin_check(visit: Visit) -> HttpResponse:
    begun = visit.database.checks.begin()
    return _answer(visit.database.checks.document(), 202 if begun else 409)


async def _metrics(visit: Visit) -> HttpResponse:
    from faradisc.server.exposition import CONTENT_TYPE, exposition  # noqa: PLC0415 - at the first scrape

    return HttpResponse(200, exposition(visit.database.accounts()), CONTENT_TYPE, None, None)


_PAGES: Final[dict[str, dict[str, Page]]] = {
    "": {"GET": _console},
    "table": {"GET": _console},
    "tables": {"GET": _tables},
    "capacity": {"GET": _capacity, "POST": _change_capacity},
    "events": {"GET": _events},
    "clock": {"GET": _clock, "POST": _advance},
    "jobs": {"GET": _jobs},
    "expire": {"POST": _expire},
    "check": {"GET": _check, "POST": _begin_check},
    "metrics": {"GET": _metrics},
}
_NAMED: Final = frozenset({"table", "capacity"})
"""The pages of one table, whose name follows."""
