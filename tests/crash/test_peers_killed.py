"""Two servers, each with a region, one of which is killed again and again under load: both have the same
items in the end, and nothing that was acknowledged is lost.

`python tests/crash/test_peers_killed.py [seconds]` prints how long the killed server takes to catch up, and
its traffic.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.clients import http_client
from fixtures.regions import EU, TABLE, US
from fixtures.schemas import schema
from fixtures.served import Server

WRITERS = 2
WAIT_S = 120.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Region:
    """A server of one region, which can be started again at the same port."""

    def __init__(self, region: str, port: int, other: tuple[str, int], directory: Path) -> None:
        self.region = region
        self.url = f"http://127.0.0.1:{port}"
        peer = f"{other[0]}=http://127.0.0.1:{other[1]}"
        self._options = [
            *("--port", str(port), "--region", region, "--regions", region, "--peer", peer),
            *("--data-dir", str(directory / region)),
        ]
        self.server: Server | None = None
        self.client = http_client(self.url, region_name=region)

    def start(self) -> None:
        self.server = Server(*self._options)

    def kill(self) -> None:
        assert self.server is not None
        self.server.kill()

    def items(self) -> dict[str, str]:
        pages = self.client.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True)
        return {item["p"]["S"]: item["v"]["N"] for page in pages for item in page["Items"]}

    def page(self, name: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/_faradisc/{name}") as answer:
            return json.load(answer)

    def waiting(self) -> int:
        return sum(link["waiting"] for link in self.page("replication"))


def until(true: Callable[[], bool]) -> float:
    """Waits until something holds; returns the seconds that it took."""
    began = time.monotonic()
    pause = threading.Event()
    while not true():
        assert time.monotonic() < began + WAIT_S
        pause.wait(0.1)
    return time.monotonic() - began


class Writing:
    """Threads that put items at a server until they are stopped, a batch at a time."""

    def __init__(self, region: Region) -> None:
        self.acknowledged = 0
        self._region = region
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        client = http_client(self._region.url, region_name=self._region.region)
        for batch in range(1 << 30):
            if self._stop.is_set():
                break
            puts = [
                {"PutRequest": {"Item": {"p": {"S": f"{number}/{batch}/{each}"}, "v": {"N": str(batch)}}}}
                for each in range(25)
            ]
            client.batch_write_item(RequestItems={TABLE: puts})
            self.acknowledged += len(puts)

    def stop(self) -> int:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.acknowledged


def two_regions(directory: Path) -> tuple[Region, Region]:
    ports = {US: free_port(), EU: free_port()}
    us = Region(US, ports[US], (EU, ports[EU]), directory)
    eu = Region(EU, ports[EU], (US, ports[US]), directory)
    us.start()
    eu.start()
    us.client.create_table(TableName=TABLE, **schema("p:S"))
    us.client.get_waiter("table_exists").wait(TableName=TABLE)
    us.client.update_table(TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": EU}}])

    def is_active() -> bool:
        replicas = us.client.describe_table(TableName=TABLE)["Table"]["Replicas"]
        return [each["ReplicaStatus"] for each in replicas] == ["ACTIVE"]

    until(is_active)
    return us, eu


@pytest.mark.slow
def test_a_server_that_is_killed_under_load_catches_up(tmp_path: Path) -> None:
    us, eu = two_regions(tmp_path)
    try:
        writing = Writing(us)
        for life in range(3):
            until(lambda after=writing.acknowledged + 500: writing.acknowledged > after)  # type: ignore[misc]
            eu.kill()
            until(lambda after=writing.acknowledged + 500: writing.acknowledged > after)  # type: ignore[misc]
            eu.start()
            eu.client.put_item(TableName=TABLE, Item={"p": {"S": f"eu{life}"}, "v": {"N": "1"}})
        acknowledged = writing.stop()
        until(lambda: us.waiting() == 0 == eu.waiting())
        assert us.items() == eu.items()
        assert len(us.items()) == acknowledged + 3
    finally:
        us.kill()
        eu.kill()


def measure(directory: Path, seconds: float) -> None:
    """Prints how much is written while a server is down, and how fast it catches up."""
    us, eu = two_regions(directory)
    try:
        until(lambda: us.waiting() == 0)
        eu.kill()
        writing = Writing(us)
        threading.Event().wait(seconds)
        written = writing.stop()
        eu.start()
        began = time.monotonic()
        until(lambda: us.waiting() == 0)
        took_s = time.monotonic() - began
        assert us.items() == eu.items()
        print(f"{written} items in {seconds:.0f} s")
        received = eu.page("peers")[0]["received_bytes"]
        print(f"caught up in {took_s:.1f} s: {written / took_s:.0f} items a second")
        print(f"{received / 1e6:.1f} MB of answers: {received / written:.0f} bytes an item")
    finally:
        us.kill()
        eu.kill()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as made:
        measure(Path(made), float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
