"""What the feed asks of its table. Tests compare each row with the requests and their units."""

from __future__ import annotations

from examples.access_patterns import AccessPattern

BY_USER = "GSI1"
"""The posts of an author, and whom a user follows: both under the user."""
LIKE_SHARDS = 16
"""Keys among which the likes of one post are divided."""

PATTERNS = {
    pattern.name: pattern
    for pattern in (
        AccessPattern("show the home feed", "Query", "PK = :pk", read=0.5),
        AccessPattern("show a post", "GetItem", "PK = POST#id, SK = META", read=0.5),
        AccessPattern("publish a post", "PutItem", "PK = POST#id, SK = META", write=2),
        AccessPattern(
            "list the posts of an author",
            "Query",
            "GSI1PK = :pk AND begins_with(GSI1SK, :prefix)",
            BY_USER,
            read=0.5,
        ),
        AccessPattern("follow an author", "PutItem", "PK = FOLLOWERS#author, SK = user", write=2),
        AccessPattern(
            "list whom a user follows",
            "Query",
            "GSI1PK = :pk AND begins_with(GSI1SK, :prefix)",
            BY_USER,
            read=0.5,
        ),
        AccessPattern(
            "copy a post to 30 followers", "Query + 2 x BatchWriteItem", "PK = :pk", read=0.5, write=30
        ),
        AccessPattern(
            "like a post", "TransactWriteItems", "PK = LIKES#post#shard, SK = user and SK = COUNT", write=4
        ),
        AccessPattern(
            "add the likes of a post up",
            "BatchGetItem + UpdateItem",
            "PK = LIKES#post#shard of all shards, SK = COUNT; PK = POST#id",
            read=LIKE_SHARDS / 2,
            write=1,
        ),
    )
}
