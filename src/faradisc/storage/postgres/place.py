"""One of the PostgreSQLs of a store that has several.

A commit over several places is decided at one of them. At the others it is a prepared transaction until they
are told. So for a moment, or until a recovery, a statement there does not see it although it was answered.
But it has changed the rows of its parts: the version that a statement sees has its number in xmax. So every
read also returns the state of its part (kv_state), which is 0 in nearly all reads. Otherwise it looks again,
after a prepared transaction that holds the part has ended. What is seen then has every commit that was
answered before the call: who changes the part next was not prepared yet when the state was looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from faradisc.records import dataclass
from faradisc.storage.api import Epochs, Keys, Part, Row, Stale
from faradisc.storage.postgres.errors import ABSENT, Moved, breaks_connection, sqlstate, translated
from faradisc.storage.postgres.keys import is_long, loaded, stored_key
from faradisc.storage.postgres.pool import Connection, Pool
from faradisc.storage.postgres.reading import BIGGEST, LOG, ONE_ROW, ROWS, USAGE, Scan
from faradisc.storage.postgres.share import Share
from faradisc.storage.postgres.store import COMMIT, COMMIT_S, READ_S, Elsewhere, PostgresStore

T = TypeVar("T")
_CLEAN, _BUSY, _HELD, _UNUSED, _ELSEWHERE = range(5)
_OF_PART = """CASE WHEN p.gen > 0 AND age(p.xmax) > age(pg_snapshot_xmin(pg_current_snapshot())::xid) THEN 0
 ELSE kv_state({}) END"""
_ROW = f"SELECT {_OF_PART.format('$1')}, p.epoch, kv.ver, kv.v {ONE_ROW[ONE_ROW.index('FROM') :]}"
_ROWS = f"""SELECT u.n, {_OF_PART.format("u.part")}, p.xmin::text::bigint, p.epoch, kv.ver, kv.v
 {ROWS[ROWS.index("FROM") :]}"""
_UNCHANGED = f"""SELECT count(*) FROM unnest($1::bytea[], $2::bigint[]) AS u(part, change)
 JOIN kv_part p ON p.part = u.part
 WHERE p.xmin::text::bigint = u.change AND {_OF_PART.format("u.part")} = 0"""
_PAGE = "SELECT key, version, payload FROM kv_page($1, $2, $3, $4, $5, $6, $7, $8)"
_LOG = f"SELECT kv_state($1), NULL::bytea UNION ALL ({LOG})"
_USAGE = f"SELECT kv_state($1), {USAGE.removeprefix('SELECT ')}"
_STATE = "SELECT kv_state($1)"
_CREATE = "SELECT kv_create_part($1)"
_WAIT = "SELECT FROM kv_part WHERE part = $1 FOR SHARE"
_PREPARED = """SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint
 FROM pg_prepared_xacts
 WHERE database = current_database() AND starts_with(gid, $1) AND split_part(gid, '_', 6) = $2
 ORDER BY prepared"""
BARRIER = "LOCK TABLE kv_place IN {} MODE"
"""Every share that is prepared holds it ROW SHARE; a snapshot of several places takes it EXCLUSIVE."""


@dataclass(slots=True)
class Look:
    """Rows of parts, as one statement sees them."""

    rows: list[Row | None]
    states: dict[Part, int]
    changes: dict[Part, int]
    """A number of the last change of each part."""


class Place(PostgresStore):
    def __init__(
        self,
        number: int,
        address: str,
        connect: Callable[[], Awaitable[Connection]],
        size: int,
        leave: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(connect, size, leave)
        self._recovering = Pool(connect, 1)
        self._shares = asyncio.Semaphore(max(1, size // 2))
        self._created: set[Part] = set()
        """Parts whose rows exist."""
        self.number = number
        self.address = address
        """For people: without user and password."""

    def unsettled(self) -> PostgresStore:
        """Returns this place for reads of parts that no commit over several places can have changed yet."""
        plain = PostgresStore(self._connect)
        plain._pool = self._pool
        return plain

    # --- reads that see every commit that was answered ---

    async def _settle(self, part: Part, state: int) -> None:
        """Waits until what is read next has every commit that was answered before. Raises Moved."""
        if state == _ELSEWHERE:
            raise Moved
        if state == _UNUSED:  # a commit that is not seen yet may have used it; this waits for its end
            [(here,)] = await self._fetch(_CREATE, part)
            if not here:
                raise Moved
        elif state == _HELD:
            await self._fetch(_WAIT, part)

    async def _settled(self, part: Part, read: Callable[[int], Awaitable[tuple[int, T]]]) -> T:
        """Returns what `read` returns beside the part's state. Raises Moved.

        read: is called with the highest state that is good enough.
        """
        accepted = _CLEAN
        while True:
            state, found = await read(accepted)
            if state <= accepted:
                return found
            await self._settle(part, state)
            accepted = _HELD

    async def _row(self, part: Part, key: bytes, *, stale_ok: bool) -> tuple[int | None, int | None, bytes]:
        async def read(accepted: int) -> tuple[int, tuple[int | None, int | None, bytes]]:
            rows = await self._fetch(_ROW, part, key)
            state, epoch, version, payload = rows[0] if rows else (_UNUSED, 0, None, b"")
            return _CLEAN if stale_ok and state <= _HELD else state, (epoch, version, payload)

        return await self._settled(part, read)

    async def range(self, part: Part, *arguments: Any, **options: Any) -> list[tuple[bytes, Row]]:
        if any(bound is not None and is_long(bound) for bound in arguments):
            await self._settled(part, partial(self._state, part))  # a snapshot follows
        return await super().range(part, *arguments, **options)

    async def _state(self, part: Part, accepted: int) -> tuple[int, None]:
        [(state,)] = await self._fetch(_STATE, part)
        return state, None

    async def _page(
        self, scan: Scan, low: bytes, high: bytes, *, limit: int = BIGGEST, room: int = BIGGEST
    ) -> list[tuple[bytes, Row]]:
        part, reverse, epoch = scan

        async def read(accepted: int) -> tuple[int, list[Any]]:
            rows = await self._fetch(_PAGE, part, epoch, low, high, reverse, limit, room, accepted)
            return rows[0][1] or 0 if rows and rows[0][0] is None else 0, rows

        return self._rows_of_page(await self._settled(part, read))

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        async def read(accepted: int) -> tuple[int, list[Any]]:
            rows = await self._fetch(_LOG, part, after, limit)
            [state] = [number for number, entry in rows if entry is None]
            return state, rows

        rows = await self._settled(part, read)
        return [(number, entry) for number, entry in rows if entry is not None]

    async def usage(self, part: Part) -> tuple[int, int]:
        async def read(accepted: int) -> tuple[int, tuple[int, int]]:
            rows = await self._fetch(_USAGE, part)
            return rows[0][0] if rows else _UNUSED, (rows[0][1], rows[0][2]) if rows else (0, 0)

        return await self._settled(part, read)

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        accepted = _CLEAN
        while True:
            found = await self.look(keys, epochs)
            unsettled = sorted(part for part, state in found.states.items() if state > accepted)
            if not unsettled:
                return found.rows
            for part in unsettled:
                await self._settle(part, found.states[part])
            accepted = _HELD

    async def look(self, keys: Sequence[tuple[Part, bytes]], epochs: Mapping[Part, int] | None) -> Look:
        """Returns what is there, settled or not. Raises Stale, Moved."""
        found = Look([None] * len(keys), {}, {})
        rows = await self._fetch(_ROWS, [part for part, _ in keys], [stored_key(key) for _, key in keys])
        for n, state, change, epoch, version, payload in rows:
            part, key = keys[n - 1]
            found.states[part], found.changes[part] = state, change or 0
            if state == _ELSEWHERE:
                raise Moved
            if epochs and epochs.get(part, epoch) not in (epoch, epoch or 0):
                raise Stale
            if version is not None:
                found.rows[n - 1] = (version, loaded(key, payload)[1])
        return found

    async def are_unchanged(self, changes: Mapping[Part, int]) -> bool:
        """Returns whether parts have not changed since `look`, nor been changed by a prepared commit."""
        [(count,)] = await self._fetch(_UNCHANGED, list(changes), list(changes.values()))
        return bool(count == len(changes))

    @asynccontextmanager
    async def transaction(self, begin: str = "BEGIN") -> AsyncIterator[Connection]:
        """Yields a connection in a transaction, which is committed at the end. Raises StorageError."""
        connection = await self._pool.take(COMMIT_S)
        broken = True
        try:
            try:
                await connection.execute(begin)
                yield connection
                await connection.execute("COMMIT")
                broken = False
            except Exception as error:
                if not breaks_connection(error):
                    with suppress(Exception):
                        await connection.execute("ROLLBACK")
                        broken = False
                raise translated(error) from error
        finally:
            self._pool.give(connection, broken=broken)

    @asynccontextmanager
    async def locked(self, parts: Iterable[Part]) -> AsyncIterator[None]:
        """Keeps commits from changing parts, whose rows exist."""
        async with self.transaction() as connection:
            for part in sorted(parts):  # as commits do, so that no two wait for each other
                await connection.fetch(_WAIT, part)
            yield

    def barrier(self) -> AbstractAsyncContextManager[Connection]:
        """Waits until no share is prepared here, and keeps others from being prepared."""
        return self.transaction(f"BEGIN; {BARRIER.format('EXCLUSIVE')}")

    async def create(self, parts: Iterable[Part]) -> None:
        """Creates the rows of parts, so that there is something to lock. Raises Moved."""
        new = set(parts) - self._created
        for part in sorted(new):
            [(here,)] = await self._fetch(_CREATE, part)
            if not here:
                raise Moved
        self._created |= new

    # --- shares of commits that are decided at another place ---

    async def decide(self, share: Share, elsewhere: Elsewhere) -> Any:
        """Makes a commit over several places. Returns the row of its function or the sequences. Raises
        StorageError when nothing was done, and Unknown."""
        return await self._committed(COMMIT, *share.arguments, elsewhere=elsewhere)

    async def take(self) -> Connection:
        """Returns a connection for a share. Raises StorageError.

        It may be kept while another place does not answer, so some are left to the tables of this one.
        """
        await self._shares.acquire()
        try:
            return await self._pool.take(COMMIT_S)
        except BaseException:
            self._shares.release()
            raise

    def give(self, connection: Connection, *, broken: bool) -> None:
        self._pool.give(connection, broken=broken)
        self._shares.release()

    async def prepare(self, connection: Connection, name: str, arguments: Sequence[Any]) -> Any:
        """Prepares a share. Returns the row of its function; it is not prepared unless the outcome is 0.

        Raises the library's errors; then it may be prepared.
        """
        await connection.execute(f"BEGIN; {BARRIER.format('ROW SHARE')}")
        try:
            [row] = await connection.fetch(COMMIT, None, None, *arguments)
            await connection.execute("ROLLBACK" if row[0] else f"PREPARE TRANSACTION '{name}'")
        except Exception as error:
            if not breaks_connection(error):
                await connection.execute("ROLLBACK")
            raise
        return row

    async def end(self, connection: Connection, name: str, *, made: bool) -> bool:
        """Ends a prepared share. Returns whether it has ended."""
        try:
            await connection.execute(f"{'COMMIT' if made else 'ROLLBACK'} PREPARED '{name}'")
        except Exception as error:
            return sqlstate(error) == ABSENT
        return True

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[Connection]:
        """Yields the connection of recoveries: all others may wait for what a recovery ends. Raises
        StorageError."""
        connection = await self._recovering.take(READ_S)
        broken = True
        try:
            yield connection
            broken = False
        except Exception as error:
            broken = breaks_connection(error)
            raise translated(error) from error
        finally:
            self._recovering.give(connection, broken=broken)

    async def close(self) -> None:
        await self._recovering.close()
        await super().close()

    async def prepared(self, prefix: str) -> list[tuple[str, int]]:
        """Returns names and ages in milliseconds of the prepared transactions here, the oldest first."""
        async with self.apart() as connection:
            rows = await connection.fetch(_PREPARED, prefix, str(self.number))
        return [(name, age_ms) for name, age_ms in rows]
