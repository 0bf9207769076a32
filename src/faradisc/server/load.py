"""Limits of one process over all its connections, and what happens beyond them.

Each connection has limits of its own (connection.py). Thousands of connections within them could still fill
the memory, or wait for a disk that is too slow. So three things are counted:

    connections       at the limit, the connection that has been idle longest is closed for a new one, or
                      else the oldest unfinished head, or what has not moved for longest; when one address
                      beyond this machine has half of them, one of its own is. If all are at work, the new
                      one is answered with 503 and closed; of these excess connections no more than the
                      limit are open at once, further ones are dropped
    waiting requests  beyond the limit (the disk stalls) a request is answered with 503, and its connection
                      stays open
    bytes             of unfinished bodies and unsent answers; beyond the limit a body that still grows is
                      answered with 503, and a client that does not read its answer is disconnected

503 is the answer of the service's front end under overload (errors.md section 1), and every AWS SDK sends
the request again after a pause. A request that is rejected here was not begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from heapq import nsmallest
from operator import itemgetter
from typing import Protocol

from faradisc.limits import KB, MB
from faradisc.records import dataclass

CONNECTIONS_MAX = 4096
WAITING_MAX = 2048
HELD_BYTES_MAX = 256 * MB
BODY_BYTES_MAX = 128 * MB
"""Of the same, where a body grows: for each of its bytes, parsing may take as many again."""
FOUND_MAX = 64
"""Connections found in one pass over all of them."""
TICKS_MIN = 5
"""Of a limit of time when there are no connections left."""
COUNTED_BYTES_MIN = 64 * KB
"""A connection with fewer bytes is not counted, so ordinary requests need no counting; the limit on
connections limits these bytes too."""


@dataclass(slots=True)
class Load:
    """Counts of all connections of one listener, and their limits."""

    connections_max: int = CONNECTIONS_MAX
    """Open at once; one address may have half of them, unless it is this machine's own."""
    waiting_max: int = WAITING_MAX
    held_bytes_max: int = HELD_BYTES_MAX
    body_bytes_max: int = BODY_BYTES_MAX
    held_bytes: int = 0
    """Of unfinished bodies and unsent answers, of connections that hold COUNTED_BYTES_MIN."""
    excess: int = 0
    """Open connections beyond the limit, which are being rejected."""
    shed: int = 0
    """Connections and requests that were rejected for one of the limits."""
    now: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Returns how many connections are open, and how many requests wait for the store."""

    def hold(self, before: int, after: int, *, is_body: bool = False) -> bool:
        """Replaces a connection's `before` bytes by `after`. Returns False when the sum is over the limit."""
        self.held_bytes += after - before
        most = min(self.held_bytes_max, self.body_bytes_max) if is_body else self.held_bytes_max
        return after <= before or self.held_bytes <= most

    def shortened(self, ticks: int, connections: int) -> int:
        """Returns a limit of time, which is shorter the fewer connections are free, once half are not."""
        free = max(self.connections_max - connections, 0)
        return max(min(ticks * 2 * free // self.connections_max, ticks), min(ticks, TICKS_MIN))

    def is_share_exceeded(self, address: str, connections: int) -> bool:
        """Whether one address has more connections than its share."""
        return connections > self.connections_max // 2 and not is_own(address)


def is_own(address: str) -> bool:
    """Whether a client at an address is on this machine, where all clients have the same one."""
    return not address or address.startswith("127.") or address == "::1"


Rank = tuple[int, int]
"""Kind, and the tick since when: the lowest is closed first."""


class Candidate(Protocol):
    """A connection, as far as it matters for closing it for another."""

    @property
    def address(self) -> str:
        """The client's, without its port."""

    @property
    def rank(self) -> Rank | None:
        """None: it is not closed for another."""

    def close_for_another(self) -> None:
        """Closes it and takes it out of the connections."""


class Replaceable:
    """Finds connections to close: many in one pass, because a flood of new ones closes many."""

    def __init__(self) -> None:
        self._found: dict[str | None, deque[Candidate]] = {}

    def close_one(self, connections: Collection[Candidate], address: str | None) -> bool:
        """Closes the connection of the lowest rank, of one address or of all (None), of equal ones the first.

        Returns False when there is none.
        """
        queue = self._found.setdefault(address, deque())
        for _ in range(2):
            while queue:
                connection = queue.popleft()
                if connection.rank is not None and connection in connections:
                    connection.close_for_another()
                    return True
            ranked = [
                (rank, connection)
                for connection in connections
                if (rank := connection.rank) is not None
                and (address is None or connection.address == address)
            ]
            queue.extend(each for _, each in nsmallest(FOUND_MAX, ranked, key=itemgetter(0)))
        return False

    def forget(self, address: str) -> None:
        """Drops what was found of an address that has no connection left."""
        self._found.pop(address, None)
