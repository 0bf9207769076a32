"""The stream of a table: each change of an item is an entry in the log of its slot (streams/records.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from faradisc.engine.streams.records import ChangeRecorder
from faradisc.engine.tables.derived import CommitBatches, Derived, Kind, Live, WrittenItem
from faradisc.engine.tables.layout import TableLayout
from faradisc.storage.api import Part


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


class StreamKind(Kind):
    """The number of a stream is given with its first shards, by the catalog."""

    name = "stream"

    def of(self, table: TableLayout, live: Live) -> Iterable[Derived]:
        setting = table.state.stream
        if setting is None:
            return ()
        recorder = None if live.recorder is None else live.recorder(setting.resource)
        return (StreamLog(table, setting.resource, "stream", recorder),)
