"""ListTables: order and paging. Sources: limits.md section 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.in_process import InProcess
from fixtures.schemas import invalid, schema


@pytest.fixture
def client(open_process: Callable[..., InProcess]) -> Any:
    """A client of a database whose tables are all known here."""
    return open_process(transition_ms=0).client()


def make(client: Any, *names: str) -> None:
    for name in names:
        client.create_table(TableName=name, **schema("p:S"))


def test_no_tables_is_an_empty_list(client: Any) -> None:
    page = client.list_tables()
    assert page["TableNames"] == []
    assert "LastEvaluatedTableName" not in page


def test_names_come_sorted_by_bytes(client: Any) -> None:
    make(client, "bbb", "Zzz", "a.a", "a-a", "a_a", "aaa", "000")
    assert client.list_tables()["TableNames"] == ["000", "Zzz", "a-a", "a.a", "a_a", "aaa", "bbb"]


def test_a_page_holds_100_names_by_default(client: Any) -> None:
    names = [f"table{number:03}" for number in range(102)]
    make(client, *names)
    page = client.list_tables()
    assert page["TableNames"] == names[:100]
    assert page["LastEvaluatedTableName"] == "table099"
    rest = client.list_tables(ExclusiveStartTableName="table099")
    assert rest["TableNames"] == names[100:]
    assert "LastEvaluatedTableName" not in rest


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_pages_of_any_size_give_every_name_once(client: Any, limit: int) -> None:
    make(client, "aaa", "bbb", "ccc", "ddd")
    paginator = client.get_paginator("list_tables")
    found = list(paginator.paginate(PaginationConfig={"PageSize": limit}))
    assert [name for page in found for name in page["TableNames"]] == ["aaa", "bbb", "ccc", "ddd"]
    assert all(len(page["TableNames"]) <= limit for page in found)


def test_the_start_table_need_not_exist(client: Any) -> None:
    make(client, "aaa", "ccc")
    assert client.list_tables(ExclusiveStartTableName="bbb")["TableNames"] == ["ccc"]
    assert client.list_tables(ExclusiveStartTableName="zzz")["TableNames"] == []


@pytest.mark.parametrize(
    ("limit", "constraint"),
    [
        (0, "Member must have value greater than or equal to 1"),
        (101, "Member must have value less than or equal to 100"),
    ],
)
def test_limits_out_of_range_are_rejected(client: Any, limit: int, constraint: str) -> None:
    with invalid(
        f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: {constraint}"
    ):
        client.list_tables(Limit=limit)
