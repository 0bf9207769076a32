"""Nodes over one PostgreSQL that are killed or stopped under writers, round after round.

What it proves: no acknowledged write is lost, no transaction is there in part, background jobs go on
elsewhere and act once, and the database agrees with itself at the end. Why processes: no code of a node runs
after SIGKILL, and a node that SIGSTOP stops does not know it.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import orjson
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.clock import SystemClock
from faradisc.engine.check import Check
from faradisc.storage.postgres.store import open_postgres
from fixtures.clients import http_client
from fixtures.schemas import schema
from fixtures.served import Server

SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
NODES, WRITERS, PAIRS = 3, 6, 20


class Cluster:
    """Servers over one store; `urls` are those that run."""

    def __init__(self, dsn: str, directory: Path) -> None:
        self._options = ("--store", dsn, "--data-dir", str(directory))
        self.servers: list[Server] = []

    def start(self) -> Server:
        server = Server(*self._options)
        self.servers.append(server)
        return server

    def end(self) -> None:
        for server in self.servers:
            server.__exit__()

    def any_url(self, chance: random.Random) -> str:
        return chance.choice(self.servers).url


@pytest.fixture
def cluster(postgres_dsn: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(postgres_dsn, tmp_path)
    cluster.start()
    yield cluster
    cluster.end()


def nodes_of(server: Server) -> list[dict[str, Any]]:
    with urlopen(server.url + "/_faradisc/nodes", timeout=10) as answer:
        found: list[dict[str, Any]] = orjson.loads(answer.read())
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    event = threading.Event()
    for _ in range(int(seconds / 0.2)):
        if condition():
            return
        event.wait(0.2)
    raise AssertionError("it did not happen")


class Writer:
    """Writes in one thread, through any node. Every write has a higher number than the ones before."""

    def __init__(self, number: int, cluster: Cluster) -> None:
        self._chance = random.Random(number)
        self._cluster = cluster
        self.number = number
        self.acknowledged: dict[int, int] = {}
        """By pair: the highest number whose write was acknowledged."""
        self.sent: dict[int, int] = {}
        """By pair: the highest number that was sent."""
        self.answers = 0

    def run(self, stop: threading.Event, answered: Callable[[], None]) -> None:
        client, url = None, ""
        for number in itertools.count(max(self.sent.values(), default=0) + 1):
            if stop.is_set():
                return
            if client is None:
                url = self._cluster.any_url(self._chance)
                client = http_client(url)
            try:
                self._write(client, number)
                answered()
            except (BotoCoreError, ClientError) as error:
                if isinstance(error, ClientError):
                    assert error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500, error
                client.close()
                client = None

    def _write(self, client: Any, number: int) -> None:
        pair = self._chance.randrange(PAIRS)
        self.sent[pair] = number
        puts = [
            {"Put": {"TableName": "table", "Item": {"p": {"S": key}, "n": {"N": str(number)}}}}
            for key in self.keys(pair)
        ]
        if self.in_transactions:
            client.transact_write_items(TransactItems=puts)
        else:
            client.put_item(**puts[0]["Put"])
            client.put_item(**puts[1]["Put"])
        self.acknowledged[pair] = number

    @property
    def in_transactions(self) -> bool:
        """Whether this writer writes both items of a pair in one transaction."""
        return self.number % 2 == 1

    def keys(self, pair: int) -> tuple[str, str]:
        return f"{self.number}-{pair}-a", f"{self.number}-{pair}-b"

    def lost(self, items: dict[str, int]) -> list[str]:
        """Returns what is wrong with this writer's items."""
        found = []
        for pair, number in self.acknowledged.items():
            for key in self.keys(pair):
                if not number <= items.get(key, 0) <= self.sent[pair]:
                    found.append(f"{key}: {items.get(key)}, acknowledged {number}, sent {self.sent[pair]}")
            values = {items.get(key) for key in self.keys(pair)}
            if self.in_transactions and len(values) > 1:
                found.append(f"pair {self.number}-{pair} is torn: {values}")
        return found


def kill_rounds(cluster: Cluster, rounds: int, answers: int) -> None:
    """Kills one node after so many answers, and starts another one, `rounds` times; checks at the end."""
    client = http_client(cluster.servers[0].url)
    client.create_table(TableName="table", **schema("p:S", gsi={"by-n": ("n:N", "p:S", "ALL")}))
    client.get_waiter("table_exists").wait(TableName="table")
    while len(cluster.servers) < NODES:
        cluster.start()
    chance = random.Random(1)
    writers = [Writer(number, cluster) for number in range(WRITERS)]
    stop, count, enough = threading.Event(), itertools.count(1), threading.Event()
    wanted = answers

    def answered() -> None:
        if next(count) >= wanted:
            enough.set()

    with ThreadPoolExecutor(WRITERS) as threads:
        running = [threads.submit(writer.run, stop, answered) for writer in writers]
        try:
            for _ in range(rounds):
                assert enough.wait(120)
                killed = cluster.servers.pop(chance.randrange(NODES))
                killed.kill()
                cluster.start()
                wanted = next(count) + answers
                enough.clear()
            assert enough.wait(120)
        finally:
            stop.set()
        for each in running:
            each.result()
    items: dict[str, int] = {}
    for number, server in enumerate(cluster.servers):
        pages = http_client(server.url).get_paginator("scan")
        scanned = [item for page in pages.paginate(TableName="table") for item in page["Items"]]
        seen = {item["p"]["S"]: int(item["n"]["N"]) for item in scanned}
        assert number == 0 or seen == items, "two nodes see different items"
        items = seen
    assert [wrong for writer in writers for wrong in writer.lost(items)] == []
    assert sum(len(writer.acknowledged) for writer in writers) > WRITERS


async def sentences(dsn: str) -> list[str]:
    store = await open_postgres(dsn)
    try:
        return (await Check(store, SystemClock()).finish()).sentences()
    finally:
        await store.close()


def test_killed_nodes_lose_no_acknowledged_write(cluster: Cluster, postgres_dsn: str) -> None:
    kill_rounds(cluster, 3, 100)
    assert asyncio.run(sentences(postgres_dsn)) == []


@pytest.mark.slow
def test_a_hundred_killed_nodes_lose_no_acknowledged_write(cluster: Cluster, postgres_dsn: str) -> None:
    kill_rounds(cluster, 100, 300)
    assert asyncio.run(sentences(postgres_dsn)) == []


def test_jobs_of_a_stopped_node_go_on_elsewhere_and_act_once_when_it_wakes_up(cluster: Cluster) -> None:
    (first,) = cluster.servers
    client = http_client(first.url)
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    client.create_table(TableName="table", StreamSpecification=stream, **schema("p:S"))
    client.get_waiter("table_exists").wait(TableName="table")
    expiring = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName="table", TimeToLiveSpecification=expiring)
    second = cluster.start()

    def holder() -> str:
        alive = [each for each in nodes_of(second) if each["status"] == "alive"]
        owners = [each["address"] for each in alive if "expiry" in each["leases"]]
        return owners[0] if len(owners) == 1 else ""

    wait_for(lambda: holder() != "")
    stopped, other = (first, second) if holder() == first.url else (second, first)
    stopped._process.send_signal(signal.SIGSTOP)
    try:
        past = {"N": str(SystemClock().now_ns() // 10**9 - 60)}
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
    assert sorted(removed(other)) == sorted(map(str, range(90)))


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
