"""`faradisc backup` and `faradisc restore`, with a server and on a directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.clients import http_client
from fixtures.restored import rows
from fixtures.schemas import item, schema

Command = Callable[..., Any]
StartServer = Callable[..., Any]
"""The fixtures of tests/cli/conftest.py."""


@pytest.fixture(params=["served", "offline"])
def database(request: pytest.FixtureRequest, start_server: StartServer, tmp_path: Path) -> Any:
    return Scene(start_server, tmp_path, offline=request.param == "offline")


class Scene:
    """A table with items in a data directory, with or without a running server."""

    def __init__(self, start_server: StartServer, tmp_path: Path, *, offline: bool) -> None:
        self.start_server = start_server
        self.offline = offline
        self.data_dir = tmp_path / "data"
        self.start()
        self.client.create_table(TableName="music", **schema("p:S", gsi={"global": ("x:S", "", "ALL")}))
        for number in range(50):
            self.client.put_item(TableName="music", Item=item(p=f"p{number}", x=f"x{number % 3}"))
        self.client.update_continuous_backups(
            TableName="music", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        self.before = rows(self.client, "music")
        if offline:
            self.stop()

    def start(self) -> None:
        self.server = self.start_server("--data-dir", str(self.data_dir))
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.client = http_client(self.url)

    def stop(self) -> None:
        self.client.close()
        assert self.server.stop()[0] == 0

    @property
    def options(self) -> tuple[str, str]:
        return ("--data-dir", str(self.data_dir)) if self.offline else ("--url", self.url)

    def check(self, name: str) -> None:
        if self.offline:
            self.start()
        for index in (None, "global"):
            assert sorted(rows(self.client, name, index), key=str) == sorted(self.before, key=str)
        self.client.close()


def test_backup_is_created_listed_restored_and_deleted(database: Scene, command: Command) -> None:
    options = database.options
    made = command("backup", "create", "music", "--name", "nightly", *options)
    assert made.returncode == 0, made.stderr
    arn = made.stdout.strip()
    assert ":table/music/backup/" in arn
    shown = command("backup", "list", *options)
    assert "nightly" in shown.stdout
    assert arn in shown.stdout
    (document,) = command("backup", "list", "music", "--json", *options).stdout.splitlines()
    assert json.loads(document)["BackupStatus"] == "AVAILABLE"
    assert command("backup", "list", "other", *options).stdout == ""
    directory = database.data_dir / "backups" / arn.rpartition("/")[2]
    assert command("backup", "verify", str(directory)).stdout == "50 items of table music: intact\n"
    restored = command("restore", "again", "--from-backup", arn, *options)
    assert (restored.returncode, restored.stdout) == (0, "50 items in again\n"), restored.stderr
    assert command("backup", "delete", arn, *options).returncode == 0
    assert command("backup", "list", *options).stdout == ""
    rejected = command("backup", "delete", arn, *options)
    assert rejected.returncode == 1
    assert rejected.stderr == f"faradisc: BackupNotFoundException: Backup not found: {arn}\n"
    database.check("again")


def test_restore_to_a_point_in_time(database: Scene, command: Command) -> None:
    options = database.options
    restored = command("restore", "again", "--from-table", "music", *options)
    assert (restored.returncode, restored.stdout) == (0, "50 items in again\n"), restored.stderr
    early = command("restore", "never", "--from-table", "music", "--at", "2001-01-01T00:00:00Z", *options)
    assert early.returncode == 1
    assert early.stderr.startswith("faradisc: InvalidRestoreTimeException: ")
    database.check("again")


def test_drill_restores_compares_and_removes(database: Scene, command: Command) -> None:
    done = command("drill", "music", "--json", *database.options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["restored_items"], report["equal_items"], report["table_items"]) == (50, 50, 50)
    assert report["passed"] and report["backup_bytes"] > 0
    assert list(report["seconds"]) == ["backup", "restore", "comparison", "removal"]
    assert command("backup", "list", *database.options).stdout == ""
    if database.offline:
        database.start()
    assert database.client.list_tables()["TableNames"] == ["music"]


def test_damaged_backup_is_reported(tmp_path: Path, start_server: StartServer, command: Command) -> None:
    scene = Scene(start_server, tmp_path, offline=True)
    arn = command("backup", "create", "music", *scene.options).stdout.strip()
    directory = scene.data_dir / "backups" / arn.rpartition("/")[2]
    file = directory / "rows"
    file.write_bytes(file.read_bytes()[:-1])
    found = command("backup", "verify", str(directory))
    assert found.returncode == 1
    assert "is damaged: rows has " in found.stderr
    rejected = command("restore", "again", "--from-backup", arn, *scene.options)
    assert rejected.returncode == 1
    assert f"Backup {arn} is damaged: rows has " in rejected.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("--from-backup", "x", "--from-table", "y"), ("--from-backup", "x", "--at", "1")]
)
def test_restore_needs_one_source(command: Command, arguments: tuple[str, ...]) -> None:
    answer = command("restore", "again", *arguments)
    assert answer.returncode == 2
    assert "Give --from-backup, or --from-table" in answer.stderr


def test_unreachable_server(command: Command) -> None:
    answer = command("backup", "list", "--url", "http://127.0.0.1:1")
    assert answer.returncode == 1
    assert answer.stderr.startswith("faradisc: http://127.0.0.1:1 does not answer")
