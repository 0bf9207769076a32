"""Templates of a few lines that expand to billions of references are errors with a line.

What it proves: the limit of tools/readers/intrinsics.py holds wherever a text or a number of steps can
double."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from unit.seeding.seed_files import REQUEST, read

TOO_MUCH = "t: its references expand to too much text, found at "


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Fn::Sub", {"Fn::Sub": "${Long}" * 3000}),
        ("Fn::Join", {"Fn::Join": [{"Ref": "Long"}, ["a"] * 3000]}),
    ],
)
def test_too_long_text_is_not_built(tmp_path: Path, name: str, made: dict[str, Any]) -> None:
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
    assert [error.text for error in seed.errors] == [TOO_MUCH + name]
    assert most < 100_000_000  # of the 300 MB to which it expands


def test_references_that_double_are_an_error(tmp_path: Path) -> None:
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
    found = read(tmp_path, {"a.json": text}).errors
    by_name = {error.text.partition(":")[0]: error for error in found}
    assert {"T1", "T30", "T40"} <= set(by_name)
    assert "T2" not in by_name
    for name in ("T1", "T40"):
        assert "its references expand to too much text" in by_name[name].text
        assert text.splitlines()[by_name[name].location.line - 1] == f'  "{name}": {{'
