"""Whether requests may run, and what they are charged: between evaluation and commit, or around a read.

    a write        asks its table and the global indexes its item is or was in; local ones are the table's
    a condition    that was false costs the table what the item there costs
    a page         asks each partition when it reaches it (engine/tables/paging.py)

What was admitted is charged at once, before it is committed: of two requests that overlap the second sees
what the first one took. Where nothing is enforced, units are counted and nothing is asked.

Sources: capacity.md sections 2.2, 2.5, 2.9, 2.11, 2.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, admit, asks_index, settle
from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.engine.tables.indexes import EntryChange
from faradisc.engine.tables.noting import note_read, note_refused, note_write, record, record_write
from faradisc.engine.tables.table import Index, Table
from faradisc.errors import ValidationException
from faradisc.limits import STORAGE_OVERHEAD_BYTES, WRITE_UNIT_BYTES
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size

if TYPE_CHECKING:
    from faradisc.engine.tables.writes import Change, Image, Outcome
    from faradisc.engine.throughput.table import TableMeter


# --- Writes --------------------------------------------------------------------------------------


def try_charge_write(outcome: Outcome) -> Throttle | None:
    """Admit and charge a write of its own, or of a batch: why it was refused, or None."""
    change = outcome.change
    table = change.table
    meter = table.meter
    if not outcome.entries:
        # One lane, one place, and nobody to be told: the way of most writes.
        if outcome.new_size <= WRITE_UNIT_BYTES >= outcome.old.size_bytes:
            half_units = 2  # one unit, as most items are: nothing is worked out
        else:
            half_units = outcome.write_units * 2
        if meter.only_counts:
            meter.write_counts[half_units] += 1
            return None
        if meter.only_asks and not table.global_indexes:
            if meter.writes.spend(change.row_key, half_units, meter.moment.now):
                return None
            refused = meter.charge(meter.writes, change.row_key, half_units)
            if refused is not None:
                note_refused(change, refused)
            return refused
    return _try_charge_whole(outcome)


def _try_charge_whole(outcome: Outcome) -> Throttle | None:
    """The same for a write that may cost several lanes, or of which somebody is told."""
    meter = outcome.change.table.meter
    if not meter.enforced:
        _count_write(outcome)
        if meter.recorder is not None:
            record_write(outcome, charges_of(outcome), None, meter.now())
    else:
        refused = _charge_entries_too(outcome, meter.now())
        if refused is not None:
            note_refused(outcome.change, refused)
            return refused
    if meter.insights:
        note_write(outcome, _own_half_units(outcome))
    return None


def _charge_entries_too(outcome: Outcome, now: int) -> Throttle | None:
    charges = charges_of(outcome)
    refused = admit(charges, now)
    if outcome.change.table.meter.recorder is not None:
        record_write(outcome, charges, refused, now)
    if refused is None:
        settle(charges, now)
    return refused


def charge_failed(change: Change, old: Image, *, condition: bool) -> None:
    """Admit a write that came to nothing, and charge it if its condition was false. Raises Throttled."""
    bill = _Bill(change, [_failed_charge(change, old, condition=condition)])
    (refused,) = _charge_bills([bill])
    if refused is not None:
        raise Throttled(refused)


def _failed_charge(change: Change, old: Image, *, condition: bool = True) -> Charge:
    half_units = failed_half_units(change, old) if condition else 0
    return Charge(change.table.meter.writes, change.row_key, half_units)


def failed_half_units(change: Change, old: Image) -> int:
    """Half units of a write whose condition was false (V48, V49)."""
    rule = change.table.meter.config.failed_condition_charge
    new_bytes = 0
    if rule != "existing":
        # What an update would have made may be impossible; the answer is that the condition was false.
        with suppress(ValidationException):
            new = change.transform(old)
            new_bytes = item_size(new) if new is not None else 0
    return 2 * units.failed_condition_units(old.size_bytes if old.exists else None, new_bytes, rule)


@dataclass(slots=True)
class _Bill:
    """What one write of several costs."""

    change: Change
    charges: list[Charge]
    outcome: Outcome | None = None
    """What it does; None: nothing."""
    now: int = 0

    def record(self, refused: Throttle | None) -> None:
        if self.outcome is not None:
            record_write(self.outcome, self.charges, refused, self.now)
        else:
            record(self.change.table, "Write", self.charges, self.change.key, self.now, refused=refused)


def _charge_bills(bills: Sequence[_Bill]) -> list[Throttle | None]:
    """Admit all, and charge them; one that is refused refuses all. A refusal per bill."""
    for bill in bills:
        # All at once, and before anything is asked: partitions split when the time is read.
        bill.now = bill.change.table.meter.now()
    refusals = [admit(bill.charges, bill.now) if bill.change.table.meter.enforced else None for bill in bills]
    first = next((refused for refused in refusals if refused is not None), None)
    for bill, refused in zip(bills, refusals, strict=True):
        meter = bill.change.table.meter
        if refused is not None:
            note_refused(bill.change, refused)
        elif first is None and meter.enforced:
            settle(bill.charges, bill.now)
        elif first is None:
            _count(bill.charges)
        if meter.recorder is not None and any(charge.half_units for charge in bill.charges):
            bill.record(refused or first)
    return refusals


def charge_transaction(outcomes: Sequence[Outcome]) -> list[Throttle | None]:
    """Admit and charge a write transaction: a refusal per action, or all None, and then all was charged."""
    meters = {outcome.change.table.meter for outcome in outcomes}
    if all(meter.only_counts for meter in meters):
        for outcome in outcomes:
            _count_write(outcome, transaction=True)
        return [None] * len(outcomes)
    refusals = _charge_bills(
        [_Bill(outcome.change, charges_of(outcome, transaction=True), outcome) for outcome in outcomes]
    )
    if any(refusals):
        return refusals
    for outcome in outcomes:
        if outcome.change.table.meter.insights:
            note_write(outcome, _own_half_units(outcome, transaction=True))
    return refusals


def charge_cancelled(changes: Sequence[Change], images: Sequence[Image]) -> list[Throttle | None]:
    """The same for a transaction that its conditions cancel: every action is charged, by the item that is
    there, doubled (section 2.2, measured)."""
    bills = []
    for change, old in zip(changes, images, strict=True):
        half_units = 4 * units.write_units(old.size_bytes, 0)
        bills.append(_Bill(change, [Charge(change.table.meter.writes, change.row_key, half_units)]))
    return _charge_bills(bills)


def charges_of(outcome: Outcome, *, transaction: bool = False) -> list[Charge]:
    """The table's charge, its local indexes' in it, and those of global indexes, of which some may be asked
    although they cost nothing. A transaction doubles the table's own part only."""
    change = outcome.change
    half_units = _own_half_units(outcome, transaction=transaction)
    charges = [Charge(change.table.meter.writes, change.row_key, half_units)]
    if change.checks_only:
        return charges
    changed = {entry.index.name: entry for entry in outcome.entries}
    for index in change.table.global_indexes:
        if index.status != "DELETING":
            charges += _index_charges(outcome, index, changed.get(index.name))
    return charges


def _own_half_units(outcome: Outcome, *, transaction: bool = False) -> int:
    """What the table pays: for its item, and for the entries of its local indexes."""
    half_units = outcome.write_units * (4 if transaction else 2)
    for entry in outcome.entries:
        if not entry.index.schema.is_global:
            half_units += entry.write_units * 2
    return half_units


def _index_charges(outcome: Outcome, index: Index, entry: EntryChange | None) -> list[Charge]:
    table = outcome.change.table
    limiter = table.meter.indexes[index.name].writes
    if entry is None:
        rule = table.meter.config.index_precheck
        item = outcome.new_item if outcome.new_item is not None else outcome.old.item
        held = index.schema.entry(item) if item is not None and rule != "affected" else None
        if not asks_index(rule, before=held is not None, after=held is not None, changed=False):
            return []
        return [Charge(limiter, outcome.change.row_key if held is None else index.placement.row_key(held))]
    places = [place[1] for place in (entry.delete, entry.put) if place is not None] or [b""]
    return [Charge(limiter, place, cost) for place, cost in zip(places, _entry_costs(entry), strict=True)]


def _entry_costs(entry: EntryChange) -> tuple[int, ...]:
    """Half units of an index entry that changes; two costs where it moves: its old and its new place pay for
    what they held and hold."""
    if entry.delete is None or entry.put is None:
        return (2 * entry.write_units,)
    new_units = units.write_units(entry.new_bytes - STORAGE_OVERHEAD_BYTES, 0)
    return 2 * (entry.write_units - new_units), 2 * new_units


def _count(charges: Sequence[Charge]) -> None:
    """Count costs where nothing is enforced."""
    for charge in charges:
        if charge.half_units:
            charge.limiter.counts[charge.half_units] += 1


def _count_write(outcome: Outcome, *, transaction: bool = False) -> None:
    """Count a write where nothing is enforced, without making charges of it."""
    meter = outcome.change.table.meter
    half_units = outcome.write_units * (4 if transaction else 2)
    for entry in outcome.entries:
        if not entry.index.schema.is_global:
            half_units += entry.write_units * 2
        elif entry.index.vectors is None:
            counts = meter.indexes[entry.index.name].writes.counts
            for cost in _entry_costs(entry):
                counts[cost] += 1
    meter.write_counts[half_units] += 1


def grow_partitions(outcome: Outcome, *, undone: bool = False) -> None:
    """Tell the partitions how much they hold with a change; `undone`: that it was not made after all. Called
    where throughput is enforced, only there do they split; and in one go with the commit."""
    change, old = outcome.change, outcome.old
    meter = change.table.meter
    if outcome.new_size != old.size_bytes:
        before = old.size_bytes if old.exists else None
        after = outcome.new_size if outcome.new_record is not None else None
        _grow(meter, None, (change.part, change.row_key), before, after, undone=undone)
    for entry in outcome.entries:
        if entry.index.vectors is not None:
            continue
        before = entry.old_bytes - STORAGE_OVERHEAD_BYTES if entry.old_bytes else None
        after = None if entry.put is None else entry.new_bytes - STORAGE_OVERHEAD_BYTES
        old_place, new_place = entry.old_place, None if entry.put is None else entry.put[:2]
        if before is not None and old_place is not None and old_place != new_place:
            _grow(meter, entry.index, old_place, before, None, undone=undone)
            before = None
        if new_place is not None:
            _grow(meter, entry.index, new_place, before, after, undone=undone)


def grow_index(
    table: Table, index: Index, places: Sequence[tuple[bytes, bytes, int]], *, undone: bool
) -> None:
    """Tell the partitions of a global index of entries that it gets: part, row key, size without overhead.
    Called in one go with their commit, where throughput is enforced."""
    if index.name in table.meter.indexes:
        for part, row_key, size in places:
            _grow(table.meter, index, (part, row_key), None, size, undone=undone)


def _grow(
    meter: TableMeter,
    index: Index | None,
    place: tuple[bytes, bytes],
    before: int | None,
    after: int | None,
    *,
    undone: bool,
) -> None:
    """A row of the table (None) or an index has another size; None: there is none."""
    if undone:
        before, after = after, before
    counts = index is None or index.schema.is_global
    resource = meter.indexes[index.name] if index is not None and counts else meter.resource
    items = (after is not None) - (before is not None) if counts else 0
    resource.grow(place[1], (after or 0) - (before or 0), items)
    if meter.walk is not None:
        meter.walk.written(*place, before, after)


# --- Reads of single items -----------------------------------------------------------------------


def try_charge_read(
    table: Table, row_key: bytes, key: Item | None, half_units: int, *, consistent: bool
) -> Throttle | None:
    """Admit the read of one item, once it is known what it costs, and take that: why it was refused, or None.

    key: for Contributor Insights; None is not counted there.
    """
    meter = table.meter
    reads = meter.reads
    refused = None
    if not meter.enforced:
        reads.counts[half_units] += 1
    elif not reads.spend(row_key, half_units, meter.moment.now, not consistent):
        refused = meter.charge(reads, row_key, half_units, not consistent)
    if meter.recorder is not None or meter.insights:
        charge = Charge(reads, row_key, half_units, not consistent)
        note_read(table, key, charge, refused, meter.now())
    return refused


@dataclass(frozen=True, slots=True)
class ItemRead:
    """One read of a transaction."""

    table: Table
    row_key: bytes
    key: Item | None
    half_units: int


def charge_reads(reads: Sequence[ItemRead]) -> list[Throttle | None]:
    """Admit and charge the reads of a transaction: a refusal per read, or all None, and then all were
    charged."""
    moments = [read.table.meter.now() for read in reads]
    charges = [Charge(read.table.meter.reads, read.row_key, read.half_units) for read in reads]
    refusals = [
        admit((charge,), now) if read.table.meter.enforced else None
        for read, charge, now in zip(reads, charges, moments, strict=True)
    ]
    first = next((refused for refused in refusals if refused is not None), None)
    for read, charge, now, refused in zip(reads, charges, moments, refusals, strict=True):
        if first is None and read.table.meter.enforced:
            settle((charge,), now)
        elif first is None:
            _count((charge,))
        if first is None or refused is not None:
            note_read(read.table, read.key, charge, refused, now)
    return refusals
