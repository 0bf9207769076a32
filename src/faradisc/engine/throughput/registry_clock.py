"""The time as the tables of one registry see it."""

from __future__ import annotations

from collections import deque

from faradisc.capacity.events import Event
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock
from faradisc.engine.throughput.table_usage import RequestTime


class RegistryClock:
    """A clock whose reading advances the capacity model: a request sees the partitions and balances of its
    own moment."""

    __slots__ = ("clock_now", "events", "read", "registry", "request_time")

    def __init__(self, registry: ResourceRegistry, clock: Clock, request_time: RequestTime) -> None:
        self.registry = registry
        self.request_time = request_time
        self.read = self.clock_now = clock.now_ns
        self.events: deque[Event] = deque()
        """Events that are not handled yet."""

    def now(self) -> int:
        now = self.read()
        if now >= self.registry.due:
            self.events.extend(self.registry.advance(now))
        return now

    def hold(self, moment: int | None) -> None:
        """Stops the time at a moment; None: follows the clock again."""
        self.read = self.clock_now if moment is None else lambda: moment
