"""Resolves and binds host and port.

The sockets are bound before anything is opened, so a port in use is reported at once and a free port
(`--port 0`) is known early.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence

FREE_PORT_ATTEMPTS = 8

_Address = tuple[int, str]
"""Address family and numeric host."""


class AddressError(Exception):
    """Raised when the host or the port cannot be used; the text is a sentence for the user."""


def resolve(host: str) -> list[_Address]:
    """Returns every numeric address of `host`, in the system's order of preference. Raises AddressError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a host name"
        raise AddressError(
            f"The host {host!r} cannot be found ({reason}); give --host an address of this machine, such as "
            "127.0.0.1."
        ) from error
    addresses = [(int(family), str(address[0])) for family, _, _, _, address in found]
    return list(dict.fromkeys(each for each in addresses if each[0] in (socket.AF_INET, socket.AF_INET6)))


def is_loopback(address: _Address) -> bool:
    """Whether only this machine can reach `address`."""
    family, host = address
    if family == socket.AF_INET:
        return host.startswith("127.")
    return host == "::1" or host.startswith("::ffff:127.")


def bind(host: str, addresses: Sequence[_Address], port: int, *, shared: bool = False) -> list[socket.socket]:
    """Returns one bound socket per address, all with the same port; port 0 means any free one.

    shared: with other processes that say the same. Raises AddressError.
    """
    attempts = 1 if port else FREE_PORT_ATTEMPTS
    for attempt in range(1, attempts + 1):
        bound: list[socket.socket] = []
        try:
            for family, numeric in addresses:
                chosen = port or (bound[0].getsockname()[1] if bound else 0)
                try:
                    bound.append(bind_one(family, numeric, chosen, shared=shared))
                except OSError as error:
                    # A name such as localhost may list an address family that this machine has turned off.
                    if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or len(addresses) == 1:
                        raise
            if bound:
                return bound
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        except OSError as error:
            for each in bound:
                each.close()
            if error.errno == errno.EADDRINUSE and attempt < attempts:
                continue
            raise AddressError(_explain(error, host, port)) from error
    raise AssertionError("unreachable: the last attempt returns or raises")


def bind_one(family: int, numeric: str, port: int, *, shared: bool = False) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # on Windows the option shares the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((numeric, port))
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


def _explain(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is in use by another program; stop that one or choose another port with "
            "--port (0 takes any free one)."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This user may not listen on port {port}; choose a port above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"The host {host} is no address of this machine; give --host one that is, such as 127.0.0.1."
    return f"Cannot listen on {host} port {port}: {error.strerror or error}."


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """Returns the URL for clients on this machine; the "any" addresses become loopback."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)
    if ":" in name and not name.startswith("["):
        name = f"[{name}]"
    return f"{scheme}://{name}:{port}"
