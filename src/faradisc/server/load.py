"""Limits of one process over all its connections, and what happens beyond them.

Each connection has limits of its own (connection.py). Thousands of connections within them could still fill
the memory, or wait for a disk that is too slow. So three things are counted:

    connections       beyond the limit a new one is answered with 503 and closed; of these excess
                      connections no more than the limit are open at once, further ones are dropped
    waiting requests  beyond the limit (the disk stalls) a request is answered with 503, and its connection
                      stays open
    bytes             of unfinished bodies and unsent answers; beyond the limit a body that still grows is
                      answered with 503, and a client that does not read its answer is disconnected

503 is the answer of the service's front end under overload (errors.md section 1), and every AWS SDK sends
the request again after a pause. A request that is rejected here was not begun.
"""

from __future__ import annotations

from dataclasses import dataclass

from faradisc.limits import KB, MB
from faradisc.protocol.http import HttpResponse

CONNECTIONS_MAX = 4096
WAITING_MAX = 2048
HELD_BYTES_MAX = 256 * MB
COUNTED_BYTES_MIN = 64 * KB
"""A connection with fewer bytes is not counted, so ordinary requests need no counting; the limit on
connections limits these bytes too."""

BUSY = HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))


@dataclass(slots=True)
class Load:
    """Counts of all connections of one listener, and their limits."""

    connections_max: int = CONNECTIONS_MAX
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
