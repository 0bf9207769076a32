"""Late reads: the state of a table as it was up to N milliseconds ago, to test programs with.

The store has the present only. For each table with a lag, the rows that its writes have replaced within that
time are in memory: what was stored under a row key before a moment, in the table and in its indexes. The
state at an earlier moment is the store's rows with these laid over them, so nothing is stored differently,
and a strong read does not come here:

    row key    before 12.010    before 12.480    the store
    p=a        (absent)         total=1          total=2        a read as of 12.300 sees total=1

Each read draws how late it is, between 0 and the lag, from a sequence of its table: the same seed, requests
and times give the same answers. A page is of one moment, an index with its table, so a transaction is in it
as a whole or not at all.

A row that is missing here makes a read newer, never wrong. So rows that were replaced before a start, by
another node, or by an import into a table that nobody could read yet, are not here; and beyond
IMAGES_BYTES_MAX the oldest are dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from random import Random
from typing import TYPE_CHECKING, Unpack
from weakref import WeakValueDictionary

from faradisc.clock import Clock
from faradisc.model.codec import item_record
from faradisc.model.values.size import item_size
from faradisc.storage.api import GetOptions, Part, Row, RowReads
from faradisc.storage.ordered import OrderedKeys

if TYPE_CHECKING:
    from faradisc.engine.tables.derived import WrittenItem

LAG_MS_MAX = 86_400_000
IMAGES_BYTES_MAX = 64 << 20
"""Of one table."""
_IMAGE_BYTES = 300
"""What an image takes besides its payload."""
_ANY_VERSION = 1


def parse_lags(tables: str) -> dict[str, float]:
    """Parses lags of single tables: "Orders=500,Logs=0". Raises ValueError with what cannot be read."""
    lags: dict[str, float] = {}
    for piece in filter(None, map(str.strip, tables.split(","))):
        name, _, text = piece.partition("=")
        try:
            lags[name] = float(text)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"write TABLE=MILLISECONDS, not {piece!r}")
    return lags


def check_lags(default: float, by_table: Mapping[str, float]) -> None:
    """Raises ValueError for a lag that cannot be used."""
    for name, lag_ms in {"": default, **by_table}.items():
        if not 0 <= lag_ms <= LAG_MS_MAX:
            whose = f" of {name}" if name else ""
            raise ValueError(f"the lag of late reads{whose} is between 0 and {LAG_MS_MAX:,} ms, a day")


class LateReads:
    """How late the reads of each table may be."""

    def __init__(self, clock: Clock, lag_ms: float = 0.0, tables: str = "", seed: int = 0) -> None:
        """lag_ms: of tables that `tables` does not name ("Orders=500"). Raises ValueError."""
        self._clock = clock
        self._images: WeakValueDictionary[str, EarlierImages] = WeakValueDictionary()
        """By id of the table; its objects, of which each change makes another, hold them."""
        self.set(lag_ms, parse_lags(tables), seed)

    def set(self, lag_ms: float, by_table: Mapping[str, float], seed: int | None = None) -> None:
        """Raises ValueError. seed: begins its sequences; None: goes on with the present ones."""
        check_lags(lag_ms, by_table)
        self.lag_ms = lag_ms
        self.by_table = dict(by_table)
        if seed is not None:
            self.seed = seed
            for images in self._images.values():
                images.draw = self._drawing(images.name)

    def lag_ns(self, table_name: str) -> int:
        return int(self.by_table.get(table_name, self.lag_ms) * 1_000_000)

    def of(self, table_id: str, name: str) -> EarlierImages | None:
        """Returns the earlier images of a table, made when first asked for; None without a lag."""
        lag_ns = self.lag_ns(name)
        if not lag_ns:
            return None
        images = self._images.get(table_id)
        if images is None:
            images = self._images[table_id] = EarlierImages(name, self._clock, self._drawing(name))
        images.lag_ns = lag_ns
        return images

    def _drawing(self, name: str) -> Random:
        return Random(f"{self.seed} {name}")


class _Images:
    """The earlier images of one row, oldest first: what was there before each of some moments."""

    __slots__ = ("before_ns", "payloads")

    def __init__(self) -> None:
        self.before_ns: list[int] = []
        self.payloads: list[bytes | None] = []


class _PartImages:
    """The earlier images of the rows of one part."""

    __slots__ = ("by_key", "keys")

    def __init__(self) -> None:
        self.by_key: dict[bytes, _Images] = {}
        self.keys = OrderedKeys()

    def add(self, key: bytes, payload: bytes | None, moment_ns: int) -> None:
        images = self.by_key.get(key)
        if images is None:
            images = self.by_key[key] = _Images()
            self.keys.add(key)
        at = bisect_right(images.before_ns, moment_ns)  # the end, unless commits of a shared store cross
        images.before_ns.insert(at, moment_ns)
        images.payloads.insert(at, payload)

    def drop(self, key: bytes, at: int) -> bytes | None:
        """Drops the oldest (0) or the newest (-1) image of a row, and returns its payload."""
        images = self.by_key[key]
        del images.before_ns[at]
        payload = images.payloads.pop(at)
        if not images.payloads:
            del self.by_key[key]
            self.keys.remove(key)
        return payload

    def between(
        self, lo: bytes | None, hi: bytes | None, at_ns: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Yields the rows of a range that have changed after a moment, as they were then, in its order."""
        for key in self.keys.descending(lo, hi) if reverse else self.keys.ascending(lo, hi):
            images = self.by_key[key]
            at = bisect_right(images.before_ns, at_ns)
            if at < len(images.payloads):
                yield key, images.payloads[at]


class EarlierImages:
    """What the writes to one table have replaced within its lag."""

    def __init__(self, name: str, clock: Clock, draw: Random) -> None:
        self.name = name
        self.lag_ns = 0
        self.draw = draw
        self.parts: dict[Part, _PartImages] = {}
        self.bytes = 0
        """In memory, about."""
        self._clock = clock
        self._order: deque[tuple[int, Part, bytes]] = deque()
        """Every image by its moment, part and row key, oldest first."""
        self._latest_ns = 0

    def moment_ns(self) -> int:
        """Returns the moment whose state the next read sees; 0 while no row has an earlier image."""
        order = self._order
        if not order:
            return 0
        now_ns = self._clock.now_ns()
        oldest_ns = now_ns - self.lag_ns
        if order[0][0] <= oldest_ns or now_ns < self._latest_ns:
            self._forget(now_ns)
            if not order:
                return 0
        return oldest_ns + int(self.draw.random() * self.lag_ns) + 1

    def record_at(self, part: Part, key: bytes, at_ns: int, present: bytes | None) -> bytes | None:
        """Returns the record of an item at a moment. present: the stored one, read before this call."""
        changed = self.parts.get(part)
        images = None if changed is None else changed.by_key.get(key)
        if images is None:
            return present
        at = bisect_right(images.before_ns, at_ns)
        return images.payloads[at] if at < len(images.payloads) else present

    def view(self, store: RowReads) -> RowReads:
        """Returns what the next page sees; `store` itself while no row has an earlier image."""
        at_ns = self.moment_ns()
        return LateView(store, self, at_ns) if at_ns else store

    # --- Writes ---

    def now_ns(self) -> int:
        return self._clock.now_ns()

    def keep(self, written: WrittenItem, moment_ns: int) -> None:
        """Keeps what the commit of a change replaces. moment_ns: not after that commit."""
        self._forget(self._clock.now_ns())
        for part, key, payload in _replaced(written):
            images = self.parts.get(part)
            if images is None:
                images = self.parts[part] = _PartImages()
            images.add(key, payload, moment_ns)
            self._order.append((moment_ns, part, key))
            self.bytes += _IMAGE_BYTES + len(payload or b"")
        while self.bytes > IMAGES_BYTES_MAX:
            self._drop(*self._order.popleft()[1:], 0)

    def take_back(self, written: WrittenItem, moment_ns: int) -> None:
        """Drops what was kept last, for a commit that was not made."""
        for part, key, _ in _replaced(written):
            if (moment_ns, part, key) in self._order:
                self._order.remove((moment_ns, part, key))
                self._drop(part, key, -1)

    def _forget(self, now_ns: int) -> None:
        """Drops what no read can see any more; everything if the clock has been set back."""
        order, until_ns = self._order, now_ns - self.lag_ns
        if now_ns < self._latest_ns:
            until_ns = self._latest_ns
        self._latest_ns = now_ns
        while order and order[0][0] <= until_ns:
            self._drop(*order.popleft()[1:], 0)

    def _drop(self, part: Part, key: bytes, at: int) -> None:
        images = self.parts[part]
        self.bytes -= _IMAGE_BYTES + len(images.drop(key, at) or b"")
        if not images.by_key:
            del self.parts[part]


def _replaced(written: WrittenItem) -> Iterator[tuple[Part, bytes, bytes | None]]:
    """Yields the rows of a table and its indexes that a change replaces, as they were; None: absent."""
    change, old = written.change, written.old
    yield change.part, change.row_key, old.record
    for entry in written.entries:
        if entry.index.vectors is not None:
            continue  # vector searches are never late
        if entry.old_location is not None and old.item is not None:
            before = entry.index.schema.entry(old.item)
            assert before is not None
            yield *entry.old_location, item_record.encode(before, item_size(before))
        if entry.put is not None and entry.put[:2] != entry.old_location:
            yield *entry.put[:2], None


class LateView:
    """The rows of a table and its indexes at one moment."""

    __slots__ = ("_at_ns", "_images", "_store")

    def __init__(self, store: RowReads, images: EarlierImages, at_ns: int) -> None:
        self._store = store
        self._images = images
        self._at_ns = at_ns

    async def get(self, part: Part, keys: Sequence[bytes], **options: Unpack[GetOptions]) -> list[Row | None]:
        rows = await self._store.get(part, keys, **options)
        # After the read: what was written since is kept too, and what was read is what it replaced.
        for position, (key, row) in enumerate(zip(keys, rows, strict=True)):
            present = None if row is None else row[1]
            earlier = self._images.record_at(part, key, self._at_ns, present)
            if earlier is not present:
                rows[position] = None if earlier is None else (_ANY_VERSION, earlier)
        return rows

    async def range(
        self,
        part: Part,
        lo: bytes | None,
        hi: bytes | None,
        *,
        limit: int,
        reverse: bool = False,
        max_bytes: int | None = None,
        epoch: int | None = None,
    ) -> list[tuple[bytes, Row]]:
        """As the store's, which it reads again where rows that it has were not there at this moment."""
        found: list[tuple[bytes, Row]] = []
        room = inf if max_bytes is None else max_bytes
        while True:
            budget = None if max_bytes is None else int(room)
            wanted = limit - len(found)
            rows = await self._store.range(
                part, lo, hi, limit=wanted, reverse=reverse, max_bytes=budget, epoch=epoch
            )
            changed = self._images.parts.get(part)
            if changed is None and not found:
                return rows
            rest = len(rows) == wanted or sum(len(row[1]) for _, row in rows) > room
            last = rows[-1][0] if rest else None
            if last is not None:  # what lies beyond is of the next round
                low, high = (last, hi) if reverse else (lo, last + b"\x00")
            else:
                low, high = lo, hi
            changes = changed or _PartImages()
            earlier = changes.between(low, high, self._at_ns, reverse=reverse)
            for key, row in _laid_over(rows, earlier, reverse=reverse):
                found.append((key, row))
                room -= len(row[1])
                if len(found) == limit or room < 0:
                    return found
            if last is None:
                return found
            lo, hi = (lo, last) if reverse else (last + b"\x00", hi)


def _laid_over(
    rows: Sequence[tuple[bytes, Row]], earlier: Iterator[tuple[bytes, bytes | None]], *, reverse: bool
) -> Iterator[tuple[bytes, Row]]:
    """Yields rows as they were, in their order. earlier: those that have changed since; None: absent."""
    pending = next(earlier, None)
    for key, row in rows:
        while pending is not None and (pending[0] > key if reverse else pending[0] < key):
            if pending[1] is not None:
                yield pending[0], (_ANY_VERSION, pending[1])
            pending = next(earlier, None)
        if pending is None or pending[0] != key:
            yield key, row
    while pending is not None:
        if pending[1] is not None:
            yield pending[0], (_ANY_VERSION, pending[1])
        pending = next(earlier, None)
