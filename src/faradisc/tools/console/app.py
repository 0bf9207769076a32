"""Serves the console on a loopback address; requests with a foreign Host or Origin are refused.

A page of another site must not reach the console through the reader's browser: a Host that is not this
machine (DNS rebinding) and an Origin other than the Host are answered 403, WebSockets included. Nor may it
lay the console in a frame under buttons of its own: every answer forbids frames.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from faradisc.clock import SystemEntropy

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
NO_FRAMES = ((b"content-security-policy", b"frame-ancestors 'none'"), (b"x-frame-options", b"DENY"))
"""Headers of every answer; the second is for browsers that do not know the first."""
RECONNECT_S = 60.0
"""Seconds for which a page without a connection is kept, with what is staged on it."""

BINDING_S = 1.0
"""Seconds that all fields may take to follow their queries before a line on the terminal says so."""


class ConsoleError(Exception):
    """Raised when the console cannot start; the text is a sentence for the user."""


class OwnOrigin:
    """Refuses requests for foreign hosts, those of other sites' pages, and frames."""

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def unframed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *NO_FRAMES]
            await send(message)

        if scope["type"] not in ("http", "websocket") or self._accepted(dict(scope["headers"])):
            await self._app(scope, receive, unframed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"text/plain")]
            await unframed({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": b"The console is for this machine.\n"})

    def _accepted(self, headers: dict[bytes, bytes]) -> bool:
        host = headers.get(b"host", b"").decode("latin-1")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        origin = headers.get(b"origin")
        return name in self._hosts and (
            origin is None or origin.decode("latin-1").partition("://")[2] == host
        )


def bound(host: str, port: int) -> socket.socket:
    """Returns a listening socket; port 0 takes any. Raises ConsoleError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise ConsoleError(
            f"The console cannot listen on {host}:{port}: {error.strerror or error}."
        ) from error
    return found


def serve(url: str | None, region: str, listener: socket.socket) -> None:
    """Serves until the process is asked to end. url: None for Amazon DynamoDB. Raises ConsoleError."""
    try:
        import uvicorn  # noqa: PLC0415 - an extra, and slow to import
        from fastapi import FastAPI  # noqa: PLC0415
        from fastapi.middleware.gzip import GZipMiddleware  # noqa: PLC0415
        from nicegui import binding, ui  # noqa: PLC0415
    except ImportError:
        raise ConsoleError("The console needs its extra: pip install 'faradisc[console]'.") from None
    from faradisc.tools.console import pages  # noqa: PLC0415
    from faradisc.tools.console.sessions import SESSIONS  # noqa: PLC0415

    SESSIONS.url, SESSIONS.region = url, region
    # NiceGUI warns on the terminal of any binding that takes ten milliseconds, as all do on a busy machine.
    binding.MAX_PROPAGATION_TIME = BINDING_S
    pages.register()
    served = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        served,
        title="Faradisc",
        storage_secret=SystemEntropy().token_bytes(16).hex(),
        show_welcome_message=False,
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT_S,
        # Tailwind takes the browser a fifth of a second; style.css has the few classes that are used.
        tailwind=False,
        # Level 9, the default, holds up all answers for 100 ms while a new browser fetches the scripts.
        gzip_middleware_factory=partial(GZipMiddleware, compresslevel=1),
    )
    hosts = LOCAL_HOSTS | {listener.getsockname()[0]}
    server = uvicorn.Server(
        uvicorn.Config(
            OwnOrigin(served, hosts), log_level="warning", access_log=False, ws_max_size=64 * 1024 * 1024
        )
    )
    server.run(sockets=[listener])
