"""How hot partitions were in the last hour, in bounded memory: the past of the heat map.

`observe` takes a sample of tables and indexes as the admin API describes them. Slots without a sample are
unknown, and the heat map leaves them empty. A sample takes five bytes per partition, so all samples take at
most 5 x RESOURCES_MAX x SLOTS x PARTITIONS_MAX bytes.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faradisc.records import dataclass

SLOT_S = 10
"""As often as the consumption of partitions is measured (capacity/heat.py)."""
SLOTS = 360
"""An hour."""
PARTITIONS_MAX = 256
"""Resources with more partitions have no history."""
RESOURCES_MAX = 32
"""Tables and indexes; the one without a sample for longest is dropped."""

COUNT_MAX = 2**32 - 1

_SLOT_NS = SLOT_S * 1_000_000_000


@dataclass(frozen=True, slots=True)
class PartitionPast:
    """The samples of one partition."""

    name: str
    parent: str | None
    first: int
    """Its first slot."""
    used: list[float]
    """Percent of its limit by slot; -1: unknown."""
    throttled: list[float]
    """Throttled requests by slot."""


@dataclass(frozen=True, slots=True)
class _Sample:
    slot: int
    names: tuple[str, ...]
    """Partitions in order of keys."""
    percents: bytes
    """Percent of each partition's limit, at most 255."""
    throttled: array[int]
    """Requests that each partition throttled since the sample before; at most COUNT_MAX."""


@dataclass(slots=True)
class _ResourcePast:
    samples: deque[_Sample]
    throttled: dict[str, int]
    """Throttled requests so far, by partition, as of the last sample."""
    known: dict[str, tuple[str, str | None, int]]
    """First key, parent and time of creation of each partition, in nanoseconds."""

    def is_of(self, partitions: Sequence[Mapping[str, Any]]) -> bool:
        """Returns whether these partitions belong to the same table. False: the table was deleted and
        created again."""
        return all(
            part["id"] not in self.known or self.known[part["id"]][2] == part["born_ns"]
            for part in partitions
        )


class HeatHistory:
    def __init__(self) -> None:
        self._pasts: OrderedDict[str, _ResourcePast] = OrderedDict()
        """By ARN of the table or index."""

    def has(self, arn: str) -> bool:
        return arn in self._pasts

    def observe(self, now_ns: int, resources: Iterable[Mapping[str, Any]]) -> None:
        """Takes a sample of resources as the admin API describes them."""
        for resource in resources:
            self._observe(now_ns, resource)

    def _observe(self, now_ns: int, resource: Mapping[str, Any]) -> None:
        arn, partitions, slot = resource["arn"], resource["partitions"], now_ns // _SLOT_NS
        if len(partitions) > PARTITIONS_MAX:
            self._pasts.pop(arn, None)
            return
        past = self._pasts.get(arn)
        if past is None or past.samples[-1].slot > slot or not past.is_of(partitions):
            # New, or the clock was set back: samples of the future mean nothing.
            past = self._pasts[arn] = _ResourcePast(deque(maxlen=SLOTS), {}, {})
        self._pasts.move_to_end(arn)
        _sample(past, partitions, slot)
        while len(self._pasts) > RESOURCES_MAX:
            self._pasts.popitem(last=False)

    def of(self, arn: str) -> tuple[list[PartitionPast], int]:
        """Returns the partitions of a table or index in order of keys, and the number of slots."""
        past = self._pasts.get(arn)
        if past is None or not past.samples:
            return [], 0
        begin = past.samples[0].slot
        slots = past.samples[-1].slot - begin + 1
        used: dict[str, list[float]] = {}
        throttled: dict[str, list[float]] = {}
        first: dict[str, int] = {}
        for sample in past.samples:
            at = sample.slot - begin
            for name, percent, hurt in zip(sample.names, sample.percents, sample.throttled, strict=True):
                start = first.setdefault(name, at)
                _extend(used.setdefault(name, []), at - start, -1.0)[at - start] = percent
                _extend(throttled.setdefault(name, []), at - start, 0.0)[at - start] = hurt
        names = sorted(used, key=lambda name: past.known[name][0])
        return [
            PartitionPast(name, past.known[name][1], first[name], used[name], throttled[name])
            for name in names
        ], slots


def _extend(values: list[float], position: int, unknown: float) -> list[float]:
    """Lengthens a list so that it has this position."""
    values.extend([unknown] * (position + 1 - len(values)))
    return values


def _sample(past: _ResourcePast, partitions: Sequence[Mapping[str, Any]], slot: int) -> None:
    names = tuple(part["id"] for part in partitions)
    latest = past.samples[-1] if past.samples else None
    if latest is not None and latest.names == names:
        names = latest.names
    percents = bytes(min(255, max(0, round(busiest(part)))) for part in partitions)
    totals = {part["id"]: part["read"]["throttled"] + part["write"]["throttled"] for part in partitions}
    # What a partition throttled before its first sample belongs to this one if it is hardly older.
    new = {part["id"] for part in partitions if part["born_ns"] // _SLOT_NS >= slot - 1}
    before = {name: past.throttled.get(name, 0 if name in new else n) for name, n in totals.items()}
    throttled = array("I", (min(COUNT_MAX, max(0, n - before[name])) for name, n in totals.items()))
    if latest is not None and latest.slot == slot:
        past.samples.pop()
        if latest.names is names:
            percents = bytes(map(max, percents, latest.percents))
            throttled = array(
                "I", (min(COUNT_MAX, a + b) for a, b in zip(throttled, latest.throttled, strict=True))
            )
    past.samples.append(_Sample(slot, names, percents, throttled))
    while past.samples[0].slot <= slot - SLOTS:
        past.samples.popleft()
    past.throttled = totals
    for part in partitions:
        past.known[part["id"]] = part["low"], part["parent"], part["born_ns"]
    if len(past.known) > 4 * PARTITIONS_MAX:
        seen = {name for sample in past.samples for name in sample.names}
        past.known = {name: known for name, known in past.known.items() if name in seen}


def busiest(part: Mapping[str, Any]) -> float:
    """Returns the percentage of its limit that a partition used last, in the direction nearer to it."""
    return float(max(part["read"]["latest_percent"], part["write"]["latest_percent"]))
