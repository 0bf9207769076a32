"""bloop's stream reader, unchanged, follows a table through several generations of shards.

The server is named on the command line and closes its shards after a second, so the reader has to find
children and read parents to their end. Prints findings as JSON. Runs in an environment of its own, because
bloop pins an older boto3 than the server reads.
"""

import json
import sys
import time
import uuid
from typing import ClassVar

import bloop
import boto3

SETTINGS = {
    "endpoint_url": sys.argv[1],
    "region_name": "us-west-2",
    "aws_access_key_id": "tour",
    "aws_secret_access_key": "tour",
}
PLAYERS = 5
ROUNDS = 40
ROUND_S = 0.1
"""Writes in rounds that take longer than the lifetime of some shards."""
SILENCE_S_MAX = 30.0


class Player(bloop.BaseModel):
    class Meta:
        table_name = "Tour.Bloop"
        stream: ClassVar = {"include": {"new", "old"}}
        ttl: ClassVar = {"column": "until"}

    name = bloop.Column(bloop.String, hash_key=True)
    game = bloop.Column(bloop.UUID, range_key=True)
    points = bloop.Column(bloop.Integer)
    until = bloop.Column(bloop.Timestamp)


def read(stream, count):
    """Returns the next `count` records; fewer after a timeout."""
    records = []
    deadline = time.monotonic() + SILENCE_S_MAX
    while len(records) < count and time.monotonic() < deadline:
        record = next(stream)
        if record is not None:
            records.append(record)
            deadline = time.monotonic() + SILENCE_S_MAX
    return records


def steps_in_order(records):
    """Returns whether the images of each player are 0, 1, 2, ..., each old image equal to the new one
    before."""
    last = {}
    for record in records:
        old, new = record["old"], record["new"]
        if (old.points if old is not None else None) != last.get(new.name):
            return False
        last[new.name] = new.points
    return set(last.values()) == {ROUNDS - 1}


def main():
    engine = bloop.Engine(
        dynamodb=boto3.client("dynamodb", **SETTINGS),
        dynamodbstreams=boto3.client("dynamodbstreams", **SETTINGS),
    )
    engine.bind(Player)
    latest = engine.stream(Player, "latest")
    stream = engine.stream(Player, "trim_horizon")
    players = [Player(name=f"player-{number}", game=uuid.UUID(int=number)) for number in range(PLAYERS)]
    records = []
    token = None
    for points in range(ROUNDS):
        for player in players:
            player.points = points
            engine.save(player)
        if points == ROUNDS // 2:
            records = read(stream, PLAYERS * ROUNDS // 2)
            token = json.loads(json.dumps(stream.token))
        time.sleep(ROUND_S)
    resumed = engine.stream(Player, token)
    shards = {shard["shard_id"] for shard in token["shards"]}
    records += read(resumed, PLAYERS * ROUNDS - len(records))
    shards |= {shard["shard_id"] for shard in resumed.token["shards"]}
    engine.delete(players[0])
    (removed,) = read(resumed, 1)
    return {
        "records": len(records),
        "inserts": sum(record["meta"]["event"]["type"] == "insert" for record in records),
        "in order": steps_in_order(records),
        "several generations": len(shards) > 4,
        "removed": [removed["meta"]["event"]["type"], removed["old"].points, removed["new"]],
        "from latest": len(read(latest, PLAYERS * ROUNDS + 1)),
    }


print(json.dumps(main()))
