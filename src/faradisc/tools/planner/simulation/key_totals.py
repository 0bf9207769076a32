"""The heaviest keys of one direction: their units in all and in the busiest second, their throttled attempts.

Memory is bounded: totals are kept in a space-saving sketch (metrics/sketch.py), peaks only of keys
that are in it.
"""

from __future__ import annotations

from faradisc.capacity.config import HALF_UNIT, CapacityConfig
from faradisc.metrics.sketch import Sketch
from faradisc.records import dataclass

KEYS_KEPT = 1000
_PEAKS_MAX = 4 * KEYS_KEPT


@dataclass(frozen=True, slots=True)
class KeyTotals:
    """The totals of one key."""

    name: str
    half_units: int
    peak_half: int
    offered: int
    throttled: int


class KeyTally:
    """Counts by key: first attempts, their units, and throttled attempts."""

    __slots__ = ("_offered", "_peaks", "_second", "_throttled", "_weights", "half_units", "load")

    def __init__(self) -> None:
        self._weights: Sketch[str] = Sketch(KEYS_KEPT)
        self._offered: Sketch[str] = Sketch(KEYS_KEPT)
        self._throttled: Sketch[str] = Sketch(KEYS_KEPT)
        self._peaks: dict[str, int] = {}
        self._second: dict[str, int] = {}
        self.half_units = 0
        """Of all first attempts, with and without a named key."""
        self.load = 0
        """Their cost to a partition, in nano-units: less for eventually consistent reads."""

    def offer(self, name: str, half_units: int) -> None:
        """Counts a first attempt of the present second."""
        self._second[name] = self._second.get(name, 0) + half_units
        self._offered.add(name, 1)

    def add(self, name: str, count: int, half_units: int) -> None:
        """Counts first attempts of any time, which cost so many half units each. See `add_peak`."""
        self._offered.add(name, count)
        self._weights.add(name, half_units * count)
        self._forget_light_peaks()

    def add_peak(self, name: str, half_units: int) -> None:
        """Notes the half units that a key was asked for in one second."""
        if half_units > self._peaks.get(name, 0):
            self._peaks[name] = half_units

    def throttle(self, name: str, count: int = 1) -> None:
        """Counts throttled attempts."""
        self._throttled.add(name, count)

    def end_second(self) -> None:
        if not self._second:
            return
        for name, half_units in self._second.items():
            self._weights.add(name, half_units)
            self.add_peak(name, half_units)
        self._second = {}
        self._forget_light_peaks()

    def limit_units(self, config: CapacityConfig, *, writes: bool) -> int:
        """Returns the units per second that one partition serves of such requests: it serves more of
        eventually consistent reads, which load it less."""
        cap = config.partition_write_units if writes else config.partition_read_units
        return cap * self.half_units * HALF_UNIT // self.load if self.load else cap

    def _forget_light_peaks(self) -> None:
        if len(self._peaks) > _PEAKS_MAX:
            kept = {heavy.key for heavy in self._weights.top()}
            self._peaks = {name: peak for name, peak in self._peaks.items() if name in kept}

    def top(self, count: int) -> list[KeyTotals]:
        """Returns the keys with the most units and those with the most throttled attempts, `count` of each at
        most, heaviest first; equal ones by name."""
        sketches = self._offered, self._throttled, self._weights
        offered, throttled, weights = (
            {heavy.key: heavy.least_weight for heavy in sketch.top()} for sketch in sketches
        )
        heaviest = sorted(weights, key=lambda name: (-weights[name], name))[:count]
        most_throttled = sorted(throttled, key=lambda name: (-throttled[name], name))[:count]
        names = heaviest + [name for name in most_throttled if name in weights and name not in heaviest]
        return [
            KeyTotals(
                name, weights[name], self._peaks.get(name, 0), offered.get(name, 0), throttled.get(name, 0)
            )
            for name in names
        ]
