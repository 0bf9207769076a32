"""DescribeStream: the state of a stream and its shards, at most 100 a page, or the children of one shard.

Checks: ARN -> stream exists -> filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.streams.shards import Shard
from faradisc.errors import ValidationException
from faradisc.limits import SHARDS_PAGE_MAX
from faradisc.operations.call import Backend, Call


async def describe_stream(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    stream = backend.catalog.stream(request["StreamArn"])
    streams = backend.catalog.streams
    async with stream.rolling:
        shards = await streams.shards(stream)
    shards = _filtered(shards, request.get("ShardFilter"))
    start = request.get("ExclusiveStartShardId", "")
    rest = [shard for shard in shards if shard.id > start]
    page = rest[: request.get("Limit", SHARDS_PAGE_MAX)]
    state = stream.state
    described: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": state.label,
        "StreamStatus": stream.status(backend.clock.now_ns(), streams.transition_ns),
        "StreamViewType": state.view_type,
        "CreationRequestDateTime": epoch_seconds(state.created_ns),
        "TableName": state.table_name,
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in state.key_schema],
        "Shards": [shard.describe() for shard in page],
    }
    if len(page) < len(rest):
        described["LastEvaluatedShardId"] = page[-1].id
    return {"StreamDescription": described}


def _filtered(shards: Sequence[Shard], wanted: Mapping[str, str] | None) -> list[Shard]:
    """Returns all shards, or the children of one. Raises ValidationException; its text is ours."""
    if wanted is None:
        return list(shards)
    if "ShardId" not in wanted or "Type" not in wanted:
        raise ValidationException("ShardFilter must have both Type and ShardId")
    return [shard for shard in shards if shard.parent_id == wanted["ShardId"]]
