"""Properties of the expression language.

Every text parses to a tree or raises ValidationException; the evaluator of conditions agrees with a second,
naive one written from the table in expressions.md section 2; projections select exactly what their paths
name.
"""

from __future__ import annotations

import copy
from typing import Any

from expression_strategies import items, path_of, path_texts, scalars, values
from hypothesis import given
from hypothesis import strategies as st

from faradisc.errors import ValidationException
from faradisc.language.expressions import (
    Placeholders,
    bind_condition,
    bind_key_clauses,
    bind_projection,
    bind_update,
)
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import Item, binary
from fixtures.searching import examples

# --- Any text ------------------------------------------------------------------------------------

WORDS = (
    "a b.c [0] #n :v ( ) (( )) , . [ ] = <> < <= > >= + - AND OR NOT BETWEEN IN SET REMOVE ADD DELETE "
    "size attribute_exists begins_with contains attribute_type list_append if_not_exists foo "
    'abort 1 " é # : ; \t'
)
fragments = st.sampled_from(WORDS.split(" "))
near_grammar = st.lists(fragments, max_size=30).map(" ".join)
any_text = (
    st.text(max_size=60) | near_grammar | st.binary(max_size=60).map(lambda data: data.decode("latin-1"))
)


@examples(250)
@given(any_text)
def test_any_text_is_a_tree_or_a_rejection(text: str) -> None:
    for bind in (
        lambda given: bind_condition(text, "ConditionExpression", given).matches({}),
        lambda given: bind_update(text, given).apply({}),
        lambda given: bind_projection(text, given).apply({}),
        lambda given: bind_key_clauses(text, given),
    ):
        try:
            bind(Placeholders({"#n": "name"}, {":v": {"S": "x"}}))
        except ValidationException as rejection:
            assert rejection.message


@examples(30)
@given(
    st.sampled_from(["(", "NOT ", "size(", "a.", "a[0]", "((", ")", "a=a AND ", "-"]), st.integers(1, 2000)
)
def test_repetition_never_overflows_the_stack(fragment: str, count: int) -> None:
    for text in (fragment * count, fragment * count + "a = :v", "SET a = " + fragment * count + "b"):
        for bind in (
            lambda given, text=text: bind_condition(text, "ConditionExpression", given).matches({}),
            lambda given, text=text: bind_update(text, given).apply({}),
        ):
            try:
                bind(Placeholders(None, {":v": {"S": "x"}}))
            except ValidationException as rejection:
                assert rejection.message


# --- Conditions against a naive evaluator --------------------------------------------------------


def size_of(value: dict[str, Any]) -> int | None:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return sum(2 if ord(character) > 0xFFFF else 1 for character in content)
        case "B":
            return len(binary(value))
        case "N" | "BOOL" | "NULL":
            return None
        case _:
            return len(content)


def sort_key(value: dict[str, Any]) -> tuple[str, Any] | None:
    from decimal import Decimal  # noqa: PLC0415 -- used by the reference only

    if "S" in value:
        return ("S", value["S"].encode())
    if "N" in value:
        return ("N", Decimal(value["N"]))
    return ("B", binary(value)) if "B" in value else None


def less(left: dict[str, Any], right: dict[str, Any], *, or_equal: bool) -> bool:
    first, second = sort_key(left), sort_key(right)
    if first is None or second is None or first[0] != second[0]:
        return False
    return bool(first[1] < second[1] or (or_equal and first[1] == second[1]))


def contains(value: dict[str, Any], sought: dict[str, Any]) -> bool:
    ((kind, content),) = value.items()
    if kind == "L":
        return any(member == sought for member in content)
    if kind in ("SS", "NS", "BS"):
        return any({kind[0]: member} == sought for member in content)
    if kind == "S" and "S" in sought:
        return sought["S"] in content
    return kind == "B" and "B" in sought and binary(sought) in binary(value)


class Node:
    """A condition as text, and its meaning according to the reference."""

    def __init__(self, text: str, meaning: Any) -> None:
        self.text = text
        self.meaning = meaning


def operand_nodes() -> st.SearchStrategy[Node]:
    def path_node(text: str) -> Node:
        return Node(text, lambda item, given: paths.get(item, path_of(text)))

    def size_node(text: str) -> Node:
        def meaning(item: Item, given: dict[str, Any]) -> Any:
            value = paths.get(item, path_of(text))
            size = size_of(value) if value is not None else None
            return {"N": str(size)} if size is not None else None

        return Node(f"size({text})", meaning)

    def value_node(name: str) -> Node:
        return Node(name, lambda item, given: given[name])

    return st.one_of(
        path_texts.map(path_node),
        path_texts.map(size_node),
        st.sampled_from([":x", ":y", ":z"]).map(value_node),
    )


def comparison(left: Node, operator: str, right: Node) -> Node:
    def meaning(item: Item, given: dict[str, Any]) -> bool:
        first, second = left.meaning(item, given), right.meaning(item, given)
        if operator in ("=", "<>"):
            same = first is not None and second is not None and first == second
            return same if operator == "=" else not same
        if first is None or second is None:
            return False
        if operator in (">", ">="):
            first, second = second, first
        return less(first, second, or_equal="=" in operator)

    return Node(f"{left.text} {operator} {right.text}", meaning)


def between(operand: Node, lower: Node, upper: Node) -> Node:
    first, second = comparison(operand, ">=", lower), comparison(operand, "<=", upper)
    return Node(
        f"{operand.text} BETWEEN {lower.text} AND {upper.text}",
        lambda item, given: first.meaning(item, given) and second.meaning(item, given),
    )


def membership(operand: Node, options: list[Node]) -> Node:
    tests = [comparison(operand, "=", option) for option in options]
    return Node(
        f"{operand.text} IN ({', '.join(option.text for option in options)})",
        lambda item, given: any(test.meaning(item, given) for test in tests),
    )


def existence(path: str, exists: bool) -> Node:
    return Node(
        f"attribute_{'exists' if exists else 'not_exists'}({path})",
        lambda item, given: (paths.get(item, path_of(path)) is not None) is exists,
    )


def containment(container: Node, member: Node) -> Node:
    def meaning(item: Item, given: dict[str, Any]) -> bool:
        value, sought = container.meaning(item, given), member.meaning(item, given)
        return value is not None and sought is not None and contains(value, sought)

    return Node(f"contains({container.text}, {member.text})", meaning)


def beginning(operand: Node, prefix: Node) -> Node:
    def meaning(item: Item, given: dict[str, Any]) -> bool:
        value, start = operand.meaning(item, given), prefix.meaning(item, given)
        if value is None or start is None:
            return False
        if "S" in value and "S" in start:
            return bool(value["S"].startswith(start["S"]))
        return "B" in value and "B" in start and binary(value).startswith(binary(start))

    return Node(f"begins_with({operand.text}, {prefix.text})", meaning)


operands = operand_nodes()
predicates = st.one_of(
    st.builds(comparison, operands, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands),
    st.builds(between, operands, operands, operands),
    st.builds(membership, operands, st.lists(operands, min_size=1, max_size=3)),
    st.builds(existence, path_texts, st.booleans()),
    st.builds(containment, operands, operands),
    st.builds(beginning, operands, operands),
)


def junction(left: Node, operator: str, right: Node) -> Node:
    def meaning(item: Item, given: dict[str, Any]) -> bool:
        first, second = left.meaning(item, given), right.meaning(item, given)
        return (first and second) if operator == "AND" else (first or second)

    return Node(f"({left.text}) {operator} ({right.text})", meaning)


def negation(inner: Node) -> Node:
    return Node(f"NOT ({inner.text})", lambda item, given: not inner.meaning(item, given))


conditions = st.recursive(
    predicates,
    lambda inner: (
        st.builds(junction, inner, st.sampled_from(["AND", "OR"]), inner) | st.builds(negation, inner)
    ),
    max_leaves=4,
)


@examples(250)
@given(conditions, items, st.fixed_dictionaries({":x": scalars, ":y": values, ":z": scalars}))
def test_conditions_mean_what_the_reference_says(node: Node, item: Item, given_values: Any) -> None:
    before = copy.deepcopy(item)
    try:
        condition = bind_condition(node.text, "FilterExpression", Placeholders(None, given_values))
    except ValidationException:
        return  # Refused for its operands; the golden scripts say which and why.
    assert condition.matches(item) is bool(node.meaning(item, given_values)), node.text
    assert item == before


# --- Projections ---------------------------------------------------------------------------------


@examples(200)
@given(items, path_texts)
def test_a_projection_of_one_path_holds_the_value_there_and_nothing_else(item: Item, text: str) -> None:
    before = copy.deepcopy(item)
    projected = bind_projection(text, Placeholders(None, None)).apply(item)
    path = path_of(text)
    packed = tuple(0 if isinstance(step, int) else step for step in path)
    expected = paths.get(item, path)
    assert projected == ({} if expected is None else projected)
    if expected is not None:
        assert paths.get(projected, packed) == expected
        assert list(projected) == [path[0]]
    assert item == before


@examples(100)
@given(items)
def test_a_projection_of_all_names_is_the_item(item: Item) -> None:
    assert bind_projection("a, b, c, d", Placeholders(None, None)).apply(item) == item
