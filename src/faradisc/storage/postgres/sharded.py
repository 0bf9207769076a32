"""The engine over parts that are spread over several PostgreSQLs, as by Citus: a statement names one part.

There a commit reaches one PostgreSQL after the other, and the answer can come before the last of them, when a
message is lost. But all that a commit changes stays locked until it arrives, the rows of its parts too. So
reads first lock the rows of their parts, in a statement of its own: what the next statement returns is newer
than every commit that was answered, and has all of a commit or nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Closed, Conflict, Epochs, Keys, Part, Row, Stale
from faradisc.storage.postgres.connecting import connector, prepare, schema_of
from faradisc.storage.postgres.errors import CALLER_UNKNOWN, breaks_connection, translated
from faradisc.storage.postgres.keys import loaded, stored_key
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.reading import Reader
from faradisc.storage.postgres.store import POOL_SIZE, READ_S, PostgresStore, first_connection

T = TypeVar("T")
_LOCK = "SELECT gen, epoch FROM kv_part WHERE part = $1 FOR SHARE"
_CREATE_PART = "INSERT INTO kv_part (part) VALUES ($1) ON CONFLICT DO NOTHING"
_ROWS = "SELECT k, ver, v FROM kv WHERE part = $1 AND gen = $2 AND k = ANY ($3::bytea[])"
_ANSWER = """UPDATE kv_caller SET last = $2, answer = $3, at = now() WHERE id = $1 AND sealed = 0
 RETURNING last"""


class _CallerUnknown(Exception):
    sqlstate = CALLER_UNKNOWN


class _OutcomeUnknown(Exception):
    """A COMMIT has failed. Without an SQLSTATE, so that the commit is looked up under a new connection: Citus
    also reports a lost answer of a place as an error (XX000)."""


class _LockedReader(Reader):
    """A transaction that holds the locks of some parts. Raises the library's errors."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._parts: dict[Part, tuple[int, int]] = {}
        """Generation and epoch."""

    async def lock(self, part: Part) -> None:
        # A row that does not exist cannot be locked, and a commit that is on its way may create it.
        while not (rows := await self._connection.fetch(_LOCK, part)):
            await self._connection.fetch(_CREATE_PART, part)
        self._parts[part] = (rows[0][0], rows[0][1])

    async def _fetch(self, statement: str, *arguments: Any) -> list[Any]:
        return await self._connection.fetch(statement, *arguments)

    def _one_state(self) -> AbstractAsyncContextManager[Reader]:
        return nullcontext(self)

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        found: dict[tuple[Part, bytes], Row] = {}
        for part, (gen, epoch) in self._parts.items():
            if epochs and epochs.get(part, epoch) != epoch:
                raise Stale
            wanted = {stored_key(key): key for place, key in keys if place == part}
            for stored, version, payload in await self._fetch(_ROWS, part, gen, list(wanted)):
                key = wanted[stored]
                found[part, key] = (version, loaded(key, payload)[1])
        return [found.get(each) for each in keys]


class ShardedStore(PostgresStore):
    """Every read sees all commits that were answered before it, except one that says `stale_ok`."""

    async def _locked(self, parts: Iterable[Part], read: Callable[[_LockedReader], Awaitable[T]]) -> T:
        """Returns what `read` returns while the parts are locked. Raises StorageError."""
        for repeated in (False, True):
            connection = await self._pool.take(READ_S)
            broken = True
            try:
                await connection.execute("BEGIN")
                try:
                    reader = _LockedReader(connection)
                    for part in sorted(set(parts)):  # as commits do, so that no two wait for each other
                        await reader.lock(part)
                    return await read(reader)
                finally:
                    await connection.execute("COMMIT")
                    broken = False
            except Stale:
                raise
            except Exception as error:
                if repeated:
                    raise translated(error) from error
            finally:
                self._pool.give(connection, broken=broken)
        raise AssertionError("the second round returns or raises")

    async def get(self, part: Part, *arguments: Any, **options: Any) -> list[Row | None]:
        if options.get("stale_ok") and len(arguments[0]) == 1:
            return await super().get(part, *arguments, **options)
        return await self._locked([part], lambda reader: reader.get(part, *arguments, **options))

    async def range(self, part: Part, *arguments: Any, **options: Any) -> list[tuple[bytes, Row]]:
        return await self._locked([part], lambda reader: reader.range(part, *arguments, **options))

    async def read_many(self, keys: Keys, *, epochs: Epochs = None, loose: bool = False) -> list[Row | None]:
        parts = [part for part, _ in keys]
        return await self._locked(parts, lambda reader: reader.read_many(keys, epochs=epochs))

    async def log(self, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
        return await self._locked([part], lambda reader: reader.log(part, after, limit))

    async def _commit_one(self, batch: Batch, key: bytes) -> list[int] | Conflict:
        return await self._commit_many([batch])

    async def _send(self, connection: Connection, statement: str, arguments: Sequence[Any]) -> Any:
        sequences: list[int] = []
        await connection.execute("BEGIN")
        try:
            for checks, own in _by_part(arguments):
                [(outcome, found, at_check, last)] = await connection.fetch(statement, None, None, *own)
                if outcome:
                    await connection.execute("ROLLBACK")
                    return outcome, found, at_check and checks[at_check - 1] + 1, []
                sequences += last
            packed = struct.pack(f">{len(sequences)}q", *sequences)
            if not await connection.fetch(_ANSWER, connection.caller, connection.request, packed):
                raise _CallerUnknown("the caller is unknown or sealed")
            try:
                await connection.execute("COMMIT")
            except Exception as error:
                raise _OutcomeUnknown(str(error)) from error
        except Exception as error:
            if not breaks_connection(error):
                await connection.execute("ROLLBACK")
            raise
        return 0, None, None, sequences

    async def snapshot(self) -> Any:
        if self._pool.closed:
            raise Closed
        raise StorageError("Several PostgreSQLs have no common state to look at.")


def _by_part(arguments: Sequence[Any]) -> Iterator[tuple[list[int], list[Any]]]:
    """Yields, for each part of a commit, the positions of its checks, and arguments of kv_commit for it."""
    of_parts, of_rows = arguments[:6], (arguments[6:9], arguments[9:12], arguments[12:14])
    for n in range(len(arguments[0])):
        own: list[Any] = [values[n : n + 1] for values in of_parts]
        kept = [[i for i, at in enumerate(columns[0]) if at == n + 1] for columns in of_rows]
        for rows, columns in zip(kept, of_rows, strict=True):
            own.append([1] * len(rows))
            own += [[column[i] for i in rows] for column in columns[1:]]
        yield kept[0], own


async def open_sharded(dsn: str, *, size: int = POOL_SIZE, create: bool = True) -> ShardedStore:
    """create: missing tables; otherwise they are an error. Raises StorageError."""
    connect = connector(dsn)
    connection = await first_connection(connect)
    try:
        await prepare(connection, schema_of(dsn), create=create, sharded=True)
    finally:
        await connection.close()
    return ShardedStore(connect, size)
