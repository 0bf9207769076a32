"""Reads a table's past: its items at a time, and the changes between two times.

For tables with point-in-time recovery (engine/derived/history.py). A walk reads the slots in order, each in
the order of the row keys, and merges the present rows with the changes of the days in question, page by page;
a page limits the memory, however long the history is.

A page needs no snapshot. It reads the present rows first and then the days, newest first. So a change made
meanwhile is either read in its day, with the state before it, or not read at all, and neither is its effect
on the row. A walk may therefore pause, and continue from a stored cursor: the past does not change. Only the
recovery period must not end meanwhile: it waits for restores and exports (engine/backups/periods.py).

An example, an item that was 1 at 10:00, 2 at 11:00 and is 3 since 12:00:

    present row   3                      changes   11:00 before it 1, 12:00 before it 2
    at 11:30      the first change after it is that of 12:00, so 2
    at 12:30      no change after it, so the present row: 3
    at 10:30      1, whether the row is read before or after a write that makes it 4 while the page is read

All times must be in the past, and not before `History.earliest_ns`.
"""

from __future__ import annotations

from typing import NamedTuple

from faradisc.engine.derived.history import AFTER_ITEM, after_moment, history_of, split_change_key
from faradisc.engine.tables.table import Table
from faradisc.model.codec.item_record import Record
from faradisc.storage.api import Part, ReadOnlyStore

PAGE_ROWS = 200
"""Rows read from each source (present rows, and each day) for one page."""
PAGE_BYTES = 256 * 1024
"""Bytes of payload after which no more of a source is read for one page."""


class Cursor(NamedTuple):
    """The position of a walk. `list(cursor)` is JSON, and `Cursor(*list)` is the cursor again."""

    slot: int = 0
    after: str = ""
    """Hexadecimal digits; all smaller keys have been read."""


class ItemAt(NamedTuple):
    row_key: bytes
    record: Record


class ItemChange(NamedTuple):
    """An item that was written between two times."""

    row_key: bytes
    old: Record | None
    """At the first time; None: absent."""
    new: Record | None
    """At the second time; None: absent. May equal `old`."""
    written_ns: int
    """Time of the last write up to the second time."""


async def page_at(
    store: ReadOnlyStore, table: Table, at_ns: int, cursor: Cursor
) -> tuple[list[ItemAt], Cursor | None]:
    """Returns a page of the items at a time, in a Scan's order, and the next cursor (None: the last page).

    The items have every change up to and including `at_ns`. A page may be empty. The table may be written
    meanwhile.
    """
    present, changed, following = await _page(store, table, cursor, (at_ns,))
    states = dict(present)
    for row_key, changes in changed.items():
        later = _first_after(changes, at_ns)
        if later is None:
            continue
        if later.before:
            states[row_key] = later.before
        else:
            states.pop(row_key, None)
    return [ItemAt(row_key, states[row_key]) for row_key in sorted(states)], following


async def page_between(
    store: ReadOnlyStore, table: Table, from_ns: int, to_ns: int, cursor: Cursor
) -> tuple[list[ItemChange], Cursor | None]:
    """Returns a page of the items written after `from_ns`, up to and including `to_ns`, and the next cursor.

    Each item appears once, with its state at both times. A page may be empty.
    """
    present, changed, following = await _page(store, table, cursor, (from_ns, to_ns))
    found: list[ItemChange] = []
    for row_key in sorted(changed):
        changes = changed[row_key]
        first, later = _first_after(changes, from_ns), _first_after(changes, to_ns)
        written_ns = max((each.at_ns for each in changes if each.at_ns <= to_ns), default=0)
        if first is None or written_ns <= from_ns:
            continue
        new = later.before if later is not None else present.get(row_key)
        found.append(ItemChange(row_key, first.before or None, new or None, written_ns))
    return found, following


# --- One page ------------------------------------------------------------------------------------


class _Change(NamedTuple):
    at_ns: int
    before: bytes
    """The record before the change; empty: there was no item."""


def _first_after(changes: list[_Change], at_ns: int) -> _Change | None:
    return next((each for each in changes if each.at_ns > at_ns), None)


class _Read(NamedTuple):
    """Rows of one source, and the last item whose changes are complete; None: up to the slot's end."""

    rows: list[tuple[bytes, bytes]]
    known_to: bytes | None


async def _page(
    store: ReadOnlyStore, table: Table, cursor: Cursor, moments: tuple[int, ...]
) -> tuple[dict[bytes, Record], dict[bytes, list[_Change]], Cursor | None]:
    """Returns present records and ordered changes of the next items, by row key, and the next cursor.

    Of an item with more changes than fit into a page, only those that decide its state at `moments` are
    returned.
    """
    history = history_of(table)
    assert history is not None, "the caller has checked that point-in-time recovery is enabled"
    slot, low = cursor.slot, bytes.fromhex(cursor.after) or None
    present = await _rows(store, table.placement.parts[slot], low)
    days: list[tuple[Part, _Read]] = []
    for part in history.parts_of_slot(slot, moments[0]):
        days.append((part, await _changes(store, part, low, moments)))
    ends = [read.known_to for read in (present, *(read for _, read in days)) if read.known_to is not None]
    end = min(ends) if ends else None
    changed: dict[bytes, list[_Change]] = {}
    for _, read in reversed(days):
        for key, before in read.rows:
            row_key, at_ns = split_change_key(key)
            if end is None or row_key <= end:
                changed.setdefault(row_key, []).append(_Change(at_ns, before))
    records = {key: payload for key, payload in present.rows if end is None or key <= end}
    if end is not None:
        return records, changed, Cursor(slot, (end + AFTER_ITEM).hex())
    return records, changed, Cursor(slot + 1) if slot + 1 < history.slots else None


async def _rows(store: ReadOnlyStore, part: Part, low: bytes | None) -> _Read:
    found = await store.range(part, low, None, limit=PAGE_ROWS, max_bytes=PAGE_BYTES)
    rows = [(key, payload) for key, (_, payload) in found]
    is_end = len(rows) < PAGE_ROWS and sum(len(payload) for _, payload in rows) <= PAGE_BYTES
    return _Read(rows, None if is_end else rows[-1][0])


async def _changes(store: ReadOnlyStore, part: Part, low: bytes | None, moments: tuple[int, ...]) -> _Read:
    rows, last = await _rows(store, part, low)
    if last is None:
        return _Read(rows, None)
    row_key, _ = split_change_key(last)
    for at_ns in moments:
        rows += await _around(store, part, row_key, at_ns, rows[-1][0])
    return _Read(rows, row_key)


async def _around(
    store: ReadOnlyStore, part: Part, row_key: bytes, at_ns: int, read_to: bytes
) -> list[tuple[bytes, bytes]]:
    """Returns an item's last change up to a time and its first one after it, of those after `read_to`."""
    border = max(after_moment(row_key, at_ns), read_to + b"\x00")
    until = await store.range(part, read_to + b"\x00", border, limit=1, reverse=True)
    after = await store.range(part, border, row_key + AFTER_ITEM, limit=1)
    return [(key, row[1]) for key, row in until + after]
