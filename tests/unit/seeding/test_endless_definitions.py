"""Definitions of a few lines that stand for billions are faults with a line, and soon told.

What it proves: the bound of tools/seeding/effort.py is met wherever a text or a number of steps can double.
"""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from unit.seeding.seed_files import REQUEST, faults, read, small

TOO_MUCH = "t: what it refers to stands for more than can be worked out, seen at "


@pytest.mark.parametrize(
    "double",
    [
        "${local.a}${local.a}",
        '${join(local.a, [local.a, local.a, ""])}',
        '${replace(local.a, "x", local.a)}',
        '${true ? "${local.a}${local.a}" : local.a}',
    ],
)
def test_locals_that_stand_for_billions(tmp_path: Path, double: str) -> None:
    names = [f"l{number}" for number in range(31)]
    chain = [
        f'  {name} = "{double.replace("local.a", f"local.{before}")}"' for before, name in pairwise(names)
    ]
    text = "\n".join(
        ["locals {", '  l0 = "xx"', *chain, "}", small(f'  table_class = "${{local.{names[-1]}}}"')]
    )
    (fault,) = faults(read(tmp_path, {"a.tf": text}))
    place, _, rest = fault.partition(": ")
    assert text.splitlines()[int(place.removeprefix("a.tf:")) - 1].startswith("resource")
    assert rest.startswith(TOO_MUCH)


def test_a_local_that_stands_for_itself(tmp_path: Path) -> None:
    for double in ("${local.a}${local.a}", "${local.a}"):
        text = 'locals {\n  a = "' + double + '"\n}\n' + small("  table_class = local.a")
        (fault,) = faults(read(tmp_path, {"a.tf": text}))
        assert fault == "a.tf:5: t: local.a is referred to by itself, or over more than 100 steps"


def test_a_fault_shows_the_beginning_of_an_expression(tmp_path: Path) -> None:
    long = 'concat(local.a, ["' + "x" * 10_000 + '"])'
    text = "locals {\n  a = " + long + "\n}\n" + small("  table_class = local.a")
    (fault,) = faults(read(tmp_path, {"a.tf": text}))
    assert fault.startswith("a.tf:5: t: concat(local.a, [")
    assert fault.endswith("... is referred to by itself, or over more than 100 steps")
    assert len(fault) < 200
    text = small('  table_class = nobody("' + "x" * 10_000 + '")')
    (fault,) = faults(read(tmp_path, {"a.tf": text}))
    assert fault.startswith('a.tf:2: t: table_class depends on nobody("xxx')
    assert len(fault) < 300


def test_locals_are_worked_out_for_each_table_anew(tmp_path: Path) -> None:
    """What is bounded is one definition; many that each take a good part of it are none the worse."""
    locals_ = 'locals {\n  a = "' + "x" * 400_000 + '"\n}\n'
    tables = [
        small(f'  tags = {{ k = replace(local.a, "x", "") }}\n  name = "t-{n}"').replace('"t"', f'"t{n}"')
        for n in range(9)
    ]
    seed = read(tmp_path, {"a.tf": locals_ + "\n".join(tables)})
    assert faults(seed) == []
    assert len(seed.tables) == 9


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Fn::Sub", {"Fn::Sub": "${Long}" * 3000}),
        ("Fn::Join", {"Fn::Join": [{"Ref": "Long"}, ["a"] * 3000]}),
    ],
)
def test_what_is_too_long_is_not_made_first(tmp_path: Path, name: str, made: dict[str, Any]) -> None:
    template = {
        "Parameters": {"Long": {"Default": "x" * 100_000}},
        "Resources": {"t": {"Type": "AWS::DynamoDB::Table", "Properties": {**REQUEST, "TableName": made}}},
    }
    text = json.dumps(template, indent=1)
    tracemalloc.start()
    try:
        seed = read(tmp_path, {"a.json": text})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [fault.text for fault in seed.faults] == [TOO_MUCH + name]
    assert most < 100_000_000  # of the 300 MB that it stands for


def test_a_template_that_stands_for_billions(tmp_path: Path) -> None:
    properties = {name: value for name, value in REQUEST.items() if name != "TableName"}
    resources: dict[str, Any] = {
        "T0": {"Type": "AWS::DynamoDB::Table", "Properties": {**properties, "TableName": "music"}}
    }
    conditions: dict[str, Any] = {"C0": {"Fn::Equals": ["a", "a"]}}
    for number in range(1, 41):
        twice = {"Fn::Sub": f"${{T{number - 1}}}${{T{number - 1}}}"}
        resources[f"T{number}"] = {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {**properties, "TableName": twice},
            **({"Condition": "C40"} if number == 1 else {}),
        }
        conditions[f"C{number}"] = {"Fn::And": [{"Condition": f"C{number - 1}"}] * 2}
    text = json.dumps({"Conditions": conditions, "Resources": resources}, indent=1)
    found = read(tmp_path, {"a.json": text}).faults
    by_name = {fault.text.partition(":")[0]: fault for fault in found}
    assert {"T1", "T30", "T40"} <= set(by_name)
    assert "T2" not in by_name
    for name in ("T1", "T40"):
        assert "stands for more than can be worked out" in by_name[name].text
        assert text.splitlines()[by_name[name].place.line - 1] == f'  "{name}": {{'
