"""The engine over several PostgreSQLs, its places, each of which has some of the parts.

A call for parts of one place is what it is over one PostgreSQL. A commit over several is PostgreSQL's own
two-phase commit: at all places but the first, in descending order, its share is prepared; the call of
kv_commit at the first, whose row of the caller also says what was decided, is the decision; then the others
are told. Whoever finds an old prepared transaction asks that row (recovery.py). So no log of decisions is
kept. Home is the first: what is prepared waits for it, and nothing at home waits for another place.

Reads of several places look twice: what has not changed between all first looks and all second ones was there
at one moment. If there is always a change in between, they lock the parts, as commits do.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeVar

from faradisc.errors import StorageError
from faradisc.storage.api import (
    NETWORKED_SLOTS,
    Batch,
    Closed,
    Conflict,
    Epochs,
    IOFailed,
    Keys,
    Part,
    ReadOnlyStore,
    Row,
    companion,
)
from faradisc.storage.postgres.errors import Moved
from faradisc.storage.postgres.place import Place
from faradisc.storage.postgres.placement import PREFIX_BYTES, PlaceMap
from faradisc.storage.postgres.recovery import EVERY_S, Recovery
from faradisc.storage.postgres.share import Share
from faradisc.storage.postgres.shares import Shares
from faradisc.storage.postgres.store import PostgresSnapshot

log = logging.getLogger(__name__)
T = TypeVar("T")
LOOKS = 3
"""Reads of several places before their parts are locked."""
LOCKING_MAX = 4
"""Such reads that lock at a time: each needs two connections of a place."""
_USED = "SELECT number FROM kv_place WHERE drained = 0 ORDER BY number"
REFRESH_S = 5.0
"""Between two looks at the map. An old copy costs a call more when a table has moved."""
MOVES_MAX = 5
"""Looks at the map for one call that finds its parts moved."""


class _Routing:
    """Reads that go to the places of their parts."""

    async def _reader(self, part: Part) -> ReadOnlyStore:
        raise NotImplementedError

    async def _tried(self, call: Callable[[], Awaitable[T]]) -> T:
        return await call()

    async def get(self, part: Part, *arguments: Any, **options: Any) -> list[Row | None]:
        async def call() -> list[Row | None]:
            return await (await self._reader(part)).get(part, *arguments, **options)

        return await self._tried(call)

    async def range(self, part: Part, *arguments: Any, **options: Any) -> list[tuple[bytes, Row]]:
        async def call() -> list[tuple[bytes, Row]]:
            return await (await self._reader(part)).range(part, *arguments, **options)

        return await self._tried(call)

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        async def call() -> list[tuple[int, bytes]]:
            return await (await self._reader(part)).log(part, after, limit)

        return await self._tried(call)

    async def usage(self, part: Part) -> tuple[int, int]:
        async def call() -> tuple[int, int]:
            return await (await self._reader(part)).usage(part)

        return await self._tried(call)


class _Snapshot(_Routing):
    """One state of all places that answered."""

    def __init__(self, map_: PlaceMap, states: Mapping[int, ReadOnlyStore], away: Mapping[int, str]) -> None:
        self._map = map_
        self._states = states
        self._away = away

    async def _reader(self, part: Part) -> ReadOnlyStore:
        number = self._map.find(part) or 0  # what the map does not name has no rows anywhere
        if number in self._away:
            raise IOFailed(self._away[number])
        return self._states[number]

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        return [(await self.get(part, [key], epoch=(epochs or {}).get(part)))[0] for part, key in keys]

    async def parts(self) -> list[tuple[Part, int]]:
        for sentence in self._away.values():
            raise IOFailed(sentence)
        return await parts_of(self._map, self._states)

    async def close(self) -> None:
        for state in self._states.values():
            await state.close()


async def parts_of(map_: PlaceMap, readers: Mapping[int, ReadOnlyStore]) -> list[tuple[Part, int]]:
    """Returns the parts that the map says to be at the places of readers."""
    found: list[tuple[Part, int]] = []
    for number, reader in readers.items():
        found += [row for row in await reader.parts() if (map_.find(row[0]) or 0) == number]
    return sorted(found)


async def keep_doing(work: Callable[[], Awaitable[None]], ended: asyncio.Event) -> None:
    """Calls `work` again and again, whatever it raises, until `ended` is set."""
    while not ended.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), EVERY_S)
            return
        try:
            await work()
        except StorageError as error:
            log.info("%s", error)
        except Exception:
            log.exception("work of a store of several places")


async def _nothing() -> None:
    pass


class RoutedStore(_Routing):
    shared = is_loose = True
    slots = NETWORKED_SLOTS

    def __init__(self, store_id: int, places: dict[int, Place]) -> None:
        """places: by number, with 0, home."""
        self.places = places
        self.home = places[0]
        self._unnamed = self.home.unsettled()
        self.map = PlaceMap(self.home, self._is_up)
        self.recovery = Recovery(store_id, places)
        self.look_for_places: Callable[[], Awaitable[None]] = _nothing
        """Adds places that were named after the start."""
        self.loads: dict[int, float] = {}
        """Of the places, as of the last look of those who know."""
        self._closed = False
        self._refresh_due_s = 0.0
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._locking = asyncio.Semaphore(LOCKING_MAX)
        self._ended = asyncio.Event()
        self._working = [
            asyncio.ensure_future(keep_doing(work, self._ended))
            for work in (self.recovery.step, self._keep_up)
        ]

    @property
    def failure(self) -> StorageError | None:
        """Returns why no table can be used: a place beside home takes away its own tables only."""
        return self.home.failure

    def _is_up(self, number: int) -> bool:
        return self.places[number].failure is None

    def place(self, number: int) -> Place:
        """Raises IOFailed for a place that this process was not told of."""
        try:
            return self.places[number]
        except KeyError:
            raise IOFailed(
                f"This server was not told of place {number}: name all places in --store."
            ) from None

    async def _keep_up(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._refresh_due_s:
            self._refresh_due_s = now_s + REFRESH_S
            await self.refresh()
        await self.look_for_places()

    async def refresh(self) -> None:
        """Reads the map again, and which places may get new tables. Raises StorageError."""
        await self.map.load()
        rows = await self.home._fetch(_USED)
        used = [number for (number,) in rows if number in self.places]
        counts = Counter(number for places in self.map.places.values() for number in places)
        self.map.candidates = sorted(used, key=lambda number: (self.loads.get(number, 0), counts[number]))

    # --- where parts are ---

    async def number_of(self, part: Part) -> int | None:
        """Returns the place of a part; None of one that the map does not name."""
        number = self.map.find(part)
        if number is None:
            await self.map.look_up([part])
            number = self.map.find(part)
        return number

    async def companions(self, parts: Iterable[Part]) -> list[Part]:
        """Returns the companion part of the first place of `parts`, which decides their commits, then those
        of the other places and of where they were in the last minutes."""
        now = {await self.number_of(part) or 0 for part in parts} or {0}
        before = {number for part in parts for number in self.map.before.get(part[:PREFIX_BYTES], b"")}
        first = min(now)
        return [companion(number) for number in (first, *sorted((now | before) - {first}))]

    def all_companions(self) -> list[Part]:
        """Returns the companion parts of the places that answer."""
        return [companion(number) for number, place in self.places.items() if place.failure is None]

    async def _reader(self, part: Part) -> ReadOnlyStore:
        number = self.map.find(part)
        if number is None:
            number = await self.number_of(part)
        # What the map does not name was never committed by a server that knows of places.
        return self.place(number) if number is not None else self._unnamed

    async def get(self, part: Part, *arguments: Any, **options: Any) -> list[Row | None]:
        if not self._closed and (number := self.map.find(part)) is not None:
            with suppress(Moved):  # most reads
                return await self.place(number).get(part, *arguments, **options)
        return await super().get(part, *arguments, **options)

    async def _tried(self, call: Callable[[], Awaitable[T]]) -> T:
        """Returns what a call returns; it is repeated with a new map when a part was moved."""
        if self._closed:
            raise Closed
        self._calls += 1
        try:
            for _ in range(MOVES_MAX):
                try:
                    return await call()
                except Moved:
                    await self.map.load()
        finally:
            self._calls -= 1
            if not self._calls:
                self._no_calls.set()
        raise IOFailed("A part is not where the map of the places says.")

    # --- commits ---

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        if len(batches) == 1 and not self._closed and (number := self.map.find(batches[0].part)) is not None:
            with suppress(Moved):  # most commits: without the cost of the rest
                return await self.place(number).commit(batches)
        for batch in batches:
            batch.check_bytes()
        return await self._tried(lambda: self._commit(batches))

    async def _commit(self, batches: Sequence[Batch]) -> list[int] | Conflict:
        numbers = [self.map.find(batch.part) for batch in batches]
        if None in numbers:
            await self.map.place([batch.part for batch in batches])
            numbers = [self.map.find(batch.part) for batch in batches]
        places = sorted({number for number in numbers if number is not None}, reverse=True)
        if len(places) <= 1:
            return await self.place(places[0]).commit(batches) if batches else []
        at: dict[int, list[int]] = {place: [] for place in places}
        for n, number in enumerate(numbers):
            assert number is not None
            at[number].append(n)
        shares = {place: Share([batches[n] for n in at[place]]) for place in places}
        deciding = places[-1]
        async with Shares(
            self.place, self.recovery, deciding, {place: shares[place] for place in places[:-1]}
        ) as others:
            answered = await self.place(deciding).decide(shares[deciding], others)
        if others.refused is not None:
            return others.refused.answer(answered)
        others.rows[deciding] = answered
        sequences = [0] * len(batches)
        for place in reversed(places):
            answer = shares[place].answer(others.rows[place])
            if isinstance(answer, Conflict):
                return answer
            for n, sequence in zip(at[place], answer, strict=True):
                sequences[n] = sequence
        return sequences

    async def clear(self, part: Part) -> None:
        async def call() -> None:
            await self.place(await self.number_of(part) or 0).clear(part)

        await self._tried(call)

    async def trim(self, part: Part, before: int) -> None:
        await self.place(await self.number_of(part) or 0).trim(part, before)

    # --- reads of several places ---

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        return await self._tried(lambda: self._read_many(keys, epochs, loose=loose))

    async def _read_many(self, keys: Keys, epochs: Epochs, *, loose: bool) -> list[Row | None]:
        numbers = [await self.number_of(part) for part, _ in keys]
        at: dict[int | None, list[int]] = {}
        for n, number in enumerate(numbers):
            at.setdefault(number, []).append(n)
        if None in at and len(at) > 1:
            # A commit puts a part that is not named yet in the map first: is it still absent afterwards?
            named = [each for each, number in zip(keys, numbers, strict=True) if number is not None]
            found = await self._read_many(named, epochs, loose=loose)
            for n in at[None]:
                if await self.number_of(keys[n][0]) is not None:
                    return await self._read_many(keys, epochs, loose=loose)
                found[n:n] = await self._unnamed.read_many([keys[n]], epochs=epochs)
            return found
        if len(at) <= 1:
            place = self.place(numbers[0]) if numbers and numbers[0] is not None else self._unnamed
            return await place.read_many(keys, epochs=epochs)
        by_place = {number: where for number, where in at.items() if number is not None}
        places = sorted(by_place, reverse=True)  # as commits lock, so that no two wait for each other
        own = {self.place(number): [keys[n] for n in by_place[number]] for number in places}
        read = self._read_loose if loose else self._read_whole
        rows: list[Row | None] = [None] * len(keys)
        for number, found in zip(places, await read(own, epochs), strict=True):
            for n, row in zip(by_place[number], found, strict=True):
                rows[n] = row
        return rows

    async def _read_loose(self, own: Mapping[Place, Keys], epochs: Epochs) -> list[list[Row | None]]:
        return await asyncio.gather(*(place.read_many(keys, epochs=epochs) for place, keys in own.items()))

    async def _read_whole(self, own: Mapping[Place, Keys], epochs: Epochs) -> list[list[Row | None]]:
        """Returns the rows of each place, as they were at one moment."""
        for place, wanted in own.items():
            await place.create({part for part, _ in wanted})
        for _ in range(LOOKS):
            seen = await asyncio.gather(*(place.look(wanted, epochs) for place, wanted in own.items()))
            still = [place.are_unchanged(look.changes) for place, look in zip(own, seen, strict=True)]
            if all(await asyncio.gather(*still)):
                break
        else:
            async with self._locking, AsyncExitStack() as locks:
                for place, wanted in own.items():
                    await locks.enter_async_context(place.locked({part for part, _ in wanted}))
                seen = await asyncio.gather(*(place.look(wanted, epochs) for place, wanted in own.items()))
        return [look.rows for look in seen]

    async def snapshot(self) -> _Snapshot:
        """Returns one state of all places that answer: no commit over several places is under way then."""
        if self._closed:
            raise Closed
        states: dict[int, PostgresSnapshot] = {}
        away: dict[int, str] = {}
        async with self._locking, AsyncExitStack() as barriers:
            for number, place in sorted(self.places.items(), reverse=True):
                try:
                    await barriers.enter_async_context(place.barrier())
                except StorageError as error:
                    if not number:
                        raise
                    away[number] = f"{place.address}: {error}"
            try:
                for number, place in self.places.items():
                    if number not in away:
                        states[number] = await place.snapshot()
                map_ = PlaceMap(states[0])
                await map_.load()
            except BaseException:
                for state in states.values():
                    await state.close()
                raise
        return _Snapshot(map_, states, away)

    async def parts(self) -> list[tuple[Part, int]]:
        await self.map.load()
        return await parts_of(self.map, self.places)

    # --- the rest ---

    async def now_ns(self) -> int:
        return await self.home.now_ns()

    async def flush(self) -> None:
        if self._closed:
            raise Closed

    async def wait_durable(self, version: int) -> None:
        if self._closed:
            raise Closed

    async def sweep(self) -> bool:
        more = False
        with suppress(StorageError):  # while a place is away nobody knows whose commits are prepared there
            for number, callers in (await self.recovery.callers()).items():
                if number in self.places:
                    await self.places[number].forget(callers)
        for place in self.places.values():
            if place.failure is None:
                more = await place.sweep_rows() or more
        return more

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        while self._calls:
            self._no_calls.clear()
            await self._no_calls.wait()
        self._ended.set()
        await asyncio.wait(self._working)
        for place in self.places.values():
            await place.close()
