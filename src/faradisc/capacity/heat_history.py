"""How hot partitions were in the last hour, in bounded memory: the past of the heat map.

Whoever serves the pages samples every few seconds what is warm (`watch`), and each look at a table adds what
it sees (`observe`). Slots without a sample stay unknown and are drawn as nothing. Two bytes per partition and
slot: at most RESOURCES_MAX x SLOTS x PARTITIONS_MAX of them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faradisc.capacity import inspect
from faradisc.capacity.heat import HEAT_STEP_S
from faradisc.capacity.resource import Resource

SLOT_S = HEAT_STEP_S
"""Heat is an average that changes as often."""
SLOTS = 360
"""An hour."""
PARTITIONS_MAX = 256
"""Of resources with more the past is not kept."""
RESOURCES_MAX = 32
"""Tables and indexes; the one not sampled for longest is forgotten."""

_SLOT_NS = SLOT_S * 1_000_000_000


@dataclass(frozen=True, slots=True)
class PartitionPast:
    """One partition in the kept slots."""

    name: str
    parent: str | None
    first: int
    """Its first slot."""
    used: list[float]
    """Percent of its limit by slot; -1: not known."""
    refused: list[float]
    """1 where something was refused."""


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
    born: dict[str, int]
    """And when, nanoseconds."""

    def is_of(self, partitions: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these are of the same table; False: it was made again under the same name."""
        return all(self.born.get(part["id"], part["born_ns"]) == part["born_ns"] for part in partitions)


class HeatHistory:
    def __init__(self) -> None:
        self._pasts: OrderedDict[str, _Past] = OrderedDict()
        """By ARN of the table or index."""

    def watch(self, now_ns: int, resources: Iterable[Resource]) -> None:
        """Take a sample of those that are warm: of known ones, and of the hottest others."""
        warm = [(warmth, each) for each in resources if (warmth := inspect.warmth(each))]
        warm.sort(key=lambda pair: (pair[1].arn not in self._pasts, -pair[0], pair[1].arn))
        for _, resource in warm[:RESOURCES_MAX]:
            self._observe(now_ns, inspect.heat(resource))

    def observe(self, now_ns: int, resources: Iterable[Mapping[str, Any]]) -> None:
        """Take a sample of resources as the admin API describes them."""
        for resource in resources:
            self._observe(now_ns, resource)

    def _observe(self, now_ns: int, resource: Mapping[str, Any]) -> None:
        arn, partitions, slot = resource["arn"], resource["partitions"], now_ns // _SLOT_NS
        if len(partitions) > PARTITIONS_MAX:
            self._pasts.pop(arn, None)
            return
        past = self._pasts.get(arn)
        if past is None or past.samples[-1].slot > slot or not past.is_of(partitions):
            # New, or a clock that was set back: what is known of the future means nothing.
            past = self._pasts[arn] = _Past(deque(maxlen=SLOTS), {}, {}, {}, {})
        self._pasts.move_to_end(arn)
        _sample(past, partitions, slot)
        while len(self._pasts) > RESOURCES_MAX:
            self._pasts.popitem(last=False)

    def of(self, arn: str) -> tuple[list[PartitionPast], int]:
        """The partitions of a table or index in the kept slots, in order of keys, and how many slots there
        are."""
        past = self._pasts.get(arn)
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
            PartitionPast(name, past.parents[name], first[name], used[name], refused[name]) for name in names
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
        past.born[part["id"]] = part["born_ns"]
    if len(past.order) > 4 * PARTITIONS_MAX:
        seen = {name for sample in past.samples for name in sample.names}
        past.parents = {name: parent for name, parent in past.parents.items() if name in seen}
        past.order = {name: low for name, low in past.order.items() if name in seen}
        past.born = {name: born_ns for name, born_ns in past.born.items() if name in seen}


def busiest(part: Mapping[str, Any]) -> float:
    """Percent of its limit that a partition uses, in the direction nearer to it."""
    return float(max(part["read"]["heat_percent"], part["write"]["heat_percent"]))
