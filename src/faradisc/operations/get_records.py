"""GetRecords: the next records of a shard, up to 1,000 and 1 MB, and the next iterator.

An open shard always has a next iterator; a closed one has none after its end. Checks: form of the iterator ->
stream exists -> signature and age of the iterator -> shard exists -> the records are not trimmed.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.streams import iterators
from faradisc.engine.streams.reading import read_records, shard_named
from faradisc.limits import STREAM_RECORDS_PAGE_MAX
from faradisc.operations.call import Backend, Call, StreamRead


async def get_records(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    text = request["ShardIterator"]
    stream = backend.catalog.stream(iterators.arn_of(text))
    streams = backend.catalog.streams
    secret = stream.state.secret
    iterator = iterators.read(text, stream.arn, secret, backend.clock.now_ns())
    async with stream.rolling:
        shard = shard_named(await streams.shards(stream), iterator.shard_id, stream.arn)
        page = await read_records(
            streams, stream, shard, iterator.after, request.get("Limit", STREAM_RECORDS_PAGE_MAX)
        )
    call.record_returned(StreamRead(stream.state, len(page.records), page.size_bytes))
    result: dict[str, Any] = {"Records": page.records}
    if not page.at_end:
        further = iterators.Iterator(shard.id, page.after)
        result["NextShardIterator"] = iterators.issue(further, stream.arn, secret, backend.clock.now_ns())
    return result
