"""Writers, readers, expiry, rolls and splits at the same time, interleaved at every await.

What it proves: a tailing reader misses nothing, repeats nothing, and reads nothing of a child before its
parent's end, although a roll takes two commits and partitions split meanwhile; and an item rewritten during
its deletion by the sweep stays. The store of this test lets other coroutines run before and after each call,
in an order given by a seed, as a store with a disk or a network does.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson
import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.operations.call import Call
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema
from fixtures.streamed import replay

SETTINGS = Settings(transition_ms=0, shard_lifetime_s=4)
WRITERS = 4
WRITES = 60
KEYS = 3


class Hesitant(MemoryStore):
    """A memory store that yields control around its calls."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def _give_way(self) -> None:
        for _ in range(self._random.randrange(3)):
            await asyncio.sleep(0)

    async def commit(self, batches: Any, **options: Any) -> Any:
        await self._give_way()
        done = await super().commit(batches, **options)
        await self._give_way()
        return done

    async def get(self, part: Any, keys: Any, **options: Any) -> Any:
        await self._give_way()
        rows = await super().get(part, keys, **options)
        await self._give_way()
        return rows

    async def range(self, part: Any, lo: Any, hi: Any, **options: Any) -> Any:
        await self._give_way()
        rows = await super().range(part, lo, hi, **options)
        await self._give_way()
        return rows

    async def log(self, part: Any, after: int, limit: int) -> Any:
        await self._give_way()
        entries = await super().log(part, after, limit)
        await self._give_way()
        return entries


class World:
    def __init__(self, database: Database, clock: ManualClock, seed: int) -> None:
        self.database = database
        self.clock = clock
        self.random = random.Random(seed)
        self.writing = WRITERS

    async def call(self, operation: str, **request: Any) -> dict[str, Any]:
        call = Call(operation, request, values_ok=True, region="us-east-1", account="000000000000")
        return await self.database.execute(call)

    async def write(self) -> None:
        for _ in range(WRITES):
            key = {"p": {"S": f"k{self.random.randrange(KEYS)}"}}
            if self.random.random() < 0.2:
                await self.call("DeleteItem", TableName="table", Key=key)
                continue
            item = {**key, "n": {"N": str(self.random.randrange(3))}}
            if self.random.random() < 0.5:
                expires = self.clock.now_ns() // 10**9 + self.random.choice((0, 1, 2, 50))
                item["exp"] = {"N": str(expires)}
            await self.call("PutItem", TableName="table", Item=item)
        self.writing -= 1

    async def pass_time(self) -> None:
        partitions = 4
        while self.writing:
            self.clock.advance(self.random.random())
            if self.random.random() < 0.02:
                partitions += 1
                await self.database.administration.change_capacity(
                    "table", "us-east-1", "000000000000", {"partitions": partitions}
                )
            await self.database.work()
            await asyncio.sleep(0)

    async def tail(self, arn: str) -> list[dict[str, Any]]:
        """Reads all shards, parents before children, until the writers have finished and nothing is left."""
        records: list[dict[str, Any]] = []
        ended: set[str] = set()
        iterators: dict[str, str] = {}
        while True:
            last_round = not self.writing
            before = len(records)
            described = await self.call("DescribeStream", StreamArn=arn)
            for shard in described["StreamDescription"]["Shards"]:
                shard_id = shard["ShardId"]
                parent = shard.get("ParentShardId")
                if shard_id in ended or (parent is not None and parent not in ended):
                    continue
                if shard_id not in iterators:
                    begun = await self.call(
                        "GetShardIterator", StreamArn=arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
                    )
                    iterators[shard_id] = begun["ShardIterator"]
                page = await self.call("GetRecords", ShardIterator=iterators[shard_id], Limit=3)
                self.check_inside(shard, page["Records"])
                records += page["Records"]
                if "NextShardIterator" in page:
                    iterators[shard_id] = page["NextShardIterator"]
                else:
                    ended.add(shard_id)
                    await self.check_has_child(arn, shard_id)
            if last_round and len(records) == before:
                return records

    def check_inside(self, shard: dict[str, Any], records: list[dict[str, Any]]) -> None:
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        assert numbers == sorted(set(numbers))
        assert all(n >= int(shard["SequenceNumberRange"]["StartingSequenceNumber"]) for n in numbers)

    async def check_has_child(self, arn: str, shard_id: str) -> None:
        wanted = {"Type": "CHILD_SHARDS", "ShardId": shard_id}
        described = await self.call("DescribeStream", StreamArn=arn, ShardFilter=wanted)
        assert described["StreamDescription"]["Shards"]


def plain(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns fragments of JSON as objects."""
    read: list[dict[str, Any]] = orjson.loads(orjson.dumps(records))
    return read


async def live(seed: int) -> None:
    clock = ManualClock()
    store = Hesitant(seed)
    database = await Database.open(store, settings=SETTINGS, clock=clock, entropy=SeededEntropy(seed))
    world = World(database, clock, seed)
    made = await world.call(
        "CreateTable",
        TableName="table",
        **schema("p:S"),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    await world.call(
        "UpdateTimeToLive",
        TableName="table",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"},
    )
    early = {"p": {"S": "untouched"}, "exp": {"N": str(clock.now_ns() // 10**9)}}
    await world.call("PutItem", TableName="table", Item=early)
    arn = made["TableDescription"]["LatestStreamArn"]
    tailing = asyncio.create_task(world.tail(arn))
    await asyncio.gather(world.pass_time(), *(world.write() for _ in range(WRITERS)))
    held: dict[Any, Any] = {}
    records = plain(await tailing)
    replay(records, held)
    expired = [record["dynamodb"] for record in records if "userIdentity" in record]
    assert expired
    for change in expired:
        assert int(change["OldImage"]["exp"]["N"]) <= change["ApproximateCreationDateTime"]
    scanned = plain((await world.call("Scan", TableName="table"))["Items"])
    assert sorted(map(repr, scanned)) == sorted(map(repr, held.values()))
    clock.advance(60)
    while await database.work():
        pass
    scanned = plain((await world.call("Scan", TableName="table"))["Items"])
    assert not any("exp" in item for item in scanned), "nothing that expires was forgotten"


@pytest.mark.parametrize("seed", range(8))
def test_a_tailing_reader_sees_what_happened(seed: int) -> None:
    asyncio.run(live(seed))
