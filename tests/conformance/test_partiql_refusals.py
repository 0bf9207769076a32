"""Statements that are refused, in the service's words and with the place.

Most of them are in partiql_errors.script: statement, `!`, text. "8" is errors.md section 8, "7"
expressions.md section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from partiql_library import PEOPLE, Library

from fixtures.schemas import invalid, refused

ENVELOPE = "Statement wasn't well formed, can't be processed: "
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


@pytest.fixture
def library(dynamodb: Any, create: Callable[..., str]) -> Library:
    return Library(dynamodb, create)


SCRIPT = Path(__file__).parent / "partiql_errors.script"


def cases() -> list[tuple[str, str, str]]:
    """(source, statement, text) of every case in the script."""
    found = []
    for block in SCRIPT.read_text("utf-8").split("\nsource: ")[1:]:
        head, _, text = block.partition("\n! ")
        source, _, statement = head.partition("\n")
        found.append((source, statement, text.partition("\n")[0]))
    return found


def test_invalid_statements_are_rejected(library: Library) -> None:
    found = cases()
    assert len(found) > 200
    wrong: list[tuple[str, ...]] = []
    for source, statement, text in found:
        with refused("ValidationException") as caught:
            library.run(statement)
        said = caught.value.response["Error"]["Message"]
        if said != text or library.get("people", id="p1") != PEOPLE[0]:
            wrong.append((source, statement, text, said))
    assert wrong == []


def operands(operator: str, count: int) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {operator}, number of operands: {count}"
    )


TOO_MANY = "The IN operator is provided with too many operands; number of operands: 101"
LONG: list[tuple[str, str, str]] = [
    (
        "limits.md section 3",
        "NOT " * 301 + "rank = 1",
        "The expression contains too many operators; operator count: 301",
    ),
    ("errors.md section 8", f"rank IN [{', '.join(map(str, range(101)))}]", TOO_MANY),
    ("errors.md section 8", f"NOT size(title) IN ({', '.join(map(str, range(101)))})", TOO_MANY),
    ("limits.md section 4", f"artist IN [{', '.join(map(repr, map(str, range(51))))}]", operands("IN", 51)),
]


@pytest.mark.parametrize(
    ("source", "where", "text"), LONG, ids=["operators", "options", "negated options", "keys"]
)
def test_too_long_parts_are_rejected(library: Library, source: str, where: str, text: str) -> None:
    with invalid(text):
        library.run(f'SELECT * FROM "songs" WHERE {where}')


def test_statement_on_missing_table_raises_resource_not_found(library: Library) -> None:
    """Source: errors.md section 6.1, data plane."""
    for statement in (
        'SELECT * FROM "none"',
        "INSERT INTO \"none\" VALUE {'id': 'x'}",
        "UPDATE \"none\" SET a = 1 WHERE id = 'x'",
        "DELETE FROM \"none\" WHERE id = 'x'",
    ):
        with refused("ResourceNotFoundException", "Requested resource not found"):
            library.run(statement)


def test_global_indexes_are_read_eventually(library: Library) -> None:
    """Source: errors.md section 8; the missing index is reported first."""
    with invalid("Strongly consistent read is not supported on Global Secondary Indexes"):
        library.run('SELECT * FROM "songs"."by_genre"', ConsistentRead=True)
    with invalid("The table does not have the specified index"):
        library.run('SELECT * FROM "songs"."none"', ConsistentRead=True)


def test_insert_into_an_index_is_rejected(library: Library) -> None:
    length = len(library.names["songs"]) + 2
    with invalid(
        f"FROM clause may only contain a single table name in data manipulation statements at 2:1:{length}"
    ):
        library.run("INSERT INTO\n\"songs\".\"by_genre\" VALUE {'genre': 'x'}")


def test_a_statement_needs_its_parameters_and_may_have_more(library: Library) -> None:
    """Source: errors.md section 8."""
    statement = 'SELECT * FROM "people" WHERE id = ?'
    with invalid("Number of parameters in request and statement don't match."):
        library.run(statement)
    assert library.run(statement, "p1", "p2") == [PEOPLE[0]]
    with invalid("The parameter cannot be converted to a numeric value: x"):
        library.run('SELECT * FROM "none" WHERE id = ?', Parameters=[{"S": "p1"}, {"N": "x"}])
    error = library.batch(library.member(statement, "p1", "p2"))["Responses"][0]["Error"]
    assert error["Message"] == "Number of parameters in request and statement don't match."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        ({"N": "1e126"}, OVERFLOW),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        (
            {"SS": ["a", "a"]},
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    ],
)
def test_parameters_are_valid_values(library: Library, value: dict[str, Any], text: str) -> None:
    """Source: errors.md sections 3 and 6.2, old layer."""
    statement = library.text("UPDATE \"people\" SET a = ? WHERE id = 'p1'")
    with invalid(text):
        library.dynamodb.execute_statement(Statement=statement, Parameters=[value])


NESTED = "Nesting Levels have exceeded supported limits"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"L": []}
    for _ in range(levels - 1):
        value = {"L": [value]}
    return value


def test_nesting_has_a_limit(library: Library) -> None:
    """Source: errors.md section 8. A value has 32 levels, but the item that holds it is one level more."""
    update = "UPDATE \"people\" SET a = {} WHERE id = 'p1'"
    for literal, parameters in (("[" * 31 + "]" * 31, []), ("?", [nested(31)]), ("[?]", [nested(30)])):
        library.run(update.format(literal), **({"Parameters": parameters} if parameters else {}))
    for literal, parameters in (("[" * 32 + "]" * 32, []), ("?", [nested(32)]), ("[?]", [nested(31)])):
        members = {"Parameters": parameters} if parameters else {}
        with invalid(NESTED):
            library.run(update.format(literal), **members)
        with invalid(NESTED):
            library.run(f"INSERT INTO \"people\" VALUE {{'id': 'n', 'a': {literal}}}", **members)
        with refused("ConditionalCheckFailedException"):
            library.run(update.format(literal) + " AND age = 1", **members)
        with refused("DuplicateItemException"):
            library.run(f"INSERT INTO \"people\" VALUE {{'id': 'p1', 'a': {literal}}}", **members)
        assert library.run(f'SELECT * FROM "people" WHERE a = {literal}', **members) == []


@pytest.mark.parametrize("statement", ["garbage", 'SELECT * FROM "none" WHERE id = ?'])
def test_nesting_and_names_of_parameters_are_checked_before_the_statement(
    library: Library, statement: str
) -> None:
    """Source: errors.md section 8."""
    with invalid(NESTED + ": Attributes in the item have nested levels beyond supported limit"):
        library.run(statement, Parameters=[nested(33)])
    read = library.member('SELECT * FROM "people" WHERE id = ?', "p1")
    unnamed = {"L": [{"M": {"a": {"M": {"": {"S": "x"}}}}}]}
    with invalid("Empty attribute name"):
        library.run(statement, Parameters=[unnamed])
    for parameter, text in ((nested(33), NESTED), (unnamed, "Empty attribute name")):
        bad = library.member("UPDATE \"people\" SET a = ? WHERE id = 'p1'", Parameters=[parameter])
        failed, found = library.batch(bad, read)["Responses"]
        assert failed["Error"]["Message"].startswith(text)
        assert "Item" in found


EMPTY_KEY = (
    "One or more parameter values are not valid. The AttributeValue for a key attribute "
    "cannot contain an empty string value. Key: "
)


@pytest.mark.parametrize(
    ("where", "value", "text"),
    [
        ("artist = ?", "", f"{EMPTY_KEY}artist"),
        ("artist IN ['ayla', ?]", "", f"{EMPTY_KEY}artist"),
        (
            "artist = ?",
            "x" * 2049,
            "One or more parameter values were invalid: "
            "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            "artist IN [?]",
            "x" * 2049,
            "One or more parameter values were invalid: "
            "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        ("artist IN [?, 'a'] AND artist <> ''", "", f"{EMPTY_KEY}artist"),
    ],
)
def test_a_keyed_read_checks_its_partition_key_as_query_does(
    library: Library, where: str, value: str, text: str
) -> None:
    with invalid(text):
        library.run(f'SELECT * FROM "songs" WHERE {where}', value)


LONG_SORT_KEY = (
    "One or more parameter values were invalid: "
    "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)


@pytest.mark.parametrize(
    "where", ["sk = ?", "sk > ?", "sk BETWEEN '' AND ?", "begins_with(sk, ?)", "sk IN [?]", "? >= sk"]
)
def test_every_value_of_a_sort_key_is_measured(dynamodb: Any, create: Callable[..., str], where: str) -> None:
    """Source: errors.md section 8. Several ranges are not measured."""
    name = create("pk:S", "sk:S", gsi={"index": ("a:S", "sk:S", "ALL")})
    run = dynamodb.execute_statement
    for source, key in ((f'"{name}"', "pk"), (f'"{name}"."index"', "a")):
        statement = f"SELECT * FROM {source} WHERE {key} = 'a' AND {where}"
        assert run(Statement=statement, Parameters=[{"S": "x" * 1024}])["Items"] == []
        with invalid(LONG_SORT_KEY):
            run(Statement=statement, Parameters=[{"S": "x" * 1025}])
        several = f"SELECT * FROM {source} WHERE {key} = 'a' AND {where} OR {key} = ?"
        assert run(Statement=several, Parameters=[{"S": "x" * 1025}, {"S": "y" * 2049}])["Items"] == []


def test_limit_is_at_least_one(library: Library) -> None:
    """Source: errors.md section 6.5."""
    with invalid(
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    ):
        library.run('SELECT * FROM "songs"', Limit=0)


def test_unknown_capacity_reports_are_rejected(library: Library) -> None:
    """Source: capacity-consumption.md section 4."""
    with invalid(
        "1 validation error detected: Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
    ):
        library.run('SELECT * FROM "songs"', ReturnConsumedCapacity="ALL")


def test_a_statement_has_8192_characters(library: Library) -> None:
    """Source: limits.md section 1."""
    statement = library.text('SELECT * FROM "people"')
    library.run(statement + " " * (8192 - len(statement)))
    with refused("ValidationException"):
        library.run(statement + " " * (8193 - len(statement)))


# --- NextToken -----------------------------------------------------------------------------------


def test_a_token_is_bound_to_statement_and_parameters(library: Library) -> None:
    """Source: 7; errors.md section 8."""
    statement = 'SELECT * FROM "songs" WHERE artist = ?'
    token = library.answer(statement, "ayla", Limit=1)["NextToken"]
    assert library.titles(statement, "ayla", NextToken=token) == ["Two", "Three"]
    for other, parameter in ((statement, "bo"), (statement + " ", "ayla")):
        with invalid("NextToken does not match request"):
            library.run(other, parameter, NextToken=token)
    with invalid("NextToken does not match request"):
        library.run("SELECT * FROM \"songs\" WHERE artist = 'ayla' AND year = 2001", NextToken=token)


SAME = ["1e2 1E2 1E+2", "-0 0", "01 1 +1", "1.5E1 15", "0.50 50e-2"]
OTHER = ["1.0 1", "0.0 0", "100 1E2", "1E2 1.0E2", "1 -1", "1.5 1.50"]


@pytest.mark.parametrize(
    ("numbers", "matches"), [*((each, True) for each in SAME), *((each, False) for each in OTHER)]
)
def test_a_token_is_bound_to_digits_and_scale_of_numbers(
    library: Library, numbers: str, matches: bool
) -> None:
    """Source: expressions.md section 7."""
    statement = library.text('SELECT * FROM "songs" WHERE rank <> ?')
    first, *others = numbers.split()

    def page(number: str, **members: Any) -> Any:
        parameters = [{"N": number}]
        return library.dynamodb.execute_statement(Statement=statement, Parameters=parameters, **members)

    token = page(first, Limit=1)["NextToken"]
    for number in (first, *others):
        if matches or number == first:
            assert page(number, NextToken=token, Limit=3)["Items"]
        else:
            with invalid("NextToken does not match request"):
                page(number, NextToken=token)


@pytest.mark.parametrize(
    ("value", "again", "matches"),
    [
        ({"SS": ["b", "a"]}, {"SS": ["a", "b"]}, True),
        ({"NS": ["2", "1.0"]}, {"NS": ["1", "20e-1"]}, True),
        ({"S": "a"}, {"S": "a"}, True),
        ({"L": []}, {"L": []}, False),
        ({"M": {}}, {"M": {}}, False),
        ({"L": [{"S": "a"}]}, {"L": [{"S": "a"}]}, False),
    ],
)
def test_tokens_and_other_parameters(library: Library, value: Any, again: Any, matches: bool) -> None:
    """Source: expressions.md section 7."""
    statement = library.text('SELECT * FROM "songs" WHERE rank <> ?')
    run = library.dynamodb.execute_statement
    token = run(Statement=statement, Parameters=[value], Limit=1)["NextToken"]
    if matches:
        assert run(Statement=statement, Parameters=[again], NextToken=token)["Items"]
    else:
        with invalid("NextToken does not match request"):
            run(Statement=statement, Parameters=[again], NextToken=token)


def test_errors_of_members_have_the_service_s_order(library: Library) -> None:
    """Source: errors.md section 8."""
    mode = {"ReturnValuesOnConditionCheckFailure": "X"}
    names = []
    for call in (
        lambda: library.dynamodb.execute_statement(
            Statement="", Parameters=[], Limit=0, ReturnConsumedCapacity="X", **mode
        ),
        lambda: library.dynamodb.batch_execute_statement(
            Statements=[{"Statement": "", "Parameters": [], **mode}], ReturnConsumedCapacity="X"
        ),
    ):
        with refused("ValidationException") as caught:
            call()
        text = caught.value.response["Error"]["Message"]
        names.append([part.split("'")[0] for part in text.split(" at '")[1:]])
    assert names == [
        ["returnValuesOnConditionCheckFailure", "limit", "statement", "returnConsumedCapacity", "parameters"],
        [
            "returnConsumedCapacity",
            "statements.1.member.returnValuesOnConditionCheckFailure",
            "statements.1.member.statement",
            "statements.1.member.parameters",
        ],
    ]


def test_malformed_next_token_is_rejected(library: Library) -> None:
    statement = 'SELECT * FROM "songs"'
    token = library.answer(statement, Limit=1)["NextToken"]
    changed = token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")
    for bad in ("x", "äöü", "AAAA", token[:-4], token + "AAAA", changed, "A" * 32_768):
        with invalid("Invalid NextToken"):
            library.run(statement, NextToken=bad)


# --- Indexes with keys of several attributes ----------------------------------------------------


@pytest.fixture
def wide(dynamodb: Any, create: Callable[..., str]) -> str:
    return create(
        "id:S",
        gsi={"several": ("a:S b:S", "c:N d:N", "ALL"), "one": ("a:S", "c:N", "ALL")},
    )


MULTI = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys "
    "or multi-attribute RANGE keys."
)


def test_indexes_with_several_key_attributes_are_rejected(dynamodb: Any, wide: str) -> None:
    """Source: new-features.md section 10: it follows the index, not the table."""
    run = dynamodb.execute_statement
    run(Statement=f"INSERT INTO \"{wide}\" VALUE {{'id': 'x', 'a': 'a', 'b': 'b', 'c': 1, 'd': 2}}")
    assert len(run(Statement=f'SELECT * FROM "{wide}"."one" WHERE a = \'a\'')["Items"]) == 1
    assert len(run(Statement=f'SELECT * FROM "{wide}"')["Items"]) == 1
    for where in (
        "",
        "WHERE a = 'a'",
        "WHERE a = 'a' AND b = 'b'",
        "WHERE a < TRUE",
        "WHERE a = ?",
        "LIMIT 1",
    ):
        with invalid(MULTI):
            run(Statement=f'SELECT * FROM "{wide}"."several" {where}')
    with invalid(OVERFLOW + " under root"):
        run(Statement=f'SELECT * FROM "{wide}"."several" WHERE a = 1e126')
    with invalid(ENVELOPE + "Unexpected term"):
        run(Statement=f'SELECT * FROM "{wide}"."several" WHERE')


def test_an_index_error_fails_only_its_statement_of_a_batch(dynamodb: Any, wide: str) -> None:
    answer = dynamodb.batch_execute_statement(
        Statements=[
            {"Statement": f'SELECT * FROM "{wide}"."several" WHERE a = \'a\''},
            {"Statement": f"SELECT * FROM \"{wide}\" WHERE id = 'x'"},
        ]
    )
    assert answer["Responses"] == [
        {"Error": {"Code": "ValidationError", "Message": MULTI}},
        {"TableName": wide},
    ]
