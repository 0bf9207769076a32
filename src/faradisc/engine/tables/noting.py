"""Who is told of charges besides the buckets: the recorder of a trace, and Contributor Insights.

Both are off as a rule. A line of a trace carries the moment of the decision, so that the planner decides the
same when it is asked again; a refused read is told with what it would have cost at least.

Sources: docs/formats/trace.md; capacity.md section 2.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from faradisc.capacity.admission import Charge
from faradisc.capacity.throttle import Throttle
from faradisc.engine.tables.table import Index, Table
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema

if TYPE_CHECKING:
    from faradisc.engine.tables.writes import Change, Outcome


# --- Recorded traffic ----------------------------------------------------------------------------


def record(
    table: Table,
    operation: str,
    charges: Sequence[Charge],
    key: Item | None,
    now: int,
    *,
    grows: tuple[int, int] = (0, 0),
    refused: Throttle | None = None,
) -> None:
    """`now` is the moment of the decision: the planner, asked again, decides the same."""
    recorder = table.meter.recorder
    assert recorder is not None
    recorder.request(
        now,
        operation,
        table.name,
        charges,
        key=shown_key(key, table.key)[0] if key else None,
        grows_bytes=grows[0],
        grows_items=grows[1],
        refused=refused.reason if refused is not None else None,
    )


def record_write(outcome: Outcome, charges: Sequence[Charge], refused: Throttle | None, now: int) -> None:
    change, old = outcome.change, outcome.old
    operation = "UpdateItem" if change.written is not None else "PutItem"
    if outcome.new_record is None:
        operation = "DeleteItem"
    if change.checks_only:
        operation = "ConditionCheck"
    grows = (0, 0)
    if refused is None:
        grows = (outcome.new_size - old.size_bytes, (outcome.new_record is not None) - old.exists)
    record(change.table, operation, charges, change.key, now, grows=grows, refused=refused)


# --- Contributor Insights ------------------------------------------------------------------------


def shown_key(item: Item, key: KeySchema) -> tuple[str, str | None]:
    """Partition and sort key as people read them; several attributes are joined by commas."""

    def text(names: Sequence[str]) -> str:
        return ",".join(str(next(iter(item[name].values()))) for name in names)

    return text(key.hash), text(key.range) if key.range else None


def note_read(table: Table, key: Item | None, charge: Charge, refused: Throttle | None, now: int) -> None:
    """Tell of the read of one item; key: None is not counted."""
    if table.meter.recorder is not None:
        record(table, "GetItem", [charge], key, now, refused=refused)
    insights = table.meter.insights.get(None)
    if insights is None or key is None:
        return
    if refused is not None:
        insights.throttled(*shown_key(key, table.key))
    else:
        insights.accessed(*shown_key(key, table.key), charge.half_units, write=False)


def note_write(outcome: Outcome, half_units: int) -> None:
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


def note_refused(change: Change, refused: Throttle) -> None:
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
