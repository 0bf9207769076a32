"""The engine over PostgreSQL: a call is one statement, and a commit one call of a function of functions.sql.

No statement leaves a lock while Python runs. A read whose connection breaks is repeated once. A commit that
fails is looked up by its number, whatever the error, then answered, or repeated if its connection broke;
Unknown is raised only when no server answers that question.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Protocol

from faradisc.errors import StorageError
from faradisc.storage.api import NETWORKED_SLOTS, Batch, Closed, Conflict, IOFailed, Part, Unknown
from faradisc.storage.postgres.connecting import connector, prepare, schema_of
from faradisc.storage.postgres.errors import CALLER_UNKNOWN, NotYet, breaks_connection, sqlstate, translated
from faradisc.storage.postgres.keys import stored_key, stored_payload
from faradisc.storage.postgres.pool import Connection, Pool
from faradisc.storage.postgres.private import PrivatePostgres
from faradisc.storage.postgres.reading import Reader
from faradisc.storage.postgres.share import Share, raise_for

POOL_SIZE = 16
READ_S = 10.0
COMMIT_S = 10.0
"""Longest commit. PostgreSQL's own statement_timeout does not end a commit that waits for a standby."""
LOOK_UP_S = 10.0
"""Longest wait for the outcome of a commit whose connection broke."""
START_S = 60.0
"""Longest wait at the opening for a PostgreSQL that starts or recovers."""
LOOK_UP_PAUSE_S = 0.1

_COMMIT_ONE = (
    "SELECT outcome, found_version, sequence FROM kv_commit_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
)
COMMIT = f"""SELECT outcome, found_version, at_check, sequences
 FROM kv_commit({", ".join(f"${n}" for n in range(1, 17))})"""
NEW_CALLER = "INSERT INTO kv_caller VALUES (uuid_send(gen_random_uuid()), 0, NULL, 0, now()) RETURNING id"
_LAST = "SELECT last, answer FROM kv_caller WHERE id = $1"
SEAL = "UPDATE kv_caller SET sealed = 1 WHERE id = $1 RETURNING last, answer"
_TRIM = """DELETE FROM kv_log
 WHERE part = $1 AND gen = (SELECT abs(gen) FROM kv_part WHERE part = $1) AND seq < $2"""
_CLEAR = "SELECT kv_clear($1)"
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_FORGET = "DELETE FROM kv_caller WHERE at < now() - interval '1 day' AND id <> ALL ($1::bytea[])"
_SWEEP = "SELECT kv_sweep($1)"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT FROM kv_meta"


class PostgresSnapshot(Reader):
    """A read-only transaction on a connection of its own. It is lost with the connection."""

    def __init__(self, connection: Connection, forget: Callable[[PostgresSnapshot], None]) -> None:
        self._connection = connection
        self._forget = forget
        self._turn = asyncio.Lock()
        self._closed = False

    async def _fetch(self, statement: str, *arguments: Any) -> list[Any]:
        async with self._turn:
            if self._closed:
                raise Closed
            late = asyncio.get_running_loop().call_later(READ_S, self._connection.terminate)
            try:
                return await self._connection.fetch(statement, *arguments)
            except Exception as error:
                raise translated(error) from error
            finally:
                late.cancel()

    def _one_state(self) -> AbstractAsyncContextManager[Reader]:
        return nullcontext(self)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._forget(self)
            async with self._turn:
                await asyncio.ensure_future(self._connection.close())


class Elsewhere(Protocol):
    """The shares of a commit at other places than the one that decides it."""

    async def prepare(self, caller: bytes | None, request: int) -> Any:
        """Makes the shares ready for either end. Returns None, or why the commit cannot be made: a
        StorageError, or the row of a share."""
        ...

    async def end(self, *, made: bool) -> bool:
        """Ends the shares as the commit was decided. Returns False if one of them could not be told."""
        ...


class PostgresStore(Reader):
    shared = True
    is_loose = False
    slots = NETWORKED_SLOTS

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        size: int = POOL_SIZE,
        leave: Callable[[], object] | None = None,
    ) -> None:
        """connect: to a prepared database; raises StorageError. leave: called at the end, in a thread."""
        self._connect = connect
        self._pool = Pool(connect, size)
        self._leave = leave
        self._snapshots: set[PostgresSnapshot] = set()

    @property
    def failure(self) -> StorageError | None:
        return self._pool.failure

    async def _fetch(self, statement: str, *arguments: Any, repeatable: bool = True) -> list[Any]:
        connection = await self._pool.take(READ_S)
        try:
            rows = await connection.fetch(statement, *arguments)
        except BaseException as error:
            broken = not isinstance(error, Exception) or breaks_connection(error)
            self._pool.give(connection, broken=broken)
            if not isinstance(error, Exception):
                raise
            if not broken or not repeatable:
                raise translated(error) from error
        else:
            self._pool.give(connection)
            return rows
        return await self._fetch(statement, *arguments, repeatable=False)

    async def commit(self, batches: Sequence[Batch], *, durable: bool = True) -> list[int] | Conflict:
        if self._pool.closed:
            raise Closed
        for batch in batches:
            batch.check_bytes()
        if len(batches) == 1 and (key := _only_key(batches[0])) is not None:
            return await self._commit_one(batches[0], key)
        return await self._commit_many(batches) if batches else []

    async def _commit_one(self, batch: Batch, key: bytes) -> list[int] | Conflict:
        answer = await self._committed(
            _COMMIT_ONE,
            batch.part,
            batch.epoch,
            stored_key(key),
            batch.checks[0][1] if batch.checks else None,
            stored_payload(key, batch.puts[0][1]) if batch.puts else None,
            batch.log or None,
            batch.items_delta,
            batch.bytes_delta,
        )
        if isinstance(answer, list):
            return answer
        outcome, found, sequence = answer
        raise_for(outcome)
        return Conflict(batch.part, key, found) if outcome else [sequence]

    async def _commit_many(self, batches: Sequence[Batch]) -> list[int] | Conflict:
        share = Share(batches)
        return share.answer(await self._committed(COMMIT, *share.arguments))

    async def _committed(self, statement: str, *arguments: Any, elsewhere: Elsewhere | None = None) -> Any:
        """Returns the row of a commit's function; or, when it was lost, the sequences of the parts.

        elsewhere: the shares of the commit at other places. Raises StorageError when nothing was done, and
        Unknown.
        """
        # A recovery that takes a slow commit over several places for a dead server's makes it begin again.
        for repeated in (False, True) if elsewhere is None else (False, False, False, True):
            connection = await self._pool.take(COMMIT_S)
            sent = False
            rows: list[Any] = []
            try:
                if connection.caller is None:
                    [(connection.caller,)] = await connection.fetch(NEW_CALLER)
                connection.request += 1
                refusal = elsewhere and await elsewhere.prepare(connection.caller, connection.request)
                if refusal is None:
                    sent = True
                    row = await self._send(connection, statement, arguments)
            except BaseException as error:
                broken = not isinstance(error, Exception) or breaks_connection(error)
                try:
                    if sent and not broken:
                        # The transaction has ended, but an error can also come after the commit.
                        broken = True
                        with suppress(Exception):
                            rows = await connection.fetch(_LAST, connection.caller)
                            broken = False
                finally:
                    caller, request = connection.caller, connection.request
                    if elsewhere is not None:
                        connection.caller = None  # its row decides what a recovery does
                    self._pool.give(connection, broken=broken)
                if not isinstance(error, Exception):
                    raise
                made = _made(rows, request)
                if broken and sent and sqlstate(error) != CALLER_UNKNOWN:
                    made = await self.look_up(caller, request)
                if elsewhere is not None:
                    await elsewhere.end(made=made is not None)
                if made is not None:
                    return made
                if not broken or repeated:
                    raise translated(error) from error
            else:
                told = False
                try:
                    told = elsewhere is None or await elsewhere.end(made=refusal is None and not row[0])
                finally:
                    if not told:
                        connection.caller = None
                    self._pool.give(connection)
                if isinstance(refusal, StorageError):
                    if repeated or not isinstance(refusal, IOFailed):
                        raise refusal
                    continue
                return row if refusal is None else refusal
        raise AssertionError("the last round returns or raises")

    async def _send(self, connection: Connection, statement: str, arguments: Sequence[Any]) -> Any:
        """Makes a commit. Returns the row of its function."""
        [row] = await connection.fetch(statement, connection.caller, connection.request, *arguments)
        return row

    async def look_up(self, caller: bytes | None, request: int) -> list[int] | None:
        """Returns the sequences of a commit whose answer was lost; None when it was not made.

        Waits while the commit is under way. Afterwards it cannot be made any more. Raises Unknown.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + LOOK_UP_S
        while True:
            try:
                rows = await self._fetch(SEAL, caller)
            except Closed:
                raise Unknown("The store was closed before the outcome of a commit was known.") from None
            except StorageError as error:
                if loop.time() >= until_s:
                    raise Unknown(f"The outcome of a commit is not known: {error}") from error
            else:
                break
            await asyncio.sleep(LOOK_UP_PAUSE_S)
        if not rows:
            raise Unknown("The outcome of a commit is not known: the server does not know its connection.")
        return _made(rows, request)

    async def flush(self) -> None:
        if self._pool.closed:
            raise Closed

    async def wait_durable(self, version: int) -> None:
        if self._pool.closed:
            raise Closed

    async def trim(self, part: Part, before: int) -> None:
        await self._fetch(_TRIM, part, before)

    async def clear(self, part: Part) -> None:
        await self._fetch(_CLEAR, part)

    async def now_ns(self) -> int:
        [(now_us,)] = await self._fetch(_NOW)
        return int(now_us) * 1000

    async def sweep(self) -> bool:
        await self.forget(())
        return await self.sweep_rows()

    async def forget(self, kept: Sequence[bytes]) -> None:
        """Deletes callers of the past. kept: those that stay."""
        await self._fetch(_FORGET, kept)

    async def sweep_rows(self, rows: int = 1000) -> bool:
        """Deletes up to `rows` rows of cleared parts. Returns False when none is left."""
        [(more,)] = await self._fetch(_SWEEP, rows)
        return bool(more)

    @asynccontextmanager
    async def _one_state(self) -> AsyncIterator[Reader]:
        snapshot = await self.snapshot()
        try:
            yield snapshot
        finally:
            await snapshot.close()

    async def snapshot(self) -> PostgresSnapshot:
        if self._pool.closed:
            raise Closed
        connection = await asyncio.ensure_future(self._connect())
        try:
            await connection.execute(_SNAPSHOT)
        except BaseException as error:
            connection.terminate()
            if not isinstance(error, Exception):
                raise
            raise translated(error) from error
        snapshot = PostgresSnapshot(connection, self._snapshots.discard)
        self._snapshots.add(snapshot)
        return snapshot

    async def close(self) -> None:
        for snapshot in list(self._snapshots):
            await snapshot.close()
        if self._pool.closed:
            return
        await self._pool.close()
        if self._leave is not None:
            await asyncio.to_thread(self._leave)


def _made(rows: Sequence[Any], request: int) -> list[int] | None:
    """Returns the sequences of a commit from the row of its caller; None when it was not made."""
    last, packed = rows[0] if rows else (None, b"")
    return list(struct.unpack(f">{len(packed) // 8}q", packed)) if last == request else None


def _only_key(batch: Batch) -> bytes | None:
    """Returns the key of a batch that changes one key and checks no other; None of any other batch."""
    if len(batch.puts) + len(batch.deletes) != 1 or len(batch.checks) > 1 or batch.fence is not None:
        return None
    key = batch.puts[0][0] if batch.puts else batch.deletes[0]
    return None if batch.checks and batch.checks[0][0] != key else key


async def open_postgres(dsn: str, *, size: int = POOL_SIZE, create: bool = True) -> PostgresStore:
    """create: missing tables; otherwise they are an error. Raises StorageError."""
    return await _opened(dsn, connector(dsn), size, None, create=create)


async def open_private(directory: Path, *, size: int = POOL_SIZE, create: bool = True) -> PostgresStore:
    """Opens the store in the private PostgreSQL of a directory, which is started when needed, also later.

    create: a missing one; otherwise that is an error. Raises StorageError.
    """
    dsn, connect, leave = await join_private(directory, create=create)
    try:
        return await _opened(dsn, connect, size, leave, create=create)
    except BaseException:
        await asyncio.to_thread(leave)
        raise


async def join_private(
    directory: Path, *, create: bool
) -> tuple[str, Callable[[], Awaitable[Connection]], Callable[[], object]]:
    """Returns address, connector and end of use of a directory's PostgreSQL. Raises StorageError."""
    server = PrivatePostgres(directory)
    if not create and not server.data.exists():
        raise StorageError(f"{directory} holds no PostgreSQL.")
    dsn = await asyncio.to_thread(server.join)
    connect = connector(dsn)

    async def revive_and_connect() -> Connection:
        try:
            return await connect()
        except StorageError:
            await asyncio.to_thread(server.revive)
            return await connect()

    return dsn, revive_and_connect, server.leave


async def _opened(
    dsn: str,
    connect: Callable[[], Awaitable[Connection]],
    size: int,
    leave: Callable[[], object] | None,
    *,
    create: bool = True,
) -> PostgresStore:
    connection = await first_connection(connect)
    try:
        await prepare(connection, schema_of(dsn), create=create)
    finally:
        await asyncio.ensure_future(connection.close())
    return PostgresStore(connect, size, leave)


async def first_connection(connect: Callable[[], Awaitable[Connection]]) -> Connection:
    """Returns a connection. Waits while PostgreSQL starts. Raises StorageError."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + START_S
    while True:
        try:
            return await asyncio.ensure_future(connect())
        except NotYet:
            if loop.time() >= until_s:
                raise
        await asyncio.sleep(LOOK_UP_PAUSE_S)
