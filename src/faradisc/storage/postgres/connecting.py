"""Connects to PostgreSQL with asyncpg, and prepares a database for the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from faradisc.errors import StorageError
from faradisc.storage.api import NewerFormat
from faradisc.storage.postgres.errors import NO_LIBRARY, sqlstate, translated
from faradisc.storage.postgres.pool import Connection

FORMAT = 1
PLACES_FORMAT = 2
"""The same at the first of several places: older releases must not open it alone."""
FUNCTIONS = 3
"""Of functions.sql; rises with every change of it. Older servers call the functions of a newer release."""
OLDEST_VERSION = 15
CONNECT_S = 5.0
SCHEMA = "faradisc"
SHARDED = "faradisc.sharded=on"
"""In an address: every statement names one part, because the parts may be in several PostgreSQLs. PostgreSQL
takes it for a setting that no one reads."""
_CITUS = """SELECT current_setting('citus.recover_2pc_interval', true)
 FROM pg_extension WHERE extname = 'citus'"""
RECOVERY = "1s"
_DISTRIBUTED = """
DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    PERFORM create_distributed_table('kv_part', 'part', colocate_with => 'none');
    PERFORM create_distributed_table('kv', 'part', colocate_with => 'kv_part');
    PERFORM create_distributed_table('kv_log', 'part', colocate_with => 'kv_part');
    PERFORM create_distributed_table('kv_garbage', 'part', colocate_with => 'kv_part');
    PERFORM create_distributed_table('kv_caller', 'id', colocate_with => 'kv_part');
  END IF;
END $do$;"""
_CREATED_MEANWHILE = ("23505", "42P06", "42P07")

SESSION = {
    "application_name": "faradisc",
    "default_transaction_isolation": "read committed",
    "synchronous_commit": "on",
    # Every statement reads by a primary key: plans do not depend on statistics, and are made once.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}


class AsyncpgConnection:
    """A connection whose statements are prepared at their first use."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._prepared: dict[str, Any] = {}
        self.caller: bytes | None = None
        self.request = 0
        self.deadline_s = 0.0
        self.is_closed: Callable[[], bool] = raw.is_closed
        self.terminate: Callable[[], None] = raw.terminate
        self.execute: Callable[[str], Coroutine[Any, Any, Any]] = raw.execute
        self.close: Callable[[], Coroutine[Any, Any, None]] = raw.close

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        try:
            prepared = self._prepared[statement]
        except KeyError:
            # Without a name asyncpg would prepare it again for every call.
            name = f"faradisc_{len(self._prepared)}"
            prepared = self._prepared[statement] = await self._raw.prepare(statement, name=name)
        rows: list[Any] = await prepared.fetch(*arguments)
        return rows


def connector(dsn: str) -> Callable[[], Awaitable[Connection]]:
    """Returns the function that connects, and raises StorageError. Raises StorageError for a wrong address.

    The schema is `faradisc`, or the one that `search_path` of the address names. All hosts of an address are
    tried at once, because asyncpg has one timeout for all of them: after a host whose network drops packets
    it would not come to the next.
    """
    try:
        import asyncpg  # noqa: PLC0415 - an extra
    except ImportError:
        raise StorageError(NO_LIBRARY) from None
    settings = {**SESSION, "search_path": schema_of(dsn)}
    if is_sharded(dsn):
        # Citus makes no generic plan of a statement that joins, or whose part is no parameter.
        settings["plan_cache_mode"] = "auto"
        # Else the library's look at types takes 0.4 to 2 s for each connection.
        settings["citus.override_table_visibility"] = "off"
    addresses = hosts_of(dsn)

    async def connect() -> Connection:
        attempts = [
            asyncpg.connect(
                address,
                target_session_attrs="read-write",
                timeout=CONNECT_S,
                statement_cache_size=0,
                server_settings=settings,
            )
            for address in addresses
        ]
        try:
            raw = await (attempts[0] if len(attempts) == 1 else _first_of(attempts))
        except Exception as error:
            raise translated(error) from error
        return AsyncpgConnection(raw)

    return connect


def schema_of(dsn: str) -> str:
    """Returns the schema of the engine's tables. Raises StorageError for what is no address of PostgreSQL."""
    try:
        parts = urlsplit(dsn)
        query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError as error:
        raise StorageError(f"The address of PostgreSQL cannot be read: {error}.") from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise StorageError("The address of PostgreSQL has the form postgresql://user:password@host/database.")
    return query.get("search_path", [SCHEMA])[-1]


def is_sharded(dsn: str) -> bool:
    """Whether an address has SHARDED."""
    return SHARDED in dsn.partition("?")[2].split("&")


def address_of(dsn: str) -> str:
    """Returns an address for people: hosts, database and schema, without user and password."""
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    where = parts.netloc.rpartition("@")[2] or query.get("host", "")
    schema = f"?{query['search_path']}" if "search_path" in query else ""
    return f"{where}{parts.path}{schema}"


def hosts_of(dsn: str) -> list[str]:
    """Returns an address for each host of an address."""
    parts = urlsplit(dsn)
    user, at, named = parts.netloc.rpartition("@")
    if named:
        return [urlunsplit(parts._replace(netloc=user + at + host)) for host in named.split(",")]
    query = dict(parse_qsl(parts.query))
    hosts, ports = query.get("host", "").split(","), query.get("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    if len(hosts) == 1 or len(hosts) != len(ports):
        return [dsn]
    queries = [{**query, "host": host, "port": port} for host, port in zip(hosts, ports, strict=True)]
    return [urlunsplit(parts._replace(query=urlencode(each))) for each in queries]


async def _first_of(attempts: Sequence[Coroutine[Any, Any, Any]]) -> Any:
    """Returns the first connection. Raises the error that says most when all attempts fail."""
    tasks = [asyncio.ensure_future(attempt) for attempt in attempts]
    errors: list[Exception] = []
    connected = None
    try:
        for attempt in asyncio.as_completed(tasks):
            try:
                connected = await attempt
            except Exception as error:
                errors.append(error)
            else:
                return connected
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled() and task.exception() is None and task.result() is not connected:
                task.result().terminate()
    raise max(errors, key=lambda error: (sqlstate(error) != "", not isinstance(error, OSError)))


async def prepare(
    connection: Connection, schema: str, *, create: bool, sharded: bool = False, places: bool = False
) -> None:
    """Creates the tables unless they exist; without `create` that is an error. Raises StorageError.

    sharded: whether a store for several PostgreSQLs follows; Citus needs it. places: whether this is one of
    several places.
    """
    try:
        [(version,)] = await connection.fetch("SELECT current_setting('server_version_num')::bigint")
        if version < OLDEST_VERSION * 10_000:
            raise StorageError(
                f"PostgreSQL {version // 10_000} is too old; {OLDEST_VERSION} and later versions can be used."
            )
        for (interval,) in await connection.fetch(_CITUS):
            if not sharded:
                raise StorageError(f"The database has the extension citus: add {SHARDED} to its address.")
            if interval != RECOVERY:
                raise StorageError(
                    f"Citus completes interrupted commits too late: "
                    f"citus.recover_2pc_interval is {interval}, but has to be {RECOVERY}."
                )
        found = await _format(connection)
        if found is None and not create:
            raise StorageError(f"The database holds no tables of Faradisc in its schema {schema}.")
        if found is None:
            await _create(connection, schema, sharded=sharded)
            found = await _format(connection)
        elif create and found <= PLACES_FORMAT:
            await _replace_functions(connection)
    except Exception as error:
        raise translated(error) from error
    if found == PLACES_FORMAT:
        if not places:
            raise StorageError(
                "This PostgreSQL is one of several places of a store: name all of them in --store."
            )
        return
    if found is None or found > FORMAT:
        raise NewerFormat(
            f"The database has format {found}, of a later release; this one knows formats up to "
            f"{PLACES_FORMAT}."
        )


async def _format(connection: Connection) -> int | None:
    [(exists,)] = await connection.fetch("SELECT to_regclass('kv_meta') IS NOT NULL")
    if not exists:
        return None
    [(found,)] = await connection.fetch("SELECT value FROM kv_meta WHERE name = 'format'")
    return int(found)


async def _create(connection: Connection, schema: str, *, sharded: bool) -> None:
    name = '"' + schema.replace('"', '""') + '"'
    script = f"CREATE SCHEMA IF NOT EXISTS {name}; {_script('schema')}; {_functions()}"
    try:
        # One transaction, as any script of several statements. Of two processes one waits for the other here.
        await connection.execute(script + (_DISTRIBUTED if sharded else ""))
    except Exception as error:
        if sqlstate(error) not in _CREATED_MEANWHILE:
            raise


async def _replace_functions(connection: Connection) -> None:
    """Replaces the functions of an older release, in one transaction."""
    found = await connection.fetch("SELECT value FROM kv_meta WHERE name = 'functions'")
    if not found or found[0][0] < FUNCTIONS:
        await connection.execute(_functions())


def _functions() -> str:
    """Returns the script; its first statement lets one process after the other run it."""
    return f"""INSERT INTO kv_meta VALUES ('functions', {FUNCTIONS})
 ON CONFLICT (name) DO UPDATE SET value = excluded.value; {_script("functions")}"""


def _script(name: str) -> str:
    return files(__package__).joinpath(f"{name}.sql").read_text()
