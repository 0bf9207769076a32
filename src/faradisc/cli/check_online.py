"""`faradisc check --url URL`: starts a check on a running server and waits for its report.

POST /_faradisc/check    starts a check: 202; 409 while another one runs, whose report is awaited then
GET  /_faradisc/check    200 with the status none, running, done or failed, and the report so far
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any, NoReturn

from faradisc.errors import Unreachable
from faradisc.tools.transfer.endpoints import Remote

PATH = "/_faradisc/check"


def check_online(url: str, fail: Callable[[str], NoReturn]) -> dict[str, Any]:
    """Returns the report of the server's check; calls `fail` with a sentence when there is none."""
    try:
        with closing(Remote(url, None, local=True)) as server:
            status, _ = server.page("POST", PATH)
            if status not in (202, 409):
                fail(
                    f"{url} answered {status} to POST {PATH}: it is not a Faradisc server, or its "
                    "administration does not accept this address or these credentials."
                )
            while True:
                status, body = server.page("GET", PATH)
                if status != 200:
                    fail(f"{url} answered {status} to GET {PATH}.")
                document: dict[str, Any] = json.loads(body)
                if document["status"] == "done":
                    return {"place": url, **document}
                if document["status"] != "running":
                    fail(f"The server could not check its data: {document.get('reason', document['status'])}")
                server.wait()
    except Unreachable as error:
        fail(str(error))
    except (ValueError, KeyError, TypeError) as error:
        fail(f"{url} did not answer like a Faradisc server: {error!r}")
