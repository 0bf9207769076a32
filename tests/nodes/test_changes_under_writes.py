"""A minute in which random nodes change a table while all of them write to it, over PostgreSQL.

In rounds: a new table; writers, each with keys of its own, so that the last write of each key is known;
index, stream, time to live and settings are changed meanwhile. Then the writers stop, and everything is
compared whole: the table and every index with what was written, the stream replayed with the table, the
settings with the last that were made, the expired items with those that should be. At the end the whole store
is checked.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest

from fixtures.many_nodes import Nodes, Play
from fixtures.schemas import item, schema
from fixtures.streamed import replay

pytestmark = pytest.mark.slow

SECONDS = 60.0
WRITERS = 4
KEYS = 25
"""Of a writer."""
ATTRIBUTES = ["p", "g0", "g1"]
EXPIRING_S = 3600


class Round:
    """One table, what was written to it, and what was set."""

    def __init__(self, nodes: Nodes, name: str) -> None:
        self.nodes = nodes
        self.name = name
        self.written: dict[str, dict[str, Any]] = {}
        self.counts: Counter[str] = Counter()
        self.indexes: set[str] = set()
        self.tags: dict[str, str] = {}
        self.units = 0
        self.stream = ""
        self.before_stream: dict[str, dict[str, Any]] | None = None
        self._done = False

    async def on(self, operation: str, **request: Any) -> dict[str, Any]:
        return await self.nodes.any().on(self.name, operation, **request)

    async def play(self) -> None:
        made = await self.on("CreateTable", **schema("p:S"))
        self.arn = made["TableDescription"]["TableArn"]
        writing = [asyncio.ensure_future(self._write(f"w{number}.")) for number in range(WRITERS)]
        changes = [self._switch_stream_on, self._switch_expiry_on, *[self._change_indexes] * 5]
        changes += [self._change_tags, self._change_units] * 2
        self.nodes.chance.shuffle(changes)
        try:
            for change in changes:
                await change()
                self.counts[change.__name__.strip("_")] += 1
                await asyncio.sleep(self.nodes.chance.random() * 0.05)
        finally:
            self._done = True
            await asyncio.gather(*writing)
        await self._compare()
        await self.on("DeleteTable")

    async def _write(self, prefix: str) -> None:
        chance = self.nodes.chance
        while not self._done:
            key = f"{prefix}{chance.randrange(KEYS)}"
            if chance.random() < 0.2:
                await self.on("DeleteItem", Key=item(p=key))
                self.written.pop(key, None)
            else:
                expiry = self.nodes.clock.now_ns() // 10**9 + EXPIRING_S
                new = item(p=key, g0=chance.choice("abc"), g1=chance.choice("abc"), n=chance.randrange(10**9))
                if chance.random() < 0.5:
                    new |= item(exp=expiry)
                if chance.random() < 0.3:
                    put = {"Put": {"TableName": self.name, "Item": new}}
                    await self.nodes.call("TransactWriteItems", TransactItems=[put])
                else:
                    await self.on("PutItem", Item=new)
                self.written[key] = new
            self.counts["writes"] += 1

    # --- Changes ---

    async def _described(self) -> dict[str, Any]:
        table: dict[str, Any] = (await self.on("DescribeTable"))["Table"]
        return table

    async def _active(self) -> None:
        while True:
            table = await self._described()
            indexes = table.get("GlobalSecondaryIndexes", [])
            if all(index["IndexStatus"] == "ACTIVE" for index in indexes) and (
                {index["IndexName"] for index in indexes} == self.indexes and table["TableStatus"] == "ACTIVE"
            ):
                return
            await asyncio.sleep(0)

    async def _change_indexes(self) -> None:
        attribute = self.nodes.chance.choice(["g0", "g1"])
        name = f"by-{attribute}"
        change: dict[str, Any] = {"Delete": {"IndexName": name}}
        if name not in self.indexes:
            key = [{"AttributeName": attribute, "KeyType": "HASH"}]
            change = {
                "Create": {"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
            }
        if self.units and "Create" in change:
            change["Create"]["ProvisionedThroughput"] = _units(self.units)
        wanted = self.indexes ^ {name}
        definitions = [
            {"AttributeName": each, "AttributeType": "S"}
            for each in ATTRIBUTES
            if each == "p" or f"by-{each}" in wanted
        ]
        await self.on("UpdateTable", GlobalSecondaryIndexUpdates=[change], AttributeDefinitions=definitions)
        self.indexes = wanted
        await self._active()

    async def _switch_stream_on(self) -> None:
        specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        shown = await self.on("UpdateTable", StreamSpecification=specification)
        self.stream = shown["TableDescription"]["LatestStreamArn"]
        await self._active()

    async def _switch_expiry_on(self) -> None:
        specification = {"Enabled": True, "AttributeName": "exp"}
        await self.on("UpdateTimeToLive", TimeToLiveSpecification=specification)

    async def _change_tags(self) -> None:
        name, value = self.nodes.chance.choice("abc"), str(self.nodes.chance.random())
        await self.nodes.call("TagResource", ResourceArn=self.arn, Tags=[{"Key": name, "Value": value}])
        self.tags[name] = value

    async def _change_units(self) -> None:
        units = self.nodes.chance.randrange(1000, 5000)
        if units <= self.units:
            units += self.units  # decreases are few a day
        request: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _units(units)}
        if not self.units and self.indexes:
            request["GlobalSecondaryIndexUpdates"] = [
                {"Update": {"IndexName": name, "ProvisionedThroughput": _units(units)}}
                for name in sorted(self.indexes)
            ]
        await self.on("UpdateTable", **request)
        self.units = units
        await self._active()

    # --- Comparison ---

    async def _compare(self) -> None:
        for node in self.nodes.nodes:
            table = (await node.on(self.name, "DescribeTable"))["Table"]
            assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == self.units
            tags = (await node("ListTagsOfResource", ResourceArn=self.arn))["Tags"]
            assert {tag["Key"]: tag["Value"] for tag in tags} == self.tags
            expiry = (await node.on(self.name, "DescribeTimeToLive"))["TimeToLiveDescription"]
            assert expiry["AttributeName"] == "exp"
        assert await self._all() == self.written
        for index in self.indexes:
            assert await self._all(IndexName=index) == self.written
        self.counts["compared"] += len(self.written) * (1 + len(self.indexes))
        await self._compare_stream()
        self.nodes.clock.advance(EXPIRING_S + 30)
        staying = {key: each for key, each in self.written.items() if "exp" not in each}
        while (found := await self._all()) != staying:
            assert found.items() >= staying.items()
            self.nodes.clock.advance(1)
            await asyncio.sleep(0)
        for index in self.indexes:
            assert await self._all(IndexName=index) == staying
        self.counts["expired"] += len(self.written) - len(staying)

    async def _all(self, **more: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        start: dict[str, Any] = {}
        while True:
            consistent = "IndexName" not in more
            page = await self.on("Scan", ConsistentRead=consistent, Limit=40, **start, **more)
            for each in page["Items"]:
                assert found.setdefault(each["p"]["S"], each) is each, "an item is read twice"
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    async def _compare_stream(self) -> None:
        """The records are a history without gaps that ends with the table."""
        records = []
        described = await self.nodes.call("DescribeStream", StreamArn=self.stream)
        for shard in described["StreamDescription"]["Shards"]:
            begun = await self.nodes.call(
                "GetShardIterator",
                StreamArn=self.stream,
                ShardId=shard["ShardId"],
                ShardIteratorType="TRIM_HORIZON",
            )
            iterator = begun["ShardIterator"]
            while iterator is not None:
                page = await self.nodes.call("GetRecords", ShardIterator=iterator)
                records += page["Records"]
                if not page["Records"]:
                    break
                iterator = page.get("NextShardIterator")
        images: dict[Any, Any] = {}
        for record in reversed(records):  # what was there before the first record of each key
            change = record["dynamodb"]
            images[_key(change["Keys"])] = change.get("OldImage")
        images = {key: image for key, image in images.items() if image is not None}
        changed = {_key(record["dynamodb"]["Keys"]) for record in records}
        replay(records, images)
        last = {key: each for name, each in self.written.items() if (key := _key(item(p=name))) in changed}
        assert images == last
        self.counts["records"] += len(records)


def _key(key: dict[str, Any]) -> tuple[Any, ...]:
    """Returns a key as `replay` has it."""
    return tuple(sorted((name, str(value)) for name, value in key.items()))


def _units(units: int) -> dict[str, int]:
    return {"ReadCapacityUnits": units, "WriteCapacityUnits": units}


def test_a_minute_of_changes_from_random_nodes_under_writes(play: Play) -> None:
    counts: Counter[str] = Counter()

    async def scenario(nodes: Nodes) -> None:
        until_s = time.monotonic() + SECONDS
        while time.monotonic() < until_s:
            counts["rounds"] += 1
            current = Round(nodes, f"round{counts['rounds']}")
            await current.play()
            counts.update(current.counts)

    play(scenario, "postgres")
    print(dict(counts))
