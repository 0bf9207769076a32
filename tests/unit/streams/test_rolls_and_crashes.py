"""A roll that a crash cut in two, and the work that retention makes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.model.codec.keyspace import STREAMS_PART
from faradisc.operations.call import Call
from faradisc.storage.api import IOFailed
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

HOUR_S = 3600
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


class Failing(MemoryStore):
    """A memory store that refuses commits of the streams' part, as if the process had ended before them."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False
        self.log_reads = 0

    async def commit(self, batches: Any, **options: Any) -> Any:
        if self.refuses and any(batch.part == STREAMS_PART for batch in batches):
            raise IOFailed("the power is gone")
        return await super().commit(batches, **options)

    async def log(self, part: Any, after: int, limit: int) -> Any:
        self.log_reads += 1
        return await super().log(part, after, limit)


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = Failing()
        self.open()
        self.arn = self.call("CreateTable", TableName="table", **schema("p:S"), StreamSpecification=STREAM)[
            "TableDescription"
        ]["LatestStreamArn"]

    def open(self) -> None:
        self.database = run(
            Database.open(
                self.store, settings=Settings(transition_ms=0), clock=self.clock, entropy=SeededEntropy(1)
            )
        )

    def call(self, operation: str, **request: Any) -> Any:
        call = Call(operation, request, True, "us-east-1", "000000000000")
        return orjson.loads(orjson.dumps(run(self.database.execute(call))))

    def put(self, n: int) -> None:
        self.call("PutItem", TableName="table", Item={"p": {"S": "a"}, "n": {"N": str(n)}})

    def shards(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self.call("DescribeStream", StreamArn=self.arn)["StreamDescription"][
            "Shards"
        ]
        return shards

    def read(self) -> list[int]:
        """What was written, by the order of shards."""
        found = []
        for shard in self.shards():
            begun = self.call(
                "GetShardIterator",
                StreamArn=self.arn,
                ShardId=shard["ShardId"],
                ShardIteratorType="TRIM_HORIZON",
            )
            page = self.call("GetRecords", ShardIterator=begun["ShardIterator"])
            assert ("NextShardIterator" in page) == (
                "EndingSequenceNumber" not in shard["SequenceNumberRange"]
            )
            found += [int(record["dynamodb"]["NewImage"]["n"]["N"]) for record in page["Records"]]
        return found


def test_a_roll_that_was_cut_in_two_is_done_again() -> None:
    scene = Scene()
    scene.put(1)
    scene.clock.advance(4 * HOUR_S)
    scene.store.refuses = True
    with pytest.raises(IOFailed):
        run(scene.database.work())
    scene.store.refuses = False
    scene.open()
    scene.put(2)
    assert scene.read() == [1, 2]
    shards = scene.shards()
    assert len(shards) == 8
    assert all("ParentShardId" in shard for shard in shards[4:])
    scene.put(3)
    assert scene.read() == [1, 2, 3]


def test_a_split_that_was_cut_in_two_is_done_again() -> None:
    scene = Scene()
    scene.put(1)
    administration = scene.database.administration
    run(administration.change_capacity("table", "us-east-1", "000000000000", {"partitions": 7}))
    scene.store.refuses = True
    with pytest.raises(IOFailed):
        scene.shards()
    scene.store.refuses = False
    scene.open()
    scene.put(2)
    shards = scene.shards()
    parents = {shard.get("ParentShardId") for shard in shards[4:]}
    assert parents <= {shard["ShardId"] for shard in shards[:4]}
    assert (len(parents), len(shards)) == (3, 4 + 3 * 2)
    scene.put(3)
    assert scene.read() == [1, 2, 3]


def test_idle_streams_are_left_alone() -> None:
    scene = Scene()
    scene.put(1)
    while run(scene.database.work()):
        pass
    before = scene.store.log_reads
    for _ in range(100):
        scene.clock.advance(60)
        run(scene.database.work())
    assert scene.store.log_reads == before


def test_nothing_is_left_of_a_stream_that_is_gone() -> None:
    scene = Scene()
    for n in range(5):
        scene.put(n)
    scene.call("DeleteTable", TableName="table")
    scene.clock.advance(24 * HOUR_S)
    while run(scene.database.work()):
        pass
    assert run(scene.store.range(STREAMS_PART, None, None, limit=1)) == []
    streams_parts = [(2).to_bytes(4, "big") + bytes([slot]) for slot in range(4)]
    assert all(run(scene.store.log(part, 0, 1)) == [] for part in streams_parts)


def test_a_reset_takes_the_streams_too() -> None:
    scene = Scene()
    scene.put(1)
    run(scene.database.reset())
    assert scene.call("ListStreams")["Streams"] == []
    assert run(scene.store.range(STREAMS_PART, None, None, limit=1)) == []
    scene.open()
    assert scene.call("ListStreams")["Streams"] == []
