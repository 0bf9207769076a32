"""Consumers of a server that is killed.

What it proves: no acknowledged record is missed and the records of each item keep their order when the server
is killed at any time and restarted; leases, checkpoints and iterators are in its own files."""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from consumers.worlds import pair_of
from faradisc.tools.consumers import consume
from fixtures.schemas import item, schema
from fixtures.served import Server

ROUNDS = 4
TABLE = "changes"
PATIENCE_S = 120


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _client(service: str, url: str) -> Any:
    session = boto3.Session("test", "test", region_name="us-east-1")
    return session.client(service, endpoint_url=url, config=Config(retries={"total_max_attempts": 1}))


class Deliveries:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self.mistakes: list[str] = []

    def __call__(self, event: dict[str, Any]) -> None:
        with self._lock:
            for record in event["Records"]:
                key, number = pair_of(record)
                last = self._seen.get(key, 0)
                if number > last + 1:
                    self.mistakes.append(f"{key}: {number} came, and {last + 1} has not")
                self._seen[key] = max(number, last)

    def seen(self) -> dict[str, int]:
        with self._lock:
            return dict(self._seen)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_two_workers_continue_after_the_server_is_killed(data_dir: Path, seed: int) -> None:
    chance, port = random.Random(seed), _free_port()
    deliveries = Deliveries()
    written: dict[str, int] = {}
    unknown = ""
    workers: list[Any] = []
    threads: list[threading.Thread] = []
    for round_ in range(ROUNDS):
        with Server("--data-dir", str(data_dir), "--port", str(port)) as server:
            dynamodb = _client("dynamodb", server.url)
            if round_ == 0:
                dynamodb.create_table(
                    TableName=TABLE,
                    **schema("p:S"),
                    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
                )
                dynamodb.get_waiter("table_exists").wait(TableName=TABLE)
                for name in ("a", "b"):
                    worker = consume(
                        TABLE,
                        deliveries,
                        group="g",
                        worker=name,
                        dynamodb=_client("dynamodb", server.url),
                        streams=_client("dynamodbstreams", server.url),
                        poll_s=0.02,
                        sync_s=0.2,
                        lease_s=1,
                        backoff_s=0.05,
                        backoff_s_max=0.2,
                        batch_size=5,
                    )
                    worker.step()
                    workers.append(worker)
                    threads.append(threading.Thread(target=worker.run))
                    threads[-1].start()
            if unknown:
                found = dynamodb.get_item(TableName=TABLE, Key=item(p=unknown), ConsistentRead=True)
                if "Item" in found:
                    written[unknown] = int(found["Item"]["n"]["N"])
            unknown = ""
            last = round_ == ROUNDS - 1
            death = threading.Timer(chance.uniform(0.2, 0.8), server.kill)
            if not last:
                death.start()
            while not unknown and not (last and len(written) == 20):
                key = f"key-{chance.randrange(20)}"
                number = written.get(key, 0) + 1
                try:
                    dynamodb.put_item(TableName=TABLE, Item=item(p=key, n=number))
                    written[key] = number
                except (ClientError, BotoCoreError):
                    unknown = key  # the next round reads the result
            if not last:
                death.join()
            else:
                pause = threading.Event()
                for _ in range(PATIENCE_S * 10):
                    if deliveries.seen() == written:
                        break
                    pause.wait(0.1)
                for worker in workers:
                    worker.stop()
                for thread in threads:
                    thread.join(PATIENCE_S)
    assert deliveries.mistakes == []
    assert deliveries.seen() == written
    assert not any(thread.is_alive() for thread in threads)
    assert sum(worker.statistics()["errors"] for worker in workers) > 0, "the workers have seen no failure"
