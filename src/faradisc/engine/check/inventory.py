"""The inventory: the tables and streams of the catalog, and the owner of every part.

A part is an orphan only if nothing has the number of its resource: no table, nothing that is derived from the
items of one or was until its last change, no stream, and no other row of the system, in which every member
that is named `resource` or `..._resource` is such a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

import orjson

from faradisc.engine.derived.kinds import kinds_of_check
from faradisc.engine.inspection.problems import LOST, RepairAction, Report
from faradisc.engine.inspection.reading import StoreLook, pages
from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.derived import Derived, Kinds
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import TableState
from faradisc.model.codec.keyspace import CATALOG_PART, JOBS_PART, STREAMS_PART, TOKENS_PART
from faradisc.records import dataclass, field
from faradisc.storage.api import Corruption, IOFailed, Part, ReadOnlyStore

LAST_RESOURCE_KEY = b"\xff"
SYSTEM_RESOURCE = 0
SYSTEM_PREFIX = bytes(4)
_READ_ELSEWHERE = (CATALOG_PART, STREAMS_PART, TOKENS_PART, JOBS_PART)

State = TypeVar("State", TableState, StreamState)


@dataclass(slots=True)
class Inventory:
    tables: list[TableLayout] = field(default_factory=list)
    """By name."""
    derived: dict[int, list[Derived]] = field(default_factory=dict)
    """By the resource number of the table."""
    streams: dict[int, StreamState] = field(default_factory=dict)
    """By resource number."""
    owners: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Resource number -> a description of its owner, and its slots."""
    last_resource: int | None = None
    """None without a readable row."""
    parts: dict[Part, int] = field(default_factory=dict)
    """Every part that is not empty -> the last number of its log."""
    lists_parts: bool = True
    """False when damage prevents the listing of parts; `parts` is then empty."""
    complete: bool = True
    """Whether every state was read and every part listed; otherwise orphans are unknown."""

    def counter(self, part: Part) -> int | None:
        """Returns the last number of a part's log; None when it is unknown."""
        return self.parts.get(part, 0) if self.lists_parts else None

    def look(self, store: ReadOnlyStore, now_ns: int, report: Report | None = None) -> StoreLook:
        """Returns what the check of a derived thing needs."""
        return StoreLook(store, now_ns, report or Report(), self.parts, lists_parts=self.lists_parts)

    def derived_of(self, table: TableLayout) -> list[Derived]:
        """Returns what a table has beside its items, without what is being removed."""
        return [each for each in self.derived[table.state.resource] if not each.is_leaving]

    def orphans(self) -> list[Part]:
        """Returns the parts of no resource, or of no slot of theirs."""
        if not self.complete:
            return []
        return [part for part in self.parts if not self._is_owned(part)]

    def _is_owned(self, part: Part) -> bool:
        if len(part) < 5:
            return True  # not a part of the database
        resource = int.from_bytes(part[:4], "big")
        _, slots = self.owners.get(resource, ("", 0))
        return resource == SYSTEM_RESOURCE or part[4] < slots


def stream_name(state: StreamState) -> str:
    return f"stream {state.label} of table {state.table_name}"


async def take_inventory(store: ReadOnlyStore, report: Report) -> Inventory:
    """Reads the catalog and the streams' rows, and checks them against each other.

    Raises: StorageError when they cannot be read.
    """
    inventory, kinds = Inventory(), kinds_of_check()
    try:
        inventory.parts = dict(await store.parts())
    except (Corruption, IOFailed) as error:
        inventory.lists_parts = inventory.complete = False
        report.add("store", "its parts cannot be listed", LOST, str(error))
    async for rows in pages(store, CATALOG_PART, report):
        for key, payload in rows:
            if key == LAST_RESOURCE_KEY:
                inventory.last_resource = int.from_bytes(payload, "big") if len(payload) == 4 else None
            else:
                _add_table(inventory, kinds, key, payload, report)
    async for rows in pages(store, STREAMS_PART, report):
        for key, payload in rows:
            _add_stream(inventory, key, payload, report)
    for part in inventory.parts:
        if part[:4] == SYSTEM_PREFIX and part not in _READ_ELSEWHERE:
            await _add_mentioned(store, inventory, part, report)
    inventory.tables.sort(key=lambda table: (table.state.namespace, table.name))
    _check_numbers(inventory, report)
    _check_links(inventory, report)
    return inventory


def _add_table(inventory: Inventory, kinds: Kinds, key: bytes, payload: bytes, report: Report) -> None:
    namespace, _, name = key.partition(b"\x00")
    where = f"table {name.decode(errors='replace')}"
    state = _state(TableState, payload)
    if state is None:
        inventory.complete = False
        report.add("catalog", "the row of a table cannot be read", LOST, where)
        return
    if (state.namespace.encode(), state.name.encode()) != (namespace, name):
        report.add("catalog", "the row of a table has the key of another name", LOST, where)
    table = TableLayout(state)
    try:
        derived = kinds.of(table)
    except ValueError as error:
        inventory.complete = False
        report.notes.append(f"{table.title} was not checked: {error}")
        return
    inventory.tables.append(table)
    inventory.derived[state.resource] = derived
    _own(inventory, state.resource, table.title, state.slots, report)
    for each in derived:
        if state.stream is None or each.resource != state.stream.resource:  # the stream's own row has it
            _own(inventory, each.resource, each.where, state.slots, report)
    for part in kinds.dropped_parts(table):
        words = f"{table.title}, what the last change has removed"
        inventory.owners.setdefault(int.from_bytes(part[:4], "big"), (words, state.slots))


def _add_stream(inventory: Inventory, key: bytes, payload: bytes, report: Report) -> None:
    state = _state(StreamState, payload)
    if state is None:
        inventory.complete = False
        report.add("catalog", "the row of a stream cannot be read", LOST, f"resource {key.hex()}")
        return
    if state.resource.to_bytes(4, "big") != key:
        report.add("catalog", "the row of a stream has the key of another number", LOST, key.hex())
    inventory.streams[state.resource] = state
    _own(inventory, state.resource, stream_name(state), state.slots, report)


async def _add_mentioned(store: ReadOnlyStore, inventory: Inventory, part: Part, report: Report) -> None:
    """Adds the resources that backups, imports and other system rows name."""
    async for rows in pages(store, part, report):
        for _, payload in rows:
            try:
                stored = orjson.loads(payload)
            except ValueError:
                continue
            if isinstance(stored, dict) and not stored.get("holds_rows", True):
                continue  # a backup has the numbers of its table, but its items are in files
            for path, resource in resources_in(stored):
                inventory.owners.setdefault(resource, (f"{path} of the system's part {part.hex()}", 256))


def _state(kind: type[State], payload: bytes) -> State | None:
    try:
        return kind.from_json(orjson.loads(payload))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _own(inventory: Inventory, resource: int, words: str, slots: int, report: Report) -> None:
    before = inventory.owners.get(resource)
    if before is not None:
        report.add(
            "catalog",
            "a resource number is assigned twice",
            LOST,
            f"{resource}, to {before[0]} and to {words}",
        )
    inventory.owners[resource] = (words, slots)


def resources_in(stored: object, path: str = "") -> Iterator[tuple[str, int]]:
    """Yields (path, number) of every resource number in a stored state."""
    if isinstance(stored, Mapping):
        for name, value in stored.items():
            below = f"{path}.{name}" if path else str(name)
            if isinstance(value, int) and (name == "resource" or str(name).endswith("_resource")):
                yield below, value
            else:
                yield from resources_in(value, below)
    elif isinstance(stored, list | tuple):
        for index, value in enumerate(stored):
            label = value.get("name", index) if isinstance(value, Mapping) else index
            yield from resources_in(value, f"{path} {label}")


def _check_numbers(inventory: Inventory, report: Report) -> None:
    """Checks that the last number, above which new resources get theirs, is the highest."""
    used = max(inventory.owners, default=0)
    last = inventory.last_resource
    if (last or 0) < used:
        report.add(
            "catalog",
            "the last resource number is below those in use, which would be assigned again",
            "writes the highest number in use",
            f"{'none' if last is None else last} is stored, {used} is in use",
            RepairAction("numbers"),
        )


def _check_links(inventory: Inventory, report: Report) -> None:
    """Checks that a table's stream exists and is open, and that an open stream has its table."""
    linked: set[int] = set()
    for table in inventory.tables:
        if table.state.stream is None:
            continue
        resource = table.state.stream.resource
        stream = inventory.streams.get(resource)
        linked.add(resource)
        if stream is None or stream.ended_ns is not None:
            what = "its stream does not exist" if stream is None else "its stream has ended"
            report.add(
                table.title,
                f"{what}, so the database may not open",
                "switches the table's stream off; it can be switched on again",
                f"resource {resource}",
                RepairAction("unlink", resource=table.state.resource),
            )
    for stream in inventory.streams.values():
        if stream.ended_ns is None and stream.resource not in linked:
            report.add(
                stream_name(stream),
                "it is open, but no table writes to it",
                "ends the stream; it can be read for another 24 hours",
                repair=RepairAction("end stream", resource=stream.resource),
            )
