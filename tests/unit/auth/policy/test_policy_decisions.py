"""The decision of every case in the tables, and the policy that it names."""

from __future__ import annotations

import cases_of_items
import cases_of_policy_types
import cases_of_statements
from cases_of_conditions import ROWS
from policy_cases import decide, outcome

CASES = [*cases_of_statements.CASES, *cases_of_items.CASES, *cases_of_policy_types.CASES]


def test_every_decision_and_what_it_names() -> None:
    wrong = {}
    for case in CASES:
        decision = decide(case)
        found = decision.error, outcome(decision), decision.kind if case.because else case.because
        if found != ("", case.expected, case.because):
            wrong[case.name] = found
    assert wrong == {}


def test_every_case_has_a_name_and_a_source() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.source for case in CASES)
    assert all(row[-1] for row in ROWS)


def test_there_are_at_least_300_decisions() -> None:
    assert len(CASES) + len(ROWS) >= 300
