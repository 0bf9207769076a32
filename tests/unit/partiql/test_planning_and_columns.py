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
from faradisc.language.partiql.planner import Plan, complete_key, plan_of
from faradisc.language.partiql.token import decode_token, encode_token
from faradisc.model.values.schema import KeySchema

SCHEMA = KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"})


def planned(where: str, *parameters: Any) -> Plan:
    statement = parse_statement(f"SELECT * FROM t WHERE {where}")
    return plan_of(statement.where, fill_templates(statement, parameters), SCHEMA)


def s(text: str) -> dict[str, str]:
    return {"S": text}


def n(number: int) -> dict[str, str]:
    return {"N": str(number)}


def query(pk: str, operator: Any = None, *operands: int) -> KeyCondition:
    return KeyCondition((s(pk),), (), operator, tuple(map(n, operands)))


PLANS = [
    ("a = 1", Plan(None, (0,))),
    ("sk = 1", Plan(None, (0,))),
    ("pk > 'a'", Plan(None, (0,))),
    ("begins_with(pk, 'a')", Plan(None, (0,))),
    ("NOT pk = 'a'", Plan(None, (0,))),
    ("pk = 'a' OR sk = 1", Plan(None, (0,))),
    ("pk = a", Plan(None, (0,))),
    ("pk = 'a'", Plan((query("a"),), ())),
    ("pk = 'a' AND pk = 'b'", Plan((query("a"),), (1,))),
    ("pk = 'a' AND sk = 1", Plan((query("a", "=", 1),), ())),
    ("sk > 1 AND pk = 'a' AND sk = 5", Plan((query("a", "=", 5),), (0,))),
    ("sk > 1 AND pk = 'a' AND sk < 5", Plan((query("a", ">", 1),), (2,))),
    ("pk = 'a' AND sk BETWEEN 1 AND 2", Plan((query("a", "BETWEEN", 1, 2),), ())),
    ("pk = 'a' AND sk <> 1", Plan((query("a"),), (1,))),
    ("pk = 'a' AND sk IN (1)", Plan((query("a"),), (1,))),
    ("pk IN ('b', 'a', 'b')", Plan((query("b"), query("a")), (), is_list=True)),
    ("pk IN ('b') AND sk <= 1 AND a = 1", Plan((query("b", "<=", 1),), (2,), is_list=True)),
    ("pk IN ()", Plan((), (), is_list=True)),
    ("pk IN ('a') AND pk = 'b'", Plan((query("b"),), (0,))),
    ("pk = 'b' OR pk = 'a'", Plan((query("b"), query("a")), ())),
]


@pytest.mark.parametrize(("where", "plan"), PLANS, ids=[case[0] for case in PLANS])
def test_plans(where: str, plan: Plan) -> None:
    assert planned(where) == plan


def test_parameters_can_be_keys() -> None:
    assert planned("pk = ? AND sk >= ?", s("a"), n(2)) == Plan((query("a", ">=", 2),), ())
    assert planned("pk IN ?", {"L": [s("a"), s("b")]}) == Plan((query("a"), query("b")), (), is_list=True)


@pytest.mark.parametrize("where", ["pk = 1", "pk = 'a' AND sk > 'b'", "pk IN ('a', NULL)", "pk = [1]"])
def test_keys_of_another_type_are_refused(where: str) -> None:
    with pytest.raises(ValidationException, match="Condition parameter type does not match schema type"):
        planned(where)


def test_a_parameter_of_in_is_a_list() -> None:
    with pytest.raises(ValidationException, match="operator or function: IN, operand type: S"):
        planned("pk IN ?", s("a"))


def test_more_equalities_than_keys_in_a_list_are_a_scan() -> None:
    assert planned(" OR ".join(f"pk = '{number}'" for number in range(51))).conditions is None
    assert len(planned(" OR ".join(f"pk = '{number}'" for number in range(50))).conditions or ()) == 50


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("pk = 'a' AND sk = 1", ({"pk": s("a"), "sk": n(1)}, ())),
        ("x = 1 AND sk = 'no number' AND pk = 2", ({"pk": n(2), "sk": s("no number")}, (0,))),
        ("pk = 'a'", None),
        ("pk = 'a' AND sk > 1", None),
        ("pk IN ('a') AND sk = 1", None),
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
