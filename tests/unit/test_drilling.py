"""The comparison of a drill, where the table is written between the backup and the comparison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faradisc.errors import RequestRejected
from faradisc.tools.transfer.drilling import drill
from faradisc.tools.transfer.endpoints import Directory, Endpoint

ITEMS = 230
"""More than BatchGetItem reads at once."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Directory]:
    with closing(Directory(tmp_path)) as opened:
        opened.call(
            "CreateTable",
            {
                "TableName": "orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            },
        )
        opened.wait()
        for number in range(ITEMS):
            put(opened, number, "first")
        yield opened


def put(database: Endpoint, number: int, value: str) -> None:
    item = {"p": {"S": f"p{number}"}, "v": {"S": value}}
    database.call("PutItem", {"TableName": "orders", "Item": item})


def finished(database: Endpoint, _: str) -> None:
    database.wait()


def test_changed_and_added_items_are_reported(database: Directory) -> None:
    def restored_while_written(endpoint: Endpoint, name: str) -> None:
        finished(endpoint, name)
        put(endpoint, 7, "second")
        endpoint.call("DeleteItem", {"TableName": "orders", "Key": {"p": {"S": "p8"}}})
        for number in range(ITEMS, ITEMS + 3):
            put(endpoint, number, "new")

    report = drill(database, "orders", "rehearsal", backed_up=finished, restored=restored_while_written)
    assert not report.passed
    assert (report.restored_items, report.equal_items, report.differing_items) == (ITEMS, ITEMS - 2, 2)
    assert sorted(key["p"]["S"] for key in report.differing_keys) == ["p7", "p8"]
    assert report.additional_items == 2


def test_a_drill_that_fails_removes_its_backup(database: Directory) -> None:
    def failing(_: Endpoint, __: str) -> None:
        raise RequestRejected("Failed", "the restore")

    with pytest.raises(RequestRejected):
        drill(database, "orders", "rehearsal", backed_up=finished, restored=failing)
    database.wait()
    assert database.call("ListBackups", {})["BackupSummaries"] == []
    assert database.call("ListTables", {})["TableNames"] == ["orders"]


def test_a_drill_can_keep_what_it_made(database: Directory) -> None:
    report = drill(database, "orders", "rehearsal", backed_up=finished, restored=finished, keep=True)
    assert report.passed and "removal" not in report.seconds
    assert database.call("ListTables", {})["TableNames"] == ["orders", "rehearsal"]
