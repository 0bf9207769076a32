"""What a store shows of itself, for metrics."""

from __future__ import annotations

from collections import Counter
from typing import Protocol, runtime_checkable

from faradisc.records import dataclass, field


@dataclass(slots=True)
class SyncTimes:
    """Durations of syncs of the log, counted in the thread that syncs and read in another."""

    seconds: float = 0.0
    counts: Counter[int] = field(default_factory=Counter)
    """By the power of two that their microseconds are at most."""

    def add(self, seconds: float) -> None:
        self.seconds += seconds
        self.counts[1 << max(int(seconds * 1e6) - 1, 0).bit_length()] += 1


@dataclass(frozen=True, slots=True)
class StoreFigures:
    gauges: dict[str, tuple[float, str]]
    """By the name of the metric: its value and its description."""
    syncs: SyncTimes


@runtime_checkable
class Measured(Protocol):
    """A store that has figures."""

    def figures(self) -> StoreFigures: ...
