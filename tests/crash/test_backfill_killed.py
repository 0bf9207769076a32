"""kill -9 in the middle of a backfill, while others write.

What it proves: the next process goes on where the killed one was, the index becomes ACTIVE only when it is
complete, it is then exactly what the items say, and no acknowledged write is lost. Why a process: nothing of
ours runs after SIGKILL. Source: issue 4, "Index life".
"""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.integrity import faults
from fixtures.schemas import item, schema
from fixtures.served import Server

WRITERS = 3
KEYS_PER_WRITER = 40


class Writer:
    """Puts and deletes items of its own until the server is gone; remembers what was acknowledged."""

    def __init__(self, number: int, seed: int) -> None:
        self._random = random.Random(f"{seed}/{number}")
        self._number = number
        self.state: dict[str, int | None] = {}
        """By key: the number it has, None when deleted, as far as that was acknowledged."""
        self.unknown: tuple[str, int | None] | None = None
        """The write whose answer was lost."""

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
        """What was acknowledged is there; the write without an answer may be. Then that is known too."""
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


def _kill_during_backfill(data_dir: Path, items: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    options = ("--data-dir", str(data_dir), "--transition-ms", "0")
    suitable = items - (items + 9) // 10
    interrupted = 0
    writers = [Writer(number, seed) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads, ExitStack() as servers:
        server = servers.enter_context(Server(*options))
        client = http_client(server.url)
        _load(client, items)
        running = [threads.submit(writer.run, server.url) for writer in writers]
        _add_index(client)
        # The first kill comes at once, so that a slow machine has one too.
        for share in (None, *sorted(chance.random() * 0.9 for _ in range(2))):
            if share is not None and not _is_filled_to(client, share * suitable):
                break
            server.kill()
            for each in running:
                each.result()
            server = servers.enter_context(Server(*options))
            client = http_client(server.url)
            interrupted += _index(client)["IndexStatus"] == "CREATING"
            _check_acknowledged(client, writers)
            running = [threads.submit(writer.run, server.url) for writer in writers]
        assert interrupted, "the index was complete before it could be interrupted"
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
        assert faults(database.database.store) == []


def _is_filled_to(client: Any, entries: float) -> bool:
    """Wait until an index that is being filled has so many; False: it was complete before that."""
    shown = _index(client)
    while shown["IndexStatus"] == "CREATING" and shown["ItemCount"] < entries:
        shown = _index(client)
    return bool(shown["IndexStatus"] == "CREATING")


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


def test_a_backfill_survives_kills(data_dir: Path) -> None:
    _kill_during_backfill(data_dir, 8_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_backfills_survive_kills(data_dir: Path, seed: int) -> None:
    _kill_during_backfill(data_dir, 8_000, seed)
