"""Limits of one process over all its connections, and what happens beyond them.

Each connection has limits of its own (connection.py). Thousands of connections within them could still fill
the memory, or wait for a disk that is too slow. So three things are counted:

    connections       at the limit, the connection that has been idle longest is closed for a new one; when
                      one address beyond this machine has half of them, its own longest idle one is. If none
                      is idle, the new one is answered with 503 and closed; of these excess connections no
                      more than the limit are open at once, further ones are dropped
    waiting requests  beyond the limit (the disk stalls) a request is answered with 503, and its connection
                      stays open
    bytes             of unfinished bodies and unsent answers; beyond the limit a body that still grows is
                      answered with 503, and a client that does not read its answer is disconnected

503 is the answer of the service's front end under overload (errors.md section 1), and every AWS SDK sends
the request again after a pause. A request that is rejected here was not begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import Protocol

from faradisc.limits import KB, MB
from faradisc.protocol.http import HttpResponse

CONNECTIONS_MAX = 4096
WAITING_MAX = 2048
HELD_BYTES_MAX = 256 * MB
IDLE_FOUND_MAX = 64
"""Idle connections found in one pass over all connections."""
COUNTED_BYTES_MIN = 64 * KB
"""A connection with fewer bytes is not counted, so ordinary requests need no counting; the limit on
connections limits these bytes too."""

BUSY = HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))


@dataclass(slots=True)
class Load:
    """Counts of all connections of one listener, and their limits."""

    connections_max: int = CONNECTIONS_MAX
    """Open at once; one address may have half of them, unless it is this machine's own."""
    waiting_max: int = WAITING_MAX
    held_bytes_max: int = HELD_BYTES_MAX
    held_bytes: int = 0
    """Of unfinished bodies and unsent answers, of connections that hold COUNTED_BYTES_MIN."""
    excess: int = 0
    """Open connections beyond the limit, which are being rejected."""
    shed: int = 0
    """Connections and requests that were rejected for one of the limits."""

    def hold(self, before: int, after: int) -> bool:
        """Replaces a connection's `before` bytes by `after`. Returns False when the sum is over the limit."""
        self.held_bytes += after - before
        return after <= before or self.held_bytes <= self.held_bytes_max

    def is_share_exceeded(self, address: str, connections: int) -> bool:
        """Whether one address has more connections than its share."""
        own = not address or address.startswith("127.") or address == "::1"
        return connections > self.connections_max // 2 and not own


class IdleCandidate(Protocol):
    """A connection, as far as it matters for closing idle ones."""

    @property
    def address(self) -> str:
        """The client's, without its port."""

    @property
    def idle_since(self) -> int | None:
        """The tick since which it has had nothing to do; None while it has, or had in this tick."""

    def close_for_another(self) -> None:
        """Closes it and takes it out of the set of connections."""


class IdleConnections:
    """Finds the longest idle connections: many in one pass, because a flood of new ones closes many."""

    def __init__(self) -> None:
        self._found: dict[str | None, deque[IdleCandidate]] = {}

    def close_longest(self, connections: Collection[IdleCandidate], address: str | None) -> bool:
        """Closes the connection that has been idle longest, of one address or of all (None).

        Returns False when none is idle. A connection that had a request in this tick is not idle: its client
        may be about to send the next one.
        """
        queue = self._found.setdefault(address, deque())
        for _ in range(2):
            while queue:
                connection = queue.popleft()
                if connection.idle_since is not None and connection in connections:
                    connection.close_for_another()
                    return True
            idle = [
                (since, connection)
                for connection in connections
                if (since := connection.idle_since) is not None
                and (address is None or connection.address == address)
            ]
            queue.extend(each for _, each in nsmallest(IDLE_FOUND_MAX, idle, key=itemgetter(0)))
        return False

    def forget(self, address: str) -> None:
        """Drops what was found of an address that has no connection left."""
        self._found.pop(address, None)
