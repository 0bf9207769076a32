"""What a page of a Query or Scan costs: each partition must admit it, and the page is charged once.

A page is cut where partitions begin. A partition without units ends the page; if nothing was read before it,
the request is throttled. A Scan costs a minimal read for every partition it reaches.

Sources: capacity.md sections 2.2 and 2.11; vectors V32, V113.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity import units
from faradisc.capacity.admission import Charge, spread
from faradisc.capacity.config import HASH_BYTES
from faradisc.capacity.partitions import PartitionBucket
from faradisc.capacity.resource import Resource
from faradisc.capacity.throttle import Throttled
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.usage_recording import trace
from faradisc.model.codec.keyspace import slot_low
from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Rows of one part from `low` (inclusive) to `high` (exclusive); None is the end of the part."""

    part: bytes
    low: bytes | None
    high: bytes | None

    def starting_after(self, row_key: bytes, *, reverse: bool) -> KeyRange:
        """Returns the rest of the key range after a row, in reading direction."""
        if reverse:
            return KeyRange(self.part, self.low, row_key)
        return KeyRange(self.part, row_key + b"\x00", self.high)


class PageUsage:
    """Admits one page of a Query or Scan partition by partition, and divides its cost among them."""

    __slots__ = (
        "_admitted",
        "_consistent",
        "_current",
        "_limiter",
        "_now",
        "_resource",
        "_table",
        "attributes",
        "found",
        "operation",
    )

    def __init__(self, table: Table, index: Index | None, *, consistent: bool) -> None:
        self.operation = "Query"
        """Or Scan, once the key ranges are known."""
        self.attributes: Sequence[str] | None = None
        """The names that the projection asks for; None: all."""
        self.found: tuple[int, int] | None = None
        """Items that a filter left, and those that it was given; None without a filter."""
        self._table = table
        self._resource = _payer(table, index)
        self._limiter = self._resource.reads
        self._consistent = consistent
        self._now = table.meter.now()
        self._admitted: dict[PartitionBucket, tuple[bytes, int]] = {}
        """(first key in it, bytes read there) by partition, in order of admission."""
        self._current: PartitionBucket | None = None

    def pieces(self, key_ranges: Sequence[KeyRange]) -> list[KeyRange]:
        """Returns the key ranges, cut where partitions begin."""
        cut: list[KeyRange] = []
        if any(key_range.low is None or len(key_range.low) <= HASH_BYTES for key_range in key_ranges):
            self.operation = "Scan"
        for key_range in key_ranges:
            low, high = _bounds(self._table, key_range)
            rest = key_range
            for partition in self._resource.partitions.between(low, high)[1:]:
                cut.append(KeyRange(rest.part, rest.low, partition.low))
                rest = KeyRange(rest.part, partition.low, rest.high)
            cut.append(rest)
        return cut

    def admit(self, piece: KeyRange, evaluated: int) -> bool:
        """Whether the page continues with a piece, after so many evaluated items. Raises Throttled."""
        key, _ = _bounds(self._table, piece)
        bucket = self._limiter.bucket_of(key)
        if bucket not in self._admitted:
            least = units.read_half_units(0, consistent=self._consistent)
            charge = Charge(self._limiter, key, least, not self._consistent)
            throttle = self._table.meter.usage.admit([charge], self._now)
            if throttle is not None:
                if evaluated and self._resource.config.page_on_throttle != "error":
                    return False
                trace(self._table, self.operation, [charge], None, self._now, throttle=throttle)
                raise Throttled(throttle)
            self._admitted[bucket] = (key, 0)
        self._current = bucket
        return True

    def read(self, size_bytes: int) -> None:
        """Adds bytes that were evaluated in the piece admitted last."""
        assert self._current is not None
        key, before = self._admitted[self._current]
        self._admitted[self._current] = (key, before + size_bytes)

    def charge(self, half_units: int) -> None:
        """Charges the whole page, each partition by the bytes read there."""
        admitted = list(self._admitted.values())
        parts = spread(half_units, [size for _, size in admitted])
        charges = [
            Charge(self._limiter, key, part, not self._consistent)
            for (key, _), part in zip(admitted, parts, strict=True)
        ]
        self._table.meter.usage.take(charges, self._now)
        trace(
            self._table,
            self.operation,
            charges,
            None,
            self._now,
            attributes=self.attributes,
            found=self.found,
        )


def page_usage(table: Table, index: Index | None, *, consistent: bool) -> PageUsage | None:
    """Returns the usage of the next page; None where pages are only counted."""
    if not table.meter.enforced and table.meter.recorder is None:
        return None
    return PageUsage(table, index, consistent=consistent)


def charge_page(table: Table, index: Index | None, page: PageUsage | None, half_units: int) -> None:
    """Charges a page to its global index, or else to the table."""
    if page is not None:
        page.charge(half_units)
    else:
        _payer(table, index).reads.counts[half_units] += 1


def scan_minimum(
    table: Table, index: Index | None, key_ranges: Sequence[KeyRange], last: bytes | None, *, consistent: bool
) -> int:
    """Returns the least half units of a page of a Scan: a minimal read per partition that it has reached.

    last: row key of the last row read; None if all key ranges were read to their end.
    """
    resource = _payer(table, index)
    least = units.read_half_units(0, consistent=consistent)
    if not resource.config.scan_minimum_per_partition or len(resource.partitions) == 1:
        return least
    low, _ = _bounds(table, key_ranges[0])
    _, high = _bounds(table, key_ranges[-1])
    return least * len(resource.partitions.between(low, high if last is None else last + b"\0"))


def _payer(table: Table, index: Index | None) -> Resource:
    """Returns what pays for reads: a global index for its own, the table for those of local ones."""
    of_index = index is not None and index.schema.is_global
    return table.meter.resource_of(index.name if index is not None and of_index else None)


def _bounds(table: Table, key_range: KeyRange) -> tuple[bytes, bytes | None]:
    """Returns a key range in the key space of all slots."""
    slot, slots = key_range.part[-1], table.state.slots
    low = slot_low(slot, slots) if key_range.low is None else key_range.low
    high = key_range.high
    if high is None and slot + 1 < slots:
        high = slot_low(slot + 1, slots)
    return low or b"", high
