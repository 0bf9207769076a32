"""kill -9 during backups and restores, under concurrent writes.

What it proves: after any number of kills a backup becomes complete, a restore continues and ends with exactly
the items of its source, a table deleted with point-in-time recovery is in its system backup, no acknowledged
write is missing from a restored time, and no partial table or backup is left. Why a process: no code of the
server runs after SIGKILL.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.integrity import problems
from fixtures.paused_job import program
from fixtures.restored import rows
from fixtures.schemas import item, schema
from fixtures.served import Server

PAUSE_STEPS = 30
"""A killed server has taken fewer steps; a backup or restore of the steady table takes 36."""
STEADY = schema("p:S", "r:N", lsi={"local": ("x:S", "KEYS_ONLY")}, gsi={"global": ("x:S", "", "ALL")})


class Writer(threading.Thread):
    """Puts items, each once, until the server is killed; records when each was sent and acknowledged."""

    def __init__(self, url: str, first: int) -> None:
        super().__init__()
        self.client = http_client(url)
        self.numbers = itertools.count(first)
        self.sent: dict[int, float] = {}
        self.acknowledged: dict[int, float] = {}

    def run(self) -> None:
        for number in self.numbers:
            self.sent[number] = time.time()
            try:
                self.client.put_item(TableName="busy", Item=item(p=f"{number}", n=number))
            except (BotoCoreError, ClientError):
                return
            self.acknowledged[number] = time.time()


class Scene:
    """A server that is killed repeatedly, and a writer that continues after each start."""

    def __init__(self, data_dir: Path, servers: ExitStack, seed: int, kills_max: int) -> None:
        self.random = random.Random(seed)
        self.kills_max = kills_max
        self.servers = servers
        self.data_dir = data_dir
        self.writers: list[Writer] = []
        self.kills = 0
        self.start()

    def start(self, paused: Path | None = None) -> None:
        """Starts a server; with a file it stops its work after some steps and then creates the file."""
        self.paused = paused
        steps = self.random.randrange(PAUSE_STEPS)
        run = ("-m", "faradisc") if paused is None else program("backups,restores", steps, paused)
        options = ("--data-dir", str(self.data_dir), "--transition-ms", "0")
        self.server = self.servers.enter_context(Server(*options, program=run))
        self.client = http_client(self.server.url)

    def write(self) -> None:
        self.writers.append(Writer(self.server.url, first=len(self.writers) * 1_000_000))
        self.writers[-1].start()

    def kill(self, *, pause: bool) -> None:
        """Kills the server and starts the next one, which stops its work after some steps if `pause`."""
        self.server.kill()
        self.kills += 1
        for writer in self.writers:
            writer.join()
        self.start(self.data_dir.with_name(f"paused{self.kills}") if pause else None)
        self.write()

    def until(self, done: Callable[[], bool], request: Callable[[], Any]) -> Any:
        """Requests something and waits until it is done. Returns the answer.

        Servers that have stopped their work are killed: `kills_max` of them, or fewer where less is to do.
        """
        self.kill(pause=True)
        answer = request()
        for kill in range(self.kills_max):
            while self.paused is not None and not self.paused.exists():
                if done():
                    return answer
            self.kill(pause=kill + 1 < self.kills_max)
        while not done():
            pass
        return answer

    # --- What is done ---

    def load(self, items: int) -> None:
        self.client.create_table(TableName="busy", **schema("p:S"))
        self.client.create_table(TableName="steady", **STEADY)
        for first in range(0, items, 25):
            puts = [
                {"PutRequest": {"Item": item(p=f"p{n % 50}", r=n, x=f"x{n % 9}", y="y" * 500)}}
                for n in range(first, min(first + 25, items))
            ]
            self.client.batch_write_item(RequestItems={"steady": puts})
        for name in ("busy", "steady"):
            self.client.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )

    def backup(self, kind: str) -> str:
        (found,) = self.client.list_backups(BackupType=kind)["BackupSummaries"]
        arn: str = found["BackupArn"]
        return arn

    def is_complete(self, arn: str) -> bool:
        described = self.client.describe_backup(BackupArn=arn)["BackupDescription"]
        complete: bool = described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
        return complete

    def is_there(self, name: str) -> bool:
        there: bool = self.client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE"
        return there

    def check_moment(self, name: str, second: int) -> None:
        """A restored table has what was acknowledged before the second, and nothing sent after it."""
        found = {int(each["p"]["S"]) for each in rows(self.client, name)}
        sent = {number: at for writer in self.writers for number, at in writer.sent.items()}
        acknowledged = {number: at for writer in self.writers for number, at in writer.acknowledged.items()}
        missing = {number for number, at in acknowledged.items() if at < second} - found
        early = {number for number in found if sent[number] > second + 0.001}
        assert (missing, early) == (set(), set())


def _kill_during_backups(data_dir: Path, items: int, seed: int, kills_max: int = 3) -> None:
    print(f"seed {seed}")
    with ExitStack() as servers:
        scene = Scene(data_dir, servers, seed, kills_max)
        scene.load(items)
        scene.write()
        began = time.time()
        steady = rows(scene.client, "steady")

        created = scene.until(
            lambda: scene.is_complete(scene.backup("USER")),
            lambda: scene.client.create_backup(TableName="steady", BackupName="backup"),
        )
        arn = created["BackupDetails"]["BackupArn"]
        scene.until(
            lambda: scene.is_there("again"),
            lambda: scene.client.restore_table_from_backup(TargetTableName="again", BackupArn=arn),
        )
        assert rows(scene.client, "again") == steady

        while time.time() < began + 2:  # so that there is a whole second to go back to
            rows(scene.client, "again")
        second = int(began) + 1
        scene.until(
            lambda: scene.is_there("back"),
            lambda: scene.client.restore_table_to_point_in_time(
                TargetTableName="back", SourceTableName="busy", RestoreDateTime=second
            ),
        )
        scene.check_moment("back", second)

        scene.until(
            lambda: scene.is_complete(scene.backup("SYSTEM")),
            lambda: scene.client.delete_table(TableName="steady"),
        )
        system = scene.backup("SYSTEM")
        scene.until(
            lambda: scene.is_there("steady"),
            lambda: scene.client.restore_table_from_backup(TargetTableName="steady", BackupArn=system),
        )
        assert rows(scene.client, "steady") == steady
        assert scene.kills > 5, "servers were killed during the work, not only before it"
        scene.server.kill()
        for writer in scene.writers:
            writer.join()
    with LocalDatabase(data_dir) as database:
        client = database.client()
        assert client.list_tables()["TableNames"] == ["again", "back", "busy", "steady"]
        assert problems(database.database.store) == []
        names = [each.name for each in (data_dir / "backups").iterdir()]
        assert sorted(names) == sorted(each.rpartition("/")[2] for each in (arn, system))


@pytest.mark.slow
def test_backups_survive_kills(data_dir: Path) -> None:
    _kill_during_backups(data_dir, 4_000, seed=1, kills_max=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_backups_survive_kills(data_dir: Path, seed: int) -> None:
    _kill_during_backups(data_dir, 4_000, seed)
