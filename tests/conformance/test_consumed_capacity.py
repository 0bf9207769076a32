"""Consumed capacity, to the unit: the vectors V1 to V69 of capacity.md sections 4.1 to 4.4.

Each test carries the ids of its vectors; all facts are from those four tables, whose own sources are
measurements of the service and its documentation. Sizes are measured by the charges: a value has e bytes
when an item of 1,024 bytes around it costs one write unit and an item of 1,025 bytes two.

Elsewhere:
    V39c        test_batches.py: 52 of 100 items of 300 KB fit into one answer
    V48, V49    the charge of a failed condition is not on the wire: here, that it shows nothing; its
                rule in tests/unit/capacity/test_failed_condition_charge.py
    V55         likewise for a cancelled transaction; its arithmetic beside test_transactions_capacity.py
    V57         test_partiql_batches.py
Rates (V21, V24, V25, V39d, V42) are given as units per request; what a table does beyond its rate is
sections 4.5 and 4.6, tests/unit/capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from fixtures.schemas import invalid, item, new_name, refused

KB = 1024
INDEXES = {"ReturnConsumedCapacity": "INDEXES"}
TOTAL = {"ReturnConsumedCapacity": "TOTAL"}


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


@pytest.fixture
def sorted_table(create: Callable[..., str]) -> str:
    return create("p:S", "r:N")


def sized(size: int, **key: Any) -> dict[str, Any]:
    """An item of exactly `size` bytes: key attributes of one-letter names, padded by a string x."""
    used = sum(1 + (len(value) if isinstance(value, str) else 2 if value else 1) for value in key.values())
    return item(**key, x="x" * (size - used - 1))


def units(answer: dict[str, Any]) -> float:
    return answer["ConsumedCapacity"]["CapacityUnits"]


def put(dynamodb: Any, table: str, stored: dict[str, Any]) -> float:
    return units(dynamodb.put_item(TableName=table, Item=stored, **TOTAL))


def get(dynamodb: Any, table: str, consistent: bool, p: str = "1", **more: Any) -> float:
    return units(
        dynamodb.get_item(TableName=table, Key=item(p=p), ConsistentRead=consistent, **TOTAL, **more)
    )


# --- 4.1 Sizes -----------------------------------------------------------------------------------


def test_v1_an_item_of_1024_bytes_costs_one_unit(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("pk:S")
    for padding, wanted in ((1_007, 1), (1_008, 2)):
        stored = item(pk="000001", v=0, padding="x" * padding)
        assert put(dynamodb, table, stored) == wanted


SIZES: list[tuple[str, dict[str, Any], int]] = [
    *(
        (f"V2 {text}", {"N": text}, size)
        for text, size in (("0", 1), ("1", 2), ("-1", 3), ("12", 2), ("-12", 3), ("123", 3), ("1234", 3))
    ),
    ("V3 00012.3400", {"N": "00012.3400"}, 3),
    ("V3 1E+125", {"N": "1E+125"}, 2),
    ("V3 1E-130", {"N": "1E-130"}, 2),
    ("V3 38 digits", {"N": "1" * 38}, 20),
    ("V4 S", {"S": "é☃"}, 5),
    ("V4 B", {"B": bytes(10)}, 10),
    ("V5 BOOL", {"BOOL": False}, 1),
    ("V5 NULL", {"NULL": True}, 1),
    ("V6 NS", {"NS": ["1", "-12", "0.0100"]}, 7),
    ("V6 SS", {"SS": ["é", "three"]}, 7),
    ("V6 BS", {"BS": [b"12", b"345"]}, 5),
    ("V7 list", {"L": []}, 3),
    ("V7 map", {"M": {}}, 3),
    ("V8 list", {"L": [{"N": "1"}, {"S": "é"}, {"NULL": True}]}, 11),
    ("V8 map", {"M": {"n": {"N": "-1"}, "b": {"BOOL": True}}}, 11),
    ("V10 1.2", {"N": "1.2"}, 3),
    ("V11 300", {"N": "300"}, 2),
    ("V11 -300", {"N": "-300"}, 3),
]


@pytest.mark.parametrize(("value", "size"), [s[1:] for s in SIZES], ids=[s[0] for s in SIZES])
def test_sizes_of_values(dynamodb: Any, table: str, value: dict[str, Any], size: int) -> None:
    # p and "1" are 2 bytes, the names v and x one each.
    padding = 1_024 - 2 - 1 - size - 1
    for more, wanted in ((0, 1), (1, 2)):
        stored = {**item(p=f"{more}", x="x" * (padding + more)), "v": value}
        assert put(dynamodb, table, stored) == wanted


def test_v9_an_item_of_two_attributes(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("shirt-color:S")
    assert put(dynamodb, table, item(**{"shirt-color": "R", "shirt-size": "M"})) == 1
    described = dynamodb.describe_table(TableName=table)["Table"]
    assert described["TableSizeBytes"] == 23 + 100


def test_v12_a_table_counts_100_bytes_more_per_item(dynamodb: Any, table: str) -> None:
    assert put(dynamodb, table, sized(1_024, p="1")) == 1
    assert dynamodb.describe_table(TableName=table)["Table"]["TableSizeBytes"] == 1_124


def test_v13_the_largest_item_costs_400_units(dynamodb: Any, table: str) -> None:
    assert put(dynamodb, table, sized(409_600, p="1")) == 400
    with invalid("Item size has exceeded the maximum allowed size"):
        put(dynamodb, table, sized(409_601, p="1"))


# --- 4.2 Reads -----------------------------------------------------------------------------------

GETS: list[tuple[str, int, float, float]] = [
    # id, bytes, strongly and eventually consistent
    ("V20", 3_500, 1, 0.5),
    ("V22", 8 * KB, 2, 1),
    ("V23 3.5 KB", 3_584, 1, 0.5),
    ("V23 10 KB", 10 * KB, 3, 1.5),
    ("V26", 80 * KB, 20, 10),
    ("V34 4096", 4_096, 1, 0.5),
    ("V34 4097", 4_097, 2, 1),
    ("V39 384 KB", 384 * KB, 96, 48),
    ("V39 400 KB", 400 * KB, 100, 50),
]


@pytest.mark.parametrize(("size", "strong", "eventual"), [g[1:] for g in GETS], ids=[g[0] for g in GETS])
def test_get_item(dynamodb: Any, table: str, size: int, strong: float, eventual: float) -> None:
    dynamodb.put_item(TableName=table, Item=sized(size, p="1"))
    assert get(dynamodb, table, consistent=True) == strong
    assert get(dynamodb, table, consistent=False) == eventual


RATES: list[tuple[str, int, bool, int, float]] = [
    # id, bytes, consistent, reads per second, units per second
    ("V21 4 KB SC", 4 * KB, True, 10, 10),
    ("V21 4 KB EC", 4 * KB, False, 20, 10),
    ("V21 8 KB SC", 8 * KB, True, 5, 10),
    ("V24", 3 * KB, True, 80, 80),
    ("V25 4 KB SC", 4 * KB, True, 50, 50),
    ("V25 8 KB SC", 8 * KB, True, 50, 100),
    ("V25 4 KB EC", 4 * KB, False, 50, 25),
    ("V25 8 KB EC", 8 * KB, False, 50, 50),
    ("V39d", 20 * KB, True, 600, 3_000),
]


@pytest.mark.parametrize("vector", [r[1:] for r in RATES], ids=[r[0] for r in RATES])
def test_rates_of_reads(dynamodb: Any, table: str, vector: tuple[int, bool, int, float]) -> None:
    """So many reads in a second take up so many units; what happens beyond them is section 4.6."""
    size, consistent, reads, rate = vector
    dynamodb.put_item(TableName=table, Item=sized(size, p="1"))
    assert reads * Fraction(get(dynamodb, table, consistent)) == rate


def test_v27_a_missing_item_costs_the_minimum(dynamodb: Any, table: str) -> None:
    assert get(dynamodb, table, consistent=True) == 1
    assert get(dynamodb, table, consistent=False) == 0.5


def batch_get(dynamodb: Any, table: str, keys: list[str], consistent: bool) -> float:
    wanted = {table: {"Keys": [item(p=key) for key in keys], "ConsistentRead": consistent}}
    (consumed,) = dynamodb.batch_get_item(RequestItems=wanted, **TOTAL)["ConsumedCapacity"]
    assert consumed["TableName"] == table
    return consumed["CapacityUnits"]


def test_v28_a_batch_rounds_each_item(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(1_536, p="1"))
    dynamodb.put_item(TableName=table, Item=sized(6_656, p="2"))
    assert batch_get(dynamodb, table, ["1", "2"], consistent=True) == 3
    assert batch_get(dynamodb, table, ["1", "2"], consistent=False) == 1.5


def test_v37_a_batch_with_a_missing_item(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(64, p="1"))
    dynamodb.put_item(TableName=table, Item=sized(64, p="2"))
    assert batch_get(dynamodb, table, ["1", "2", "3"], consistent=False) == 1.5
    assert batch_get(dynamodb, table, ["1", "2", "3"], consistent=True) == 3


def fill(dynamodb: Any, table: str, sizes: list[int]) -> None:
    """Items of one collection, r = 0, 1, ..."""
    requests = [{"PutRequest": {"Item": sized(size, p="1", r=r)}} for r, size in enumerate(sizes)]
    for start in range(0, len(requests), 25):
        dynamodb.batch_write_item(RequestItems={table: requests[start : start + 25]})


def query(dynamodb: Any, table: str, consistent: bool, **more: Any) -> dict[str, Any]:
    parameters = {
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
        **TOTAL,
        **more,
    }
    return dynamodb.query(TableName=table, ConsistentRead=consistent, **parameters)


QUERIES: list[tuple[str, list[int], float, float]] = [
    ("V29", [4_177] * 9 + [4_186], 11, 5.5),
    ("V31", [1_105] * 9 + [1_114], 3, 1.5),
    ("V35", [1_024, 1_025], 1, 0.5),
    ("V36", [], 1, 0.5),
]


@pytest.mark.parametrize(
    ("sizes", "strong", "eventual"), [q[1:] for q in QUERIES], ids=[q[0] for q in QUERIES]
)
def test_a_query_rounds_the_sum(
    dynamodb: Any, sorted_table: str, sizes: list[int], strong: float, eventual: float
) -> None:
    fill(dynamodb, sorted_table, sizes)
    assert units(query(dynamodb, sorted_table, consistent=True)) == strong
    assert units(query(dynamodb, sorted_table, consistent=False)) == eventual


def test_v30_1500_items_of_64_bytes(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", "r:S")
    requests = [{"PutRequest": {"Item": sized(64, p="1", r=f"{number:04}")}} for number in range(1_500)]
    for start in range(0, 1_500, 25):
        dynamodb.batch_write_item(RequestItems={table: requests[start : start + 25]})
    answer = query(dynamodb, table, consistent=True)
    assert (answer["Count"], units(answer)) == (1_500, 24)
    assert units(query(dynamodb, table, consistent=False)) == 12


def test_v32_a_scan_is_charged_for_what_it_evaluates(dynamodb: Any, table: str) -> None:
    for number in range(256):
        dynamodb.put_item(TableName=table, Item=sized(4_096, p=f"{number:03}"))
    nothing = {"FilterExpression": "attribute_exists(gone)", **TOTAL}
    for consistent, wanted in ((True, 256), (False, 128)):
        answer = dynamodb.scan(TableName=table, ConsistentRead=consistent, **nothing)
        assert (answer["Count"], answer["ScannedCount"], units(answer)) == (0, 256, wanted)


def test_v33_projections_and_counts_do_not_make_it_cheaper(dynamodb: Any, sorted_table: str) -> None:
    fill(dynamodb, sorted_table, [4_097])
    projected = dynamodb.get_item(
        TableName=sorted_table, Key=item(p="1", r=0), ProjectionExpression="p", ConsistentRead=True, **TOTAL
    )
    assert (projected["Item"], units(projected)) == (item(p="1"), 2)
    assert units(query(dynamodb, sorted_table, consistent=True, Select="COUNT")) == 2


def test_v35_a_filter_that_drops_everything(dynamodb: Any, sorted_table: str) -> None:
    fill(dynamodb, sorted_table, [1_024, 1_025])
    answer = query(dynamodb, sorted_table, consistent=True, FilterExpression="attribute_exists(gone)")
    assert (answer["Count"], answer["ScannedCount"], units(answer)) == (0, 2, 1)


def test_v38_transactional_reads_cost_double(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(64, p="1"))
    dynamodb.put_item(TableName=table, Item=sized(64, p="2"))
    dynamodb.put_item(TableName=table, Item=sized(4_097, p="big"))
    for keys, wanted in ((["1"], 2), (["1", "2", "none"], 6), (["big"], 4)):
        gets = [{"Get": {"TableName": table, "Key": item(p=key)}} for key in keys]
        answer = dynamodb.transact_get_items(TransactItems=gets, **TOTAL)
        assert answer["ConsumedCapacity"] == [
            {"TableName": table, "CapacityUnits": wanted, "ReadCapacityUnits": wanted}
        ]


def test_v39a_a_query_of_a_global_index(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", "r:N", gsi={"global": ("g:S", "", "ALL")})
    for number in range(8):
        dynamodb.put_item(TableName=table, Item=sized(2_000, p="1", r=number, g="1"))
    answer = dynamodb.query(
        TableName=table,
        IndexName="global",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "1"}},
        **INDEXES,
    )
    assert answer["ConsumedCapacity"] == {
        "TableName": table,
        "CapacityUnits": 2.0,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"global": {"CapacityUnits": 2.0}},
    }


def test_v39b_a_query_of_a_local_index_that_fetches(dynamodb: Any, create: Callable[..., str]) -> None:
    """4 entries of 200 bytes, each fetching an item of 300: 4 KB + 4 x 4 KB."""
    table = create("p:S", "r:N", lsi={"local": ("s:N", ["y"])})
    for number in range(4):
        # The entry holds p, r, s and y; the item x as well.
        stored = {**item(p="1", r=number, s=1), "y": {"S": "y"}}
        entry = 2 + (3 if number else 2) + 3 + 1
        stored["y"] = {"S": "y" * (200 - entry)}
        stored["x"] = {"S": "x" * 99}
        dynamodb.put_item(TableName=table, Item=stored)
    wanted = {"IndexName": "local", "Select": "ALL_ATTRIBUTES"}
    strong = query(dynamodb, table, consistent=True, **wanted, **INDEXES)["ConsumedCapacity"]
    assert strong["CapacityUnits"] == 5
    assert units(query(dynamodb, table, consistent=False, **wanted)) == 2.5
    # Counted on the table's arm (capacity-consumption.md section 2).
    assert strong["Table"]["CapacityUnits"] == 4
    assert strong["LocalSecondaryIndexes"] == {"local": {"CapacityUnits": 1.0}}
    not_fetching = query(dynamodb, table, consistent=True, IndexName="local")
    assert units(not_fetching) == 1


# --- 4.3 Writes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(500, 1), (1_638, 2), (512, 1), (1_024, 1), (1_025, 2), (4_096, 4), (4_097, 5)],
    ids=["V40", "V41", "V42", "V56 1024", "V56 1025", "V56 4096", "V56 4097"],
)
def test_a_new_item(dynamodb: Any, table: str, size: int, wanted: int) -> None:
    """V42: a hundred writes of 512 bytes a second are a hundred units."""
    assert put(dynamodb, table, sized(size, p="1")) == wanted


def test_v40_a_deletion_costs_the_old_size(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(500, p="1"))
    assert units(dynamodb.delete_item(TableName=table, Key=item(p="1"), **TOTAL)) == 1


def test_v43_a_small_item_over_a_large_one(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(4_097, p="1"))
    assert put(dynamodb, table, sized(64, p="1")) == 5


def update(dynamodb: Any, table: str, size: int) -> float:
    """Update the item so that it has this size."""
    return units(
        dynamodb.update_item(
            TableName=table,
            Key=item(p="1"),
            UpdateExpression="SET x = :x",
            ExpressionAttributeValues={":x": {"S": "x" * (size - 3)}},
            **TOTAL,
        )
    )


def test_v44_updates_cost_the_larger_image(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(4_096, p="1"))
    assert update(dynamodb, table, 40) == 4
    assert update(dynamodb, table, 1_025) == 2
    assert update(dynamodb, table, 1_025) == 2


def test_v45_deletions(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=sized(1_025, p="1"))
    assert units(dynamodb.delete_item(TableName=table, Key=item(p="1"), **TOTAL)) == 2
    assert units(dynamodb.delete_item(TableName=table, Key=item(p="1"), **TOTAL)) == 1


BATCHES: list[tuple[str, list[dict[str, Any]], int]] = [
    (
        "V46",
        [{"PutRequest": {"Item": sized(500, p="1")}}, {"PutRequest": {"Item": sized(3_584, p="2")}}],
        5,
    ),
    (
        "V47",
        [
            {"PutRequest": {"Item": sized(64, p="1")}},
            {"PutRequest": {"Item": sized(1_025, p="2")}},
            {"DeleteRequest": {"Key": item(p="3")}},
        ],
        4,
    ),
]


@pytest.mark.parametrize(("requests", "wanted"), [b[1:] for b in BATCHES], ids=[b[0] for b in BATCHES])
def test_a_batch_costs_the_sum(
    dynamodb: Any, table: str, requests: list[dict[str, Any]], wanted: int
) -> None:
    answer = dynamodb.batch_write_item(RequestItems={table: requests}, **TOTAL)
    assert answer["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": wanted}]


@pytest.mark.parametrize("size", [1 * KB, 2 * KB, 300 * KB], ids=["V48 1 KB", "V48 2 KB", "V49 300 KB"])
def test_a_failed_condition_reports_nothing(dynamodb: Any, table: str, size: int) -> None:
    """The charge (the existing item's) shows in metrics only (capacity.md section 2.2, measured)."""
    dynamodb.put_item(TableName=table, Item=sized(size, p="1"))
    for operation, subject in (
        ("put_item", {"Item": sized(size, p="1")}),
        ("update_item", {"Key": item(p="1")}),
        ("delete_item", {"Key": item(p="1")}),
        ("put_item", {"Item": sized(100, p="missing")}),
    ):
        with refused("ConditionalCheckFailedException") as failure:
            getattr(dynamodb, operation)(
                TableName=table, **subject, ConditionExpression="attribute_exists(gone)", **INDEXES
            )
        assert "ConsumedCapacity" not in failure.value.response


def transact(dynamodb: Any, actions: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    (consumed,) = dynamodb.transact_write_items(TransactItems=actions, **TOTAL, **more)["ConsumedCapacity"]
    return consumed


def test_v50_v53_a_transaction_and_its_replay(dynamodb: Any, table: str) -> None:
    actions = [
        {"Put": {"TableName": table, "Item": sized(1_025, p="1")}},
        {"Delete": {"TableName": table, "Key": item(p="missing")}},
    ]
    token = {"ClientRequestToken": new_name()}
    first = transact(dynamodb, actions, **token)
    assert first == {"TableName": table, "CapacityUnits": 6, "WriteCapacityUnits": 6}
    assert transact(dynamodb, actions, **token) == {
        "TableName": table,
        "CapacityUnits": 4,
        "ReadCapacityUnits": 4,
    }


def test_v51_three_small_items(dynamodb: Any, table: str) -> None:
    puts = [{"Put": {"TableName": table, "Item": sized(500, p=p)}} for p in "123"]
    assert transact(dynamodb, puts)["WriteCapacityUnits"] == 6
    gets = [{"Get": {"TableName": table, "Key": item(p=p)}} for p in "123"]
    (consumed,) = dynamodb.transact_get_items(TransactItems=gets, **TOTAL)["ConsumedCapacity"]
    assert consumed["ReadCapacityUnits"] == 6


@pytest.mark.parametrize(("size", "wanted"), [(4_096, 8), (4_097, 10), (None, 2)])
def test_v52_a_condition_check_costs_write_units(
    dynamodb: Any, table: str, size: int | None, wanted: int
) -> None:
    if size is not None:
        dynamodb.put_item(TableName=table, Item=sized(size, p="1"))
    exists = "attribute_not_exists(p)" if size is None else "attribute_exists(p)"
    check = {"TableName": table, "Key": item(p="1"), "ConditionExpression": exists}
    assert transact(dynamodb, [{"ConditionCheck": check}])["WriteCapacityUnits"] == wanted


def test_v54_a_replay_reads_what_the_call_wrote(dynamodb: Any, table: str) -> None:
    """Items of 1,025 bytes, about 1.5 KB, a deleted one, 4,097 bytes: 10 read units."""
    dynamodb.put_item(TableName=table, Item=sized(64, p="3"))
    actions = [
        {"Put": {"TableName": table, "Item": sized(1_025, p="1")}},
        {"Put": {"TableName": table, "Item": sized(1_536, p="2")}},
        {"Delete": {"TableName": table, "Key": item(p="3")}},
        {"Put": {"TableName": table, "Item": sized(4_097, p="4")}},
    ]
    token = {"ClientRequestToken": new_name()}
    transact(dynamodb, actions, **token)
    assert transact(dynamodb, actions, **token)["ReadCapacityUnits"] == 10


def test_v55_a_cancelled_transaction_reports_nothing(dynamodb: Any, table: str) -> None:
    """Its charge shows in metrics only."""
    dynamodb.put_item(TableName=table, Item=sized(4_097, p="1"))
    check = {"TableName": table, "Key": item(p="1"), "ConditionExpression": "attribute_exists(gone)"}
    with refused("TransactionCanceledException") as failure:
        transact(dynamodb, [{"ConditionCheck": check}])
    assert "ConsumedCapacity" not in failure.value.response


# --- 4.4 Indexes ---------------------------------------------------------------------------------

BASE = {"p": "00001", "r": "000001", "k": "1", "i": "i" * 1_008, "o": "o" * 500}
"""1,525 bytes. Entries: 15 bytes with keys only, 1,024 with i, all of it with ALL."""


@pytest.fixture
def six(create: Callable[..., str]) -> str:
    """Three local and three global indexes on k: KEYS_ONLY, INCLUDE, ALL."""
    return create(
        "p:S",
        "r:S",
        lsi={"local-keys": ("k:S", "KEYS_ONLY"), "local-some": ("k:S", ["i"]), "local-all": ("k:S", "ALL")},
        gsi={
            "global-keys": ("k:S", "", "KEYS_ONLY"),
            "global-some": ("k:S", "", ["i"]),
            "global-all": ("k:S", "", "ALL"),
        },
    )


def arms(consumed: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Units of the table and of each touched index; their sum must be the total."""
    indexes = {
        name: arm["CapacityUnits"]
        for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        for name, arm in consumed.get(member, {}).items()
    }
    table = consumed["Table"]["CapacityUnits"]
    assert consumed["CapacityUnits"] == table + sum(indexes.values())
    return table, indexes


def both(keys: int = 0, some: int = 0, all_: int = 0) -> dict[str, int]:
    """The same units on the local and the global index of each projection; untouched ones are absent."""
    named = {"keys": keys, "some": some, "all": all_}
    return {f"{scope}-{name}": n for scope in ("local", "global") for name, n in named.items() if n}


BASE_KEY = {name: BASE[name] for name in ("p", "r")}


def put_six(dynamodb: Any, table: str, **changed: Any) -> tuple[float, dict[str, float]]:
    stored = {name: value for name, value in {**BASE, **changed}.items() if value is not None}
    answer = dynamodb.put_item(TableName=table, Item=item(**stored), **INDEXES)
    return arms(answer["ConsumedCapacity"])


def update_six(dynamodb: Any, table: str, expression: str, **values: str) -> tuple[float, dict[str, float]]:
    parameters = {"ExpressionAttributeValues": item(**{f":{n}": v for n, v in values.items()})}
    answer = dynamodb.update_item(
        TableName=table,
        Key=item(**BASE_KEY),
        UpdateExpression=expression,
        **(parameters if values else {}),
        **INDEXES,
    )
    return arms(answer["ConsumedCapacity"])


def test_v60_an_insert(dynamodb: Any, six: str) -> None:
    assert put_six(dynamodb, six) == (2, both(1, 1, 2))


def test_v61_the_identical_item_again(dynamodb: Any, six: str) -> None:
    put_six(dynamodb, six)
    assert put_six(dynamodb, six) == (2, {})
    assert update_six(dynamodb, six, "SET o = :o", o=BASE["o"]) == (2, {})


def test_v62_an_attribute_that_only_all_projects(dynamodb: Any, six: str) -> None:
    put_six(dynamodb, six)
    assert update_six(dynamodb, six, "SET o = :o", o="z" * 500) == (2, both(all_=2))


@pytest.mark.parametrize("by", ["put", "update"])
def test_v63_the_index_key_changes_and_the_entries_grow(dynamodb: Any, six: str, by: str) -> None:
    put_six(dynamodb, six)
    longer = "i" * (1_008 + 1_025)
    if by == "put":
        changed = put_six(dynamodb, six, k="2", i=longer)
    else:
        changed = update_six(dynamodb, six, "SET k = :k, i = :i", k="2", i=longer)
    assert changed == (3, both(2, 4, 5))


def test_v64_the_index_key_is_removed_and_added_again(dynamodb: Any, six: str) -> None:
    put_six(dynamodb, six)
    assert update_six(dynamodb, six, "REMOVE k") == (2, both(1, 1, 2))
    assert update_six(dynamodb, six, "SET k = :k", k="1") == (2, both(1, 1, 2))


def test_v65_the_item_is_deleted(dynamodb: Any, six: str) -> None:
    put_six(dynamodb, six)
    answer = dynamodb.delete_item(TableName=six, Key=item(**BASE_KEY), **INDEXES)
    assert arms(answer["ConsumedCapacity"]) == (2, both(1, 1, 2))


def test_v66_v67_inside_a_transaction_only_the_table_is_doubled(dynamodb: Any, six: str) -> None:
    for changed, wanted in (({}, (4, both(1, 1, 2))), ({"k": "2", "i": "i" * 2_033}, (6, both(2, 4, 5)))):
        action = {"Put": {"TableName": six, "Item": item(**{**BASE, **changed})}}
        (consumed,) = dynamodb.transact_write_items(TransactItems=[action], **INDEXES)["ConsumedCapacity"]
        assert arms(consumed) == wanted
        assert consumed["WriteCapacityUnits"] == consumed["CapacityUnits"]
        assert consumed["Table"]["WriteCapacityUnits"] == consumed["Table"]["CapacityUnits"]


def test_v68_a_projected_attribute_grows_over_the_kilobyte(dynamodb: Any, six: str) -> None:
    put_six(dynamodb, six)
    assert update_six(dynamodb, six, "SET i = :i", i="i" * 1_009) == (2, both(some=2, all_=2))


def test_v69_a_keys_only_index_costs_its_entry(dynamodb: Any, create: Callable[..., str]) -> None:
    table = create("p:S", gsi={"global": ("g:S", "", "KEYS_ONLY")})

    def put_arms(stored: dict[str, Any]) -> tuple[float, dict[str, float]]:
        return arms(dynamodb.put_item(TableName=table, Item=stored, **INDEXES)["ConsumedCapacity"])

    big = sized(4_097, p="1", g="1")
    assert put_arms(big) == (5, {"global": 1})
    assert put_arms({**big, "x": {"S": "z" * len(big["x"]["S"])}}) == (5, {})
    put_arms(item(p="2", g="1"))
    assert put_arms(item(p="2", g="2")) == (1, {"global": 2})


# --- The shape of the report ---------------------------------------------------------------------


def test_none_is_the_default(dynamodb: Any, six: str) -> None:
    for options in ({}, {"ReturnConsumedCapacity": "NONE"}):
        assert "ConsumedCapacity" not in dynamodb.put_item(TableName=six, Item=item(**BASE), **options)
        assert "ConsumedCapacity" not in dynamodb.scan(TableName=six, **options)
        found = dynamodb.batch_get_item(RequestItems={six: {"Keys": [item(**BASE_KEY)]}}, **options)
        assert "ConsumedCapacity" not in found


def test_total_gives_the_sum_alone(dynamodb: Any, six: str) -> None:
    """Table and indexes together (capacity-consumption.md section 4)."""
    answer = dynamodb.put_item(TableName=six, Item=item(**BASE), **TOTAL)
    assert answer["ConsumedCapacity"] == {"TableName": six, "CapacityUnits": 10.0}


def test_indexes_lists_only_changed_indexes(dynamodb: Any, six: str) -> None:
    answer = dynamodb.put_item(TableName=six, Item=item(**BASE_KEY), **INDEXES)
    assert answer["ConsumedCapacity"] == {
        "TableName": six,
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 1.0},
    }


def test_a_batch_reports_per_table(dynamodb: Any, table: str, six: str) -> None:
    puts = {
        table: [{"PutRequest": {"Item": sized(1_025, p=p)}} for p in "12"],
        six: [{"PutRequest": {"Item": item(**BASE)}}],
    }
    by_table = {
        consumed["TableName"]: consumed
        for consumed in dynamodb.batch_write_item(RequestItems=puts, **INDEXES)["ConsumedCapacity"]
    }
    assert arms(by_table[table]) == (4, {})
    assert arms(by_table[six]) == (2, both(1, 1, 2))


@pytest.mark.parametrize(
    ("members", "eventual", "strong"),
    [
        ({}, 2, 4),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            },
            0.5,
            1,
        ),
    ],
    ids=["on demand", "provisioned"],
)
def test_an_empty_scan_costs_a_minimum_per_partition(
    dynamodb: Any, create: Callable[..., str], members: dict[str, Any], eventual: float, strong: float
) -> None:
    """A new on-demand table has four partitions (capacity-consumption.md section 2, capacity.md 2.2)."""
    table = create("p:S", **members)
    assert units(dynamodb.scan(TableName=table, **TOTAL)) == eventual
    assert units(dynamodb.scan(TableName=table, ConsistentRead=True, **TOTAL)) == strong


def test_consumed_capacity_names_the_table_as_in_the_request(dynamodb: Any, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    for name in (table, arn):
        answer = dynamodb.put_item(TableName=name, Item=item(p="1"), **TOTAL)
        assert answer["ConsumedCapacity"]["TableName"] == name


@pytest.mark.parametrize("operation", ["put_item", "delete_item", "update_item"])
def test_an_unknown_level_is_rejected(dynamodb: Any, table: str, operation: str) -> None:
    subject = {"Item": item(p="1")} if operation == "put_item" else {"Key": item(p="1")}
    envelope = "" if operation == "update_item" else "1 validation error detected: "
    with invalid(
        f"{envelope}Value 'SOME' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
    ):
        getattr(dynamodb, operation)(TableName=table, **subject, ReturnConsumedCapacity="SOME")
