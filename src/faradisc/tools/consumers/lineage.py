"""The shards of a stream, and which of them may be read.

A shard may be read when its parent was read to its end. A parent that is neither listed nor leased does not
count: its records were trimmed, or were older than the start of the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from faradisc.records import dataclass
from faradisc.tools.consumers.leases import GroupStart, ShardLease


@dataclass(frozen=True, slots=True)
class LineageShard:
    id: str
    parent_id: str | None
    closed: bool


def list_shards(client: Any, stream_arn: str) -> dict[str, LineageShard]:
    """Returns all shards of a stream by id. Raises ClientError."""
    shards: dict[str, LineageShard] = {}
    request: dict[str, Any] = {"StreamArn": stream_arn}
    while True:
        description = client.describe_stream(**request)["StreamDescription"]
        for described in description["Shards"]:
            closed = described["SequenceNumberRange"].get("EndingSequenceNumber") is not None
            shard = LineageShard(described["ShardId"], described.get("ParentShardId"), closed)
            shards[shard.id] = shard
        if description.get("LastEvaluatedShardId") is None:
            return shards
        request["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]


def group_start(shards: Mapping[str, LineageShard], began_ms: int, *, latest: bool) -> GroupStart:
    if not latest:
        return GroupStart(began_ms, latest=False)
    open_ = frozenset(shard.id for shard in shards.values() if not shard.closed)
    return GroupStart(began_ms, latest=True, open_shards=open_, newest_shard=max(shards, default=""))


def new_leases(
    shards: Mapping[str, LineageShard], leases: Mapping[str, ShardLease], start: GroupStart
) -> list[ShardLease]:
    """Returns leases for the shards that may be read and have none, oldest first."""
    leases_to_create: list[ShardLease] = []
    for shard in sorted(shards.values(), key=lambda shard: shard.id):
        checkpoint = start.first_checkpoint(shard.id)
        if shard.id in leases or checkpoint is None:
            continue
        if _parent_is_done(shard.parent_id, shards, leases, start):
            leases_to_create.append(ShardLease(shard.id, shard.parent_id, checkpoint))
    return leases_to_create


def _parent_is_done(
    parent_id: str | None,
    shards: Mapping[str, LineageShard],
    leases: Mapping[str, ShardLease],
    start: GroupStart,
) -> bool:
    if parent_id is None:
        return True
    if parent_id in leases:
        return leases[parent_id].ended
    return parent_id not in shards or start.first_checkpoint(parent_id) is None


def old_leases(shards: Mapping[str, LineageShard], leases: Iterable[ShardLease]) -> list[ShardLease]:
    """Returns the leases of shards that were read to their end and are no longer listed."""
    return [lease for lease in leases if lease.ended and lease.shard_id not in shards]
