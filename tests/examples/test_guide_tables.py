"""The four tables of the developer guide are created, loaded, queried and read back."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from examples.guide_tables.items import ITEMS
from examples.guide_tables.load import create_tables, delete_tables, load_items
from examples.guide_tables.queries import QUERIES
from examples.guide_tables.tables import TABLES

from fixtures.schemas import plain
from fixtures.served import Server

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def guide(dynamodb: Any) -> Any:
    create_tables(dynamodb)
    load_items(dynamodb)
    return dynamodb


def _ask(client: Any, sentence: str) -> Any:
    ((method, request),) = [
        (method, request) for name, method, request in QUERIES if name.startswith(sentence)
    ]
    return getattr(client, method)(**request)


def test_all_items_are_loaded(guide: Any) -> None:
    for table in TABLES:
        name = table["TableName"]
        found = [plain(item) for item in guide.scan(TableName=name)["Items"]]
        assert len(found) == len(ITEMS[name])
        assert all(item in found for item in ITEMS[name])


def test_queries(guide: Any) -> None:
    assert plain(_ask(guide, "One product")["Item"]) == {
        "Title": "20-Bike-205",
        "Safety": {"Tests": {"Brakes": Decimal("9.1")}},
    }
    bikes = [plain(item)["Id"] for item in _ask(guide, "Red bicycles")["Items"]]
    assert sorted(bikes) == [201, 203]
    threads = [plain(item)["Subject"] for item in _ask(guide, "The threads of a forum")["Items"]]
    assert threads == ["Thread 1: which key?", "Thread 2: empty strings"]
    replies = _ask(guide, "The replies to a thread")["Items"]
    assert [plain(reply)["PostedBy"] for reply in replies] == ["User B"]
    said = _ask(guide, "All that User A said")["Items"]
    assert [plain(reply)["Message"] for reply in said] == ["Allowed everywhere but in keys."] * 2
    updated = plain(_ask(guide, "One more view")["Attributes"])
    assert updated == {"Views": 15, "Tags": {"key", "table", "design", "order"}}


def test_tables_are_deleted(guide: Any) -> None:
    delete_tables(guide)
    assert not {table["TableName"] for table in TABLES} & set(guide.list_tables()["TableNames"])


def test_items_equal_those_of_boto3_serialization() -> None:
    """The items have attributes of every type."""
    serialize = TypeSerializer().serialize
    kinds = {
        next(iter(serialize(value))) for items in ITEMS.values() for item in items for value in item.values()
    }
    assert kinds == {"S", "N", "B", "BOOL", "NULL", "SS", "NS", "L", "M"}


def test_as_a_program(memory_server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.guide_tables", "--endpoint-url", memory_server.url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("18 items in 4 tables\n")
