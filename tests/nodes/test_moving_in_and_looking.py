"""A table moves from a directory into PostgreSQL and back, and `faradisc nodes` lists a store's servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from faradisc.cli.main import cli
from faradisc.local import LocalDatabase
from fixtures.clients import http_client
from fixtures.schemas import item, schema
from fixtures.served import Server


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_a_table_moves_into_postgresql_and_back_with_all_its_items(postgres_dsn: str, tmp_path: Path) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    with LocalDatabase(here) as database:
        client = database.client()
        client.create_table(TableName="things", **schema("p:S", gsi={"all": ("g:S", "n:N", "ALL")}))
        for number in range(300):
            client.put_item(TableName="things", Item=item(p=str(number), g="x", n=number))
        items = client.scan(TableName="things")["Items"]
    with Server("--store", postgres_dsn) as server:
        into = run("copy", "things", "--from-data-dir", here, "--to-url", server.url, "--compare")
        assert "300 items in both" in into.output
        indexed = http_client(server.url).query(
            TableName="things",
            IndexName="all",
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": "x"}},
        )
        assert indexed["Count"] == 300
        out = run("copy", "things", "--from-url", server.url, "--to-data-dir", back, "--compare")
        assert "300 items in both" in out.output
        http_client(server.url).put_item(TableName="things", Item=item(p="later"))
        differing = run(
            "copy", "things", "--from-data-dir", here, "--to-url", server.url, "--compare", code=1
        )
        assert "things has 300 items, its copy things has 301." in differing.output
    with LocalDatabase(back) as database:
        key = str
        assert sorted(database.client().scan(TableName="things")["Items"], key=key) == sorted(items, key=key)


def test_nodes_are_listed_through_any_of_them_and_through_the_store(
    postgres_dsn: str, tmp_path: Path
) -> None:
    options = ("--store", postgres_dsn, "--data-dir", str(tmp_path))
    with Server(*options) as first, Server(*options) as second:
        lists = [
            json.loads(run("nodes", "--json", "--url", first.url).output),
            json.loads(run("nodes", "--json", "--endpoint-url", second.url).output),
            json.loads(run("nodes", "--json", "--store", postgres_dsn).output),
        ]
        for found in lists:
            assert [each["address"] for each in found] == [first.url, second.url]
            assert {each["status"] for each in found} == {"alive"}
        assert first.url in run("nodes", "--url", first.url).output
        command = [
            sys.executable,
            "-m",
            "faradisc",
            "serve",
            "--port",
            "0",
            *options,
            "--transition-ms",
            "77",
        ]
        other = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert other.returncode == 1
        assert first.url in other.stderr and "transition_ms=77" in other.stderr
        assert second.stop() == 0
        (left,) = json.loads(run("nodes", "--json", "--url", first.url).output)
        assert left["address"] == first.url


def test_a_server_over_a_directory_has_no_nodes_to_list(tmp_path: Path) -> None:
    with Server("--memory") as server:
        assert json.loads(run("nodes", "--json", "--url", server.url).output) == []
        assert "No servers" in run("nodes", "--url", server.url).output


def test_backups_need_a_directory_that_was_named(postgres_dsn: str) -> None:
    with Server("--store", postgres_dsn) as server:
        client = http_client(server.url)
        client.create_table(TableName="things", **schema("p:S"))
        try:
            client.create_backup(TableName="things", BackupName="saved")
            raise AssertionError("it was begun")
        except client.exceptions.ClientError as error:
            assert "start each of them with --data-dir" in str(error)
