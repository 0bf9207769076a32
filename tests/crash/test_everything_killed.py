"""Repeated kill -9 under all kinds of concurrent work: nothing is lost.

Transactions with tokens (repeated after a kill, applied once), items that expire, an index that is added and
removed, a history likewise, imports, and a server that is killed after some hundred answers. What it proves:
after every start all acknowledged writes are there, transactions are applied completely and once, an import
has exactly its items, no unexpired item is gone, and the whole store is consistent. Why a process: no code of
the server runs after SIGKILL. Backups and restores are killed in test_backups_killed.py,
exports and bulk puts in test_exports_and_bulk_puts_killed.py.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fixtures.clients import http_client
from fixtures.exchanging import BUCKET, lines
from fixtures.killed import Worker, check_whole, work_until_killed
from fixtures.schemas import everything, item, schema
from fixtures.served import Server

TABLE = schema("p:S", lsi=None, gsi={"by-group": ("g:S", "n:N", "ALL")})
LATE = schema("p:S", gsi={"late": ("h:S", "", "ALL")})
IMPORTED = [item(p=f"{n:06}", n=n, text="x" * 60) for n in range(600)]
FAR_S = 10_000_000


class Transactor(Worker):
    """Moves three counters at once, with a token; after a lost answer the same again."""

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(number, seed)
        self.done = 0
        self.is_open = False

    def act(self) -> None:
        self.is_open = True
        updates = [
            {
                "Update": {
                    "TableName": "table",
                    "Key": item(p=f"counter{self.number}.{each}"),
                    "UpdateExpression": "ADD n :one SET g = :g, h = :g",
                    "ExpressionAttributeValues": item(**{":one": 1, ":g": f"g{each}"}),
                }
            }
            for each in range(3)
        ]
        token = f"transactor{self.number}.{self.done}"
        self.call("transact_write_items", TransactItems=updates, ClientRequestToken=token)
        self.done += 1
        self.is_open = False

    def check(self, client: Any, items: dict[str, dict[str, Any]]) -> int:
        found = {
            int(items.get(f"counter{self.number}.{each}", {"n": {"N": "0"}})["n"]["N"]) for each in range(3)
        }
        if len(found) > 1:
            return 1
        (count,) = found
        return abs(count - self.done) if not self.is_open else not self.done <= count <= self.done + 1


class Expirer(Worker):
    """Items that expire at once, and items that do not, some of which once did."""

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(number, seed)
        self.lasting: dict[str, int] = {}
        self.unknown: set[str] = set()

    def act(self) -> None:
        key = f"expirer{self.number}.{self.random.randrange(30)}"
        lasts = self.random.random() < 0.6
        self.unknown.add(key)
        seconds = int(time.time()) + (FAR_S if lasts else self.random.randrange(2))
        n = self.random.randrange(10**9)
        self.call("put_item", TableName="table", Item=item(p=key, n=n, exp=seconds, h="x", g="e"))
        self.unknown.discard(key)
        if lasts:
            self.lasting[key] = n
        else:
            self.lasting.pop(key, None)

    def check(self, client: Any, items: dict[str, dict[str, Any]]) -> int:
        lost = sum(
            key not in items or int(items[key]["n"]["N"]) != n
            for key, n in self.lasting.items()
            if key not in self.unknown
        )
        for key in self.unknown:
            self.lasting.pop(key, None)
        self.unknown.clear()
        return lost


class Indexer(Worker):
    """An index comes and goes."""

    def act(self) -> None:
        try:
            indexes = self.call("describe_table", TableName="table")["Table"]["GlobalSecondaryIndexes"]
            late = next((each for each in indexes if each["IndexName"] == "late"), None)
            if late is None:
                created = LATE["GlobalSecondaryIndexes"][0]
                update = {"Create": {key: created[key] for key in ("IndexName", "KeySchema", "Projection")}}
            elif late["IndexStatus"] == "ACTIVE":
                update = {"Delete": {"IndexName": "late"}}
            else:
                return
            definitions = LATE["AttributeDefinitions"]
            self.call(
                "update_table",
                TableName="table",
                AttributeDefinitions=definitions,
                GlobalSecondaryIndexUpdates=[update],
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            assert code in ("ResourceInUseException", "LimitExceededException"), error


class Switcher(Worker):
    """Point-in-time recovery goes on and off; what it kept goes with it."""

    def act(self) -> None:
        recovery = {"PointInTimeRecoveryEnabled": self.random.random() < 0.5}
        self.call("update_continuous_backups", TableName="table", PointInTimeRecoverySpecification=recovery)


class Importer(Worker):
    """Imports one table after the other; each is there as a whole, once, or not at all."""

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(number, seed)
        self.imported = 0
        self.arn: str | None = None

    @property
    def name(self) -> str:
        return f"imported{self.imported}"

    def act(self) -> None:
        if self.arn is None:
            begun = self.call(
                "import_table",
                ClientToken=f"import{self.imported}",
                S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
                InputFormat="DYNAMODB_JSON",
                TableCreationParameters={"TableName": self.name, **schema("p:S")},
            )
            self.arn = begun["ImportTableDescription"]["ImportArn"]
        described = self.call("describe_import", ImportArn=self.arn)["ImportTableDescription"]
        if described["ImportStatus"] == "IN_PROGRESS":
            return
        assert described["ImportStatus"] == "COMPLETED", described
        found = everything(lambda **more: self.call("scan", **more), TableName=self.name)
        assert sorted(found, key=lambda each: each["p"]["S"]) == IMPORTED
        self.imported += 1
        self.arn = None


def _kill_rounds(data_dir: Path, tmp_path: Path, rounds: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    root = tmp_path / "buckets"
    (root / BUCKET / "in").mkdir(parents=True)
    (root / BUCKET / "in" / "items.json").write_bytes(lines(IMPORTED))
    importer = Importer(0, seed)
    workers: list[Worker] = [*(Transactor(n, seed) for n in range(3)), *(Expirer(n, seed) for n in range(3))]
    workers += [Indexer(0, seed), Switcher(0, seed), importer]
    options = ("--data-dir", str(data_dir), "--transition-ms", "0", "--s3-root", str(root))
    lost = acknowledged = 0
    for round_ in range(rounds):
        with Server(*options) as server:
            client = http_client(server.url)
            if round_ == 0:
                client.create_table(TableName="table", **TABLE)
                specification = {"Enabled": True, "AttributeName": "exp"}
                client.update_time_to_live(TableName="table", TimeToLiveSpecification=specification)
            lost += _count_lost(client, workers)
            acknowledged += work_until_killed(server, workers, chance.randint(5, 400))
            client.close()
        if round_ % 10 == 9 or round_ == rounds - 1:
            check_whole(data_dir, root)
    print(f"{rounds} kills, {acknowledged} answers, {importer.imported} imports, {lost} lost")
    assert lost == 0
    assert acknowledged >= 5 * rounds


def _count_lost(client: Any, workers: list[Worker]) -> int:
    found = {each["p"]["S"]: each for each in everything(client.scan, TableName="table")}
    return sum(worker.check(client, found) for worker in workers)


def test_nothing_is_lost_over_four_kills(data_dir: Path, tmp_path: Path) -> None:
    _kill_rounds(data_dir, tmp_path, rounds=4, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_nothing_is_lost_over_hundreds_of_kills(data_dir: Path, tmp_path: Path, seed: int) -> None:
    """Sixty kills for each of four seeds."""
    _kill_rounds(data_dir, tmp_path, rounds=60, seed=seed)
