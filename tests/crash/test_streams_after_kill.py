"""A server is killed under writes; its streams and its expiry still agree with its tables.

What it proves: a record is on the disk exactly when its item is, whenever the process ends, and a reader that
continues after its last record misses and repeats nothing. Why a process: no code of the server runs after
SIGKILL.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from fixtures.clients import http_client
from fixtures.direct_client import CONFIG
from fixtures.schemas import everything, item, schema
from fixtures.served import Server
from fixtures.streamed import Streamed, replay

WRITERS = 4
ACKNOWLEDGED_MIN = 150
"""Answered writes before the server is killed, per round."""


def streamed_at(url: str) -> Streamed:
    session = boto3.Session("test", "test", region_name="us-east-1")
    return Streamed(http_client(url), session.client("dynamodbstreams", endpoint_url=url, config=CONFIG))


class Writers:
    """Threads that write until the server is killed."""

    def __init__(self, url: str, round_: int) -> None:
        self._answered = [0] * WRITERS
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(url, writer, round_)) for writer in range(WRITERS)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def acknowledged(self) -> int:
        return sum(self._answered)

    def _write(self, url: str, writer: int, round_: int) -> None:
        dynamodb = http_client(url)
        actions: list[Callable[[int], Any]] = [
            lambda n: dynamodb.put_item(TableName="table", Item=item(p=f"w{writer}-{n % 7}", n=n, r=round_)),
            lambda n: dynamodb.delete_item(TableName="table", Key=item(p=f"w{writer}-{n % 5}")),
            lambda n: dynamodb.put_item(
                TableName="table", Item=item(p=f"w{writer}-x{n % 3}", n=n, exp=2**40)
            ),
            lambda n: dynamodb.transact_write_items(
                TransactItems=[
                    {"Put": {"TableName": "table", "Item": item(p=f"w{writer}-t{i}", n=n, r=round_)}}
                    for i in range(3)
                ]
            ),
        ]
        n = 0
        try:
            while True:
                actions[n % len(actions)](n)
                n += 1
                self._answered[writer] = n
                if self.acknowledged >= ACKNOWLEDGED_MIN:
                    self._enough.set()
        except (ConnectionError, HTTPClientError):
            pass
        except ClientError as error:  # the store was going down while it answered
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 500, error
        finally:
            self._enough.set()
            dynamodb.close()

    def wait_for_enough(self) -> None:
        assert self._enough.wait(60)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)


@pytest.mark.slow
def test_stream_replays_to_the_table_after_every_kill(in_process_only: None, data_dir: Path) -> None:
    _kill_rounds(data_dir, rounds=3)


@pytest.mark.slow
@pytest.mark.parametrize("again", range(2))
def test_stream_replays_to_the_table_after_many_kills(
    in_process_only: None, data_dir: Path, again: int
) -> None:
    _kill_rounds(data_dir, rounds=40)


def _kill_rounds(data_dir: Path, rounds: int) -> None:
    held: dict[Any, Any] = {}
    last: dict[str, str] = {}
    for round_ in range(rounds):
        with Server("--data-dir", str(data_dir)) as server:
            streamed = streamed_at(server.url)
            if round_ == 0:
                streamed.dynamodb.create_table(
                    TableName="table",
                    **schema("p:S"),
                    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
                )
                streamed.dynamodb.get_waiter("table_exists").wait(TableName="table")
                streamed.dynamodb.update_time_to_live(
                    TableName="table", TimeToLiveSpecification={"Enabled": True, "AttributeName": "exp"}
                )
            check(streamed, held, last)
            writers = Writers(server.url, round_)
            writers.wait_for_enough()
            server.kill()
            writers.join()
            streamed.dynamodb.close()
            streamed.streams.close()
            assert writers.acknowledged >= ACKNOWLEDGED_MIN
    with Server("--data-dir", str(data_dir)) as server:
        streamed = streamed_at(server.url)
        check(streamed, held, last)
        assert held
        streamed.dynamodb.close()
        streamed.streams.close()
        assert server.stop() == 0


def check(streamed: Streamed, held: dict[Any, Any], last: dict[str, str]) -> None:
    """Reads the records after the last ones, and compares."""
    arn = streamed.arn("table")
    for shard in streamed.shards(arn):
        shard_id = shard["ShardId"]
        if shard_id in last:
            iterator = streamed.iterator(
                arn, shard_id, "AFTER_SEQUENCE_NUMBER", SequenceNumber=last[shard_id]
            )
        else:
            iterator = streamed.iterator(arn, shard_id)
        while True:
            page = streamed.streams.get_records(ShardIterator=iterator)
            replay(page["Records"], held)
            if not page["Records"]:
                break
            last[shard_id] = page["Records"][-1]["dynamodb"]["SequenceNumber"]
            iterator = page["NextShardIterator"]
    found = everything(streamed.dynamodb.scan, TableName="table")
    assert sorted(map(repr, found)) == sorted(map(repr, held.values()))
