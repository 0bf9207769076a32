"""Laws of updates: written values can be read, inverse updates restore the item, other attributes stay."""

from __future__ import annotations

import copy
from typing import Any

from expression_strategies import items, numbers, path_of, path_texts, sets, strings, values
from hypothesis import assume, given
from hypothesis import strategies as st

from faradisc.errors import ValidationException
from faradisc.language.expressions import Placeholders, Update, bind_projection, bind_update
from faradisc.model.values import number
from faradisc.model.values import path as paths
from faradisc.model.values.attribute import Item
from faradisc.model.values.checks import canonicalise
from fixtures.searching import examples


def bound(text: str, **given_values: Any) -> Update:
    return bind_update(
        text, Placeholders(None, {f":{key}": value for key, value in given_values.items()} or None)
    )


def has_parent(item: Item, path: paths.Path) -> bool:
    if len(path) == 1:
        return True
    parent = paths.get(item, path[:-1])
    return parent is not None and ("M" if isinstance(path[-1], str) else "L") in parent


@examples(200)
@given(items, path_texts, values)
def test_what_set_writes_a_projection_reads(item: Item, text: str, value: dict[str, Any]) -> None:
    path = path_of(text)
    assume(has_parent(item, path))
    outcome = bound(f"SET {text} = :v", v=value).apply(item)
    if isinstance(path[-1], int):
        elements = paths.get(item, path[:-1])
        assert elements is not None
        path = (*path[:-1], min(path[-1], len(elements["L"])))
    assert paths.get(outcome.item, path) == value
    shown = ""
    for step in path:
        shown += f"[{step}]" if isinstance(step, int) else f".{step}"
    projected = bind_projection(shown[1:], Placeholders(None, None)).apply(outcome.item)
    packed = tuple(0 if isinstance(step, int) else step for step in path)
    assert paths.get(projected, packed) == value


@examples(100)
@given(items, path_texts, values)
def test_a_path_without_a_parent_is_refused(item: Item, text: str, value: dict[str, Any]) -> None:
    assume(not has_parent(item, path_of(text)))
    for update in (bound(f"SET {text} = :v", v=value), bound(f"REMOVE {text}")):
        try:
            update.apply(item)
        except ValidationException as rejection:
            assert (
                rejection.message
                == "The document path provided in the update expression is invalid for update"
            )
        else:
            raise AssertionError(f"{text} was written")


@examples(200)
@given(sets, st.data())
def test_adding_and_deleting_a_disjoint_set_restores_the_old_one(old: dict[str, Any], data: Any) -> None:
    ((kind, members),) = old.items()
    other = data.draw(sets.filter(lambda value: kind in value and not set(value[kind]) & set(members)))
    item = {"s": old}
    added = bound("ADD s :o", o=other).apply(item).item
    assert set(added["s"][kind]) == {*members, *other[kind]}
    assert canonicalise(copy.deepcopy(added["s"])) and is_canonical(added["s"])
    assert bound("DELETE s :o", o=other).apply(added).item == item


def is_canonical(value: dict[str, Any]) -> bool:
    checked = copy.deepcopy(value)
    return canonicalise(checked) and checked == value


@examples(100)
@given(sets)
def test_deleting_a_set_from_itself_removes_the_attribute(value: dict[str, Any]) -> None:
    assert bound("DELETE s :s", s=value).apply({"s": value, "x": {"N": "1"}}).item == {"x": {"N": "1"}}


@examples(100)
@given(numbers, numbers)
def test_sums_and_differences_undo_each_other(left: str, right: str) -> None:
    item = {"n": {"N": number.parse(left)}}
    try:
        there = bound("SET n = n + :d", d={"N": right}).apply(item).item
        assert bound("ADD n :d", d={"N": right}).apply(item).item == there
        assert bound("SET n = n - :d", d={"N": right}).apply(there).item == item
    except ValidationException as rejection:
        assert "Number overflow" in str(rejection.message)


@examples(100)
@given(st.lists(strings, max_size=6), st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
def test_list_changes_use_the_indexes_of_the_old_list(
    texts: list[str], removed: set[int], replaced: set[int]
) -> None:
    replaced -= removed
    assume(removed or replaced)
    sections = []
    if removed:
        sections.append("REMOVE " + ", ".join(f"l[{index}]" for index in removed))
    if replaced:
        sections.append("SET " + ", ".join(f"l[{index}] = :v{index}" for index in replaced))
    given_values = {f"v{index}": {"N": str(index)} for index in replaced}
    item = {"l": {"L": [{"S": text} for text in texts]}}
    new = bound(" ".join(sections), **given_values).apply(item).item
    kept: list[dict[str, Any]] = [
        {"N": str(index)} if index in replaced else {"S": text}
        for index, text in enumerate(texts)
        if index not in removed
    ]
    appended: list[dict[str, Any]] = [{"N": str(index)} for index in sorted(replaced) if index >= len(texts)]
    assert new["l"]["L"] == kept + appended


operands = st.one_of(path_texts, st.sampled_from([":v", ":w"])).flatmap(
    lambda text: st.sampled_from([text, f"if_not_exists({text}, :v)" if text[0] != ":" else text])
)
actions = st.one_of(
    st.builds("SET {} = {}".format, path_texts, operands),
    st.builds("SET {} = {} + {}".format, path_texts, operands, operands),
    st.builds("SET {} = list_append({}, {})".format, path_texts, operands, operands),
    st.builds("REMOVE {}".format, path_texts),
    st.builds("REMOVE {}, {}".format, path_texts, path_texts),
    st.builds("ADD {} :v".format, path_texts),
    st.builds("DELETE {} :v".format, path_texts),
    st.builds("SET {} = {} REMOVE {}".format, path_texts, operands, path_texts),
)


@examples(300)
@given(actions, items, values, values)
def test_an_update_never_changes_what_it_is_given(
    text: str, item: Item, first: dict[str, Any], second: dict[str, Any]
) -> None:
    given_values = {":v": first, ":w": second}
    before = copy.deepcopy((item, given_values))
    try:
        outcome = bind_update(text, Placeholders(None, given_values)).apply(item)
    except ValidationException:
        assert (item, given_values) == before
        return
    assert (item, given_values) == before
    assert all(is_canonical(value) for value in outcome.item.values())
    untouched = set(item) - {path[0] for path in outcome.touched}
    assert all(outcome.item[name] is item[name] for name in untouched)
    for fragments in (outcome.written_part(item), outcome.written_part(outcome.item)):
        assert fragments is None or set(fragments) <= {path[0] for path in outcome.touched}
