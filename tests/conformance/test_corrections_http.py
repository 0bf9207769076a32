"""CORS headers as newer recordings of the service show them (service.md section 1)."""

from __future__ import annotations

import pytest

from faradisc.protocol.http import HttpRequest
from fixtures.in_process import InProcess, headers_of

ALLOWED, EXPOSED = b"Access-Control-Allow-Origin", b"Access-Control-Expose-Headers"


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "GET"])
def test_a_request_with_an_origin_has_headers_exposed(raw: InProcess, method: str) -> None:
    headers = headers_of("ListTables", {"origin": "http://localhost:3000"})
    answer = raw.local.answer(HttpRequest(method, b"/", headers, b"{}"))
    assert {ALLOWED, EXPOSED} <= {name for name, _ in answer.extra}


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "GET"])
def test_a_request_without_an_origin_has_no_cors_headers(raw: InProcess, method: str) -> None:
    answer = raw.local.answer(HttpRequest(method, b"/", headers_of("ListTables"), b"{}"))
    assert not [name for name, _ in answer.extra if name.startswith(b"Access-Control")]
