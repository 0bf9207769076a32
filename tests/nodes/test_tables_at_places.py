"""Servers whose tables are at several PostgreSQLs, and what an administrator sees and does there.

tests/storage/postgres/test_places.py has the store below; every second database of the conformance tests on
nodes has two places too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from faradisc.cli.main import cli
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from fixtures.clients import http_client
from fixtures.places import new_places
from fixtures.schemas import schema
from fixtures.served import Server


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_tables_are_listed_moved_spread_and_drained(postgres: str, tmp_path: Path) -> None:
    store = tmp_path / "places"
    store.write_text("# two places\n" + "\n".join(new_places(postgres)) + "\n")
    with Server("--store", str(store), "--data-dir", str(tmp_path)) as server:
        client = http_client(server.url)
        names = ["one", "two", "three"]
        for name in names:
            client.create_table(
                TableName=name,
                **schema("p:S"),
                StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            )
            client.get_waiter("table_exists").wait(TableName=name)

        def put(number: int) -> None:
            item = {"p": {"S": str(number)}}
            client.transact_write_items(
                TransactItems=[{"Put": {"TableName": name, "Item": item}} for name in names]
            )

        def places(*arguments: str) -> dict[str, Any]:
            document = json.loads(run("place", *arguments, "--url", server.url, "--json").stdout)
            return {each["table"]: each["places"] for each in document["tables"]}

        put(1)
        at = places()
        assert sorted(at[name][0] for name in names) in ([0, 0, 1], [0, 1, 1])
        here = at["one"][0]
        assert places("one", str(1 - here), "--wait")["one"] == [1 - here]
        put(2)
        assert places("two", "--spread", "--wait")["two"] == [0, 1]
        put(3)
        assert set(map(tuple, places("--drain", "1", "--wait").values())) == {(0,)}
        assert "Place 1 is no place" in run("place", "one", "1", "--url", server.url, code=1).stderr
        places("--add", "1")
        shown = run("place", "--url", server.url).stdout
        assert "up" in shown
        assert "0 tables" in shown
        moves = run("place", "--balance", "--url", server.url).stdout
        assert "to place 1" in moves
        assert {place for (place,) in places("--balance", "--yes", "--wait").values()} == {0, 1}
        put(4)
        for name in names:
            found = client.scan(TableName=name, ConsistentRead=True)["Items"]
            assert sorted(item["p"]["S"] for item in found) == ["1", "2", "3", "4"]
        token = "a" * 36
        request = {"TransactItems": [{"Put": {"TableName": "one", "Item": {"p": {"S": "token"}}}}]}
        client.transact_write_items(ClientRequestToken=token, **request)
        client.delete_item(TableName="one", Key={"p": {"S": "token"}})
        client.transact_write_items(ClientRequestToken=token, **request)
        assert "Item" not in client.get_item(TableName="one", Key={"p": {"S": "token"}}, ConsistentRead=True)
        assert run("nodes", "--url", server.url).stderr == ""
        assert run("nodes", "--store", str(store)).stderr == ""
        assert "no problem" in run("check", "--url", server.url).stdout
    assert "no problem" in run("check", "--store", str(store)).stdout


def test_a_table_at_one_postgresql_is_moved_nowhere(postgres_dsn: str) -> None:
    with Server("--store", postgres_dsn) as server:
        assert "All tables are at one place" in run("place", "--url", server.url, code=1).stderr


@pytest.mark.parametrize(
    ("store", "places", "text"),
    [
        ("postgresql://a/db mysql://b/db", 1, "several of them"),
        ("no such file", 1, "is no address, and no file"),
        ("postgresql://a/db", 2, "--places is for --store postgres:DIRECTORY"),
        ("postgres:here", 17, "from 1 to 16"),
        ("", 2, "--places needs --store"),
    ],
)
def test_a_store_of_several_places_is_named_in_three_ways(store: str, places: int, text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        ServerSettings(store=store, places=places)
