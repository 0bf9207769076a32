"""Sends JSON to an HTTP endpoint by POST."""

from __future__ import annotations

import http.client
import json
from typing import Any, NamedTuple

from faradisc.addresses import http_address


class Answer(NamedTuple):
    status: int
    body: bytes


class Poster:
    """Sends documents to one URL, each over a new connection: threads share no state, and a restart of the
    endpoint needs no special handling."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        """Raises ValueError for an invalid URL."""
        parts = http_address(url)
        self._connection = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._host, self._port = str(parts.hostname), parts.port
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout_s = timeout_s

    def post(self, document: Any) -> Answer:
        """Raises OSError, http.client.HTTPException."""
        connection = self._connection(self._host, self._port, timeout=self._timeout_s)
        try:
            body = json.dumps(document).encode()
            connection.request("POST", self._target, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        finally:
            connection.close()
