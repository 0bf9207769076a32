"""GetShardIterator: a position in a shard, where GetRecords starts.

Checks: ARN -> stream exists -> shard exists -> members of the iterator type -> position.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.streams import iterators
from faradisc.engine.streams.reading import shard_named, starting_position
from faradisc.operations.call import Backend, Call


async def get_shard_iterator(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    stream = backend.catalog.stream(request["StreamArn"])
    streams = backend.catalog.streams
    async with stream.rolling:
        shard = shard_named(await streams.shards(stream), request["ShardId"], stream.arn)
        after = await starting_position(streams, stream, shard, request)
    iterator = iterators.Iterator(shard.id, after)
    now_ns = backend.clock.now_ns()
    return {"ShardIterator": iterators.issue(iterator, stream.arn, stream.state.secret, now_ns)}
