"""Addresses of HTTP servers in commands, settings and handlers."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def http_address(url: str) -> SplitResult:
    """Returns the parts of an http or https URL with a host and perhaps a port.

    Raises ValueError, whose text is a sentence without a full stop.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an open bracket, a port that is not a number
        usable = False
    if not usable:
        raise ValueError(f"{url!r} is not an http:// or https:// address")
    return parts


def completed(address: str) -> str:
    """Returns `http://localhost:8000` for `localhost:8000`."""
    return address if "//" in address else f"http://{address}"
