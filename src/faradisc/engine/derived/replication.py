"""What a replica of a global table has beside its items: who wrote them last, and what others must be sent.

A resource with rows and a log, in the slots of the table (docs/formats/replication.md):

    row      row key of the item -> stamp of its last writer; stays for a day when the item is deleted
    log      an entry for every write made in this region, in the item's own commit

A stamp is the moment of a write (8 bytes, big-endian, nanoseconds) and the region, so stamps compare as
bytes: the last writer wins, by time and then by region. A write gets the moment of its commit, or one after
that of the stamp that it replaces, so the stamps of an item rise whatever the clocks of servers say.

A write that arrives from another region brings its stamp (`Change.stamp`). It is not logged again. Where the
item has a newer stamp, `prepare` raises Superseded: whoever delivers leaves such writes out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from struct import Struct
from typing import NamedTuple

from faradisc.engine.derived.features import Feature, FeatureKind
from faradisc.engine.inspection.layouts import Field, Fields, Layout, number, record, rest, row_key_of, time
from faradisc.engine.inspection.problems import LOST
from faradisc.engine.inspection.reading import StoreLook, log_pages, pages
from faradisc.engine.inspection.words import read_item, row_words
from faradisc.engine.tables.derived import (
    CommitBatches,
    Derived,
    DerivedCheck,
    LiveParts,
    WrittenItem,
    find,
)
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.state import REPLICATION, FeatureState, TableState
from faradisc.engine.tables.table import Table
from faradisc.model.codec.keyspace import parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Part, Row, Store

TIME_BYTES = 8
CURSOR_BYTES_MAX = 14
"""Longest key of a cursor (engine/replication/delivery.py); row keys of items are longer."""
_ROWS = {
    b"\x00": "what has arrived from another replica",
    b"\x01": "what has arrived from another server",
    b"\x02": "what has arrived at another server",
}
_HEAD = Struct(">BHQ")
_FORMAT = 1


class Superseded(Exception):
    """A write has arrived after a newer one of its item."""


class Sent(NamedTuple):
    """A log entry: one write, as other regions get it."""

    row_key: bytes
    """Of the item, with the values of its key."""
    at_ns: int
    record: bytes
    """Of the new item; empty: it was deleted."""


def stamp_of(at_ns: int, region: str) -> bytes:
    return at_ns.to_bytes(TIME_BYTES, "big") + region.encode()


def stamp_time(stamp: bytes) -> int:
    return int.from_bytes(stamp[:TIME_BYTES], "big")


def entry_of(row_key: bytes, at_ns: int, record: bytes | None) -> bytes:
    return b"".join((_HEAD.pack(_FORMAT, len(row_key), at_ns), row_key, record or b""))


def parse_sent(entry: bytes) -> Sent:
    """Raises ValueError."""
    if len(entry) < _HEAD.size or entry[0] != _FORMAT:
        raise ValueError("an entry of another format")
    _, key_bytes, at_ns = _HEAD.unpack_from(entry)
    end = _HEAD.size + key_bytes
    if not key_bytes or len(entry) < end:
        raise ValueError("an entry that ends too early")
    return Sent(entry[_HEAD.size : end], at_ns, entry[end:])


class Replication(Feature):
    """Of one replica."""

    reads = True

    def __init__(self, table: TableLayout, feature: FeatureState, live: LiveParts) -> None:
        super().__init__(table, feature, "replication")
        self.is_filled = True
        self.slot_parts = parts_of(feature.resource, table.state.slots)
        self.group = ReplicaGroup.from_json(feature.settings)
        self._region = table.state.region.encode()
        self._others = len(self.group.replicas) - 1
        self._moments = live.moments
        self.shared = live.shared
        """Whether other nodes write too."""
        self.pending = [True] * table.state.slots
        """Per slot: whether the log may have entries to deliver. In memory only."""
        self._shift = slot_shift(table.state.slots)

    def parts(self) -> Sequence[Part]:
        return self.slot_parts

    def continues(self, before: Derived, /) -> None:
        assert isinstance(before, Replication)
        self.pending = before.pending

    def part_of(self, row_key: bytes) -> Part:
        return self.slot_parts[row_key[0] >> self._shift]

    async def stamps(self, store: Store, row_keys: Sequence[bytes]) -> list[Row | None]:
        """Returns the rows of stamps, in the order of the keys."""
        if len(row_keys) == 1:
            return await store.get(self.part_of(row_keys[0]), row_keys, for_update=True)
        found: dict[bytes, Row | None] = {}
        by_part: dict[Part, list[bytes]] = {}
        for key in row_keys:
            by_part.setdefault(self.part_of(key), []).append(key)
        for part, keys in by_part.items():
            found |= zip(keys, await store.get(part, keys, for_update=True), strict=True)
        return [found[key] for key in row_keys]

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        """Raises Superseded."""
        changed = [each.change for each in written if self._needs_stamp(each)]
        if not changed:
            return
        rows = await self.stamps(store, [change.row_key for change in changed])
        for change, row in zip(changed, rows, strict=True):
            if change.stamp is None:  # the time of its commit
                if row is not None:
                    batches.after_ns = max(batches.after_ns, stamp_time(row[1]))
            elif row is not None and row[1] >= change.stamp:
                raise Superseded
            if self.shared:
                # A write that arrives may change the stamp alone; the version of the item does not show that.
                checked = (change.row_key, 0 if row is None else row[0])
                batches[self.part_of(change.row_key)].checks.append(checked)
            for part, row_key, version, at_ns in change.elsewhere:
                batches[part].checks.append((row_key, version))
                batches.after_ns = max(batches.after_ns, at_ns)

    def _needs_stamp(self, written: WrittenItem) -> bool:
        """Whether a commit depends on the present stamp. That of an arrival was read before, and nothing
        comes between on an embedded store; on a shared one the write that a copy is of has it."""
        change = written.change
        if change.stamp is not None:
            return self.shared
        if change.together is not None:
            return not self.shared
        return written.new_record != written.old.record

    def add(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        change = written.change
        row_key, stamp = change.row_key, change.stamp
        slot = row_key[0] >> self._shift
        batch = batches[self.slot_parts[slot]]
        if stamp is None:
            at_ns = batches.at_ns = batches.at_ns or self._moments.next_ns(batches.after_ns)
            stamp = at_ns.to_bytes(TIME_BYTES, "big") + (change.together or self._region)
            if change.together is None and change.reached != self._others:
                self.pending[slot] = True
                table = self.table
                named = table.named_placement.row_key(change.key) if table.hashed_keys else row_key
                batch.log.append(entry_of(named, at_ns, written.new_record))
        batch.puts.append((row_key, stamp))

    def add_unchanged(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        """A write that arrives is the last one, too, if the item is the same already."""
        change = written.change
        stamp = change.stamp
        if change.together is not None:
            at_ns = batches.at_ns = batches.at_ns or self._moments.next_ns(batches.after_ns)
            stamp = at_ns.to_bytes(TIME_BYTES, "big") + change.together
        if stamp is not None:
            batches[self.part_of(change.row_key)].puts.append((change.row_key, stamp))

    # --- Checks ---

    def layout(self) -> Layout:
        row_key = row_key_of(self.table.placement)
        named = row_key_of(self.table.named_placement)

        def key(data: bytes) -> Fields:
            if len(data) > CURSOR_BYTES_MAX:
                return row_key(data)
            kind = Field("cursor", data[:1], _ROWS.get(data[:1], "unknown"))
            if data[:1] == b"\x00":
                return [kind, number("resource", data[1:5]), number("slot", data[5:])]
            return [kind, Field("replica", data[1:-1], "at another server"), number("slot", data[-1:])]

        def payload(data: bytes) -> Fields:
            if len(data) <= TIME_BYTES:
                return [number("entry", data)]
            region = data[TIME_BYTES:]
            return [
                time("written", data[:TIME_BYTES], "ns"),
                Field("region", region, region.decode(errors="replace")),
            ]

        def entry(data: bytes) -> Fields:
            try:
                sent = parse_sent(data)
            except ValueError:
                return rest(data)
            fields = [
                number("format", data[:1]),
                number("key length", data[1:3], " bytes"),
                time("written", data[3 : _HEAD.size], "ns"),
                *named(sent.row_key),
            ]
            return fields + (record(sent.record) if sent.record else [])

        return Layout(self.where, key, payload, entry)

    def verification(self, look: StoreLook) -> DerivedCheck:
        return ReplicationVerification(self, look)

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        row_key = self.table.placement.row_key(key)
        return [(self.part_of(row_key), [row_key])]


class ReplicationVerification(DerivedCheck):
    """Checks that stamps and entries can be read, and are in the slots of their items."""

    def __init__(self, replication: Replication, look: StoreLook) -> None:
        self._replication = replication
        self._look = look

    async def rest(self) -> AsyncIterator[None]:
        replication, look = self._replication, self._look
        table, report = replication.table, look.report
        tally = report.tally(replication.where, "replication")
        for slot, part in enumerate(replication.slot_parts):
            async for rows in pages(look.store, part, report):
                for key, stamp in rows:
                    if len(key) <= CURSOR_BYTES_MAX:
                        continue
                    words = row_words(table.placement, key)
                    if words.startswith("row key") or len(stamp) <= TIME_BYTES:
                        report.add(replication.where, "a stamp cannot be read", LOST, words)
                    elif replication.part_of(key) != part:
                        report.add(replication.where, "a stamp is in the slot of another item", LOST, words)
                tally.rows += len(rows)
                tally.bytes += sum(len(payload) for _, payload in rows)
                yield
            async for entries in log_pages(look.store, part):
                for sequence, entry in entries:
                    if not _is_readable(entry):
                        words = f"slot {slot}, {sequence}"
                        report.add(replication.where, "a log entry cannot be read", LOST, words)
                tally.bytes += sum(len(entry) for _, entry in entries)
                yield


def _is_readable(entry: bytes) -> bool:
    try:
        sent = parse_sent(entry)
    except ValueError:
        return False
    return not sent.record or read_item(sent.record) is not None


class ReplicationKind(FeatureKind):
    name = REPLICATION

    def restored(self, state: TableState) -> dict[str, FeatureState]:
        """A restored table is no replica."""
        return {}

    def made(self, table: TableLayout, feature: FeatureState, live: LiveParts) -> Derived:
        return Replication(table, feature, live)


def replication_of(table: Table) -> Replication | None:
    """Returns the replication of a table that is a replica."""
    found: Replication | None = find(table.derived, Replication)
    return found


def expires_here(derived: Iterable[Derived], region: str) -> bool:
    """Whether time to live deletes items of this table; in one replica of a group only."""
    replication: Replication | None = find(derived, Replication)
    return replication is None or replication.group.home == region
