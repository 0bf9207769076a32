"""Contributor Insights: the most accessed and the most throttled keys, in bounded memory.

A table or index has up to four rules: partition keys (PK) and full keys (SK), by consumption (C) and by
throttling (T). Each rule counts one minute in a sketch and keeps the heaviest keys of ended minutes.

    accessed score = 3 x write units + read units, so a key at a full partition scores 180,000 a minute
    either way; throttled score = throttled requests for that key

A Query counts as one event, a batch as one per item; with a sort key each event counts in two rules. The
caller leaves out PartiQL, and requests that an index throttled for the table.

Source: capacity.md section 2.14; vectors V134 to V136.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from faradisc.metrics.sketch import Sketch
from faradisc.records import dataclass

Rule = Literal["PKC", "SKC", "PKT", "SKT"]
Mode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]

SKETCH_KEYS = 1000
RETAINED_KEYS = 100
RETAINED_MINUTES = 24 * 60

Key = tuple[str, ...]
"""(partition key,) or (partition key, sort key), as text."""


@dataclass(frozen=True, slots=True)
class Contribution:
    key: Key
    score: float
    error: float
    """By how much the score may be too large."""


@dataclass(slots=True)
class _Minute:
    at_ns: int
    events: int
    score: float
    top: list[Contribution]


class Insights:
    """The rules of one table or global index."""

    __slots__ = ("_ended", "_events", "_sketches", "created_ms", "mode", "name", "rules")

    def __init__(self, name: str, created_ms: int, *, sort_key: bool, mode: Mode) -> None:
        self.name = name
        """Name of the table, or of table and index, as in the names of rules."""
        self.created_ms = created_ms
        self.mode: Mode = mode
        accessed: tuple[Rule, ...] = ("PKC", "SKC") if sort_key else ("PKC",)
        throttled: tuple[Rule, ...] = ("PKT", "SKT") if sort_key else ("PKT",)
        self.rules: tuple[Rule, ...] = (
            (*accessed, *throttled) if mode == "ACCESSED_AND_THROTTLED_KEYS" else throttled
        )
        self._sketches: dict[Rule, Sketch[Key]] = {rule: Sketch(SKETCH_KEYS) for rule in self.rules}
        self._events: dict[Rule, int] = dict.fromkeys(self.rules, 0)
        self._ended: dict[Rule, deque[_Minute]] = {
            rule: deque(maxlen=RETAINED_MINUTES) for rule in self.rules
        }

    def rule_names(self) -> list[str]:
        return [f"DynamoDBContributorInsights-{rule}-{self.name}-{self.created_ms}" for rule in self.rules]

    def accessed(self, partition_key: str, sort_key: str | None, half_units: int, *, write: bool) -> None:
        """Counts a read or written item. Scores are kept in halves."""
        weight = half_units * 3 if write else half_units
        self._add("PKC", (partition_key,), weight)
        if sort_key is not None:
            self._add("SKC", (partition_key, sort_key), weight)

    def throttled(self, partition_key: str, sort_key: str | None) -> None:
        """Counts a throttled request for an item."""
        self._add("PKT", (partition_key,), 2)
        if sort_key is not None:
            self._add("SKT", (partition_key, sort_key), 2)

    def _add(self, rule: Rule, key: Key, weight: int) -> None:
        sketch = self._sketches.get(rule)
        if sketch is not None:
            sketch.add(key, weight)
            self._events[rule] += 1

    @property
    def events(self) -> int:
        """Events of the running minute over all rules, as the service bills them (V135)."""
        return sum(self._events.values())

    def end_minute(self, minute_ns: int) -> None:
        """Keeps the heaviest keys of the minute that began at `minute_ns` and starts the next one."""
        for rule, sketch in self._sketches.items():
            if sketch.total:
                top = [Contribution(h.key, h.weight / 2, h.error / 2) for h in sketch.top(RETAINED_KEYS)]
                self._ended[rule].append(_Minute(minute_ns, self._events[rule], sketch.total / 2, top))
            self._sketches[rule] = Sketch(SKETCH_KEYS)
            self._events[rule] = 0

    def top(self, rule: Rule, start_ns: int, end_ns: int, count: int = 10) -> list[Contribution]:
        """Returns the heaviest keys of the ended minutes from start (inclusive) to end (exclusive)."""
        scores: dict[Key, list[float]] = {}
        for minute in self._ended.get(rule, ()):
            if start_ns <= minute.at_ns < end_ns:
                for found in minute.top:
                    held = scores.setdefault(found.key, [0, 0])
                    held[0] += found.score
                    held[1] += found.error
        ranked = sorted(scores.items(), key=lambda entry: (-entry[1][0], entry[0]))
        return [Contribution(key, score, error) for key, (score, error) in ranked[:count]]

    def to_json(self) -> dict[str, Any]:
        """Returns the settings. Counts do not survive a restart."""
        return {
            "name": self.name,
            "created_ms": self.created_ms,
            "sort_key": "SKT" in self.rules,
            "mode": self.mode,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Insights:
        return cls(stored["name"], stored["created_ms"], sort_key=stored["sort_key"], mode=stored["mode"])
