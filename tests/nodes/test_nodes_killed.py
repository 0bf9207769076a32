"""Nodes over one PostgreSQL that are killed or stopped under writers, round after round.

What it proves: no acknowledged write is lost, no transaction is there in part, background jobs go on
elsewhere and act once, and the items, the stream, the index and the counters agree at the end. Why processes:
no code of a node runs after SIGKILL, and a node that SIGSTOP stops does not know it.
"""

from __future__ import annotations

import random
import signal
from typing import Any
from urllib.request import urlopen

import boto3
import orjson
import pytest

from faradisc.clock import SystemClock
from fixtures.clients import http_client
from fixtures.cluster import Cluster, wait_for
from fixtures.schemas import schema
from fixtures.served import Server
from fixtures.writers import Load

SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
NODES = 3


def nodes_of(server: Server) -> list[dict[str, Any]]:
    with urlopen(server.url + "/_faradisc/nodes", timeout=10) as answer:
        found: list[dict[str, Any]] = orjson.loads(answer.read())
    return found


def kill_rounds(cluster: Cluster, rounds: int, answers: int) -> None:
    """Kills one node after so many answers, and starts another one, `rounds` times; checks at the end."""
    chance = random.Random(1)
    while len(cluster.servers) < NODES:
        cluster.start()
    with Load(cluster) as load:
        for _ in range(rounds):
            load.wait_for(answers)
            cluster.kill_one(chance)
            cluster.start()
        load.wait_for(answers)
    load.check()
    print(f"{rounds} nodes killed, {load.answers} answers")


def test_killed_nodes_lose_no_acknowledged_write(cluster: Cluster) -> None:
    kill_rounds(cluster, 2, 60)


@pytest.mark.slow
def test_a_hundred_killed_nodes_lose_no_acknowledged_write(cluster: Cluster) -> None:
    kill_rounds(cluster, 100, 300)


@pytest.mark.slow
def test_jobs_of_a_stopped_node_go_on_elsewhere_and_act_once_when_it_wakes_up(cluster: Cluster) -> None:
    (first,) = cluster.servers
    client = http_client(first.url)
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    client.create_table(TableName="table", StreamSpecification=stream, **schema("p:S"))
    client.get_waiter("table_exists").wait(TableName="table")
    expiring = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName="table", TimeToLiveSpecification=expiring)
    second = cluster.start()
    past = {"N": str(SystemClock().now_ns() // 10**9 - 60)}
    client.put_item(TableName="table", Item={"p": {"S": "first"}, "expires": past})

    def holder() -> str:
        alive = [each for each in nodes_of(second) if each["status"] == "alive"]
        owners = [each["address"] for each in alive if "expiry (1)" in each["leases"]]
        return owners[0] if len(owners) == 1 else ""

    wait_for(lambda: holder() != "")
    stopped, other = (first, second) if holder() == first.url else (second, first)
    stopped._process.send_signal(signal.SIGSTOP)
    try:
        writer = http_client(other.url)
        for number in range(60):
            writer.put_item(TableName="table", Item={"p": {"S": str(number)}, "expires": past})
        wait_for(lambda: writer.scan(TableName="table", Select="COUNT")["Count"] == 0)
    finally:
        stopped._process.send_signal(signal.SIGCONT)
    for number in range(60, 90):
        writer.put_item(TableName="table", Item={"p": {"S": str(number)}, "expires": past})
    wait_for(lambda: writer.scan(TableName="table", Select="COUNT")["Count"] == 0)
    wait_for(lambda: sum(each["status"] == "alive" for each in nodes_of(other)) == 2)
    assert http_client(stopped.url).scan(TableName="table", Select="COUNT")["Count"] == 0
    assert sorted(removed(other)) == sorted(["first", *map(str, range(90))])


def removed(server: Server) -> list[str]:
    """Returns the keys of all removals in the stream of the table."""
    streams = SESSION.client("dynamodbstreams", endpoint_url=server.url)
    (stream,) = streams.list_streams(TableName="table")["Streams"]
    shards = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    keys = []
    for shard in shards:
        place = {"StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"]}
        iterator = streams.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        while iterator is not None:
            page = streams.get_records(ShardIterator=iterator)
            keys += [
                each["dynamodb"]["Keys"]["p"]["S"]
                for each in page["Records"]
                if each["eventName"] == "REMOVE"
            ]
            iterator = page.get("NextShardIterator") if page["Records"] else None
    return keys
