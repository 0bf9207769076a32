"""The parser: text to statements, and what is noted on the way."""

from __future__ import annotations

import pytest

from faradisc.errors import ValidationException
from faradisc.language.expressions.syntax import (
    Action,
    Arithmetic,
    Constant,
    FunctionCall,
    Junction,
    Negation,
    Path,
    Predicate,
)
from faradisc.language.partiql.parser import parse_statement
from faradisc.language.partiql.syntax import (
    Clause,
    Delete,
    Exists,
    Insert,
    ListOf,
    MapOf,
    Order,
    Parameter,
    Returning,
    Select,
    Source,
    UpdateStatement,
    template_ref,
)

A, B = Path(("a",)), Path(("b",))
ONE, TWO = Constant({"N": "1"}), Constant({"N": "2"})


def select(text: str) -> Select:
    body = parse_statement(text).body
    assert isinstance(body, Select)
    return body


def where(condition: str) -> list[object]:
    return [conjunct.program[-1] for conjunct in select(f"SELECT * FROM t WHERE {condition}").where.conjuncts]


def clause(condition: str) -> Clause | None:
    (conjunct,) = select(f"SELECT * FROM t WHERE {condition}").where.conjuncts
    return conjunct.clause


def test_select() -> None:
    found = select('select a.b[1], "c d" FROM "t"."i" WHERE a = 1 ORDER BY a, b DESC, c ASC;')
    assert found.source == Source("t", "i")
    assert found.paths == (("a", "b", 1), ("c d",))
    assert found.order == (Order("a", False), Order("b", True), Order("c", False))
    assert select("SELECT * FROM t").paths is None
    assert select("SELECT * FROM t").where.conjuncts == ()


def test_insert() -> None:
    statement = parse_statement("INSERT INTO t VALUE {'a': ?, 'b': [1, ?], 'c': [1]}")
    assert isinstance(statement.body, Insert)
    assert statement.body.item == MapOf(
        (("a", Parameter(0)), ("b", ListOf((ONE, Parameter(1)))), ("c", Constant({"L": [{"N": "1"}]})))
    )
    assert statement.parameters == 2


def test_update() -> None:
    body = parse_statement("UPDATE t SET a = b + ? REMOVE c[0] WHERE k = 1 RETURNING MODIFIED NEW *").body
    assert isinstance(body, UpdateStatement)
    assert body.actions == (
        Action("SET", A, Arithmetic("+", (B, template_ref(0)))),
        Action("REMOVE", Path(("c", 0))),
    )
    assert body.returning == Returning(whole=False, new=True)


def test_set_functions_are_actions_of_the_expression_language() -> None:
    body = parse_statement("UPDATE t SET a = set_add(a, <<2, 1>>), b = SET_DELETE(b, ?) WHERE k = 1").body
    assert isinstance(body, UpdateStatement)
    numbers = Constant({"NS": ["1", "2"]})
    assert body.actions == (Action("ADD", A, numbers), Action("DELETE", B, template_ref(0)))
    assert [(value, name) for value, name, _ in body.set_values] == [
        (numbers, "SET_ADD"),
        (template_ref(0), "SET_DELETE"),
    ]


def test_delete_and_exists() -> None:
    body = parse_statement("DELETE FROM t WHERE a = 1 RETURNING ALL OLD *").body
    assert isinstance(body, Delete)
    assert body.returning == Returning(whole=True, new=False)
    statement = parse_statement("EXISTS ( SELECT * FROM t WHERE a = 1 AND b = 2 )")
    assert isinstance(statement.body, Exists)
    assert len(statement.where.conjuncts) == 2


CONDITIONS = [
    ("a = 1", [Predicate("=", (A, ONE))]),
    ("a != 1", [Predicate("<>", (A, ONE))]),
    ("1 < a", [Predicate("<", (ONE, A))]),
    ("((a)) = (1)", [Predicate("=", (A, ONE))]),
    ("((a = 1))", [Predicate("=", (A, ONE))]),
    ("a = 1 AND b = 2", [Predicate("=", (A, ONE)), Predicate("=", (B, TWO))]),
    ("(a = 1 AND (b = 2 AND (a = 2)))", [Predicate("=", p) for p in ((A, ONE), (B, TWO), (A, TWO))]),
    (
        "a = 1 OR b = 2 AND a = 2",
        [
            Junction(
                "OR",
                (
                    Predicate("=", (A, ONE)),
                    Junction("AND", (Predicate("=", (B, TWO)), Predicate("=", (A, TWO)))),
                ),
            )
        ],
    ),
    ("NOT a = 1 AND b = 2", [Negation(Predicate("=", (A, ONE))), Predicate("=", (B, TWO))]),
    ("a NOT IN (1, b)", [Negation(Predicate("IN", (A, ONE, B)))]),
    ("a IN [1]", [Predicate("IN", (A, ONE))]),
    ("a IN <<1>>", [Predicate("IN", (A, ONE))]),
    ("a IN ?", [Predicate("IN ?", (A, template_ref(0)))]),
    ("a IN (?)", [Predicate("IN", (A, template_ref(0)))]),
    ("a BETWEEN 1 AND 2 AND b = 1", [Predicate("BETWEEN", (A, ONE, TWO)), Predicate("=", (B, ONE))]),
    ("a NOT BETWEEN 1 AND 2", [Negation(Predicate("BETWEEN", (A, ONE, TWO)))]),
    ("a IS MISSING", [Predicate("attribute_not_exists", (A,))]),
    ("a IS NOT MISSING", [Predicate("attribute_exists", (A,))]),
    ("a IS NULL", [Predicate("attribute_type", (A, Constant({"S": "NULL"})))]),
    ("a IS NOT STRING", [Negation(Predicate("attribute_type", (A, Constant({"S": "S"}))))]),
    ("size(a) > 1", [Predicate(">", (FunctionCall("size", (A,)), ONE))]),
    ("Begins_With(a, ?)", [Predicate("begins_with", (A, template_ref(0)))]),
    ("a = -1", [Predicate("=", (A, Constant({"N": "-1"})))]),
]


@pytest.mark.parametrize(("text", "trees"), CONDITIONS, ids=[case[0] for case in CONDITIONS])
def test_conditions(text: str, trees: list[object]) -> None:
    assert where(text) == trees


CLAUSES = [
    ("a = 1", Clause("a", "=", (ONE,))),
    ("1 = a", Clause("a", "=", (ONE,))),
    ("1 < a", Clause("a", ">", (ONE,))),
    ("a BETWEEN 1 AND 2", Clause("a", "BETWEEN", (ONE, TWO))),
    ("begins_with(a, ?)", Clause("a", "begins_with", (template_ref(0),))),
    ("a IN (1, 2)", Clause("a", "IN", (ONE, TWO))),
    ("a IN ?", Clause("a", "IN ?", (template_ref(0),))),
    ("a IN (1)", Clause("a", "=", (ONE,))),
    ("a = 1 OR 2 = a", None),
    ("a = 1 OR b = 2", None),
    ("a = 1 OR a > 2", None),
    ("a <> 1", None),
    ("a = b", None),
    ("a.b = 1", None),
    ("a IN (1, b)", None),
    ("NOT a = 1", None),
    ("size(a) = 1", None),
    ("contains(a, 1)", None),
    ("a BETWEEN 1 AND b", None),
]


@pytest.mark.parametrize(("text", "found"), CLAUSES, ids=[case[0] for case in CLAUSES])
def test_what_could_select_by_key(text: str, found: Clause | None) -> None:
    assert clause(text) == found


def test_equalities_are_found_by_name_the_first_counts() -> None:
    clauses = select("SELECT * FROM t WHERE b > 1 AND a = 1 AND a = 2").where
    assert clauses.equalities == {"a": 1}
    assert clauses.to_check == (0,)


def test_the_first_unsupported_thing_is_noted_the_text_is_still_read() -> None:
    statement = parse_statement("SELECT COUNT(*), a AS b FROM t LIMIT 5")
    assert statement.unsupported == "Unexpected path component at 1:8:5"
    with pytest.raises(ValidationException, match="Unexpected token"):
        parse_statement("SELECT COUNT(*), a AS b FROM t WHERE a = 1 b")


def test_bad_number_is_reported_after_syntax_errors_and_before_unsupported_parts() -> None:
    with pytest.raises(ValidationException, match=r"Number overflow.*under root$"):
        parse_statement("SELECT a AS b FROM t WHERE a = 1e999")
    with pytest.raises(ValidationException, match="Unexpected token after expression"):
        parse_statement("SELECT a FROM t WHERE a = 1e999 b")


def test_one_text_is_parsed_once() -> None:
    assert parse_statement("SELECT * FROM once") is parse_statement("SELECT * FROM once")


@pytest.mark.parametrize("depth", [32, 33])
def test_literals_nest_as_deep_as_values_do(depth: int) -> None:
    text = f"INSERT INTO t VALUE {'[' * depth}{']' * depth}"
    deep = f"Nesting Levels have exceeded supported limits under root{'[0]' * 32}"
    assert parse_statement(text).unsupported == (deep if depth == 33 else None)
