"""ListStreams, DescribeStream, GetShardIterator and GetRecords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.streams import iterators
from faradisc.engine.streams.reading import parse_arn, read_records, shard_named, starting_position
from faradisc.engine.streams.shards import Shard
from faradisc.errors import ValidationException
from faradisc.limits import LIST_STREAMS_PAGE_MAX, SHARDS_PAGE_MAX, STREAM_RECORDS_PAGE_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call, StreamRead


async def list_streams(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the streams that can be read, those of deleted tables included; at most 100 a page.

    A page continues after an ARN, whether its stream still exists or not (streams.md section 1).
    """
    request = call.request
    start = request.get("ExclusiveStartStreamArn", "")
    if start:
        parse_arn(start)
    namespace = backend.tables.namespace(call.region, call.account)
    found = backend.catalog.streams.listed(namespace, request.get("TableName"))
    rest = [stream for stream in found if stream.arn > start]
    page = rest[: request.get("Limit", LIST_STREAMS_PAGE_MAX)]
    result: dict[str, Any] = {
        "Streams": [
            {
                "StreamArn": stream.arn,
                "StreamLabel": stream.state.label,
                "TableName": stream.state.table_name,
            }
            for stream in page
        ]
    }
    if len(page) < len(rest):
        result["LastEvaluatedStreamArn"] = page[-1].arn
    return result


async def describe_stream(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the state of a stream and its shards, at most 100 a page, or the children of one shard.

    Checks: ARN -> stream exists -> filter.
    """
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
        "StreamStatus": stream.status(
            backend.clock.now_ns(), 0 if backend.tables.short else streams.transition_ns
        ),
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


async def get_shard_iterator(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns a position in a shard, where GetRecords starts.

    Checks: ARN -> stream exists -> shard exists -> members of the iterator type -> position.
    """
    request = call.request
    stream = backend.catalog.stream(request["StreamArn"])
    streams = backend.catalog.streams
    async with stream.rolling:
        shard = shard_named(await streams.shards(stream), request["ShardId"], stream.arn)
        after = await starting_position(streams, stream, shard, request)
    iterator = iterators.Iterator(shard.id, after)
    now_ns = backend.clock.now_ns()
    return {"ShardIterator": iterators.issue(iterator, stream.arn, stream.state.secret, now_ns)}


async def get_records(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the next records of a shard, up to 1,000 and 1 MB, and the next iterator.

    An open shard always has a next iterator; a closed one has none after its end. Checks: form of the
    iterator -> stream exists -> signature and age of the iterator -> shard exists -> the records are not
    trimmed.
    """
    request = call.request
    text = request["ShardIterator"]
    stream = backend.catalog.stream(iterators.arn_of(text))
    streams = backend.catalog.streams
    secret = stream.state.secret
    iterator = iterators.read(text, stream.arn, secret, backend.clock.now_ns())
    async with stream.rolling:
        shard = shard_named(await streams.shards(stream), iterator.shard_id, stream.arn)
        page = await read_records(
            streams,
            stream,
            shard,
            iterator.after,
            request.get("Limit", STREAM_RECORDS_PAGE_MAX),
            lag_ns=backend.tables.late.lag_ns(stream.state.table_name),
        )
    call.record_returned(StreamRead(stream.state, len(page.records), page.size_bytes))
    result: dict[str, Any] = {"Records": page.records}
    if not page.at_end:
        further = iterators.Iterator(shard.id, page.after)
        result["NextShardIterator"] = iterators.issue(further, stream.arn, secret, backend.clock.now_ns())
    return result
