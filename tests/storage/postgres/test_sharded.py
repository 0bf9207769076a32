"""The mode for parts in several PostgreSQLs: how it is chosen, what demands it, and what it does not have.

tests/nodes/test_shard_double.py tests what it promises, over several PostgreSQLs.
"""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from faradisc.engine.backups.storage import NoBackupStorage
from faradisc.errors import StorageError
from faradisc.server.opening import _storage
from faradisc.server.settings import ServerSettings
from faradisc.storage.api import Batch, Conflict, Stale
from faradisc.storage.postgres import connecting
from faradisc.storage.postgres.connecting import SHARDED, is_sharded, prepare
from faradisc.storage.postgres.keys import HEAD_BYTES
from faradisc.storage.postgres.sharded import open_sharded
from faradisc.storage.testing.contract import OTHER, PART, applied


def test_one_postgresql_can_be_used_as_several(postgres_dsn: str) -> None:
    async def play() -> None:
        store = await open_sharded(f"{postgres_dsn}&{SHARDED}", size=2)
        long = b"k" * HEAD_BYTES + b"more"
        puts = [(b"a", b"1"), (long, b"2")]
        assert await applied(store, Batch(OTHER, log=[b"x"], fence=3), Batch(PART, puts=puts)) == [1, 0]
        found = await store.read_many([(PART, long), (OTHER, b"a"), (PART, b"a")], epochs={OTHER: 3})
        assert [row and row[1] for row in found] == [b"2", None, b"1"]
        assert [key for key, _ in await store.range(PART, b"", None, limit=5)] == [b"a", long]
        assert [row and row[1] for row in await store.get(PART, [long, b"a"])] == [b"2", b"1"]
        [old] = await store.get(PART, [b"a"], stale_ok=True)
        assert old == found[2] is not None
        checks = [(long, old[0]), (b"a", old[0] + 1)]
        answer = await store.commit([Batch(OTHER, log=[b"y"]), Batch(PART, checks=checks)])
        assert answer == Conflict(PART, b"a", old[0])
        with pytest.raises(Stale):
            await store.commit([Batch(OTHER, epoch=2, log=[b"y"]), Batch(PART, deletes=[b"a"])])
        with pytest.raises(Stale):
            await store.read_many([(OTHER, b"a")], epochs={OTHER: 2})
        assert await store.log(OTHER, 0, 5) == [(1, b"x")]
        with pytest.raises(StorageError, match="no common state"):
            await store.snapshot()
        await store.close()

    asyncio.run(play())


def test_a_commit_without_an_answer_is_looked_up(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        store = await open_sharded(f"{postgres_dsn}&{SHARDED}", size=2)
        await applied(store, Batch(PART, log=[b"first"]))
        [connection] = store._pool._idle
        execute = connection.execute

        async def lost(script: str) -> None:
            await execute(script)
            if script == "COMMIT":
                raise ConnectionResetError

        monkeypatch.setattr(connection, "execute", lost)
        assert await applied(store, Batch(PART, log=[b"second"]), Batch(OTHER, log=[b"other"])) == [2, 1]
        assert await store.log(PART, 0, 5) == [(1, b"first"), (2, b"second")]
        await store.close()

    asyncio.run(play())


def test_backups_are_rejected_with_the_reason(tmp_path: Path) -> None:
    address = f"postgresql://host/database?{SHARDED}"
    storage = _storage(ServerSettings(store=address, data_dir=tmp_path))
    assert isinstance(storage, NoBackupStorage)
    assert "several PostgreSQLs" in storage.reason
    assert not is_sharded(f"postgresql://host/{uuid.uuid4().hex}?application_name={SHARDED}s")


class _Citus:
    """A connection to a database that has the extension, as far as its opening asks for it."""

    def __init__(self, interval: str) -> None:
        self._interval = interval

    async def fetch(self, statement: str) -> list[tuple[object, ...]]:
        if statement == connecting._CITUS:
            return [(self._interval,)]
        if "server_version_num" in statement:
            return [(180_000,)]
        if "functions" in statement:
            return [(connecting.FUNCTIONS,)]
        return [(True,)] if "to_regclass" in statement else [(connecting.FORMAT,)]


@pytest.mark.parametrize(
    ("address", "interval", "sentence"),
    [
        ("", "1s", "The database has the extension citus: add faradisc.sharded=on to its address."),
        (
            f"?{SHARDED}",
            "1min",
            "Citus completes interrupted commits too late: citus.recover_2pc_interval is 1min, "
            "but has to be 1s.",
        ),
        (f"?sslmode=require&{SHARDED}", "1s", ""),
    ],
)
def test_citus_needs_an_address_and_a_setting(address: str, interval: str, sentence: str) -> None:
    sharded = is_sharded(f"postgresql://host/database{address}")
    try:
        asyncio.run(prepare(_Citus(interval), "faradisc", create=True, sharded=sharded))  # type: ignore[arg-type]
    except StorageError as error:
        assert str(error) == sentence
    else:
        assert sentence == ""
