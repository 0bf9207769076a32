"""What the fluid engine goes by: steps of time, and where the requests of each second come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from faradisc.tools.planner.lots import StreamState
from faradisc.tools.planner.workload.key_distributions import ONE, Shape
from faradisc.tools.planner.workload.streams import Flow

Batch = tuple[StreamState, int, Shape]
"""The requests of one stream in one second: how many, and their keys."""


@dataclass(frozen=True, slots=True)
class Step:
    """A second, the part of one that lies between `begin` and `end` of 0..ONE, or several seconds alike."""

    second: int
    now: int
    lasting_ns: int
    begin: int = 0
    end: int = ONE
    seconds: int = 1
    has_tick: bool = False
    """Whether those who are refused come back in steps as short as this (tools/planner/waves.py)."""
    in_order: bool = False
    """Whether keys follow one another within it and partitions feel that (tools/planner/windows.py)."""

    @property
    def is_part(self) -> bool:
        return self.end - self.begin < ONE

    @property
    def is_long(self) -> bool:
        return self.seconds > 1

    @property
    def rest(self) -> float:
        """What part of those comes back in it who are still to come back in its second."""
        return 1.0 if self.has_tick else (self.end - self.begin) / (ONE - self.begin)


class Source(Protocol):
    """Where the requests of each second come from."""

    def alike(self, second: int, seconds: int) -> bool:
        """Whether so many seconds bring about as many requests each, for the same keys."""

    def take(self, second: int) -> Iterable[Batch]: ...


class Guest(Protocol):
    """What runs requests of other tables one by one, in the same seconds."""

    def run_second(self, end_ns: int) -> None: ...

    def finish(self) -> None: ...


class FlowSource:
    """A flow of the plan."""

    def __init__(self, flow: Flow, states: list[StreamState]) -> None:
        self._flow = flow
        self._states = states

    def alike(self, second: int, seconds: int) -> bool:
        return self._flow.alike(second, seconds)

    def take(self, second: int) -> Iterable[Batch]:
        first = self._flow.sequence
        total, counts, shape = self._flow.take(second)
        if total:
            for state in self._states:
                state.among = (first, total)
        return [(state, count, shape) for state, count in zip(self._states, counts, strict=True)]
