"""BatchExecuteStatement and ExecuteTransaction.

"7" is expressions.md section 7, "8" errors.md section 8.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from partiql_library import PEOPLE, Library

from faradisc.limits import IDEMPOTENCY_WINDOW_S
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, plain, refused, schema

P1 = "SELECT * FROM \"people\" WHERE id = 'p1'"
P2 = "SELECT * FROM \"people\" WHERE id = 'p2'"
INSERT = "INSERT INTO \"people\" VALUE {'id': 'n'}"
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
DUPLICATE = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
KEY_TYPE = "Key attribute's data type should match its data type in table's schema: Key id"
WITHOUT_KEY = "Where clause does not contain a mandatory equality on all key attributes"


@pytest.fixture
def library(dynamodb: Any, create: Callable[..., str]) -> Library:
    return Library(dynamodb, create)


# --- BatchExecuteStatement -----------------------------------------------------------------------


def test_reads_come_in_order(library: Library) -> None:
    answer = library.batch(
        library.member("SELECT * FROM \"people\" WHERE id = 'p3'"),
        library.member('SELECT name FROM "people" WHERE id = ?', "p1"),
        library.member("SELECT * FROM \"people\" WHERE id = 'none'"),
        library.member("SELECT none FROM \"people\" WHERE id = 'p2'"),
        library.member(
            "SELECT title FROM \"songs\" WHERE artist = 'bo' AND year = 1999", ConsistentRead=True
        ),
        library.member("SELECT * FROM \"songs\" WHERE artist IN ['cy'] AND year = 2021"),
    )
    songs, people = library.names["songs"], library.names["people"]
    assert answer["Responses"] == [
        {"TableName": people, "Item": item(**PEOPLE[2])},
        {"TableName": people, "Item": item(name="Ann")},
        {"TableName": people},
        {"TableName": people, "Item": {}},
        {"TableName": songs, "Item": item(title="Four")},
        {"TableName": songs},
    ]
    assert "ConsumedCapacity" not in answer


WITHOUT_PRIMARY_KEY = [
    'SELECT * FROM "songs"',
    "SELECT * FROM \"songs\" WHERE artist = 'bo'",
    "SELECT * FROM \"people\" WHERE id IN ['p1', 'p3']",
    "SELECT * FROM \"people\" WHERE id = 'p1' OR id = 'p3'",
    "SELECT * FROM \"people\" WHERE id = 'p1' AND age = 30",
    'SELECT * FROM "songs"."by_genre" WHERE genre = \'folk\' AND rank = 1',
    "SELECT * FROM \"people\" WHERE id = 'p1' AND attribute_exists(age)",
    "SELECT * FROM \"people\" WHERE id = 'p1' AND NOT attribute_not_exists(age)",
]


@pytest.mark.parametrize("statement", WITHOUT_PRIMARY_KEY)
def test_a_select_in_a_batch_names_one_item(library: Library, statement: str) -> None:
    """Source: 8."""
    answer = library.batch(library.member(statement), library.member(P2))
    assert answer["Responses"][0] == {
        "Error": {
            "Code": "ValidationError",
            "Message": "Select statements within BatchExecuteStatement must specify the primary key "
            "in the where clause.",
        }
    }
    assert "Item" in answer["Responses"][1]


def test_writes_of_a_batch_are_independent(library: Library) -> None:
    answer = library.batch(
        library.member(INSERT),
        library.member("INSERT INTO \"people\" VALUE {'id': 'p1'}"),
        library.member("UPDATE \"people\" SET age = 1 WHERE id = 'p2' AND age = 2"),
        library.member("DELETE FROM \"people\" WHERE id = 'p3'"),
        library.member("DELETE FROM \"people\" WHERE id = 'none'"),
        library.member("UPDATE \"songs\" SET x = 1 WHERE artist = 'cy' AND year = 2020"),
    )
    songs, people = library.names["songs"], library.names["people"]
    assert answer["Responses"] == [
        {"TableName": people},
        {"Error": DUPLICATE, "TableName": people},
        {"Error": FAILED, "TableName": people},
        {"TableName": people},
        {"TableName": people},
        {"TableName": songs},
    ]
    assert sorted(one["id"] for one in library.run('SELECT * FROM "people"')) == ["n", "p1", "p2"]
    assert (library.get("songs", artist="cy", year=2020) or {})["x"] == 1


def test_members_may_return_items(library: Library) -> None:
    """Source: 7, "BatchExecuteStatement honours it"."""
    answer = library.batch(
        library.member("UPDATE \"people\" SET age = 1 WHERE id = 'p1' RETURNING ALL NEW *"),
        library.member("UPDATE \"people\" REMOVE none WHERE id = 'p2' RETURNING MODIFIED NEW *"),
        library.member("DELETE FROM \"people\" WHERE id = 'p3' RETURNING ALL OLD *"),
        library.member("DELETE FROM \"people\" WHERE id = 'none' RETURNING ALL OLD *"),
    )
    assert [response.get("Item") for response in answer["Responses"]] == [
        item(id="p1", name="Ann", age=1),
        None,
        item(id="p3", name="Cy"),
        None,
    ]


def test_errors_of_members_have_short_codes(library: Library) -> None:
    """Source: 8; the table's name is not echoed with these."""
    answer = library.batch(
        library.member("garbage"),
        library.member("DELETE FROM \"none\" WHERE id = 'p1'"),
        library.member('DELETE FROM "people" WHERE id = 1'),
        library.member("DELETE FROM \"people\" WHERE name = 'x'"),
        library.member("UPDATE \"people\" SET a = none + 1 WHERE id = 'p1'"),
        library.member("UPDATE \"people\" SET a = ? WHERE id = 'p1'"),
        library.member("EXISTS(SELECT * FROM \"people\" WHERE id = 'p1' AND age = 1)"),
    )
    assert [response["Error"] for response in answer["Responses"]] == [
        {"Code": "ValidationError", "Message": "Unsupported operation: Id"},
        {"Code": "ResourceNotFound", "Message": "Requested resource not found"},
        {"Code": "ValidationError", "Message": KEY_TYPE},
        {"Code": "ValidationError", "Message": WITHOUT_KEY},
        {
            "Code": "ValidationError",
            "Message": "The provided expression refers to an attribute that does not exist in the item",
        },
        {
            "Code": "ValidationError",
            "Message": "Number of parameters in request and statement don't match.",
        },
        {
            "Code": "ValidationError",
            "Message": "EXISTS can only be used in ExecuteTransaction write requests.",
        },
    ]
    assert all(set(response) == {"Error"} for response in answer["Responses"])


def test_a_bad_parameter_fails_only_its_statement(library: Library) -> None:
    answer = library.batch(
        library.member('SELECT * FROM "people" WHERE id = ?', Parameters=[{"N": "x"}]), library.member(P2)
    )
    assert answer["Responses"][0]["Error"] == {
        "Code": "ValidationError",
        "Message": "The parameter cannot be converted to a numeric value: x",
    }
    assert "Item" in answer["Responses"][1]


def test_a_failed_statement_returns_the_item_if_it_asks(library: Library) -> None:
    """Source: new-features.md section 1. A duplicate never returns it."""
    mode = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    answer = library.batch(
        library.member("UPDATE \"people\" SET age = 1 WHERE id = 'p1' AND age = 2", **mode),
        library.member("DELETE FROM \"people\" WHERE id = 'p3' AND age = 2", **mode),
        library.member("UPDATE \"people\" SET age = 1 WHERE id = 'none'", **mode),
        library.member("UPDATE \"people\" SET age = 1 WHERE id = 'p2' AND age = 2"),
    )
    people = library.names["people"]
    assert answer["Responses"] == [
        {"Error": {**FAILED, "Item": item(**PEOPLE[0])}, "TableName": people},
        {"Error": {**FAILED, "Item": item(**PEOPLE[2])}, "TableName": people},
        {"Error": FAILED, "TableName": people},
        {"Error": FAILED, "TableName": people},
    ]
    answer = library.batch(library.member("INSERT INTO \"people\" VALUE {'id': 'p1'}", **mode))
    assert answer["Responses"] == [{"Error": DUPLICATE, "TableName": people}]


def test_errors_that_the_table_finds_name_it(library: Library) -> None:
    """Source: 8."""
    long_key = library.member('DELETE FROM "people" WHERE id = ?', "x" * 2049)
    key_changed = library.member("UPDATE \"people\" SET id = 'x' WHERE id = 'p1'")
    for response in library.batch(long_key, key_changed)["Responses"]:
        assert response["TableName"] == library.names["people"]
        assert response["Error"]["Code"] == "ValidationError"


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        ([P1, INSERT], "Read and write requests together in the same batch is not supported."),
        ([P1, P2, P1], "Provided list of item keys contains duplicates"),
        ([P1, P2.replace("= 'p2'", "IN ['p1']")], "Provided list of item keys contains duplicates"),
        ([INSERT, "DELETE FROM \"people\" WHERE id = 'n'"], "Provided list of item keys contains duplicates"),
    ],
)
def test_errors_of_the_whole_batch(library: Library, statements: list[str], text: str) -> None:
    with invalid(text):
        library.batch(*map(library.member, statements))
    assert library.get("people", id="n") is None


def test_a_batch_has_25_statements(library: Library) -> None:
    """Source: limits.md section 4."""
    members = [library.member(f"INSERT INTO \"people\" VALUE {{'id': 'n{n}'}}") for n in range(26)]
    with refused("ValidationException"):
        library.batch(*members)
    with refused("ValidationException"):
        library.batch()
    assert len(library.batch(*members[:25])["Responses"]) == 25


def test_a_batch_reports_units_of_failed_members_too(library: Library) -> None:
    """Source: capacity-consumption.md section 3; capacity.md V57 for the duplicate."""
    library.run("INSERT INTO \"people\" VALUE {'id': 'big', 'x': ?}", "x" * 9000)
    duplicate = library.member("INSERT INTO \"people\" VALUE {'id': 'big'}")
    answer = library.batch(
        duplicate,
        library.member("DELETE FROM \"people\" WHERE id = 'p1'"),
        library.member("UPDATE \"people\" SET a = 1 WHERE id = 'none'"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["ConsumedCapacity"] == [{"TableName": library.names["people"], "CapacityUnits": 11}]
    assert "ConsumedCapacity" not in library.batch(duplicate, ReturnConsumedCapacity="TOTAL")


def test_a_failed_member_counts_in_the_sum_only(library: Library) -> None:
    """Source: capacity-consumption.md section 3."""
    library.run("INSERT INTO \"people\" VALUE {'id': 'big', 'x': ?}", "x" * 3000)
    answer = library.batch(
        library.member("UPDATE \"people\" SET a = 1 WHERE id = 'big' AND a = 1"),
        library.member("DELETE FROM \"people\" WHERE id = 'p1'"),
        ReturnConsumedCapacity="INDEXES",
    )
    (consumed,) = answer["ConsumedCapacity"]
    assert (consumed["CapacityUnits"], consumed["Table"]) == (4, {"CapacityUnits": 1})


def test_a_batch_reports_units_per_table(library: Library) -> None:
    answer = library.batch(
        library.member(P1, ConsistentRead=True),
        library.member(P2),
        library.member("SELECT * FROM \"songs\" WHERE artist = 'cy' AND year = 2020"),
        ReturnConsumedCapacity="INDEXES",
    )
    people, songs = library.names["people"], library.names["songs"]
    assert answer["ConsumedCapacity"] == [
        {"TableName": people, "CapacityUnits": 1.5, "Table": {"CapacityUnits": 1.5}},
        {"TableName": songs, "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}},
    ]


# --- ExecuteTransaction --------------------------------------------------------------------------


def test_transactional_reads(library: Library) -> None:
    """Source: 7: `{}` when nothing is projected, no Item when there is none; capacity 2.2."""
    answer = library.transact(
        library.member(P1),
        library.member("SELECT * FROM \"people\" WHERE id = 'none'"),
        library.member("SELECT none FROM \"people\" WHERE id = 'p2'"),
        library.member('SELECT title FROM "songs" WHERE artist = ? AND year = ?', "bo", 1999),
        library.member("SELECT title FROM \"songs\" WHERE artist = 'cy' AND year IN [2021]"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["Responses"] == [
        {"Item": item(**PEOPLE[0])},
        {},
        {"Item": {}},
        {"Item": item(title="Four")},
        {},
    ]
    assert answer["ConsumedCapacity"] == [
        {"TableName": library.names["people"], "CapacityUnits": 6, "ReadCapacityUnits": 6},
        {"TableName": library.names["songs"], "CapacityUnits": 4, "ReadCapacityUnits": 4},
    ]


def test_transactional_writes(library: Library) -> None:
    answer = library.transact(
        library.member(INSERT),
        library.member("UPDATE \"people\" SET age = age + 1 WHERE id = 'p1' AND age = 30"),
        library.member("DELETE FROM \"people\" WHERE id = 'p2'"),
        library.member("EXISTS(SELECT * FROM \"songs\" WHERE artist = 'bo' AND year = 1999 AND rank = 5)"),
        ReturnConsumedCapacity="INDEXES",
    )
    assert answer["Responses"] == []
    people, songs = answer["ConsumedCapacity"]
    assert (people["WriteCapacityUnits"], songs["WriteCapacityUnits"]) == (6, 2)
    assert people["Table"] == {"CapacityUnits": 6, "WriteCapacityUnits": 6}
    assert (library.get("people", id="p1") or {})["age"] == 31
    assert library.get("people", id="p2") is None
    assert library.get("people", id="n") == {"id": "n"}


def cancelled(library: Library, *members: dict[str, Any]) -> list[dict[str, Any]]:
    """The reasons; nothing may have changed."""
    with refused("TransactionCanceledException") as caught:
        library.transact(*members)
    assert [library.get("people", id=one["id"]) for one in PEOPLE] == PEOPLE
    assert library.get("people", id="n") is None
    reasons: list[dict[str, Any]] = caught.value.response["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in reasons)
    assert caught.value.response["Error"]["Message"].endswith(f"specific reasons [{codes}]")
    return reasons


def test_a_failed_statement_cancels_all(library: Library) -> None:
    """Source: errors.md section 6.8: all failing conditions, in request order."""
    reasons = cancelled(
        library,
        library.member(INSERT),
        library.member("INSERT INTO \"people\" VALUE {'id': 'p1'}"),
        library.member("UPDATE \"people\" SET a = 1 WHERE id = 'none'"),
        library.member("DELETE FROM \"people\" WHERE id = 'p2' AND age = 0"),
        library.member("EXISTS(SELECT * FROM \"people\" WHERE id = 'p3' AND name = 'x')"),
        library.member("DELETE FROM \"people\" WHERE id = 'absent' AND age = 0"),
    )
    assert reasons == [{"Code": "None"}, DUPLICATE, FAILED, FAILED, FAILED, {"Code": "None"}]


def test_reasons_show_items_where_asked(library: Library) -> None:
    """Source: new-features.md section 1."""
    false = "UPDATE \"people\" SET a = 1 WHERE id = '{}' AND name = 'x'"
    reasons = cancelled(
        library,
        library.member(false.format("p1"), ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        library.member(false.format("p2")),
        library.member(false.format("absent"), ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    )
    assert plain(reasons[0]["Item"]) == PEOPLE[0]
    assert reasons[1:] == [FAILED, FAILED]


EXISTS_NOTHING = [
    "EXISTS(SELECT * FROM \"people\" WHERE id = 'absent' AND age IS MISSING)",
    "EXISTS(SELECT * FROM \"people\" WHERE id = 'p1' AND age IS MISSING)",
]


@pytest.mark.parametrize("statement", EXISTS_NOTHING)
def test_exists_is_false_when_nothing_is_found(library: Library, statement: str) -> None:
    assert cancelled(library, library.member(INSERT), library.member(statement)) == [{"Code": "None"}, FAILED]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ('DELETE FROM "people" WHERE id = 1', "The provided key element does not match the schema"),
        ("DELETE FROM \"people\" WHERE name = 'x'", WITHOUT_KEY),
        (
            "INSERT INTO \"songs\" VALUE {'artist': 'x', 'year': 'y'}",
            "One or more parameter values were invalid: Type mismatch for key year expected: N actual: S",
        ),
        (
            "UPDATE \"people\" SET a = none WHERE id = 'p1'",
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            "UPDATE \"people\" SET id = 'x' WHERE id = 'p1'",
            "One or more parameter values were invalid: Cannot update attribute id. "
            "This attribute is part of the key",
        ),
    ],
)
def test_an_error_of_one_action_cancels_the_transaction(library: Library, statement: str, text: str) -> None:
    """Source: errors.md section 6.8: only the first validation error, the others None."""
    reasons = cancelled(library, library.member(INSERT), library.member(statement))
    assert reasons == [{"Code": "None"}, {"Code": "ValidationError", "Message": text}]


def test_a_read_key_of_the_wrong_type_cancels(library: Library) -> None:
    reasons = cancelled(library, library.member(P1), library.member('SELECT * FROM "people" WHERE id = 1'))
    assert [reason["Code"] for reason in reasons] == ["None", "ValidationError"]


IN_SECOND = "Validation failed in TransactStatements[1]: "
MIXED = "ExecuteTransaction API does not support both read and write operations in the same request."

WHOLE: list[tuple[list[str], str]] = [
    (
        [P1, INSERT],
        MIXED,
    ),
    (
        [P1, "EXISTS(SELECT * FROM \"people\" WHERE id = 'p2' AND age = 1)"],
        MIXED,
    ),
    ([P1, P1], "Transaction request cannot include multiple operations on one item"),
    (
        [P1, P2.replace("= 'p2'", "IN ['p1']")],
        "Transaction request cannot include multiple operations on one item",
    ),
    (
        [P1, "SELECT * FROM \"songs\" WHERE artist IN ['a', 'a'] AND year = 1"],
        IN_SECOND + "Overlapping conditions with range keys are not supported in where clause",
    ),
    (
        [INSERT, 'DELETE FROM "people" WHERE id = {}'],
        IN_SECOND + "Key value must be of type S, N, or B. Key name: id, Key type: M",
    ),
    (
        [P1, "SELECT * FROM \"people\" WHERE id = 'p2' AND age = 1"],
        IN_SECOND
        + "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
    ),
    ([INSERT, INSERT], "Transaction request cannot include multiple operations on one item"),
    (
        [P1, 'SELECT * FROM "songs"'],
        IN_SECOND
        + "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
    ),
    (
        [P1, 'SELECT * FROM "songs"."by_genre" WHERE genre = \'folk\''],
        IN_SECOND + "Reads on indices are not supported within transactions.",
    ),
    (
        [INSERT, "UPDATE \"people\" SET a = 1 WHERE id = 'p1' RETURNING ALL OLD *"],
        IN_SECOND + "RETURNING clause is not supported in ExecuteTransaction.",
    ),
    (
        [INSERT, "DELETE FROM \"people\" WHERE id = 'p1' RETURNING ALL OLD *"],
        IN_SECOND + "RETURNING clause is not supported in ExecuteTransaction.",
    ),
    (
        [INSERT, "EXISTS(SELECT * FROM \"people\" WHERE id = 'p1')"],
        IN_SECOND + "EXISTS() must contain a single item read with additional condition",
    ),
    (
        [INSERT, 'EXISTS(SELECT * FROM "people" WHERE age = 1)'],
        IN_SECOND + "EXISTS() must contain a single item read with additional condition",
    ),
    ([INSERT, "garbage"], "Unsupported operation: Id"),
    (
        [INSERT, "INSERT INTO \"people\" VALUE {'id': ''}"],
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        "cannot contain an empty string value. Key: id",
    ),
]


@pytest.mark.parametrize(("statements", "text"), WHOLE, ids=[case[0][-1][:80] for case in WHOLE])
def test_errors_of_the_whole_transaction(library: Library, statements: list[str], text: str) -> None:
    with invalid(text):
        library.transact(*map(library.member, statements))
    assert library.get("people", id="n") is None


def test_a_missing_table_rejects_the_whole_transaction(library: Library) -> None:
    with refused("ResourceNotFoundException"):
        library.transact(library.member(INSERT), library.member("DELETE FROM \"none\" WHERE id = 'x'"))
    assert library.get("people", id="n") is None


def test_an_insert_into_a_missing_table_cancels(library: Library) -> None:
    """Source: errors.md section 8."""
    reasons = cancelled(
        library, library.member(INSERT), library.member("INSERT INTO \"none\" VALUE {'id': 'x'}")
    )
    assert reasons == [
        {"Code": "None"},
        {"Code": "ResourceNotFound", "Message": "Requested resource not found"},
    ]


def test_a_duplicate_in_a_transaction_returns_no_item(library: Library) -> None:
    """Source: new-features.md section 1."""
    member = library.member(
        "INSERT INTO \"people\" VALUE {'id': 'p1'}", ReturnValuesOnConditionCheckFailure="ALL_OLD"
    )
    assert cancelled(library, member) == [DUPLICATE]


def test_an_oversized_insert_rejects_the_whole_transaction(library: Library) -> None:
    with invalid("Item size has exceeded the maximum allowed size"):
        library.transact(
            library.member(INSERT),
            library.member("INSERT INTO \"people\" VALUE {'id': 'm', 'x': ?}", "x" * 409_600),
        )


@pytest.mark.parametrize(
    "statement", ["INSERT INTO \"people\" VALUE {'id': ?, 'v': ?}", 'UPDATE "people" SET v = ? WHERE id = ?']
)
def test_a_transaction_sends_up_to_4_mb(library: Library, statement: str) -> None:
    """limits.md section 4: of a write, the payload of the request."""
    values = [(f"big{n}", "x" * 400_000) for n in range(11)]
    if statement.startswith("UPDATE"):
        values = [(value, name) for name, value in values]
    with invalid() as caught:
        library.transact(*(library.member(statement, *pair) for pair in values))
    assert caught.value.response["Error"]["Message"].startswith("Collection size of items exceeded, ")


def test_a_transaction_has_100_statements(library: Library) -> None:
    members = [library.member(f"INSERT INTO \"people\" VALUE {{'id': 'n{n}'}}") for n in range(101)]
    with refused("ValidationException"):
        library.transact(*members)
    library.transact(*members[:100])
    assert library.get("people", id="n99") is not None


# --- Tokens --------------------------------------------------------------------------------------


def test_a_transaction_is_executed_once_per_token(library: Library) -> None:
    """Source: limits.md section 8; the replay is charged as reads."""
    member = library.member("UPDATE \"people\" SET age = age + 1 WHERE id = 'p1'")
    request = {"ClientRequestToken": "once", "ReturnConsumedCapacity": "TOTAL"}
    first = library.transact(member, **request)
    again = library.transact(member, **request)
    assert (library.get("people", id="p1") or {})["age"] == 31
    assert first["Responses"] == again["Responses"] == []
    assert first["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2
    assert again["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2
    with refused("IdempotentParameterMismatchException"):
        library.transact(library.member(INSERT), **request)


def test_a_token_is_bound_to_the_failure_mode_whose_default_is_none(library: Library) -> None:
    """Source: errors.md section 8."""
    statement = "UPDATE \"people\" SET age = age + 1 WHERE id = 'p1'"
    mode = "ReturnValuesOnConditionCheckFailure"
    library.transact(library.member(statement), ClientRequestToken="once")
    library.transact(library.member(statement, **{mode: "NONE"}), ClientRequestToken="once")
    assert (library.get("people", id="p1") or {})["age"] == 31
    with refused("IdempotentParameterMismatchException"):
        library.transact(library.member(statement, **{mode: "ALL_OLD"}), ClientRequestToken="once")


def test_a_token_is_forgotten_after_ten_minutes(open_process: Callable[..., InProcess], clock: Any) -> None:
    process = open_process()
    process.call("CreateTable", TableName="counts", **schema("id:S"))
    process.call("PutItem", TableName="counts", Item=item(id="a", n=0))
    add = {"Statement": "UPDATE counts SET n = n + 1 WHERE id = 'a'"}
    for expected in ("1", "1", "2"):
        process.call("ExecuteTransaction", TransactStatements=[add], ClientRequestToken="t")
        found = process.call("GetItem", TableName="counts", Key=item(id="a"), ConsistentRead=True)
        assert found["Item"]["n"] == {"N": expected}
        if expected == "1":
            clock.advance(IDEMPOTENCY_WINDOW_S / 2 + 1)


def test_a_next_token_survives_a_restart(open_process: Callable[..., InProcess], tmp_path: Path) -> None:
    """Source: expressions.md section 7; language/partiql/token.py."""
    statement = {"Statement": "SELECT n FROM counts WHERE id = ?", "Parameters": [{"S": "a"}]}
    process = open_process(tmp_path)
    process.call("CreateTable", TableName="counts", **schema("id:S", "n:N"))
    for number in range(5):
        process.call("PutItem", TableName="counts", Item=item(id="a", n=number))
    first = process.call("ExecuteStatement", **statement, Limit=2)
    process.close()
    again = open_process(tmp_path)
    rest = again.call("ExecuteStatement", **statement, NextToken=first["NextToken"])
    assert [plain(one)["n"] for one in first["Items"] + rest["Items"]] == [0, 1, 2, 3, 4]
