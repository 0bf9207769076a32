"""`--rate-limit`, `--rate-limit-address`: requests per second of one principal, and from one address.

Token buckets that hold a second's requests, at least one. An address is tested before its signature is
verified, a principal afterwards: a user, each session of a role, or else an access key. Who asked for a
session is tested too, so that many sessions of one principal have the rate of one together.
"""

from __future__ import annotations

from typing import Final

from faradisc.auth.sigv4 import DYNAMODB, Authenticator, Credential, SignedRequest
from faradisc.clock import Clock
from faradisc.errors import ThrottlingException
from faradisc.protocol.http import HttpRequest

BUCKETS_MAX: Final = 10_000
"""Of each limit; beyond it the bucket that was made first is forgotten."""


class Buckets:
    """Token buckets of one rate."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._rate = rate
        self._most = max(rate, 1.0)
        self._clock = clock
        self._buckets: dict[str, tuple[float, int]] = {}
        """Tokens, and when they were counted."""

    def take(self, key: str) -> None:
        """Raises ThrottlingException when no token is left."""
        now_ns = self._clock.now_ns()
        tokens, counted_ns = self._buckets.get(key, (self._most, now_ns))
        tokens = min(self._most, tokens + (now_ns - counted_ns) * self._rate / 1e9)
        if tokens < 1:
            raise ThrottlingException("Rate exceeded")
        if key not in self._buckets and len(self._buckets) >= BUCKETS_MAX:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[key] = tokens - 1, now_ns


class LimitedAuthenticator:
    """Passes on requests within the limits. A limit of 0 is none."""

    def __init__(
        self, authenticate: Authenticator, clock: Clock, *, principal: float, address: float
    ) -> None:
        self._authenticate = authenticate
        self._principals = Buckets(principal, clock) if principal else None
        self._addresses = Buckets(address, clock) if address else None

    def __call__(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        """Raises ThrottlingException, and what the authenticator raises."""
        if self._addresses is not None and isinstance(request, HttpRequest):
            self._addresses.take(request.peer.address)
        credential = self._authenticate(request, service)
        if self._principals is not None:
            identity = credential.identity
            names = {credential.access_key_id if identity is None else identity.principal.arn}
            if identity is not None and identity.session is not None and identity.session.origin:
                names.add(identity.session.origin)
            for name in sorted(names):
                self._principals.take(name)
        return credential
