"""What Query and Scan share: the source that they read, the attributes that they return, and one page.

The source is a table or one of its indexes. Reading an index returns its entries; a local index can also
return attributes that it does not project, at the cost of reading the items.

Source of the texts: errors.md section 6.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from faradisc.capacity import units
from faradisc.engine.tables.keys import check_index_key_types, empty_key_message, is_empty
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.paging import KeyRange, PageUsage, charge_page, page_usage, scan_minimum
from faradisc.engine.tables.reads import Page, read_page, read_records, shape_items
from faradisc.engine.tables.table import Table
from faradisc.errors import INVALID_START, ValidationException, invalid
from faradisc.language.expressions import Condition
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.attribute import Item, type_of
from faradisc.model.values.schema import KeySchema
from faradisc.operations.call import Call
from faradisc.records import dataclass, field
from faradisc.storage.api import RowReads

if TYPE_CHECKING:
    from faradisc.language.expressions.projection import Projection
    from faradisc.language.partiql.columns import Columns


@dataclass(slots=True)
class Search:
    """A Query or Scan after all checks that need the table."""

    store: RowReads
    """What the page sees: as given, or of a moment before."""
    table: Table
    index: Index | None
    key_ranges: Sequence[KeyRange]
    condition: Condition | None
    projection: Projection | Columns | None
    consistent: bool
    limit: int | None
    reverse: bool
    count_only: bool
    fetches_items: bool
    """Whether attributes that a local index does not project are read from the table."""
    scans: bool = False
    """Whether the read is not keyed; then every partition that it reaches costs at least a minimal read."""
    minimum_half_units: int = 0
    """Charged even if nothing is read."""
    usage: PageUsage | None = field(init=False)
    charged: int = field(init=False, default=0)
    """Half units of the page, once it is answered."""

    def __post_init__(self) -> None:
        if self.table.late is not None and not self.consistent:
            self.store = self.table.late.view(self.store)
        self.usage = page_usage(self.table, self.index, consistent=self.consistent)
        if self.usage is not None and self.projection is not None:
            self.usage.attributes = sorted(self.projection.top_level)

    @property
    def key(self) -> KeySchema:
        return self.index.schema.key if self.index is not None else self.table.key

    @property
    def placement(self) -> Placement:
        return self.index.placement if self.index is not None else self.table.placement


def find_index(table: Table, request: Mapping[str, Any], operation: str) -> Index | None:
    """Returns the index that a request names. Raises ValidationException."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.index(name)
    if index is None and table.vector_index(name) is not None:
        # Scan's text is assumed to follow Query's (errors.md section 7).
        raise ValidationException(f"{operation} operation not supported on this index type.")
    if index is None or index.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.status == "CREATING":
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    if index.schema.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    return index


def needs_items(
    request: Mapping[str, Any],
    index: Index | None,
    projection: Projection | Columns | None,
    condition: Condition | None,
) -> bool:
    """Whether attributes of a local index must be read from its table.

    condition: the filter of a Query, whose attributes the index must project; None for a Scan, for whose
    filter they are missing. Raises ValidationException when a global index does not project the requested
    attributes.
    """
    if index is None or index.schema.entry_names is None:
        return False
    held, name = index.schema.entry_names, index.name
    if condition is not None:
        missing = sorted(condition.top_level - held)
        if missing:
            raise invalid(
                f"Secondary index {name} does not project one or more filter attributes: "
                f"[{', '.join(missing)}]"
            )
    if request.get("Select") == "ALL_ATTRIBUTES":
        if index.schema.is_global:
            raise invalid(
                "Select type ALL_ATTRIBUTES is not supported for global secondary index "
                f"{name} because its projection type is not ALL"
            )
        return True
    missing = sorted(projection.top_level - held) if projection is not None else []
    if missing and index.schema.is_global:
        raise invalid(f"Global secondary index {name} does not project [{', '.join(missing)}]")
    return bool(missing)


def start_position(call: Call, table: Table, index: Index | None) -> bytes:
    """Returns the row key of an ExclusiveStartKey. Raises ValidationException."""
    start: Item = call.request["ExclusiveStartKey"]
    names = _start_key_names(table, index)
    types = table.key.types if index is None else {**table.key.types, **index.schema.key.types}
    if call.operation == "Scan":
        for each in (index,) if index is not None else table.local_indexes + table.global_indexes:
            check_index_key_types(start, each.schema)
    if len(start) != len(names) or any(types[name] not in start.get(name, ()) for name in names):
        raise ValidationException(INVALID_START)
    for name in names:
        value = start[name]
        if is_empty(value):
            raise ValidationException(f"{INVALID_START}: {empty_key_message(name, type_of(value))}")
    return (table if index is None else index).placement.row_key(start)


def _start_key_names(table: Table, index: Index | None) -> tuple[str, ...]:
    """Returns the members of ExclusiveStartKey and LastEvaluatedKey."""
    return index.schema.all_key_names if index is not None else table.key.names


async def run(call: Call, search: Search) -> dict[str, Any]:
    """Reads one page and returns the answer."""
    strong = search.table.strong
    if search.consistent and strong is not None:
        await strong.join(search.table, None)
    page = await read_page(
        search.store,
        search.key_ranges,
        epoch=search.table.epoch,
        limit=search.limit,
        reverse=search.reverse,
        usage=search.usage,
    )
    return await answer_page(call, search, page, call.request["TableName"])


async def answer_page(call: Call, search: Search, page: Page, table_name: str) -> dict[str, Any]:
    """Charges a page and returns the answer. table_name: the table as named in the request."""
    shown_records: Sequence[bytes] = page.records
    fetched: list[int] = []
    if search.fetches_items:
        shown_records, fetched = await _complete(search, page)
    items: Any
    if search.condition is None and search.projection is None:
        count, items = len(shown_records), item_record.json_list(shown_records)
    else:
        items = shape_items(shown_records, search.condition, search.projection)
        count = len(items)
    call.record_returned(count)
    result: dict[str, Any] = {"Count": count, "ScannedCount": len(page.records)}
    if not search.count_only:
        result["Items"] = items
    if page.ended_by_bound:
        last = item_record.decode(page.records[-1])
        names = _start_key_names(search.table, search.index)
        result["LastEvaluatedKey"] = {name: last[name] for name in names}
    consumed = _consumed(table_name, search, page, fetched)
    search.charged = consumed.total()
    if search.usage is not None and search.condition is not None:
        search.usage.found = (count, len(page.records))
    charge_page(search.table, search.index, search.usage, search.charged)
    detail = call.request.get("ReturnConsumedCapacity", "NONE")
    if detail != "NONE":
        result["ConsumedCapacity"] = consumed.describe(detail)
    return result


async def _complete(search: Search, page: Page) -> tuple[list[bytes], list[int]]:
    """Returns the table's records of the entries of a local index, and their sizes."""
    keys = [search.table.key.key_of(item_record.decode(entry)) for entry in page.records]
    found = await read_records(search.store, search.table, keys, consistent=search.consistent)
    records = [item for item in found if item is not None]
    return records, [search.table.billed_size(item) for item in records]


def _consumed(table_name: str, search: Search, page: Page, fetched: list[int]) -> units.Consumed:
    consumed = units.Consumed(table_name)
    least = search.minimum_half_units
    if search.scans:
        last = search.placement.row_key(item_record.decode(page.records[-1])) if page.ended_by_bound else None
        least = scan_minimum(
            search.table, search.index, search.key_ranges, last, consistent=search.consistent
        )
    size_bytes = page.size_bytes
    if search.index is None and search.table.vectors:
        size_bytes = sum(map(search.table.billed_size, page.records))
    half_units = max(units.read_half_units(size_bytes, consistent=search.consistent), least)
    if search.index is None:
        consumed.table = half_units
        return consumed
    schema = search.index.schema
    consumed.add_index(schema.name, half_units, is_global=schema.is_global)
    consumed.table += sum(units.read_half_units(size, consistent=search.consistent) for size in fetched)
    return consumed
