"""The files and folders that ARCHITECTURE.md names exist, and the head of a room names its modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "faradisc"


def test_architecture_names_existing_files_and_folders() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))
    assert len(named) > 40
    assert [
        name for name in sorted(named) if not (SOURCE / name).exists() and not (ROOT / name).exists()
    ] == []


def test_architecture_describes_every_top_level_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {folder for folder in folders if f"`{folder}/`" not in text} == set()


ROOMS = sorted(
    path
    for top in ("auth", "capacity", "engine", "language", "local", "metrics", "model", "protocol", "server")
    for path in [*(SOURCE / top).rglob("__init__.py"), *(SOURCE / "storage").rglob("__init__.py")]
    if len(list(path.parent.glob("*.py"))) > 2
)


@pytest.mark.parametrize("head", dict.fromkeys(ROOMS), ids=lambda head: str(head.parent.relative_to(SOURCE)))
def test_the_head_of_a_room_names_its_modules_and_no_others(head: Path) -> None:
    text = ast.get_docstring(ast.parse(head.read_text())) or ""
    modules = {path.stem for path in head.parent.glob("*.py")} - {"__init__"}
    assert {name for name in modules if not re.search(rf"\b{name}\b", text)} == set()
    named = re.findall(r"^    (\w+)\.py|[,;:] (\w+)\.py:", text, re.MULTILINE)
    assert {first or second for first, second in named} <= modules
