"""The expected throughput of the throttled table, and its allowed changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from faradisc.model.codec.keyspace import SCALING_PART
from faradisc.storage.api import Batch, ReadOnlyStore
from faradisc.storage.immediate import run

GOVERNOR = "governor"
"""The strand of changes by hand."""
SERVICE = "work"
"""The strand of the background work."""
Units = tuple[int, int]
"""Read and write units per second; (0, 0) on demand."""
_DIMENSIONS = ("dynamodb:table:ReadCapacityUnits", "dynamodb:table:WriteCapacityUnits")


def asked_for(state: dict[str, Any]) -> Units:
    """Returns the throughput of the table, or the pending one while it is UPDATING."""
    return _units(state["pending"].get("throughput", state["throughput"]))


def may_show(state: dict[str, Any]) -> set[Units]:
    return {_units(state["throughput"]), asked_for(state)}


def _units(stored: dict[str, Any]) -> Units:
    return stored["read_units"], stored["write_units"]


class ThroughputAudit:
    def __init__(self, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self.changes = 0
        """How often the table's settings were committed, lost ones included."""
        self.wanted: Units = (0, 0)
        """What the change by hand that is under way asks for."""
        self.limits: dict[str, tuple[int, int]] = {}
        """Minimum and maximum of each target, by dimension."""
        self._replaced: dict[str, set[tuple[int, int]]] = {}
        """All limits that others have taken the place of, until the service has acted: a change that was
        decided within them may still be on its way."""
        self._steps: list[tuple[int, str, bool]] = []
        """Version, dimension, and whether limits were set then; otherwise it was changed by hand."""
        self.scaled = 0
        """How often auto scaling has changed the throughput."""

    def note_table(self, state: dict[str, Any], before: dict[str, Any], version: int, by: str) -> None:
        """Checks a commit of the table's state. by: the strand that made it."""
        self.changes += 1
        was, now = asked_for(before), asked_for(state)
        if now == was:
            return
        if by == GOVERNOR:
            self._steps += [(version, dimension, False) for dimension in _DIMENSIONS]
            if now != self.wanted:
                self._fail(f"{self.wanted} units were asked for, {now} were set")
        elif by == SERVICE:
            self.scaled += 1
            if now[0] != was[0] and now[1] != was[1]:
                self._fail(f"auto scaling moved both directions at once, from {was} to {now}")
            for dimension, old, new in zip(_DIMENSIONS, was, now, strict=True):
                low, high = self.limits.get(dimension, (old, old))
                if new != old and not low <= new <= high and not self._was_allowed(dimension, new):
                    self._fail(f"auto scaling set {dimension} from {old} to {new}, out of {low} to {high}")
            self._replaced.clear()
        else:
            self._fail(f"{by} has changed throughput from {was} to {now}")

    def _was_allowed(self, dimension: str, units: int) -> bool:
        return any(low <= units <= high for low, high in self._replaced.get(dimension, ()))

    def is_held(self, dimension: str) -> bool:
        """Returns whether a direction has limits and no client changed its throughput since."""
        held = [is_limit for _, which, is_limit in self._steps if which == dimension]
        return dimension in self.limits and held[-1:] == [True]

    def note_targets(self, batch: Batch, version: int, by: str) -> None:
        if by == GOVERNOR:
            for dimension, limits in self.limits.items():
                self._replaced.setdefault(dimension, set()).add(limits)
        else:
            self._replaced.clear()
        before = dict(self.limits)
        for key, payload in batch.puts:
            self._note_target(key, payload)
        changed = [dimension for dimension in self.limits if self.limits[dimension] != before.get(dimension)]
        self._steps += [(version, dimension, True) for dimension in changed]
        for key in batch.deletes:
            kind, *_, dimension = orjson.loads(key)
            if kind == "target":
                self.limits.pop(dimension, None)

    def crashed(self, disk: ReadOnlyStore, kept: int) -> None:
        """Continues from the stored targets after a crash."""
        self._steps = [step for step in self._steps if step[0] <= kept]
        self._replaced.clear()
        self.limits.clear()
        for key, (_, payload) in run(disk.range(SCALING_PART, None, None, limit=100_000)):
            self._note_target(key, payload)

    def _note_target(self, key: bytes, payload: bytes) -> None:
        kind, *_, dimension = orjson.loads(key)
        if kind == "target":
            document = orjson.loads(payload)
            self.limits[dimension] = (document["minimum"], document["maximum"])
