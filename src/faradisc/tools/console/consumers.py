"""Consumer groups of a stream, from their lease table: where each shard is, and how far behind."""

from __future__ import annotations

from typing import Any, Final

from faradisc.records import dataclass
from faradisc.tools.console.endpoint import Failure, ServerEndpoint
from faradisc.tools.consumers.leases import GROUP_KEY, SHARD_END

LEASE_TABLE: Final = "faradisc-consumers"
"""The default of `consume(lease_table=...)`; docs/guide/consumers.md."""
COUNTED_MAX: Final = 1_000
"""Most records behind that are counted; reading them costs what a consumer's read costs."""


@dataclass(frozen=True, slots=True)
class ConsumerPosition:
    """One shard of one group."""

    group: str
    shard: str
    owner: str
    checkpoint: str
    behind: str
    """Records that wait and the age of the first, as text."""


async def positions(endpoint: ServerEndpoint, stream_arn: str) -> list[ConsumerPosition]:
    """Returns the positions of all groups of a stream; none without a lease table. Raises Failure."""
    request: dict[str, Any] = {
        "TableName": LEASE_TABLE,
        "FilterExpression": "contains(consumerGroup, :arn)",
        "ExpressionAttributeValues": {":arn": {"S": stream_arn}},
    }
    found: list[ConsumerPosition] = []
    try:
        async for page in endpoint.pages("Scan", request):
            for item in page["Items"]:
                if item["leaseKey"]["S"] != GROUP_KEY:
                    found.append(await _position(endpoint, stream_arn, item))
    except Failure as failure:
        if failure.code != "ResourceNotFoundException":
            raise
    return sorted(found, key=lambda each: (each.group, each.shard))


async def _position(endpoint: ServerEndpoint, stream_arn: str, item: dict[str, Any]) -> ConsumerPosition:
    shard, checkpoint = item["leaseKey"]["S"], item["checkpoint"]["S"]
    group = item["consumerGroup"]["S"].replace(stream_arn, "").rstrip(" /:#|")
    owner = item.get("leaseOwner", {}).get("S", "")
    behind = "finished" if checkpoint == SHARD_END else await _behind(endpoint, stream_arn, shard, checkpoint)
    return ConsumerPosition(group, shard, owner, checkpoint, behind)


async def _behind(endpoint: ServerEndpoint, stream_arn: str, shard: str, checkpoint: str) -> str:
    request: dict[str, Any] = {"StreamArn": stream_arn, "ShardId": shard, "ShardIteratorType": checkpoint}
    if checkpoint not in ("TRIM_HORIZON", "LATEST"):
        request |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint}
    try:
        iterator = (await endpoint.call("GetShardIterator", request))["ShardIterator"]
        records = (await endpoint.call("GetRecords", {"ShardIterator": iterator, "Limit": COUNTED_MAX}))[
            "Records"
        ]
    except Failure as failure:
        return failure.code or failure.message
    if not records:
        return "up to date"
    more = " or more" if len(records) == COUNTED_MAX else ""
    first = records[0]["dynamodb"]["ApproximateCreationDateTime"]
    return f"{len(records):,}{more} records, the first of {first:%H:%M:%S}"
