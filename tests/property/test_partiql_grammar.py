"""Properties of the grammar of PartiQL and of ranges of keys.

What was parsed is printed and parsed again as the same tree. Ranges are refused if and only if a key lies in
two of them; what they find together is what a filter finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from partiql_strategies import near_grammar, statements

from faradisc.errors import ValidationException
from faradisc.language.partiql.grammar import parse
from faradisc.language.partiql.lexer import PartiqlKind
from faradisc.language.partiql.tree import TreeNode
from fixtures.in_process import InProcess, Refused
from fixtures.schemas import item, schema

# --- Printing ------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def enclosed(node: TreeNode) -> str:
    atoms = ("name", "string", "word", "parameter", "ion", "list", "bag", "struct")
    return shown(node) if node.kind in atoms else f"({shown(node)})"


def several(nodes: Any) -> str:
    return ", ".join(map(shown, nodes))


def shown(node: TreeNode) -> str:
    """Returns a node as a text. Not for CASE and the clauses of which the tree has only the place."""
    kind, token, parts = node
    match kind:
        case "name":
            return quoted(token.text)
        case "string":
            return "'" + token.text.replace("'", "''") + "'"
        case "number" | "ion" | "type":
            return token.text
        case "word":
            return token.upper
        case "parameter":
            return "?"
        case "all" | "star":
            return "*"
        case "list":
            return f"[{several(parts)}]" if len(parts) != 1 else f"[{shown(parts[0])}]"
        case "bag":
            return f"<<{several(parts)}>>"
        case "struct":
            return "{" + several(parts) + "}"
        case "member":
            return f"{enclosed(parts[0])}: {enclosed(parts[1])}"
        case "call":
            name = quoted(token.text) if token.kind is PartiqlKind.QUOTED else token.text
            return f"{name}({several(parts)})"
        case "dot":
            return "." + quoted(token.text)
        case "index":
            return f"[{shown(parts[0])}]"
        case "path":
            steps = [".*" if step.kind == "star" else shown(step) for step in parts[1:]]
            return enclosed(parts[0]) + "".join(steps)
        case "op":
            return shown_operator(node)
        case "is":
            return f"{enclosed(parts[0])} {token.upper} {shown(parts[1])}"
        case "cast":
            return f"CAST({shown(parts[0])} AS {shown(parts[1])})"
        case "alias":
            depth = 0
            inner = node
            while inner.parts[0].kind == "alias":
                inner, depth = inner.parts[0], depth + 1
            before = shown(parts[0]) if depth else enclosed(parts[0])
            return f"{before} {('AS', 'AT', 'BY')[depth]} {quoted(token.text)}"
        case _:
            return shown_statement(node)


def shown_operator(node: TreeNode) -> str:
    operator, parts = node.token.upper, node.parts
    if len(parts) == 1:
        return f"{operator} {enclosed(parts[0])}"
    if len(parts) == 3:
        return f"{enclosed(parts[0])} {operator} {enclosed(parts[1])} AND {enclosed(parts[2])}"
    # `IN (a)` would be a list of one.
    right = shown(parts[1]) if operator.endswith("IN") and parts[1].kind != "select" else enclosed(parts[1])
    return f"{enclosed(parts[0])} {operator} {right}"


def source(node: TreeNode) -> str:
    return shown(node) if node.kind in ("alias", "path") else enclosed(node)


def shown_statement(node: TreeNode) -> str:
    kind, token, parts = node
    match kind:
        case "columns":
            return several(parts)
        case "from":
            return "FROM " + " ".join([source(parts[0]), *map(shown_join, parts[1:])])
        case "where":
            return f"WHERE {enclosed(parts[0])}"
        case "order":
            return f"ORDER BY {several(parts)}"
        case "sort":
            return enclosed(parts[0]) + (f" {token.upper}" if token.upper in ("ASC", "DESC") else "")
        case "set":
            return "SET " + several(parts)
        case "assignment":
            return f"{shown(parts[0])} = {enclosed(parts[1])}"
        case "remove":
            return f"REMOVE {shown(parts[0])}"
        case "returning":
            return f"RETURNING {token.upper} *"
        case "insert":
            return f"INSERT INTO {shown(parts[0])} VALUE {enclosed(parts[1])}"
        case "insert several":
            return f"INSERT INTO {shown(parts[0])} {enclosed(parts[1])}"
        case "delete":
            return "DELETE FROM " + " ".join(map(shown, parts))
        case "select":
            return "SELECT " + " ".join(map(shown, parts))
        case "update":
            if token.upper == "UPDATE":
                return "UPDATE " + " ".join(map(shown, parts))
            at = next(
                at for at, part in enumerate(parts) if part.kind in ("where", "set", "remove", "insert")
            )
            sources = TreeNode("from", token, parts[:at])
            return " ".join(map(shown, (sources, *parts[at:])))
    raise AssertionError(kind)


def shown_join(node: TreeNode) -> str:
    if node.kind != "join":
        return f"ON {enclosed(node)}"
    return f"{node.token.upper} {source(node.parts[0])}"


def shape(node: TreeNode) -> Any:
    """Returns a node without positions."""
    word = node.token.upper if node.kind in ("op", "is", "type", "word", "clause") else node.token.text
    named = node.kind in ("name", "string", "number", "ion", "dot", "op", "is", "type", "word", "alias")
    return node.kind, word if named else None, tuple(map(shape, node.parts))


def kinds(node: TreeNode) -> Iterator[str]:
    yield node.kind
    for part in node.parts:
        yield from kinds(part)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(statements | near_grammar)
def test_a_printed_tree_is_parsed_as_the_same_tree(text: str) -> None:
    try:
        node, parameters = parse(text)
    except ValidationException:
        assume(False)
    assume({"case", "clause"}.isdisjoint(kinds(node)))
    again, count = parse(shown(node))
    assert (shape(again), count) == (shape(node), parameters)


# --- Ranges --------------------------------------------------------------------------------------

POINTS = [half / 2 for half in range(-1, 10)]
COMPARATORS = {
    "=": lambda key, bound: key == bound,
    "<": lambda key, bound: key < bound,
    "<=": lambda key, bound: key <= bound,
    ">": lambda key, bound: key > bound,
    ">=": lambda key, bound: key >= bound,
}
tests = st.tuples(st.sampled_from(list(COMPARATORS)), st.integers(0, 4))
disjuncts = st.lists(st.lists(tests, min_size=1, max_size=2), min_size=2, max_size=3)


@pytest.fixture(scope="module")
def ranges() -> Iterator[InProcess]:
    process = InProcess()
    process.call("CreateTable", TableName="two", **schema("pk:S", "sk:N"))
    for key in POINTS:
        process.call("PutItem", TableName="two", Item={**item(pk="a"), "sk": {"N": str(key)}})
    yield process
    process.close()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(disjuncts)
def test_ranges_are_refused_if_they_share_a_key(
    ranges: InProcess, found: list[list[tuple[str, int]]]
) -> None:
    holds = [
        {key for key in POINTS if all(COMPARATORS[name](key, bound) for name, bound in disjunct)}
        for disjunct in found
    ]
    where = " OR ".join(
        "(" + " AND ".join(f"sk {name} {bound}" for name, bound in disjunct) + ")" for disjunct in found
    )
    statement = f"SELECT sk FROM two WHERE pk = 'a' AND ({where})"
    overlap = sum(map(len, holds)) > len(set().union(*holds))
    try:
        items = ranges.call("ExecuteStatement", Statement=statement)["Items"]
    except Refused as refused:
        assert refused.text == "Overlapping conditions with range keys are not supported in where clause"
        assert overlap
        return
    assert not overlap
    assert [float(one["sk"]["N"]) for one in items] == sorted(set().union(*holds))
