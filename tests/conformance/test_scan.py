"""Scan: every item once, in pages and in parallel segments, in hash order.

Sources: limits.md section 4; docs/formats/keys.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import md5
from typing import Any

import pytest

from fixtures.schemas import everything, item, pages, plain

ITEMS = 40


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """40 items: 20 partition keys, two sort keys each."""
    name = create("p:S", "r:N", gsi={"global": ("g:S", "", "ALL")}, lsi={"local": ("g:S", "ALL")})
    for number in range(ITEMS // 2):
        for sort in (1, 2):
            dynamodb.put_item(TableName=name, Item=item(p=f"key{number}", r=sort, g=f"g{sort}", n=number))
    return name


def keys(items: list[dict[str, Any]]) -> Counter[tuple[Any, Any]]:
    return Counter((plain(found)["p"], plain(found)["r"]) for found in items)


ALL_KEYS = Counter((f"key{number}", sort) for number in range(ITEMS // 2) for sort in (1, 2))


def test_a_scan_gives_every_item_once(dynamodb: Any, table: str) -> None:
    answer = dynamodb.scan(TableName=table)
    assert (answer["Count"], answer["ScannedCount"]) == (ITEMS, ITEMS)
    assert keys(answer["Items"]) == ALL_KEYS
    assert "LastEvaluatedKey" not in answer


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 13, 20, 39, 40, 41, 1000])
def test_pages_of_any_size_give_every_item_once(dynamodb: Any, table: str, limit: int) -> None:
    found = list(pages(dynamodb.scan, TableName=table, Limit=limit))
    assert keys([i for page in found for i in page["Items"]]) == ALL_KEYS
    assert all(page["Count"] <= limit for page in found)
    for page in found[:-1]:
        last = page["Items"][-1]
        assert page["LastEvaluatedKey"] == {"p": last["p"], "r": last["r"]}


@pytest.mark.parametrize("source", ["table", "local", "global"])
@pytest.mark.parametrize("total", [1, 2, 3, 4, 5, 7, 8, 16, 33, 100, 512])
def test_segments_are_disjoint_and_complete(
    dynamodb: Any, table: str, total: int, source: str, in_process_only: None
) -> None:
    index = {} if source == "table" else {"IndexName": source}
    found: list[dict[str, Any]] = []
    for segment in range(total):
        found += everything(dynamodb.scan, TableName=table, Segment=segment, TotalSegments=total, **index)
    assert keys(found) == ALL_KEYS


@pytest.mark.parametrize("total", [1, 2, 3, 5])
def test_segments_in_pages(dynamodb: Any, table: str, total: int) -> None:
    found: list[dict[str, Any]] = []
    for segment in range(total):
        found += everything(dynamodb.scan, TableName=table, Segment=segment, TotalSegments=total, Limit=3)
    assert keys(found) == ALL_KEYS


def test_the_largest_number_of_segments(dynamodb: Any, table: str) -> None:
    """1,000,000 (limits.md section 4): the segment of a key still holds it."""
    position = int.from_bytes(md5(b"Outlierskey7").digest(), "big") * 1_000_000 >> 128
    answer = dynamodb.scan(TableName=table, Segment=position, TotalSegments=1_000_000)
    assert keys(answer["Items"]) == Counter([("key7", 1), ("key7", 2)])


def test_a_scan_goes_in_hash_order_then_by_sort_key(dynamodb: Any, table: str) -> None:
    """MD5 over `Outliers` and the key, as the real service is seen to scan (docs/formats/keys.md)."""

    def place(found: dict[str, Any]) -> tuple[bytes, Any]:
        values = plain(found)
        return md5(b"Outliers" + values["p"].encode()).digest(), values["r"]

    items = dynamodb.scan(TableName=table)["Items"]
    assert items == sorted(items, key=place)


def test_the_limit_counts_before_the_filter(dynamodb: Any, table: str) -> None:
    parameters = {
        "TableName": table,
        "FilterExpression": "n = :n",
        "ExpressionAttributeValues": {":n": {"N": "3"}},
        "Limit": 10,
    }
    found = list(pages(dynamodb.scan, **parameters))
    assert [page["ScannedCount"] for page in found] == [10, 10, 10, 10, 0]
    assert sum(page["Count"] for page in found) == 2


def test_count_gives_no_items(dynamodb: Any, table: str) -> None:
    answer = dynamodb.scan(TableName=table, Select="COUNT")
    assert "Items" not in answer
    assert answer["Count"] == ITEMS


def test_a_start_key_of_another_segment_is_rejected(dynamodb: Any, table: str) -> None:
    segments = [
        dynamodb.scan(TableName=table, Segment=segment, TotalSegments=2, Limit=1) for segment in (0, 1)
    ]
    start = segments[0]["LastEvaluatedKey"]
    with pytest.raises(dynamodb.exceptions.ClientError, match="The provided starting key is invalid"):
        dynamodb.scan(TableName=table, Segment=1, TotalSegments=2, ExclusiveStartKey=start)


def test_a_start_key_need_not_exist(dynamodb: Any, table: str) -> None:
    rest = everything(dynamodb.scan, TableName=table, ExclusiveStartKey=item(p="key5", r=1))
    assert ("key5", 1) not in keys(rest)
    assert ("key5", 2) in keys(rest)
    absent = everything(dynamodb.scan, TableName=table, ExclusiveStartKey=item(p="no such key", r=1))
    assert not keys(absent) - ALL_KEYS


def test_a_page_ends_at_one_megabyte(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:N")
    for number in range(6):
        dynamodb.put_item(TableName=table, Item=item(p=number, data="x" * 300_000))
    found = list(pages(dynamodb.scan, TableName=table))
    assert len(found) > 1
    assert sorted(plain(i)["p"] for page in found for i in page["Items"]) == list(range(6))


def test_an_empty_table_has_an_empty_scan(dynamodb: Any, create: Callable[..., str]) -> None:
    answer = dynamodb.scan(TableName=create("p:S"))
    assert (answer["Count"], answer["ScannedCount"], answer["Items"]) == (0, 0, [])
    assert "LastEvaluatedKey" not in answer


def test_items_put_and_deleted_while_pages_are_read(dynamodb: Any, table: str) -> None:
    """What is there all the time is seen exactly once, whatever comes and goes around it."""
    seen: list[dict[str, Any]] = []
    for number, page in enumerate(pages(dynamodb.scan, TableName=table, Limit=3)):
        seen += page["Items"]
        dynamodb.put_item(TableName=table, Item=item(p=f"new{number}", r=1))
        dynamodb.delete_item(TableName=table, Key=item(p=f"new{number - 1}", r=1))
    assert Counter({key: n for key, n in keys(seen).items() if key[0].startswith("key")}) == ALL_KEYS
