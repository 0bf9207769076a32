"""The health pages, and answers before the database is open."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.clock import SeededEntropy
from faradisc.operations.call import Call
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.response import RequestIds
from faradisc.server.site import Site
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore


class Executor:
    region = "us-east-1"
    account = "000000000000"
    request_ids = RequestIds(SeededEntropy(1))
    store = MemoryStore()
    has_problems = False

    def problems(self) -> list[str]:
        return ["place 1, db/faradisc: it is away"] if self.has_problems else []

    def knows(self, operation: str) -> bool:
        return True

    async def run_large(self, work: Any, request: Any) -> Any:
        return work()

    async def yield_control(self) -> None:
        pass

    async def execute(self, call: Call) -> dict[str, Any]:
        return {}


def ask(site: Site, target: bytes, method: str = "GET") -> HttpResponse:
    return run(site.handle(HttpRequest(method, target, {}, b"")))


def site_in(state: str) -> Site:
    site = Site()
    if state != "starting":
        site.executor = Executor()
    site.draining = state == "draining"
    return site


@pytest.mark.parametrize("state", ["starting", "ready", "draining"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("query", [b"", b"?from=probe"])
def test_health_in_each_state(state: str, method: str, query: bytes) -> None:
    site = site_in(state)
    live = ask(site, b"/health/live" + query, method)
    assert (live.status, live.body, live.content_type) == (200, b'{"status":"live"}\n', b"application/json")
    ready = ask(site, b"/health/ready" + query, method)
    assert ready.status == (200 if state == "ready" else 503)
    assert ready.body == b'{"status":"%b"}\n' % state.encode()


def test_a_place_that_is_down_is_named_by_a_server_that_is_ready() -> None:
    site = site_in("ready")
    assert isinstance(site.executor, Executor)
    site.executor.has_problems = True
    ready = ask(site, b"/health/ready")
    assert ready.status == 200
    assert ready.body == b'{"status":"ready","problems":["place 1, db/faradisc: it is away"]}\n'
    assert ask(site, b"/health/live").body == b'{"status":"live"}\n'


def test_requests_before_the_database_is_open_get_503() -> None:
    site = site_in("starting")
    for target in (b"/", b"/other"):
        answer = ask(site, target, "POST")
        assert (answer.status, answer.body, answer.extra) == (503, b"", ((b"Retry-After", b"1"),))


@pytest.mark.parametrize("state", ["ready", "draining"])
def test_other_requests_go_to_the_database(state: str) -> None:
    site = site_in(state)
    assert ask(site, b"/").body == b"healthy: dynamodb.us-east-1.amazonaws.com "
    for method, target in (("GET", b"/health"), ("POST", b"/health/live"), ("GET", b"/health/ready/x")):
        assert ask(site, target, method).status == 404
