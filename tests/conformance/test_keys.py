"""Key attributes in requests: which are wanted, of which type, never empty.

Sources: errors.md sections 4 and 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item

MISMATCH = "The provided key element does not match the schema"
INVALID = "One or more parameter values were invalid: "


def empty(name: str, kind: str) -> str:
    return (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        f"cannot contain an empty {kind} value. Key: {name}"
    )


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S", "r:N")


BAD_KEYS: dict[str, dict[str, Any]] = {
    "no attribute": {},
    "partition key only": item(p="1"),
    "sort key only": item(r=1),
    "one too many": item(p="1", r=1, x=1),
    "another name": item(p="1", q=1),
    "wrong type of partition key": item(p=1, r=1),
    "wrong type of sort key": item(p="1", r="1"),
    "a set": {"p": {"SS": ["1"]}, "r": {"N": "1"}},
}


@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS)
@pytest.mark.parametrize("operation", ["get_item", "delete_item", "update_item"])
def test_a_key_that_is_not_the_table_s_is_rejected(
    dynamodb: Any, table: str, operation: str, key: dict[str, Any]
) -> None:
    with invalid(MISMATCH):
        getattr(dynamodb, operation)(TableName=table, Key=key)


@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_key_that_is_not_the_table_s_is_rejected_in_batches(
    dynamodb: Any, table: str, key: dict[str, Any]
) -> None:
    with invalid(MISMATCH):
        dynamodb.batch_get_item(RequestItems={table: {"Keys": [key]}})
    with invalid(MISMATCH):
        dynamodb.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key}}]})


BAD_ITEMS: dict[str, tuple[dict[str, Any], str]] = {
    "no partition key": (item(r=1), INVALID + "Missing the key p in the item"),
    "no sort key": (item(p="1"), INVALID + "Missing the key r in the item"),
    "wrong type of partition key": (
        item(p=1, r=1),
        INVALID + "Type mismatch for key p expected: S actual: N",
    ),
    "wrong type of sort key": (
        item(p="1", r=b"1"),
        INVALID + "Type mismatch for key r expected: N actual: B",
    ),
    "a list": (item(p="1", r=[1]), INVALID + "Type mismatch for key r expected: N actual: L"),
    "empty partition key": (item(p="", r=1), empty("p", "string")),
}


@pytest.mark.parametrize(("bad", "text"), BAD_ITEMS.values(), ids=BAD_ITEMS)
def test_an_item_without_a_proper_key_is_rejected(
    dynamodb: Any, table: str, bad: dict[str, Any], text: str
) -> None:
    with invalid(text):
        dynamodb.put_item(TableName=table, Item=bad)


@pytest.mark.parametrize(
    "bad", [item(r=1), item(p="1"), item(p=1, r=1), item(p="1", r="1")], ids=["no p", "no r", "p", "r"]
)
def test_a_batch_has_one_text_for_every_bad_key(dynamodb: Any, table: str, bad: dict[str, Any]) -> None:
    """Every put key in BatchWriteItem (errors.md section 6.3)."""
    with invalid(MISMATCH):
        dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": bad}}]})


@pytest.mark.parametrize(
    ("type_", "value", "kind"), [("S", "", "string"), ("B", b"", "binary")], ids=["S", "B"]
)
def test_key_values_are_never_empty(
    dynamodb: Any, create: Callable[..., str], type_: str, value: Any, kind: str
) -> None:
    table = create(f"p:{type_}", f"r:{type_}")
    good = "x" if type_ == "S" else b"x"
    for key, name in ((item(p=value, r=good), "p"), (item(p=good, r=value), "r")):
        with invalid(empty(name, kind)):
            dynamodb.put_item(TableName=table, Item=key)
        with invalid(empty(name, kind)):
            dynamodb.get_item(TableName=table, Key=key)
        with invalid(empty(name, kind)):
            dynamodb.update_item(TableName=table, Key=key)
        with invalid(empty(name, kind)):
            dynamodb.delete_item(TableName=table, Key=key)


@pytest.fixture
def indexed(create: Callable[..., str]) -> str:
    return create(
        "p:S", "r:S", lsi={"local": ("a:N", "ALL")}, gsi={"global": ("h:S k:B", "x:N y:S", "KEYS_ONLY")}
    )


INDEX_KEYS: dict[str, tuple[dict[str, Any], str]] = {
    "local range": (item(a="1"), "Type mismatch for Index Key a Expected: N Actual: S IndexName: local"),
    "first hash": (item(h=1), "Type mismatch for Index Key h Expected: S Actual: N IndexName: global"),
    "second hash": (item(k="1"), "Type mismatch for Index Key k Expected: B Actual: S IndexName: global"),
    "first range": (item(x=b"1"), "Type mismatch for Index Key x Expected: N Actual: B IndexName: global"),
    "second range": (
        item(y=None),
        "Type mismatch for Index Key y Expected: S Actual: NULL IndexName: global",
    ),
}


@pytest.mark.parametrize(("bad", "text"), INDEX_KEYS.values(), ids=INDEX_KEYS)
def test_index_key_attributes_are_checked_on_every_put(
    dynamodb: Any, indexed: str, bad: dict[str, Any], text: str
) -> None:
    """Each of them, also where the item is not in the index (new-features.md section 10)."""
    whole = {**item(p="1", r="1"), **bad}
    with invalid(INVALID + text):
        dynamodb.put_item(TableName=indexed, Item=whole)
    with invalid(INVALID + text):
        dynamodb.batch_write_item(RequestItems={indexed: [{"PutRequest": {"Item": whole}}]})


@pytest.mark.parametrize("order", [("two", "one", "zero"), ("zero", "two", "one")], ids="-".join)
def test_a_wrong_key_of_several_indexes_names_the_first_by_name(
    dynamodb: Any, create: Callable[..., str], order: tuple[str, ...]
) -> None:
    table = create("p:S", "r:S", lsi={"other": ("x:N", "ALL")}, gsi=dict.fromkeys(order, ("x:N", "", "ALL")))
    wrong = item(p="1", r="1", x="1")
    text = f"{INVALID}Type mismatch for Index Key x Expected: N Actual: S IndexName: one"
    with invalid(text):
        dynamodb.put_item(TableName=table, Item=wrong)
    with invalid(text):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1", r="1"),
            UpdateExpression="SET x = :x",
            ExpressionAttributeValues=item(**{":x": "1"}),
        )


@pytest.mark.parametrize("bad", [item(a="1"), item(h=1), item(k="1"), item(x=b"1"), item(y=None)])
def test_an_update_to_a_wrong_type_of_index_key_is_rejected(
    dynamodb: Any, indexed: str, bad: dict[str, Any]
) -> None:
    ((name, value),) = bad.items()
    dynamodb.put_item(TableName=indexed, Item=item(p="1", r="1"))
    with invalid() as caught:
        dynamodb.update_item(
            TableName=indexed,
            Key=item(p="1", r="1"),
            UpdateExpression=f"SET {name} = :v",
            ExpressionAttributeValues={":v": value},
        )
    assert f"Type mismatch for Index Key {name} Expected: " in str(caught.value)
    assert dynamodb.scan(TableName=indexed)["Items"] == [item(p="1", r="1")]


@pytest.mark.parametrize(
    ("bad", "name", "kind"),
    [(item(h=""), "h", "string"), (item(k=b""), "k", "binary"), (item(y=""), "y", "string")],
)
def test_index_keys_are_never_empty(
    dynamodb: Any, indexed: str, bad: dict[str, Any], name: str, kind: str
) -> None:
    with invalid(
        "One or more parameter values are not valid. A value specified for a secondary index key is not "
        f"supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. "
        f"IndexName: global, IndexKey: {name}"
    ):
        dynamodb.put_item(TableName=indexed, Item={**item(p="1", r="1"), **bad})
    with invalid(
        "One or more parameter values are not valid. The update expression attempted to update a secondary "
        "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain "
        f"an empty {kind} value."
    ):
        dynamodb.update_item(
            TableName=indexed,
            Key=item(p="1", r="1"),
            UpdateExpression=f"SET {name} = :v",
            ExpressionAttributeValues={":v": bad[name]},
        )


@pytest.mark.parametrize("expression", ["SET p = :v", "SET r = :v", "REMOVE p", "ADD r :v", "DELETE p :v"])
def test_key_attributes_cannot_be_updated(dynamodb: Any, create: Callable[..., str], expression: str) -> None:
    table = create("p:S", "r:N")
    name = expression.split()[1]
    values = {":v": {"SS": ["a"]} if expression.startswith("DELETE") else {"N": "1"}}
    with invalid(INVALID + f"Cannot update attribute {name}. This attribute is part of the key"):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1", r=1),
            UpdateExpression=expression,
            **({} if expression.startswith("REMOVE") else {"ExpressionAttributeValues": values}),
        )


@pytest.mark.parametrize("path", ["p.x", "p[0]"])
def test_paths_into_key_attributes_are_rejected(dynamodb: Any, table: str, path: str) -> None:
    with invalid(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p"
    ):
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1", r=1),
            UpdateExpression=f"SET {path} = :v",
            ExpressionAttributeValues={":v": {"S": "1"}},
        )


def test_keys_of_different_types_with_the_same_bytes_are_different_items(
    dynamodb: Any, create: Callable[..., str]
) -> None:
    """Collision-free key encoding (engine-requirements.md, class 1)."""
    table = create("p:B", "r:B")
    keys = [
        item(p=p, r=r)
        for p, r in (
            (b"\x00", b"\x01"),
            (b"\x00\x00", b"\x01"),
            (b"\x00\xff", b"\x01"),
            (b"\x00", b"\x00\x01"),
        )
    ]
    for number, key in enumerate(keys):
        dynamodb.put_item(TableName=table, Item={**key, **item(n=number)})
    for number, key in enumerate(keys):
        assert dynamodb.get_item(TableName=table, Key=key)["Item"]["n"] == {"N": str(number)}


def test_validation_errors_precede_missing_tables(dynamodb: Any) -> None:
    """A bad expression on a missing table is a ValidationException (errors.md section 4)."""
    with invalid():
        dynamodb.put_item(TableName="no-such-table", Item=item(p="1"), ConditionExpression="nonsense(")
