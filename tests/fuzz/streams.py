"""The standing stream: its ARN, shards, sequence numbers and iterators.

A request for a stream needs data of earlier answers. Worlds are equal, with the same time and random numbers,
so one world's answers are valid in every other, and are cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from fixtures.in_process import InProcess

from .world import TRANSITION_MS, found


@dataclass(frozen=True)
class Stream:
    arn: str
    shard_ids: tuple[str, ...]
    sequence_numbers: tuple[str, ...]
    iterators: tuple[str, ...]


@cache
def stream() -> Stream:
    process = InProcess(transition_ms=TRANSITION_MS)
    found(process)
    streams = process.local.client("dynamodbstreams")
    (listed,) = streams.list_streams()["Streams"]
    arn = listed["StreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    ids = tuple(shard["ShardId"] for shard in shards)
    start = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON"}
    iterators = [streams.get_shard_iterator(ShardId=shard, **start)["ShardIterator"] for shard in ids]
    pages = [streams.get_records(ShardIterator=iterator) for iterator in iterators]
    numbers = tuple(record["dynamodb"]["SequenceNumber"] for page in pages for record in page["Records"])
    iterators += [page["NextShardIterator"] for page in pages if "NextShardIterator" in page]
    process.close()
    assert numbers, "the standing stream has no records"
    return Stream(arn, ids, numbers, tuple(iterators))
