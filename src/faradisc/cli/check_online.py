"""`faradisc check --url URL`: ask a running server to check itself, and wait for its report.

POST /_faradisc/check    begins a check; 202, or 409 while one is under way, which then is waited for
GET  /_faradisc/check    200 with its state: status none, running, done or failed, and the report so far
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import urlsplit

PATH = "/_faradisc/check"
PAUSE_S = 0.2
TIMEOUT_S = 30.0


def check_online(url: str, fail: Callable[[str], NoReturn]) -> dict[str, Any]:
    """The report of the server's check; `fail` gets the sentence when there is none."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    if parts.scheme not in ("", "http", "https") or not parts.hostname:
        fail(f"{url!r} is no http:// or https:// address.")
    secure = parts.scheme == "https"
    make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = make(parts.hostname, parts.port or (443 if secure else 80), timeout=TIMEOUT_S)
    pause = threading.Event()
    try:
        status, _ = _ask(connection, "POST")
        if status not in (202, 409):
            fail(
                f"{url} answered {status} to POST {PATH}: it is no Faradisc server, or its "
                "administration is not open to this address."
            )
        while True:
            status, document = _ask(connection, "GET")
            if status != 200:
                fail(f"{url} answered {status} to GET {PATH}.")
            if document["status"] == "done":
                return {"place": url, **document}
            if document["status"] != "running":
                fail(f"The server could not check its data: {document.get('reason', document['status'])}")
            pause.wait(PAUSE_S)
    except (OSError, http.client.HTTPException) as error:
        fail(f"{url} does not answer: {error}")
    except (ValueError, KeyError, TypeError) as error:
        fail(f"{url} answered what no Faradisc server does: {error!r}")
    finally:
        connection.close()


def _ask(connection: http.client.HTTPConnection, method: str) -> tuple[int, dict[str, Any]]:
    asked = b"{}" if method == "POST" else None
    connection.request(method, PATH, asked, {"Content-Type": "application/json"} if asked else {})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, json.loads(body) if answer.status == 200 else {}
