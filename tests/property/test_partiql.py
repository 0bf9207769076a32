"""Properties of PartiQL.

Every text parses to a statement or raises ValidationException, and the parser moves over each token once;
every statement, with any parameters, has a consistent result or an error of the model; a WHERE clause finds
the same items as the condition in a FilterExpression.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from partiql_strategies import (
    Both,
    any_text,
    conditions,
    items,
    keys,
    literal,
    parameters,
    statements,
    values,
)

from faradisc.errors import ValidationException
from faradisc.language.partiql.expressions import ExpressionParser
from faradisc.language.partiql.lexer import PartiqlToken, tokens_of
from faradisc.language.partiql.parser import _parse
from faradisc.protocol import failures
from fixtures.in_process import InProcess, Refused
from fixtures.schemas import item, schema
from fixtures.searching import examples

# --- Any text ------------------------------------------------------------------------------------


def parsed_steps(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Parses a text. Returns how many tokens the parser moved over."""
    steps = 0
    advance = ExpressionParser.advance

    def counted(parser: ExpressionParser) -> PartiqlToken:
        nonlocal steps
        steps += 1
        return advance(parser)

    with monkeypatch.context() as patch:
        patch.setattr(ExpressionParser, "advance", counted)
        try:
            _parse(text)
        except ValidationException as rejection:
            assert rejection.message
    return steps


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_text | statements)
def test_any_text_is_a_statement_or_a_rejection(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    steps = parsed_steps(text, monkeypatch)
    try:
        assert steps < len(tokens_of(text))
    except ValidationException:
        assert steps == 0


HOSTILE = (
    *("(", "((a)", "NOT ", "NOT(", "a=1 OR ", "(a=1 AND ", "size(", "size(a,", "a.", "a[0]", "[", "[1,"),
    *(
        "{'a':",
        "<<",
        "<<1,",
        "'",
        "''",
        '"',
        "/*",
        "/**/",
        "--",
        "--\n",
        "-",
        "- ",
        "+1",
        "?",
        "?,",
        "x,",
        "x+",
    ),
    *("COUNT(", "foo(a,", "a IN (", "a IN [1,", "a BETWEEN 1 AND ", "a IS NOT ", "1e9", "\n", " ", "SELECT "),
    *(";", "a=a+"),
)
STARTS = [
    "",
    "SELECT ",
    "SELECT * FROM t WHERE ",
    "SELECT * FROM t WHERE a = ",
    "SELECT * FROM t WHERE a=1 AND (a=1 OR NOT ",
    "SELECT * FROM t ORDER BY ",
    "INSERT INTO t VALUE ",
    "INSERT INTO t VALUE {'a': ",
    "UPDATE t SET ",
    "UPDATE t SET a = ",
    "UPDATE t SET a = list_append(a, ",
    "EXISTS(",
]


@pytest.mark.parametrize("size", [2048, pytest.param(8192, marks=pytest.mark.slow)])
@pytest.mark.parametrize("start", STARTS, ids=range(len(STARTS)))
def test_hostile_repetition_is_bounded(start: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The characters of one repeated part: bounded recursion, no token read twice."""
    for repeated in HOSTILE:
        text = (start + repeated * size)[:size]
        assert parsed_steps(text, monkeypatch) <= size


def test_the_deepest_statement_that_is_allowed_can_be_run(world: InProcess) -> None:
    """300 operators, nested as deep as possible: parsed, bound and applied to items."""
    for where in (
        "NOT " * 299 + "a = 1",
        "NOT (" * 99 + "a = 1" + " AND a = 1)" * 99,
        "(" * 3000 + "a = 1" + ")" * 3000,
        "a = 1 OR " * 149 + "a = 1",
    ):
        world.call("ExecuteStatement", Statement=f"SELECT * FROM tab WHERE {where}")


# --- Any statement -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world() -> Iterator[InProcess]:
    """One database for the module: statements see the data of earlier ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failures, "RAISE_UNEXPECTED", True)
        process = InProcess()
        process.call(
            "CreateTable",
            TableName="tab",
            **schema("pk:S", "sk:N", lsi={"lsi": ("b:S", "KEYS_ONLY")}, gsi={"idx": ("b:S", "", ["a"])}),
        )
        yield process
        process.check()
        process.close()


_LIMITS = st.one_of(st.none(), st.integers(1, 3))


@examples(400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements, parameters, _LIMITS)
def test_any_statement_is_answered(
    world: InProcess, statement: str, given_parameters: list[Any], limit: int | None
) -> None:
    request: dict[str, Any] = {"Statement": statement, "ReturnConsumedCapacity": "INDEXES"}
    count = statement.count("?")
    if count and len(given_parameters) >= count:
        request["Parameters"] = given_parameters[:count]
    if limit is not None:
        request["Limit"] = limit
    for _ in range(3):
        try:
            answer = world.call("ExecuteStatement", **request)
        except Refused as refused:
            assert refused.status == 400
            return
        if "NextToken" not in answer:
            return
        request["NextToken"] = answer["NextToken"]


@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["BatchExecuteStatement", "ExecuteTransaction"]),
    st.lists(statements | any_text.filter(bool), min_size=1, max_size=4),
    parameters.filter(bool),
)
def test_any_batch_is_answered(
    world: InProcess, operation: str, texts: list[str], given_parameters: list[Any]
) -> None:
    members = [
        {"Statement": text, **({"Parameters": given_parameters} if "?" in text else {})} for text in texts
    ]
    name = "Statements" if operation.startswith("Batch") else "TransactStatements"
    try:
        answer = world.call(operation, **{name: members}, ReturnConsumedCapacity="TOTAL")
    except Refused as refused:
        assert refused.status == 400
        return
    writes_only = operation == "ExecuteTransaction" and not answer["Responses"]
    assert writes_only or len(answer["Responses"]) == len(texts)


# --- Two languages, one meaning ------------------------------------------------------------------


def found_by_filter(process: InProcess, condition: Both) -> list[Any] | str:
    try:
        return list(process.call("Scan", TableName="two", **condition.filter_members())["Items"])
    except Refused as refused:
        return refused.text.removeprefix("Invalid FilterExpression: ")


def found_by_statement(process: InProcess, where: str) -> list[Any] | str:
    try:
        return list(process.call("ExecuteStatement", Statement=f"SELECT * FROM two WHERE {where}")["Items"])
    except Refused as refused:
        return str(refused.text)


@examples(150)
@given(st.dictionaries(keys, items, max_size=6), conditions)
def test_a_where_clause_finds_what_a_filter_finds(stored: dict[Any, Any], condition: Both) -> None:
    process = InProcess()
    process.call("CreateTable", TableName="two", **schema("pk:S", "sk:N"))
    for (pk, sk), attributes in stored.items():
        process.call("PutItem", TableName="two", Item=item(pk=pk, sk=sk, **attributes))
    expected = found_by_filter(process, condition)
    found = found_by_statement(process, condition.where)
    # What compares a key may be refused here: another type, or ranges that overlap.
    names_key = "pk" in condition.where or "sk" in condition.where
    if not (names_key and isinstance(found, str)):
        assert sort_of(found) == sort_of(expected)
    process.close()


def sort_of(found: list[Any] | str) -> Any:
    return found if isinstance(found, str) else sorted(found, key=repr)


@examples(100)
@given(values)
def test_literals_and_parameters_are_the_same_values(value: Any) -> None:
    process = InProcess()
    process.call("CreateTable", TableName="two", **schema("pk:S"))
    insert = "INSERT INTO two VALUE {{'pk': {}, 'v': {}}}"
    process.call("ExecuteStatement", Statement=insert.format("'literal'", literal(value)))
    process.call(
        "ExecuteStatement",
        Statement=insert.format("?", "?"),
        Parameters=[{"S": "parameter"}, item(v=value)["v"]],
    )
    stored = [
        process.call("GetItem", TableName="two", Key=item(pk=pk))["Item"]["v"]
        for pk in ("literal", "parameter")
    ]
    assert stored[0] == stored[1]
    process.close()
