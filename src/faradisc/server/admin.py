"""The administrator's pages: `/_faradisc/...` and `/metrics`. Documented in docs/guide/administration.md.

    GET  /_faradisc/                     the list of these pages
    GET  /_faradisc/tables               all tables, a line each
    GET  /_faradisc/capacity/TABLE       burst capacity, partitions, heat, splits of a table and its indexes
    POST /_faradisc/capacity/TABLE       changes its settings (services/administration/throughput.py)
    GET  /_faradisc/heat/TABLE           heat of the partitions over the last hour
    GET  /_faradisc/events               splits, refused splits, growth
    GET  /_faradisc/clock                the database's time;  POST {"advance_s": 300} moves a virtual one
    GET  /_faradisc/jobs                 progress of background work
    GET  /_faradisc/nodes                the servers over one PostgreSQL, with the jobs that each one runs
    GET  /_faradisc/places               several PostgreSQLs, with the tables at each;  POST moves tables
    GET  /_faradisc/copy                 the continuous copy: lag, last segment;  POST promotes a standby
    GET  /_faradisc/copy-objects/NAME    an object of it;  copy-names/FOLDER lists them: for --follow http://...
    GET  /_faradisc/replication          links between replicas;  POST {"cut": [ONE, OTHER]} cuts or heals one
    GET  /_faradisc/peers                the servers of other regions;  POST is what these servers ask
    GET  /_faradisc/late-reads           how late reads may be;  POST {"ms": 200} changes it
    GET  /_faradisc/faults               errors, throttles, lost and slow answers;  POST replaces them
    POST /_faradisc/expire               deletes expired items now
    POST /_faradisc/reset                empties a database in memory, for the next test
    GET  /_faradisc/check                the last check of the whole database;  POST begins one
    GET  /metrics                        for Prometheus

They are served on loopback addresses, elsewhere only under `--admin on`. A server that verifies signatures
verifies those of these requests too, unless it was started with `--admin unsigned`. A page of another site in
a browser cannot use them: a request with a foreign Origin is rejected, and so is a POST that is not declared
JSON. Without `--admin on` a request for a Host that is not this machine is rejected too: a site whose name
changes to 127.0.0.1 after its page was loaded (DNS rebinding) is its own Origin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container
from dataclasses import asdict
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote

import orjson

from faradisc.auth.sigv4 import Authenticator
from faradisc.database import Database
from faradisc.errors import ApiError
from faradisc.metrics.heat_history import SLOT_S, HeatHistory
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.load import Load
from faradisc.server.origins import host_name, is_local
from faradisc.services.administration.throughput import AdminError, NoSuchTable

if TYPE_CHECKING:
    from faradisc.engine.copying.place import CopyPlace
    from faradisc.services.administration.places import Places

PREFIX: Final = b"/_faradisc"
METRICS_PATH: Final = b"/metrics"
_JSON: Final = b"application/json"
_BINARY: Final = b"application/octet-stream"
_NO_COPY: Final = "There is no continuous copy: serve with --copy-to."

Handler = Callable[["PageRequest"], Any]
"""Returns an answer or its JSON document, or an awaitable of one."""


class PageRequest:
    """One request of an administrator."""

    def __init__(self, pages: AdminPages, database: Database, request: HttpRequest, name: str) -> None:
        self.pages = pages
        self.database = database
        self.administration = database.administration
        self.request = request
        self.name = name
        """The rest of the path: the name of a table."""
        self.query_string = request.target.partition(b"?")[2].decode("latin-1")
        self.region = parse_qs(self.query_string).get("region", [database.region])[-1]
        self.account = database.account

    def body(self) -> dict[str, Any]:
        """Raises AdminError."""
        try:
            document = orjson.loads(self.request.body or b"{}")
        except orjson.JSONDecodeError as mistake:
            raise AdminError(f"The body is not JSON: {mistake}.") from mistake
        if not isinstance(document, dict):
            raise AdminError("The body is not a JSON object.")
        return document


class AdminPages:
    """Answers requests under PREFIX and for METRICS_PATH."""

    __slots__ = ("_authenticate", "_hosts", "history", "load", "reset")

    def __init__(
        self, load: Load, authenticate: Authenticator | None, hosts: Container[str] | None = None
    ) -> None:
        """load: of the listener. authenticate: verifies signatures; None: every request is trusted.

        hosts: accepted names in the Host header, besides numeric addresses and `localhost`; None: any.
        """
        self.load = load
        self._authenticate = authenticate
        self._hosts = hosts
        self.history = HeatHistory()
        """The history that the heat map shows."""
        self.reset: Callable[[], Awaitable[None]] | None = None
        """Empties a database in memory; None where there is none."""

    async def answer(self, database: Database, request: HttpRequest) -> HttpResponse:
        rejection = _foreign_origin(request) or self._foreign_host(request)
        if rejection is not None:
            return _failure(403, rejection)
        if self._authenticate is not None:
            try:
                credential = self._authenticate(request)
            except ApiError as error:
                return _failure(403, error.message or error.wire_name())
            if credential.identity is not None:
                return _failure(403, "These pages are for the account's own keys, not for users and roles.")
        path = unquote(request.target.partition(b"?")[0].decode("latin-1"))
        if path == PREFIX.decode():
            return HttpResponse(301, b"", None, None, None, ((b"Location", PREFIX + b"/"),))
        word, _, name = path.removeprefix(PREFIX.decode()).strip("/").partition("/")
        methods = _PAGES.get(f"{word}/" if name else word)
        if methods is None:
            return _failure(404, "There is no such page; docs/guide/administration.md lists all pages.")
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            return _failure(405, f"This page takes {' and '.join(methods)}.")
        try:
            answered = handler(PageRequest(self, database, request, name))
            if isawaitable(answered):
                answered = await answered
            return answered if isinstance(answered, HttpResponse) else _answer(answered)
        except AdminError as mistake:
            return _failure(404 if isinstance(mistake, NoSuchTable) else 400, str(mistake))

    def _foreign_host(self, request: HttpRequest) -> str | None:
        """Returns why a request's Host is rejected; None when it names this machine."""
        name = host_name(request.headers.get(b"host"))
        if self._hosts is None or is_local(name) or name in self._hosts:
            return None
        return "This page is for this machine; ask for it at localhost, or serve with --admin on."


def _foreign_origin(request: HttpRequest) -> str | None:
    """Returns why a request that may come from another site's page is rejected; None when it is accepted."""
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


def _listed(page: PageRequest) -> Any:
    """Returns what there is, for those who open the address in a browser."""
    return {
        "pages": [f"{PREFIX.decode()}/{name}" for name in _PAGES if name],
        "console": "faradisc serve --console, or faradisc console --url URL",
    }


async def _heat(page: PageRequest) -> Any:
    """Returns the history of each resource's partitions, in order of keys; also takes a sample."""
    shown = await page.administration.capacity(page.name, page.region, page.account)
    history = page.pages.history
    history.observe(shown["now_ns"], shown["resources"].values())
    found = {}
    for name, resource in shown["resources"].items():
        pasts, slots = history.of(resource["arn"])
        found[name] = {"slot_s": SLOT_S, "slots": slots, "partitions": [asdict(past) for past in pasts]}
    return found


async def _advance(page: PageRequest) -> Any:
    wanted = page.body()
    for name in wanted:
        if name != "advance_s":
            raise AdminError(f"There is no setting {name!r} to change.")
    return await page.administration.advance(wanted.get("advance_s"))


def _places(page: PageRequest) -> Places:
    if page.database.places is None:
        raise AdminError("All tables are at one place: --store names one PostgreSQL, or there is none.")
    return page.database.places


async def _listed_places(page: PageRequest) -> Any:
    places = _places(page)
    if page.query_string == "balance":
        return {"proposals": [{"table": name, "to": number} for name, number in await places.proposals()]}
    return await places.document()


def _copy(page: PageRequest) -> Any:
    if page.database.copy is None:
        raise AdminError(_NO_COPY)
    return page.database.copy.document()


async def _copy_object(page: PageRequest) -> HttpResponse:
    """Returns an object of the copy, for a standby that follows this address."""
    return await _of_copy(page, lambda place: place.get(page.name)[0])


async def _copy_names(page: PageRequest) -> HttpResponse:
    return await _of_copy(page, lambda place: orjson.dumps(place.names(f"{page.name}/")))


async def _of_copy(page: PageRequest, read: Callable[[CopyPlace], bytes]) -> HttpResponse:
    from faradisc.engine.objects.api import BucketError, NoSuchKey  # noqa: PLC0415 - few servers copy

    if page.database.copy is None:
        raise AdminError(_NO_COPY)
    try:
        return HttpResponse(200, await asyncio.to_thread(read, page.database.copy.place), _BINARY, None, None)
    except BucketError as error:
        status = 404 if isinstance(error, NoSuchKey) else 502
        return _answer({"error": str(error), "code": error.code}, status)


async def _promote(page: PageRequest) -> Any:
    wanted = page.body()
    copy = page.database.copy
    if copy is None or (wanted.get("promote") is not True and wanted.get("hand_over") is not True):
        raise AdminError('Only a server with a continuous copy takes {"promote": true}.')
    if wanted.get("hand_over"):
        return await copy.hand_over(wanted.get("done") is True)
    return await copy.promote(wanted.get("confirmed") is True)


async def _reset(page: PageRequest) -> Any:
    if page.pages.reset is None:
        raise AdminError("Only data in memory can be reset: serve with --memory.")
    await page.pages.reset()
    page.pages.history = HeatHistory()
    return {"reset": True}


async def _change_places(page: PageRequest) -> Any:
    return await _places(page).change(page.body())


async def _answer_peer(page: PageRequest) -> HttpResponse:
    answer = await page.administration.answer_peer(page.body())
    return HttpResponse(200, orjson.dumps(answer), _JSON, None, None)


def _begin_check(page: PageRequest) -> HttpResponse:
    begun = page.database.checks.begin()
    return _answer(page.database.checks.document(), 202 if begun else 409)


def _metrics(page: PageRequest) -> HttpResponse:
    from faradisc.server.exposition import CONTENT_TYPE, exposition  # noqa: PLC0415 - at the first scrape

    return HttpResponse(
        200,
        exposition(
            page.database.accounts(),
            page.pages.load,
            page.database.store_figures(),
            page.database.places,
            page.database.copy,
        ),
        CONTENT_TYPE,
        None,
        None,
    )


_PAGES: Final[dict[str, dict[str, Handler]]] = {
    "": {"GET": _listed},
    "tables": {"GET": lambda page: page.administration.tables(page.region, page.account)},
    "capacity/": {
        "GET": lambda page: page.administration.capacity(page.name, page.region, page.account),
        "POST": lambda page: page.administration.change_capacity(
            page.name, page.region, page.account, page.body()
        ),
    },
    "heat/": {"GET": _heat},
    "events": {"GET": lambda page: page.administration.events()},
    "clock": {"GET": lambda page: page.administration.clock(), "POST": _advance},
    "jobs": {"GET": lambda page: page.administration.jobs(page.region, page.account)},
    "nodes": {"GET": lambda page: page.administration.nodes()},
    "copy": {"GET": _copy, "POST": _promote},
    "copy-objects/": {"GET": _copy_object},
    "copy-names/": {"GET": _copy_names},
    "places": {"GET": _listed_places, "POST": _change_places},
    "replication": {
        "GET": lambda page: page.administration.replication(),
        "POST": lambda page: page.administration.change_links(page.body()),
    },
    "peers": {"GET": lambda page: page.administration.peers(), "POST": _answer_peer},
    "late-reads": {
        "GET": lambda page: page.administration.late_reads(),
        "POST": lambda page: page.administration.change_late_reads(page.body()),
    },
    "faults": {
        "GET": lambda page: page.administration.faults(),
        "POST": lambda page: page.administration.change_faults(page.body()),
    },
    "expire": {"POST": lambda page: page.administration.expire_now()},
    "reset": {"POST": _reset},
    "check": {"GET": lambda page: page.database.checks.document(), "POST": _begin_check},
    "metrics": {"GET": _metrics},
}
"""By the first part of the path; "/" after it means that the name of a table follows."""
