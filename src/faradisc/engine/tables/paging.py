"""What a page of a Query or Scan asks and pays: each partition when it is reached, and once for all it read.

A page is cut where partitions begin. One that has no units left ends the page; if nothing was read before it,
it refuses the request. A Scan pays a minimal read at least for every partition it reaches.

Sources: capacity.md sections 2.2 and 2.11; vectors V32, V113.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, settle, spread
from faradisc.capacity.partitions import HASH_BYTES, PartitionBucket
from faradisc.capacity.resource import Resource
from faradisc.capacity.throttle import Throttled
from faradisc.engine.tables.noting import record
from faradisc.engine.tables.table import Index, Table
from faradisc.model.codec.keyspace import slot_low

if TYPE_CHECKING:
    from faradisc.engine.tables.reads import KeyRange


class PageMeter:
    """Admits one page of a Query or Scan partition by partition, and divides its cost over them."""

    __slots__ = (
        "_admitted",
        "_consistent",
        "_current",
        "_enforced",
        "_limiter",
        "_now",
        "_resource",
        "_table",
        "operation",
    )

    def __init__(self, table: Table, index: Index | None, *, consistent: bool) -> None:
        self.operation = "Query"
        """Or Scan, once it is known where the page reads."""
        self._table = table
        self._enforced = table.meter.enforced
        self._resource = _payer(table, index)
        self._limiter = self._resource.reads
        self._consistent = consistent
        self._now = table.meter.now()
        self._admitted: dict[PartitionBucket, tuple[bytes, int]] = {}
        """(a place in it, bytes read there) by partition, in order of admission."""
        self._current: PartitionBucket | None = None

    def pieces(self, key_ranges: Sequence[KeyRange]) -> list[KeyRange]:
        """The key ranges, cut where partitions begin."""
        cut: list[KeyRange] = []
        if any(key_range.low is None or len(key_range.low) <= HASH_BYTES for key_range in key_ranges):
            self.operation = "Scan"
        for key_range in key_ranges:
            low, high = _bounds(self._table, key_range)
            rest = key_range
            for part in self._resource.partitions.between(low, high)[1:]:
                cut.append(type(rest)(rest.part, rest.low, part.low))
                rest = type(rest)(rest.part, part.low, rest.high)
            cut.append(rest)
        return cut

    def admit(self, piece: KeyRange, evaluated: int) -> bool:
        """Whether the page goes on into a piece; with nothing evaluated a refusal raises Throttled."""
        key, _ = _bounds(self._table, piece)
        bucket = self._limiter.bucket_of(key)
        if bucket not in self._admitted:
            if self._enforced and self._limiter.admit(key, self._now) is None:
                refused = self._limiter.refuse(key, self._now)
                if not evaluated or self._resource.config.page_on_throttle == "error":
                    if self._table.meter.recorder is not None:
                        least = units.read_half_units(0, consistent=self._consistent)
                        charge = Charge(self._limiter, key, least, not self._consistent)
                        record(self._table, self.operation, [charge], None, self._now, refused=refused)
                    raise Throttled(refused)
                return False
            self._admitted[bucket] = (key, 0)
        self._current = bucket
        return True

    def read(self, size_bytes: int) -> None:
        """So much was evaluated in the piece last admitted."""
        assert self._current is not None
        key, before = self._admitted[self._current]
        self._admitted[self._current] = (key, before + size_bytes)

    def charges(self, half_units: int) -> list[Charge]:
        """The cost of the whole page, by partition."""
        admitted = list(self._admitted.values())
        parts = spread(half_units, [size for _, size in admitted])
        return [
            Charge(self._limiter, key, part, not self._consistent)
            for (key, _), part in zip(admitted, parts, strict=True)
        ]

    def settle(self, half_units: int) -> None:
        """Take the cost of the whole page."""
        if self._enforced:
            settle(self.charges(half_units), self._now)
        else:
            self._limiter.counts[half_units] += 1
        if self._table.meter.recorder is not None:
            record(self._table, self.operation, self.charges(half_units), None, self._now)


def page_meter(table: Table, index: Index | None, *, consistent: bool) -> PageMeter | None:
    """For the next page of a table or an index; None where nothing is enforced and nothing recorded."""
    if not table.meter.enforced and table.meter.recorder is None:
        return None
    return PageMeter(table, index, consistent=consistent)


def charge_page(table: Table, index: Index | None, page: PageMeter | None, half_units: int) -> None:
    """Take the cost of a page: an index's for a global one, the table's otherwise."""
    if page is not None:
        page.settle(half_units)
    else:
        _payer(table, index).reads.counts[half_units] += 1


def scan_minimum(
    table: Table, index: Index | None, key_ranges: Sequence[KeyRange], last: bytes | None, *, consistent: bool
) -> int:
    """Half units that a page of a Scan costs at least: a minimal read per partition it has reached.

    last: row key of the last row read; None: all key ranges were read to their end.
    """
    resource = _payer(table, index)
    least = units.read_half_units(0, consistent=consistent)
    if not resource.config.scan_minimum_per_partition or len(resource.partitions) == 1:
        return least
    low, _ = _bounds(table, key_ranges[0])
    _, high = _bounds(table, key_ranges[-1])
    return least * len(resource.partitions.between(low, high if last is None else last + b"\0"))


def _payer(table: Table, index: Index | None) -> Resource:
    """What pays for reads: a global index for its own, the table for its local ones'."""
    of_index = index is not None and index.schema.is_global
    return table.meter.resource_of(index.name if index is not None and of_index else None)


def _bounds(table: Table, key_range: KeyRange) -> tuple[bytes, bytes | None]:
    """A key range in the key space of all slots."""
    slot, slots = key_range.part[-1], table.state.slots
    low = slot_low(slot, slots) if key_range.low is None else key_range.low
    high = key_range.high
    if high is None and slot + 1 < slots:
        high = slot_low(slot + 1, slots)
    return low or b"", high
