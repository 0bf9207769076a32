"""The planner, the columns of a SELECT, and NextToken."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest

from faradisc.errors import ValidationException
from faradisc.language.expressions import KeyCondition
from faradisc.language.partiql.binder import fill_templates
from faradisc.language.partiql.columns import Columns
from faradisc.language.partiql.errors import StatementError
from faradisc.language.partiql.parser import parse_statement
from faradisc.language.partiql.planner import StatementPlan, complete_key, plan_of
from faradisc.language.partiql.token import decode_token, encode_token
from faradisc.model.values.schema import KeySchema

SCHEMA = KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"})


def planned(where: str, *parameters: Any) -> StatementPlan:
    statement = parse_statement(f"SELECT * FROM t WHERE {where}")
    return plan_of(statement.where, fill_templates(statement, parameters), SCHEMA)


def s(text: str) -> dict[str, str]:
    return {"S": text}


def n(number: int) -> dict[str, str]:
    return {"N": str(number)}


def query(pk: str, operator: Any = None, *operands: int) -> KeyCondition:
    return KeyCondition((s(pk),), (), operator, tuple(map(n, operands)))


def read(
    *ranges: KeyCondition | tuple[KeyCondition, ...], rest: Any = (), is_list: bool = False
) -> StatementPlan:
    selections = [each if isinstance(each, tuple) else (each,) for each in ranges]
    return StatementPlan(tuple(selections), rest, is_list)


PLANS = [
    ("a = 1", StatementPlan(None, (0,))),
    ("sk = 1", StatementPlan(None, (0,))),
    ("pk > 'a'", StatementPlan(None, (0,))),
    ("begins_with(pk, 'a')", StatementPlan(None, (0,))),
    ("NOT pk = 'a'", StatementPlan(None, (0,))),
    ("pk = 'a' OR sk = 1", StatementPlan(None, (0,))),
    ("pk = a", StatementPlan(None, (0,))),
    ("pk = 'a'", read(query("a"))),
    ("pk = 'a' AND pk = 'a'", read(query("a"))),
    ("pk = 'a' AND pk = 'b'", read()),
    ("pk = 'a' AND sk = 1", read(query("a", "=", 1))),
    ("sk > 1 AND pk = 'a' AND sk < 5", read((query("a", ">", 1), query("a", "<", 5)))),
    ("pk = 'a' AND sk BETWEEN 1 AND 2", read(query("a", "BETWEEN", 1, 2))),
    ("pk = 'a' AND sk <> 1", read(query("a"), rest=(1,))),
    ("pk = 'a' AND NOT sk IN [1]", read(query("a"), rest=(1,))),
    ("pk = 'a' AND sk IN (1)", read(query("a", "=", 1))),
    ("pk = 'a' AND sk IN (2, 1)", read(query("a", "=", 2), query("a", "=", 1))),
    ("pk = 'a' AND (sk > 2 OR sk = 1)", read(query("a", ">", 2), query("a", "=", 1))),
    ("pk = 'a' AND (sk > 2 OR a = 1)", read(query("a", ">", 2), query("a"), rest=(1,))),
    ("pk = 'a' AND (b = 2 OR a = 1)", read(query("a"), rest=(1,))),
    ("pk = 'a' AND sk = 1 OR pk = 'b' AND a = 1", read(query("a", "=", 1), query("b"), rest=(0,))),
    ("pk IN ('b', 'a')", read(query("b"), query("a"), is_list=True)),
    ("pk IN ('b', 'b')", read(query("b"), query("b"), is_list=True)),
    ("pk IN ('b') AND sk <= 1 AND a = 1", read(query("b", "<=", 1), rest=(2,))),
    ("pk IN []", read(is_list=True)),
    ("pk IN ('a', 'b') AND pk = 'b'", read(query("b"), is_list=True)),
    ("pk = 'b' OR pk = 'a'", read(query("b"), query("a"))),
]


@pytest.mark.parametrize(("where", "plan"), PLANS, ids=[case[0] for case in PLANS])
def test_plans(where: str, plan: StatementPlan) -> None:
    assert planned(where) == plan


def test_parameters_can_be_keys() -> None:
    assert planned("pk = ? AND sk >= ?", s("a"), n(2)) == read(query("a", ">=", 2))
    assert planned("pk IN ?", {"L": [s("a"), s("b")]}) == read(query("a"), query("b"), is_list=True)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("pk = 1", "Key attribute's data type should match its data type in table's schema: Key pk"),
        ("pk > 1", "Key attribute's data type should match its data type in table's schema: Key pk"),
        ("pk = 'a' AND sk > 'b'", "Key attribute's data type should match .*: Key sk"),
        ("pk IN ('a', NULL)", "Key value must be of type S, N, or B. Key name: pk, Key type: NULL"),
        ("pk = [1]", "Key value must be of type S, N, or B. Key name: pk, Key type: L"),
        ("a = 1 OR sk = TRUE", "Key value must be of type S, N, or B. Key name: sk, Key type: BOOL"),
    ],
)
def test_keys_of_another_type_are_refused(where: str, text: str) -> None:
    with pytest.raises(ValidationException, match=text):
        planned(where)


def test_a_where_clause_of_too_many_ranges_is_a_scan() -> None:
    pairs = " AND ".join(f"(sk = {at} OR a = {at})" for at in range(15))
    assert planned(f"pk = 'a' AND {pairs}").ranges is None


def test_a_parameter_of_in_is_a_list() -> None:
    with pytest.raises(ValidationException, match="operator or function: IN, operand type: S"):
        planned("pk IN ?", s("a"))


def test_more_equalities_than_keys_in_a_list_are_a_scan() -> None:
    assert planned(" OR ".join(f"pk = '{number}'" for number in range(51))).ranges is None
    assert len(planned(" OR ".join(f"pk = '{number}'" for number in range(50))).ranges or ()) == 50


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("pk = 'a' AND sk = 1", ({"pk": s("a"), "sk": n(1)}, ())),
        ("x = 1 AND sk = 'no number' AND pk = 2", ({"pk": n(2), "sk": s("no number")}, (0,))),
        ("pk = 'a'", None),
        ("pk = 'a' AND sk > 1", None),
        ("pk IN ('a') AND sk = 1", ({"pk": s("a"), "sk": n(1)}, ())),
        ("(pk = 'a' OR pk = 'a') AND sk = 1", None),
    ],
)
def test_complete_keys(where: str, found: object) -> None:
    statement = parse_statement(f"SELECT * FROM t WHERE {where}")
    assert complete_key(statement.where, {}, SCHEMA) == found


# --- Columns -------------------------------------------------------------------------------------

ITEM = {
    "a": n(1),
    "m": {"M": {"x": n(2), "l": {"L": [n(3), {"L": [n(4)]}]}}},
    "l": {"L": [{"M": {"x": n(5)}}]},
}


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ([("a",), ("none",)], {"a": n(1)}),
        ([("m", "x")], {"x": n(2)}),
        ([("m", "l", 0)], {"l[0]": n(3)}),
        ([("m", "l", 1, 0)], {"l[1][0]": n(4)}),
        ([("l", 0, "x"), ("m", "x")], {"x": n(2)}),
        ([("m", "x"), ("l", 0, "x")], {"x": n(5)}),
        ([("l", 0, "x"), ("m", "none"), ("a", "x")], {"x": n(5)}),
        ([("m", "none", "x"), ("l", 7, "x"), ("m", 0), ("l", "x")], {}),
        ([("m",), ("m", "x")], {"m": ITEM["m"], "x": n(2)}),
        ([("a",), ("a",)], {"a": n(1)}),
    ],
)
def test_columns(paths: Any, shown: Any) -> None:
    columns = Columns(paths)
    assert columns.apply(ITEM) == shown
    assert columns.top_level == {path[0] for path in paths}
    assert columns.apply({}) == {}


def test_columns_come_in_the_order_of_the_list() -> None:
    assert list(Columns([("m", "x"), ("a",)]).apply(ITEM)) == ["x", "a"]
    assert list(Columns([("a",), ("m", "x")]).apply(ITEM)) == ["a", "x"]


# --- NextToken -----------------------------------------------------------------------------------


def test_a_token_gives_its_position_back() -> None:
    for position in (b"", b"\x00\xff", bytes(range(256)) * 8):
        token = encode_token("SELECT", [n(1)], position)
        assert decode_token(token, "SELECT", [n(1)]) == position


@pytest.mark.parametrize(
    ("statement", "parameters"), [("SELECT ", [n(1)]), ("SELECT", [n(2)]), ("SELECT", [])]
)
def test_a_token_is_bound_to_its_request(statement: str, parameters: Any) -> None:
    token = encode_token("SELECT", [n(1)], b"here")
    with pytest.raises(StatementError, match=r"^NextToken does not match request$"):
        decode_token(token, statement, parameters)


def test_every_changed_byte_of_a_token_is_recognised() -> None:
    data = urlsafe_b64decode(encode_token("SELECT", [], b"here"))
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(StatementError, match=r"^Invalid NextToken$"):
            decode_token(urlsafe_b64encode(changed).decode(), "SELECT", [])


@pytest.mark.parametrize("token", ["A", "AAAA", "====", "no token", "é", "\x00"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(StatementError, match=r"^Invalid NextToken$"):
        decode_token(token, "SELECT", [])
