"""The caller of a request with a user's or a session's key."""

from __future__ import annotations

from faradisc.auth.identity import Identity
from faradisc.operations.call import Caller
from faradisc.protocol.http import HttpRequest


def caller_of(identity: Identity, request: HttpRequest) -> Caller:
    peer, headers = request.peer, request.headers
    return Caller(
        identity,
        peer.address,
        peer.is_tls,
        _text(headers.get(b"user-agent")),
        _text(headers.get(b"referer")),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
