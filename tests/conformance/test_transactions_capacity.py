"""What transactions report as consumed.

Vectors V38, V50 to V54, V66 and V67 of capacity.md section 4, measured on the service (M1) or documented
(D). V55, the charge of a cancelled transaction, has no answer to stand in: its arithmetic is tested
with the units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_transactions import ABSENT, check, delete, get, put, update

from fixtures.schemas import item


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def sized(name: str, size: int) -> dict[str, Any]:
    """An item of exactly this many bytes, key included."""
    return item(p=name, v="x" * (size - 2 - len(name)))


def written(dynamodb: Any, *actions: dict[str, Any], detail: str = "TOTAL", **more: Any) -> list[Any]:
    answer = dynamodb.transact_write_items(TransactItems=list(actions), ReturnConsumedCapacity=detail, **more)
    consumed: list[Any] = answer["ConsumedCapacity"]
    return consumed


def wcu(table: str, units: float) -> dict[str, Any]:
    return {"TableName": table, "CapacityUnits": units, "WriteCapacityUnits": units}


def rcu(table: str, units: float) -> dict[str, Any]:
    return {"TableName": table, "CapacityUnits": units, "ReadCapacityUnits": units}


# --- Reads: V38 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "units"), [(["small"], 2), (["small", "small2", "gone"], 6), (["big"], 4), (["gone"], 2)]
)
def test_v38_transactional_gets_cost_double(
    dynamodb: Any, table: str, names: list[str], units: float
) -> None:
    """capacity.md V38 (M1)."""
    for name, size in (("small", 64), ("small2", 64), ("big", 4097)):
        dynamodb.put_item(TableName=table, Item=sized(name, size))
    answer = dynamodb.transact_get_items(
        TransactItems=[get(table, item(p=name)) for name in names], ReturnConsumedCapacity="TOTAL"
    )
    assert answer["ConsumedCapacity"] == [rcu(table, units)]


def test_gets_of_two_tables_are_reported_separately(
    dynamodb: Any, table: str, create: Callable[..., str]
) -> None:
    other = create("p:S")
    dynamodb.put_item(TableName=other, Item=sized("big", 4097))
    answer = dynamodb.transact_get_items(
        TransactItems=[get(table, item(p="a")), get(other, item(p="big")), get(table, item(p="b"))],
        ReturnConsumedCapacity="INDEXES",
    )
    arm = {"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}
    assert answer["ConsumedCapacity"] == [{**rcu(table, 4), "Table": arm}, {**rcu(other, 4), "Table": arm}]


# --- Writes: V50 to V52 --------------------------------------------------------------------------


def test_v50_a_put_and_a_delete_of_nothing(dynamodb: Any, table: str) -> None:
    """capacity.md V50 (M1)."""
    consumed = written(dynamodb, put(table, sized("a", 1025)), delete(table, item(p="gone")))
    assert consumed == [wcu(table, 6)]


def test_v51_three_small_items_written_and_read(dynamodb: Any, table: str) -> None:
    """capacity.md V51 (D)."""
    assert written(dynamodb, *(put(table, sized(name, 500)) for name in "abc")) == [wcu(table, 6)]
    answer = dynamodb.transact_get_items(
        TransactItems=[get(table, item(p=name)) for name in "abc"], ReturnConsumedCapacity="TOTAL"
    )
    assert answer["ConsumedCapacity"] == [rcu(table, 6)]


@pytest.mark.parametrize(("size", "units"), [(4096, 8), (4097, 10), (None, 2)])
def test_v52_condition_checks_are_charged_as_writes(
    dynamodb: Any, table: str, size: int | None, units: float
) -> None:
    """capacity.md V52 (M1)."""
    if size is not None:
        dynamodb.put_item(TableName=table, Item=sized("a", size))
    consumed = written(dynamodb, check(table, item(p="a"), "attribute_not_exists(gone)"))
    assert consumed == [wcu(table, units)]


@pytest.mark.parametrize(("before", "after", "units"), [(64, 1025, 4), (4097, 64, 10), (1024, 1024, 2)])
def test_a_replacing_put_costs_its_larger_image(
    dynamodb: Any, table: str, before: int, after: int, units: float
) -> None:
    dynamodb.put_item(TableName=table, Item=sized("a", before))
    assert written(dynamodb, put(table, sized("a", after))) == [wcu(table, units)]


def test_nothing_is_reported_unless_asked_for(dynamodb: Any, table: str) -> None:
    answer = dynamodb.transact_write_items(
        TransactItems=[put(table, item(p="1"))], ReturnConsumedCapacity="NONE"
    )
    assert "ConsumedCapacity" not in answer


def test_consumed_capacity_at_every_level(dynamodb: Any, table: str) -> None:
    (consumed,) = written(dynamodb, put(table, sized("a", 1025)), detail="INDEXES")
    assert consumed == {**wcu(table, 4), "Table": {"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}}


def test_tables_are_reported_in_the_order_they_are_named(
    dynamodb: Any, table: str, create: Callable[..., str]
) -> None:
    other = create("p:S")
    consumed = written(
        dynamodb, put(other, item(p="1")), put(table, sized("a", 1025)), delete(other, item(p="2"))
    )
    assert consumed == [wcu(other, 4), wcu(table, 4)]


# --- Replays: V53, V54 ---------------------------------------------------------------------------


def test_v53_a_replay_costs_reads(dynamodb: Any, table: str) -> None:
    """capacity.md V53 (M1)."""
    actions = [put(table, sized("a", 1025)), delete(table, item(p="gone"))]
    assert written(dynamodb, *actions, ClientRequestToken="token") == [wcu(table, 6)]
    assert written(dynamodb, *actions, ClientRequestToken="token") == [rcu(table, 4)]


def test_v54_a_replay_reads_the_larger_images_of_the_first_call(dynamodb: Any, table: str) -> None:
    """capacity.md V54 (M1): 2 + 2 + 2 + 4."""
    dynamodb.put_item(TableName=table, Item=sized("c", 3000))
    actions = [
        put(table, sized("a", 1025)),
        update(table, item(p="b"), "SET v = :v", {":v": "x" * 1500}),
        delete(table, item(p="c")),
        put(table, sized("d", 4097)),
    ]
    written(dynamodb, *actions, ClientRequestToken="token")
    assert written(dynamodb, *actions, ClientRequestToken="token") == [rcu(table, 10)]


def test_a_replay_reports_no_indexes(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={"index": ("g:S", "", "ALL")})
    action = put(table, item(p="1", g="a"))
    written(dynamodb, action, ClientRequestToken="token")
    (consumed,) = written(dynamodb, action, ClientRequestToken="token", detail="INDEXES")
    assert consumed == {**rcu(table, 2), "Table": {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}}


# --- Indexes: V66, V67 ---------------------------------------------------------------------------


@pytest.fixture
def indexed(create: Callable[..., str]) -> str:
    """Three local and three global indexes on the same key, projecting less and more."""
    projections: dict[str, Any] = {"keys": "KEYS_ONLY", "some": ["i"], "all": "ALL"}
    return create(
        "p:S",
        "r:S",
        lsi={f"local.{name}": ("g:S", projection) for name, projection in projections.items()},
        gsi={f"global.{name}": ("g:S", "", projection) for name, projection in projections.items()},
    )


def indexed_item(key: str, included: int) -> dict[str, Any]:
    """Entries of 15 bytes, of 15 + 1 + `included`, and the item of 501 bytes more."""
    return item(p="pppp", r="rrrr", g=key, i="x" * included, n="x" * 500)


def arms(kinds: dict[str, float]) -> dict[str, Any]:
    return {
        member: {
            f"{kind}.{name}": {"CapacityUnits": units, "WriteCapacityUnits": units}
            for name, units in kinds.items()
        }
        for member, kind in (("LocalSecondaryIndexes", "local"), ("GlobalSecondaryIndexes", "global"))
    }


def test_v66_an_insert_doubles_the_table_s_part_only(dynamodb: Any, indexed: str) -> None:
    """capacity.md V66 (M1): 4 + 4 + 4."""
    (consumed,) = written(dynamodb, put(indexed, indexed_item("gggg", 1008)), detail="INDEXES")
    assert consumed == {
        **wcu(indexed, 12),
        "Table": {"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0},
        **arms({"keys": 1.0, "some": 1.0, "all": 2.0}),
    }


def test_v67_a_moved_entry_costs_its_deletion_and_its_insertion(dynamodb: Any, indexed: str) -> None:
    """capacity.md V67 (M1): 6 + 11 + 11."""
    dynamodb.put_item(TableName=indexed, Item=indexed_item("gggg", 1008))
    (consumed,) = written(dynamodb, put(indexed, indexed_item("hhhh", 2033)), detail="INDEXES")
    assert consumed == {
        **wcu(indexed, 28),
        "Table": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
        **arms({"keys": 2.0, "some": 4.0, "all": 5.0}),
    }


def test_an_unchanged_entry_costs_nothing(dynamodb: Any, indexed: str) -> None:
    """V61 inside a transaction: the indexes do not appear at all."""
    action = put(indexed, indexed_item("gggg", 10))
    written(dynamodb, action)
    (consumed,) = written(dynamodb, action, detail="INDEXES")
    assert consumed == {**wcu(indexed, 2), "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}}


def test_a_condition_check_costs_no_index_units(dynamodb: Any, indexed: str) -> None:
    dynamodb.put_item(TableName=indexed, Item=indexed_item("gggg", 1008))
    (consumed,) = written(
        dynamodb, check(indexed, item(p="pppp", r="rrrr"), "attribute_exists(p)"), detail="INDEXES"
    )
    assert consumed == {**wcu(indexed, 4), "Table": {"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}}


def test_a_condition_does_not_change_the_cost(dynamodb: Any, table: str) -> None:
    assert written(dynamodb, put(table, sized("a", 1025), ConditionExpression=ABSENT)) == [wcu(table, 4)]
