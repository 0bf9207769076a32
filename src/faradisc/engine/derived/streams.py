"""The stream of a table: each change of an item is an entry in a log (engine/streams/records.py).

A check reads logs from their oldest entry on: old ones are trimmed, so a log can begin at any number; from
there on every number up to the part's counter must exist. With a gap, readers miss a record; with a counter
below the log, a number is assigned twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from faradisc.engine.inspection.layouts import Explain, Field, Fields, number, record, row_key_of, time
from faradisc.engine.inspection.problems import LOST, Problem, Report, Tally
from faradisc.engine.inspection.reading import log_pages
from faradisc.engine.inspection.words import key_words, read_item
from faradisc.engine.streams.records import ChangeRecorder, Entry, parse_entry
from faradisc.engine.tables.derived import CommitBatches, Derived, DerivedKind, LiveParts, WrittenItem
from faradisc.engine.tables.layout import TableLayout
from faradisc.model.codec.keyspace import HASH_BYTES, Placement, slot_shift
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Part, ReadOnlyStore

ENTRIES_LOST = "nothing: lost log entries cannot be derived from other data"


class ChangeLog(Derived):
    """A log of the changes of a table's items."""

    def __init__(
        self, table: TableLayout, resource: int, words: str, recorder: ChangeRecorder | None
    ) -> None:
        super().__init__(table, resource, words)
        self._recorder = recorder

    def add(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        assert self._recorder is not None, "a check writes nothing"
        table, change = self.table, written.change
        # Readers find the values of keys in the row keys, so the entries of all tables have these.
        named = table.named_placement.row_key(change.key) if table.hashed_keys else change.row_key
        part, entry = self._recorder.entry(
            named, written.old.record, written.new_record, by_service=change.by_service
        )
        batches[part].log.append(entry)


class StreamLog(ChangeLog):
    def parts(self) -> Sequence[Part]:
        """The log stays readable after the stream's end; engine/streams/registry.py clears it."""
        return ()


class StreamKind(DerivedKind):
    """The number of a stream is given with its first shards, by the catalog."""

    name = "stream"

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        setting = table.state.stream
        if setting is None:
            return ()
        recorder = None if live.recorder is None else live.recorder(setting.resource)
        return (StreamLog(table, setting.resource, "stream", recorder),)


# --- Checks --------------------------------------------------------------------------------------


class LogWalk:
    """Checks one part's log, entry by entry."""

    def __init__(self, where: str, slot: int, slots: int, key: KeySchema) -> None:
        self.where = where
        self.first: int | None = None
        self.last = 0
        self._slot = slot
        self._shift = slot_shift(slots)
        self._key = key

    def problems(self, sequence: int, entry: bytes) -> Iterator[Problem]:
        if self.first is None:
            self.first = sequence
        elif sequence != self.last + 1:
            missing = f"slot {self._slot}: {self.last + 1} to {sequence - 1}"
            yield Problem(self.where, "log entries are missing", ENTRIES_LOST, missing)
        self.last = sequence
        try:
            reason = self._reason(parse_entry(entry))
        except ValueError as error:
            reason = str(error)
        if reason:
            detail = f"slot {self._slot}, {sequence}: {reason}"
            yield Problem(self.where, "a log entry cannot be read", LOST, detail)

    def _reason(self, entry: Entry) -> str:
        """Returns why an entry is wrong; empty when it is not."""
        if entry.is_shard_end:
            return ""
        if len(entry.row_key) <= HASH_BYTES or key_words(self._key, entry.row_key).startswith("row key"):
            return "its row key is malformed"
        if entry.row_key[0] >> self._shift != self._slot:
            return "its item belongs to another slot"
        for name, image in (("new", entry.new), ("old", entry.old)):
            if image and read_item(image) is None:
                return f"its {name} image cannot be read"
        return ""

    def ending(self, counter: int | None) -> Iterator[Problem]:
        """Compares the end of the log with the part's counter; None: the counter is unknown."""
        if self.first is not None and counter is not None and self.last != counter:
            detail = f"slot {self._slot}: the last entry is {self.last}, the counter is {counter}"
            yield Problem(self.where, "the end of the log differs from its counter", ENTRIES_LOST, detail)


async def checked_entries(
    store: ReadOnlyStore, walk: LogWalk, part: Part, counter: int | None, *, tally: Tally, report: Report
) -> AsyncIterator[list[tuple[int, bytes]]]:
    """Yields the pages of a log, checked and counted."""
    async for entries in log_pages(store, part):
        for sequence, entry in entries:
            report.add_all(walk.problems(sequence, entry))
            tally.bytes += len(entry)
        tally.rows += len(entries)
        report.rows += len(entries)
        yield entries
    report.add_all(walk.ending(counter))


def entry_of(placement: Placement, unit: str) -> Explain:
    """unit: unit of time, ms in a stream and us in a captured log."""
    row_key = row_key_of(placement)

    def explain(data: bytes) -> Fields:
        try:
            entry = parse_entry(data)
        except ValueError as error:
            return [Field("unreadable", data, str(error))]
        what = (entry.name or "end of a shard") + (" by the service" if entry.by_service else "")
        fields = [
            number("format", data[:1]),
            Field("what", data[1:2], what),
            time("when", data[2:10], unit),
            number("key length", data[10:12], " bytes"),
            number("new length", data[12:16], " bytes"),
        ]
        if entry.row_key:
            fields += row_key(entry.row_key)
        for name, image in (("new", entry.new), ("old", entry.old)):
            if image:
                fields += [Field(f"{name} {each.name}", each.data, each.words) for each in record(image)]
        return fields

    return explain
