"""How much one process takes on, over all its connections together, and what it does about more.

Each connection has bounds of its own (connection.py). Thousands of connections that all stay within
theirs could still fill the memory, or wait for a disk that does not keep up. So three things are counted:

    connections       beyond the bound a new one is told 503 and closed; of these no more than the bound
                      are open at once, further ones are dropped
    waiting requests  beyond the bound (the disk stalls) a request is told 503, and its connection stays
    bytes             of bodies half read and of answers not taken; beyond the bound a body that still
                      grows is told 503, and a client that does not read its answer is cut off

503 is what the service's front end says when it has no room (errors.md section 1), and what every AWS
SDK sends again after a pause. A request that is refused here was not begun.
"""

from __future__ import annotations

from dataclasses import dataclass

from faradisc.limits import KB, MB
from faradisc.protocol.http import HttpResponse

CONNECTIONS_MAX = 4096
WAITING_MAX = 2048
HELD_BYTES_MAX = 256 * MB
COUNTED_BYTES_MIN = 64 * KB
"""Less than this of one connection is not counted, which spares ordinary requests the counting; the
bound on connections bounds it."""

BUSY = HttpResponse(503, b"", None, None, None, ((b"Retry-After", b"1"),))


@dataclass(slots=True)
class Load:
    """What the connections of one listener hold together, and the bounds."""

    connections_max: int = CONNECTIONS_MAX
    waiting_max: int = WAITING_MAX
    held_bytes_max: int = HELD_BYTES_MAX
    held_bytes: int = 0
    """Of bodies half read and of answers not taken, where a connection holds COUNTED_BYTES_MIN."""
    turned_away: int = 0
    """Open connections that were one too many, and are being told so."""
    shed: int = 0
    """Connections and requests that were refused for one of the bounds."""

    def hold(self, before: int, after: int) -> bool:
        """A connection holds `after` bytes where it held `before`. False: too much for all together."""
        self.held_bytes += after - before
        return after <= before or self.held_bytes <= self.held_bytes_max
