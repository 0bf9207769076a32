"""Keys with weights from a file: read as the page says, run by both engines, refused with the line."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import pytest

from faradisc.tools.planner.plan_file import key_file
from faradisc.tools.planner.plan_file.key_file import read_keys
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.planner.workload.key_distributions import NAMED_KEYS_MAX, ONE
from faradisc.tools.traces.errors import PlanError
from unit.planner.planned import ENGINES

PLAN = """\
duration: 1m
tables: {{T: {{mode: on-demand, indexes: {{by-owner: {{keys: {{file: owners.csv}}}}}}}}}}
traffic: [{{operation: PutItem, rate: 100, keys: {keys}}}]
"""
FILES = {
    "keys.csv": [b"hot,9\n", b"cold\n"],
    "owners.csv": [b"o1\n", b"o1\n", b"o1\n", b"o2\n"],
}


def read(name: str) -> Iterable[bytes]:
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", name)
    return FILES[name]


def outcome(keys: str, engine: str) -> PlanOutcome:
    plan = load_plan(PLAN.format(keys=keys), "plan.yaml", lines_of=read)
    return run(plan, engine=engine)  # type: ignore[arg-type]


def share(found: PlanOutcome, resource: str, key: str) -> float:
    return next(each.share_percent for each in found.hot_keys if (each.resource, each.key) == (resource, key))


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_have_the_weights_of_the_file(engine: str) -> None:
    found = outcome("{file: keys.csv}", engine)
    assert share(found, "T", "hot") == pytest.approx(90, abs=0.5)
    assert share(found, "T/index/by-owner", "o1") == pytest.approx(75, abs=0.5)
    assert "T traffic: 2 keys with the weights of keys.csv." in found.assumptions


def test_suffixes_divide_the_keys_of_a_file() -> None:
    found = outcome("{file: keys.csv, suffixes: 3}", "fluid")
    assert share(found, "T", "hot.2") == pytest.approx(30, abs=0.5)


def test_keys_add_up_in_any_order() -> None:
    lines = [b"b,2\n", b"\n", b"a\r\n", b'"x,""y""",0.5\n', b"a\n", b"never,0\n"]
    wanted = [("a", Fraction(2)), ("b", Fraction(2)), ('x,"y"', Fraction(1, 2))]
    assert read_keys("f", lines) == read_keys("f", lines[::-1]) == wanted


def test_a_heading_is_no_key() -> None:
    assert read_keys("f", [b"key,weight\r\n", b"key,3\r\n"]) == [("key", Fraction(3))]


def test_light_keys_beyond_the_named_ones_are_spread() -> None:
    lines = [b"first,1000"] + [b"k%d" % number for number in range(2 * NAMED_KEYS_MAX)]
    FILES["many.csv"] = lines
    plan = load_plan(PLAN.format(keys="{file: many.csv}"), "plan.yaml", lines_of=read)
    shape = plan.traffic[0].keys.shape(0, 0, 1)
    assert (len(shape.keys), shape.keys[0].name) == (NAMED_KEYS_MAX, "first")
    assert shape.tail / ONE == pytest.approx((NAMED_KEYS_MAX + 1) / 3000, abs=1e-6)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([b"a", b"b,many"], "f:2: 'many' cannot be a weight. Write a number"),
        ([b"a,-1"], "f:1: '-1' cannot be a weight"),
        ([b"a,b,3"], 'f:1: here are 3 fields. Write key,weight; quote a key with commas: "a,b",5.'),
        ([b'"a'], "f:1: this is no line of a CSV file"),
        ([b"a", b",5"], "f:2: a partition key has 1 to 2,048 bytes"),
        ([b"a" * 2049], "f:1: a partition key has 1 to 2,048 bytes"),
        ([b"\xff\xfe"], "f:1: this is not UTF-8. Save the file as UTF-8 text."),
        ([b"a,1" + b"0" * 50], "f:1: '1000"),
        ([], "f: no key has any weight. Write one key per line"),
        ([b"a,0"], "f: no key has any weight"),
    ],
)
def test_a_mistake_names_the_line(lines: list[bytes], said: str) -> None:
    with pytest.raises(PlanError) as refused:
        read_keys("f", lines)
    assert str(refused.value).startswith(said)


def test_there_is_a_most_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_file.KEYS_MAX == 1_000_000
    monkeypatch.setattr(key_file, "KEYS_MAX", 1_000)
    with pytest.raises(PlanError, match="f:1001: more than 1,000 different keys"):
        read_keys("f", (b"%d" % number for number in range(1_001)))


def test_a_file_that_is_not_there_names_the_line_of_the_plan() -> None:
    with pytest.raises(PlanError) as refused:
        load_plan(PLAN.format(keys="{file: other.csv}"), "plan.yaml", lines_of=read)
    said = "plan.yaml:3: traffic[0].keys.file: 'other.csv' cannot be read: No such file or directory. Name a"
    assert str(refused.value).startswith(said)


def test_a_plan_that_is_no_file_opens_none() -> None:
    with pytest.raises(PlanError, match="cannot be read: there are no files beside this plan"):
        load_plan(PLAN.format(keys="single"), "plan.yaml")
