"""Change capture for Kinesis destinations: the changes of a table's items until they are delivered.

Independent of the table's stream: entries have both images and times in microseconds, and are trimmed when
they are delivered. They are written in the item's own commit, to the log of the slot's part of the
destination's resource, in the format of a stream's log (engine/streams/records.py, docs/formats/capture.md).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from faradisc.clock import Clock
from faradisc.engine.derived.streams import ChangeLog, LogWalk, checked_entries, entry_of
from faradisc.engine.inspection.layouts import Layout
from faradisc.engine.inspection.reading import StoreLook
from faradisc.engine.streams.records import ChangeRecorder
from faradisc.engine.tables.derived import Derived, DerivedCheck, DerivedKind, LiveParts
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import UNASSIGNED, KinesisDestination, TableState
from faradisc.model.codec.keyspace import parts_of
from faradisc.storage.api import Part

TICK_NS = 1000


def capture_recorder(parts: tuple[Part, ...], clock: Clock) -> ChangeRecorder:
    """Returns what records the changes for one destination."""
    return ChangeRecorder(parts, "NEW_AND_OLD_IMAGES", clock, tick_ns=TICK_NS)


class Capture(ChangeLog):
    """The log of one destination. One that is disabled is not maintained, but delivered to its end."""

    def __init__(
        self, table: TableLayout, destination: KinesisDestination, resource: int, live: LiveParts
    ) -> None:
        self._parts = parts_of(resource, table.state.slots)
        recorder = capture_recorder(self._parts, live.clock)
        super().__init__(table, resource, "changes captured for Kinesis", recorder)
        self.destination = destination
        self.is_maintained = destination.enabled

    def parts(self) -> Sequence[Part]:
        return self._parts

    def layout(self) -> Layout:
        return Layout(self.where, entry=entry_of(self.table.named_placement, "us"))

    def verification(self, look: StoreLook) -> DerivedCheck:
        return CaptureVerification(self, look)


class CaptureVerification(DerivedCheck):
    def __init__(self, captured: Capture, look: StoreLook) -> None:
        self._captured = captured
        self._look = look

    async def rest(self) -> AsyncIterator[None]:
        captured, look = self._captured, self._look
        tally = look.report.tally(captured.where, "capture")
        for slot, part in enumerate(captured.parts()):
            walk = LogWalk(captured.where, slot, captured.table.state.slots, captured.table.key)
            counter = look.counter(part)
            async for _ in checked_entries(look.store, walk, part, counter, tally=tally, report=look.report):
                yield


class CaptureKind(DerivedKind):
    name = "capture"

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        return [
            Capture(table, each, each.resource, live)
            for each in table.state.kinesis
            if each.resource is not None
        ]

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        for each in state.kinesis:
            if each.resource == UNASSIGNED:
                each.resource = next(numbers)
