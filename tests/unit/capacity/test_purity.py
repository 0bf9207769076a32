"""The capacity model and the metrics read no clock, no random numbers and no files: callers pass all of it
in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import faradisc.capacity
import faradisc.metrics

FORBIDDEN = {
    "time",
    "random",
    "os",
    "asyncio",
    "io",
    "secrets",
    "socket",
    "threading",
    "subprocess",
    "pathlib",
}
CORE = sorted(
    file
    for package in (faradisc.capacity, faradisc.metrics)
    for file in Path(package.__path__[0]).glob("*.py")
)


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def called(tree: ast.AST) -> set[str]:
    """Returns the names of all called functions: `open`, and the last part of `datetime.now`."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in functions}


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_a_module_is_pure(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not imported(tree) & FORBIDDEN
    assert not called(tree) & {"open", "print", "input", "now", "utcnow", "today_", "hash"}


def test_there_is_something_to_check() -> None:
    assert {"admission", "resource", "heat", "autoscaling"} <= {path.stem for path in CORE}
