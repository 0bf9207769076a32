"""Capacity units: what an operation costs.

Units are counted in integers. A read is counted in *half units* (an eventually consistent read of 4 KB
costs half a unit), a write in whole units. Sizes are item sizes in bytes without storage overhead.

Sources: capacity.md section 2.2 (rules), section 4 (vectors V20 to V69, each a test).
"""

from __future__ import annotations

from typing import Any, Literal

from faradisc.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from faradisc.records import dataclass, field


def blocks(size_bytes: int, block_bytes: int) -> int:
    """Returns the number of blocks of a size, rounded up, and at least one."""
    return -(-size_bytes // block_bytes) or 1


def read_half_units(size_bytes: int, *, consistent: bool) -> int:
    """Returns the half read units of `size_bytes` read together: a GetItem, or all items that a Query
    evaluated."""
    whole = blocks(size_bytes, READ_UNIT_BYTES)
    return whole * 2 if consistent else whole


def write_units(old_bytes: int, new_bytes: int) -> int:
    """Returns the write units of replacing an item: the larger of both images; no item counts as 0 bytes."""
    # `blocks` inlined: every write takes this path.
    return -(-(old_bytes if old_bytes > new_bytes else new_bytes) // WRITE_UNIT_BYTES) or 1


def failed_condition_units(
    old_bytes: int | None, new_bytes: int, rule: Literal["existing", "new", "max"] = "existing"
) -> int:
    """Returns the write units of a write whose condition was false; None stands for no item.

    The service was measured to charge the item that is there; its documents say the larger of both, and
    older ones the new item (capacity.md section 1.9, vectors V48 and V49).
    """
    if old_bytes is None:
        return 1
    charged = {"existing": old_bytes, "new": new_bytes, "max": max(old_bytes, new_bytes)}[rule]
    return blocks(charged, WRITE_UNIT_BYTES)


def index_write_units(old_bytes: int | None, new_bytes: int | None, *, key_changed: bool) -> int:
    """Returns the write units of one secondary index for an entry that changed; None stands for no entry.

    Requires: the stored entry differs (an unchanged entry costs nothing).
    """
    if old_bytes is None or new_bytes is None:
        return blocks(old_bytes or new_bytes or 0, WRITE_UNIT_BYTES)
    if key_changed:
        return blocks(old_bytes, WRITE_UNIT_BYTES) + blocks(new_bytes, WRITE_UNIT_BYTES)
    return blocks(max(old_bytes, new_bytes), WRITE_UNIT_BYTES)


VECTOR_REQUEST_BYTES_MIN = 1024
"""Minimum of one write to a vector index, and of one search (new-features.md section 13, "Capacity")."""


def vector_write_bytes(old_bytes: int | None, new_bytes: int | None, *, key_changed: bool) -> int:
    """Returns the VectorWriteRequestBytes of a vector index entry that changed; None stands for no entry.

    Assumed: the larger size counts, and both if the entry moves, as for other indexes.
    """
    old, new = (max(size or 0, VECTOR_REQUEST_BYTES_MIN) for size in (old_bytes, new_bytes))
    if old_bytes is not None and new_bytes is not None and key_changed:
        return old + new
    return max(old, new)


@dataclass(slots=True)
class Consumed:
    """The half units that a request has consumed of a table.

    `shown_name` is the table as the request named it, for ConsumedCapacity.
    """

    shown_name: str
    table: int = 0
    local_indexes: dict[str, int] = field(default_factory=dict)
    global_indexes: dict[str, int] = field(default_factory=dict)
    vector_indexes: dict[str, int] = field(default_factory=dict)
    """VectorWriteRequestBytes, which do not count as units."""
    failed: int = 0
    """Of members of a batch with false conditions: they count in the sum and not in the table's part
    (capacity-consumption.md section 3)."""

    def add_vector_index(self, name: str, size_bytes: int) -> None:
        self.vector_indexes[name] = self.vector_indexes.get(name, 0) + size_bytes

    def add_index(self, name: str, half_units: int, *, is_global: bool) -> None:
        arm = self.global_indexes if is_global else self.local_indexes
        arm[name] = arm.get(name, 0) + half_units

    def total(self) -> int:
        return self.table + self.failed + sum(self.local_indexes.values()) + sum(self.global_indexes.values())

    def describe(self, detail: str, *, transaction: str | None = None) -> dict[str, Any]:
        """Returns the ConsumedCapacity member for ReturnConsumedCapacity TOTAL or INDEXES.

        transaction: ReadCapacityUnits or WriteCapacityUnits, which transactions have at every level
        (capacity.md section 2.2, measured).
        """

        def arm(half_units: int) -> dict[str, Any]:
            shown = {"CapacityUnits": half_units / 2}
            if transaction is not None:
                shown[transaction] = half_units / 2
            return shown

        described: dict[str, Any] = {"TableName": self.shown_name, **arm(self.total())}
        if detail == "INDEXES":
            described["Table"] = arm(self.table)
            for member, arms in (
                ("LocalSecondaryIndexes", self.local_indexes),
                ("GlobalSecondaryIndexes", self.global_indexes),
            ):
                if arms:
                    described[member] = {name: arm(half_units) for name, half_units in arms.items()}
            if self.vector_indexes:
                described["VectorIndexes"] = {
                    name: {"VectorWriteRequestBytes": float(size)}
                    for name, size in self.vector_indexes.items()
                }
        return described
