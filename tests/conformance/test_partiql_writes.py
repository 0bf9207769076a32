"""INSERT, UPDATE, DELETE: what statements make of items, and what they answer.

"7" is expressions.md section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from partiql_library import PEOPLE, Library

from fixtures.schemas import invalid, plain, refused

FAILED = ("ConditionalCheckFailedException", "The conditional request failed")


@pytest.fixture
def library(dynamodb: Any, create: Callable[..., str]) -> Library:
    return Library(dynamodb, create)


# --- INSERT --------------------------------------------------------------------------------------

LITERALS: list[tuple[str, str, tuple[Any, ...], Any]] = [
    ("7: strings", "'it''s'", (), "it's"),
    ("7: strings", "''", (), ""),
    ("7: strings keep their lines", "'a\nb -- no comment'", (), "a\nb -- no comment"),
    ("7: numbers", "1", (), 1),
    ("section 8: 1.0 is 1", "1.0", (), 1),
    ("section 8: exponents", "15e-1", (), Decimal("1.5")),
    ("section 8", "-0042.1200", (), Decimal("-42.12")),
    ("section 8", "+5", (), 5),
    ("section 8", ".5", (), Decimal("0.5")),
    ("7: TRUE", "true", (), True),
    ("7: FALSE", "FALSE", (), False),
    ("7: NULL", "Null", (), None),
    ("7: lists", "[1, 'a', [TRUE], {'b': NULL}]", (), [1, "a", [True], {"b": None}]),
    ("7: empty lists", "[]", (), []),
    ("7: maps", "{'a': {'b c': 1}}", (), {"a": {"b c": 1}}),
    ("7: empty maps", "{}", (), {}),
    ("7: sets of strings", "<<'b', 'a'>>", (), {"a", "b"}),
    ("7: sets of numbers", "<<2, 1e0>>", (), {1, 2}),
    ("7: parameters", "?", ("x",), "x"),
    ("7: binary parameters", "?", (b"\x00\xff",), b"\x00\xff"),
    ("7: parameters of any type", "?", ([1, {"a": {2, 3}}],), [1, {"a": {2, 3}}]),
    ("7: parameters inside", "[?, {'a': ?}]", (1, b"2"), [1, {"a": b"2"}]),
    ("the open grammar: constructors", "list(1, bag(1))", (), [1, {1}]),
    ("7: sets as parameters", "[?]", ({b"a"},), [{b"a"}]),
    ("assumed: the later of two", "{'a': 1, 'a': 2}", (), {"a": 2}),
]


@pytest.mark.parametrize(("source", "literal", "parameters", "value"), LITERALS, ids=[c[1] for c in LITERALS])
def test_insert_accepts_every_literal(
    library: Library, source: str, literal: str, parameters: tuple[Any, ...], value: Any
) -> None:
    assert library.run(f"INSERT INTO \"people\" VALUE {{'id': 'n', 'v': {literal}}}", *parameters) == []
    found = library.get("people", id="n")
    assert found is not None
    assert found == {"id": "n", "v": value}, source
    assert library.run(f'SELECT id FROM "people" WHERE v = {literal}', *parameters) == [{"id": "n"}]


def test_an_item_can_be_a_parameter(library: Library) -> None:
    library.run('INSERT INTO "people" value ?', {"id": "n", "age": 1})
    assert library.get("people", id="n") == {"id": "n", "age": 1}


def test_an_existing_key_is_rejected(library: Library) -> None:
    """Source: errors.md section 8."""
    with refused("DuplicateItemException", "Duplicate primary key exists in table"):
        library.run("INSERT INTO \"people\" VALUE {'id': 'p1'}")
    assert library.get("people", id="p1") == {"id": "p1", "name": "Ann", "age": 30}


def test_inserts_reach_the_indexes(library: Library) -> None:
    library.run("INSERT INTO \"songs\" VALUE {'artist': 'dan', 'year': 1, 'genre': 'new', 'rank': 1}")
    assert len(library.run('SELECT * FROM "songs"."by_genre" WHERE genre = \'new\'')) == 1


# --- UPDATE --------------------------------------------------------------------------------------

P2 = PEOPLE[1]


def mail(**members: Any) -> dict[str, Any]:
    return {"mail": {**P2["mail"], **members}}


CHANGES: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = [
    # source, changes, parameters, the attributes that differ afterwards (None: gone)
    ("7: SET", "SET age = 26", (), {"age": 26}),
    ("7: several in one SET", "SET age = 26, name = 'B'", (), {"age": 26, "name": "B"}),
    ("7: several SETs", "SET age = 26 SET name = ?", ("B",), {"age": 26, "name": "B"}),
    ("7: REMOVE", "REMOVE age", (), {"age": ...}),
    ("7: several REMOVEs", "REMOVE age REMOVE name", (), {"age": ..., "name": ...}),
    ("7: both", "SET a = 1 REMOVE age SET b = 2", (), {"a": 1, "b": 2, "age": ...}),
    ("section 5: REMOVE of what is missing", "REMOVE none", (), {}),
    ("7: +", "SET age = age + 5", (), {"age": 30}),
    ("7: -", "SET age = age - 5.5", (), {"age": Decimal("19.5")}),
    ("7: operands in any order", "SET age = 100 - age", (), {"age": 75}),
    ("7: without spaces", "SET age=age+1", (), {"age": 26}),
    ("7: parentheses", "SET age = (age + (1))", (), {"age": 26}),
    ("7: parameters", "SET age = age + ?", (1,), {"age": 26}),
    ("section 5: the old item is read", "SET a = age, age = 1", (), {"a": 25, "age": 1}),
    ("7: another attribute", "SET a = mail.home", (), {"a": "b@x"}),
    ("7: nested paths", "SET mail.home = 'n@x'", (), mail(home="n@x")),
    (
        "7: new nested",
        "SET mail.office = 'w'",
        (),
        mail(office="w"),
    ),
    ("7: list indexes", "SET mail.every[1] = 'z'", (), mail(every=["b@x", "z"])),
    (
        "section 5: beyond the end",
        "SET mail.every[9] = 'z'",
        (),
        mail(every=["b@x", "b@y", "z"]),
    ),
    ("7: REMOVE an element", "REMOVE mail.every[0]", (), mail(every=["b@y"])),
    ("7: REMOVE nested", "REMOVE mail.home", (), {"mail": {"every": ["b@x", "b@y"]}}),
    (
        "7: list_append",
        "SET mail.every = list_append(mail.every, ['c'])",
        (),
        mail(every=["b@x", "b@y", "c"]),
    ),
    (
        "7: list_append in front",
        "SET mail.every = list_append(?, mail.every)",
        (["c"],),
        mail(every=["c", "b@x", "b@y"]),
    ),
    ("7: if_not_exists", "SET age = if_not_exists(age, 1), a = if_not_exists(a, 1)", (), {"a": 1}),
    ("section 5: calls in calls", "SET l = list_append(if_not_exists(l, []), [1])", (), {"l": [1]}),
    ("section 5: calls in sums", "SET n = if_not_exists(n, 0) + 1", (), {"n": 1}),
    ("7: set_add", "SET tags = set_add(tags, <<'c', 'a'>>)", (), {"tags": {"a", "b", "c"}}),
    ("7: set_add creates", "SET s = set_add(s, <<1>>)", (), {"s": {1}}),
    ("7: set_add a parameter", "SET s = SET_ADD(s, ?)", ({b"x"},), {"s": {b"x"}}),
    ("7: set_delete", "SET tags = set_delete(tags, <<'a', 'x'>>)", (), {"tags": {"b"}}),
    ("section 5: an emptied set goes", "SET tags = set_delete(tags, <<'a', 'b'>>)", (), {"tags": ...}),
    ("7: values of any type", "SET a = {'b': [1, <<2>>]}, c = NULL", (), {"a": {"b": [1, {2}]}, "c": None}),
    ("7: quoted names", 'SET "a b"."c" = 1', (), ...),
    ("7: quoted names", 'SET "a b" = 1', (), {"a b": 1}),
]


@pytest.mark.parametrize(("source", "changes", "parameters", "differs"), CHANGES, ids=[c[1] for c in CHANGES])
def test_updates_change_the_item(
    library: Library, source: str, changes: str, parameters: tuple[Any, ...], differs: Any
) -> None:
    statement = f"UPDATE \"people\" {changes} WHERE id = 'p2'"
    if differs is ...:
        with invalid("The document path provided in the update expression is invalid for update"):
            library.run(statement, *parameters)
        return
    assert library.run(statement, *parameters) == []
    expected = {name: value for name, value in {**P2, **differs}.items() if value is not ...}
    assert library.get("people", id="p2") == expected, source


CONDITIONS: list[tuple[str, str, bool]] = [
    ("7: the rest of WHERE is a condition", "id = 'p2' AND age = 25", True),
    ("7", "id = 'p2' AND age = 26", False),
    ("7: no upsert", "id = 'none'", False),
    ("7: no upsert", "id = 'none' AND age IS MISSING", False),
    ("7: OR inside", "id = 'p2' AND (age = 1 OR name = 'Bob')", True),
    ("7: functions", "id = 'p2' AND begins_with(name, 'B') AND size(tags) = 2", True),
    ("7: the key again", "id = 'p2' AND id <> 'p1'", True),
    ("8: IN of one value is an equality", "id IN ['p2'] AND age = 25", True),
    ("7: MISSING", "id = 'p2' AND mail.office IS MISSING", True),
    ("7: IN", "id = 'p2' AND age IN [24, 25]", True),
]


@pytest.mark.parametrize(("source", "where", "holds"), CONDITIONS, ids=[case[1] for case in CONDITIONS])
def test_update_conditions(library: Library, source: str, where: str, holds: bool) -> None:
    statement = f'UPDATE "people" SET seen = TRUE WHERE {where}'
    if holds:
        assert library.run(statement) == []
    else:
        with refused(*FAILED):
            library.run(statement)
    assert (library.get("people", id="p2") == {**P2, "seen": True}) is holds, source
    assert library.get("people", id="none") is None


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ("SET c = 1", {"c": 1}),
        ("REMOVE age", {}),
        ("set c = ? remove age RETURNING ALL NEW *", {"c": 7}),
    ],
)
def test_an_update_can_begin_with_from(library: Library, changes: str, found: dict[str, Any]) -> None:
    """Source: expressions.md section 7."""
    parameters = [7] if "?" in changes else []
    before = library.get("people", id="p1") or {}
    answer = library.answer(f"FROM \"people\" WHERE id = 'p1' AND age = 30 {changes}", *parameters)
    after = library.get("people", id="p1") or {}
    kept = {name: value for name, value in before.items() if name != "age" or "c = 1" in changes}
    assert after == {**kept, **found}
    assert len(answer["Items"]) == ("RETURNING" in changes)
    for where in ("id = 'none'", "id = 'p1' AND age = 31"):
        with refused("ConditionalCheckFailedException"):
            library.run(f'FROM "people" WHERE {where} SET d = 1')
    assert library.get("people", id="none") is None
    library.transact(library.member("FROM \"people\" WHERE id = 'p1' SET e = 1"))
    answer = library.batch(library.member("FROM \"people\" WHERE id = 'p1' REMOVE c"))
    assert "Error" not in answer["Responses"][0]
    assert library.get("people", id="p1") == {**kept, "e": 1}


def test_composite_keys_in_any_order(library: Library) -> None:
    library.run("UPDATE \"songs\" SET x = 1 WHERE rank = 1 AND year = 2001 AND artist = 'ayla'")
    assert (library.get("songs", artist="ayla", year=2001) or {})["x"] == 1


RETURNING: list[tuple[str, str, str, Any]] = [
    ("7", "SET age = 26", "ALL OLD", P2),
    ("7", "SET age = 26", "ALL NEW", {**P2, "age": 26}),
    ("7: MODIFIED omits the key", "SET age = 26", "MODIFIED OLD", {"age": 25}),
    ("7", "SET age = 26", "MODIFIED NEW", {"age": 26}),
    ("7", "SET age = 26, a = 1", "MODIFIED OLD", {"age": 25}),
    ("7: nothing to show", "SET a = 1", "MODIFIED OLD", None),
    ("7: nothing to show", "REMOVE age", "MODIFIED NEW", None),
    ("7: nothing to show", "REMOVE none", "MODIFIED OLD", None),
    ("7: nested paths", "SET mail.home = 'n'", "MODIFIED NEW", {"mail": {"home": "n"}}),
    ("7: list indexes are packed", "SET mail.every[1] = 'n'", "MODIFIED NEW", {"mail": {"every": ["n"]}}),
    ("7: against the old list", "SET mail.every[1] = 'n'", "MODIFIED OLD", {"mail": {"every": ["b@y"]}}),
    ("7: against the new list", "REMOVE mail.every[0]", "MODIFIED NEW", {"mail": {"every": ["b@y"]}}),
    ("7: against the new list", "SET mail.every[9] = 'n'", "MODIFIED NEW", None),
    ("7: sets", "SET tags = set_add(tags, <<'c'>>)", "MODIFIED NEW", {"tags": {"a", "b", "c"}}),
]


@pytest.mark.parametrize(
    ("source", "changes", "returning", "shown"), RETURNING, ids=[f"{c[1]} {c[2]}" for c in RETURNING]
)
def test_returning_modes_of_update(
    library: Library, source: str, changes: str, returning: str, shown: Any
) -> None:
    found = library.run(f"UPDATE \"people\" {changes} WHERE id = 'p2' RETURNING {returning} *")
    assert found == ([] if shown is None else [shown]), source


# --- DELETE --------------------------------------------------------------------------------------

DELETES: list[tuple[str, str, bool]] = [
    ("7", "id = 'p2'", True),
    ("7: the rest of WHERE is a condition", "id = 'p2' AND age = 25", True),
    ("7: a false condition", "id = 'p2' AND age = 26", False),
    ("7: a missing item is no error", "id = 'none'", True),
    ("7: whatever else WHERE says", "id = 'none' AND age = 1", True),
]


@pytest.mark.parametrize(("source", "where", "succeeds"), DELETES, ids=[case[1] for case in DELETES])
def test_delete_removes_the_item(library: Library, source: str, where: str, succeeds: bool) -> None:
    statement = f'DELETE FROM "people" WHERE {where}'
    if succeeds:
        assert library.run(statement) == []
    else:
        with refused(*FAILED):
            library.run(statement)
    gone = succeeds and "p2" in where
    assert (library.get("people", id="p2") is None) is gone, source


def test_delete_returns_the_old_item(library: Library) -> None:
    statement = "DELETE FROM \"people\" WHERE id = 'p2' RETURNING ALL OLD *"
    assert library.run(statement) == [P2]
    assert library.run(statement) == []


# --- Failed conditions and capacity --------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE \"people\" SET a = 1 WHERE id = 'p1' AND age = 1",
        "DELETE FROM \"people\" WHERE id = 'p1' AND age = 1",
    ],
)
def test_a_failed_condition_shows_the_item_if_asked(library: Library, statement: str) -> None:
    """Source: new-features.md section 1."""
    with refused(*FAILED) as caught:
        library.run(statement, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert plain(caught.value.response["Item"]) == {"id": "p1", "name": "Ann", "age": 30}
    with refused(*FAILED) as caught:
        library.run(statement)
    assert "Item" not in caught.value.response


def test_a_failed_condition_on_a_missing_item_returns_no_item(library: Library) -> None:
    with refused(*FAILED) as caught:
        library.run(
            "UPDATE \"people\" SET a = 1 WHERE id = 'none'", ReturnValuesOnConditionCheckFailure="ALL_OLD"
        )
    assert "Item" not in caught.value.response


@pytest.mark.parametrize(
    ("statement", "units"),
    [
        ("INSERT INTO \"people\" VALUE {'id': 'n', 'x': ?}", 3),
        ("UPDATE \"people\" SET x = ? WHERE id = 'p1'", 3),
    ],
)
def test_writes_cost_what_the_matching_operation_costs(library: Library, statement: str, units: int) -> None:
    """Source: capacity-consumption.md section 3."""
    answer = library.answer(statement, "x" * 2500, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {
        "TableName": library.names["people"],
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }


def test_indexes_are_charged_beside_the_table(library: Library) -> None:
    answer = library.answer(
        "DELETE FROM \"songs\" WHERE artist = 'ayla' AND year = 1999", ReturnConsumedCapacity="INDEXES"
    )
    consumed = answer["ConsumedCapacity"]
    assert consumed["CapacityUnits"] == 3
    assert consumed["GlobalSecondaryIndexes"] == {"by_genre": {"CapacityUnits": 1}}
    assert consumed["LocalSecondaryIndexes"] == {"by_rank": {"CapacityUnits": 1}}


def test_the_size_limit_applies_to_the_finished_item(library: Library) -> None:
    """Source: capacity-consumption.md section 3, "The 400 KB limit"; errors.md section 6.2."""
    # The names and values of {id: n, x: ...} take 4 bytes beside the text.
    fits, over = "x" * (409_600 - 4), "x" * (409_600 - 3)
    with invalid("Item size has exceeded the maximum allowed size"):
        library.run("INSERT INTO \"people\" VALUE {'id': 'n', 'x': ?}", over)
    library.run("INSERT INTO \"people\" VALUE {'id': 'n', 'x': ?}", fits)
    with invalid("Item size to update has exceeded the maximum allowed size"):
        library.run("UPDATE \"people\" SET y = 1 WHERE id = 'n'")
