"""The change that one write makes in one index, and its cost.

Source: capacity.md section 2.2, "Secondary index write units".
"""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.engine.tables.indexes import STORAGE_OVERHEAD_BYTES, entry_change
from faradisc.engine.tables.layout import Index
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.schema import IndexProjection, IndexSchema, KeySchema
from faradisc.model.values.size import item_size

TABLE_KEY = KeySchema(("p",), (), {"p": "S"})
INDEX_KEY = KeySchema(("g",), ("s",), {"g": "S", "s": "N"})
INDEX = Index(
    IndexSchema("index", True, INDEX_KEY, IndexProjection("INCLUDE", ("x",)), TABLE_KEY),
    Placement(2, 4, INDEX_KEY, TABLE_KEY),
)

Item = dict[str, dict[str, Any]]


def item(g: str | None = "g", s: int | None = 1, x: int = 1, **more: str) -> Item:
    made: Item = {"p": {"S": "1"}, "x": {"S": "x" * x}}
    if g is not None:
        made["g"] = {"S": g}
    if s is not None:
        made["s"] = {"N": str(s)}
    return {**made, **{name: {"S": value} for name, value in more.items()}}


UNCHANGED: dict[str, tuple[Item | None, Item | None]] = {
    "no item, no item": (None, None),
    "not in the index before and after": (item(s=None), item(g=None, more="x")),
    "deleted, was not in the index": (item(s=None), None),
    "same item": (item(), item()),
    "only unprojected data changed": (item(y="before"), item(y="after")),
}


@pytest.mark.parametrize(("old", "new"), UNCHANGED.values(), ids=UNCHANGED)
def test_changes_outside_the_index_give_no_entry_change(old: Item | None, new: Item | None) -> None:
    assert entry_change(INDEX, old, new) is None


CHANGED: dict[str, tuple[Item | None, Item | None, int]] = {
    "insert": (None, item(), 1),
    "insert of 1,025 bytes": (None, item(x=1_017), 2),
    "enters": (item(s=None), item(), 1),
    "leaves by losing its key": (item(x=1_017), item(g=None), 2),
    "leaves by deletion": (item(x=1_017), None, 2),
    "HASH changes": (item(x=1_017), item(g="h"), 3),
    "RANGE changes": (item(), item(s=2, x=1_017), 3),
    "projected data grows": (item(), item(x=1_017), 2),
    "projected data shrinks": (item(x=1_017), item(), 2),
}


@pytest.mark.parametrize(("old", "new", "units"), CHANGED.values(), ids=CHANGED)
def test_entry_changes_and_their_cost(old: Item | None, new: Item | None, units: int) -> None:
    change = entry_change(INDEX, old, new)
    assert change is not None
    assert change.write_units == units
    placement, schema = INDEX.placement, INDEX.schema
    before = schema.entry_of(old) if old is not None and schema.has(old) else None
    after = schema.entry_of(new) if new is not None and schema.has(new) else None
    old_key = placement.row_key(before) if before is not None else None
    new_key = placement.row_key(after) if after is not None else None
    if old_key is not None and old_key != new_key:
        assert change.delete == (placement.part_of(old_key), old_key)
    else:
        assert change.delete is None
    if after is not None and new_key is not None:
        stored = item_record.encode(after, item_size(after))
        assert change.put == (placement.part_of(new_key), new_key, stored)
        assert change.new_bytes == item_size(after) + STORAGE_OVERHEAD_BYTES
    else:
        assert change.put is None
        assert change.new_bytes == 0


def test_an_entry_has_keys_and_projected_attributes_only() -> None:
    change = entry_change(INDEX, None, item(y="unprojected"))
    assert change is not None
    assert change.put is not None
    assert set(item_record.decode(change.put[2])) == {"p", "g", "s", "x"}
