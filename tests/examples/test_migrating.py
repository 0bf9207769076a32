"""The projects of examples/migrating: what is moved passes, and so does what was under moto."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = ROOT / "examples" / "migrating"


def run(python: Path | str, *folders: str) -> str:
    """Runs tests as their users do. Returns the last line of the output."""
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", "--import-mode=importlib", *folders],
        cwd=PROJECTS,
        env={**os.environ, "PYTHONPATH": ".", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_moved_projects_pass() -> None:
    folders = [f"{path.parent.name}/after" for path in sorted(PROJECTS.glob("*/after"))]
    assert len(folders) == 4
    assert "9 passed" in run(sys.executable, *folders)


@pytest.mark.slow
def test_project_under_moto_passes(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt"]
    subprocess.run([*install, "boto3", "moto==5.2.5", "pytest"], check=True)
    assert "2 passed" in run(python, "moto/before")
