"""The fast walk and the slow one: what is canonical afterwards, and that they agree.

Sources: errors.md sections 3 and 6.2; limits.md section 2.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from faradisc.errors import RequestRuleError, ValidationException
from faradisc.model.values.checks import NESTED_CONTAINERS_MAX, Wording, canonicalise, check_value

CANONICAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "string": ({"S": "x"}, {"S": "x"}),
    "number": ({"N": "01.50"}, {"N": "1.5"}),
    "binary": ({"B": "AP8="}, {"B": "AP8="}),
    "empty binary": ({"B": ""}, {"B": ""}),
    "string set": (
        {"SS": ["b", "a", "é", "\U00010000", "\uffff"]},
        {"SS": ["a", "b", "é", "\uffff", "\U00010000"]},
    ),
    "number set": ({"NS": ["10", "9", "-1", "1e0"]}, {"NS": ["-1", "1", "9", "10"]}),
    "binary set": ({"BS": ["/w==", "AA==", "AAA="]}, {"BS": ["AA==", "AAA=", "/w=="]}),
    "nested": (
        {"M": {"l": {"L": [{"N": "1.0"}, {"NS": ["2", "1"]}]}}},
        {"M": {"l": {"L": [{"N": "1"}, {"NS": ["1", "2"]}]}}},
    ),
}


@pytest.mark.parametrize(("raw", "canonical"), CANONICAL.values(), ids=CANONICAL)
def test_both_walks_make_it_canonical(raw: dict[str, Any], canonical: dict[str, Any]) -> None:
    fast, slow = copy.deepcopy(raw), copy.deepcopy(raw)
    assert canonicalise(fast)
    check_value(slow, Wording.NEW)
    assert fast == slow == canonical


WRONG_JSON: list[Any] = [
    *(None, 1, "x", [], {}, {"S": 1}, {"S": None}, {"N": 1}, {"N": None}, {"B": 1}, {"BOOL": "true"}),
    *({"BOOL": 1}, {"NULL": 1}, {"NULL": "true"}, {"SS": "x"}, {"SS": [1]}, {"NS": [1]}, {"BS": [None]}),
    *({"L": {}}, {"L": [1]}, {"M": []}, {"M": {"k": "v"}}, {"X": "x"}, {"s": "x"}),
    *(True, ["S"], {"S": ["a"]}, {"S": None, "N": "1"}, {"N": True}, {"N": []}, {"N": {}}, {"BOOL": None}),
    *({"M": None}, {"M": "x"}, {"M": {"k": None}}, {"M": {"k": {"S": 1}}}, {"L": "x"}, {"L": [{"S": None}]}),
    *({"B": None}, {"B": []}, {"SS": None}, {"NS": {}}, {"BS": [[]]}, {"L": None}, {"": ""}),
    *({"B": "x"}, {"B": "AP8"}, {"B": "AP9="}, {"B": "A P8="}, {"BS": ["AP8"]}),
]


@pytest.mark.parametrize("raw", WRONG_JSON, ids=repr)
def test_fast_walk_rejects_wrong_json(raw: Any) -> None:
    """They are reported before any check of values (protocol/serialization.py)."""
    assert not canonicalise(raw)


INVALID: list[tuple[dict[str, Any], type[ValidationException]]] = [
    ({}, ValidationException),
    ({"S": "a", "N": "1"}, ValidationException),
    ({"M": {"k": {}}}, ValidationException),
    ({"N": "x"}, RequestRuleError),
    ({"N": ""}, RequestRuleError),
    ({"N": "1e126"}, RequestRuleError),
    ({"NULL": False}, RequestRuleError),
    ({"SS": []}, RequestRuleError),
    ({"SS": ["a", "a"]}, RequestRuleError),
    ({"NS": ["1", "1.0"]}, RequestRuleError),
    ({"NS": ["x"]}, RequestRuleError),
    ({"BS": ["AA==", "AA=="]}, RequestRuleError),
    ({"L": [{"S": "ok"}, {"NS": []}]}, RequestRuleError),
]


@pytest.mark.parametrize("wording", Wording)
@pytest.mark.parametrize(("raw", "error"), INVALID, ids=[repr(raw) for raw, _ in INVALID])
def test_both_walks_reject_invalid_values(
    raw: dict[str, Any], error: type[ValidationException], wording: Wording
) -> None:
    """RequestRuleError are the families that three operations put an envelope around."""
    assert not canonicalise(copy.deepcopy(raw))
    with pytest.raises(ValidationException) as caught:
        check_value(copy.deepcopy(raw), wording)
    assert type(caught.value) is error


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"N": "1"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def test_nesting_ends_at_the_same_level_for_both() -> None:
    assert NESTED_CONTAINERS_MAX == 31
    assert canonicalise(nested(31))
    check_value(nested(31), Wording.NEW)
    assert not canonicalise(nested(32))
    with pytest.raises(ValidationException, match="Nesting Levels have exceeded supported limits"):
        check_value(nested(32), Wording.NEW)
