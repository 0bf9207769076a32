"""The caller of a request with a user's or a session's key."""

from __future__ import annotations

from faradisc.auth.identity import Identity
from faradisc.operations.call import Caller
from faradisc.protocol.http import HttpRequest


def caller_of(identity: Identity, request: HttpRequest) -> Caller:
    peer = request.peer
    return Caller(identity, peer.address, peer.is_tls, request.headers)
