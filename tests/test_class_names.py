"""A public class has a name of its own in src/faradisc, so that a search for it finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import faradisc

ROOT = Path(faradisc.__file__).parent

NAMES_OF_SERVICES = {"LimitExceededException", "ResourceNotFoundException", "ValidationException"}
"""Errors that several services call so: the class has the name that clients see."""


def test_public_class_names_are_unique() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file.relative_to(ROOT).as_posix())
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert {name: twice[name] for name in twice.keys() - NAMES_OF_SERVICES} == {}
