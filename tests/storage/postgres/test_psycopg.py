"""The suites of the engine through psycopg: nothing in it depends on how asyncpg speaks to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.storage.api import Store
from faradisc.storage.postgres.connecting import SESSION, prepare, schema_of
from faradisc.storage.postgres.errors import translated
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.store import PostgresStore
from faradisc.storage.testing.suite import Capabilities, SharedStoreSuite

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.slow


class PsycopgConnection:
    """A connection of psycopg with placeholders of PostgreSQL, as the engine writes them."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.caller: bytes | None = None
        self.request = 0
        self.deadline_s = 0.0
        self.is_closed: Callable[[], bool] = lambda: bool(raw.closed)
        self.terminate: Callable[[], None] = raw.pgconn.finish
        self.execute = raw.execute
        self.close = raw.close

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        async with psycopg.AsyncRawCursor(self._raw) as cursor:
            await cursor.execute(statement, arguments, prepare=True, binary=True)
            rows: list[Any] = await cursor.fetchall() if cursor.description else []
            return rows


def psycopg_connector(dsn: str) -> Callable[[], Any]:
    """Returns the function that connects, and raises StorageError."""
    settings = {**SESSION, "search_path": schema_of(dsn)}
    address = dsn.partition("search_path=")[0].rstrip("?&")
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in settings.items())

    async def connect() -> Connection:
        try:
            raw = await psycopg.AsyncConnection.connect(
                address, autocommit=True, options=options, target_session_attrs="read-write"
            )
        except psycopg.Error as error:
            raise translated(error) from error
        return PsycopgConnection(raw)

    return connect


class TestPsycopg(SharedStoreSuite):
    capabilities = Capabilities(reopens=True, suspends=True)

    @pytest.fixture(autouse=True)
    def _address(self, postgres_dsn: str) -> None:
        self.dsn = postgres_dsn

    async def open_store(self, place: Path) -> Store:
        connect = psycopg_connector(self.dsn)
        connection = await connect()
        await prepare(connection, schema_of(self.dsn), create=True)
        await connection.close()
        return PostgresStore(connect, 4)
