"""An encrypted table that two nodes of a shared store use: each unwraps the data keys by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import SystemClock, SystemEntropy
from faradisc.database import Database, Settings
from faradisc.engine.encryption.key_file import FileKeyService
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.engine.sealing.sealer import SEALED, KeyDenied
from faradisc.operations.call import Call
from faradisc.storage.api import Store
from faradisc.storage.memory import MemoryPlace, MemoryStore
from fixtures.encrypted import SECRET, Keys
from fixtures.schemas import item, schema

INACCESSIBLE = "INACCESSIBLE_ENCRYPTION_CREDENTIALS"


async def ask(node: Database, operation: str, **request: Any) -> dict[str, Any]:
    call = Call(operation, {"TableName": "table", **request}, False, "us-east-1", "000000000000")
    return await node.execute(call)


async def status(node: Database) -> str:
    shown: str = (await ask(node, "DescribeTable"))["Table"]["TableStatus"]
    return shown


async def count(node: Database) -> int:
    found: int = (await ask(node, "Scan", Select="COUNT"))["Count"]
    return found


OpenStore = Callable[[], Awaitable[Store]]


@pytest.fixture(params=["memory", "postgres"])
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """Opens a further store of one place."""
    if request.param == "postgres":
        return postgres_stores(request.getfixturevalue("postgres_dsn"))
    place = MemoryPlace()

    async def open_store() -> Store:
        return MemoryStore(place)

    return open_store


def postgres_stores(dsn: str) -> OpenStore:
    from faradisc.storage.postgres.store import open_postgres  # noqa: PLC0415 - asyncpg may be missing

    async def open_store() -> Store:
        return await open_postgres(dsn, size=4)

    return open_store


async def opened(open_store: OpenStore, keys: Keys) -> list[Database]:
    """Two nodes, on the clock of the machine, which is that of the store too."""
    clock = SystemClock()
    return [
        await Database.open(
            await open_store(),
            settings=Settings(transition_ms=0),
            clock=clock,
            keys=FileKeyService(keys.file, clock, SystemEntropy()),
            address=address,
        )
        for address in ("first", "second")
    ]


async def work(nodes: list[Database]) -> None:
    for _ in range(20):
        for node in nodes:
            await node.work()


async def payloads(node: Database) -> list[bytes]:
    """What is stored of the items of the first table."""
    store = node.store
    assert isinstance(store, SealedStore)
    parts = [part for part, _ in await store.inner.parts() if part[:4] == b"\x00\x00\x00\x01"]
    rows = [await store.inner.range(part, None, None, limit=1000) for part in parts]
    return [payload for part in rows for _, (_, payload) in part]


def test_nodes_follow_the_encryption_of_a_table(keys: Keys, open_store: OpenStore) -> None:
    async def play() -> None:
        nodes = await opened(open_store, keys)
        first, second = nodes
        await ask(first, "CreateTable", **schema("p:S"))
        for number in range(50):
            await ask(first, "PutItem", Item=item(p=str(number), v=SECRET))
        await ask(
            first,
            "UpdateTable",
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first},
        )
        await ask(second, "PutItem", Item=item(p="of the second", v=SECRET))
        await work(nodes)
        assert [await status(node) for node in nodes] == ["ACTIVE", "ACTIVE"]
        stored = await payloads(first)
        assert (len(stored), {payload[0] for payload in stored}) == (51, {SEALED})
        await ask(
            second,
            "UpdateTable",
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.second},
        )
        await ask(second, "PutItem", Item=item(p="after", v=SECRET))
        assert [await count(node) for node in nodes] == [52, 52]
        keys.disable(keys.second)
        await work(nodes)
        for node in nodes:
            with pytest.raises(KeyDenied, match="is disabled"):
                await count(node)
            assert await status(node) == INACCESSIBLE
        keys.enable(keys.second)
        await work(nodes)
        assert [(await status(node), await count(node)) for node in nodes] == [("ACTIVE", 52)] * 2
        for node in nodes:
            await node.close()

    asyncio.run(play())


def test_no_file_of_postgresql_has_an_item_or_a_secret(keys: Keys, postgres_dsn: str) -> None:
    """Its data directory has the tables and the write-ahead log."""
    import asyncpg  # noqa: PLC0415 - it may be missing

    async def directory() -> Path:
        """The data directory, after a checkpoint has written all pages."""
        connection = await asyncpg.connect(postgres_dsn)
        await connection.execute("CHECKPOINT")
        found = Path(await connection.fetchval("SHOW data_directory"))
        await connection.close()
        return found

    async def play() -> list[str]:
        nodes = await opened(postgres_stores(postgres_dsn), keys)
        specification = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first}
        definition = {
            **schema("p:S", gsi={"global": ("g:S", "", "ALL")}),
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        }
        await ask(nodes[0], "CreateTable", **definition, SSESpecification=specification)
        await ask(nodes[0], "CreateTable", **schema("p:S"), TableName="plain")
        recovery = {"PointInTimeRecoveryEnabled": True}
        await ask(nodes[1], "UpdateContinuousBackups", PointInTimeRecoverySpecification=recovery)
        for number in range(20):
            for node in nodes:
                await ask(node, "PutItem", Item=item(p=str(number), g="g", v=f"sealed in {SECRET}"))
        await ask(nodes[1], "PutItem", TableName="plain", Item=item(p="a", v=f"plain in {SECRET}"))
        await work(nodes)
        file = keys.file.path.with_name("master.json.key").read_bytes().strip()
        wanted = {"sealed": b"sealed in ", "plain": b"plain in ", "key of the file": file}
        files = [each for each in (await directory()).rglob("*") if each.is_file()]
        assert any(each.parent.name == "pg_wal" for each in files)
        texts = []
        for each in files:
            with suppress(FileNotFoundError):  # of a table of another test, dropped meanwhile
                texts.append(each.read_bytes())
        found = [name for name, text in wanted.items() if any(text in each for each in texts)]
        for node in nodes:
            await node.close()
        return found

    assert asyncio.run(play()) == ["plain"]
