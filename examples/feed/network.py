"""What users do, and what the consumer of the stream does for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError

from examples.feed.patterns import LIKE_SHARDS, PATTERNS
from examples.feed.table import TABLE, key, likes_key, shard_of

KEEP_ENTRIES_S = 30 * 86_400
BATCH = 25
"""Items of one BatchWriteItem, at most."""


class Network:
    def __init__(
        self,
        documents: Any,
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        """documents: the client of a boto3 resource. now: seconds since the epoch."""
        self._db = documents
        self._now = now
        self._sleep = sleep

    def _query(self, pattern: str, pk: str, prefix: str | None = None, **more: Any) -> dict[str, Any]:
        values = {":pk": pk} | ({} if prefix is None else {":prefix": prefix})
        answer: dict[str, Any] = self._db.query(
            TableName=TABLE, **PATTERNS[pattern].query(), ExpressionAttributeValues=values, **more
        )
        return answer

    # --- Posts and feeds ---------------------------------------------------------------------------

    def publish(self, post: str, author: str, text: str) -> bool:
        """Publishes a post under an id that the caller made. Returns False for a repetition."""
        at = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds")
        item = {
            "PK": key("POST", post),
            "SK": "META",
            "author": author,
            "post": post,
            "at": at,
            "text": text,
            "likes": 0,
            "GSI1PK": key("USER", author),
            "GSI1SK": f"POST#{at}#{post}",
        }
        return self._succeeds(
            lambda: self._db.put_item(
                TableName=TABLE, Item=item, ConditionExpression="attribute_not_exists(PK)"
            )
        )

    def post(self, post: str) -> dict[str, Any]:
        """Returns a post; `likes` is the sum of the last addition. Raises KeyError when there is none."""
        answer = self._db.get_item(TableName=TABLE, Key={"PK": key("POST", post), "SK": "META"})
        found: dict[str, Any] = answer["Item"]
        return found

    def delete(self, post: str) -> None:
        """Deletes a post; its copies follow by the stream."""
        self._db.delete_item(TableName=TABLE, Key={"PK": key("POST", post), "SK": "META"})

    def feed(self, user: str, limit: int = 20) -> list[tuple[str, str]]:
        """Returns (author, text) of the newest posts of those the user follows, newest first."""
        found = self._query("show the home feed", key("FEED", user), ScanIndexForward=False, Limit=limit)
        return [(item["author"], item["text"]) for item in found["Items"] if item["expires"] > self._now()]

    def posts_of(self, author: str, limit: int = 20) -> list[str]:
        """Returns the texts of the newest posts of an author, newest first."""
        found = self._query(
            "list the posts of an author", key("USER", author), "POST#", ScanIndexForward=False, Limit=limit
        )
        return [item["text"] for item in found["Items"]]

    # --- Followers ---------------------------------------------------------------------------------

    def follow(self, user: str, author: str) -> None:
        """Future posts of the author come into the user's feed."""
        item = {
            "PK": key("FOLLOWERS", author),
            "SK": user,
            "GSI1PK": key("USER", user),
            "GSI1SK": key("FOLLOWS", author),
        }
        self._db.put_item(TableName=TABLE, Item=item)

    def follows(self, user: str) -> list[str]:
        found = self._query("list whom a user follows", key("USER", user), "FOLLOWS#")
        return [item["GSI1SK"].removeprefix("FOLLOWS#") for item in found["Items"]]

    def _followers(self, author: str) -> Iterator[list[str]]:
        """Yields the followers of an author in pages of up to 1 MB."""
        more: dict[str, Any] = {}
        while True:
            page = self._query("copy a post to 30 followers", key("FOLLOWERS", author), **more)
            yield [item["SK"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    # --- Likes -------------------------------------------------------------------------------------

    def like(self, user: str, post: str) -> bool:
        """Likes a post. Returns False when the user likes it already: the count changes once."""
        shard = likes_key(post, shard_of(user))
        mark = {
            "Item": {"PK": shard, "SK": f"USER#{user}"},
            "ConditionExpression": "attribute_not_exists(PK)",
        }
        return self._count({"Put": {"TableName": TABLE, **mark}}, shard, 1)

    def unlike(self, user: str, post: str) -> bool:
        """Takes a like back. Returns False when there is none."""
        shard = likes_key(post, shard_of(user))
        mark = {
            "Key": {"PK": shard, "SK": f"USER#{user}"},
            "ConditionExpression": "attribute_exists(PK)",
        }
        return self._count({"Delete": {"TableName": TABLE, **mark}}, shard, -1)

    def _count(self, mark: dict[str, Any], shard: str, change: int) -> bool:
        count = {
            "TableName": TABLE,
            "Key": {"PK": shard, "SK": "COUNT"},
            "UpdateExpression": "ADD likes :change",
            "ExpressionAttributeValues": {":change": change},
        }
        actions = [mark, {"Update": count}]
        return self._succeeds(lambda: self._db.transact_write_items(TransactItems=actions))

    def _succeeds(self, write: Callable[[], Any]) -> bool:
        """Returns False when the write's condition was false. A conflict of two likes is tried again."""
        while True:
            try:
                write()
                return True
            except ClientError as error:
                codes = {error.response["Error"]["Code"]}
                codes |= {reason["Code"] for reason in error.response.get("CancellationReasons", [])}
                if codes & {"ConditionalCheckFailedException", "ConditionalCheckFailed"}:
                    return False
                if not codes & {"TransactionConflict", "TransactionConflictException"}:
                    raise
                self._sleep(0.01)

    def add_up_likes(self, post: str) -> int:
        """Writes the sum of all shards into the post, for readers. To be done now and then; returns it.

        Raises KeyError when the post was deleted.
        """
        keys = [{"PK": likes_key(post, shard), "SK": "COUNT"} for shard in range(LIKE_SHARDS)]
        answer = self._db.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
        if answer["UnprocessedKeys"]:
            raise TimeoutError("throttled; a later addition will have all shards")
        total = int(sum(item["likes"] for item in answer["Responses"][TABLE]))
        update = {
            "Key": {"PK": key("POST", post), "SK": "META"},
            "UpdateExpression": "SET likes = :total",
            "ConditionExpression": "attribute_exists(PK)",
            "ExpressionAttributeValues": {":total": total},
        }
        if not self._succeeds(lambda: self._db.update_item(TableName=TABLE, **update)):
            raise KeyError(post)
        return total

    # --- The consumer of the stream ----------------------------------------------------------------

    def handle(self, event: dict[str, Any]) -> None:
        """Copies new posts to the followers' feeds and removes the copies of deleted ones.

        Keys of copies consist of those of the post, so a repetition writes the same items again. Sums of
        likes and everything but posts change no feed.
        """
        for record in event["Records"]:
            if record["eventName"] == "MODIFY":
                continue
            images = record["dynamodb"]
            image = images.get("NewImage") or images["OldImage"]
            item = {name: TypeDeserializer().deserialize(value) for name, value in image.items()}
            if item["PK"].startswith("POST#"):
                self.fan_out(item, remove=record["eventName"] == "REMOVE")

    def fan_out(self, post: dict[str, Any], *, remove: bool = False) -> None:
        for users in self._followers(post["author"]):
            requests = [self._copy(post, user, remove) for user in users]
            for first in range(0, len(requests), BATCH):
                self._write(requests[first : first + BATCH])

    def _copy(self, post: dict[str, Any], user: str, remove: bool) -> dict[str, Any]:
        entry = {"PK": key("FEED", user), "SK": f"{post['at']}#{post['post']}"}
        if remove:
            return {"DeleteRequest": {"Key": entry}}
        expires = int(datetime.fromisoformat(post["at"]).timestamp()) + KEEP_ENTRIES_S
        copied = {name: post[name] for name in ("author", "post", "text")}
        return {"PutRequest": {"Item": {**entry, **copied, "expires": expires}}}

    def _write(self, requests: list[dict[str, Any]]) -> None:
        """Writes a batch; what was throttled is sent again after a pause."""
        pause_s = 0.05
        while requests:
            answer = self._db.batch_write_item(RequestItems={TABLE: requests})
            requests = answer["UnprocessedItems"].get(TABLE, [])
            if requests:
                self._sleep(pause_s)
                pause_s = min(2 * pause_s, 5)
