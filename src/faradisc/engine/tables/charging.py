"""What requests cost, and whether they are admitted: between evaluation and commit, or around a read.

    a write        asks its table and the global indexes that hold its item; local ones are the table's
    a condition    that is false costs the table what the stored item costs
    a page         asks each partition when it reaches it (paging.py)

An admitted request is charged at once, before its commit: of two requests that overlap, the second sees the
charge of the first. A table's `meter.usage` either counts or enforces (engine/throughput/table_usage.py).

Sources: capacity.md sections 2.2, 2.5, 2.9, 2.11, 2.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, asks_index
from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.engine.tables.change import Change, Image, Outcome
from faradisc.engine.tables.indexes import EntryChange
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.usage_recording import record_read, record_write
from faradisc.errors import ValidationException
from faradisc.limits import STORAGE_OVERHEAD_BYTES, WRITE_UNIT_BYTES
from faradisc.model.values.attribute import Item
from faradisc.model.values.size import item_size
from faradisc.records import dataclass

# --- Writes --------------------------------------------------------------------------------------


def charge_write(outcome: Outcome) -> Throttle | None:
    """Admits and charges a single write, or a write of a batch; returns why it is throttled, or None."""
    change = outcome.change
    meter = change.table.meter
    if meter.recorded or (meter.enforced and (outcome.entries or change.table.global_indexes)):
        return _charge_together([_Bill(change, charges_of(outcome), outcome)])[0]
    if outcome.entries:
        meter.usage.take(charges_of(outcome), 0)
        return None
    if outcome.new_size <= WRITE_UNIT_BYTES >= outcome.old.size_bytes and not change.table.vectors:
        half_units = 2  # one unit, as most writes
    else:
        half_units = outcome.write_units * 2
    return meter.usage.write(change.row_key, half_units)


def note_replicated(charges: Sequence[Charge]) -> None:
    """Counts charges as those of another replica's write."""
    for charge in charges:
        if charge.half_units:
            charge.limiter.replicated[charge.half_units] += 1


def take_replicated(outcome: Outcome) -> None:
    """Charges a write that another replica has made here, whether there are units for it or not."""
    charges, meter = charges_of(outcome), outcome.change.table.meter
    meter.usage.take(charges, meter.now())
    note_replicated(charges)


def charge_failed(change: Change, old: Image, *, condition: bool) -> None:
    """Admits a write that has failed, and charges it if its condition was false. Raises Throttled."""
    half_units = failed_half_units(change, old) if condition else 0
    charge = Charge(change.table.meter.writes, change.row_key, half_units)
    (throttle,) = _charge_together([_Bill(change, [charge])])
    if throttle is not None:
        raise Throttled(throttle)


def failed_half_units(change: Change, old: Image) -> int:
    """Returns the half units of a write whose condition was false (V48, V49)."""
    rule = change.table.meter.config.failed_condition_charge
    new_bytes = 0
    if rule != "existing":
        # The update itself may be impossible; the answer still is that the condition was false.
        with suppress(ValidationException):
            new = change.new(old) if callable(change.new) else change.new
            assert not isinstance(new, bytes), "what another replica has written has no condition"
            new_bytes = item_size(new) + change.table.vector_bytes(new) if new is not None else 0
    old_bytes = change.billed_size(old) if old.exists else None
    return 2 * units.failed_condition_units(old_bytes, new_bytes, rule)


def charge_transaction(outcomes: Sequence[Outcome]) -> list[Throttle | None]:
    """Admits and charges a write transaction; returns a throttle per action. It is charged only if none is
    throttled."""
    meters = [outcome.change.table.meter for outcome in outcomes]
    if not any(meter.enforced or meter.recorded for meter in meters):
        for outcome, meter in zip(outcomes, meters, strict=True):
            if outcome.entries:
                meter.usage.take(charges_of(outcome, transaction=True), 0)
            else:
                meter.usage.write(outcome.change.row_key, outcome.write_units * 4)
        return [None] * len(outcomes)
    return _charge_together(
        [_Bill(outcome.change, charges_of(outcome, transaction=True), outcome) for outcome in outcomes]
    )


def charge_cancelled(changes: Sequence[Change], images: Sequence[Image]) -> list[Throttle | None]:
    """Admits and charges a transaction that its conditions cancel: every action costs twice its stored item
    (section 2.2, measured)."""
    bills = []
    for change, old in zip(changes, images, strict=True):
        half_units = 4 * units.write_units(change.billed_size(old), 0)
        bills.append(_Bill(change, [Charge(change.table.meter.writes, change.row_key, half_units)]))
    return _charge_together(bills)


@dataclass(slots=True)
class _Bill:
    """The charges of one write."""

    change: Change
    charges: list[Charge]
    outcome: Outcome | None = None
    """None: the write has failed."""
    now: int = 0


def _charge_together(bills: Sequence[_Bill]) -> list[Throttle | None]:
    """Admits and charges all, or charges none; returns a throttle per bill."""
    for bill in bills:
        # For all of them before the first is admitted: partitions split when the time is read.
        bill.now = bill.change.table.meter.now()
    throttles = [bill.change.table.meter.usage.admit(bill.charges, bill.now) for bill in bills]
    first = next((throttle for throttle in throttles if throttle is not None), None)
    for bill, throttle in zip(bills, throttles, strict=True):
        meter = bill.change.table.meter
        if first is None:
            meter.usage.take(bill.charges, bill.now)
        if meter.recorded:
            record_write(
                bill.change, bill.outcome, bill.charges, throttle=throttle, first=first, now=bill.now
            )
    return throttles


def charges_of(outcome: Outcome, *, transaction: bool = False) -> list[Charge]:
    """Returns the charge of the table with its local indexes, and those of global indexes. Some of these must
    admit the write although it costs them nothing. A transaction doubles the cost of the item only."""
    change = outcome.change
    meter = change.table.meter
    half_units = outcome.write_units * (4 if transaction else 2)
    changed: dict[str, EntryChange] = {}
    for entry in outcome.entries:
        if entry.index.schema.is_global:
            changed[entry.index.name] = entry
        else:
            half_units += entry.write_units * 2
    charges = [Charge(meter.writes, change.row_key, half_units)]
    if change.checks_only or not (changed or meter.enforced or meter.recorded):
        return charges
    for index in change.table.global_indexes:
        entry_change = changed.get(index.name)
        if entry_change is not None:
            charges += _entry_charges(outcome, index, entry_change)
        elif index.status != "DELETING" and (meter.enforced or meter.recorded):
            charges += _charges_without_change(outcome, index)
    return charges


def _charges_without_change(outcome: Outcome, index: Index) -> list[Charge]:
    """Returns a charge of nothing if a global index must admit a write that does not change its entry."""
    meter = outcome.change.table.meter
    rule = meter.config.index_precheck
    item = outcome.new_item if outcome.new_item is not None else outcome.old.item
    held = index.schema.entry(item) if item is not None and rule != "affected" else None
    if not asks_index(rule, before=held is not None, after=held is not None, changed=False):
        return []
    row_key = outcome.change.row_key if held is None else index.placement.row_key(held)
    return [Charge(meter.resource_of(index.name).writes, row_key)]


def _entry_charges(outcome: Outcome, index: Index, entry: EntryChange) -> list[Charge]:
    """Returns one charge, or two where the entry moves: its old and its new location pay for their part."""
    limiter = outcome.change.table.meter.resource_of(index.name).writes
    if entry.delete is not None and entry.put is not None:
        new_units = units.write_units(entry.new_bytes - STORAGE_OVERHEAD_BYTES, 0)
        return [
            Charge(limiter, entry.delete[1], 2 * (entry.write_units - new_units)),
            Charge(limiter, entry.put[1], 2 * new_units),
        ]
    row = entry.delete or entry.put
    return [Charge(limiter, row[1] if row is not None else b"", 2 * entry.write_units)]


# --- Reads of single items -----------------------------------------------------------------------


def charge_read(
    table: Table,
    row_key: bytes,
    key: Item | None,
    half_units: int,
    *,
    consistent: bool,
    operation: str = "GetItem",
) -> Throttle | None:
    """Admits and charges the read of one item, once its cost is known; returns why it is throttled, or None.

    key: for Contributor Insights; None is not counted there. operation: its name in a trace.
    """
    meter = table.meter
    throttle = meter.usage.read(row_key, half_units, not consistent)
    if meter.recorded:
        charge = Charge(meter.reads, row_key, half_units, not consistent)
        record_read(table, key, charge, throttle, meter.now(), operation=operation)
    return throttle


@dataclass(frozen=True, slots=True)
class ItemRead:
    """One read of a transaction."""

    table: Table
    row_key: bytes
    key: Item | None
    half_units: int


def charge_reads(reads: Sequence[ItemRead]) -> list[Throttle | None]:
    """Admits and charges the reads of a transaction; returns a throttle per read. They are charged only if
    none is throttled."""
    moments = [read.table.meter.now() for read in reads]
    charges = [Charge(read.table.meter.reads, read.row_key, read.half_units) for read in reads]
    throttles = [
        read.table.meter.usage.admit((charge,), now)
        for read, charge, now in zip(reads, charges, moments, strict=True)
    ]
    admitted = not any(throttles)
    for read, charge, now, throttle in zip(reads, charges, moments, throttles, strict=True):
        if admitted:
            read.table.meter.usage.take((charge,), now)
        if read.table.meter.recorded and (admitted or throttle is not None):
            record_read(read.table, read.key, charge, throttle, now)
    return throttles
