"""Which partitions are measured, one after the other, and the walk over the rows of the one whose turn it is.

Two reasons to measure one: it is full and to be cut at its middle, or what it is said to hold is an estimate
(capacity/estimates.py). A partition that is full comes first, unless it is estimated itself. Nothing of this
is stored: what is estimated stands with the partitions, and one that is full is found to be so again.
"""

from __future__ import annotations

from dataclasses import dataclass

from faradisc.capacity.partitions import Partition
from faradisc.engine.throughput.survey import Measured, Walk
from faradisc.engine.throughput.table import TableMeter
from faradisc.storage.api import Corruption, ReadOnlyStore


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in a partition."""

    meter: TableMeter
    index: str | None
    partition: str
    found: Measured
    full_ns: int | None
    """When it was found to be full; None where nobody said so."""


@dataclass(frozen=True, slots=True)
class _Look:
    meter: TableMeter
    index: str | None
    part: Partition
    walk: Walk
    full_ns: int | None


class Surveyor:
    """Measures partitions of tables and global indexes, those of one server."""

    def __init__(self, store: ReadOnlyStore) -> None:
        self._store = store
        self._full: dict[tuple[TableMeter, str | None, str], int] = {}
        """The partitions that are full by what was counted, and since when."""
        self._doubtful: dict[tuple[TableMeter, str | None], None] = {}
        """The resources that may have estimated partitions, in the order in which they came to."""
        self._look: _Look | None = None

    @property
    def busy(self) -> bool:
        """Whether there is something to measure, or may be."""
        return bool(self._look or self._full or self._doubtful)

    def is_full(self, meter: TableMeter, index: str | None, partition: str, at_ns: int) -> None:
        """A partition of a table (None) or global index is to be measured, for it has outgrown its size."""
        self._full.setdefault((meter, index, partition), at_ns)

    def is_doubtful(self, meter: TableMeter, *indexes: str | None) -> None:
        """Partitions of a table (None) or of global indexes may be estimated: those are measured. Not where
        nothing is enforced, for nobody is told there of what is written."""
        if meter.enforced:
            self._doubtful.update(dict.fromkeys([(meter, index) for index in indexes]))

    def forget(self, meter: TableMeter, *indexes: str | None) -> None:
        """These are gone, or nobody is told any more of what is written to them."""
        self._full = {
            key: at_ns for key, at_ns in self._full.items() if key[0] is not meter or key[1] not in indexes
        }
        for index in indexes:
            self._doubtful.pop((meter, index), None)
        if self._look is not None and self._look.meter is meter and self._look.index in indexes:
            self._end(self._look)

    def start_again(self, meter: TableMeter) -> None:
        """A table did not hold what was counted: so it is not known either what a walk was told rightly."""
        look = self._look
        if look is not None and look.meter is meter:
            self._end(look)
            if look.full_ns is not None:
                self.is_full(meter, look.index, look.part.id, look.full_ns)
            self.is_doubtful(meter, look.index)

    async def step(self) -> Looked | None:
        """Read a bounded number of rows; what was found in a partition, when all of it was read.

        Raises: StorageError. After Corruption the table or index is left as it is.
        """
        look = self._look
        if look is None:
            look = self._look = self._next()
            if look is None:
                return None
            look.meter.walk = look.walk
        try:
            found = await look.walk.step(self._store)
        except Corruption:
            self.forget(look.meter, look.index)
            raise
        if self._look is not look:
            return None
        if look.part.state == "retired":
            self._end(look)
            return None
        if found is None:
            return None
        self._end(look)
        return Looked(look.meter, look.index, look.part.id, found, look.full_ns)

    def _end(self, look: _Look) -> None:
        look.meter.walk = self._look = None

    def _next(self) -> _Look | None:
        while self._full:
            (meter, index, identity), at_ns = next(iter(self._full.items()))
            resource = meter.resource_of(index)
            part = resource.partitions.by_id(identity)
            first = resource.next_estimated() if part is not None and part.estimated else None
            if first is not None:
                return _look(meter, index, first, None)  # what it holds is to be known before
            del self._full[meter, index, identity]
            if part is not None:
                return _look(meter, index, part, at_ns)
        while self._doubtful:
            meter, index = next(iter(self._doubtful))
            part = meter.resource_of(index).next_estimated()
            if part is not None:
                return _look(meter, index, part, None)
            del self._doubtful[meter, index]
        return None


def _look(meter: TableMeter, index: str | None, part: Partition, full_ns: int | None) -> _Look:
    provision = meter.provisions[index]
    walk = Walk(provision.parts, provision.local_parts, part.low, part.high)
    return _Look(meter, index, part, walk, full_ns)
