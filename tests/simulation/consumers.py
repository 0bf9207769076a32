"""Consumers of changes: a reader of streams with checkpoints, and a test double of Kinesis."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import orjson

from faradisc.engine.kinesis.sender import Outgoing
from faradisc.limits import STREAM_RETENTION_S
from simulation.auditor import Auditor
from simulation.writes import Item, Key, key_of

_KEPT_NS = STREAM_RETENTION_S * 1_000_000_000

Call = Callable[[str, dict[str, Any]], Awaitable[tuple[str, dict[str, Any]]]]
"""(operation, request) -> (error code or "", answer)."""


@dataclass(slots=True)
class Replay:
    """The part of a stream that was read, applied to the table's content at its begin."""

    held: dict[Key, Item]
    last: dict[str, str] = field(default_factory=dict)
    """By shard: the sequence number of the last record read."""
    ended: set[str] = field(default_factory=set)
    is_lossy: bool = False
    """Records grew too old before they were read."""


class StreamReader:
    """Reads streams over crashes, as a consumer with external checkpoints: read records stay valid."""

    def __init__(self, auditor: Auditor, chance: random.Random) -> None:
        self._auditor = auditor
        self._chance = chance
        self._replays: dict[tuple[str, str], Replay] = {}
        self._began_ns = auditor.clock.now_ns()

    @property
    def may_be_too_late(self) -> bool:
        """Returns whether records may be trimmed unread: the clock moved further than their retention, in one
        jump or in many."""
        return self._auditor.clock.now_ns() - self._began_ns >= _KEPT_NS

    def crashed(self) -> None:
        """Handles a crash: a stream that was neither acknowledged nor read may not exist."""
        for name in list(self._replays):
            if name not in self._auditor.streams:
                if self._replays[name].last:
                    self._auditor.fail(f"records of stream {name} were read, and now it never was")
                del self._replays[name]

    async def catch_up(self, call: Call) -> None:
        """Reads every stream from its checkpoint to its end."""
        code, answer = await call("ListStreams", {})
        if code:
            self._auditor.fail(f"ListStreams was answered {code}")
            return
        for stream in answer["Streams"]:
            await self._read_stream(call, stream["StreamArn"], stream["TableName"], stream["StreamLabel"])

    async def _read_stream(self, call: Call, arn: str, table: str, label: str) -> None:
        code, answer = await call("DescribeStream", {"StreamArn": arn})
        known = self._auditor.streams.get((table, label))
        if code or known is None:
            if code != "ResourceNotFoundException":
                self._auditor.fail(f"DescribeStream of {arn} was answered {code or answer}")
            return
        replay = self._replays.get((table, label))
        if replay is None:
            began = known[0] or 0
            replay = self._replays[table, label] = Replay(self._auditor.model.table_at(began, table))
        for shard in answer["StreamDescription"]["Shards"]:
            parent = shard.get("ParentShardId")
            if shard["ShardId"] in replay.ended:
                continue
            if parent is not None and parent not in replay.ended and not self.may_be_too_late:
                continue  # not read to its end yet
            if not await self._read_shard(call, arn, shard["ShardId"], replay):
                return

    async def _read_shard(self, call: Call, arn: str, shard_id: str, replay: Replay) -> bool:
        """Reads one shard. Returns False when records were trimmed before."""
        asked: dict[str, Any] = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        if shard_id in replay.last:
            number = replay.last[shard_id]
            asked.update(ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
        code, answer = await call("GetShardIterator", asked)
        iterator = answer.get("ShardIterator")
        while not code and iterator is not None:
            limit = self._chance.choice((1, 3, 1000))
            code, answer = await call("GetRecords", {"ShardIterator": iterator, "Limit": limit})
            if code:
                break
            for record in answer["Records"]:
                self._apply(record, replay)
                replay.last[shard_id] = record["dynamodb"]["SequenceNumber"]
            iterator = answer.get("NextShardIterator")
            if not answer["Records"]:
                break
        if not code:
            if iterator is None:
                replay.ended.add(shard_id)
            return True
        if not self.may_be_too_late:
            self._auditor.fail(f"shard {shard_id} could not be read: {code} {answer}")
        replay.is_lossy = True
        return False

    def _apply(self, record: dict[str, Any], replay: Replay) -> None:
        self._auditor.seen["stream records"] += 1
        change = record["dynamodb"]
        key = key_of(change["Keys"])
        is_reported_all = not (replay.is_lossy or self.may_be_too_late)
        if is_reported_all and replay.held.get(key) != change.get("OldImage"):
            self._auditor.fail(f"a record goes on from another image than {replay.held.get(key)}: {change}")
        kind = "INSERT" if key not in replay.held else "MODIFY"
        if is_reported_all and record["eventName"] != ("REMOVE" if "NewImage" not in change else kind):
            self._auditor.fail(f"a record is called {record['eventName']}: {change}")
        if "NewImage" in change:
            replay.held[key] = change["NewImage"]
        else:
            replay.held.pop(key, None)

    def judge(self, version: int) -> None:
        """Checks, after everything is read, that each stream leads to the content of its table."""
        for (table, label), (_, ended) in self._auditor.streams.items():
            replay = self._replays.get((table, label))
            if replay is None or replay.is_lossy or self.may_be_too_late:
                continue
            modelled = self._auditor.model.table_at(version if ended is None else ended - 1, table)
            if replay.held != modelled:
                self._auditor.fail(
                    f"the stream {label} of {table} makes {replay.held} of it, which is {modelled}"
                )
            self._auditor.seen["streams replayed"] += 1


class KinesisSink:
    """Takes all, some or none of the records; sometimes its answer is lost."""

    def __init__(self, auditor: Auditor, chance: random.Random, trouble: float) -> None:
        self._auditor = auditor
        self._chance = chance
        self.trouble = trouble
        self._unanswered: list[tuple[Future[list[int]], list[int] | None]] = []
        self._taken: set[tuple[str, Key, bytes, bytes]] = set()

    def exists(self, region: str, stream: str) -> Future[bool]:
        found: Future[bool] = Future()
        found.set_result(True)
        return found

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        missed: list[int] | None = []
        if self._chance.random() < self.trouble:
            missed = [at for at in range(len(records)) if self._chance.random() < 0.5]
            if self._chance.random() < 0.3:
                missed = None
        for at, outgoing in enumerate(records):
            if missed is None or at not in missed:
                self._take(orjson.loads(outgoing.data))
        answer: Future[list[int]] = Future()
        self._unanswered.append((answer, missed))
        return answer

    def tick(self) -> None:
        """Answers one request."""
        if self._unanswered:
            at = self._chance.randrange(len(self._unanswered))
            answer, missed = self._unanswered.pop(at)
            if missed is None:
                answer.set_exception(ConnectionError("the answer was lost"))
            else:
                answer.set_result(missed)

    @property
    def is_idle(self) -> bool:
        return not self._unanswered

    def close(self) -> None:
        self._unanswered.clear()

    def _take(self, document: dict[str, Any]) -> None:
        self._auditor.seen["records for Kinesis"] += 1
        table, change = document["tableName"], document["dynamodb"]
        key, old, new = key_of(change["Keys"]), change.get("OldImage"), change.get("NewImage")
        self._taken.add((table, key, _bytes(old), _bytes(new)))
        # What was handed out can no longer be taken back by a crash.
        synced = self._auditor.disk.synced_version
        known = self._auditor.model.changes(table, key)
        if not any(each.old == old and each.new == new and each.version <= synced for each in known):
            self._auditor.fail(f"Kinesis was given a change that is not on disk: {document}")

    def judge(self, *, complete: bool) -> None:
        """Checks that every change of a table with a destination was delivered at least once.

        complete: False when records may have grown too old.
        """
        if not complete:
            return
        model = self._auditor.model
        for (table, _), (began, ended) in self._auditor.captures.items():
            for key in model.keys(table):
                for each in model.changes(table, key):
                    is_inside = each.version > (began or 0) and (ended is None or each.version < ended)
                    delivered = (table, key, _bytes(each.old), _bytes(each.new)) in self._taken
                    if is_inside and not delivered:
                        self._auditor.fail(f"{table} {key}: {each} was never delivered to Kinesis")


def _bytes(item: Item | None) -> bytes:
    return b"" if item is None else orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
