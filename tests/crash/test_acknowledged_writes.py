"""kill -9 of a server under concurrent writers; then its directory is opened again.

What it proves: no acknowledged write is lost, no rejected write is there, each batch is there completely or
not at all, every index agrees with its table, and the next process serves the data at once. Why a process: no
code of the server runs after SIGKILL.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from fixtures.clients import http_client
from fixtures.in_process import InProcess
from fixtures.schemas import everything, item, plain, schema
from fixtures.served import Server

WRITERS = 6
KEYS_PER_WRITER = 12
BATCH = 25
GSI = {"by-group": ("g:S", "n:N", "ALL"), "sparse": ("odd:N", "", "KEYS_ONLY")}
LSI = {"by-number": ("n:N", ["g"])}

Write = Callable[[Any, int], None]


class Writer:
    """Writes items of its own in one thread, and records their expected contents.

    `known` is what was acknowledged. When the answer to a write is lost, `open` holds what its items would
    then be: after the crash all of them are so, or none.
    """

    def __init__(self, number: int, seed: int) -> None:
        self._random = random.Random(f"{seed}/{number}")
        self.number = number
        self.known: dict[int, dict[str, Any] | None] = {}
        self.open: dict[int, dict[str, Any] | None] | None = None
        self.acknowledged = 0

    @property
    def collection(self) -> str:
        return f"writer{self.number}"

    def run(self, url: str, enough: Callable[[], None]) -> None:
        client = http_client(url)
        try:
            for n in itertools.count(self.acknowledged + 1):
                kind = self._random.choices(
                    [self._put, self._update, self._delete, self._batch], [4, 4, 1, 2]
                )[0]
                try:
                    kind(client, n)
                except (BotoCoreError, ClientError) as error:
                    assert not isinstance(error, ClientError), error
                    return
                assert self.open is not None
                self.known.update(self.open)
                self.open = None
                self.acknowledged += 1
                enough()
        finally:
            client.close()

    def _item(self, r: int, n: int, **more: Any) -> dict[str, Any]:
        odd = {"odd": n} if n % 2 else {}
        return {"p": self.collection, "r": r, "n": n, "g": f"g{n % 3}", **odd, **more}

    def _put(self, client: Any, n: int) -> None:
        r = self._random.randrange(KEYS_PER_WRITER)
        new = self._item(r, n, pad="x" * self._random.randrange(2_000))
        self.open = {r: new}
        client.put_item(TableName="table", Item=item(**new))

    def _update(self, client: Any, n: int) -> None:
        """A conditional update: it holds exactly if the last acknowledged write is the one that is there."""
        r = self._random.randrange(KEYS_PER_WRITER)
        old = self.known.get(r)
        new = {"p": self.collection, "r": r, **(old or {}), "n": n, "g": f"g{n % 3}"}
        self.open = {r: new}
        condition = "n = :old" if old is not None else "attribute_not_exists(p)"
        expected = {":old": old["n"]} if old is not None else {}
        client.update_item(
            TableName="table",
            Key=item(p=self.collection, r=r),
            UpdateExpression="SET n = :n, g = :g",
            ConditionExpression=condition,
            ExpressionAttributeValues=item(**{":n": n, ":g": f"g{n % 3}", **expected}),
        )

    def _delete(self, client: Any, n: int) -> None:
        r = self._random.randrange(KEYS_PER_WRITER)
        self.open = {r: None}
        client.delete_item(TableName="table", Key=item(p=self.collection, r=r))

    def _batch(self, client: Any, n: int) -> None:
        """25 puts with one number."""
        first = KEYS_PER_WRITER + BATCH * self._random.randrange(2)
        self.open = {r: self._item(r, n) for r in range(first, first + BATCH)}
        puts = [{"PutRequest": {"Item": item(**new)}} for new in self.open.values() if new is not None]
        answer = client.batch_write_item(RequestItems={"table": puts})
        assert answer["UnprocessedItems"] == {}

    def check(self, found: dict[int, dict[str, Any]]) -> None:
        """`found` is what this writer's collection holds now; from here on it is known."""
        before = {r: content for r, content in self.known.items() if content is not None}
        if self.open is None:
            assert found == before
        else:
            after = {r: c for r, c in {**self.known, **self.open}.items() if c is not None}
            assert found in (before, after)
        self.known = dict(found)
        self.open = None


def crash_rounds(data_dir: Path, rounds: int, acknowledged: int, seed: int) -> None:
    writers = [Writer(number, seed) for number in range(WRITERS)]
    for round_ in range(rounds):
        with Server("--data-dir", str(data_dir)) as server:
            client = http_client(server.url)
            if round_ == 0:
                client.create_table(TableName="table", **schema("p:S", "r:N", lsi=LSI, gsi=GSI))
            _check(client, writers)
            _write_until_killed(server, writers, acknowledged)
            client.close()
        process = InProcess(data_dir)
        process.check()
        client = process.client()
        _check(client, writers)
        client.close()
        process.close()


def _write_until_killed(server: Server, writers: list[Writer], acknowledged: int) -> None:
    """Kills the server once so many writes were acknowledged; every writer ends at its next request."""
    left = itertools.count(acknowledged, -1)

    def enough() -> None:
        if next(left) == 0:
            server.kill()

    with ThreadPoolExecutor(len(writers)) as pool:
        for done in [pool.submit(writer.run, server.url, enough) for writer in writers]:
            done.result()


def _check(client: Any, writers: list[Writer]) -> None:
    for writer in writers:
        query = {
            "TableName": "table",
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": item(**{":p": writer.collection}),
            "ConsistentRead": True,
        }
        writer.check({int(i["r"]["N"]): plain(i) for i in everything(client.query, **query)})
        by_number = everything(client.query, IndexName="by-number", **query)
        assert len(by_number) == len(writer.known)
    grouped = everything(client.scan, TableName="table", IndexName="by-group")
    assert len(grouped) == sum(len(writer.known) for writer in writers)


@pytest.mark.slow
def test_three_crashes(data_dir: Path) -> None:
    crash_rounds(data_dir, rounds=3, acknowledged=300, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_fifty_crashes(data_dir: Path, seed: int) -> None:
    """Ten rounds for each of five seeds; early and late kills."""
    crash_rounds(data_dir, rounds=10, acknowledged=20 + 150 * seed, seed=seed)
