"""Commits of one key that wait at the same time and become one call: each is answered for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from faradisc.storage.api import Batch, Conflict, Stale
from faradisc.storage.postgres.connecting import connector
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.share import GATHERED_BYTES_MAX
from faradisc.storage.postgres.store import PostgresStore, open_postgres
from faradisc.storage.testing.contract import OTHER, PART, applied, contents

pytest.importorskip("asyncpg")

Statements = list[tuple[str, tuple[Any, ...]]]


async def _opened(dsn: str, *, loses: bool = False) -> tuple[PostgresStore, Statements]:
    """Returns a store and the commits that it sends. loses: the answer of the first call of several."""
    await (await open_postgres(dsn)).close()
    sent: Statements = []

    async def connect() -> Connection:
        connection = await connector(dsn)()
        fetch = connection.fetch

        async def noted(statement: str, *arguments: Any) -> list[Any]:
            rows = await fetch(statement, *arguments)
            if "kv_commit" in statement:
                sent.append((statement, arguments))
                if loses and len(sent) == 1:
                    raise ConnectionResetError("the network failed")
            return rows

        connection.fetch = noted  # type: ignore[method-assign]
        return connection

    return PostgresStore(connect), sent


def _put(key: bytes, payload: bytes = b"v", *, part: bytes = PART, version: int = 0) -> Batch:
    return Batch(
        part, checks=[(key, version)], puts=[(key, payload)], items_delta=1, bytes_delta=len(payload)
    )


async def _all_are_made_in_one_call(dsn: str) -> None:
    store, sent = await _opened(dsn)
    batches = [_put(b"%d" % n, part=(PART, OTHER)[n % 2]) for n in range(20)]
    answers = await asyncio.gather(*(store.commit([batch]) for batch in batches))
    assert answers == [[0]] * 20
    [(statement, arguments)] = sent
    assert "kv_commit_each" in statement
    assert arguments[2] == sorted(arguments[2])
    assert sorted(await contents(store)) == sorted(b"%d" % n for n in range(0, 20, 2))
    assert await store.usage(PART) == await store.usage(OTHER) == (10, 10)
    await store.close()


async def _one_of_two_writers_of_a_key_conflicts(dsn: str) -> None:
    store, _ = await _opened(dsn)
    await applied(store, Batch(OTHER, fence=3))
    stale = Batch(OTHER, puts=[(b"s", b"v")], epoch=2)
    first, second, third, fourth = await asyncio.gather(
        *(store.commit([batch]) for batch in (_put(b"k", b"1"), _put(b"k", b"2"), _put(b"other"), stale)),
        return_exceptions=True,
    )
    assert (first, third) == ([0], [0])
    [row] = await store.get(PART, [b"k"])
    assert row is not None
    assert second == Conflict(PART, b"k", row[0])
    assert row[1] == b"1"
    assert isinstance(fourth, Stale)
    assert await store.usage(PART) == (2, 2)
    assert await store.usage(OTHER) == (0, 0)
    await store.close()


async def _a_lost_answer_is_looked_up_for_all(dsn: str) -> None:
    store, sent = await _opened(dsn, loses=True)
    batches = [_put(b"a"), _put(b"a"), _put(b"b")]
    first, second, third = await asyncio.gather(*(store.commit([batch]) for batch in batches))
    assert (first, third) == ([0], [0])
    assert isinstance(second, Conflict)
    assert [statement for statement, _ in sent if "kv_commit_each" in statement] == [sent[0][0]]
    assert await store.usage(PART) == (2, 2)
    await store.close()


async def _large_ones_and_those_with_entries_go_alone(dsn: str) -> None:
    store, sent = await _opened(dsn)
    large = _put(b"large", bytes(GATHERED_BYTES_MAX + 1))
    logged = Batch(PART, puts=[(b"logged", b"v")], log=[b"entry"])
    await asyncio.gather(*(applied(store, batch) for batch in (large, logged)))
    assert all("kv_commit_one" in statement for statement, _ in sent)
    await store.close()


@pytest.mark.parametrize(
    "case",
    [
        _all_are_made_in_one_call,
        _one_of_two_writers_of_a_key_conflicts,
        _a_lost_answer_is_looked_up_for_all,
        _large_ones_and_those_with_entries_go_alone,
    ],
)
def test_gathered_commits(postgres_dsn: str, case: Callable[[str], Awaitable[None]]) -> None:
    asyncio.run(case(postgres_dsn))  # type: ignore[arg-type]
