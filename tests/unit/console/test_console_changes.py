"""Changes before they are written: paths that differ, rows that are staged, conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.tools.console.changes import PathChange, applied, path_changes, path_text
from faradisc.tools.console.staging import StagedChange, StagedConflict, Staging, resolve

KEY: dict[str, Any] = {"pk": {"S": "a"}}


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def test_the_innermost_values_that_differ_are_found() -> None:
    before = {**KEY, "m": {"M": {"x": number(1), "y": {"L": [number(1), number(2)]}, "gone": number(0)}}}
    after = {**KEY, "m": {"M": {"x": number(2), "y": {"L": [number(1), number(3), number(4)]}}}}
    found = {
        path_text(each.path): (each.kind, each.before, each.after) for each in path_changes(before, after)
    }
    assert found == {
        "m.x": ("changed", number(1), number(2)),
        "m.y[1]": ("changed", number(2), number(3)),
        "m.y[2]": ("added", None, number(4)),
        "m.gone": ("removed", number(0), None),
    }


def test_a_value_of_another_type_differs_as_a_whole() -> None:
    before, after = {"a": {"M": {"x": number(1)}}}, {"a": {"L": []}}
    assert path_changes(before, after) == [PathChange(("a",), before["a"], after["a"])]
    assert path_changes(before, dict(before)) == []


def test_changes_that_were_found_lead_from_one_item_to_the_other() -> None:
    before = {**KEY, "m": {"M": {"x": number(1), "l": {"L": [number(1)]}}}, "old": number(1)}
    after = {**KEY, "m": {"M": {"x": number(2), "l": {"L": []}, "new": {"M": {"z": number(3)}}}}}
    assert applied(path_changes(before, after, lists=False), before) == after
    assert before["m"]["M"]["x"] == number(1)


def test_a_deleted_row_keeps_its_place_until_it_is_written() -> None:
    staging = Staging()
    staging.add_read([{**KEY, "n": number(at)} for at in range(3)])
    staging.stage(1, None)
    staging.stage(2, {**KEY, "n": number(9)})
    staging.add({"pk": {"S": "new"}})
    assert [(row.number, row.state) for row in staging.rows()] == [
        (0, ""),
        (1, "deleted"),
        (2, "changed"),
        (-1, "new"),
    ]
    for changed in list(staging.changes):
        staging.written(changed)
    assert [row.item for row in staging.rows()] == [
        {**KEY, "n": number(0)},
        {**KEY, "n": number(9)},
        {"pk": {"S": "new"}},
    ]
    assert not staging.changes


def test_a_change_back_to_what_was_read_is_none() -> None:
    staging = Staging()
    staging.add_read([KEY])
    staging.stage(0, {**KEY, "n": number(1)})
    assert staging.changes == {0: StagedChange(KEY, {**KEY, "n": number(1)})}
    staging.stage(0, dict(KEY))
    assert staging.changes == {}


@pytest.mark.parametrize(
    ("how", "after"),
    [
        ("mine", {"x": number(2), "y": number(1)}),
        ("merge", {"x": number(2), "y": number(5)}),
        ("theirs", None),
    ],
)
def test_a_conflict_is_settled_against_the_item_as_it_is_now(how: Any, after: Any) -> None:
    base, theirs = ({**KEY, "x": number(1), "y": number(y)} for y in (1, 5))
    staging = Staging()
    staging.add_read([base])
    staging.stage(0, {**base, "x": number(2)})
    conflict = StagedConflict(0, base, staging.changes[0].after, theirs)
    resolve(staging, conflict, how)
    assert staging.read[0] == theirs
    assert staging.changes == ({} if after is None else {0: StagedChange(theirs, {**KEY, **after})})


def test_a_change_of_an_item_that_was_deleted_meanwhile_becomes_a_new_one_or_none() -> None:
    for how, left in (("mine", {0: StagedChange(None, {**KEY, "x": number(2)})}), ("theirs", {})):
        staging = Staging()
        staging.add_read([KEY])
        staging.stage(0, {**KEY, "x": number(2)})
        resolve(staging, StagedConflict(0, KEY, staging.changes[0].after, None), how)  # type: ignore[arg-type]
        assert staging.changes == left
        assert bool(staging.read) == bool(left)
