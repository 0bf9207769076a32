"""Whether requests may run, and what they are charged: between evaluation and commit, or around a read.

    a write        asks its table and the global indexes its item is or was in; local ones are the table's
    a condition    that was false costs the table what the item there costs
    a page         asks each partition when it reaches it, and pays once for all it read

What was admitted is charged at once, before it is committed: of two requests that overlap the second sees
what the first one took. Where nothing is enforced, units are counted and nothing is asked.

Sources: capacity.md sections 2.2, 2.5, 2.9, 2.11, 2.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, admit, asks_index, settle, spread
from faradisc.capacity.partitions import HASH_BYTES, Cell
from faradisc.capacity.throttle import Throttle, Throttled
from faradisc.codec.keyspace import slot_low
from faradisc.limits import STORAGE_OVERHEAD_BYTES
from faradisc.tables.indexes import EntryChange
from faradisc.tables.table import Index, Table
from faradisc.values.attribute import Item
from faradisc.values.schema import KeySchema
from faradisc.values.size import item_size

if TYPE_CHECKING:
    from faradisc.tables.reads import Stretch
    from faradisc.tables.writes import Change, Image, Outcome


# --- Writes --------------------------------------------------------------------------------------


def charge_write(outcome: Outcome) -> None:
    """Admit and charge a write of its own. Raises Throttled; then nothing was charged."""
    refused = try_charge_write(outcome)
    if refused is not None:
        raise Throttled(refused)


def try_charge_write(outcome: Outcome) -> Throttle | None:
    """The same for a member of a batch: why it was refused, or None."""
    meter = outcome.change.table.meter
    if not meter.enforced:
        _count_write(outcome)
        if meter.recorder is not None:
            _record_write(outcome, charges_of(outcome), None)
    else:
        now = meter.now()
        charges = charges_of(outcome)
        refused = admit(charges, now)
        if meter.recorder is not None:
            _record_write(outcome, charges, refused)
        if refused is not None:
            _note_refused(outcome.change, refused)
            return refused
        settle(charges, now)
    if meter.insights:
        _note_write(outcome, outcome.write_units * 2)
    return None


def charge_failed(change: Change, old: Image, *, condition: bool) -> None:
    """Admit a write that came to nothing, and charge it if its condition was false. Raises Throttled."""
    meter = change.table.meter
    half_units = failed_half_units(change, old) if condition else 0
    if meter.recorder is not None and half_units:
        _record(change.table, "Write", [Charge(meter.writes, change.row_key, half_units)], change.key)
    if not meter.enforced:
        if half_units:
            meter.writes.tally[half_units] += 1
        return
    now = meter.now()
    charge = Charge(meter.writes, change.row_key, half_units)
    refused = admit((charge,), now)
    if refused is not None:
        _note_refused(change, refused)
        raise Throttled(refused)
    settle((charge,), now)


def failed_half_units(change: Change, old: Image) -> int:
    """Half units of a write whose condition was false (V48, V49)."""
    rule = change.table.meter.config.failed_condition_charge
    new_bytes = 0
    if rule != "existing":
        new = change.become(old)
        new_bytes = item_size(new) if new is not None else 0
    return 2 * units.failed_condition_units(old.size_bytes if old.exists else None, new_bytes, rule)


def charge_transaction(outcomes: Sequence[Outcome]) -> list[Throttle | None]:
    """Admit and charge a write transaction: a refusal per action, or all None, and then all was charged."""
    refusals: list[Throttle | None] = []
    admitted: list[tuple[list[Charge], int]] = []
    for outcome in outcomes:
        meter = outcome.change.table.meter
        if not meter.enforced:
            refusals.append(None)
            continue
        now = meter.now()
        charges = charges_of(outcome, transaction=True)
        refused = admit(charges, now)
        if meter.recorder is not None:
            _record_write(outcome, charges, refused)
        if refused is not None:
            _note_refused(outcome.change, refused)
        refusals.append(refused)
        admitted.append((charges, now))
    if any(refused is not None for refused in refusals):
        return refusals
    for charges, now in admitted:
        settle(charges, now)
    for outcome in outcomes:
        meter = outcome.change.table.meter
        if not meter.enforced:
            _count_write(outcome, transaction=True)
            if meter.recorder is not None:
                _record_write(outcome, charges_of(outcome, transaction=True), None)
        if meter.insights:
            _note_write(outcome, outcome.write_units * 4)
    return refusals


def charge_cancelled(changes: Sequence[Change], images: Sequence[Image]) -> None:
    """Charge a transaction that its conditions cancelled: every action, by the item that is there, doubled
    (section 2.2, measured)."""
    for change, old in zip(changes, images, strict=True):
        meter = change.table.meter
        half_units = 4 * units.write_units(old.size_bytes, 0)
        charge = Charge(meter.writes, change.row_key, half_units)
        if meter.recorder is not None:
            _record(change.table, "Write", [charge], change.key)
        if meter.enforced:
            settle((charge,), meter.now())
        else:
            meter.writes.tally[half_units] += 1


def charges_of(outcome: Outcome, *, transaction: bool = False) -> list[Charge]:
    """The table's charge, its local indexes' in it, and those of global indexes, of which some may be asked
    although they cost nothing. A transaction doubles the table's own part only."""
    change = outcome.change
    meter = change.table.meter
    half_units = outcome.write_units * (4 if transaction else 2)
    changed: dict[str, EntryChange] = {}
    for entry in outcome.entries:
        if entry.index.resident is not None:
            continue
        if entry.index.schema.is_global:
            changed[entry.index.name] = entry
        else:
            half_units += entry.write_units * 2
    charges = [Charge(meter.writes, change.row_key, half_units)]
    if change.checks_only:
        return charges
    for index in change.table.global_indexes:
        if index.status != "DELETING":
            charges += _index_charges(outcome, index, changed.get(index.name))
    return charges


def _index_charges(outcome: Outcome, index: Index, entry: EntryChange | None) -> list[Charge]:
    table = outcome.change.table
    lane = table.meter.indexes[index.name].writes
    if entry is None:
        rule = table.meter.config.index_precheck
        item = outcome.new_item if outcome.new_item is not None else outcome.old.item
        held = index.schema.entry(item) if item is not None and rule != "affected" else None
        if not asks_index(rule, before=held is not None, after=held is not None, changed=False):
            return []
        return [Charge(lane, outcome.change.row_key if held is None else index.placement.row_key(held))]
    if entry.delete is not None and entry.put is not None:
        # The entry moves: its old and its new place pay for what they held and hold.
        new_units = units.write_units(entry.new_bytes - STORAGE_OVERHEAD_BYTES, 0)
        return [
            Charge(lane, entry.delete[1], 2 * (entry.write_units - new_units)),
            Charge(lane, entry.put[1], 2 * new_units),
        ]
    place = entry.put[1] if entry.put is not None else entry.delete[1] if entry.delete is not None else b""
    return [Charge(lane, place, 2 * entry.write_units)]


def _count_write(outcome: Outcome, *, transaction: bool = False) -> None:
    """Count a write where nothing is enforced."""
    meter = outcome.change.table.meter
    half_units = outcome.write_units * (4 if transaction else 2)
    for entry in outcome.entries:
        if entry.index.resident is not None:
            continue
        if entry.index.schema.is_global:
            meter.indexes[entry.index.name].writes.tally[entry.write_units * 2] += 1
        else:
            half_units += entry.write_units * 2
    meter.writes.tally[half_units] += 1


def grow_partitions(outcome: Outcome) -> None:
    """Tell the partitions how much they hold now that a change is made. Called where throughput is enforced:
    only there do they split."""
    change, old = outcome.change, outcome.old
    meter = change.table.meter
    items = (outcome.new_record is not None) - old.exists
    meter.resource.grow(change.row_key, outcome.new_size - old.size_bytes, items)
    for entry in outcome.entries:
        if entry.index.resident is not None:
            continue
        resource = meter.indexes[entry.index.name] if entry.index.schema.is_global else meter.resource
        of_index = entry.index.schema.is_global
        if entry.old_place is not None and entry.old_bytes:
            size = entry.old_bytes - STORAGE_OVERHEAD_BYTES
            resource.grow(entry.old_place[1], -size, -1 if of_index else 0)
        if entry.put is not None:
            size = entry.new_bytes - STORAGE_OVERHEAD_BYTES
            resource.grow(entry.put[1], size, 1 if of_index else 0)


# --- Reads of single items -----------------------------------------------------------------------


def admit_read(table: Table, row_key: bytes, key: Item | None) -> int:
    """The moment of admission; 0 where nothing is enforced. Raises Throttled.

    key: for Contributor Insights; None is not counted there.
    """
    meter = table.meter
    try:
        return meter.admit_read(row_key)
    except Throttled:
        insights = meter.insights.get(None)
        if insights is not None and key is not None:
            insights.throttled(*shown_key(key, table.key))
        raise


def charge_read(
    table: Table, row_key: bytes, key: Item | None, half_units: int, admitted: int, *, consistent: bool
) -> None:
    """Take what the read of one item has cost. `admitted` is what `admit_read` gave."""
    meter = table.meter
    meter.charge_read(row_key, half_units, admitted, eventual=not consistent)
    if meter.recorder is not None:
        place = row_key or table.placement.row_key(key or {})
        _record(table, "GetItem", [Charge(meter.reads, place, half_units, not consistent)], key)
    if key is not None and meter.insights and None in meter.insights:
        meter.insights[None].accessed(*shown_key(key, table.key), half_units, write=False)


def try_charge_read(table: Table, key: Item, half_units: int, *, consistent: bool) -> Throttle | None:
    """Admit and charge one read of several, once it is known what it costs: why it was refused, or None."""
    row_key = table.placement.row_key(key) if table.meter.enforced else b""
    try:
        admitted = admit_read(table, row_key, key)
    except Throttled as throttled:
        return throttled.throttle
    charge_read(table, row_key, key, half_units, admitted, consistent=consistent)
    return None


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
    refusals: list[Throttle | None] = []
    admitted: list[int] = []
    for read in reads:
        try:
            admitted.append(admit_read(read.table, read.row_key, read.key))
            refusals.append(None)
        except Throttled as throttled:
            refusals.append(throttled.throttle)
    if len(admitted) == len(reads):
        for read, at in zip(reads, admitted, strict=True):
            charge_read(read.table, read.row_key, read.key, read.half_units, at, consistent=True)
    return refusals


# --- Pages ---------------------------------------------------------------------------------------


class PageMeter:
    """Admits one page of a Query or Scan partition by partition, and divides its cost over them."""

    __slots__ = (
        "_admitted",
        "_consistent",
        "_current",
        "_enforced",
        "_lane",
        "_now",
        "_resource",
        "_slots",
        "operation",
    )

    def __init__(self, table: Table, index: Index | None, *, consistent: bool) -> None:
        of_index = index is not None and index.schema.is_global
        self.operation = "Query"
        """Or Scan, once it is known where the page reads."""
        self._enforced = table.meter.enforced
        self._resource = table.meter.resource_of(index.name if index is not None and of_index else None)
        self._lane = self._resource.reads
        self._slots = table.state.slots
        self._consistent = consistent
        self._now = table.meter.now()
        self._admitted: dict[Cell, tuple[bytes, int]] = {}
        """(a place in it, bytes read there) by partition, in order of admission."""
        self._current: Cell | None = None

    def pieces(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """The stretches, cut where partitions begin."""
        cut: list[Stretch] = []
        if any(stretch.low is None or len(stretch.low) <= HASH_BYTES for stretch in stretches):
            self.operation = "Scan"
        for stretch in stretches:
            low, high = self._bounds(stretch)
            rest = stretch
            for part in self._resource.partitions.between(low, high)[1:]:
                cut.append(type(rest)(rest.part, rest.low, part.low))
                rest = type(rest)(rest.part, part.low, rest.high)
            cut.append(rest)
        return cut

    def _bounds(self, stretch: Stretch) -> tuple[bytes, bytes | None]:
        """In the key space of all slots."""
        slot = stretch.part[-1]
        low = slot_low(slot, self._slots) if stretch.low is None else stretch.low
        high = stretch.high
        if high is None and slot + 1 < self._slots:
            high = slot_low(slot + 1, self._slots)
        return low or b"", high

    def admit(self, piece: Stretch, evaluated: int) -> bool:
        """Whether the page goes on into a piece; with nothing evaluated a refusal raises Throttled."""
        place, _ = self._bounds(piece)
        cell = self._lane.cell_of(place)
        if cell not in self._admitted:
            if self._enforced and self._lane.admit(place, self._now) is None:
                refused = self._lane.refuse(place, self._now)
                if not evaluated or self._resource.config.page_on_throttle == "error":
                    raise Throttled(refused)
                return False
            self._admitted[cell] = (place, 0)
        self._current = cell
        return True

    def read(self, size_bytes: int) -> None:
        """So much was evaluated in the piece last admitted."""
        assert self._current is not None
        place, before = self._admitted[self._current]
        self._admitted[self._current] = (place, before + size_bytes)

    def charges(self, half_units: int) -> list[Charge]:
        """The cost of the whole page, by partition."""
        admitted = list(self._admitted.values())
        parts = spread(half_units, [size for _, size in admitted])
        return [
            Charge(self._lane, place, part, not self._consistent)
            for (place, _), part in zip(admitted, parts, strict=True)
        ]

    def settle(self, half_units: int) -> None:
        """Take the cost of the whole page."""
        if self._enforced:
            settle(self.charges(half_units), self._now)
        else:
            self._lane.tally[half_units] += 1


def page_meter(table: Table, index: Index | None, *, consistent: bool) -> PageMeter | None:
    """For the next page of a table or an index; None where nothing is enforced and nothing recorded."""
    if not table.meter.enforced and table.meter.recorder is None:
        return None
    return PageMeter(table, index, consistent=consistent)


def charge_page(table: Table, index: Index | None, page: PageMeter | None, half_units: int) -> None:
    """Take the cost of a page: an index's for a global one, the table's otherwise."""
    if page is not None:
        page.settle(half_units)
        if table.meter.recorder is not None:
            _record(table, page.operation, page.charges(half_units), None)
        return
    of_index = index is not None and index.schema.is_global
    table.meter.resource_of(index.name if index is not None and of_index else None).reads.tally[
        half_units
    ] += 1


# --- Recorded traffic ----------------------------------------------------------------------------


def _record(
    table: Table,
    operation: str,
    charges: Sequence[Charge],
    key: Item | None,
    *,
    grows: tuple[int, int] = (0, 0),
    refused: Throttle | None = None,
) -> None:
    recorder = table.meter.recorder
    assert recorder is not None
    recorder.request(
        table.meter.now(),
        operation,
        table.name,
        charges,
        key=shown_key(key, table.key)[0] if key else None,
        grows_bytes=grows[0],
        grows_items=grows[1],
        refused=refused.reason if refused is not None else None,
    )


def _record_write(outcome: Outcome, charges: Sequence[Charge], refused: Throttle | None) -> None:
    change, old = outcome.change, outcome.old
    operation = "UpdateItem" if change.keeps_attributes else "PutItem"
    if outcome.new_record is None:
        operation = "DeleteItem"
    if change.checks_only:
        operation = "ConditionCheck"
    grows = (0, 0)
    if refused is None:
        grows = (outcome.new_size - old.size_bytes, (outcome.new_record is not None) - old.exists)
    _record(change.table, operation, charges, change.key, grows=grows, refused=refused)


# --- Contributor Insights ------------------------------------------------------------------------


def shown_key(item: Item, key: KeySchema) -> tuple[str, str | None]:
    """Partition and sort key as people read them; several attributes are joined by commas."""

    def text(names: Sequence[str]) -> str:
        return ",".join(str(next(iter(item[name].values()))) for name in names)

    return text(key.hash), text(key.range) if key.range else None


def _note_write(outcome: Outcome, half_units: int) -> None:
    """Count a write's key, and those of the global indexes it changed."""
    change = outcome.change
    if not change.insightful:
        return
    insights = change.table.meter.insights
    if None in insights:
        insights[None].accessed(*shown_key(change.key, change.table.key), half_units, write=True)
    for entry in outcome.entries:
        of_index = insights.get(entry.index.name)
        item = outcome.new_item if entry.put is not None else outcome.old.item
        if of_index is not None and item is not None:
            key = shown_key(item, entry.index.schema.key)
            of_index.accessed(*key, 2 * entry.write_units, write=True)


def _note_refused(change: Change, refused: Throttle) -> None:
    """Count a refused write's key; what an index refuses is not the table's (section 2.14)."""
    insights = change.table.meter.insights.get(None)
    if insights is not None and change.insightful and refused.kind == "Table":
        insights.throttled(*shown_key(change.key, change.table.key))


def note_query(table: Table, index: Index | None, key_item: Item, half_units: int | None) -> None:
    """Count a Query's partition key, once; None: it was refused."""
    of_index = index is not None and index.schema.is_global
    insights = table.meter.insights.get(index.name if index is not None and of_index else None)
    if insights is None:
        return
    schema = index.schema.key if index is not None else table.key
    partition_key, _ = shown_key(key_item, KeySchema(schema.hash, (), schema.types))
    if half_units is None:
        insights.throttled(partition_key, None)
    else:
        insights.accessed(partition_key, None, half_units, write=False)
