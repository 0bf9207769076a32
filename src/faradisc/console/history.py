"""What was seen of partitions in the last minutes, in bounded memory.

Each look at a table leaves a sample in the slot of its moment; slots without a look stay unknown and are
drawn as nothing. A byte per partition and slot: at most TABLES_MAX x SLOTS x PARTITIONS_MAX x 2 bytes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faradisc.charts.heatmap import Life

SLOT_S = 2
SLOTS = 300
"""Ten minutes."""
PARTITIONS_MAX = 256
"""Of resources with more the past is not kept."""
RESOURCES_MAX = 32
"""Tables and indexes; the one not looked at for longest is forgotten."""

_SLOT_NS = SLOT_S * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    slot: int
    names: tuple[str, ...]
    """Partitions in order of keys."""
    percents: bytes
    """Of their limits, at most 255."""
    hurt: bytes
    """1 where something was refused since the sample before."""


@dataclass(slots=True)
class _Past:
    samples: deque[Sample]
    throttled: dict[str, int]
    """Refusals so far, by partition, as of the last sample."""
    parents: dict[str, str | None]
    order: dict[str, str]
    """Where each partition begins."""


class History:
    def __init__(self) -> None:
        self._pasts: OrderedDict[tuple[str, str], _Past] = OrderedDict()

    def observe(self, described: Mapping[str, Any]) -> None:
        """Take a sample of every resource of a table, as the admin API describes it."""
        slot = described["now_ns"] // _SLOT_NS
        for index, resource in described["resources"].items():
            key = (described["table"], index)
            partitions = resource["partitions"]
            if len(partitions) > PARTITIONS_MAX:
                self._pasts.pop(key, None)
                continue
            past = self._pasts.get(key)
            if past is None or (past.samples and past.samples[-1].slot > slot):
                # New, or a clock that was set back: what is known of the future means nothing.
                past = self._pasts[key] = _Past(deque(maxlen=SLOTS), {}, {}, {})
            self._pasts.move_to_end(key)
            _sample(past, partitions, slot)
        while len(self._pasts) > RESOURCES_MAX:
            self._pasts.popitem(last=False)

    def lives(self, table: str, index: str) -> tuple[list[Life], int]:
        """The partitions seen in the kept slots, for a heat map, and how many slots there are."""
        past = self._pasts.get((table, index))
        if past is None or not past.samples:
            return [], 0
        begin = past.samples[0].slot
        slots = past.samples[-1].slot - begin + 1
        used: dict[str, list[float]] = {}
        refused: dict[str, list[float]] = {}
        first: dict[str, int] = {}
        for sample in past.samples:
            at = sample.slot - begin
            for name, percent, hurt in zip(sample.names, sample.percents, sample.hurt, strict=True):
                start = first.setdefault(name, at)
                _reach(used.setdefault(name, []), at - start, -1.0)[at - start] = percent
                _reach(refused.setdefault(name, []), at - start, 0.0)[at - start] = hurt
        names = sorted(used, key=lambda name: past.order[name])
        return [
            Life(name, past.parents[name], first[name], used[name], refused[name]) for name in names
        ], slots


def _reach(values: list[float], position: int, unknown: float) -> list[float]:
    """Lengthen a list so that it has this position."""
    values.extend([unknown] * (position + 1 - len(values)))
    return values


def _sample(past: _Past, partitions: Sequence[Mapping[str, Any]], slot: int) -> None:
    names = tuple(part["id"] for part in partitions)
    latest = past.samples[-1] if past.samples else None
    if latest is not None and latest.names == names:
        names = latest.names
    percents = bytes(min(255, max(0, round(busiest(part)))) for part in partitions)
    totals = {part["id"]: part["read"]["throttled"] + part["write"]["throttled"] for part in partitions}
    hurt = bytes(past.throttled.get(name, total) < total for name, total in totals.items())
    if latest is not None and latest.slot == slot:
        past.samples.pop()
        if latest.names is names:
            percents = bytes(map(max, percents, latest.percents))
            hurt = bytes(map(max, hurt, latest.hurt))
    past.samples.append(Sample(slot, names, percents, hurt))
    while past.samples[0].slot <= slot - SLOTS:
        past.samples.popleft()
    past.throttled = totals
    for part in partitions:
        past.parents[part["id"]] = part["parent"]
        past.order[part["id"]] = part["low"]
    if len(past.order) > 4 * PARTITIONS_MAX:
        seen = {name for sample in past.samples for name in sample.names}
        past.parents = {name: parent for name, parent in past.parents.items() if name in seen}
        past.order = {name: low for name, low in past.order.items() if name in seen}


def busiest(part: Mapping[str, Any]) -> float:
    """Percent of its limit that a partition uses, in the direction nearer to it."""
    return float(max(part["read"]["heat_percent"], part["write"]["heat_percent"]))
