"""On-demand capacity: the doubling rule, and warm throughput.

An on-demand resource serves up to twice its previous peak at once. A peak, the average of one minute,
counts as previous half an hour after it was reached. What it serves never falls. There is no bucket behind
this: when capacity grows, partitions are added, and too few of them are what a client notices.

Source: capacity.md section 2.8; vectors V82, V83, V104 to V106.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faradisc.capacity.config import UNIT
from faradisc.limits import ON_DEMAND_READ_UNITS_INITIAL, ON_DEMAND_WRITE_UNITS_INITIAL


class Growth:
    """The doubling rule for one direction of one resource.

    Only a minute above all earlier ones can ever matter, so the peaks that wait to count ascend.
    """

    __slots__ = ("growth_ns", "initial", "previous", "quota", "waiting")

    def __init__(self, initial: int, quota: int, growth_ns: int) -> None:
        self.initial = initial
        """Units per second served from the beginning."""
        self.quota = quota
        self.growth_ns = growth_ns
        self.previous = 0
        """The previous peak, in nano-units per second."""
        self.waiting: deque[tuple[int, int]] = deque()
        """(beginning of the minute, nano-units per second), both ascending."""

    def observe(self, minute_ns: int, nano_per_s: int) -> None:
        """A minute has ended in which so much was consumed per second on average."""
        highest = self.waiting[-1][1] if self.waiting else max(self.previous, self.initial * UNIT // 2)
        if nano_per_s > highest:
            self.waiting.append((minute_ns, nano_per_s))

    def capacity(self, now: int) -> int:
        """Units per second served at `now`. Amortised O(1)."""
        while self.waiting and self.waiting[0][0] <= now - self.growth_ns:
            self.previous = max(self.previous, self.waiting.popleft()[1])
        return min(max(self.quota, self.initial), max(self.initial, 2 * self.previous // UNIT))

    def to_json(self) -> dict[str, Any]:
        return {
            "initial": self.initial,
            "previous": self.previous,
            "waiting": [list(peak) for peak in self.waiting],
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        self.initial, self.previous = stored["initial"], stored["previous"]
        self.waiting = deque((at, peak) for at, peak in stored["waiting"])


@dataclass(slots=True)
class Warm:
    """WarmThroughput of a resource: what it has been able to serve. Never falls."""

    read_units: int
    write_units: int
    target: tuple[int, int] | None = None
    """What a running raise will reach."""
    ready_ns: int = 0
    raised: bool = False
    """Whether it has been raised by request before; then a raise is quick."""

    @classmethod
    def of_provisioned(cls, read_units: int, write_units: int) -> Warm:
        return cls(read_units, write_units)

    @classmethod
    def of_on_demand(cls) -> Warm:
        return cls(ON_DEMAND_READ_UNITS_INITIAL, ON_DEMAND_WRITE_UNITS_INITIAL)

    def reach(self, read_units: int, write_units: int) -> bool:
        """At least so much is served. Returns whether that is more than before."""
        before = (self.read_units, self.write_units)
        self.read_units = max(self.read_units, read_units)
        self.write_units = max(self.write_units, write_units)
        return (self.read_units, self.write_units) != before

    @property
    def promised(self) -> tuple[int, int]:
        """What is served, or will be when a running raise has ended."""
        read_units, write_units = self.target or (0, 0)
        return max(self.read_units, read_units), max(self.write_units, write_units)

    def begin(self, read_units: int, write_units: int, ready_ns: int) -> None:
        """Begin a raise. Raises: ValueError for less than is promised (the caller words it)."""
        least_read, least_write = self.promised
        if read_units < least_read or write_units < least_write:
            raise ValueError("warm throughput is never lowered")
        self.target = (read_units, write_units)
        self.ready_ns = ready_ns

    def finish(self, now: int) -> bool:
        """End a raise that is ready. Returns whether one was."""
        if self.target is None or now < self.ready_ns:
            return False
        self.reach(*self.target)
        self.target = None
        self.raised = True
        return True

    def describe(self) -> dict[str, Any]:
        """The WarmThroughput member of DescribeTable."""
        return {
            "ReadUnitsPerSecond": self.read_units,
            "WriteUnitsPerSecond": self.write_units,
            "Status": "ACTIVE" if self.target is None else "UPDATING",
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "read_units": self.read_units,
            "write_units": self.write_units,
            "target": list(self.target) if self.target else None,
            "ready_ns": self.ready_ns,
            "raised": self.raised,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Warm:
        target = stored["target"]
        return cls(
            stored["read_units"],
            stored["write_units"],
            (target[0], target[1]) if target else None,
            stored["ready_ns"],
            stored["raised"],
        )


def initial_on_demand(highest_read: int, highest_write: int) -> tuple[int, int]:
    """What a resource serves right after a switch to on demand (V106): the initial capacity, or the most
    that was ever provisioned."""
    return (
        max(ON_DEMAND_READ_UNITS_INITIAL, highest_read),
        max(ON_DEMAND_WRITE_UNITS_INITIAL, highest_write),
    )
