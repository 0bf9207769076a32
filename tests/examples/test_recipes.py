"""The recipe for JUnit runs as it is; `uvx faradisc` is this installation.

What is not proved: that `uvx` installs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
def test_junit_extension_starts_and_stops_a_server(tmp_path: Path) -> None:
    shutil.copytree(RECIPES / "junit", tmp_path / "junit")
    done = subprocess.run(
        ["mvn", "-B", "test"],
        cwd=tmp_path / "junit",
        env={**os.environ, "FARADISC_COMMAND": f"{sys.executable} -m faradisc"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "Tests run: 1, Failures: 0, Errors: 0" in done.stdout
