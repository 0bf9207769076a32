"""What is recorded of charged requests: the trace (`--record-trace`) and Contributor Insights.

Both are off by default. A line of a trace carries the time of the decision, so that the planner decides the
same when it replays the trace; a throttled read is recorded with the least that it would have cost.

Sources: docs/formats/trace.md; capacity.md section 2.14.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.capacity.admission import Charge
from faradisc.capacity.throttle import Throttle
from faradisc.engine.tables.change import Change, Outcome
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.model.values.attribute import Item
from faradisc.model.values.schema import KeySchema
from faradisc.model.values.size import item_size


def record_read(
    table: Table,
    key: Item | None,
    charge: Charge,
    throttle: Throttle | None,
    now: int,
    *,
    operation: str = "GetItem",
) -> None:
    """Records the read of one item. key: None is not counted by Contributor Insights."""
    trace(table, operation, [charge], key, now, throttle=throttle)
    insights = table.meter.insights.get(None)
    if insights is None or key is None:
        return
    if throttle is not None:
        insights.throttled(*shown_key(key, table.key))
    else:
        insights.accessed(*shown_key(key, table.key), charge.half_units, write=False)


def record_write(
    change: Change,
    outcome: Outcome | None,
    charges: Sequence[Charge],
    *,
    throttle: Throttle | None,
    first: Throttle | None,
    now: int,
) -> None:
    """Records a write. outcome: None for a write that has failed. throttle: of this write. first: the first
    throttle of all writes that are charged together."""
    if any(charge.half_units for charge in charges):
        grows = (0, 0)
        size = changed = None
        if outcome is not None and first is None:
            old = outcome.old
            grows = (outcome.new_size - old.size_bytes, (outcome.new_record is not None) - old.exists)
            size = outcome.new_size if outcome.new_record is not None else None
            if change.table.meter.recorder is not None and old.item is not None:
                changed = _changed_bytes(old.item, outcome.new_item)
        operation = "Write" if outcome is None else _operation(outcome)
        why = throttle or first
        trace(
            *(change.table, operation, charges, change.key, now),
            grows=grows,
            throttle=why,
            size=size,
            changed=changed,
        )
    if not change.in_insights:
        return
    insights = change.table.meter.insights
    own = insights.get(None)
    if throttle is not None:
        if own is not None and throttle.kind == "Table":  # a throttle by an index is not the table's
            own.throttled(*shown_key(change.key, change.table.key))
    elif first is None and outcome is not None:
        if own is not None:
            own.accessed(*shown_key(change.key, change.table.key), charges[0].half_units, write=True)
        for entry in outcome.entries:
            of_index = insights.get(entry.index.name)
            item = outcome.new_item if entry.put is not None else outcome.old.item
            if of_index is not None and item is not None:
                key = shown_key(item, entry.index.schema.key)
                of_index.accessed(*key, 2 * entry.write_units, write=True)


def _changed_bytes(old: Item, new: Item | None) -> int | None:
    """Returns the size of the attributes that are not as they were; None for a deleted item."""
    if new is None:
        return None
    names = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
    return max(item_size({name: each[name] for name in names if name in each}) for each in (old, new))


def _operation(outcome: Outcome) -> str:
    if outcome.change.checks_only:
        return "ConditionCheck"
    if outcome.new_record is None:
        return "DeleteItem"
    return "UpdateItem" if outcome.change.written is not None else "PutItem"


def record_query(table: Table, index: Index | None, key_item: Item, half_units: int | None) -> None:
    """Counts a Query's partition key once in Contributor Insights. half_units: None if it was throttled."""
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


def trace(
    table: Table,
    operation: str,
    charges: Sequence[Charge],
    key: Item | None,
    now: int,
    *,
    grows: tuple[int, int] = (0, 0),
    throttle: Throttle | None = None,
    attributes: Sequence[str] | None = None,
    found: tuple[int, int] | None = None,
    size: int | None = None,
    changed: int | None = None,
) -> None:
    """Writes a request to the trace, if there is one. grows: bytes and items. now: time of the decision.
    attributes: those that a page was asked for. found: items that its filter left, of how many. size,
    changed: bytes of the item and of what changed in it.
    """
    recorder = table.meter.recorder
    if recorder is not None:
        recorder.request(
            now,
            operation,
            table.name,
            charges,
            key=shown_key(key, table.key)[0] if key else None,
            grows_bytes=grows[0],
            grows_items=grows[1],
            refused=throttle.reason if throttle is not None else None,
            attributes=attributes,
            found=found,
            item_bytes=size,
            changed_bytes=changed,
            encrypted=table.state.sealing is not None,
        )


def shown_key(item: Item, key: KeySchema) -> tuple[str, str | None]:
    """Returns partition and sort key as people read them; several attributes are joined by commas."""

    def text(names: Sequence[str]) -> str:
        return ",".join(str(next(iter(item[name].values()))) for name in names)

    return text(key.hash), text(key.range) if key.range else None
