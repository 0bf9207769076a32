"""Statements drawn for properties: conditions in two languages, and statements of all kinds.

A condition is drawn once and written as a WHERE clause and as a FilterExpression, to compare both languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from hypothesis import strategies as st

_serialize = TypeSerializer().serialize

NAMES = ("pk", "sk", "a", "b", "m", "l")
PATHS = ("a", "b", "m.x", "m.y.z", "l[0]", "l[1][0]", "pk", "sk")


def literal(value: Any) -> str:
    """Returns a Python value as a literal of a statement."""
    match value:
        case bool():
            return str(value).upper()
        case None:
            return "NULL"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case list():
            return "[" + ", ".join(map(literal, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{literal(name)}: {literal(part)}" for name, part in value.items()) + "}"
        case set():
            return "<<" + ", ".join(map(literal, sorted(value))) + ">>"
        case _:
            return str(value)


texts = st.sampled_from(["", "a", "b", "ab", "it's", "x y", "é"])
numbers = st.integers(-3, 3)
scalars = texts | numbers | st.booleans() | st.none()
sets = st.sets(texts, min_size=1, max_size=3) | st.sets(numbers, min_size=1, max_size=3)
values = st.recursive(
    scalars | sets,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts.filter(bool), inner, max_size=3),
    max_leaves=5,
)
keys = st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 4))
items = st.fixed_dictionaries(
    {},
    optional={
        "a": values,
        "b": scalars,
        "m": st.fixed_dictionaries({}, optional={"x": scalars, "y": st.fixed_dictionaries({"z": scalars})}),
        "l": st.lists(st.lists(scalars, max_size=2) | scalars, max_size=3),
    },
)


@dataclass(frozen=True)
class Both:
    """One condition as a WHERE clause and as a FilterExpression. `{n}` is the n-th value in the latter."""

    where: str
    expression: str
    values: tuple[Any, ...] = ()

    def filter_members(self) -> dict[str, Any]:
        members: dict[str, Any] = {"FilterExpression": self.expression}
        if self.values:
            members["ExpressionAttributeValues"] = {
                f":v{n}": _serialize(value) for n, value in enumerate(self.values)
            }
        return members


def _shifted(expression: str, by: int) -> str:
    """Returns the expression with its values counted from `by`."""
    for n in reversed(range(64)):
        expression = expression.replace(f":v{n} ", f":w{n + by} ")
    return expression.replace(":w", ":v")


@st.composite
def tests(draw: st.DrawFn) -> Both:
    path = draw(st.sampled_from(PATHS))
    form = draw(
        st.sampled_from(["compare", "between", "in", "missing", "exists", "begins", "contains", "size"])
    )
    if form == "compare":
        operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
        value = draw(values if operator in ("=", "<>") else texts | numbers)
        return Both(f"{path} {operator} {literal(value)}", f"{path} {operator} :v0 ", (value,))
    if form == "between":
        low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2)))
        return Both(f"{path} BETWEEN {low} AND {high}", f"{path} BETWEEN :v0 AND :v1 ", (low, high))
    if form == "in":
        options = draw(st.lists(values, min_size=1, max_size=3))
        shown = ", ".join(map(literal, options))
        refs = ",".join(f":v{n} " for n in range(len(options)))
        return Both(f"{path} IN [{shown}]", f"{path} IN ({refs})", tuple(options))
    if form == "missing":
        return Both(f"{path} IS MISSING", f"attribute_not_exists({path})")
    if form == "exists":
        return Both(f"attribute_exists({path})", f"attribute_exists({path})")
    if form == "begins":
        value = draw(texts)
        return Both(f"begins_with({path}, {literal(value)})", f"begins_with({path}, :v0 )", (value,))
    if form == "contains":
        value = draw(values)
        return Both(f"contains({path}, {literal(value)})", f"contains({path}, :v0 )", (value,))
    size = draw(st.integers(0, 3))
    return Both(f"size({path}) = {size}", f"size({path}) = :v0 ", (size,))


@st.composite
def _joined(draw: st.DrawFn, inner: st.SearchStrategy[Both]) -> Both:
    operator = draw(st.sampled_from(["AND", "OR", "NOT"]))
    first = draw(inner)
    if operator == "NOT":
        return Both(f"NOT ({first.where})", f"NOT ({first.expression})", first.values)
    second = draw(inner)
    return Both(
        f"({first.where}) {operator} ({second.where})",
        f"({first.expression}) {operator} ({_shifted(second.expression, len(first.values))})",
        first.values + second.values,
    )


conditions = st.recursive(tests(), _joined, max_leaves=4)

# --- Statements of all kinds ---------------------------------------------------------------------

WORDS = (
    *("SELECT", "INSERT", "INTO", "UPDATE", "DELETE", "EXISTS(", "FROM", "VALUE", "SET", "REMOVE", "WHERE"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "IS", "MISSING", "NULL", "TRUE", "ORDER", "BY", "ASC", "DESC"),
    *("RETURNING", "ALL", "MODIFIED", "OLD", "NEW", "LIMIT", "AS", "*", "?", ";", ",", ".", ":", "(", ")"),
    *("[", "]", "{", "}", "<<", ">>", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "/", "||", "1", "0"),
    *(
        "-1",
        "1e5",
        "1e999",
        "1e",
        ".5",
        "'a'",
        "'it''s'",
        "'",
        '"',
        '"tab"',
        '"tab"."idx"',
        "tab",
        "pk",
        "sk",
    ),
    *("a", "b.c", "m[0]", "size(", "begins_with(a,'x')", "contains(", "list_append(", "set_add("),
    *("set_delete(", "if_not_exists(", "--", "/*", "*/", "#", "`", "é", "$", "\n"),
    *(
        "`a`",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "CAST(",
        "LIKE",
        "INT",
        "NUMERIC",
        "NULLS",
        "LAST",
        "foo(",
        "%",
        "@",
    ),
    *("UNION", "JOIN", "ON", "GROUP", "DISTINCT", "COUNT(*)", "index", "attribute_exists(a)", "NOT NOT"),
)
near_grammar = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
any_text = (
    st.text(max_size=80) | near_grammar | st.binary(max_size=60).map(lambda data: data.decode("latin-1"))
)

tables = st.sampled_from(['"tab"'] * 8 + ["tab", '"tab"."idx"', '"none"'])
sources = st.sampled_from(
    ['"tab"'] * 4 + ['"tab"."idx"', '"tab"."lsi"'] * 2 + ["tab", '"none"', '"tab"."none"']
)
paths = st.sampled_from([*PATHS, "c", '"a b"', "l[7]", "m['x']"])
operands = st.one_of(
    paths,
    values.map(literal),
    st.just("?"),
    st.builds("{} + {}".format, paths, numbers),
    st.builds("list_append({}, {})".format, paths, values.map(literal)),
    st.builds("if_not_exists({}, {})".format, paths, values.map(literal)),
)
whole_keys = st.builds("pk = '{}' AND sk = {}".format, st.sampled_from("abc"), st.integers(0, 2))
key_tests = st.one_of(
    whole_keys,
    st.builds("pk = {}".format, st.sampled_from("abc").map(literal)),
    st.builds("pk IN ['{}', '{}']".format, st.sampled_from("abc"), st.sampled_from("abc")),
    st.builds("(pk = '{}' OR pk = '{}')".format, st.sampled_from("abc"), st.sampled_from("abc")),
    st.builds("b = {}".format, texts.map(literal)),
    st.builds("{} = {}".format, st.sampled_from(["pk", "sk", "b"]), scalars.map(literal)),
    st.builds("sk {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "="]), numbers),
    st.sampled_from(
        ["pk = ?", "pk IN ?", "pk = 'a' AND sk = 1 OR pk = 'b'", "(sk > 1 OR sk < 1)", "sk IN [1, 2]"]
    ),
    st.sampled_from(["attribute_exists(a) = b", "size(a)", "a IS INT", "a = <<?>>", "a = `1`", "a LIKE 'x'"]),
    conditions.map(lambda both: both.where),
)
wheres = st.lists(key_tests, max_size=3).map(lambda parts: "WHERE " + " AND ".join(parts) if parts else "")
write_wheres = st.one_of(
    whole_keys.map("WHERE {}".format),
    st.builds("WHERE {} AND ({})".format, whole_keys, conditions.map(lambda both: both.where)),
    st.just("WHERE pk = ? AND sk = ?"),
    wheres,
)
orders = st.sampled_from(
    ["", "", "ORDER BY sk", "ORDER BY pk DESC, sk", "ORDER BY sk DESC", "ORDER BY a", "ORDER BY pk"]
)
returnings = st.sampled_from(
    ["", "", "RETURNING ALL OLD *", "RETURNING ALL OLD *", "RETURNING MODIFIED NEW *", "RETURNING ALL NEW *"]
)
assignments = st.one_of(
    st.builds("SET {} = {}".format, paths, operands),
    st.builds("SET {} = {}".format, st.sampled_from(["a", "b", "c"]), values.map(literal)),
    st.builds("SET a = set_add(a, {})".format, (sets | scalars).map(literal)),
    st.builds("SET a = set_delete(a, {})".format, sets.map(literal)),
    st.builds("REMOVE {}".format, paths),
)
columns = st.sampled_from(["*"] * 4 + ["a", "pk, sk", "m.x, l[0]", "a, m, b", "a AS b", "COUNT(*)"])
selects = st.builds("SELECT {} FROM {} {} {}".format, columns, sources, wheres, orders)
whole_items = st.builds(
    lambda key, attributes: {"pk": key[0], "sk": key[1], **attributes},
    st.tuples(st.sampled_from("abc"), st.integers(0, 2)),
    items,
)
inserted = st.one_of(whole_items, whole_items, st.dictionaries(st.sampled_from(NAMES), values)).map(literal)
changes = st.lists(assignments, min_size=1, max_size=3).map(" ".join)
statements = st.one_of(
    selects,
    st.builds("INSERT INTO {} VALUE {}".format, tables, inserted),
    st.builds("UPDATE {} {} {} {}".format, tables, changes, write_wheres, returnings),
    st.builds("DELETE FROM {} {} {}".format, tables, write_wheres, returnings),
    st.builds("EXISTS(SELECT * FROM {} {})".format, tables, write_wheres),
)
parameters = st.lists((texts | numbers | values).map(_serialize), max_size=4)
