"""kill -9 in the middle of a backfill, under concurrent writes.

What it proves: the next process continues the backfill, the index becomes ACTIVE only when it is complete and
agrees with the items, and no acknowledged write is lost. Why a process: no code of the server runs after
SIGKILL. The killed servers stop the backfill after a number of steps (fixtures/paused_job.py).
"""

from __future__ import annotations

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.engine.jobs.walk import ROWS_PER_STEP
from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.integrity import problems
from fixtures.paused_job import program
from fixtures.schemas import item, schema
from fixtures.served import Server

WRITERS = 3
KEYS_PER_WRITER = 40
WAIT_S = 120.0
BACKFILL = "index backfill"
UNPAUSED = ("-m", "faradisc")


class Writer:
    """Puts and deletes items of its own until the server is killed; records what was acknowledged."""

    def __init__(self, number: int, seed: int) -> None:
        self._random = random.Random(f"{seed}/{number}")
        self._number = number
        self.state: dict[str, int | None] = {}
        """The acknowledged number of each key; None when it is deleted."""
        self.unknown: tuple[str, int | None] | None = None
        """The write without an answer."""

    def run(self, url: str) -> None:
        client = http_client(url)
        for n in itertools.count():
            key = f"w{self._number}.{self._random.randrange(KEYS_PER_WRITER)}"
            self.unknown = (key, n if self._random.random() < 0.8 else None)
            try:
                if self.unknown[1] is None:
                    client.delete_item(TableName="table", Key=item(p=key))
                else:
                    client.put_item(TableName="table", Item=item(p=key, g=f"g{n % 5}", n=n))
            except (BotoCoreError, ClientError):
                return
            self.state[key] = self.unknown[1]
            self.unknown = None

    def check(self, found: dict[str, int]) -> None:
        """Asserts that acknowledged writes are there; the write without an answer may be there."""
        for key in {*self.state, *([self.unknown[0]] if self.unknown else [])}:
            allowed = {self.state.get(key)}
            if self.unknown is not None and self.unknown[0] == key:
                allowed.add(self.unknown[1])
            assert found.get(key) in allowed
            self.state[key] = found.get(key)
        self.unknown = None


def _load(client: Any, items: int) -> None:
    client.create_table(TableName="table", **schema("p:S"))
    for first in range(0, items, 25):
        puts = [
            {"PutRequest": {"Item": item(p=f"{n:06}", g=f"g{n % 50}" if n % 10 else n, n=n)}}
            for n in range(first, min(first + 25, items))
        ]
        client.batch_write_item(RequestItems={"table": puts})


def _index(client: Any) -> dict[str, Any]:
    (shown,) = client.describe_table(TableName="table")["Table"]["GlobalSecondaryIndexes"]
    found: dict[str, Any] = shown
    return found


def _add_index(client: Any) -> None:
    members = schema("p:S", gsi={"index": ("g:S", "n:N", "ALL")})
    client.update_table(
        TableName="table",
        AttributeDefinitions=members["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": members["GlobalSecondaryIndexes"][0]}],
    )


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} was not created"
        time.sleep(0.01)


def _kill_during_backfill(data_dir: Path, items: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    options = ("--data-dir", str(data_dir), "--transition-ms", "0")
    suitable = items - (items + 9) // 10
    # Three servers take less than half of the steps together, each is killed, and the fourth takes the rest.
    steps = [chance.randrange(items // ROWS_PER_STEP // 6) for _ in range(3)]
    paused = [data_dir.with_name(f"paused{number}") for number in range(3)]
    writers = [Writer(number, seed) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads, ExitStack() as servers:
        server = servers.enter_context(Server(*options, program=program(BACKFILL, steps[0], paused[0])))
        client = http_client(server.url)
        _load(client, items)
        running = [threads.submit(writer.run, server.url) for writer in writers]
        _add_index(client)
        for number, file in enumerate(paused):
            _wait_for(file)
            server.kill()
            for each in running:
                each.result()
            run = program(BACKFILL, steps[number + 1], paused[number + 1]) if number < 2 else UNPAUSED
            server = servers.enter_context(Server(*options, program=run))
            client = http_client(server.url)
            if number < 2:  # the last server may be done already
                assert _index(client)["IndexStatus"] == "CREATING"
            _check_acknowledged(client, writers)
            running = [threads.submit(writer.run, server.url) for writer in writers]
        while _index(client)["IndexStatus"] != "ACTIVE":
            pass
        server.kill()
        for each in running:
            each.result()
    with LocalDatabase(data_dir) as database:
        client = database.client()
        assert _index(client)["IndexStatus"] == "ACTIVE"
        assert _index(client)["ItemCount"] >= suitable
        _check_acknowledged(client, writers)
        assert problems(database.database.store) == []


def _check_acknowledged(client: Any, writers: list[Writer]) -> None:
    pages = client.get_paginator("scan").paginate(TableName="table")
    found = {
        each["p"]["S"]: int(each["n"]["N"])
        for page in pages
        for each in page["Items"]
        if each["p"]["S"].startswith("w")
    }
    for writer in writers:
        writer.check(found)


@pytest.mark.slow
def test_a_backfill_survives_kills(data_dir: Path) -> None:
    _kill_during_backfill(data_dir, 8_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_backfills_survive_kills(data_dir: Path, seed: int) -> None:
    _kill_during_backfill(data_dir, 8_000, seed)
