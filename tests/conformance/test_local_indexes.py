"""Local secondary indexes: order, projections, attributes fetched from the table, collections.

Sources: limits.md section 5; capacity.md section 2.2; capacity-consumption.md section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faradisc.local import LocalDatabase
from fixtures.schemas import everything, invalid, item, pages, plain


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """Items r = 0..5; the index key a falls as r rises; item 5 has none."""
    name = create(
        "p:S",
        "r:N",
        lsi={"keys": ("a:N", "KEYS_ONLY"), "some": ("a:N", ["x"]), "all": ("a:N", "ALL")},
    )
    for number in range(5):
        dynamodb.put_item(
            TableName=name, Item=item(p="1", r=number, a=-number // 2, x=number, y=number, z="z")
        )
    dynamodb.put_item(TableName=name, Item=item(p="1", r=5, x=5))
    dynamodb.put_item(TableName=name, Item=item(p="2", r=0, a=0))
    return name


def query(table: str, index: str, **more: Any) -> dict[str, Any]:
    return {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
        **more,
    }


def numbers(items: list[dict[str, Any]]) -> list[int]:
    return [int(plain(found)["r"]) for found in items]


def test_entries_come_by_index_key_then_by_table_key(dynamodb: Any, table: str) -> None:
    """a is 0, -1, -1, -2, -2 for r = 0..4; an item without a is not in the index."""
    assert numbers(dynamodb.query(**query(table, "all"))["Items"]) == [3, 4, 1, 2, 0]
    backwards = dynamodb.query(**query(table, "all", ScanIndexForward=False))["Items"]
    assert numbers(backwards) == [0, 2, 1, 4, 3]


@pytest.mark.parametrize("index", ["keys", "some", "all"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_over_duplicate_index_keys(
    dynamodb: Any, table: str, index: str, limit: int, forward: bool
) -> None:
    found = list(pages(dynamodb.query, **query(table, index, Limit=limit, ScanIndexForward=forward)))
    order = [3, 4, 1, 2, 0]
    assert numbers([i for page in found for i in page["Items"]]) == (order if forward else order[::-1])
    for page in found[:-1]:
        assert set(page["LastEvaluatedKey"]) == {"p", "r", "a"}


PROJECTED = {
    "keys": {"p": "1", "r": 2, "a": -1},
    "some": {"p": "1", "r": 2, "a": -1, "x": 2},
    "all": {"p": "1", "r": 2, "a": -1, "x": 2, "y": 2, "z": "z"},
}


@pytest.mark.parametrize(("index", "shown"), PROJECTED.items(), ids=PROJECTED)
@pytest.mark.parametrize("select", [{}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}], ids=["default", "projected"])
def test_an_index_shows_what_it_projects(
    dynamodb: Any, table: str, index: str, shown: dict[str, Any], select: dict[str, str]
) -> None:
    entries = dynamodb.query(**query(table, index, **select))["Items"]
    assert plain(entries[3]) == shown


@pytest.mark.parametrize("index", PROJECTED)
def test_all_attributes_are_fetched_from_the_table(dynamodb: Any, table: str, index: str) -> None:
    entries = dynamodb.query(**query(table, index, Select="ALL_ATTRIBUTES"))["Items"]
    assert plain(entries[3]) == PROJECTED["all"]
    assert len(entries) == 5


@pytest.mark.parametrize("index", PROJECTED)
def test_projected_attributes_are_fetched_from_the_table(dynamodb: Any, table: str, index: str) -> None:
    entries = dynamodb.query(**query(table, index, ProjectionExpression="r, y"))["Items"]
    assert [plain(i) for i in entries] == [{"r": n, "y": n} for n in (3, 4, 1, 2, 0)]


@pytest.mark.parametrize("index", PROJECTED)
def test_count_works_on_every_index(dynamodb: Any, table: str, index: str) -> None:
    assert dynamodb.query(**query(table, index, Select="COUNT"))["Count"] == 5


def test_consistent_reads_are_allowed(dynamodb: Any, table: str) -> None:
    assert dynamodb.query(**query(table, "all", ConsistentRead=True))["Count"] == 5


def test_a_scan_of_an_index_shows_entries_of_every_partition(dynamodb: Any, table: str) -> None:
    found = everything(dynamodb.scan, TableName=table, IndexName="keys", Limit=2)
    assert len(found) == 6
    assert all(set(entry) == {"p", "r", "a"} for entry in found)


def test_a_scan_fetches_attributes_from_the_table(dynamodb: Any, table: str) -> None:
    found = everything(dynamodb.scan, TableName=table, IndexName="keys", Select="ALL_ATTRIBUTES")
    assert {plain(i)["z"] for i in found if plain(i)["p"] == "1"} == {"z"}


def test_filters_see_projected_attributes(dynamodb: Any, table: str) -> None:
    found = dynamodb.query(
        **query(
            table,
            "some",
            FilterExpression="x > :one",
            ExpressionAttributeValues=item(**{":p": "1", ":one": 1}),
        )
    )
    assert numbers(found["Items"]) == [3, 4, 2]
    assert found["ScannedCount"] == 5


def test_filters_on_the_index_key_are_rejected(dynamodb: Any, table: str) -> None:
    with invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: a"):
        dynamodb.query(**query(table, "all", FilterExpression="attribute_exists(a)"))


def test_the_table_s_sort_key_is_no_key_of_the_index(dynamodb: Any, table: str) -> None:
    found = dynamodb.query(
        **query(
            table, "all", FilterExpression="r > :r", ExpressionAttributeValues=item(**{":p": "1", ":r": 2})
        )
    )
    assert numbers(found["Items"]) == [3, 4]


CHANGES: dict[str, tuple[Callable[[Any, str], Any], list[int]]] = {
    "key moved": (
        lambda c, t: c.update_item(
            TableName=t,
            Key=item(p="1", r=0),
            UpdateExpression="SET a = :a",
            ExpressionAttributeValues={":a": {"N": "-9"}},
        ),
        [0, 3, 4, 1, 2],
    ),
    "key removed": (
        lambda c, t: c.update_item(TableName=t, Key=item(p="1", r=0), UpdateExpression="REMOVE a"),
        [3, 4, 1, 2],
    ),
    "key added": (
        lambda c, t: c.update_item(
            TableName=t,
            Key=item(p="1", r=5),
            UpdateExpression="SET a = :a",
            ExpressionAttributeValues={":a": {"N": "9"}},
        ),
        [3, 4, 1, 2, 0, 5],
    ),
    "item deleted": (lambda c, t: c.delete_item(TableName=t, Key=item(p="1", r=3)), [4, 1, 2, 0]),
    "item replaced": (
        lambda c, t: c.put_item(TableName=t, Item=item(p="1", r=3, a=7)),
        [4, 1, 2, 0, 3],
    ),
    "batch": (
        lambda c, t: c.batch_write_item(
            RequestItems={
                t: [
                    {"DeleteRequest": {"Key": item(p="1", r=0)}},
                    {"PutRequest": {"Item": item(p="1", r=6, a=-5)}},
                    {"PutRequest": {"Item": item(p="1", r=4, a=5)}},
                ]
            }
        ),
        [6, 3, 1, 2, 4],
    ),
}


@pytest.mark.parametrize("index", PROJECTED)
@pytest.mark.parametrize(("change", "order"), CHANGES.values(), ids=CHANGES)
def test_every_write_path_keeps_the_index(
    dynamodb: Any, table: str, change: Callable[[Any, str], Any], order: list[int], index: str
) -> None:
    """Old entries are removed on every write path (engine-requirements.md, class 2)."""
    change(dynamodb, table)
    assert numbers(dynamodb.query(**query(table, index))["Items"]) == order


# --- Item collections ----------------------------------------------------------------------------


def test_collection_metrics_are_given_on_request(dynamodb: Any, table: str) -> None:
    """[0, 1] for small ones (capacity-consumption.md section 5)."""
    wanted = {"ItemCollectionKey": item(p="1"), "SizeEstimateRangeGB": [0.0, 1.0]}
    size = {"TableName": table, "ReturnItemCollectionMetrics": "SIZE"}
    put = dynamodb.put_item(Item=item(p="1", r=9), **size)
    update = dynamodb.update_item(Key=item(p="1", r=9), **size)
    delete = dynamodb.delete_item(Key=item(p="1", r=9), **size)
    for answer in (put, update, delete):
        assert answer["ItemCollectionMetrics"] == wanted
    batch = dynamodb.batch_write_item(
        RequestItems={
            table: [
                {"PutRequest": {"Item": item(p="1", r=9)}},
                {"PutRequest": {"Item": item(p="1", r=10)}},
                {"PutRequest": {"Item": item(p="3", r=9)}},
            ]
        },
        ReturnItemCollectionMetrics="SIZE",
    )
    assert batch["ItemCollectionMetrics"] == {
        table: [wanted, {"ItemCollectionKey": item(p="3"), "SizeEstimateRangeGB": [0.0, 1.0]}]
    }


def test_collection_metrics_are_absent_without_local_index(
    dynamodb: Any, create: Callable[..., str], table: str
) -> None:
    plain_table = create("p:S", "r:N")
    asked = dynamodb.put_item(
        TableName=plain_table, Item=item(p="1", r=1), ReturnItemCollectionMetrics="SIZE"
    )
    assert "ItemCollectionMetrics" not in asked
    assert "ItemCollectionMetrics" not in dynamodb.put_item(TableName=table, Item=item(p="1", r=1))


def test_a_collection_is_limited_with_its_local_entries() -> None:
    """V116 at a smaller limit: at the limit a growing put is refused, a shrinking update and a delete are
    not (capacity.md section 4.6)."""
    with LocalDatabase(collection_bytes_max=10_000) as database:
        _fill_a_collection(database.client())


def _fill_a_collection(dynamodb: Any) -> None:
    table = "Limited"
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in ("pS", "rN", "aN")
        ],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
        LocalSecondaryIndexes=[
            {
                "IndexName": "all",
                "KeySchema": [
                    {"AttributeName": "p", "KeyType": "HASH"},
                    {"AttributeName": "a", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    for number in range(4):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=number, a=number, data="x" * 1_000))
    with pytest.raises(dynamodb.exceptions.ItemCollectionSizeLimitExceededException):
        dynamodb.put_item(TableName=table, Item=item(p="1", r=4, a=4, data="x" * 1_000))
    _cancel_what_grows_it(dynamodb, table)
    with pytest.raises(dynamodb.exceptions.ItemCollectionSizeLimitExceededException):
        dynamodb.batch_write_item(
            RequestItems={table: [{"PutRequest": {"Item": item(p="1", r=4, a=4, data="x" * 1_000)}}]}
        )
    dynamodb.put_item(TableName=table, Item=item(p="2", r=4, a=4, data="x" * 1_000))
    dynamodb.update_item(
        TableName=table,
        Key=item(p="1", r=0),
        UpdateExpression="REMOVE #d",
        ExpressionAttributeNames={"#d": "data"},
    )
    dynamodb.delete_item(TableName=table, Key=item(p="1", r=1))
    dynamodb.put_item(TableName=table, Item=item(p="1", r=4, a=4, data="x" * 1_000))


def _cancel_what_grows_it(dynamodb: Any, table: str) -> None:
    """A transaction reports the actions that grow the collection, and no others."""

    def put(p: str, r: int) -> dict[str, Any]:
        return {"Put": {"TableName": table, "Item": item(p=p, r=r, a=r, data="x" * 1_000)}}

    with pytest.raises(dynamodb.exceptions.TransactionCanceledException) as caught:
        dynamodb.transact_write_items(
            TransactItems=[
                put("2", 9),
                put("1", 9),
                {"Delete": {"TableName": table, "Key": item(p="1", r=77)}},
                put("1", 10),
            ]
        )
    full = {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."}
    reasons = caught.value.response["CancellationReasons"]
    assert reasons == [{"Code": "None"}, full, {"Code": "None"}, full]
    assert (
        dynamodb.query(
            TableName=table, KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": {"S": "2"}}
        )["Items"]
        == []
    )
