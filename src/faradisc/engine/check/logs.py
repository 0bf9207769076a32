"""Checks the logs of streams and of changes captured for Kinesis: numbers without a gap, readable entries.

Old entries are trimmed, so a log can begin at any number; from there on every number up to the part's counter
must exist. With a gap, readers miss a record; with a counter below the log, a number is assigned twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from faradisc.engine.check.inventory import Inventory, name_of, stream_name
from faradisc.engine.check.items import key_words, read_item
from faradisc.engine.check.problems import LOST, Problem, Report, Tally
from faradisc.engine.check.reading import log_pages
from faradisc.engine.streams.records import Entry, parse_entry
from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.layout import TableLayout
from faradisc.model.codec.keyspace import HASH_BYTES, parts_of, slot_shift
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Part, ReadOnlyStore

ENTRIES_LOST = "nothing: lost log entries cannot be derived from other data"


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


async def verify_stream(
    store: ReadOnlyStore, state: StreamState, inventory: Inventory, report: Report
) -> AsyncIterator[None]:
    where = stream_name(state)
    tally = report.tally(where, "stream")
    key = KeySchema.of_elements(state.key_schema, state.types)
    report.add_all(_lineage_problems(where, state, inventory))
    for slot, part in enumerate(parts_of(state.resource, state.slots)):
        walk = LogWalk(where, slot, state.slots, key)
        counter = inventory.counter(part)
        ends = {each.last for each in state.shards if each.slot == slot}
        async for entries in _entries(store, walk, part, counter, tally=tally, report=report):
            report.add_all(
                Problem(
                    where,
                    "a shard ends without the entry that closes it",
                    ENTRIES_LOST,
                    f"slot {slot}, {sequence}",
                )
                for sequence, entry in entries
                if sequence in ends and entry[1:2] != b"\x00"
            )
            yield


async def verify_captured(
    store: ReadOnlyStore, table: TableLayout, resource: int, inventory: Inventory, report: Report
) -> AsyncIterator[None]:
    where = f"{name_of(table)}, changes captured for Kinesis"
    tally = report.tally(where, "capture")
    for slot, part in enumerate(parts_of(resource, table.state.slots)):
        walk = LogWalk(where, slot, table.state.slots, table.key)
        counter = inventory.counter(part)
        async for _ in _entries(store, walk, part, counter, tally=tally, report=report):
            yield


async def _entries(
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


def _lineage_problems(where: str, state: StreamState, inventory: Inventory) -> Iterator[Problem]:
    """Checks that children follow their parents, and that the open shards cover every slot once."""
    if not state.shards:
        yield Problem(where, "it has no shards", LOST)
        return
    parts = parts_of(state.resource, state.slots)
    by_id = {shard.id: shard for shard in state.shards}
    for shard in state.shards:
        parent = by_id.get(shard.parent_id or "")
        if parent is not None and not (
            parent.slot == shard.slot
            and parent.last == shard.first - 1
            and parent.ended_ns == shard.began_ns
            and parent.low <= shard.low
            and (parent.high is None or (shard.high is not None and shard.high <= parent.high))
        ):
            yield Problem(where, "a shard does not follow its parent", LOST, shard.id)
        if (
            inventory.lists_parts
            and shard.slot < state.slots
            and shard.first > inventory.parts.get(parts[shard.slot], 0) + 1
        ):
            yield Problem(where, "a shard begins after the end of its log", ENTRIES_LOST, shard.id)
    open_ = sorted((each for each in state.shards if each.last is None), key=lambda each: each.low)
    ranges = [(shard.low, shard.high) for shard in open_]
    shift = slot_shift(state.slots)
    if [b"", *(high for _, high in ranges)] != [*(low for low, _ in ranges), None] or any(
        each.slot != int.from_bytes(each.low[:1], "big") >> shift for each in open_
    ):
        yield Problem(where, "its open shards do not cover all items once, each in its slot", LOST)
