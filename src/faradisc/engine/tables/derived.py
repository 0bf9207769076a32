"""What belongs to a table beside its items: the contract of everything that is derived from them.

A table is its rows and a list of what is derived from them: indexes, sizes of item collections, streams,
captured changes, the expiry index, the history. Each of these is a `Derived`; `Table.derived` has those of a
table, and the few loops over that list are all that knows of them:

    a write          prepare, then add: its rows are in the commit of the item (commit.py)
    a new one        fill: a walk over the items that are there already (engine/derived/filling.py)
    a check          verification, repair: whether its rows are those that the items determine
    an inspection    layout, rows_about: how they look, and which are about one item
    a change         assign, parts, fenced, continues, forget: numbers, clearing and fences (catalog.py)
    other owners     resources (encryption), parts (deletion, conversion)

A `DerivedKind` knows the part of a table's stored state that is its own, and returns the `Derived` that
follow from it. The kinds are in engine/derived/, above this package; the catalog is given them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from faradisc.clock import Clock
from faradisc.engine.inspection.layouts import Layout
from faradisc.engine.inspection.reading import StoreLook
from faradisc.engine.jobs.walk import WalkPage, WalkPosition
from faradisc.engine.streams.records import ChangeRecorder
from faradisc.engine.tables.indexes import EntryChange
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.moments import Moments
from faradisc.engine.tables.state import FeatureState, TableState
from faradisc.engine.throughput.meter import TableMeter
from faradisc.engine.vectors.memory import VectorMemory
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX
from faradisc.model.values.attribute import Item
from faradisc.records import dataclass, field
from faradisc.storage.api import Batch, Batches, Part, Store


class Marked(Protocol):
    """Something in memory that follows rows of the store."""

    def written(self, row_key: bytes) -> None:
        """Notes that a row is being written, or has been."""
        ...


Growth = tuple[TableMeter, Callable[[bool], None]]
"""Whose partitions grow, and a function that adds the growth; with True it subtracts it again."""


class CommitBatches(Batches):
    """The batches of one commit, and what is in memory of their rows."""

    __slots__ = ("after_ns", "at_ns", "growth", "written")

    def __init__(self, *batches: Batch) -> None:
        super().__init__({batch.part: batch for batch in batches})
        self.written: list[tuple[Marked, bytes]] = []
        """What is in memory of rows that change, with the keys of these rows."""
        self.growth: list[Growth] = []
        self.at_ns = 0
        """The moment of the commit; 0: nothing has asked for it yet."""
        self.after_ns = 0
        """The moment has to be after this one."""

    def of_items(self, layout: TableLayout, part: Part) -> Batch:
        """Returns the batch of one of the parts of a table's items."""
        if part not in self:
            self[part] = layout.item_batch(part)
        return self[part]


class StoredImage(Protocol):
    """An item as it is stored, or its absence (change.py: Image)."""

    version: int
    record: bytes | None
    size_bytes: int
    exists: bool

    @property
    def item(self) -> Item | None: ...


class KeyedChange(Protocol):
    """Which item is changed (change.py: Change)."""

    key: Item
    part: bytes
    row_key: bytes
    by_service: bool
    stamp: bytes | None
    together: bytes | None
    reached: int | None
    elsewhere: Sequence[tuple[bytes, bytes, int, int]]


class WrittenItem(Protocol):
    """One item that a commit writes (change.py: Outcome)."""

    collection_bytes: int | None
    entries: list[EntryChange]
    new_record: bytes | None
    new_size: int

    @property
    def new_item(self) -> Item | None: ...

    @property
    def change(self) -> KeyedChange: ...

    @property
    def old(self) -> StoredImage: ...


@dataclass(frozen=True, slots=True)
class LiveParts:
    """What a database has in memory beside its tables. A check has the defaults."""

    clock: Clock
    moments: Moments
    shared: bool = False
    """Whether other nodes write to the store."""
    vectors: VectorMemory = field(default_factory=VectorMemory)
    recorder: Callable[[int], ChangeRecorder] | None = None
    """Returns what records the changes of a table in its stream; None: nothing is written."""
    collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX

    @classmethod
    def of_check(cls, clock: Clock) -> LiveParts:
        return cls(clock, Moments(clock))


class DerivedCheck:
    """The check of one derived thing. It sees all items of the table first, slot by slot, in the order of
    their row keys; then it reads what is stored. Its memory does not grow with the number of items."""

    def begin_slot(self, slot: int) -> None:
        """The items that follow are of this slot."""

    def see(self, row_key: bytes, item: Item | None, record: bytes) -> None:
        """One item and its canonical record; None: the record cannot be read."""

    async def page_seen(self) -> None:
        """Reports what is known after a page of items."""

    async def slot_seen(self) -> None:
        """Reports what is known after the last item of a slot."""

    async def rest(self) -> AsyncIterator[None]:
        """Verifies what is stored, in steps of a page."""
        return
        yield


class Derived:
    """One resource with rows or log entries that follow from the items of one table.

    A new one is made with every change of the table's state.
    """

    job: ClassVar[bytes] = b""
    """Names the stored cursor of its filling; b"" for what is complete from the beginning."""
    filled_while: ClassVar[frozenset[str]] = frozenset({"ACTIVE", "UPDATING"})
    """The status that a table must have for it."""
    is_maintained = True
    """Whether each commit of an item adds to it. One that is being filled is maintained too."""
    reads = False
    """Whether `prepare` is called before a commit."""
    fenced = False
    """Whether requests read its parts; then they have the epoch of the table."""
    is_filled = True
    """Whether it has what follows from every item."""
    is_leaving = False
    """Whether it has been removed; its rows are cleared, and it has no others."""

    def __init__(self, table: TableLayout, resource: int, words: str) -> None:
        """words: what it is, after the name of its table: `index by-year`."""
        self.table = table
        self.resource = resource
        self.words = words

    def parts(self) -> Sequence[Part]:
        """Returns the parts that are cleared with it."""
        raise NotImplementedError

    # --- Writes ---

    async def prepare(self, store: Store, batches: CommitBatches, written: Sequence[WrittenItem], /) -> None:
        """Reads what the commit depends on, with checks in `batches`. `written` are all changes of the table
        in this commit, those that change nothing included. Raises CollectionsFull."""

    def add(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        """Adds what follows from the change of one item. Nothing is awaited between this and the commit."""

    def add_unchanged(self, batches: CommitBatches, written: WrittenItem, /) -> None:
        """As `add`, for a change that leaves the item as it is. Called if this `reads`."""

    # --- Life ---

    def continues(self, before: Derived, /) -> None:
        """Takes over what an earlier object of the same resource has in memory."""

    def forget(self) -> None:
        """Forgets what is in memory of it: its rows were cleared."""

    # --- Filling ---

    async def fill(self, store: Store, page: WalkPage, batches: CommitBatches) -> None:
        """Adds what follows from a page of items and is missing."""
        raise NotImplementedError

    # --- Checks ---

    @property
    def where(self) -> str:
        """Names it in reports: `table music, index by-year`."""
        return f"{self.table.title}, {self.words}"

    def layout(self) -> Layout:
        """Describes its rows and log entries."""
        return Layout(self.where)

    def usage_of(self, key: bytes, payload: bytes) -> tuple[int, int]:
        """Returns what a row adds to the usage of its part: items and bytes."""
        return 0, 0

    def verification(self, look: StoreLook) -> DerivedCheck:
        return DerivedCheck()

    async def repair(self, store: Store, look: StoreLook) -> None:
        """Rewrites what differs from the items. Requires: no other writer."""

    async def rows_about(
        self, look: StoreLook, key: Item, item: Item | None, record: bytes
    ) -> list[tuple[Part, list[bytes]]]:
        """Returns the keys of the rows about one item, for an inspection. item: None when there is none."""
        return []

    # --- Filling, continued ---

    async def page_filled(self, store: Store, before: WalkPosition, after: WalkPosition) -> None:
        """Called after the commit of a page."""

    def filled(self, state: TableState) -> bool:
        """Notes in the state of its table that it is filled. Returns False if it does not exist any more."""
        raise NotImplementedError


class DerivedKind:
    """All derived things of one kind, and their part of a table's state."""

    name: str
    """In one word."""
    numbering = 1
    """Kinds with lower numbers get their resource numbers first; so new tables look as they always did."""

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        """Returns those that a table has, those included that are being removed."""
        raise NotImplementedError

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        """Gives those of them that are new their resource numbers."""

    def dropped(self, table: TableLayout, live: LiveParts) -> Iterable[Part]:
        """Returns the parts of what the last change of the table has removed and `of` does not have. A crash
        may have left rows in them."""
        return ()

    def settle(self, state: TableState) -> None:
        """Forgets what `dropped` is about: these rows have been cleared."""

    def restored(self, state: TableState) -> dict[str, FeatureState]:
        """Returns the features that a table restored from this state begins with, empty as it is."""
        return {}


class Kinds:
    """The kinds that a database knows, with what they need."""

    def __init__(self, kinds: Sequence[DerivedKind], live: LiveParts) -> None:
        self._kinds = kinds
        self.live = live

    def of(self, table: TableLayout) -> list[Derived]:
        """Returns all that is derived from the items of a table.

        Raises ValueError for a feature that this program does not know: its rows would not be maintained.
        """
        unknown = table.state.features.keys() - {kind.name for kind in self._kinds}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"table {table.name} has a feature that this program does not know: {names}")
        return [each for kind in self._kinds for each in kind.of(table, self.live)]

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        for kind in sorted(self._kinds, key=lambda kind: kind.numbering):
            kind.assign(state, numbers)

    def dropped_parts(self, table: TableLayout) -> list[Part]:
        """Returns the parts of what was last removed. A crash may have left rows in them."""
        leaving = [each for each in self.of(table) if each.is_leaving]
        parts = [part for each in leaving for part in each.parts()]
        for kind in self._kinds:
            parts += kind.dropped(table, self.live)
        return parts

    def settle(self, state: TableState) -> None:
        for kind in self._kinds:
            kind.settle(state)

    def restored(self, state: TableState) -> dict[str, FeatureState]:
        """Returns the features of a table that is restored from a state of another one."""
        return {name: each for kind in self._kinds for name, each in kind.restored(state).items()}


def removed(before: Iterable[Derived], after: Iterable[Derived]) -> list[Derived]:
    """Returns what a change of a table's state has removed."""
    staying = {each.resource for each in after if not each.is_leaving}
    return [each for each in before if not each.is_leaving and each.resource not in staying]


def find(derived: Iterable[Any], kind: type[Any]) -> Any:
    """Returns the first of a kind, or None."""
    return next((each for each in derived if isinstance(each, kind)), None)
