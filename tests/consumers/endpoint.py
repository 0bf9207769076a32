"""An HTTP endpoint in this process: it keeps what it was sent, and answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[Any], tuple[int, bytes]]


class Endpoint:
    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[Any] = []


@contextmanager
def endpoint(respond: Respond) -> Iterator[Endpoint]:
    """`respond` gets each POST's document, and gives status and body."""

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            here.received.append(document)
            status, body = respond(document)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    here = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/hook?x=1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
