"""Every condition operator holds exactly where the table says, in an Allow and in a Deny."""

from __future__ import annotations

import pytest
from cases_of_conditions import ROWS, Row
from policy_cases import Case, T, allow, decide, deny, outcome

KEY = "tested:Key"


def name_of(row: Row) -> str:
    operator, values, given, _holds, _source = row
    return f"{operator} {values!r} against {given!r}"


def case_of(row: Row, effect: str, version: str = "2012-10-17") -> Case:
    operator, values, given, _holds, source = row
    condition = {operator: {KEY: values}}
    made = (
        allow("GetItem", T, **condition)
        if effect == "Allow"
        else [allow("*"), deny("GetItem", T, **condition)]
    )
    context = {} if given is None else {KEY.lower(): given}
    return Case("", ("alice", "GetItem", T), "allow", source, identity=made, context=context, version=version)


@pytest.mark.parametrize(
    ("effect", "met", "not_met"), [("Allow", "allow", "implicit"), ("Deny", "explicit", "allow")]
)
def test_every_condition(effect: str, met: str, not_met: str) -> None:
    wrong = {}
    for row in ROWS:
        decision = decide(case_of(row, effect))
        found = decision.error, outcome(decision)
        if found != ("", met if row[3] else not_met):
            wrong[name_of(row)] = found
    assert wrong == {}


@pytest.mark.parametrize("version", ["2008-10-17", None])
def test_variables_are_literal_text_in_older_versions(version: str) -> None:
    literal = "${aws:username}"
    for given, holds in ((literal, "allow"), ("alice", "implicit")):
        row = ("StringEquals", literal, given, True, "")
        assert outcome(decide(case_of(row, "Allow", version))) == holds


def test_every_row_is_another_one() -> None:
    assert len({name_of(row) for row in ROWS}) == len(ROWS)
