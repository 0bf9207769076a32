"""Random writes, backups, restores, steps and reopenings, compared with a record of every state.

What it proves: whatever else runs when a backup or a restore is requested, and in whatever order its steps
and a reopening occur, the restored table has exactly the requested state, with its indexes, counters and
collections (fixtures/integrity.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc.clock import ManualClock
from faradisc.engine.backups import history, writing
from fixtures.restored import rows
from fixtures.schemas import item, schema
from fixtures.searching import seeds
from fixtures.stepped import Stepped

SCHEMA = schema(
    "p:S",
    "r:N",
    lsi={"local": ("x:S", "KEYS_ONLY")},
    gsi={"global": ("x:S", "r:N", ["y"]), "sparse": ("z:N", "", "ALL")},
)
Rows = list[dict[str, Any]]


class Machine:
    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = path
        self.clock = ManualClock()
        self.open()
        self.client.create_table(TableName="source", **SCHEMA)
        self.client.update_continuous_backups(
            TableName="source", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        self.moments: list[tuple[int, Rows]] = []
        self.backups: dict[str, Rows | None] = {}
        """By ARN; None: the database was reopened before it was complete, so it has a later state."""
        self.restored: dict[str, Rows | None] = {}
        self.restores = 0

    def open(self) -> None:
        self.process = Stepped(self.path, clock=self.clock)
        self.client = self.process.client()

    def now(self) -> Rows:
        return rows(self.client, "source")

    # --- What may happen ---

    def write(self) -> None:
        for _ in range(self.random.randrange(1, 6)):
            key = {"p": f"p{self.random.randrange(4)}", "r": self.random.randrange(8)}
            if self.random.random() < 0.3:
                self.client.delete_item(TableName="source", Key=item(**key))
                continue
            some: dict[str, Any] = {
                "x": f"x{self.random.randrange(3)}",
                "y": "y" * self.random.randrange(900),
            }
            if self.random.random() < 0.5:
                some["z"] = self.random.randrange(3)
            self.client.put_item(TableName="source", Item=item(**key, **some))

    def wait(self) -> None:
        self.moments.append((self.clock.now_ns() // 10**9, self.now()))
        self.clock.advance(self.random.choice((1, 1, 30, 50_000)))

    def step(self) -> None:
        for _ in range(self.random.randrange(4)):
            self.process.step()

    def back_up(self) -> None:
        try:
            answer = self.client.create_backup(TableName="source", BackupName="backup")
        except ClientError as rejection:
            assert rejection.response["Error"]["Code"] == "BackupInUseException"
            return
        self.backups[answer["BackupDetails"]["BackupArn"]] = self.now()

    def restore(self) -> None:
        complete = [arn for arn in self.backups if self._status(arn) == "AVAILABLE"]
        if complete:
            arn = self.random.choice(complete)
            target = self._target()
            try:
                self.client.restore_table_from_backup(TargetTableName=f"t.{self.restores}", BackupArn=arn)
            except ClientError as rejection:  # another restore of it runs
                assert rejection.response["Error"]["Code"] == "BackupInUseException"
            else:
                self.restored[target] = self.backups[arn]

    def go_back(self) -> None:
        if self.moments:
            second, state = self.random.choice(self.moments)
            self.restored[self._target()] = state
            self.client.restore_table_to_point_in_time(
                TargetTableName=f"t.{self.restores}", SourceTableName="source", RestoreDateTime=second
            )

    def reopen(self) -> None:
        self.process.close()
        for arn in self.backups:
            if self.backups[arn] is not None and arn not in self._in_storage():
                self.backups[arn] = None
        self.open()

    def _in_storage(self) -> set[str]:
        names = {each.name for each in (self.path / "backups").glob("*[0-9a-f]")}
        return {arn for arn in self.backups if arn.rpartition("/")[2] in names}

    def _target(self) -> str:
        self.restores += 1
        return f"t.{self.restores}"

    def _status(self, arn: str) -> str:
        described = self.client.describe_backup(BackupArn=arn)["BackupDescription"]
        status: str = described["BackupDetails"]["BackupStatus"]
        return status

    # --- What must be so ---

    def check(self) -> None:
        self.process.finish()
        self.process.check()
        for name, state in self.restored.items():
            if state is not None:
                assert rows(self.client, name) == state
            self.client.delete_table(TableName=name)
        self.restored.clear()


ACTIONS = (
    *[Machine.write] * 6,
    *[Machine.wait] * 4,
    *[Machine.step] * 6,
    *[Machine.back_up] * 2,
    *[Machine.restore] * 2,
    *[Machine.go_back] * 2,
    Machine.reopen,
)


@pytest.mark.parametrize("seed", seeds(4, 2))
def test_restores_have_the_recorded_state(
    data_dir: Path, bugs_surface: None, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(history, "PAGE_ROWS", 5)
    monkeypatch.setattr(writing, "BLOCK_RECORDS", 4)
    machine = Machine(data_dir, seed)
    done = 0
    for number in range(160):
        machine.random.choice(ACTIONS)(machine)
        if number % 40 == 39:
            done += len(machine.restored)
            machine.check()
    assert done > 5
    machine.process.close()
