"""Items in and out of vector indexes, what is refused, and what a write costs.

Source: new-features.md section 13, "Writes" and "Capacity". Assumed: the texts about types beyond
"Invalid type for parameter", and that an INLINE_FILTER attribute may have any type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.schemas import invalid, item, refused, schema

INVALID = "One or more parameter values were invalid: "
SIZE = f"{INVALID}Invalid size for parameter e, Expected: 3, Actual: 2. IndexName: tenants"


def vector(*elements: float | str) -> dict[str, Any]:
    return {"L": [{"N": str(element)} for element in elements]}


def row(p: str, *elements: float | str, **more: Any) -> dict[str, Any]:
    return {**item(p=p, **more), "e": vector(*elements)}


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    """Key `p:S`; vectors of three elements in `e`; HASH `h:S`, filter `f:N`; KEYS_ONLY."""
    members = schema("p:S")
    members["AttributeDefinitions"] += [
        {"AttributeName": "h", "AttributeType": "S"},
        {"AttributeName": "f", "AttributeType": "N"},
    ]
    index = {
        "IndexName": "tenants",
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": 3,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "SearchSchema": [
            {"AttributeName": "h", "SearchSchemaElementType": "HASH"},
            {"AttributeName": "f", "SearchSchemaElementType": "INLINE_FILTER"},
        ],
    }
    return create("p:S", AttributeDefinitions=members["AttributeDefinitions"], VectorIndexes=[index])


@pytest.fixture
def put(dynamodb: Any, table: str) -> Callable[..., Any]:
    def put(entry: dict[str, Any], **more: Any) -> Any:
        return dynamodb.put_item(TableName=table, Item=entry, **more)

    return put


@pytest.fixture
def held(dynamodb: Any, table: str) -> Callable[[], list[tuple[str, float]]]:
    """held() -> keys and distances from the origin of what tenant `x` has, the nearest first."""

    def held() -> list[tuple[str, float]]:
        found = dynamodb.search_vectors(
            TableName=table,
            IndexName="tenants",
            SearchVector=[{"N": "0"}] * 3,
            TopK=100,
            SearchConditionExpression="h = :h",
            ExpressionAttributeValues=item(**{":h": "x"}),
        )["SearchResults"]
        return [(each["Item"]["p"]["S"], each["Score"]) for each in found]

    return held


def test_items_without_vector_or_hash_are_not_in_the_index(put: Any, held: Any) -> None:
    put(row("in", 1, 0, 0, h="x", f=1))
    put(row("no filter", 2, 0, 0, h="x"))
    put(row("other type of filter", 3, 0, 0, h="x", f="text"))
    put(row("no hash", 1, 0, 0, f=1))
    put(item(p="no vector", h="x"))
    assert held() == [("in", 1.0), ("no filter", 2.0), ("other type of filter", 3.0)]


def test_the_next_search_sees_every_kind_of_write(dynamodb: Any, table: str, put: Any, held: Any) -> None:
    """The matrix is in memory from the first search on, and is renewed by each of these."""
    put(row("a", 1, 0, 0, h="x"))
    assert held() == [("a", 1.0)]
    put(row("a", 0, 2, 0, h="x"))
    put(row("b", 0, 0, 1, h="x"))
    assert held() == [("b", 1.0), ("a", 2.0)]
    dynamodb.update_item(
        TableName=table,
        Key=item(p="b"),
        UpdateExpression="SET e[0] = :n",
        ExpressionAttributeValues=item(**{":n": 7}),
    )
    assert [p for p, _ in held()] == ["a", "b"]
    dynamodb.update_item(TableName=table, Key=item(p="a"), UpdateExpression="REMOVE h")
    assert [p for p, _ in held()] == ["b"]
    dynamodb.batch_write_item(
        RequestItems={
            table: [
                {"DeleteRequest": {"Key": item(p="b")}},
                {"PutRequest": {"Item": row("c", 3, 0, 0, h="x")}},
            ]
        }
    )
    assert held() == [("c", 3.0)]
    dynamodb.transact_write_items(
        TransactItems=[
            {"Delete": {"TableName": table, "Key": item(p="c")}},
            {"Put": {"TableName": table, "Item": row("d", 4, 0, 0, h="x")}},
        ]
    )
    assert held() == [("d", 4.0)]
    dynamodb.execute_statement(Statement=f"DELETE FROM \"{table}\" WHERE p = 'd'")
    assert held() == []


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "too short": ({"e": vector(1, 2)}, SIZE),
    "no list": (
        {"e": {"S": "text"}},
        f"{INVALID}Invalid type for parameter e, Expected: L, Actual: S. IndexName: tenants",
    ),
    "no number": (
        {"e": {"L": [{"N": "1"}, {"S": "2"}, {"N": "3"}]}},
        f"{INVALID}Invalid type for parameter e[1], Expected: N, Actual: S. IndexName: tenants",
    ),
    "not a 32-bit float": (
        {"e": vector(1, 2, "3.5E38")},
        f"{INVALID}Invalid type for parameter e[2], Expected: 32-bit floating-point number, "
        f"Actual: 35{'0' * 37}. IndexName: tenants",
    ),
    "type of HASH": (
        {"e": vector(1, 2, 3), "h": {"N": "1"}},
        f"{INVALID}Type mismatch for Index Key h Expected: S Actual: N IndexName: tenants",
    ),
    "empty HASH": (
        {"h": {"S": ""}},
        "One or more parameter values are not valid. A value specified for a secondary index key is not "
        "supported. The AttributeValue for a key attribute cannot contain an empty string value. "
        "IndexName: tenants, IndexKey: h",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_put_rejects_invalid_vectors(dynamodb: Any, table: str, put: Any, held: Any, what: str) -> None:
    attributes, text = REFUSED[what]
    with invalid(text):
        put({**item(p="a", h="x"), **attributes})
    with invalid(text):
        request = {"PutRequest": {"Item": {**item(p="a", h="x"), **attributes}}}
        dynamodb.batch_write_item(RequestItems={table: [request]})
    assert held() == []


def test_update_rejects_invalid_vectors(dynamodb: Any, table: str, put: Any, held: Any) -> None:
    put(row("a", 1, 0, 0, h="x"))
    with invalid(SIZE):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="a"),
            UpdateExpression="SET e = :e",
            ExpressionAttributeValues={":e": vector(1, 2)},
        )
    with invalid(SIZE):
        dynamodb.update_item(TableName=table, Key=item(p="a"), UpdateExpression="REMOVE e[0]")
    assert held() == [("a", 1.0)]


def test_a_transaction_with_an_invalid_vector_writes_nothing(
    dynamodb: Any, table: str, put: Any, held: Any
) -> None:
    with refused("TransactionCanceledException"):
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": row("a", 1, 0, 0, h="x")}},
                {"Put": {"TableName": table, "Item": row("b", 1, 0, h="x")}},
            ]
        )
    assert held() == []


def test_the_item_keeps_its_digits(dynamodb: Any, table: str, put: Any) -> None:
    """More precision than 32 bits have is lost in the index only."""
    entry = row("a", "0.12345678901234567890", 1, 1, h="x")
    put(entry)
    kept = dynamodb.get_item(TableName=table, Key=item(p="a"))["Item"]
    assert kept["e"]["L"][0] == {"N": "0.1234567890123456789"}


@pytest.fixture
def charged(dynamodb: Any, table: str) -> Iterator[Callable[..., Any]]:
    """charged(entry) -> VectorWriteRequestBytes by index of a put."""

    def charged(entry: dict[str, Any]) -> Any:
        answer = dynamodb.put_item(TableName=table, Item=entry, ReturnConsumedCapacity="INDEXES")
        return {
            name: arm["VectorWriteRequestBytes"]
            for name, arm in answer["ConsumedCapacity"].get("VectorIndexes", {}).items()
        }

    yield charged


def test_writes_are_charged_by_what_changes_in_the_index(
    dynamodb: Any, table: str, charged: Callable[..., Any]
) -> None:
    assert charged(row("a", 1, 0, 0, h="x")) == {"tenants": 1024}
    assert charged(row("a", 1, 0, 0, h="x")) == {}
    assert charged(row("a", 1, 0, 0, h="x", unprojected=1)) == {}
    assert charged(row("a", "1.00000000001", 0, 0, h="x")) == {}, "the same 32-bit float"
    assert charged(row("a", 2, 0, 0, h="x")) == {"tenants": 1024}
    assert charged(row("a", 2, 0, 0, h="y")) == {"tenants": 2048}
    assert charged(item(p="a")) == {"tenants": 1024}
    assert charged(item(p="b")) == {}


def test_vector_bytes_are_in_no_sum_of_units(dynamodb: Any, table: str, put: Any) -> None:
    answer = put(row("a", 1, 0, 0, h="x"), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 1.0}


# --- Units of the table: recorded 9 and 22 October 2026 (new-features.md section 13) ---------------

DIMENSIONS = 200
OTHERS = len("paex") + 4 * DIMENSIONS


@pytest.fixture
def wide(create: Callable[..., str]) -> str:
    """A table with 200 dimensions in `e`, whose numbers have more bytes than 4 per dimension."""
    index = {
        "IndexName": "wide",
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": DIMENSIONS,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    return create("p:S", AttributeDefinitions=schema("p:S")["AttributeDefinitions"], VectorIndexes=[index])


def billed(size_bytes: int) -> dict[str, Any]:
    """An item that is charged as this many bytes."""
    return row("a", *["0.1234567"] * DIMENSIONS, x="x" * (size_bytes - OTHERS))


def capacity(answer: dict[str, Any]) -> float:
    shown = answer["ConsumedCapacity"]
    units = (shown[0] if isinstance(shown, list) else shown)["CapacityUnits"]
    return float(units)


@pytest.mark.parametrize(("size_bytes", "units"), [(1024, 1), (1025, 2)])
def test_writes_charge_four_bytes_per_dimension(
    dynamodb: Any, wide: str, size_bytes: int, units: int
) -> None:
    entry, key = billed(size_bytes), item(p="a")
    total = {"ReturnConsumedCapacity": "TOTAL"}
    batch = {wide: [{"PutRequest": {"Item": entry}}]}
    set_y = {"TableName": wide, "Key": key, "UpdateExpression": "SET x = x", **total}
    transaction = [{"Put": {"TableName": wide, "Item": entry}}]
    delete = f"DELETE FROM \"{wide}\" WHERE p = 'a'"
    answers = [
        dynamodb.put_item(TableName=wide, Item=entry, **total),
        dynamodb.put_item(TableName=wide, Item=entry, **total),
        dynamodb.batch_write_item(RequestItems=batch, **total),
        dynamodb.update_item(**set_y),
        dynamodb.execute_statement(Statement=delete, **total),
    ]
    assert [capacity(answer) for answer in answers] == [units] * 5
    assert capacity(dynamodb.transact_write_items(TransactItems=transaction, **total)) == 2 * units
    assert capacity(dynamodb.delete_item(TableName=wide, Key=key, **total)) == units


@pytest.mark.parametrize(("size_bytes", "units"), [(4096, 1), (4097, 2)])
def test_reads_charge_four_bytes_per_dimension(dynamodb: Any, wide: str, size_bytes: int, units: int) -> None:
    entry, key = billed(size_bytes), item(p="a")
    dynamodb.put_item(TableName=wide, Item=entry)
    total: dict[str, Any] = {"ReturnConsumedCapacity": "TOTAL"}
    consistent = {"ConsistentRead": True, **total}
    condition = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": item(**{":p": "a"})}
    statements = [f'SELECT * FROM "{wide}" WHERE {where}' for where in ("p = 'a'", "p IN ['a', 'b']")]
    answers = [
        dynamodb.get_item(TableName=wide, Key=key, **consistent),
        dynamodb.query(TableName=wide, **condition, **consistent),
        dynamodb.batch_get_item(RequestItems={wide: {"Keys": [key], "ConsistentRead": True}}, **total),
        *[dynamodb.execute_statement(Statement=statement, **consistent) for statement in statements],
    ]
    empty_partition = [0, 0, 0, 0, 1]
    assert [capacity(answer) for answer in answers] == [units + more for more in empty_partition]
    get = [{"Get": {"TableName": wide, "Key": key}}]
    assert capacity(dynamodb.transact_get_items(TransactItems=get, **total)) == 2 * units
