"""An encrypted table that two nodes of a shared store use: each unwraps the data keys by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faradisc.clock import ManualClock, SystemEntropy
from faradisc.database import Database, Settings
from faradisc.engine.encryption.key_file import FileKeyService
from faradisc.engine.sealing.sealer import SEALED, KeyDenied
from faradisc.operations.call import Call
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


def test_nodes_follow_the_encryption_of_a_table(keys: Keys) -> None:
    place, clock = MemoryPlace(), ManualClock()

    async def opened(address: str) -> Database:
        service = FileKeyService(keys.file, clock, SystemEntropy())
        settings = Settings(transition_ms=0)
        return await Database.open(
            MemoryStore(place), settings=settings, clock=clock, keys=service, address=address
        )

    async def work(nodes: list[Database]) -> None:
        for _ in range(20):
            for node in nodes:
                await node.work()

    async def play() -> None:
        nodes = [await opened("first"), await opened("second")]
        first, second = nodes
        await ask(first, "CreateTable", **schema("p:S"))
        for number in range(50):
            await ask(first, "PutItem", Item=item(p=str(number), v=SECRET))
        await ask(first, "UpdateTable", SSESpecification={"Enabled": True, "KMSMasterKeyId": keys.first})
        await ask(second, "PutItem", Item=item(p="of the second", v=SECRET))
        await work(nodes)
        assert [await status(node) for node in nodes] == ["ACTIVE", "ACTIVE"]
        payloads = [
            payload
            for part, data in place.parts.items()
            if part[:4] == b"\x00\x00\x00\x01"
            for _, payload in data.rows.values()
        ]
        assert {payload[0] for payload in payloads} == {SEALED}
        await ask(second, "UpdateTable", SSESpecification={"Enabled": True, "KMSMasterKeyId": keys.second})
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
