"""UpdateItem: change attributes of one item; create the item if it does not exist.

Checks: parameters -> key values -> update and condition -> table -> key -> key attributes unchanged -> size
of the request -> (in the write) condition, the update against the item, index key attributes, size.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.change import UPDATE_TOO_LARGE, Change, Image, Outcome
from faradisc.engine.tables.keys import check_key, check_updated_index_keys
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException, invalid
from faradisc.language.expressions import Update, UpdateOutcome
from faradisc.language.expressions.clauses import bind_update_clauses, check_paths_into_keys
from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.item_writes import add_consumption, write_item


async def update_item(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    key = request["Key"]
    if not call.values_ok:
        call.check_values(key)
    update, condition = bind_update_clauses(call)
    table = backend.table_for_data(call, request["TableName"])
    check_key(key, table.key)
    check_paths_into_keys(table.schema, condition)
    step = UpdateStep(table, key, update)
    if update is not None and update.request_exceeds(ITEM_SIZE_BYTES_MAX, call.body_bytes):
        raise ValidationException(UPDATE_TOO_LARGE)
    change = Change(table, key, step, condition, UPDATE_TOO_LARGE, written=step.written)
    outcome = await write_item(backend, call, change)
    result: dict[str, Any] = {}
    attributes = returned(request.get("ReturnValues", "NONE"), step, outcome)
    if attributes is not None:
        result["Attributes"] = attributes
    add_consumption(result, call, outcome)
    return result


class UpdateStep:
    """The transformation that an update makes; keeps its last result for ReturnValues."""

    def __init__(self, table: Table, key: Item, update: Update | None) -> None:
        self._table = table
        self._key = key
        self._update = update
        self.result: UpdateOutcome | None = None
        self.written = update.top_level_written if update is not None else frozenset[str]()
        """The attributes that the update may change."""
        if update is not None:
            check_paths_into_keys(table.schema, update)
            for name in table.key.names:
                if name in update.top_level_written:
                    raise invalid(f"Cannot update attribute {name}. This attribute is part of the key")

    def __call__(self, old: Image) -> Item | None:
        before = old.item if old.item is not None else self._key
        if self._update is None:
            return before
        if not old.exists and not self._update.creates:
            return None
        self.result = self._update.apply(before)
        new = self.result.item
        for index in self._table.indexes:
            if not self._update.top_level_written.isdisjoint(index.schema.checked_names):
                check_updated_index_keys(before, new, index.schema, self._update.given)
        return new


def returned(mode: str, step: UpdateStep | None, outcome: Outcome) -> Any:
    """Returns the Attributes member for a ReturnValues mode; None if it is left out."""
    old, new_record = outcome.old, outcome.new_record
    if mode == "ALL_OLD":
        return item_record.json_of(old.record) if old.record is not None else None
    if mode == "ALL_NEW":
        return item_record.json_of(new_record) if new_record is not None else None
    if step is None or step.result is None:
        return None
    if mode == "UPDATED_OLD":
        return step.result.written_part(old.item) if old.item is not None else None
    if mode == "UPDATED_NEW":
        return step.result.written_part(step.result.item)
    return None
