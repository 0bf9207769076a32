"""Decides whether a browser's page may use this server, by a request's Host, Origin and Sec-Fetch-Site.

A server that does not verify signatures would answer every page that a browser on this machine has open. So
it serves only requests that name this machine as their Host (another name that leads here is a site that
changed its address after its page was loaded: DNS rebinding), and only pages of local origins or of origins
that `--cors` names. Programs send neither Origin nor Sec-Fetch-Site.

Sources: the Fetch standard (Origin), W3C Fetch Metadata Request Headers (Sec-Fetch-Site).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Final

from faradisc.protocol.http import HttpRequest

_NUMERIC: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\]")
_LOOPBACK: Final = re.compile(r"127\.[0-9.]+|\[::1\]")
_KNOWN_HOSTS_MAX = 256


class OriginPolicy:
    """The hosts and the origins whose requests are served."""

    __slots__ = ("_any_origin", "_hosts", "_known_hosts", "_origins")

    def __init__(self, hosts: Container[str] | None, origins: Iterable[str] = ()) -> None:
        """hosts: accepted names in the Host header, besides numeric addresses and `localhost`; None: any.
        origins: accepted besides local ones, such as `https://app.example`; `*`: any."""
        self._hosts = hosts
        self._origins = frozenset(origin.lower() for origin in origins)
        self._any_origin = "*" in self._origins
        self._known_hosts: set[bytes | None] = {None}
        """Values of the Host header that were accepted, so that a request costs a look-up."""

    def rejection(self, request: HttpRequest) -> str | None:
        """Returns why a request is rejected, as a sentence; None when it is served."""
        headers = request.headers
        host = headers.get(b"host")
        if host not in self._known_hosts:
            if self._hosts is not None and not is_local(name := host_name(host)) and name not in self._hosts:
                return "This server is for this machine; use localhost, or start it with --host NAME."
            if len(self._known_hosts) < _KNOWN_HOSTS_MAX:
                self._known_hosts.add(host)
        origin = headers.get(b"origin")
        if origin is None:
            foreign = headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
        else:
            foreign = not self._serves(origin.decode("latin-1").lower(), host)
        if foreign and not self._any_origin:
            return "Pages of other sites may not use this server; --cors ORIGIN lets those of one site."
        return None

    def _serves(self, origin: str, host: bytes | None) -> bool:
        address = origin.partition("://")[2]
        name = host_name(address.encode("latin-1"))
        local = name == "localhost" or name.endswith(".localhost") or _LOOPBACK.fullmatch(name) is not None
        return local or origin in self._origins or (host is not None and address.encode("latin-1") == host)


def host_name(host: bytes | None) -> str:
    """Returns the name in a Host header, in lower case and without its port."""
    text = (host or b"").decode("latin-1").lower()
    return text.rpartition(":")[0] if re.search(r":[0-9]*$", text) else text


def is_local(name: str) -> bool:
    """Whether a host name needs no name server: it is missing, numeric or `localhost`."""
    return name in ("", "localhost") or name.endswith(".localhost") or _NUMERIC.fullmatch(name) is not None
