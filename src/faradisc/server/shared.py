"""What the connections of one listener share: their limits of time, in ticks, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.records import dataclass, field
from faradisc.server.load import Candidate, Load, Replaceable

IDLE_TICKS_MAX = 600
"""A connection without a request. Long, because a client that reuses one just as it closes sees an error."""
HEAD_TICKS_MAX = 60
"""From the first byte of a request to the end of its headers; less when connections run short."""
STALL_TICKS_MAX = 60
"""Without a byte of a body arriving, or of an answer leaving."""
BODY_TICKS_MAX = 600
"""From the end of the headers to the end of the body."""

SHORT_STALL_TICKS_MAX = 5
"""A body or an answer that has not moved for longer makes room for a new connection when there is none."""

Handler = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]


class Open(Candidate, Protocol):
    """A connection, as its listener uses it."""

    def expire(self) -> None: ...

    def drain(self) -> None: ...

    def abort(self) -> None: ...


@dataclass(slots=True)
class Shared:
    handle: Handler
    date: bytes = b""
    """Value of the Date header, renewed every tick."""
    ticks: int = 0
    draining: bool = False
    load: Load = field(default_factory=Load)
    connections: dict[Open, None] = field(default_factory=dict)
    """The open ones, oldest first."""
    by_address: Counter[str] = field(default_factory=Counter)
    """Open connections of each client's address."""
    replaceable: Replaceable = field(default_factory=Replaceable)
    waiting: int = 0
    """Requests that wait for the store, including those of closed connections."""
    on_quiet: Callable[[], None] = lambda: None
    """Called when a connection or a waiting request ends."""

    def __post_init__(self) -> None:
        self.load.now = lambda: (len(self.connections), self.waiting)
