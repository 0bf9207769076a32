"""The heaviest keys of a lane: how much they were asked for in all, in their busiest second, and refused.

Memory is bounded whatever a trace brings: totals are kept in a sketch (engine/metrics/sketch.py),
peaks only of keys that are in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from faradisc.engine.metrics.sketch import Sketch

KEYS_KEPT = 1000
_PEAKS_MAX = 4 * KEYS_KEPT


@dataclass(frozen=True, slots=True)
class KeyTotals:
    name: str
    half_units: int
    peak_half: int
    offered: int
    throttled: int


class KeyTally:
    __slots__ = ("_busy", "_offered", "_peaks", "_second", "_throttled", "_weights", "half_units", "load")

    def __init__(self) -> None:
        self._weights: Sketch[str] = Sketch(KEYS_KEPT)
        self._offered: Sketch[str] = Sketch(KEYS_KEPT)
        self._throttled: Sketch[str] = Sketch(KEYS_KEPT)
        self._peaks: dict[str, int] = {}
        self._second: dict[str, int] = {}
        self._busy: dict[str, int] = {}
        self.half_units = 0
        """Of all first attempts, named or not."""
        self.load = 0
        """What they cost a partition, in nano-units: less for eventually consistent reads."""

    def offer(self, name: str, half_units: int, count: int = 1) -> None:
        """First attempts at a key."""
        self._second[name] = self._second.get(name, 0) + half_units * count
        self._offered.add(name, count)

    # For callers that count in seconds, and tell of a key in sum:

    def busy(self, name: str, half_units: int) -> None:
        """What a key is asked for in this second. `total` tells how much that was in all."""
        self._busy[name] = self._busy.get(name, 0) + half_units

    def total(self, name: str, half_units: int, count: int) -> None:
        """So many first attempts at a key, of so many half units each."""
        self._offered.add(name, count)
        self._weights.add(name, half_units * count)
        self._forget_light()

    def throttle(self, name: str, count: int = 1) -> None:
        """Refused attempts at a key."""
        self._throttled.add(name, count)

    def end_second(self) -> None:
        peaks, weights = self._peaks, self._weights
        for name, half_units in self._busy.items():
            if half_units > peaks.get(name, 0):
                peaks[name] = half_units
        self._busy.clear()
        if not self._second:
            return
        for name, half_units in self._second.items():
            weights.add(name, half_units)
            if half_units > peaks.get(name, 0):
                peaks[name] = half_units
        self._second = {}
        self._forget_light()

    def _forget_light(self) -> None:
        if len(self._peaks) > _PEAKS_MAX:
            kept = {heavy.key for heavy in self._weights.top()}
            self._peaks = {name: peak for name, peak in self._peaks.items() if name in kept}

    def top(self, count: int) -> list[KeyTotals]:
        """The keys with the most units, and the most refused ones, heaviest first; equal ones by name."""
        offered = {heavy.key: heavy.least_weight for heavy in self._offered.top()}
        throttled = {heavy.key: heavy.least_weight for heavy in self._throttled.top()}
        weights = {heavy.key: heavy.least_weight for heavy in self._weights.top()}
        heaviest = sorted(weights, key=lambda name: (-weights[name], name))[:count]
        refused = sorted(throttled, key=lambda name: (-throttled[name], name))[:count]
        names = heaviest + [name for name in refused if name in weights and name not in heaviest]
        return [
            KeyTotals(
                name,
                weights[name],
                self._peaks.get(name, 0),
                offered.get(name, 0),
                throttled.get(name, 0),
            )
            for name in names
        ]
