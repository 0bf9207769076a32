"""Global secondary indexes with keys of one and of several attributes.

Sources: new-features.md section 10 (multi-attribute keys); engine-requirements.md, class 2; errors.md 6.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import everything, invalid, item, pages, plain, refused


@pytest.fixture
def table(dynamodb: Any, create: Callable[..., str]) -> str:
    """Six items of group "a" with duplicate keys, two of "b", two in no index."""
    name = create(
        "p:S",
        gsi={
            "keys": ("g:S", "s:N", "KEYS_ONLY"),
            "some": ("g:S", "s:N", ["x"]),
            "all": ("g:S", "s:N", "ALL"),
            "hash": ("g:S", "", "ALL"),
        },
    )
    for number in range(6):
        dynamodb.put_item(TableName=name, Item=item(p=f"a{number}", g="a", s=number // 2, x=number, y=number))
    for number in range(2):
        dynamodb.put_item(TableName=name, Item=item(p=f"b{number}", g="b", s=number))
    dynamodb.put_item(TableName=name, Item=item(p="no group", s=1))
    dynamodb.put_item(TableName=name, Item=item(p="nothing"))
    return name


def query(table: str, index: str, group: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": group}},
        **more,
    }


def names(items: list[dict[str, Any]]) -> list[str]:
    return [found["p"]["S"] for found in items]


IN_ORDER = ["a0", "a1", "a2", "a3", "a4", "a5"]


@pytest.mark.usefixtures("entries_in_order_of_keys")
@pytest.mark.parametrize("index", ["keys", "some", "all"])
def test_entries_come_by_index_key_then_by_table_key(dynamodb: Any, table: str, index: str) -> None:
    """Here the table's keys are strings, whose order among equals is the order of their bytes; the service
    leaves that order open."""
    assert names(everything(dynamodb.query, **query(table, index))) == IN_ORDER
    assert names(everything(dynamodb.query, **query(table, index, ScanIndexForward=False))) == IN_ORDER[::-1]


@pytest.mark.usefixtures("entries_in_order_of_keys")
@pytest.mark.parametrize("index", ["keys", "all", "hash"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_pages_resume_exactly_among_duplicate_keys(
    dynamodb: Any, table: str, index: str, limit: int, forward: bool
) -> None:
    found = list(pages(dynamodb.query, **query(table, index, Limit=limit, ScanIndexForward=forward)))
    order = IN_ORDER if forward else IN_ORDER[::-1]
    assert names([i for page in found for i in page["Items"]]) == order
    for page in found[:-1]:
        assert set(page["LastEvaluatedKey"]) == ({"p", "g"} if index == "hash" else {"p", "g", "s"})
        assert page["LastEvaluatedKey"]["p"] == page["Items"][-1]["p"]


PROJECTED = {
    "keys": {"p": "a3", "g": "a", "s": 1},
    "some": {"p": "a3", "g": "a", "s": 1, "x": 3},
    "all": {"p": "a3", "g": "a", "s": 1, "x": 3, "y": 3},
}


@pytest.mark.parametrize(("index", "shown"), PROJECTED.items(), ids=PROJECTED)
@pytest.mark.parametrize("select", [{}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}], ids=["default", "projected"])
def test_an_index_shows_what_it_projects(
    dynamodb: Any, table: str, index: str, shown: dict[str, Any], select: dict[str, str]
) -> None:
    assert plain(dynamodb.query(**query(table, index, **select))["Items"][3]) == shown


def test_all_attributes_need_a_projection_of_all(dynamodb: Any, table: str) -> None:
    assert dynamodb.query(**query(table, "all", Select="ALL_ATTRIBUTES"))["Count"] == 6
    for index in ("keys", "some"):
        with invalid(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for "
            f"global secondary index {index} because its projection type is not ALL"
        ):
            dynamodb.query(**query(table, index, Select="ALL_ATTRIBUTES"))


@pytest.mark.parametrize("index", ["keys", "some", "all"])
def test_select_count_counts_entries(dynamodb: Any, table: str, index: str) -> None:
    answer = dynamodb.query(**query(table, index, Select="COUNT"))
    assert (answer["Count"], "Items" in answer) == (6, False)


@pytest.mark.usefixtures("entries_in_order_of_keys")
def test_attributes_that_are_not_projected_are_rejected(dynamodb: Any, table: str) -> None:
    with invalid():
        dynamodb.query(**query(table, "some", ProjectionExpression="p, y"))
    found = dynamodb.query(**query(table, "some", ProjectionExpression="p, x"))
    assert plain(found["Items"][0]) == {"p": "a0", "x": 0}


def test_only_items_with_every_key_attribute_are_in_the_index(dynamodb: Any, table: str) -> None:
    assert sorted(names(everything(dynamodb.scan, TableName=table, IndexName="all"))) == [
        *IN_ORDER,
        "b0",
        "b1",
    ]


@pytest.mark.parametrize("limit", [1, 3, 5, 8, 9])
def test_a_scan_of_an_index_in_pages(dynamodb: Any, table: str, limit: int) -> None:
    found = list(pages(dynamodb.scan, TableName=table, IndexName="keys", Limit=limit))
    assert sorted(names([i for page in found for i in page["Items"]])) == [*IN_ORDER, "b0", "b1"]
    for page in found[:-1]:
        assert set(page["LastEvaluatedKey"]) == {"p", "g", "s"}


@pytest.mark.usefixtures("entries_in_order_of_keys")
@pytest.mark.parametrize(
    ("clause", "values", "wanted"),
    [
        ("s = :s", {":s": 1}, ["a2", "a3"]),
        ("s < :s", {":s": 1}, ["a0", "a1"]),
        ("s >= :s", {":s": 1}, ["a2", "a3", "a4", "a5"]),
        ("s BETWEEN :s AND :t", {":s": 0, ":t": 1}, ["a0", "a1", "a2", "a3"]),
    ],
)
def test_range_conditions_in_pages(
    dynamodb: Any, table: str, clause: str, values: dict[str, int], wanted: list[str]
) -> None:
    parameters = {
        **query(table, "all", Limit=1),
        "KeyConditionExpression": f"g = :g AND {clause}",
        "ExpressionAttributeValues": item(**{":g": "a", **values}),
    }
    assert names(everything(dynamodb.query, **parameters)) == wanted
    assert names(everything(dynamodb.query, ScanIndexForward=False, **parameters)) == wanted[::-1]


def test_a_wrong_start_key_is_rejected(dynamodb: Any, table: str) -> None:
    for start in (item(g="a", s=1), item(p="a1", g="a"), item(p="a1", g="a", s=1, x=1)):
        with invalid("The provided starting key is invalid"):
            dynamodb.query(**query(table, "all", ExclusiveStartKey=start))
    with invalid("The provided starting key is outside query boundaries based on provided conditions"):
        dynamodb.query(**query(table, "all", ExclusiveStartKey=item(p="b1", g="b", s=1)))


@pytest.mark.usefixtures("entries_in_order_of_keys")
def test_items_move_in_and_out_of_the_index(dynamodb: Any, table: str) -> None:
    def update(p: str, expression: str, **values: Any) -> None:
        parameters = {"ExpressionAttributeValues": item(**{f":{n}": v for n, v in values.items()})}
        dynamodb.update_item(
            TableName=table, Key=item(p=p), UpdateExpression=expression, **(parameters if values else {})
        )

    update("nothing", "SET g = :g, s = :s", g="a", s=-1)
    update("a0", "REMOVE s")
    update("a1", "SET g = :g", g="b")
    update("a5", "SET x = :x", x=50)
    assert names(everything(dynamodb.query, **query(table, "all"))) == ["nothing", "a2", "a3", "a4", "a5"]
    assert names(everything(dynamodb.query, **query(table, "all", "b"))) == ["a1", "b0", "b1"]
    assert plain(everything(dynamodb.query, **query(table, "some"))[-1])["x"] == 50
    dynamodb.put_item(TableName=table, Item=item(p="a2", g="a", s=99))
    dynamodb.delete_item(TableName=table, Key=item(p="a3"))
    assert names(everything(dynamodb.query, **query(table, "all"))) == ["nothing", "a4", "a5", "a2"]


def test_the_table_s_own_key_can_be_the_index_s(dynamodb: Any, create: Callable[..., str]) -> None:
    """LastEvaluatedKey names each attribute once."""
    name = create("p:S", "r:S", gsi={"inverted": ("r:S", "p:S", "KEYS_ONLY")})
    for p, r in itertools.product("abc", "xy"):
        dynamodb.put_item(TableName=name, Item=item(p=p, r=r, more=1))
    parameters = {
        "TableName": name,
        "IndexName": "inverted",
        "KeyConditionExpression": "r = :r",
        "ExpressionAttributeValues": {":r": {"S": "x"}},
        "Limit": 1,
    }
    found = list(pages(dynamodb.query, **parameters))
    assert names([i for page in found for i in page["Items"]]) == ["a", "b", "c"]
    assert found[0]["LastEvaluatedKey"] == item(p="a", r="x")


# --- Keys of several attributes ------------------------------------------------------------------

HASHES = [("x", 1), ("x", 2), ("y", 1)]
RANGES = [(n, t, b) for n in (-1, 2, 10) for t in ("a", "b") for b in (b"\x00", b"\xff")]


@pytest.fixture
def many(dynamodb: Any, create: Callable[..., str]) -> str:
    """A GSI of two HASH and three RANGE attributes over every combination of a few values."""
    name = create("id:N", gsi={"many": ("h:S k:N", "n:N t:S b:B", "ALL")})
    combinations = [(h, r) for h in HASHES for r in RANGES]
    for start in range(0, len(combinations), 25):
        puts = [
            {"PutRequest": {"Item": item(id=start + at, h=h, k=k, n=n, t=t, b=b)}}
            for at, ((h, k), (n, t, b)) in enumerate(combinations[start : start + 25])
        ]
        dynamodb.batch_write_item(RequestItems={name: puts})
    dynamodb.put_item(TableName=name, Item=item(id=1000, h="x", k=1, n=2, t="a"))
    return name


def many_query(table: str, clauses: str, **values: Any) -> dict[str, Any]:
    words = "".join(c if c.isalnum() or c in ":_" else " " for c in clauses).split()
    named = {f":{name}": value for name, value in {"h": "x", "k": 1, **values}.items()}
    return {
        "TableName": table,
        "IndexName": "many",
        "KeyConditionExpression": clauses,
        "ExpressionAttributeValues": item(**{n: v for n, v in named.items() if n in words}),
    }


def ranges(items: list[dict[str, Any]]) -> list[tuple[Any, Any, Any]]:
    return [(f["n"], f["t"], f["b"]) for f in map(plain, items)]


H = "h = :h AND k = :k"

SELECTIONS: dict[str, tuple[str, dict[str, Any], Callable[[Any, str, bytes], bool]]] = {
    "no range condition": (H, {}, lambda n, t, b: True),
    "first equal": (f"{H} AND n = :n", {"n": 2}, lambda n, t, b: n == 2),
    "first less": (f"{H} AND n < :n", {"n": 2}, lambda n, t, b: n < 2),
    "first between": (f"{H} AND n BETWEEN :n AND :m", {"n": 0, "m": 5}, lambda n, t, b: 0 <= n <= 5),
    "two equal": (f"{H} AND n = :n AND t = :t", {"n": 2, "t": "a"}, lambda n, t, b: (n, t) == (2, "a")),
    "second greater": (f"{H} AND n = :n AND t > :t", {"n": 2, "t": "a"}, lambda n, t, b: n == 2 and t > "a"),
    "second begins": (
        f"{H} AND n = :n AND begins_with(t, :t)",
        {"n": 10, "t": "b"},
        lambda n, t, b: n == 10 and t[:1] == "b",
    ),
    "third between": (
        f"{H} AND n = :n AND t = :t AND b BETWEEN :b AND :c",
        {"n": 2, "t": "b", "b": b"\x00", "c": b"\x80"},
        lambda n, t, b: (n, t) == (2, "b") and b <= b"\x80",
    ),
    "third equal": (
        f"{H} AND n = :n AND t = :t AND b = :b",
        {"n": 2, "t": "b", "b": b"\xff"},
        lambda n, t, b: (n, t, b) == (2, "b", b"\xff"),
    ),
    "any textual order": (
        "t >= :t AND k = :k AND n = :n AND h = :h",
        {"n": 2, "t": "b"},
        lambda n, t, b: n == 2 and t >= "b",
    ),
}


@pytest.mark.parametrize(("clauses", "values", "test"), SELECTIONS.values(), ids=SELECTIONS)
def test_key_condition_over_several_attributes_selects_matching_entries(
    dynamodb: Any,
    many: str,
    clauses: str,
    values: dict[str, Any],
    test: Callable[[Any, str, bytes], bool],
) -> None:
    """Sorted by the RANGE attributes in schema order, each by its own type; exact in pages both ways."""
    wanted = [r for r in sorted(RANGES) if test(*r)]
    parameters = many_query(many, clauses, **values)
    assert ranges(everything(dynamodb.query, **parameters)) == wanted
    assert ranges(everything(dynamodb.query, Limit=2, **parameters)) == wanted
    assert ranges(everything(dynamodb.query, Limit=2, ScanIndexForward=False, **parameters)) == wanted[::-1]


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "one HASH attribute missing": ("h = :h", {}),
    "HASH without equality": ("h = :h AND k > :k", {}),
    "gap between the RANGE attributes": (f"{H} AND t = :t", {"t": "a"}),
    "RANGE attributes beside a gap": (f"{H} AND n = :n AND b = :b", {"n": 2, "b": b"x"}),
    "inequality before the last": (f"{H} AND n > :n AND t = :t", {"n": 2, "t": "a"}),
    "two inequalities": (f"{H} AND n > :n AND t > :t", {"n": 2, "t": "a"}),
    "wrong type": (f"{H} AND n = :n", {"n": "2"}),
    "two conditions on one attribute": (f"{H} AND n > :n AND n < :m", {"n": 0, "m": 2}),
    "an attribute of no key": (f"{H} AND id = :n", {"n": 0}),
}


@pytest.mark.parametrize(("clauses", "values"), BROKEN.values(), ids=BROKEN)
def test_a_key_condition_that_breaks_a_rule_is_rejected(
    dynamodb: Any, many: str, clauses: str, values: dict[str, Any]
) -> None:
    """Every HASH with =, RANGE left to right without a gap, all but the last with =. No texts are captured
    (errors.md section 10)."""
    with refused("ValidationException"):
        dynamodb.query(**many_query(many, clauses, **values))


@pytest.mark.parametrize("name", ["h", "k", "n", "t", "b"])
def test_no_key_attribute_of_the_index_may_be_filtered(dynamodb: Any, many: str, name: str) -> None:
    with invalid(
        f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
    ):
        dynamodb.query(**many_query(many, H), FilterExpression=f"attribute_exists({name})")


def test_last_evaluated_key_holds_every_index_key_and_the_table_s(dynamodb: Any, many: str) -> None:
    page = dynamodb.query(**many_query(many, H), Limit=1)
    assert set(page["LastEvaluatedKey"]) == {"id", "h", "k", "n", "t", "b"}
    with invalid("The provided starting key is invalid"):
        dynamodb.query(
            **many_query(many, H),
            ExclusiveStartKey={n: v for n, v in page["LastEvaluatedKey"].items() if n != "b"},
        )


def test_an_item_without_one_key_attribute_is_not_in_the_index(dynamodb: Any, many: str) -> None:
    found = everything(dynamodb.scan, TableName=many, IndexName="many", Limit=7)
    assert len(found) == len(HASHES) * len(RANGES)
    dynamodb.update_item(
        TableName=many,
        Key=item(id=1000),
        UpdateExpression="SET b = :b",
        ExpressionAttributeValues={":b": {"B": b"now"}},
    )
    assert len(everything(dynamodb.scan, TableName=many, IndexName="many")) == len(found) + 1


def test_all_eight_key_attributes(dynamodb: Any, create: Callable[..., str]) -> None:
    """Up to 8 conditions (new-features.md section 10)."""
    name = create("p:S", gsi={"eight": ("a:S b:N c:B d:S", "e:S f:N g:B i:S", "KEYS_ONLY")})
    values = {"a": "1", "b": 2, "c": b"3", "d": "4", "e": "5", "f": 6, "g": b"7", "i": "8"}
    dynamodb.put_item(TableName=name, Item=item(p="p", **values))
    found = dynamodb.query(
        TableName=name,
        IndexName="eight",
        KeyConditionExpression=" AND ".join(f"{n} = :{n}" for n in values),
        ExpressionAttributeValues=item(**{f":{n}": v for n, v in values.items()}),
    )
    assert found["Items"] == [item(p="p", **values)]


@pytest.mark.parametrize("ranges", range(5))
@pytest.mark.parametrize("hashes", range(1, 5))
def test_one_to_four_hash_and_up_to_four_range_attributes(
    dynamodb: Any, create: Callable[..., str], hashes: int, ranges: int
) -> None:
    """new-features.md section 10, every form; two HASH attributes alone are one of them."""
    hash_names, range_names = "abcd"[:hashes], "efgi"[:ranges]
    keys = [" ".join(f"{name}:S" for name in names) for names in (hash_names, range_names)]
    name = create("p:S", gsi={"many": (*keys, "ALL")})
    values = {n: f"value of {n}" for n in hash_names + range_names}
    dynamodb.put_item(TableName=name, Item=item(p="whole", **values))
    for missing in values:
        dynamodb.put_item(TableName=name, Item=item(p=missing, **{**values, missing: "other"}))
    found = dynamodb.query(
        TableName=name,
        IndexName="many",
        KeyConditionExpression=" AND ".join(f"{n} = :{n}" for n in values),
        ExpressionAttributeValues=item(**{f":{n}": v for n, v in values.items()}),
    )
    assert names(found["Items"]) == ["whole"]


def test_values_of_several_attributes_do_not_run_together(dynamodb: Any, create: Callable[..., str]) -> None:
    """Collision-free encoding (engine-requirements.md, class 1)."""
    name = create("p:S", gsi={"two": ("a:S b:S", "c:S d:S", "ALL")})
    quartets = [
        ("x", "yz", "1", "2"),
        ("xy", "z", "1", "2"),
        ("x", "y\x00z", "1", "2"),
        ("x\x00y", "z", "1", "2"),
        ("x", "yz", "12", "\x00"),
        ("x", "yz", "1", "2\x00"),
    ]
    for number, (a, b, c, d) in enumerate(quartets):
        dynamodb.put_item(TableName=name, Item=item(p=str(number), a=a, b=b, c=c, d=d))
    for number, (a, b, c, d) in enumerate(quartets):
        found = dynamodb.query(
            TableName=name,
            IndexName="two",
            KeyConditionExpression="a = :a AND b = :b AND c = :c AND d = :d",
            ExpressionAttributeValues=item(**{":a": a, ":b": b, ":c": c, ":d": d}),
        )
        assert names(found["Items"]) == [str(number)]
