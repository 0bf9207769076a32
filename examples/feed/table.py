"""The table of the feed: its definition, and the keys of its items.

item             PK                      SK            attributes beside
post             POST#<post>             META          author, at, text, likes, GSI1*
follower         FOLLOWERS#<author>      <user>        GSI1*
entry of a feed  FEED#<user>             <at>#<post>   author, post, text, expires
like             LIKES#<post>#<shard>    USER#<user>
count of likes   LIKES#<post>#<shard>    COUNT         likes
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from examples.connections import key_schema
from examples.feed.patterns import BY_USER, LIKE_SHARDS

TABLE = "feed"


def definition() -> dict[str, Any]:
    """Returns the parameters of CreateTable."""
    return {
        "TableName": TABLE,
        "KeySchema": key_schema("PK", "SK"),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK", "GSI1SK")
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": BY_USER,
                "KeySchema": key_schema("GSI1PK", "GSI1SK"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def key(kind: str, *parts: str) -> str:
    """Returns a key. Raises ValueError when a part could be read as several."""
    for part in parts:
        if not part or "#" in part:
            raise ValueError(f"{part!r} cannot be part of a key")
    return "#".join((kind, *parts))


def likes_key(post: str, shard: int) -> str:
    return key("LIKES", post, str(shard))


def shard_of(user: str) -> int:
    """Returns the shard of a user's likes: fixed, so that a like is found again."""
    return crc32(user.encode()) % LIKE_SHARDS
