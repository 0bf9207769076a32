"""An HTTP endpoint in this process that records requests and gives configured answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fixtures.doubles import QuietRequests, serving

Respond = Callable[[Any], tuple[int, bytes]]


class Endpoint:
    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[Any] = []


@contextmanager
def endpoint(respond: Respond) -> Iterator[Endpoint]:
    """Starts an endpoint. `respond` returns status and body for the document of each POST."""

    class Requests(QuietRequests):
        def do_POST(self) -> None:
            document = json.loads(self.body())
            here.received.append(document)
            self.answer(*respond(document))

    with serving(Requests) as port:
        here = Endpoint(f"http://127.0.0.1:{port}/hook?x=1")
        yield here
