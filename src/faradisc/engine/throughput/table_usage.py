"""How requests on one table use throughput: counted only, or admitted and charged.

A read or write of one item that concerns the table alone takes one call, `read` or `write`. Everything else
is several charges, which are all admitted before any of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from faradisc.capacity.admission import Charge, Limiter, admit, take_all
from faradisc.capacity.throttle import Throttle


class RequestTime:
    """When the present request began, by a clock that may step backwards. A request sets it at its start, so
    that charges on credit need not read the clock."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class TableUsage(Protocol):
    """Costs are in half units. A method that returns a Throttle has charged nothing."""

    def read(self, row_key: bytes, half_units: int, eventual: bool) -> Throttle | None: ...

    def write(self, row_key: bytes, half_units: int) -> Throttle | None: ...

    def admit(self, charges: Sequence[Charge], now: int) -> Throttle | None: ...

    def take(self, charges: Sequence[Charge], now: int) -> None: ...


class CountingUsage:
    """Counts costs for the metrics. A request costs one dictionary update, and none is throttled."""

    __slots__ = ("_read_counts", "_write_counts")

    def __init__(self, reads: Limiter, writes: Limiter) -> None:
        self._read_counts = reads.counts
        self._write_counts = writes.counts

    def read(self, row_key: bytes, half_units: int, eventual: bool) -> None:
        self._read_counts[half_units] += 1

    def write(self, row_key: bytes, half_units: int) -> None:
        self._write_counts[half_units] += 1

    def admit(self, charges: Sequence[Charge], now: int) -> None:
        pass

    def take(self, charges: Sequence[Charge], now: int) -> None:
        for charge in charges:
            if charge.half_units:
                charge.limiter.counts[charge.half_units] += 1


class EnforcingUsage:
    """Admits requests and takes their cost. Most reads and writes of one item are charged on credit, with a
    few operations on integers (`Limiter.spend`)."""

    __slots__ = ("_due", "_now", "_reads", "_request_time", "_writes")

    def __init__(
        self,
        reads: Limiter,
        writes: Limiter,
        request_time: RequestTime,
        now: Callable[[], int],
        due: Callable[[], int],
    ) -> None:
        """now: reads the clock. due: returns when the capacity model must be given the time again."""
        self._reads = reads
        self._writes = writes
        self._request_time = request_time
        self._now = now
        self._due = due

    def read(self, row_key: bytes, half_units: int, eventual: bool) -> Throttle | None:
        if self._reads.spend(row_key, half_units, self._request_time.now, eventual):
            return None
        return self._charge(self._reads, row_key, half_units, eventual)

    def write(self, row_key: bytes, half_units: int) -> Throttle | None:
        if self._writes.spend(row_key, half_units, self._request_time.now):
            return None
        return self._charge(self._writes, row_key, half_units, False)

    def _charge(self, limiter: Limiter, row_key: bytes, half_units: int, eventual: bool) -> Throttle | None:
        now = self._now()
        if limiter.charge(row_key, half_units, now, self._due(), eventual):
            return None
        return limiter.refuse(row_key, now)

    def admit(self, charges: Sequence[Charge], now: int) -> Throttle | None:
        return admit(charges, now)

    def take(self, charges: Sequence[Charge], now: int) -> None:
        take_all(charges, now)
