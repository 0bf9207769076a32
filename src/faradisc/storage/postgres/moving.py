"""Moves the parts of some prefixes to other places while they are read and written.

Source: kv_moved gets the slots with state 1, and the parts' generations become negative; from then on every
commit there also notes the keys that it changes (kv_changed). Target: the slots have state 2, and the parts a
generation that nobody reads. Rows and log are copied in order, so the last copied key says where to continue.
Then the noted keys are copied until few are left. The switch is one commit over all places: it locks the
parts at the source, copies the rest, makes the parts those of the target, clears them at the source, and
changes the map. So whoever dies in between leaves everything as it was, or moved.

One mover at a time: each first raises `fence` of the target's slots, and writes there under its own only.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from faradisc.errors import StorageError
from faradisc.records import dataclass
from faradisc.storage.api import NETWORKED_SLOTS, Part
from faradisc.storage.postgres.errors import sqlstate, translated
from faradisc.storage.postgres.keys import ABOVE_ALL
from faradisc.storage.postgres.place import BARRIER, Place
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.routed import RoutedStore
from faradisc.storage.postgres.store import NEW_CALLER

PAGE_ROWS = 1000
PAGE_BYTES = 4 << 20
LOG_ROWS = 500
FEW = 200
"""Noted keys and log entries that are left to the switch."""
LOCK_MS = 500
"""Longest wait of the switch for a lock, before PostgreSQL looks for deadlocks; then it is tried again."""
VERSIONS_AHEAD = 1_000_000
"""By so much the versions of a target jump: more than it gives in the moment of the jump."""
SLOT_BYTES = 5

_ASK = """UPDATE kv_placement SET target = $2, done = 0, moved = now()
 WHERE prefix = ANY ($1::bytea[]) AND places <> $2 AND target IS NULL"""
_NEXT = """SELECT prefix, places, target FROM kv_placement WHERE target IS NOT NULL AND moved =
 (SELECT min(moved) FROM kv_placement WHERE target IS NOT NULL) ORDER BY prefix"""
_LEAVING = "INSERT INTO kv_moved SELECT slot, 1, 0 FROM unnest($1::bytea[]) AS u(slot) ON CONFLICT DO NOTHING"
_COMING = """INSERT INTO kv_moved SELECT slot, 2, 1 FROM unnest($1::bytea[]) AS u(slot)
 ON CONFLICT (slot) DO UPDATE SET state = 2, fence = kv_moved.fence + 1 RETURNING slot, fence"""
_PARTS = (
    "SELECT part, gen, seq, items, bytes, epoch FROM kv_part WHERE part >= $1 AND part < $2 ORDER BY part"
)
_NOTE = "UPDATE kv_part SET gen = -gen WHERE part = $1 AND gen > 0"
_UNUSED = """INSERT INTO kv_part (part, gen) VALUES ($1, -1)
 ON CONFLICT (part) DO UPDATE SET gen = -kv_part.gen WHERE kv_part.gen > 0"""
_AT_TARGET = "SELECT gen, items FROM kv_part WHERE part = $1"
# Until the switch `items` of the target is the generation at the source of which it is a copy.
_AGAIN = "UPDATE kv_part SET gen = gen - 1, seq = 0, items = $2, bytes = 0 WHERE part = $1"
_GARBAGE = "INSERT INTO kv_garbage VALUES ($1, $2) ON CONFLICT DO NOTHING"
_LAST_KEY = "SELECT k FROM kv WHERE part = $1 AND gen = $2 ORDER BY part DESC, gen DESC, k DESC LIMIT 1"
_LAST_ENTRY = (
    "SELECT seq FROM kv_log WHERE part = $1 AND gen = $2 ORDER BY part DESC, gen DESC, seq DESC LIMIT 1"
)
_FIRST_ENTRY = "SELECT seq FROM kv_log WHERE part = $1 AND gen = $2 ORDER BY part, gen, seq LIMIT 1"
_PAGE = "SELECT key, version, payload FROM kv_page($1, NULL, $2, $3, false, $4, $5)"
_ENTRIES = """SELECT seq, entry FROM kv_log WHERE part = $1 AND gen = $2 AND seq > $3
 ORDER BY part, gen, seq LIMIT $4"""
_FENCED = "SELECT FROM kv_moved WHERE slot = $1 AND fence = $2 AND state = 2 FOR SHARE"
_PUT = """INSERT INTO kv SELECT $1, $2, k, ver, v
 FROM unnest($3::bytea[], $4::bigint[], $5::bytea[]) AS u(k, ver, v)
 ON CONFLICT (part, gen, k) DO UPDATE SET ver = excluded.ver, v = excluded.v"""
_DELETE = "DELETE FROM kv WHERE part = $1 AND gen = $2 AND k = ANY ($3::bytea[])"
_APPEND = """INSERT INTO kv_log SELECT $1, $2, seq, entry
 FROM unnest($3::bigint[], $4::bytea[]) AS u(seq, entry)
 ON CONFLICT DO NOTHING"""
_TRIM = "DELETE FROM kv_log WHERE part = $1 AND gen = $2 AND seq < $3"
_NOTED = """DELETE FROM kv_changed WHERE part = $1 AND k = ANY
 (ARRAY (SELECT k FROM kv_changed WHERE part = $1 LIMIT $2)) RETURNING k"""
_LEFT = "SELECT count(*) FROM (SELECT FROM kv_changed WHERE part = $1 LIMIT $2) AS few"
_ROWS = "SELECT k, ver, v FROM kv WHERE part = $1 AND gen = $2 AND k = ANY ($3::bytea[])"
_LOCK = "SELECT FROM kv_part WHERE part = $1 FOR UPDATE"
_LOCK_SLOTS = "SELECT FROM kv_moved WHERE slot = ANY ($1::bytea[]) ORDER BY slot FOR UPDATE"
_GONE = "UPDATE kv_moved SET state = 2 WHERE slot = ANY ($1::bytea[])"
_CLEARED = "UPDATE kv_part SET gen = gen - 1, seq = 0, items = 0, bytes = 0 WHERE part = $1"
_HERE = "DELETE FROM kv_moved WHERE slot = ANY ($1::bytea[])"
_ARRIVED = (
    "UPDATE kv_part SET gen = -gen, seq = $2, items = $3, bytes = $4, epoch = $5 WHERE part = $1 AND gen < 0"
)
_VERSION = "SELECT last_value FROM kv_version"
_JUMP = "SELECT setval('kv_version', greatest(last_value, $1) + $2) FROM kv_version"
_MAP = """UPDATE kv_placement SET places = target, before = places, target = NULL, done = 0, moved = now()
 WHERE prefix = ANY ($1::bytea[]) AND target IS NOT NULL"""
_DONE = "UPDATE kv_placement SET done = $2 WHERE prefix = ANY ($1::bytea[]) AND done <> $2"
_FORGET = (
    "UPDATE kv_placement SET before = NULL WHERE before IS NOT NULL AND moved < now() - interval '15 minutes'"
)
_DECIDED = (
    "UPDATE kv_caller SET last = $2, answer = '', at = now() WHERE id = $1 AND sealed = 0 RETURNING last"
)


async def ask(store: RoutedStore, prefixes: Sequence[bytes], target: bytes) -> None:
    """Asks for a move of prefixes, the first of which is placed; nothing is done yet. Raises StorageError."""
    await store.map.load()
    await store.map.place_beside(prefixes, prefixes[0], target)
    await store.home._fetch(_ASK, list(prefixes), target)


class _NotYet(Exception):
    """The switch met something new: it is tried again."""


class _Fenced(StorageError):
    """Another server moves the same parts. Nothing was written."""


@dataclass(slots=True)
class _Copy:
    """A part that is moved."""

    part: Part
    source: Place
    target: Place
    gen: int
    """At the source."""
    to: int
    """The generation at the target."""
    bytes: int
    is_complete: bool = False


class Mover:
    """Makes the moves that the map at home asks for, the oldest first."""

    def __init__(self, store: RoutedStore) -> None:
        self._store = store
        self._move: _Move | None = None

    async def step(self) -> bool:
        """Does a bounded piece of a move. Returns False when there is none."""
        home = self._store.home
        if self._move is None:
            await home._fetch(_FORGET)
            rows = await home._fetch(_NEXT)
            if not rows:
                return False
            self._move = _Move(self._store, {prefix: (places, target) for prefix, places, target in rows})
        move = self._move
        self._move = None  # begun anew after a failure
        if await move.step():
            await self._store.map.load()
            return True
        self._move = move
        return True

    async def lost(self) -> None:
        self._move = None


class _Move:
    def __init__(self, store: RoutedStore, asked: dict[bytes, tuple[bytes, bytes]]) -> None:
        self._store = store
        self._asked = asked
        self._fences: dict[bytes, int] = {}
        """Of the target's slots."""
        self._copies: dict[Part, _Copy] = {}
        self._begun = False
        self._by_sides: dict[tuple[int, int], list[bytes]] = {}
        """Slots by source and target."""
        self._places: list[int] = []
        """All that take part in the switch, in the order of commits: home, the last, decides."""

    async def step(self) -> bool:
        """Returns whether the move has ended."""
        if not self._begun:
            await self._begin()
            self._begun = True
        for copy in self._copies.values():
            if not copy.is_complete:
                copy.is_complete = not await self._copy_page(copy)
                await self._show()
                return False
        for copy in self._copies.values():
            if await self._few_left(copy):
                continue
            async with copy.source.transaction() as at_source, self._writing(copy) as at_target:
                await self._copy_noted(copy, at_source, at_target)
            return False
        try:
            await self._switch()
        except _NotYet:
            await self._begin()
            await asyncio.sleep(LOCK_MS / 10_000)
            return False
        return True

    def _sides(self, slot: bytes) -> tuple[int, int]:
        """Returns source and target of a slot."""
        places, target = self._asked[slot[:4]]
        return places[slot[4] % len(places)], target[slot[4] % len(target)]

    async def _slots(self) -> dict[tuple[int, int], list[bytes]]:
        """Returns the slots to move by source and target."""
        found: set[bytes] = set()
        for prefix, (places, _) in self._asked.items():
            found |= {prefix + bytes([number]) for number in range(NETWORKED_SLOTS)}
            for number in set(places):
                found |= {
                    row[0][:SLOT_BYTES] for row in await self._parts_at(self._store.place(number), prefix)
                }
        slots: dict[tuple[int, int], list[bytes]] = {}
        for slot in sorted(found):
            source, target = self._sides(slot)
            if source != target:
                slots.setdefault((source, target), []).append(slot)
        return slots

    async def _parts_at(self, place: Place, start: bytes) -> list[Any]:
        return await place._fetch(_PARTS, start, start + b"\xff" * 60)

    async def _begin(self) -> None:
        """Lets the sources note changes, and finds the parts. May be repeated."""
        self._by_sides = await self._slots()
        self._places = sorted({0, *itertools.chain(*self._by_sides)}, reverse=True)
        for (source_number, target_number), slots in self._by_sides.items():
            source, target = self._store.place(source_number), self._store.place(target_number)
            await source._fetch(_LEAVING, slots)
            if not self._fences.keys() >= set(slots):
                self._fences.update(dict(await target._fetch(_COMING, slots)))
            for slot in slots:
                for part, gen, *_ in await self._parts_at(source, slot):
                    if gen > 0:
                        await source._fetch(_NOTE, part)
                for part, gen, _, _, size, _ in await self._parts_at(source, slot):
                    await self._begin_part(part, source, target, -gen, size)

    async def _begin_part(self, part: Part, source: Place, target: Place, gen: int, size: int) -> None:
        known = self._copies.get(part)
        if known is not None and known.gen == gen:
            return
        await target._fetch(_UNUSED, part)
        [(to, copied_gen)] = await target._fetch(_AT_TARGET, part)
        if copied_gen != gen:  # nothing, or something that was cleared, is there
            async with self._fenced(part, target) as connection:
                await connection.fetch(_AGAIN, part, gen)
                await connection.fetch(_GARBAGE, part, -to)
            to -= 1
        self._copies[part] = _Copy(part, source, target, gen, -to, size)

    # --- copying ---

    @asynccontextmanager
    async def _fenced(self, part: Part, target: Place) -> AsyncIterator[Connection]:
        """Yields a transaction at the target in which no other mover can write the part."""
        slot = part[:SLOT_BYTES]
        async with target.transaction() as connection:
            if not await connection.fetch(_FENCED, slot, self._fences[slot]):
                raise _Fenced
            yield connection

    def _writing(self, copy: _Copy) -> Any:
        return self._fenced(copy.part, copy.target)

    async def _copy_page(self, copy: _Copy) -> bool:
        """Copies some rows, or log entries when there are no more rows. Returns False when all are copied."""
        part, to = copy.part, copy.to
        last = await copy.target._fetch(_LAST_KEY, part, to)
        low = last[0][0] + b"\x00" if last else b""
        rows = await copy.source._fetch(_PAGE, part, low, ABOVE_ALL, PAGE_ROWS, PAGE_BYTES)
        if rows:
            async with self._writing(copy) as at_target:
                await at_target.fetch(_PUT, part, to, *(list(column) for column in zip(*rows, strict=True)))
            return True
        entries = await self._entries(copy, copy.source._fetch, copy.target._fetch)
        if entries:
            async with self._writing(copy) as at_target:
                await at_target.fetch(_APPEND, part, to, *(list(each) for each in zip(*entries, strict=True)))
        return len(entries) == LOG_ROWS

    async def _entries(self, copy: _Copy, of_source: Any, of_target: Any, limit: int = LOG_ROWS) -> list[Any]:
        last = await of_target(_LAST_ENTRY, copy.part, copy.to)
        found: list[Any] = await of_source(_ENTRIES, copy.part, copy.gen, last[0][0] if last else 0, limit)
        return found

    async def _few_left(self, copy: _Copy) -> bool:
        [(noted,)] = await copy.source._fetch(_LEFT, copy.part, FEW + 1)
        entries = await self._entries(copy, copy.source._fetch, copy.target._fetch, FEW + 1)
        return bool(noted <= FEW) and len(entries) <= FEW

    async def _copy_noted(self, copy: _Copy, at_source: Connection, at_target: Connection) -> bool:
        """Copies what has changed. Returns whether more may be left.

        The target is committed first: what is forgotten at the source is there.
        """
        part = copy.part
        keys = [key for (key,) in await at_source.fetch(_NOTED, part, PAGE_ROWS)]
        rows = await at_source.fetch(_ROWS, part, copy.gen, keys)
        gone = list(set(keys) - {row[0] for row in rows})
        if gone:
            await at_target.fetch(_DELETE, part, copy.to, gone)
        if rows:
            await at_target.fetch(_PUT, part, copy.to, *(list(column) for column in zip(*rows, strict=True)))
        entries = await self._entries(copy, at_source.fetch, at_target.fetch)
        if entries:
            await at_target.fetch(
                _APPEND, part, copy.to, *(list(each) for each in zip(*entries, strict=True))
            )
        return len(keys) == PAGE_ROWS or len(entries) == LOG_ROWS

    async def _show(self) -> None:
        total = sum(copy.bytes + 1 for copy in self._copies.values())
        done = sum(copy.bytes + 1 for copy in self._copies.values() if copy.is_complete)
        await self._store.home._fetch(_DONE, list(self._asked), 999 * done // max(total, 1))

    # --- the switch ---

    async def _switch(self) -> None:
        """Makes the move in one commit over all its places. Raises _NotYet, StorageError, Unknown."""
        at: dict[int, Connection] = {}
        broken = True
        try:
            for number in self._places:
                at[number] = await self._store.place(number).take()
            *others, deciding = self._places
            decider = at[deciding]
            [(caller,)] = await decider.fetch(NEW_CALLER)
            request = 1
            names = {n: self._store.recovery.name(n, deciding, caller, request) for n in others}
            try:
                for number in self._places:
                    await at[number].execute(
                        f"BEGIN; SET LOCAL lock_timeout = {LOCK_MS}; {BARRIER.format('ROW SHARE')}"
                    )
                await self._move_all(at)
                await at[0].fetch(_MAP, list(self._asked))
                if not await decider.fetch(_DECIDED, caller, request):
                    raise _NotYet  # a recovery was faster
                for number in others:
                    await at[number].execute(f"PREPARE TRANSACTION '{names[number]}'")
            except Exception as error:
                await self._undo(at, names)
                if sqlstate(error) in ("55P03", "40P01"):
                    raise _NotYet from error
                raise error if isinstance(error, _NotYet) else translated(error) from error
            made = True
            try:
                await decider.execute("COMMIT")
                broken = False
            except Exception:
                made = await self._store.place(deciding).look_up(caller, request) is not None
            for number, name in names.items():
                broken = not await self._store.place(number).end(at[number], name, made=made) or broken
        finally:
            for number, connection in at.items():
                self._store.place(number).give(connection, broken=broken)
        if not made:
            raise _NotYet

    async def _undo(self, at: dict[int, Connection], names: dict[int, str]) -> None:
        for number, connection in at.items():
            with suppress(Exception):
                await connection.execute("ROLLBACK")
                if number in names:
                    await connection.execute(f"ROLLBACK PREPARED '{names[number]}'")

    async def _move_all(self, at: dict[int, Connection]) -> None:
        copies = sorted(self._copies.values(), key=lambda copy: (-copy.source.number, copy.part))
        for copy in copies:  # in the order of commits
            await at[copy.source.number].fetch(_LOCK, copy.part)
        found: dict[Part, Any] = {}
        for (source, target), slots in self._by_sides.items():
            await at[source].fetch(_LOCK_SLOTS, slots)
            for slot in slots:
                if not await at[target].fetch(_FENCED, slot, self._fences[slot]):
                    raise _Fenced
                for part, *row in await at[source].fetch(_PARTS, slot, slot + b"\xff" * 60):
                    found[part] = row
        if {part: -row[0] for part, row in found.items()} != {copy.part: copy.gen for copy in copies}:
            raise _NotYet
        for copy in copies:
            at_source, at_target = at[copy.source.number], at[copy.target.number]
            if await self._copy_noted(copy, at_source, at_target):
                raise _NotYet
            _, *state = found[copy.part]
            first = await at_source.fetch(_FIRST_ENTRY, copy.part, copy.gen)
            await at_target.fetch(_TRIM, copy.part, copy.to, first[0][0] if first else state[0] + 1)
            await at_target.fetch(_ARRIVED, copy.part, *state)
            await at_source.fetch(_CLEARED, copy.part)
            await at_source.fetch(_GARBAGE, copy.part, copy.gen)
        for (source, target), slots in self._by_sides.items():
            [(version,)] = await at[source].fetch(_VERSION)
            await at[target].fetch(_JUMP, version, VERSIONS_AHEAD)
            await at[source].fetch(_GONE, slots)
            await at[target].fetch(_HERE, slots)
