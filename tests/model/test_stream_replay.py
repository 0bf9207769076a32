"""A stream replayed into an empty table equals the table, whatever was written.

What it proves: every change of an item is in the stream once, in order per item, with its images, and nothing
else is; over single writes, batches, transactions, expiry, shard rolls, splits of partitions, and restarts on
RocksDB. A consumer
that misses, repeats or swaps a record ends with another table; each old image is compared with the result of
the records before it. Retention is a day, so the histories stay within one.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.schemas import everything, item, new_name, schema
from fixtures.streamed import replay, streamed_in

KEYS = [item(p=f"p{n % 5}", r=n // 5) for n in range(20)]
STEPS = 250
CHECK_EVERY = 25


class History:
    """Random writes to one table, and a reader that follows its stream."""

    def __init__(self, seed: int, process: InProcess, clock: ManualClock) -> None:
        self.random = random.Random(seed)
        self.clock = clock
        self.opened(process)
        self.name = new_name()
        members = schema("p:S", "r:N", gsi={"by-n": ("n:N", "", "ALL")} if seed % 2 else None)
        if seed % 4 == 0:  # one partition at first, not four
            members |= {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            }
        streamed = self.streamed
        streamed.dynamodb.create_table(
            TableName=self.name,
            **members,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.partitions = 1 if seed % 4 == 0 else 4
        streamed.dynamodb.update_time_to_live(
            TableName=self.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
        )
        self.arn = streamed.arn(self.name)
        self.replayed: dict[Any, Any] = {}
        self.last: dict[str, str] = {}
        """The last sequence number read of each shard."""
        self.ended: set[str] = set()
        """Shards that have been read to their end."""

    def opened(self, process: InProcess) -> None:
        """Goes on with a process that was just opened."""
        self.local = process.local
        self.streamed = streamed_in(process)

    # --- Writing ---

    def new_item(self) -> dict[str, Any]:
        found = {**self.random.choice(KEYS), **item(n=self.random.randrange(3))}
        if self.random.random() < 0.3:
            found |= item(exp=self.clock.now_ns() // 10**9 + self.random.randrange(-5, 3000))
        if self.random.random() < 0.1:
            found |= item(text="x" * self.random.randrange(3000))
        return found

    def write(self) -> None:
        kinds = ("put", "delete", "update", "update", "batch", "transaction", "clock")
        kind = self.random.choice(kinds) if self.random.random() > 0.03 else "split"
        db = self.streamed.dynamodb
        try:
            if kind == "put":
                db.put_item(TableName=self.name, Item=self.new_item())
            elif kind == "delete":
                db.delete_item(TableName=self.name, Key=self.random.choice(KEYS))
            elif kind == "update":
                db.update_item(TableName=self.name, **self.update())
            elif kind == "batch":
                db.batch_write_item(RequestItems={self.name: self.batch()})
            elif kind == "transaction":
                db.transact_write_items(TransactItems=self.transaction())
            elif kind == "split":
                self.partitions += self.random.randrange(1, 4)
                self.local.change_capacity(self.name, {"partitions": self.partitions})
            else:
                self.clock.advance(self.random.choice((1, 300, 1800)))
        except ClientError as refused:
            code = refused.response["Error"]["Code"]
            assert code in ("ConditionalCheckFailedException", "TransactionCanceledException"), refused

    def update(self) -> dict[str, Any]:
        key = self.random.choice(KEYS)
        if self.random.random() < 0.2:
            return {"Key": key, "UpdateExpression": "REMOVE #a", "ExpressionAttributeNames": {"#a": "exp"}}
        amount = self.random.randrange(3)
        return {
            "Key": key,
            "UpdateExpression": "ADD n :n",
            "ConditionExpression": "n < :most OR attribute_not_exists(n)",
            "ExpressionAttributeValues": {":n": {"N": str(amount)}, ":most": {"N": "6"}},
        }

    def batch(self) -> list[dict[str, Any]]:
        chosen = self.random.sample(KEYS, self.random.randrange(1, 8))
        return [
            {"DeleteRequest": {"Key": key}}
            if self.random.random() < 0.4
            else {"PutRequest": {"Item": {**self.new_item(), **key}}}
            for key in chosen
        ]

    def transaction(self) -> list[dict[str, Any]]:
        actions: list[dict[str, Any]] = []
        for key in self.random.sample(KEYS, self.random.randrange(2, 6)):
            target = {"TableName": self.name}
            kind = self.random.choice(("Put", "Delete", "Update", "ConditionCheck"))
            if kind == "Put":
                actions.append({"Put": {**target, "Item": {**self.new_item(), **key}}})
            elif kind == "Delete":
                actions.append({"Delete": {**target, "Key": key}})
            elif kind == "Update":
                setting = {
                    "UpdateExpression": "SET n = :n",
                    "ExpressionAttributeValues": {":n": {"N": str(self.random.randrange(3))}},
                }
                actions.append({"Update": {**target, "Key": key, **setting}})
            else:
                check = {"ConditionExpression": "attribute_not_exists(absent)"}
                if self.random.random() < 0.3:
                    check = {"ConditionExpression": "attribute_exists(absent)"}
                actions.append({"ConditionCheck": {**target, "Key": key, **check}})
        return actions

    # --- Reading ---

    def catch_up(self) -> None:
        """Continues in every shard, parents before children, and applies the records."""
        for shard in self.streamed.shards(self.arn):
            shard_id = shard["ShardId"]
            if shard_id in self.ended:
                continue
            parent = shard.get("ParentShardId")
            assert parent is None or parent in self.ended, "a parent has ended before its child is read"
            iterator: str | None = self.place(shard_id)
            while iterator is not None:
                limit = self.random.choice((1, 3, 1000))
                page = self.streamed.streams.get_records(ShardIterator=iterator, Limit=limit)
                replay(page["Records"], self.replayed)
                if page["Records"]:
                    self.last[shard_id] = page["Records"][-1]["dynamodb"]["SequenceNumber"]
                iterator = page.get("NextShardIterator")
                if not page["Records"]:
                    break
            if iterator is None:
                self.ended.add(shard_id)

    def place(self, shard_id: str) -> str:
        """Continues after the last record that was read, as a consumer with checkpoints does."""
        if shard_id not in self.last:
            return self.streamed.iterator(self.arn, shard_id)
        return self.streamed.iterator(
            self.arn, shard_id, "AFTER_SEQUENCE_NUMBER", SequenceNumber=self.last[shard_id]
        )

    def check(self) -> None:
        self.catch_up()
        opened = [each for each in self.streamed.shards(self.arn) if each["ShardId"] not in self.ended]
        assert len(opened) == self.partitions
        found = everything(self.streamed.dynamodb.scan, TableName=self.name, Limit=7)
        assert sorted(map(repr, found)) == sorted(map(repr, self.replayed.values()))


@pytest.mark.parametrize("seed", range(4))
def test_the_replayed_stream_is_the_table(
    bugs_surface: None, in_process_only: None, clock: ManualClock, seed: int
) -> None:
    process = InProcess(clock=clock)
    history = History(seed, process, clock)
    for step in range(STEPS):
        history.write()
        if step % CHECK_EVERY == 0:
            history.check()
    history.check()
    assert history.ended, "the shards have rolled"
    process.check()
    process.close()


@pytest.mark.parametrize("seed", range(2))
def test_the_replayed_stream_is_the_table_across_restarts(
    bugs_surface: None, in_process_only: None, clock: ManualClock, tmp_path: Path, seed: int
) -> None:
    process = InProcess(tmp_path / "data", clock=clock)
    history = History(seed, process, clock)
    for step in range(120):
        history.write()
        if step % 30 == 0:
            process.close()
            process = InProcess(tmp_path / "data", clock=clock)
            history.opened(process)
        if step % 40 == 0:
            history.check()
    history.check()
    process.check()
    process.close()
