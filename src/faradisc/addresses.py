"""Addresses of HTTP servers, as people write them in commands, settings and handlers."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def http_address(url: str) -> SplitResult:
    """The parts of a URL that a client of HTTP can use: http or https, a host, and maybe a port.

    Raises: ValueError, whose text says so without a full stop.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without an end, a port that is no number
        usable = False
    if not usable:
        raise ValueError(f"{url!r} is no http:// or https:// address")
    return parts


def completed(address: str) -> str:
    """`localhost:8000` is an http:// address."""
    return address if "//" in address else f"http://{address}"
