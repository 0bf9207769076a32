"""The files and folders that ARCHITECTURE.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

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
