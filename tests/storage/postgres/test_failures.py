"""Broken connections, a server that is away, commits without an answer, and what cannot be opened."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from faradisc.errors import StorageError
from faradisc.storage.api import Batch, Closed, Conflict, Full, IOFailed, NewerFormat, Unknown
from faradisc.storage.postgres import connecting, pool, store
from faradisc.storage.postgres.connecting import connector
from faradisc.storage.postgres.errors import translated
from faradisc.storage.postgres.pool import Connection, Pool
from faradisc.storage.postgres.private import SOCKET_NAME, PrivatePostgres
from faradisc.storage.postgres.store import PostgresStore, open_postgres
from faradisc.storage.testing.contract import OTHER, PART, applied, contents, put
from fixtures.postgres import QUICK, needs_programs, temporary_place

asyncpg = pytest.importorskip("asyncpg")

COMMIT = Batch(PART, puts=[(b"k", b"v")], log=[b"entry"], items_delta=1)
ENTRIES = [(1, b"entry")]


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    """A PostgreSQL that tests may stop; the next test starts it again."""
    needs_programs()
    place = temporary_place(f"failures-{uuid.uuid4().hex}")
    started = PrivatePostgres(place, {**QUICK, "wal_level": "replica"})
    started.join()
    yield started
    started.leave()
    shutil.rmtree(place)


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    server.revive()
    return f"{server.dsn}&search_path=test_{uuid.uuid4().hex}"


async def until(condition: Callable[[], Awaitable[Any]]) -> None:
    """Waits for what another process does."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(dsn: str, size: int = 4) -> Any:
    """Yields a store, and a connection beside it for the test."""
    opened_store = await open_postgres(dsn, size=size)
    beside = await connector(dsn)()
    try:
        yield opened_store, beside
    finally:
        beside.terminate()
        await opened_store.close()


@asynccontextmanager
async def part_locked(beside: Connection) -> Any:
    """Holds the lock of PART, so that a commit waits in PostgreSQL."""
    await beside.execute(f"BEGIN; SELECT FROM kv_part WHERE part = '\\x{PART.hex()}' FOR UPDATE")
    try:
        yield
    finally:
        await beside.execute("COMMIT")


async def waiting_backends(watcher: Connection) -> list[int]:
    """Returns the processes that wait for a lock in a commit of this schema."""
    rows = await watcher.fetch(
        "SELECT pid::bigint FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%kv_commit%'"
    )
    return [pid for (pid,) in rows]


def test_a_commit_whose_backend_is_killed_is_made_once(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            await put(opened_store, b"other", b"")
            watcher = await connector(dsn)()
            async with part_locked(beside):
                commit = asyncio.ensure_future(opened_store.commit([COMMIT]))
                await until(lambda: waiting_backends(watcher))
                [pid] = await waiting_backends(watcher)
                await watcher.fetch("SELECT pg_terminate_backend($1::bigint::int)", pid)
                await until(lambda: _other_backend_waits(watcher, pid))
            assert await commit == [1]
            assert await opened_store.log(PART, 0, 9) == ENTRIES
            assert await opened_store.usage(PART) == (1, 0)
            watcher.terminate()

    asyncio.run(play())


async def _other_backend_waits(watcher: Connection, pid: int) -> bool:
    return any(other != pid for other in await waiting_backends(watcher))


@pytest.mark.parametrize("batches", [[COMMIT], [COMMIT, Batch(OTHER, log=[b"x", b"y"])]], ids=["one", "many"])
def test_a_commit_that_was_made_but_not_answered_is_answered_from_its_row(
    dsn: str, batches: list[Batch]
) -> None:
    async def play() -> None:
        async with opened(dsn) as (prepared, _):
            broken = 0

            async def connect() -> Connection:
                connection = await connector(dsn)()
                fetch = connection.fetch

                async def lose_answer(statement: str, *arguments: Any) -> list[Any]:
                    nonlocal broken
                    rows = await fetch(statement, *arguments)
                    if "kv_commit" in statement and not broken:
                        broken += 1
                        raise ConnectionResetError("the network failed")
                    return rows

                connection.fetch = lose_answer  # type: ignore[method-assign]
                return connection

            losing = PostgresStore(connect)
            assert await losing.commit(batches) == [1, 2][: len(batches)]
            assert broken == 1
            assert await prepared.log(PART, 0, 9) == ENTRIES
            assert isinstance(
                await losing.commit([Batch(PART, checks=[(b"k", 0)], deletes=[b"k"])]), Conflict
            )
            await losing.close()

    asyncio.run(play())


@pytest.mark.parametrize("made", [True, False])
def test_an_error_of_a_commit_is_an_answer_only_after_a_look(dsn: str, *, made: bool) -> None:
    """An error can come after the commit, from whatever is between a server and PostgreSQL."""

    async def play() -> None:
        async with opened(dsn) as (prepared, _):
            connections = 0

            async def connect() -> Connection:
                nonlocal connections
                connections += 1
                connection = await connector(dsn)()
                fetch = connection.fetch

                async def fail(statement: str, *arguments: Any) -> list[Any]:
                    if "kv_commit" not in statement:
                        return await fetch(statement, *arguments)
                    if made:
                        await fetch(statement, *arguments)
                    raise asyncpg.InternalServerError("the answer was lost")

                connection.fetch = fail  # type: ignore[method-assign]
                return connection

            failing = PostgresStore(connect)
            if made:
                assert await failing.commit([COMMIT]) == [1]
            else:
                with pytest.raises(IOFailed, match="the answer was lost"):
                    await failing.commit([COMMIT])
            assert await prepared.log(PART, 0, 9) == (ENTRIES if made else [])
            assert connections == 1
            await failing.close()

    asyncio.run(play())


def test_the_functions_of_an_older_release_are_replaced(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            await applied(opened_store, COMMIT)
            await beside.execute(
                "DROP FUNCTION kv_state; DROP TABLE kv_moved, kv_changed, kv_place, kv_placement;"
                " DELETE FROM kv_meta WHERE name = 'functions'"
            )
            stores = await asyncio.gather(*(open_postgres(dsn, size=1) for _ in range(3)))
            assert await applied(stores[0], COMMIT) == [2]
            assert [tuple(row) for row in await beside.fetch("SELECT kv_state($1)", PART)] == [(0,)]
            for each in stores:
                await each.close()

    asyncio.run(play())


def test_no_commit_leaves_its_lock_in_the_row_of_a_part(dsn: str) -> None:
    """Readers of several places take such a row for one of a commit under way, and look again."""

    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            for batches in ([Batch(PART, puts=[(b"k", b"v")])], [Batch(PART), Batch(OTHER, deletes=[b"k"])]):
                await applied(opened_store, *batches)
                await opened_store.commit([Batch(PART, checks=[(b"k", 1)], puts=[(b"k", b"v")])])
                rows = await beside.fetch("SELECT xmax::text FROM kv_part")
                assert {xmax for (xmax,) in rows} == {"0"}

    asyncio.run(play())


def test_a_commit_that_is_looked_up_can_no_longer_be_made(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            await put(opened_store, b"other", b"")
            watcher = await connector(dsn)()
            async with part_locked(beside):
                commit = asyncio.ensure_future(opened_store.commit([COMMIT]))
                await until(lambda: waiting_backends(watcher))
                [first] = await waiting_backends(watcher)
                # The server's process goes on: it does not see that its client has gone.
                [used] = opened_store._pool._used
                used.terminate()
                await until(lambda: _other_backend_waits(watcher, first))
                assert first in await waiting_backends(watcher)
            assert await commit == [1]
            await until(lambda: _none_waits(watcher))
            assert await opened_store.log(PART, 0, 9) == ENTRIES
            assert await opened_store.usage(PART) == (1, 0)
            watcher.terminate()

    asyncio.run(play())


async def _none_waits(watcher: Connection) -> bool:
    return not await waiting_backends(watcher)


def test_a_commit_that_never_ends_is_given_up_and_not_made_later(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "COMMIT_S", 0.2)
    monkeypatch.setattr(pool, "WATCH_S", 0.1)

    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            await put(opened_store, b"other", b"")
            async with part_locked(beside):
                with pytest.raises(IOFailed):
                    await opened_store.commit([COMMIT])
            await applied(opened_store, Batch(PART, puts=[(b"later", b"")]))
            assert set(await contents(opened_store)) == {b"other", b"later"}

    asyncio.run(play())


def test_a_commit_is_unknown_when_no_server_answers(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LOOK_UP_S", 0.2)
    monkeypatch.setattr(pool, "PATIENCE_S", 0.1)

    async def play() -> None:
        async with opened(dsn):
            away = False

            async def connect() -> Connection:
                if away:
                    raise IOFailed("PostgreSQL does not answer.")
                connection = await connector(dsn)()
                fetch = connection.fetch

                async def lose_server(statement: str, *arguments: Any) -> list[Any]:
                    nonlocal away
                    if "kv_commit" in statement:
                        away = True
                        raise ConnectionResetError("the network failed")
                    return await fetch(statement, *arguments)

                connection.fetch = lose_server  # type: ignore[method-assign]
                return connection

            lost = PostgresStore(connect)
            with pytest.raises(Unknown, match="outcome of a commit is not known"):
                await lost.commit([COMMIT])
            await lost.close()

    asyncio.run(play())


def test_a_store_serves_again_by_itself_when_its_server_is_back(
    server: PrivatePostgres, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE_S", 0.1)

    async def play() -> None:
        async with opened(dsn) as (opened_store, _):
            await put(opened_store, b"before", b"1")
            snapshot = await opened_store.snapshot()
            await asyncio.to_thread(server.stop, "immediate")
            for _ in range(2):
                with pytest.raises(IOFailed, match=r"^PostgreSQL does not answer: .*[.]$"):
                    await opened_store.get(PART, [b"before"])
            with pytest.raises(IOFailed):
                await opened_store.commit([COMMIT])
            with pytest.raises(IOFailed):
                await snapshot.get(PART, [b"before"])
            assert "does not answer" in str(opened_store.failure)
            await asyncio.to_thread(server.revive)
            await until(lambda: _is_well(opened_store))
            await put(opened_store, b"after", b"2")
            assert await contents(opened_store) == {b"before": b"1", b"after": b"2"}

    asyncio.run(play())


async def _is_well(opened_store: PostgresStore) -> bool:
    return opened_store.failure is None


def test_every_acknowledged_commit_survives_immediate_stops(server: PrivatePostgres, dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, _):
            acknowledged: list[bytes] = []
            stop = asyncio.Event()

            async def write(name: int) -> None:
                number = 0
                while not stop.is_set():
                    number += 1
                    entry = b"%d-%d" % (name, number)
                    try:
                        await applied(
                            opened_store, Batch(PART, puts=[(entry, b"")], log=[entry], items_delta=1)
                        )
                    except StorageError:
                        continue
                    acknowledged.append(entry)

            writers = [asyncio.ensure_future(write(name)) for name in range(4)]
            for _ in range(3):
                await until(partial(_more_than, acknowledged, len(acknowledged) + 20))
                await asyncio.to_thread(server.stop, "immediate")
                await asyncio.to_thread(server.revive)
            stop.set()
            await asyncio.gather(*writers)
            entries = await opened_store.log(PART, 0, 1_000_000)
            assert [number for number, _ in entries] == list(range(1, len(entries) + 1))
            names = [entry for _, entry in entries]
            assert len(set(names)) == len(names)
            assert set(acknowledged) <= set(names)
            assert set(await contents(opened_store)) == set(names)
            assert await opened_store.usage(PART) == (len(names), 0)

    asyncio.run(play())


async def _more_than(found: list[bytes], count: int) -> bool:
    return len(found) > count


def test_a_full_disk_rejects_commits_and_keeps_the_connection(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (prepared, _):
            full = True
            connected = 0

            async def connect() -> Connection:
                nonlocal connected
                connected += 1
                connection = await connector(dsn)()
                fetch = connection.fetch

                async def no_room(statement: str, *arguments: Any) -> list[Any]:
                    if full and "kv_commit" in statement:
                        raise asyncpg.DiskFullError("could not extend file: No space left on device")
                    return await fetch(statement, *arguments)

                connection.fetch = no_room  # type: ignore[method-assign]
                return connection

            filled = PostgresStore(connect)
            with pytest.raises(Full, match=r"^PostgreSQL has no room left on its disk: .*[.]$"):
                await filled.commit([COMMIT])
            assert await contents(filled) == {}
            assert filled.failure is None
            full = False
            assert await filled.commit([COMMIT]) == [1]
            assert connected == 1
            assert await contents(prepared) == {b"k": b"v"}
            await filled.close()

    asyncio.run(play())


@pytest.fixture
def tiny_disk(server: PrivatePostgres) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = temporary_place(f"tiny-{uuid.uuid4().hex}")
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=4m,mode=777"]
    if subprocess.run(["mount", *options, "tmpfs", place], check=False, capture_output=True).returncode:
        place.rmdir()
        pytest.skip("this user cannot mount a file system")
    shutil.chown(place, server.data.owner())
    yield place
    subprocess.run(["umount", "-l", place], check=True)
    place.rmdir()


def test_writes_go_on_when_a_full_disk_has_room_again(dsn: str, tiny_disk: Path) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            name = f"tiny_{uuid.uuid4().hex}"
            await beside.execute(f"CREATE TABLESPACE {name} LOCATION '{tiny_disk}'")
            await beside.execute(f"ALTER TABLE kv SET TABLESPACE {name}")
            payload = b"x" * 7_000
            kept = 0
            with pytest.raises(Full, match=r"^PostgreSQL has no room left on its disk: .*[.]$"):
                for number in range(2_000):
                    await put(opened_store, b"%04d" % number, payload)
                    kept += 1
            assert len(await contents(opened_store)) == kept > 100
            await beside.execute("ALTER TABLE kv SET TABLESPACE pg_default")
            await beside.execute(f"DROP TABLESPACE {name}")
            await put(opened_store, b"more", payload)
            assert len(await contents(opened_store)) == kept + 1

    asyncio.run(play())


def test_a_cleared_part_is_swept_and_old_callers_are_forgotten(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (opened_store, beside):
            rows = [(b"%04d" % number, b"") for number in range(2_500)]
            await applied(opened_store, Batch(PART, puts=rows, log=[b"x"] * 10))
            await opened_store.clear(PART)
            await put(opened_store, b"new", b"")
            while await opened_store.sweep():
                pass
            assert await contents(opened_store) == {b"new": b""}
            for table, count in (("kv", 1), ("kv_log", 0), ("kv_garbage", 0)):
                assert [tuple(row) for row in await beside.fetch(f"SELECT count(*) FROM {table}")] == [
                    (count,)
                ]
            await beside.execute("UPDATE kv_caller SET at = at - interval '2 days'")
            await opened_store.sweep()
            assert [tuple(row) for row in await beside.fetch("SELECT count(*) FROM kv_caller")] == [(0,)]
            assert await applied(opened_store, Batch(PART, log=[b"y"])) == [1]

    asyncio.run(play())


def _error_of(dsn: str) -> str:
    with pytest.raises(StorageError) as raised:
        asyncio.run(open_postgres(dsn))
    text = str(raised.value)
    assert text.endswith(".") and "\n" not in text and "SECRET" not in text
    return text


def test_what_cannot_be_opened_is_a_sentence(
    server: PrivatePostgres, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "has the form" in _error_of("mysql://u:SECRET@h/d")
    assert "address" in _error_of("postgresql://u:SECRET@h:port/d")
    assert "does not answer" in _error_of("postgresql://u:SECRET@127.0.0.1:1/d")
    assert "does not exist" in _error_of(dsn.replace("/postgres?", "/absent?"))
    monkeypatch.setattr(connecting, "OLDEST_VERSION", 99)
    assert _error_of(dsn) == "PostgreSQL 18 is too old; 99 and later versions can be used."


def test_a_wrong_password_is_a_sentence(server: PrivatePostgres, dsn: str) -> None:
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()

    async def reload(*statements: str) -> None:
        connection = await connector(dsn)()
        for statement in (*statements, "SELECT pg_reload_conf()"):
            await connection.execute(statement)
        await connection.close()

    rules.write_text(f"local all careful scram-sha-256\n{before}")
    try:
        asyncio.run(reload("CREATE ROLE careful LOGIN PASSWORD 'right'"))
        with_password = dsn.replace("faradisc@", "careful:SECRET@")
        assert "rejects the password" in _error_of(with_password)
        assert "lacks a right" in _error_of(with_password.replace("SECRET", "right"))
    finally:
        rules.write_text(before)
        asyncio.run(reload())


def test_tables_of_a_newer_format_are_not_opened(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn) as (_, beside):
            await beside.execute("UPDATE kv_meta SET value = 3 WHERE name = 'format'")
            with pytest.raises(
                NewerFormat, match="format 3, of a later release; this one knows formats up to 2"
            ):
                await open_postgres(dsn)

    asyncio.run(play())


def test_a_read_only_standby_is_not_opened(server: PrivatePostgres, dsn: str) -> None:
    needs_programs()
    place = temporary_place(f"standby-{uuid.uuid4().hex}")
    standby = PrivatePostgres(place, {**QUICK, "wal_level": "replica", "hot_standby": "on"})
    try:
        server.stop("fast")
        place.mkdir(mode=0o711)
        shutil.copytree(server.data, standby.data)
        (standby.data / "standby.signal").touch()
        for each in (standby.data, *standby.data.rglob("*")):
            shutil.chown(each, server.data.owner())
        assert "No server of the address accepts writes" in _error_of(standby.join())
        standby.stop("immediate")
    finally:
        standby.leave()
        shutil.rmtree(place, ignore_errors=True)


def test_opening_waits_while_the_server_recovers(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rejections = 0

    async def connect() -> Connection:
        nonlocal rejections
        rejections += 1
        if rejections % 3:
            raise translated(asyncpg.CannotConnectNowError("the database system is in recovery mode"))
        return await connector(dsn)()

    async def play() -> None:
        recovered = await store._opened(dsn, connect, 2, None)
        await put(recovered, b"k", b"v")
        await recovered.close()
        monkeypatch.setattr(store, "START_S", 0)
        with pytest.raises(StorageError, match=r"PostgreSQL starts, recovers or stops: .* in recovery mode"):
            await store._opened(dsn, connect, 2, None)

    asyncio.run(play())


def test_a_start_waits_for_one_that_another_process_has_begun(server: PrivatePostgres, dsn: str) -> None:
    """A socket that is not there yet, and a lock file that is."""
    log = server.data / "server.log"
    (listening,) = server.data.parent.glob("socket/.s.PGSQL.5432")
    hidden = listening.with_name("hidden")
    logged = log.stat().st_size
    listening.rename(hidden)

    def rejected() -> bool:
        return b"already exists" in log.read_bytes()[logged:]

    async def play() -> None:
        starting = asyncio.ensure_future(asyncio.to_thread(server.revive))
        async with asyncio.timeout(30):
            while not rejected():  # noqa: ASYNC110 - another process sets no event
                await asyncio.sleep(0.01)
        assert not starting.done()
        hidden.rename(listening)
        await starting
        await (await connector(dsn)()).close()

    asyncio.run(play())


def test_a_closed_store_wakes_no_one(dsn: str) -> None:
    async def play() -> None:
        async with opened(dsn, size=1) as (opened_store, beside):
            await put(opened_store, b"other", b"")
            async with part_locked(beside):
                commits = [asyncio.ensure_future(opened_store.commit([COMMIT])) for _ in range(3)]
                await asyncio.sleep(0)
                closing = asyncio.ensure_future(opened_store.close())
                await asyncio.sleep(0)
                with pytest.raises(Closed):
                    await opened_store.get(PART, [b"k"])
            await closing
            assert sorted(await asyncio.gather(*commits)) == [[1], [2], [3]]

    asyncio.run(play())


class _Double:
    """A connection that knows only whether it was terminated."""

    deadline_s = 0.0
    terminated = False

    def is_closed(self) -> bool:
        return self.terminated

    def terminate(self) -> None:
        self.terminated = True

    async def close(self) -> None:
        self.terminated = True


def test_a_broken_connection_ends_the_idle_ones_which_are_mostly_broken_too() -> None:
    async def play() -> None:
        made: list[Any] = []

        async def connect() -> Any:
            made.append(_Double())
            return made[-1]

        connections = Pool(connect, 3)
        used = [await connections.take(10) for _ in range(3)]
        for each in used[1:]:
            connections.give(each)
        connections.give(used[0], broken=True)
        assert [each.terminated for each in made] == [True] * 3
        again = [await asyncio.wait_for(connections.take(10), 5) for _ in range(3)]
        assert again == made[3:]
        for each in again:
            connections.give(each)
        await connections.close()

    asyncio.run(play())


def test_a_host_that_never_answers_does_not_hide_the_others(server: PrivatePostgres, dsn: str) -> None:
    """As behind a cut cable: a connection that is made, and on which nothing comes."""
    silent = temporary_place(f"silent-{uuid.uuid4().hex}")
    silent.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(silent / SOCKET_NAME))
        listener.listen()
        found = parse_qs(urlsplit(dsn).query)["host"][0]
        both = dsn.replace(f"host={quote(found, safe='')}", f"host={silent},{found}")
        assert both != dsn

        async def play() -> None:
            async with asyncio.timeout(connecting.CONNECT_S):
                await (await connector(both)()).close()

        asyncio.run(play())
    shutil.rmtree(silent)


@pytest.mark.parametrize(
    ("dsn", "hosts"),
    [
        ("postgresql://u:p@a,b:6/d?x=1", ["postgresql://u:p@a/d?x=1", "postgresql://u:p@b:6/d?x=1"]),
        ("postgresql://a/d", ["postgresql://a/d"]),
        ("postgresql:///d?host=/a", ["postgresql:///d?host=/a"]),
        (
            "postgresql://u@/d?host=a,b&port=7,8",
            [f"postgresql://u@/d?host={h}" for h in ("a&port=7", "b&port=8")],
        ),
        ("postgresql://u@/d?host=a,b&port=7", [f"postgresql://u@/d?host={h}&port=7" for h in "ab"]),
    ],
)
def test_an_address_of_several_hosts_is_an_address_for_each(dsn: str, hosts: list[str]) -> None:
    assert connecting.hosts_of(dsn) == hosts


def test_of_several_failed_hosts_the_reason_that_says_most_is_reported(dsn: str) -> None:
    found = parse_qs(urlsplit(dsn).query)["host"][0]
    absent = dsn.replace("/postgres?", "/absent?").replace(
        f"host={quote(found, safe='')}", f"host=/none,{found}"
    )
    assert "the database of the address does not exist" in _error_of(absent)
